//! The processes that come from this one, however far down and however they were started.

use std::ffi::OsStr;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use rustc_hash::FxHashMap;

use crate::stat::{pids, stat};

/// Makes processes whose parent has ended children of this one, so that none is lost.
pub(crate) fn adopt_orphans() {
    // A kernel that cannot: such processes then run on by themselves, on cards that are not there.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Every process below this one.
pub(crate) fn descendants() -> Vec<Pid> {
    let mut children: FxHashMap<i32, Vec<i32>> = FxHashMap::default();
    for (process, parent) in processes() {
        children.entry(parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut pending = vec![std::process::id().cast_signed()];
    while let Some(parent) = pending.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        found.extend(below.iter().map(|&process| Pid::from_raw(process)));
        pending.extend(below);
    }
    found
}

/// Ends every process below this one. Those that start others meanwhile are met again.
pub(crate) fn end_all() {
    end_all_but(None);
}

/// Ends every process below this one but a child that is still needed.
pub(crate) fn end_all_but(kept: Option<u32>) {
    let is_kept = |process: &Pid| kept.is_some_and(|kept| process.as_raw() == kept.cast_signed());
    for _ in 0..64 {
        let mut found = descendants();
        found.retain(|process| !is_kept(process));
        if found.is_empty() {
            return;
        }
        for process in found {
            let _ = kill(process, Signal::SIGKILL);
        }
        reap(kept);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Forgets children that have ended; not the one that is kept, whose end somebody else asks for.
fn reap(kept: Option<u32>) {
    let Some(kept) = kept else {
        while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
        return;
    };
    let own = std::process::id();
    let ended = pids().into_iter().filter_map(stat).filter(|stat| stat.parent == own && stat.pid != kept);
    for child in ended {
        let _ = waitpid(Pid::from_raw(child.pid.cast_signed()), Some(WaitPidFlag::WNOHANG));
    }
}

/// Ends every process that was started with a variable, written as `NAME=VALUE`, and waits until they are gone. Those
/// that start others meanwhile are met again.
pub(crate) fn end_strangers(variable: &OsStr) {
    for _ in 0..256 {
        let found = processes().filter(|&(process, _)| was_started_with(process, variable)).collect::<Vec<_>>();
        if found.is_empty() {
            return;
        }
        for (process, _) in found {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
}

/// Whether a process that still runs was started with a variable: one that has ended has none.
fn was_started_with(process: i32, variable: &OsStr) -> bool {
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == variable.as_encoded_bytes())
}

/// When a process was started, in the kernel's ticks: tells it from a later one with the same number.
pub(crate) fn start_ticks(process: u32) -> Option<u64> {
    stat(process).map(|stat| stat.start_ticks)
}

/// Each process and its parent.
fn processes() -> impl Iterator<Item = (i32, i32)> {
    let known = pids().into_iter().filter_map(stat);
    known.map(|stat| (stat.pid.cast_signed(), stat.parent.cast_signed()))
}
