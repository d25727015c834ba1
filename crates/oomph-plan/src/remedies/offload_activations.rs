//! Activations kept in host memory between the forward and the backward pass.

use super::{Remedy, RemedyChoice, Situation};
use crate::search::{Span, Spans, Stretch};

/// See the page.
pub(super) struct OffloadActivations;

/// Smaller ones stay: a copy of its own costs more than it saves.
const LEAST_BYTES: u64 = 1 << 20;
/// What may be under way at once takes so much of the card at most, and not more than this.
const BUFFER_PARTS: u64 = 64;
const BUFFER_BYTES: u64 = 128 << 20;

/// Whether a block of a forward pass waits for the backward pass, and is worth the trip.
fn is_moved(spans: &Spans, span: &Span) -> bool {
    let is_large = span.stretch == Stretch::Forward && span.is_passing() && span.bytes >= LEAST_BYTES;
    is_large && spans.backward_after(span.from).is_some_and(|(from, _)| span.until > from)
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
        let helps = job.live_at_peak().any(|span| is_moved(job.spans, span));
        let buffer_bytes = BUFFER_BYTES.min(job.card.memory_bytes / BUFFER_PARTS);
        if helps { vec![RemedyChoice::new(self.name()).with("buffer_bytes", buffer_bytes)] } else { Vec::new() }
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for at in 0..spans.all.len() {
            if is_moved(spans, &spans.all[at]) {
                // It comes back when it is wanted, which is right before it is given back.
                spans.all[at].from = spans.all[at].until.saturating_sub(1);
            }
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, job: &Situation) -> f64 {
        let last = job.spans.all.iter().map(|span| span.step).max().unwrap_or(0).saturating_sub(1);
        let moved = job.spans.all.iter().filter(|span| span.step == last && is_moved(job.spans, span));
        let (bytes, tensors) = moved.fold((0, 0), |sum, span| (sum.0 + span.bytes, sum.1 + 1));
        job.work.with_trips_to_host(job.card, bytes, tensors)
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "activations are copied to the host and back; the numbers stay the same".to_owned()
    }
}
