//! The model's calls in 16-bit arithmetic where PyTorch deems it safe.

use super::{ByHand, Mathematics, Remedy, RemedyChoice, Situation};
use crate::search::Spans;
use crate::survey::Survey;

/// See the page.
pub(super) struct Autocast;

impl Remedy for Autocast {
    fn name(&self) -> &'static str {
        "autocast"
    }

    fn summary(&self) -> &'static str {
        "the model's calls in bfloat16 where PyTorch's autocast deems it safe"
    }

    fn page(&self) -> &'static str {
        include_str!("autocast.md")
    }

    fn mathematics(&self) -> Mathematics {
        Mathematics::Numerics
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        if job.survey.has_habit("autocasts") {
            return Vec::new();
        }
        vec![RemedyChoice::new(self.name()).with("dtype", "bfloat16")]
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for span in spans.all.iter_mut().filter(|span| span.is_passing()) {
            // Products halve, norms and losses stay as they are.
            span.bytes = span.bytes / 4 * 3;
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, job: &Situation) -> f64 {
        if job.card.compute_capability.major >= 8 { 0.5 } else { 1.5 }
    }

    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("autocast", String::new()))
    }

    fn changes(&self, choice: &RemedyChoice) -> String {
        format!("products are rounded to {}", choice.word("dtype").unwrap_or("bfloat16"))
    }
}
