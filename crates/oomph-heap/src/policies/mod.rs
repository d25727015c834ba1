//! Placement policies. Adding one is adding a file here and a line to [`POLICIES`].

mod caching;
mod expandable_segments;
mod ideal;
mod native;

use crate::error::HeapError;
use crate::replay::{Options, Replay};
use crate::requests::Requests;
use crate::source::Source;

pub use expandable_segments::ExpandableSegments;
pub use ideal::Ideal;
pub use native::Native;

/// What people read about a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyPage {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The whole page, in Markdown.
    pub page: &'static str,
}

/// A way of placing blocks.
pub trait Policy: Sync {
    /// What people read about it.
    fn page(&self) -> PolicyPage;

    /// Runs requests through it.
    fn replay(&self, requests: &Requests, source: &mut dyn Source, options: &Options) -> Replay;
}

/// Every policy there is.
pub static POLICIES: &[&dyn Policy] = &[&Native, &ExpandableSegments, &Ideal];

/// The policy of this name.
///
/// # Errors
/// If there is none.
pub fn policy(name: &str) -> Result<&'static dyn Policy, HeapError> {
    POLICIES.iter().copied().find(|policy| policy.page().name == name).ok_or_else(|| HeapError::UnknownPolicy {
        name: name.to_owned(),
        known: POLICIES.iter().map(|policy| policy.page().name).collect::<Vec<_>>().join(", "),
    })
}
