//! Freed, but held by another stream.

use oomph_trace::{BlockState, StackId};

use super::{Accusation, Class, Evidence, Remove};
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct DelayedFree;

impl Class for DelayedFree {
    fn name(&self) -> &'static str {
        "delayed_free"
    }

    fn summary(&self) -> &'static str {
        "freed by the program, but held until another stream is done with it"
    }

    fn page(&self) -> &'static str {
        "The program gave the memory back, but the blocks had been used on a second stream (`record_stream`), and that \
         stream was not known to be done: its work was still queued, or a graph was being captured, during which \
         nothing can be waited for.\n\n\
         The blamed line is the one that allocated most of what waits.\n\n\
         What helps: keep the second stream from falling behind (an event or `wait_stream` before the next prefetch); \
         bound how many batches are in flight; free such tensors before a capture begins."
    }

    fn rank(&self) -> u32 {
        2
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage?;
        let case = evidence.case;
        let waiting = shortage.waiting_bytes();
        let short = (shortage.reserved_bytes + shortage.segment_bytes).saturating_sub(shortage.limit_bytes_min);
        if waiting == 0 || waiting < short.min(shortage.request_bytes) {
            return None;
        }
        let blocks: Vec<_> = case
            .timeline
            .active_at(case.moment)
            .filter(|block| block.state_at(case.moment) == Some(BlockState::PendingFree))
            .collect();
        let by_line = crate::analyses::peak::sum_by(&blocks, |block| case.blame(case.stack_of(block)));
        let line = by_line.first().and_then(|held| held.what);
        let stack =
            blocks.iter().max_by_key(|block| block.bytes).map_or(StackId::MISSING, |block| case.stack_of(block));
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "{} had been freed but was still waiting for another stream when {} more was requested.",
                show(waiting),
                show(shortage.request_bytes)
            ),
            line,
            stack,
            bytes: waiting,
            remove: Remove::Waits,
            advice: vec![
                "Bound the work in flight on the second stream: wait for it before allocating more.".to_owned(),
            ],
        })
    }
}
