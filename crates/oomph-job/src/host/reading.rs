//! What `/proc` says of one process.

use oomph_trace::host::{HostEnd, HostRole, HostRollup};
use procfs::ProcResult;
use procfs::process::Process;

/// The name that `torch.utils.data` gives to the main thread of its workers, from torch 2.6 on.
const WORKER_NAME: &str = "pt_data_worker";

/// A process as its `stat` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) name: String,
    /// When it was started, in the kernel's ticks: with the pid, what makes it this process and no later one.
    pub(super) start_ticks: u64,
    /// How it ended, where it has ended and nobody has asked yet.
    pub(super) end: Option<HostEnd>,
    pub(super) is_ended: bool,
}

/// Every pid there is.
pub(super) fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process, if there still is one.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    let stat = Process::new(pid.cast_signed()).ok()?.stat().ok()?;
    let is_ended = matches!(stat.state, 'Z' | 'X' | 'x');
    Some(Stat {
        pid,
        parent: stat.ppid.cast_unsigned(),
        start_ticks: stat.starttime,
        end: stat.exit_code.filter(|_| is_ended).map(end_of_status),
        name: stat.comm,
        is_ended,
    })
}

/// What `wait` would say.
fn end_of_status(status: i32) -> HostEnd {
    match status & 0x7f {
        0 => HostEnd::Exit((status >> 8) & 0xff),
        signal => HostEnd::Signal(signal),
    }
}

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
        let own = stat(pid).expect("there is this process");
        assert!(own.start_ticks > 0 && !own.is_ended && own.end.is_none(), "{own:?}");
        assert!(pids().contains(&pid));
        let (resident, shared) = resident(pid).expect("readable");
        assert!(resident > shared && shared > 0 && resident < 1 << 40, "{resident} {shared}");
        let rollup = rollup(pid).expect("readable");
        assert!(rollup.private_bytes > 0 && rollup.private_bytes <= rollup.proportional_bytes, "{rollup:?}");
        assert!(rollup.proportional_bytes <= 2 * resident, "{rollup:?} of {resident}");
    }

    #[test]
    fn an_ended_process_says_how_until_somebody_asks() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("there is sleep");
        child.kill().expect("it runs");
        let ended = std::iter::repeat_with(|| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            stat(child.id()).expect("nobody has asked yet")
        });
        let ended = ended.take(1000).find(|stat| stat.is_ended).expect("it ends within seconds");
        assert_eq!(ended.end, Some(HostEnd::Signal(9)));
        child.wait().expect("it has ended");
        assert_eq!(stat(child.id()), None);
    }

    #[test]
    fn a_status_says_code_or_signal() {
        assert_eq!(end_of_status(3 << 8), HostEnd::Exit(3));
        assert_eq!(end_of_status(9), HostEnd::Signal(9));
        assert_eq!(end_of_status(0x80 | 6), HostEnd::Signal(6), "with a core dump");
    }
}
