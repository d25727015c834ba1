//! The one request is larger than all the memory there is.

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::shortage::{Refusal, Shortage};
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct RequestTooLarge;

/// Where only an upper bound of the limit is known, the request must be this part of it. At twice, which is more than all
/// of it, such requests are never recognised; at half, nothing changes.
const SHARE_OF_BOUND: f64 = 2.0 / 3.0;

impl Class for RequestTooLarge {
    fn name(&self) -> &'static str {
        "request_too_large"
    }

    fn summary(&self) -> &'static str {
        "the request alone is larger than all the memory PyTorch may use"
    }

    fn page(&self) -> &'static str {
        "A single tensor was requested that is larger than all the memory PyTorch may use, so freeing other tensors \
         cannot help. The usual causes are an attention matrix over a long sequence, a one-hot or pairwise \
         matrix, a shape with two factors swapped, and a whole dataset moved to the card at once.\n\n\
         The blamed line is the innermost line of your own code that asked for it.\n\n\
         What helps: check the shape first; compute in chunks; use an operator that never builds the tensor \
         (`scaled_dot_product_attention`, `F.cross_entropy` on class indices, `torch.cdist` in blocks)."
    }

    fn is_helped_by_remedies(&self) -> bool {
        true
    }

    fn rank(&self) -> u32 {
        3
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage.filter(|shortage| is_too_large(shortage))?;
        let oom = evidence.case.oom.as_ref()?;
        let stack = evidence.case.attribution.of_event(oom.event);
        let line = evidence.case.sources.line_to_name(stack);
        let place =
            line.map_or_else(|| "a line that was not recorded".to_owned(), |line| evidence.case.sources.short(line));
        let request = show(shortage.request_bytes);
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "{place} asked for one tensor of {request}, more than all of the {} that PyTorch could use.",
                show(shortage.limit_bytes_min)
            ),
            line,
            stack,
            bytes: shortage.request_bytes,
            remove: Remove::Request,
            advice: vec![
                format!("Check the shape at {place}: {request} is {} float32 values.", shortage.request_bytes / 4),
                "Compute it in chunks, or use an operator that never builds it.".to_owned(),
            ],
        })
    }
}

fn is_too_large(shortage: &Shortage) -> bool {
    let exceeds = shortage.request_bytes > shortage.limit_bytes_min;
    match shortage.refusal {
        // The driver says to the byte what it had.
        Refusal::Driver => exceeds && shortage.outside_bytes < shortage.request_bytes,
        Refusal::Limit => exceeds && shortage.request_bytes as f64 >= SHARE_OF_BOUND * shortage.limit_bytes_max as f64,
    }
}
