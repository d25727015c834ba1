//! What `/proc` says of one process.

use oomph_trace::host::{HostRole, HostRollup};
use procfs::ProcResult;
use procfs::process::Process;

use crate::stat::Stat;

/// The name that `torch.utils.data` gives to the main thread of its workers, from torch 2.6 on.
const WORKER_NAME: &str = "pt_data_worker";

/// Resident bytes of a process, and of these the pages of files and of shared memory.
pub(super) fn resident(pid: u32) -> Option<(u64, u64)> {
    let statm = Process::new(pid.cast_signed()).ok()?.statm().ok()?;
    let page_bytes = procfs::page_size();
    Some((statm.resident * page_bytes, statm.shared * page_bytes))
}

/// What is dear to read; none where the kernel or its permissions do not allow it.
pub(super) fn rollup(pid: u32) -> Option<HostRollup> {
    let rollup = Process::new(pid.cast_signed()).ok()?.smaps_rollup().ok()?;
    let totals = &rollup.memory_map_rollup.0.first()?.extension.map;
    let bytes = |name: &str| totals.get(name).copied().unwrap_or(0);
    Some(HostRollup {
        proportional_bytes: bytes("Pss"),
        private_bytes: bytes("Private_Clean") + bytes("Private_Dirty") + bytes("Private_Hugetlb"),
        shared_memory_bytes: bytes("Pss_Shmem"),
        swap_bytes: bytes("SwapPss"),
    })
}

/// What a process is for, as far as it shows by now: a worker gets its name some time after it was forked. None where
/// the process that started it has ended and there is nothing left to compare it with.
pub(super) fn role(stat: &Stat, first_parent: u32) -> Option<HostRole> {
    if stat.name == WORKER_NAME {
        return Some(HostRole::Worker);
    }
    // A process that is ending has an empty command line.
    let shown = |pid| command_line(pid).ok().filter(|line| !line.is_empty());
    let (own, parents) = (shown(stat.pid)?, shown(first_parent)?);
    // A copy has the command line and the first environment of its parent, whose rank it would seem to have.
    let is_copy = own == parents;
    Some(if is_copy { HostRole::Forked } else { rank(stat.pid).map_or(HostRole::Other, HostRole::Rank) })
}

fn command_line(pid: u32) -> ProcResult<Vec<String>> {
    Process::new(pid.cast_signed())?.cmdline()
}

fn rank(pid: u32) -> Option<u32> {
    let environment = Process::new(pid.cast_signed()).ok()?.environ().ok()?;
    let variable = |name: &str| environment.get(std::ffi::OsStr::new(name))?.to_str()?.parse().ok();
    // Whatever else is called RANK, only a job of several has a size too.
    variable("WORLD_SIZE").and_then(|_| variable("RANK"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read() {
        let pid = std::process::id();
        let (resident, shared) = resident(pid).expect("readable");
        assert!(resident > shared && shared > 0 && resident < 1 << 40, "{resident} {shared}");
        let rollup = rollup(pid).expect("readable");
        assert!(rollup.private_bytes > 0 && rollup.private_bytes <= rollup.proportional_bytes, "{rollup:?}");
        assert!(rollup.proportional_bytes <= 2 * resident, "{rollup:?} of {resident}");
    }
}
