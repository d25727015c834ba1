//! What the machine has, and what its kernel counts.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use oomph_trace::host::{HostLimits, HostMachine};
use procfs::{Current as _, Meminfo};

use super::cgroup::{Cgroup, keyed};

/// Where workers put the batches that they hand over.
const SHARED_MEMORY: &str = "/dev/shm";

/// What does not change while a job in this cgroup runs.
pub(super) fn limits(cgroup: Option<&Cgroup>) -> HostLimits {
    HostLimits {
        total_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
        cgroup_limit_bytes: cgroup.and_then(Cgroup::limit_bytes),
        shm_total_bytes: statvfs(SHARED_MEMORY).ok().map(|shm| shm.blocks() * shm.fragment_size()),
    }
}

/// What programs can still take without swapping; none where the kernel does not say.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    Meminfo::current().ok()?.mem_available
}

/// The machine now.
pub(super) fn now(cgroup: Option<&Cgroup>) -> HostMachine {
    HostMachine {
        available_bytes: available_bytes().unwrap_or(0),
        oom_kills: keyed(Path::new("/proc/vmstat"), "oom_kill"),
        cgroup_bytes: cgroup.and_then(Cgroup::current_bytes),
        cgroup_oom_kills: cgroup.and_then(Cgroup::oom_kills),
        shm_free_bytes: statvfs(SHARED_MEMORY).ok().map(|shm| shm.blocks_available() * shm.fragment_size()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_some_is_free() {
        let (limits, machine) = (limits(None), now(None));
        assert!(limits.total_bytes > machine.available_bytes, "{limits:?} {machine:?}");
        assert!(machine.available_bytes > 1 << 20, "{machine:?}");
        assert!(machine.shm_free_bytes <= limits.shm_total_bytes);
    }
}
