//! Another process holds the card.

use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::shortage::Refusal;
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct OtherProcess;

impl Class for OtherProcess {
    fn name(&self) -> &'static str {
        "other_process"
    }

    fn summary(&self) -> &'static str {
        "another process holds the memory of this card"
    }

    fn page(&self) -> &'static str {
        "Another process held the memory that was missing. PyTorch's message in a log says so, and so can a trace; a \
         torch snapshot knows nothing of other processes, and gets `outside_pytorch` instead.\n\n\
         What helps: `nvidia-smi` shows the process; end it, or move one of the two jobs to another card."
    }

    fn rank(&self) -> u32 {
        5
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        // What others hold is no matter to a job that came up against its own limit.
        let shortage = evidence.shortage.filter(|shortage| shortage.refusal == Refusal::Driver)?;
        let others = evidence.case.other_process_bytes?;
        if others < shortage.segment_bytes.saturating_sub(shortage.device_free_bytes) {
            return None;
        }
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "Other processes held {} of the card when {} more was requested; this job had reserved {}.",
                show(others),
                show(shortage.request_bytes),
                show(shortage.reserved_bytes),
            ),
            line: None,
            stack: StackId::MISSING,
            bytes: others,
            remove: Remove::Others(others),
            advice: vec!["End the other process, or run this job on another card.".to_owned()],
        })
    }
}
