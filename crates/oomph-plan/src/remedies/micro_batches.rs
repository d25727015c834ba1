//! Batches taken in parts, with one optimizer step for all of them.

use std::collections::BTreeMap;

use oomph_trace::{Category, EventIndex};

use super::{Remedy, RemedyChoice, Situation, more_parts};
use crate::search::{Spans, Stretch};

/// See the page.
pub(super) struct MicroBatches;

const PARTS: [u64; 5] = [2, 4, 8, 16, 32];
/// What each further part costs of a step: smaller products use a card less well. Measured with GPT-2 on an H200: 5 %
/// for two parts, 16 % for four.
const PART_COST: f64 = 0.05;

impl Remedy for MicroBatches {
    fn name(&self) -> &'static str {
        "micro_batches"
    }

    fn summary(&self) -> &'static str {
        "batches taken in parts, with one optimizer step for all of them"
    }

    fn page(&self) -> &'static str {
        include_str!("micro_batches.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let has_norm = job.survey.models.iter().any(|model| model.is_training && model.has_batch_norm);
        let batch = job.survey.loader_batches.iter().copied().max().unwrap_or(0);
        if has_norm || job.survey.optimizers.is_empty() {
            return Vec::new();
        }
        let parts = PARTS.into_iter().filter(|parts| *parts <= batch);
        parts.map(|parts| RemedyChoice::new(self.name()).with("parts", parts)).collect()
    }

    fn on_top_of(&self, before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        more_parts(before, choice)
    }

    fn excludes(&self) -> &'static [&'static str] {
        // A step at every part's backward pass would be a step too many.
        &["step_in_backward", "chunk_calls", "fsdp"]
    }

    fn sketch(&self, choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        let parts = choice.number("parts").unwrap_or(1).max(1);
        let mut starts: BTreeMap<u32, EventIndex> = BTreeMap::new();
        for span in spans.all.iter().filter(|span| span.stretch == Stretch::Forward) {
            let start = starts.entry(span.step).or_insert(span.from);
            *start = span.from.min(*start);
        }
        for span in &mut spans.all {
            if span.is_passing() {
                span.bytes /= parts;
            } else if span.category == Category::Gradient && span.stretch == Stretch::Backward {
                // The gradients of the first part are there during the forward passes of the others.
                span.from = span.from.min(starts.get(&span.step).copied().unwrap_or(span.from));
            }
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.0 + PART_COST * (choice.number("parts").unwrap_or(1) as f64 - 1.0)
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums in another order; other dropout masks".to_owned()
    }
}
