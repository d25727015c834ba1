//! Optimizer state in host memory.

use oomph_trace::Category;

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::Spans;
use crate::survey::Survey;

/// See the page.
pub(super) struct OptimizerOnHost;

/// State on the card at a time.
const DEVICE_BYTES: u64 = 256 << 20;
/// Bytes a second over the bus, each way.
const BUS_BYTES_A_SECOND: f64 = 20e9;

fn state_bytes(job: &Situation) -> u64 {
    job.live_at_peak().filter(|span| span.category == Category::Optimizer).map(|span| span.bytes).sum()
}

impl Remedy for OptimizerOnHost {
    fn name(&self) -> &'static str {
        "optimizer_on_host"
    }

    fn summary(&self) -> &'static str {
        "optimizer state kept in host memory, brought to the card in parts when a step is taken"
    }

    fn page(&self) -> &'static str {
        include_str!("optimizer_on_host.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let is_worthwhile = state_bytes(job) > 2 * DEVICE_BYTES;
        if is_worthwhile { vec![RemedyChoice::new(self.name()).with("device_bytes", DEVICE_BYTES)] } else { Vec::new() }
    }

    fn excludes(&self) -> &'static [&'static str] {
        &["quantized_optimizer"]
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for span in spans.all.iter_mut().filter(|span| span.category == Category::Optimizer) {
            span.bytes = 0;
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, job: &Situation) -> f64 {
        let seconds = 2.0 * state_bytes(job) as f64 / BUS_BYTES_A_SECOND;
        1.0 + seconds / job.work.step_seconds(job.card)
    }

    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Optimizer("optimizer_on_host", String::new()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the state is copied to the card and back at every step; the numbers stay the same".to_owned()
    }
}
