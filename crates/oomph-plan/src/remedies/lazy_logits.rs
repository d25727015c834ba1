//! The vocabulary projection that becomes logits only if something but the loss asks.

use oomph_trace::Category;

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::{Span, Spans};
use crate::survey::{Head, Model, Survey};

/// Logits of fewer bytes are not worth the trouble.
const WORTHWHILE_BYTES: u64 = 64 << 20;

/// So much of the logits is there at a time, at most, and not more than this part of the card.
const CHUNK_BYTES: u64 = 128 << 20;
const CHUNK_PARTS: u64 = 64;
/// A block that was left of a larger one is not split where less than this would remain.
const UNSPLIT_BYTES: u64 = 1 << 20;

/// See the page.
pub(super) struct LazyLogits;

impl LazyLogits {
    fn heads<'a>(job: &'a Situation) -> impl Iterator<Item = (&'a Model, &'a Head)> {
        let models = job.survey.models.iter().filter(|model| !model.is_compiled);
        models.flat_map(|model| model.heads.iter().map(move |head| (model, head)))
    }

    fn is_of_head(job: &Situation, spans: &Spans, span: &Span) -> bool {
        Self::heads(job).any(|(model, head)| is_logits(span.bytes, spans.path(span), model, head))
    }
}

/// Whether a block is one of a matrix of logits, or of what the loss makes of one: whole rows of the vocabulary.
fn is_logits(bytes: u64, path: &str, model: &Model, head: &Head) -> bool {
    let row_bytes = head.out_features * 2;
    // The allocator rounds up to 512 bytes, and leaves a block whole that is larger than asked for by less than this.
    let slack = bytes % row_bytes;
    let is_rounded = slack < 512 || row_bytes - slack < 512 || (slack < UNSPLIT_BYTES && is_around(path, model, head));
    bytes >= WORTHWHILE_BYTES && is_rounded
}

/// Whether a module is the projection, or one that it is in: what is computed there from the logits has their size.
fn is_around(path: &str, model: &Model, head: &Head) -> bool {
    let below = path.strip_prefix(&model.label).map_or(path, |rest| rest.trim_start_matches('.'));
    let below = below.strip_prefix(&model.prefix).unwrap_or(below);
    below.is_empty() || head.path.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Remedy for LazyLogits {
    fn name(&self) -> &'static str {
        "lazy_logits"
    }

    fn summary(&self) -> &'static str {
        "the loss of a vocabulary computed by rows, so that the logits are never there as a whole"
    }

    fn page(&self) -> &'static str {
        include_str!("lazy_logits.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let helps = job.live_at_peak().any(|span| span.is_passing() && Self::is_of_head(job, job.spans, span));
        let chunk_bytes = CHUNK_BYTES.min(job.card.memory_bytes / CHUNK_PARTS);
        if helps { vec![RemedyChoice::new(self.name()).with("row_bytes", chunk_bytes)] } else { Vec::new() }
    }

    fn sketch(&self, choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let left_bytes = choice.number("row_bytes").unwrap_or(CHUNK_BYTES).min(WORTHWHILE_BYTES);
        let wanted = |span: &Span| span.category != Category::Parameter && span.is_passing();
        let logits: Vec<bool> =
            spans.all.iter().map(|span| wanted(span) && Self::is_of_head(job, spans, span)).collect();
        for (span, _) in spans.all.iter_mut().zip(logits).filter(|(_, is_logits)| *is_logits) {
            span.bytes = span.bytes.min(left_bytes);
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.03
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        let bytes = choice.number("row_bytes").map(|bytes| format!(", row_bytes={bytes}"));
        Some(ByHand::Model("lazy_logits", bytes.unwrap_or_default()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums in another order".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_known_by_their_rows_or_by_where_they_are_made() {
        let model = Model { label: "Net".into(), prefix: "module.".into(), ..Model::default() };
        let head = Head { path: "lm.head".into(), out_features: 50_257, in_features: 768 };
        let logits = 8192 * 50_257 * 4;
        assert!(is_logits(logits, "module.blocks.0", &model, &head), "whole rows");
        let unsplit = logits + 10_000;
        let known = |path: &str| is_logits(unsplit, path, &model, &head);
        assert!(known("module.lm.head") && known("Net.module.lm") && known("Net") && known(""));
        assert!(!known("module.blocks.0") && !known("module.lm.header"));
    }
}
