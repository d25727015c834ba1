//! The model, its gradients and its optimizer's state divided over several cards.

use oomph_trace::Category;

use super::{Remedy, RemedyChoice, Situation};
use crate::search::{Span, Spans};

/// See the page.
pub(super) struct Fsdp;

/// Less than this on a card is not worth a trip to the host at every step.
const WORTHWHILE_BYTES: u64 = 64 << 20;

/// Whether a block belongs to the model or its optimizer.
fn is_state(span: &Span) -> bool {
    matches!(span.category, Category::Parameter | Category::Gradient | Category::Optimizer)
}

impl Remedy for Fsdp {
    fn name(&self) -> &'static str {
        "fsdp"
    }

    fn summary(&self) -> &'static str {
        "the model, its gradients and optimizer state divided over several cards, the batch by rows"
    }

    fn page(&self) -> &'static str {
        include_str!("fsdp.md")
    }

    /// Where a job is divided already: what each process has can lie on the host.
    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let state_bytes: u64 = job.live_at_peak().filter(|span| is_state(span)).map(|span| span.bytes).sum();
        if job.cards < 2 || state_bytes < WORTHWHILE_BYTES {
            return Vec::new();
        }
        vec![RemedyChoice::new(self.name()).with("cpu_offload", true)]
    }

    /// What divides batches itself, or holds on to gradients, parameters or logits that are not whole any more.
    fn excludes(&self) -> &'static [&'static str] {
        &[
            "micro_batches",
            "chunk_calls",
            "step_in_backward",
            "optimizer_on_host",
            "offload_activations",
            "lazy_logits",
            "bf16_weights",
            "quantized_optimizer",
        ]
    }

    fn sketch(&self, choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        if is_on_host(choice) {
            for span in spans.all.iter_mut().filter(|span| is_state(span)) {
                span.bytes = 0;
            }
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64 {
        if !is_on_host(choice) {
            return 1.0;
        }
        // Also of a job whose peak comes before its first step.
        let own = |wanted: Category| -> u64 {
            job.spans.all.iter().filter(|span| span.category == wanted && span.step <= 1).map(|span| span.bytes).sum()
        };
        job.work.with_steps_on_host(job.card, own(Category::Parameter), own(Category::Optimizer))
    }

    fn changes(&self, choice: &RemedyChoice) -> String {
        let where_to = if is_on_host(choice) { ", parameters and optimizer on the host" } else { "" };
        format!("the same sums in another order, over several cards{where_to}")
    }
}

fn is_on_host(choice: &RemedyChoice) -> bool {
    choice.options.get("cpu_offload").and_then(serde_json::Value::as_bool) == Some(true)
}
