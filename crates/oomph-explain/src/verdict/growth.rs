//! One structure grows by design of the program.

use super::{Accusation, Class, Evidence, leak};
use crate::analyses::retention::Kind;
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct Growth;

impl Class for Growth {
    fn name(&self) -> &'static str {
        "growth"
    }

    fn summary(&self) -> &'static str {
        "one structure grows by design of the program, e.g. a cache"
    }

    fn page(&self) -> &'static str {
        "Every iteration replaces one tensor with a larger one: `k = torch.cat([k, new])`. Both are alive while the \
         new one is made, so the job dies at about half of what the card could hold, and each copy leaves a hole of a new size \
         behind.\n\n\
         The blamed line is the line that makes the larger tensor.\n\n\
         What helps: allocate the final size once and write into slices; cap the length; keep the old part on the \
         host; keep a list and concatenate once at the end (where the sum fits)."
    }

    fn rank(&self) -> u32 {
        2
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let growth = leak::heaviest(evidence, Kind::Growth)?;
        let case = evidence.case;
        let place = growth.line.map_or_else(|| "One structure".to_owned(), |line| case.sources.short(line));
        let end = leak::how_it_ended(evidence);
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "{place} grows by {} per iteration and holds {} after {} iterations{end}",
                show(growth.bytes_per_step),
                show(growth.bytes),
                growth.steps,
            ),
            line: growth.line,
            stack: growth.stack,
            bytes: growth.bytes,
            remove: leak::removal(evidence, &growth.blocks),
            advice: vec![
                format!("At {place}, allocate the final size once and write into slices instead of concatenating."),
                "Or bound its length, or move the old part to the host.".to_owned(),
            ],
        })
    }
}
