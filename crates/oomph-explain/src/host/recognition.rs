//! How it is known that the machine's memory ran out, and not only that a process was killed.

use oomph_trace::host::{HostHistory, HostProcess};

use super::facts::HostFacts;
use crate::log::{FailureKind, HostFailure, HostFailureKind, Log};

/// The counter of the kernel that rose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Of the job's cgroup: its limit was reached, or the machine's memory.
    Cgroup,
    /// Of the whole machine, where the job's cgroup counts nothing.
    Machine,
    /// None can be read here: the message alone says so.
    Unknown,
}

/// How it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// The kernel killed a process for its memory.
    Killed {
        /// Its pid.
        pid: u32,
        /// What rose.
        counter: Counter,
    },
    /// A request was refused, and the process raised an exception.
    Refused {
        /// Its pid.
        pid: u32,
        /// What its message says.
        failure: HostFailure,
    },
    /// `/dev/shm` was full.
    SharedMemoryFull {
        /// The process that was told.
        pid: u32,
    },
}

/// What happened, if the machine's memory ran out; with the traceback, where there is one.
pub(super) fn recognise(history: &HostHistory, facts: &HostFacts) -> Option<(Recognition, Option<Log>)> {
    let logs: Vec<(u32, Log)> =
        facts.messages.iter().filter_map(|(pid, text)| Some((*pid, Log::read(text)?))).collect();
    let of_kind = |wanted: HostFailureKind| {
        logs.iter().find_map(|(pid, log)| {
            let failure = host_failure(log).filter(|failure| failure.kind == wanted)?;
            Some((*pid, failure.clone(), log.clone()))
        })
    };
    if let Some((pid, _, log)) = of_kind(HostFailureKind::SharedMemory) {
        return Some((Recognition::SharedMemoryFull { pid }, Some(log)));
    }
    let said = of_kind(HostFailureKind::Killed);
    if let Some(counter) = risen(history)
        && let Some(pid) = killed(history, facts, said.as_ref().and_then(|(_, failure, _)| failure.pid))
    {
        // Where no counter can be read, that somebody was killed is not enough: a message must say what for.
        if counter != Counter::Unknown || said.is_some() {
            return Some((Recognition::Killed { pid, counter }, said.map(|(_, _, log)| log)));
        }
    }
    let (pid, failure, log) = of_kind(HostFailureKind::Refused)?;
    Some((Recognition::Refused { pid, failure }, Some(log)))
}

fn host_failure(log: &Log) -> Option<&HostFailure> {
    match &log.first().kind {
        FailureKind::Host(failure) => Some(failure),
        FailureKind::Allocator(_) | FailureKind::Driver => None,
    }
}

/// The counter that rose while the job ran. One of the job's own cgroup that did not rise rules the machine's out: the
/// kernel counts a killed process in its own cgroup too.
fn risen(history: &HostHistory) -> Option<Counter> {
    let (before, after) = (history.before(), history.after());
    if let Some((before, after)) = before.cgroup_oom_kills.zip(after.cgroup_oom_kills) {
        return (after > before).then_some(Counter::Cgroup);
    }
    match before.oom_kills.zip(after.oom_kills) {
        Some((before, after)) => (after > before).then_some(Counter::Machine),
        None => Some(Counter::Unknown),
    }
}

/// The process of the job that died of `SIGKILL`: seen, or told by the one that waited for it.
fn killed(history: &HostHistory, facts: &HostFacts, said: Option<u32>) -> Option<u32> {
    let told = facts.messages.iter().find_map(|(_, text)| killed_pid(text));
    let largest = |process: &&HostProcess| process.peaks.private_bytes.max(process.peaks.resident_bytes);
    let seen = || history.processes().filter(|process| process.was_killed()).max_by_key(largest);
    said.or(told).or_else(|| seen().map(|process| process.pid))
}

/// The pid in what `torchrun` and `torch.multiprocessing` say of a process that was killed.
fn killed_pid(text: &str) -> Option<u32> {
    let after = |marker: &str| {
        let rest = &text[text.find(marker)? + marker.len()..];
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    after("Signal 9 (SIGKILL) received by PID ")
}

#[cfg(test)]
mod tests {
    use oomph_trace::host::{HostEnd, HostLimits, HostMachine};

    use super::*;

    fn history(cgroup: Option<(u64, u64)>, machine: Option<(u64, u64)>, signal: i32) -> HostHistory {
        let counted = |pick: fn((u64, u64)) -> u64| HostMachine {
            cgroup_oom_kills: cgroup.map(pick),
            oom_kills: machine.map(pick),
            ..HostMachine::default()
        };
        let mut history = HostHistory::new(HostLimits::default(), counted(|pair| pair.0));
        history.add_process(HostProcess { pid: 41, ..HostProcess::default() });
        history.end_process(0, 1, Some(HostEnd::Signal(signal)));
        history.close(counted(|pair| pair.1));
        history
    }

    fn recognised(history: &HostHistory) -> Option<Recognition> {
        recognise(history, &HostFacts::default()).map(|(recognition, _)| recognition)
    }

    #[test]
    fn a_kill_alone_proves_nothing_and_a_counter_alone_neither() {
        let by = |counter| Some(Recognition::Killed { pid: 41, counter });
        assert_eq!(recognised(&history(Some((3, 4)), Some((9, 10)), 9)), by(Counter::Cgroup));
        assert_eq!(recognised(&history(None, Some((9, 10)), 9)), by(Counter::Machine));
        assert_eq!(recognised(&history(Some((3, 3)), Some((9, 9)), 9)), None, "somebody's kill -9");
        assert_eq!(recognised(&history(Some((3, 3)), Some((9, 10)), 9)), None, "of another job on this machine");
        assert_eq!(recognised(&history(Some((3, 4)), Some((9, 10)), 15)), None, "of another process in this cgroup");
        assert_eq!(recognised(&history(None, None, 9)), None);
    }

    #[test]
    fn a_message_says_who_was_killed_or_refused() {
        let with = |text: &str| HostFacts { messages: vec![(40, text.to_owned())], ..HostFacts::default() };
        let rose = history(Some((0, 1)), None, 15);
        let worker = "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed. \n";
        let (found, _) = recognise(&rose, &with(worker)).expect("counter and message");
        assert_eq!(found, Recognition::Killed { pid: 77, counter: Counter::Cgroup });
        let (found, _) = recognise(&rose, &with("traceback: Signal 9 (SIGKILL) received by PID 78\n")).expect("both");
        assert_eq!(found, Recognition::Killed { pid: 78, counter: Counter::Cgroup });
        let flat = history(Some((0, 0)), None, 15);
        assert_eq!(recognise(&flat, &with(worker)), None, "somebody's kill -9 of a worker");
        let unknown = history(None, None, 15);
        assert!(recognise(&unknown, &with(worker)).is_some(), "nothing to hold it against");
        let (found, _) = recognise(&flat, &with("MemoryError\n")).expect("refused");
        assert!(matches!(found, Recognition::Refused { pid: 40, .. }), "{found:?}");
    }
}
