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
        "PyTorch's CPU allocator was refused, `/dev/shm` was full, or the operating system killed a process of the job. A \
         snapshot records the card's memory only, so this verdict comes from the log of a job, or from `oomph run`, which \
         watches the memory of every process of the job. That a process was killed by signal 9 (exit code 137) proves \
         nothing: `oomph run` says so only where the kernel's count of processes killed for memory rose too.\n\n\
         The usual causes are DataLoader workers that each hold a copy of the dataset, a large `prefetch_factor` with \
         many workers, pinned memory that is never given back, a checkpoint that every rank loads whole, and lists of \
         results that grow on the host. Workers that are forked share the dataset at first; reading lists and dicts of \
         Python objects writes to them, and every page that is written to is copied.\n\n\
         What helps: fewer workers; arrays instead of lists of Python objects in the dataset; `mmap=True` in \
         `torch.load`; one rank at a time, or `meta` tensors, when a large checkpoint is loaded; a larger `/dev/shm`."
    }

    fn rank(&self) -> u32 {
        0
    }

    fn accuse(&self, _evidence: &Evidence) -> Option<Accusation> {
        None
    }
}
