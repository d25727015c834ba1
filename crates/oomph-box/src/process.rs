//! Tells processes from one another.

use std::fs;

/// Whether a process exists, was started at this moment, and is no zombie.
pub(crate) fn is_alive(pid: u32, start_ticks: u64) -> bool {
    stat(&format!("/proc/{pid}/stat"))
        .is_some_and(|(state, started)| started == start_ticks && !matches!(state, b'Z' | b'X'))
}

/// When this process was started, in the kernel's ticks since boot.
pub(crate) fn own_start_ticks() -> u64 {
    stat("/proc/self/stat").map_or(0, |(_, started)| started)
}

/// State and start of a process.
fn stat(path: &str) -> Option<(u8, u64)> {
    let text = fs::read(path).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let after_name = text.iter().rposition(|&byte| byte == b')')? + 1;
    let rest = std::str::from_utf8(text.get(after_name..)?).ok()?;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?.bytes().next()?;
    // It is the 22nd of all, the state the 3rd.
    Some((state, words.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_no_other_is_it() {
        let started = own_start_ticks();
        assert!(started > 0);
        assert!(is_alive(std::process::id(), started));
        assert!(!is_alive(std::process::id(), started + 1));
        assert!(!is_alive(u32::MAX, started));
    }
}
