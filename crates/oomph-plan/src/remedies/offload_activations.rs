//! Activations kept in host memory between the forward and the backward pass.

use super::{Remedy, RemedyChoice, Situation};
use crate::search::{Spans, Stretch};

/// See the page.
pub(super) struct OffloadActivations;

/// Smaller ones stay: a copy of its own costs more than it saves.
const LEAST_BYTES: u64 = 1 << 20;
/// Bytes a second over the bus, each way, pinned: half of what sixteen lanes of the fourth generation promise
/// is reached while computing.
const BUS_BYTES_A_SECOND: f64 = 12e9;

fn is_moved(span: &crate::search::Span) -> bool {
    span.stretch == Stretch::Forward && span.is_passing() && span.bytes >= LEAST_BYTES
}

impl Remedy for OffloadActivations {
    fn name(&self) -> &'static str {
        "offload_activations"
    }

    fn summary(&self) -> &'static str {
        "activations kept in host memory between the forward and the backward pass"
    }

    fn page(&self) -> &'static str {
        include_str!("offload_activations.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let helps = job.live_at_peak().any(is_moved);
        if helps { vec![RemedyChoice::new(self.name())] } else { Vec::new() }
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for at in 0..spans.all.len() {
            let span = &spans.all[at];
            let Some((from, _)) = spans.backward_after(span.from) else { continue };
            if is_moved(span) && span.until > from {
                // It comes back when it is wanted, which is right before it is given back.
                spans.all[at].from = span.until.saturating_sub(1);
            }
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, job: &Situation) -> f64 {
        let last = job.spans.all.iter().map(|span| span.step).max().unwrap_or(0).saturating_sub(1);
        let moved = job.spans.all.iter().filter(|span| span.step == last && is_moved(span));
        let moved_bytes: u64 = moved.map(|span| span.bytes).sum();
        let step_seconds = job.work.step_seconds(job.card);
        1.05 + (2.0 * moved_bytes as f64 / BUS_BYTES_A_SECOND / step_seconds - 0.5).max(0.0)
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "activations are copied to the host and back; the numbers stay the same".to_owned()
    }
}
