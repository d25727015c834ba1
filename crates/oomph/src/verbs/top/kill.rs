//! Ends a process that the user has chosen and confirmed.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::os::unix::fs::MetadataExt as _;

use super::state::Target;

/// Asks a process to end, if it is still the one that was chosen and this user's; says what came of it.
pub(super) fn end(target: &Target) -> String {
    match check(target) {
        Ok(pid) => match kill(pid, Signal::SIGTERM) {
            Ok(()) => format!("asked process {} to end", target.pid),
            Err(problem) => format!("cannot end process {}: {}", target.pid, problem.desc()),
        },
        Err(reason) => format!("process {} is left alone: {reason}", target.pid),
    }
}

fn check(target: &Target) -> Result<Pid, &'static str> {
    let folder = format!("/proc/{}", target.pid);
    let gone = "it has ended";
    let owner = std::fs::metadata(&folder).map_err(|_| gone)?.uid();
    let stat = std::fs::read_to_string(format!("{folder}/stat")).map_err(|_| gone)?;
    let start_ticks = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19)?.parse().ok());
    if start_ticks != Some(target.start_ticks) {
        return Err("another process has its number now");
    }
    if owner != Uid::current().as_raw() {
        return Err("it is another user's");
    }
    // Numbers up to 1 stand for groups and for the first process of all.
    i32::try_from(target.pid).ok().filter(|&pid| pid > 1).map(Pid::from_raw).ok_or("it is no ordinary process")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    fn start_ticks(pid: u32) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().parse().unwrap()
    }

    #[test]
    fn only_the_process_that_was_chosen_is_ended() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let target = Target { pid: child.id(), start_ticks: start_ticks(child.id()), name: "sleep".to_owned() };
        let earlier = Target { start_ticks: target.start_ticks - 1, ..target.clone() };
        assert!(end(&earlier).contains("another process has its number"));
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(end(&target), format!("asked process {} to end", child.id()));
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert!(end(&target).contains("it has ended"));
    }

    #[test]
    fn the_first_process_is_never_ended() {
        let first = Target { pid: 1, start_ticks: start_ticks(1), name: "init".to_owned() };
        assert!(end(&first).contains("left alone"));
    }
}
