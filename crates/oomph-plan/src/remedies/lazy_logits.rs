//! The vocabulary projection that becomes logits only if something but the loss asks.

use oomph_trace::Category;

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::Spans;
use crate::survey::{Head, Model, Survey};

/// Logits of fewer bytes are not worth the trouble.
const WORTHWHILE_BYTES: u64 = 64 << 20;

/// See the page.
pub(super) struct LazyLogits;

impl LazyLogits {
    fn heads<'a>(job: &'a Situation) -> impl Iterator<Item = (&'a Model, &'a Head)> {
        let models = job.survey.models.iter().filter(|model| !model.is_compiled);
        models.flat_map(|model| model.heads.iter().map(move |head| (model, head)))
    }
}

/// Whether a block is one of a matrix of logits, or of what the loss makes of one: whole rows of the vocabulary.
fn is_logits(bytes: u64, head: &Head) -> bool {
    let row_bytes = head.out_features * 2;
    // The allocator rounds up to 512 bytes.
    let slack = bytes % row_bytes;
    bytes >= WORTHWHILE_BYTES && (slack < 512 || row_bytes - slack < 512)
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
        let helps = job
            .live_at_peak()
            .any(|span| span.is_passing() && Self::heads(job).any(|(_, head)| is_logits(span.bytes, head)));
        if helps { vec![RemedyChoice::new(self.name())] } else { Vec::new() }
    }

    fn sketch(&self, _choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let heads: Vec<&Head> = Self::heads(job).map(|(_, head)| head).collect();
        for span in spans.all.iter_mut().filter(|span| span.category != Category::Parameter && span.is_passing()) {
            if heads.iter().any(|head| is_logits(span.bytes, head)) {
                span.bytes = span.bytes.min(WORTHWHILE_BYTES);
            }
        }
    }

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.03
    }

    fn by_hand(&self, _choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("lazy_logits", String::new()))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums in another order".to_owned()
    }
}
