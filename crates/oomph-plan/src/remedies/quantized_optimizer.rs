//! Optimizer state in 8 bits.

use oomph_trace::Category;

use super::{Mathematics, Remedy, RemedyChoice, Situation};
use crate::search::Spans;

/// See the page.
pub(super) struct QuantizedOptimizer;

impl Remedy for QuantizedOptimizer {
    fn name(&self) -> &'static str {
        "quantized_optimizer"
    }

    fn summary(&self) -> &'static str {
        "optimizer state in 8 bits, by torchao or bitsandbytes where one is installed"
    }

    fn page(&self) -> &'static str {
        include_str!("quantized_optimizer.md")
    }

    fn mathematics(&self) -> Mathematics {
        Mathematics::Numerics
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let is_adam = job.survey.optimizers.iter().any(|optimizer| optimizer.name.starts_with("Adam"));
        let has_library = ["torchao", "bitsandbytes"].iter().any(|library| job.survey.has_habit(library));
        if is_adam && has_library { vec![RemedyChoice::new(self.name()).with("bits", 8)] } else { Vec::new() }
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        for span in spans.all.iter_mut().filter(|span| span.category == Category::Optimizer) {
            span.bytes = span.bytes / 100 * 26;
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.02
    }

    fn changes(&self, choice: &RemedyChoice) -> String {
        format!("optimizer state is rounded to {} bits", choice.number("bits").unwrap_or(8))
    }
}
