//! What a process of a plan tells of the host's memory.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One look at the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostMoment {
    /// Resident bytes.
    pub resident_bytes: u64,
    /// Of these, pages of files and shared memory.
    pub shared_bytes: u64,
    /// Pages of tensors and pinned memory that the real job would have in memory, and the plan has not.
    pub unfilled_bytes: u64,
    /// Held by tensors on the CPU.
    pub tensor_bytes: u64,
    /// Pinned.
    pub pinned_bytes: u64,
}

/// What was counted and measured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The most that tensors on the CPU held.
    pub tensor_peak_bytes: u64,
    /// The most that was pinned, as PyTorch's allocator rounds it.
    pub pinned_peak_bytes: u64,
    /// The most of both together.
    pub counted_peak_bytes: u64,
    /// The look that showed most.
    pub whole: HostMoment,
    /// The look when both together were most.
    pub fullest: HostMoment,
    /// The most that was resident, as the kernel counts it.
    pub most_resident_bytes: u64,
    /// The same once all libraries have been ended, behind the last line of Python; 0 where the process did not end so.
    pub exit_resident_bytes: u64,
    /// Pages of files at the end.
    pub file_bytes: u64,
    /// Whether the script computed every value, so that what is resident is the whole of it.
    pub is_filled: bool,
    /// Resident when the script had imported what it imports at its top level.
    pub imports_bytes: Option<u64>,
    /// What oomph's own code takes in the process.
    pub own_bytes: u64,
    /// Tensors on the CPU by what they are for.
    pub categories: BTreeMap<String, u64>,
}

/// A loader with workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostLoader {
    /// Where it is gone through.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Processes that prepare batches.
    pub workers: u32,
    /// Batches that each prepares ahead.
    pub prefetch_factor: u32,
    /// The tensors of a batch.
    pub batch_bytes: u64,
    /// The Python objects of its data set.
    pub object_bytes: u64,
    /// What each worker has copied of them after a whole epoch.
    pub copied_bytes: u64,
    /// What each has copied of them in the plan.
    pub seen_copied_bytes: u64,
}
