//! The model's call made in parts of the batch, each computed again in the backward pass.

use super::{ByHand, Remedy, RemedyChoice, Situation, more_parts};
use crate::search::{Spans, recomputed};
use crate::survey::{Model, Survey};

/// See the page.
pub(super) struct ChunkCalls;

const PARTS: [u64; 4] = [2, 4, 8, 16];

impl Remedy for ChunkCalls {
    fn name(&self) -> &'static str {
        "chunk_calls"
    }

    fn summary(&self) -> &'static str {
        "the model's call made in parts of the batch, each computed again in the backward pass"
    }

    fn page(&self) -> &'static str {
        include_str!("chunk_calls.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let suits = |parts: u64| {
            let models = &job.survey.models;
            models.iter().any(|model| model.is_training && model.divisible.is_some() && model.batch >= parts)
        };
        let parts = PARTS.into_iter().filter(|parts| suits(*parts));
        parts.map(|parts| RemedyChoice::new(self.name()).with("parts", parts)).collect()
    }

    fn on_top_of(&self, before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        more_parts(before, choice)
    }

    fn sketch(&self, choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let parts = choice.number("parts").unwrap_or(1).max(1);
        let models = &job.survey.models;
        let is_model = |spans: &Spans, span: &_| {
            let path = spans.path(span);
            let is_of = |model: &Model| model.divisible.as_ref().is_some_and(|part| model.holds(part, path));
            models.iter().any(|model| model.is_training && is_of(model)) && !path.is_empty()
        };
        recomputed(spans, is_model);
        let own: Vec<bool> = spans.all.iter().map(|span| span.is_passing() && is_model(spans, span)).collect();
        for (span, _) in spans.all.iter_mut().zip(own).filter(|(_, own)| *own) {
            span.bytes /= parts;
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64 {
        let parts = choice.number("parts").unwrap_or(1) as f64;
        1.0 + job.work.whole_forward_share(job.card) + 0.05 * (parts - 1.0)
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("chunk_calls", format!(", parts={}", choice.number("parts").unwrap_or(2))))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums in another order, other dropout masks".to_owned()
    }
}
