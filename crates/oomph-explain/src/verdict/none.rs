//! Nothing ran out.

use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct None;

impl Class for None {
    fn name(&self) -> &'static str {
        "none"
    }

    fn summary(&self) -> &'static str {
        "memory did not run out"
    }

    fn page(&self) -> &'static str {
        "No request failed in the recorded history, and nothing grows from step to step. The report still says which \
         lines held the peak and how much of the reserved memory was not in use."
    }

    fn rank(&self) -> u32 {
        0
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        evidence.shortage.is_none().then(|| nothing_known(evidence))
    }
}

/// The verdict where there is nothing to blame.
pub(super) fn nothing_known(evidence: &Evidence) -> Accusation {
    let timeline = &evidence.case.timeline;
    Accusation {
        class: "none",
        summary: format!(
            "Memory did not run out: the peak was {} allocated and {} reserved.",
            show(timeline.peak_allocated.bytes),
            show(timeline.peak_reserved.bytes)
        ),
        line: Option::None,
        stack: StackId::MISSING,
        bytes: 0,
        remove: Remove::Nothing,
        advice: Vec::new(),
    }
}
