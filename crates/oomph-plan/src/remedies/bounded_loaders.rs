//! Data loaders bounded by host memory.

use super::{Remedy, RemedyChoice, Situation};
use crate::search::Spans;

/// See the page.
pub(super) struct BoundedLoaders;

impl Remedy for BoundedLoaders {
    fn name(&self) -> &'static str {
        "bounded_loaders"
    }

    fn summary(&self) -> &'static str {
        "workers, prefetched batches and pinned copies of data loaders bounded by host memory"
    }

    fn page(&self) -> &'static str {
        include_str!("bounded_loaders.md")
    }

    /// It helps the host, not the card: asked for by name.
    fn choices(&self, _job: &Situation) -> Vec<RemedyChoice> {
        Vec::new()
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, _spans: &mut Spans) {}

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.0
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "random augmentation in workers draws other numbers".to_owned()
    }
}
