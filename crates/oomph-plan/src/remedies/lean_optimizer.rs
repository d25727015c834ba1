//! Optimizer steps without temporaries as large as the model.

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::{Spans, Stretch};
use crate::survey::Survey;

/// See the page.
pub(super) struct LeanOptimizer;

impl Remedy for LeanOptimizer {
    fn name(&self) -> &'static str {
        "lean_optimizer"
    }

    fn summary(&self) -> &'static str {
        "optimizer steps without temporaries as large as the model: PyTorch's fused kernels"
    }

    fn page(&self) -> &'static str {
        include_str!("lean_optimizer.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let is_large = job.survey.optimizers.iter().any(|optimizer| optimizer.has_large_temporaries);
        let helps = job.live_at_peak().any(|span| span.stretch == Stretch::Optimizer);
        let choice = |how: &str| RemedyChoice::new(self.name()).with("how", how);
        if is_large && helps { vec![choice("fused"), choice("single")] } else { Vec::new() }
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        let temporaries = spans.all.iter_mut().filter(|span| span.stretch == Stretch::Optimizer);
        for span in temporaries.filter(|span| span.category == oomph_trace::Category::Other) {
            span.bytes = 0;
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, _job: &Situation) -> f64 {
        if choice.word("how") == Some("single") { 1.05 } else { 1.0 }
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        let how = choice.word("how").unwrap_or("fused");
        Some(ByHand::Optimizer("lean_optimizer", format!(", how={how:?}")))
    }

    fn changes(&self, choice: &RemedyChoice) -> String {
        let how = if choice.word("how") == Some("single") { "parameter by parameter" } else { "by fused kernels" };
        format!("optimizer steps are computed {how}")
    }
}
