//! Optimizer state in host memory.

use oomph_trace::Category;

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::Spans;
use crate::survey::Survey;

/// See the page.
pub(super) struct OptimizerOnHost;

/// State on the card at a time, at most; of less state a part.
const DEVICE_BYTES: u64 = 256 << 20;
const STATE_PARTS: u64 = 8;
/// Less state is not worth the trips.
const WORTHWHILE_BYTES: u64 = 64 << 20;

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
        let state_bytes = state_bytes(job);
        if state_bytes < WORTHWHILE_BYTES {
            return Vec::new();
        }
        vec![RemedyChoice::new(self.name()).with("device_bytes", DEVICE_BYTES.min(state_bytes / STATE_PARTS))]
    }

    fn excludes(&self) -> &'static [&'static str] {
        &["quantized_optimizer"]
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for span in spans.all.iter_mut().filter(|span| span.category == Category::Optimizer) {
            span.bytes = 0;
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64 {
        let part_bytes = choice.number("device_bytes").unwrap_or(DEVICE_BYTES) / 2;
        // Also of a job whose peak comes before its first step.
        let state = job.spans.all.iter().filter(|span| span.category == Category::Optimizer);
        job.work.with_visits_to_card(job.card, state.map(|span| span.bytes).sum(), part_bytes)
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        let bytes = choice.number("device_bytes").map(|bytes| format!(", device_bytes={bytes}"));
        Some(ByHand::Optimizer("optimizer_on_host", bytes.unwrap_or_default()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the state is copied to the card and back at every step; the numbers stay the same".to_owned()
    }
}
