//! Graphs that nobody uses are not kept, and built again if somebody asks after all.

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::{Spans, Stretch};
use crate::survey::Survey;

/// See the page.
pub(super) struct RecomputeUnusedGraphs;

impl Remedy for RecomputeUnusedGraphs {
    fn name(&self) -> &'static str {
        "recompute_unused_graphs"
    }

    fn summary(&self) -> &'static str {
        "graphs that nobody uses are not kept, and built again if somebody asks after all"
    }

    fn page(&self) -> &'static str {
        include_str!("recompute_unused_graphs.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let is_inference = job.survey.optimizers.is_empty() || job.survey.models.iter().any(|model| !model.is_training);
        if is_inference && !job.survey.models.is_empty() { vec![RemedyChoice::new(self.name())] } else { Vec::new() }
    }

    fn stops_growth(&self) -> bool {
        true
    }

    fn sketch(&self, _choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let has_no_optimizer = job.survey.optimizers.is_empty();
        for at in 0..spans.all.len() {
            let span = &spans.all[at];
            let is_unused = span.stretch == Stretch::Evaluation || has_no_optimizer && span.stretch == Stretch::Setup;
            let is_inside = !spans.path(span).is_empty();
            if is_unused && is_inside && span.category == oomph_trace::Category::Unknown {
                spans.all[at].until = spans.all[at].until.min(spans.all[at].from + 64);
            }
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.0
    }

    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("recompute_unused_graphs", String::new()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "graphs are built again where the script asks for gradients; the numbers stay the same".to_owned()
    }
}
