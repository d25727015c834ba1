//! Something other than PyTorch's allocator holds the card.

use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::shortage::Refusal;
use crate::bytes::show;

/// See [`Class::summary`].
pub(super) struct OutsidePytorch;

impl Class for OutsidePytorch {
    fn name(&self) -> &'static str {
        "outside_pytorch"
    }

    fn summary(&self) -> &'static str {
        "memory of this card is held outside PyTorch's allocator"
    }

    fn page(&self) -> &'static str {
        "The driver refused although PyTorch had reserved far less than the card has. The rest is held by code that \
         takes memory past PyTorch: CuPy, RAPIDS, JAX or TensorFlow in the same process, NCCL, a custom extension with \
         `cudaMalloc`; or by another process.\n\n\
         A snapshot does not say how large the card is. It is taken from `--memory` where you give it; else from the \
         addresses (what is taken past PyTorch leaves a hole among its segments), else from the sizes cards are made \
         in.\n\n\
         What helps: `nvidia-smi` tells which process; cap the other library (`XLA_PYTHON_CLIENT_MEM_FRACTION`, a CuPy \
         pool limit); let it share PyTorch's allocator."
    }

    fn rank(&self) -> u32 {
        4
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage.filter(|shortage| shortage.refusal == Refusal::Driver)?;
        let outside = shortage.outside_bytes;
        if outside < shortage.request_bytes.max(shortage.reserved_bytes / 10) {
            return None;
        }
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "The driver refused {} although PyTorch had reserved only {}: about {} of the card is held outside \
                 PyTorch's allocator.",
                show(shortage.request_bytes),
                show(shortage.reserved_bytes),
                show(outside),
            ),
            line: None,
            stack: StackId::MISSING,
            bytes: outside,
            remove: Remove::Others(outside),
            advice: vec![
                "Use nvidia-smi to see which processes hold the card, and look for other GPU libraries in yours."
                    .to_owned(),
                "Give --memory (e.g. --memory 24GiB) so that this can be worked out to the byte.".to_owned(),
            ],
        })
    }
}
