//! PyTorch's own allocator.

use super::{Policy, PolicyPage, caching};
use crate::replay::{Options, Replay};
use crate::requests::Requests;
use crate::source::Source;

/// PyTorch's caching allocator with ordinary segments, unless the recorded job itself turned expandable segments on
/// for part of its run.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl Policy for Native {
    fn page(&self) -> PolicyPage {
        PolicyPage {
            name: "native",
            summary: "PyTorch's caching allocator, replayed exactly",
            page: include_str!("native.md"),
        }
    }

    fn replay(&self, requests: &Requests, source: &mut dyn Source, options: &Options) -> Replay {
        caching::run(self.page().name, false, requests, source, options)
    }
}
