//! Each parameter's optimizer step as soon as its gradient is there.

use oomph_trace::Category;

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::Spans;
use crate::survey::Survey;

/// See the page.
pub(super) struct StepInBackward;

impl Remedy for StepInBackward {
    fn name(&self) -> &'static str {
        "step_in_backward"
    }

    fn summary(&self) -> &'static str {
        "each optimizer step taken as soon as its gradient is there, so that gradients are not kept"
    }

    fn page(&self) -> &'static str {
        include_str!("step_in_backward.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let holds_gradients = job.live_at_peak().any(|span| span.category == Category::Gradient);
        let is_simple = job.survey.optimizers.len() == 1
            && !["clips", "scales", "accumulates", "closure"].iter().any(|habit| job.survey.has_habit(habit));
        if holds_gradients && is_simple {
            vec![RemedyChoice::new(self.name()).with("watch_steps", 0)]
        } else {
            Vec::new()
        }
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for span in spans.all.iter_mut().filter(|span| span.category == Category::Gradient) {
            span.until = span.until.min(span.from + 1);
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.05
    }

    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Optimizer("step_in_backward", String::new()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "gradients are gone after the backward pass; the numbers stay the same".to_owned()
    }
}
