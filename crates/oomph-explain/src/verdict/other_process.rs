//! Another process holds the card.

use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
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
        "The recorder saw that another process held the memory that was missing. Only traces of oomph's own recorder \
         can say this; a torch snapshot knows nothing of other processes, and gets `outside_pytorch` instead.\n\n\
         What helps: `nvidia-smi` or `oomph top`; end the other job, or move one of the two."
    }

    fn rank(&self) -> u32 {
        5
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage?;
        let others = evidence.case.other_process_bytes?;
        if others < shortage.segment_bytes.saturating_sub(shortage.device_free_bytes) {
            return None;
        }
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "Other processes held {} of the card when {} more was asked for; this job held {}.",
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
