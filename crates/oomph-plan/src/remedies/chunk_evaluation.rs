//! Calls without a graph made in parts of the batch: validation, tests, inference.

use super::{ByHand, Remedy, RemedyChoice, Situation, more_parts};
use crate::search::{Span, Spans, Stretch};
use crate::survey::Survey;

/// See the page.
pub(super) struct ChunkEvaluation;

const PARTS: [u64; 5] = [2, 4, 8, 16, 32];
/// What each further part costs of the whole: evaluations are a small part of most jobs.
const PART_COST: f64 = 0.002;

fn is_divided(spans: &Spans, span: &Span) -> bool {
    span.stretch == Stretch::Evaluation && span.is_passing() && !spans.path(span).is_empty()
}

impl Remedy for ChunkEvaluation {
    fn name(&self) -> &'static str {
        "chunk_evaluation"
    }

    fn summary(&self) -> &'static str {
        "the model's calls without a graph made in parts of the batch: validation, tests, inference"
    }

    fn page(&self) -> &'static str {
        include_str!("chunk_evaluation.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        if !job.live_at_peak().any(|span| is_divided(job.spans, span)) {
            return Vec::new();
        }
        let parts = PARTS.into_iter().filter(|parts| *parts <= job.survey.largest_batch());
        parts.map(|parts| RemedyChoice::new(self.name()).with("parts", parts)).collect()
    }

    fn on_top_of(&self, before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        more_parts(before, choice)
    }

    fn sketch(&self, choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        let parts = choice.number("parts").unwrap_or(1).max(1);
        let divided: Vec<bool> = spans.all.iter().map(|span| is_divided(spans, span)).collect();
        for (span, _) in spans.all.iter_mut().zip(divided).filter(|(_, divided)| *divided) {
            span.bytes /= parts;
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.0 + PART_COST * (choice.number("parts").unwrap_or(1) as f64 - 1.0)
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("chunk_evaluation", format!(", parts={}", choice.number("parts").unwrap_or(2))))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "batches without a graph are computed in parts; the numbers stay the same but for rounding".to_owned()
    }
}
