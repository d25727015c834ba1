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
         It may also be a library that gets nothing: cuBLAS and cuDNN take memory of their own at their first call, and \
         say `CUBLAS_STATUS_ALLOC_FAILED` or the like where PyTorch has reserved all there is.\n\n\
         What helps: `nvidia-smi` tells which process; cap the other library (`XLA_PYTHON_CLIENT_MEM_FRACTION`, a CuPy \
         pool limit); let it share PyTorch's allocator."
    }

    fn rank(&self) -> u32 {
        4
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        if let Some(message) = &evidence.case.library_shortage {
            return Some(library_shortage(evidence, message));
        }
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

/// A library that could not start because PyTorch had taken the card.
fn library_shortage(evidence: &Evidence, message: &str) -> Accusation {
    let reserved_bytes = evidence.case.timeline.peak_reserved.bytes;
    Accusation {
        class: OutsidePytorch.name(),
        summary: format!(
            "A library found no memory of its own beside PyTorch's allocator, which had reserved {} by then ({message}).",
            show(reserved_bytes),
        ),
        line: None,
        stack: StackId::MISSING,
        bytes: reserved_bytes,
        remove: Remove::Nothing,
        advice: vec![
            "Leave some of the card to the libraries: they take their memory at their first call, a matrix product or \
             a convolution. What makes the job take less helps, and so does \
             torch.cuda.set_per_process_memory_fraction(0.9)."
                .to_owned(),
        ],
    }
}
