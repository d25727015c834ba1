//! There is room, but in pieces.

use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Proof, Remove, leak};
use crate::analyses::retention::Kind;
use crate::bytes::{percent, show};

/// See [`Class::summary`].
pub(super) struct Fragmentation;

/// Where the holes are a smaller part of what is held, the card is simply full. From half to twice of this no verdict of
/// the corpus or of the generated jobs changes.
pub(crate) const HOLES_SHARE_MIN: f64 = 0.1;
/// The same where the failing step needed more than any before it. At half of this, generated batches that are larger than
/// all before count as fragmentation; at twice, nothing changes.
const HOLES_SHARE_OUTGROWN: f64 = 0.25;

impl Class for Fragmentation {
    fn name(&self) -> &'static str {
        "fragmentation"
    }

    fn summary(&self) -> &'static str {
        "there is enough free memory, but in pieces that are too small"
    }

    fn page(&self) -> &'static str {
        "What is live and what was requested would fit together, but the free memory lies in holes between live \
         blocks. PyTorch gives only whole, empty segments back to the driver, so one small survivor pins a segment. \
         Varying sizes (sequence lengths, batch sizes) make holes; so do long-lived tensors that are \
         allocated in the middle of a step.\n\n\
         No line is to blame: the proof is that the same requests fit when the holes are gone, through \
         `expandable_segments`, or, where that has holes of its own, by their sum.\n\n\
         What helps: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`; fewer distinct sizes (pad or bucket \
         lengths); allocate what lives long first. `oomph replay FILE` shows how much each allocator would need."
    }

    fn is_helped_by_remedies(&self) -> bool {
        true
    }

    fn rank(&self) -> u32 {
        2
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage?;
        let holes = shortage.holes_bytes();
        // What a loop keeps has been weighed against the holes already, and makes some of them itself.
        if [Kind::Leak, Kind::Growth].into_iter().any(|kind| leak::heaviest(evidence, kind).is_some()) {
            return None;
        }
        let fits_packed = shortage.active_bytes + shortage.request_bytes <= shortage.limit_bytes_min;
        // A step that outgrew all before it is short of room for more than this request.
        let outgrown = evidence.case.steps.is_some() && !leak::is_usual_step(evidence, shortage.request_bytes);
        let needed = if outgrown { HOLES_SHARE_OUTGROWN } else { HOLES_SHARE_MIN };
        let enough = holes as f64 >= needed * shortage.reserved_bytes as f64;
        if !enough
            || !fits_packed
            || holes + shortage.limit_bytes_min.saturating_sub(shortage.reserved_bytes) < shortage.request_bytes
        {
            return None;
        }
        let picture = evidence.fragmentation;
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "A request for {} failed although {} of the {} that PyTorch had reserved was free: in pieces, the largest \
                 of {}. Live tensors held {}.",
                show(shortage.request_bytes),
                show(holes),
                show(shortage.reserved_bytes),
                show(picture.largest_free_bytes),
                show(shortage.allocated_bytes),
            ),
            line: None,
            stack: StackId::MISSING,
            bytes: holes,
            remove: Remove::Holes,
            advice: Vec::new(),
        })
    }

    fn advise(&self, evidence: &Evidence, proof: &Proof) -> Option<Vec<String>> {
        let shortage = evidence.shortage?;
        let share = percent(shortage.holes_bytes(), shortage.reserved_bytes);
        let sizes = "Use fewer distinct sizes: pad or bucket lengths, keep the batch size fixed.".to_owned();
        Some(match proof.policy {
            "expandable_segments" => vec![
                format!(
                    "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: {share} of what is reserved is free, but in \
                     pieces."
                ),
                sizes,
            ],
            _ => vec![
                "expandable_segments does not help here: live blocks pin every page between the holes.".to_owned(),
                "Allocate long-lived tensors before short-lived ones, so that they do not share segments.".to_owned(),
                sizes,
            ],
        })
    }
}
