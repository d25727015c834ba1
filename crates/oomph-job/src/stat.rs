//! Which processes there are, as the kernel lists them.

use oomph_trace::host::HostEnd;
use procfs::process::Process;

/// A process as its `stat` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) name: String,
    /// When it was started, in the kernel's ticks: with the pid, what makes it this process and no later one.
    pub(crate) start_ticks: u64,
    /// How it ended, where it has ended and nobody has asked yet.
    pub(crate) end: Option<HostEnd>,
    pub(crate) is_ended: bool,
}

/// Every pid there is.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process, if there still is one.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let pid = std::process::id();
        let own = stat(pid).expect("there is this process");
        assert!(own.start_ticks > 0 && !own.is_ended && own.end.is_none(), "{own:?}");
        assert!(pids().contains(&pid));
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
