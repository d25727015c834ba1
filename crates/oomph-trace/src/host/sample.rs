//! One look at the job's processes and at the machine they run on.

use serde::{Deserialize, Serialize};

/// What does not change while a job runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLimits {
    /// The machine's memory.
    pub total_bytes: u64,
    /// The most that the job's cgroup, and those around it, allow; none where nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_limit_bytes: Option<u64>,
    /// The size of `/dev/shm`, through which `DataLoader` workers hand batches over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shm_total_bytes: Option<u64>,
}

impl HostLimits {
    /// The most that the job can hold: the cgroup's limit, else the machine's memory.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.cgroup_limit_bytes.unwrap_or(self.total_bytes).min(self.total_bytes)
    }
}

/// The machine and the job's cgroup at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMachine {
    /// What the kernel could still give out (`MemAvailable`).
    pub available_bytes: u64,
    /// How often the kernel has killed a process for memory since it started, in all of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// What the job's cgroup is charged with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_bytes: Option<u64>,
    /// How often a process of the job's cgroup was killed for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_oom_kills: Option<u64>,
    /// What is free in `/dev/shm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shm_free_bytes: Option<u64>,
}

/// What `smaps_rollup` says of a process: dearer to read than the rest, so it is read less often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRollup {
    /// Resident bytes, where a page that several processes share counts in parts (PSS).
    pub proportional_bytes: u64,
    /// Resident bytes that no other process has (USS): what is free once it ends.
    pub private_bytes: u64,
    /// Of the proportional bytes, those in shared memory: batches of workers, and pinned memory.
    pub shared_memory_bytes: u64,
    /// Bytes moved out to swap.
    pub swap_bytes: u64,
}

/// What the process told about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTold {
    /// Steps it has done.
    pub step: u64,
    /// Bytes of its live CPU tensors.
    pub cpu_tensor_bytes: u64,
    /// Bytes of pinned memory that PyTorch holds. On Linux they are shared memory, resident from the start.
    pub pinned_bytes: u64,
}

/// One process in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPoint {
    /// Its [`number`](crate::host::HostProcess::number).
    pub process: u32,
    /// Resident bytes (RSS).
    pub resident_bytes: u64,
    /// Of these, pages of files and of shared memory; the rest is the process's own heap.
    pub shared_bytes: u64,
    /// What was read less often, where it was read for this sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollup: Option<HostRollup>,
    /// What the process told, where it tells anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<HostTold>,
}

impl HostPoint {
    /// Resident bytes of the process's own heap: no files, no shared memory.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.resident_bytes.saturating_sub(self.shared_bytes)
    }
}

/// One look at all processes of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// Milliseconds since the history began.
    pub time_ms: u64,
    /// The machine.
    pub machine: HostMachine,
    /// The processes.
    pub points: Vec<HostPoint>,
}

impl HostSample {
    /// A process in this sample.
    #[must_use]
    pub fn point(&self, process: u32) -> Option<&HostPoint> {
        self.points.iter().find(|point| point.process == process)
    }

    /// Takes over what was read less often from the sample before, which is about to be dropped.
    pub(super) fn inherit(&mut self, earlier: &Self) {
        for point in &mut self.points {
            let before = earlier.point(point.process);
            point.rollup = point.rollup.or_else(|| before?.rollup);
            point.told = point.told.or_else(|| before?.told);
        }
    }
}
