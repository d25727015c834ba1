//! PyTorch's own allocator with expandable segments.

use super::{Policy, PolicyPage, caching};
use crate::replay::{Options, Replay};
use crate::requests::Requests;
use crate::source::Source;

/// PyTorch's caching allocator with `expandable_segments:True`.
#[derive(Clone, Copy, Debug)]
pub struct ExpandableSegments;

impl Policy for ExpandableSegments {
    fn page(&self) -> PolicyPage {
        PolicyPage {
            name: "expandable_segments",
            summary: "PyTorch's caching allocator with expandable_segments:True, replayed exactly",
            page: include_str!("expandable_segments.md"),
        }
    }

    fn replay(&self, requests: &Requests, source: &mut dyn Source, options: &Options) -> Replay {
        caching::run(self.page().name, true, requests, source, options)
    }
}
