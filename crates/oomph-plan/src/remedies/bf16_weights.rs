//! Weights, gradients and optimizer state in 16 bits.

use oomph_trace::Category;

use super::{Mathematics, Remedy, RemedyChoice, Situation};
use crate::search::Spans;

/// See the page.
pub(super) struct Bf16Weights;

impl Remedy for Bf16Weights {
    fn name(&self) -> &'static str {
        "bf16_weights"
    }

    fn summary(&self) -> &'static str {
        "weights, gradients and optimizer state in bfloat16, with stochastic rounding"
    }

    fn page(&self) -> &'static str {
        include_str!("bf16_weights.md")
    }

    fn mathematics(&self) -> Mathematics {
        Mathematics::Numerics
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        if job.survey.optimizers.is_empty() || job.card.compute_capability.major < 8 {
            return Vec::new();
        }
        vec![RemedyChoice::new(self.name()).with("rounding", "stochastic")]
    }

    fn excludes(&self) -> &'static [&'static str] {
        // It computes under autocast by itself, and rounds whole steps.
        &["autocast", "step_in_backward", "lean_optimizer"]
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        let is_state = |category| matches!(category, Category::Parameter | Category::Gradient | Category::Optimizer);
        for span in spans.all.iter_mut().filter(|span| is_state(span.category) || span.is_passing()) {
            span.bytes /= 2;
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        0.6
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "everything is rounded to bfloat16".to_owned()
    }
}
