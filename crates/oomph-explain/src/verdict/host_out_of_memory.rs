//! The machine, not the card, ran out of memory.

use super::{Accusation, Class, Evidence};

/// See [`Class::summary`].
pub(super) struct HostOutOfMemory;

impl Class for HostOutOfMemory {
    fn name(&self) -> &'static str {
        "host_out_of_memory"
    }

    fn summary(&self) -> &'static str {
        "the machine, not the card, ran out of memory"
    }

    fn page(&self) -> &'static str {
        "PyTorch's CPU allocator was refused, or the operating system killed a process of the job. A snapshot records \
         the card's memory only, so this verdict comes from the log of a job.\n\n\
         The usual causes are DataLoader workers that each hold a copy of the dataset, a large `prefetch_factor` with \
         many workers, pinned memory that is never given back, a checkpoint that every rank loads whole, and lists of \
         results that grow on the host.\n\n\
         What helps: fewer workers; arrays instead of lists of Python objects in the dataset; `mmap=True` in \
         `torch.load`; one rank at a time, or `meta` tensors, when a large checkpoint is loaded."
    }

    fn rank(&self) -> u32 {
        0
    }

    fn accuse(&self, _evidence: &Evidence) -> Option<Accusation> {
        None
    }
}
