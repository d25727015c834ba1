//! What a process has resident at the very end, when every library has cleaned up behind itself.
//!
//! CUDA's libraries go through their kernels then, card or not: a process that imported PyTorch 2.11 for CUDA 13 reads some
//! 130 MB of files that it had not read before, after the last line of Python. That is the peak of every job which has
//! not held as much more earlier.

use std::ffi::{c_int, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use crate::lock::Guarded;

/// Where to tell it, and the process that asked for that: not its children.
static TOLD: Guarded<Option<(u32, PathBuf)>> = Guarded::new(None);

unsafe extern "C" {
    fn __cxa_atexit(function: extern "C" fn(*mut c_void), argument: *mut c_void, library: *mut c_void) -> c_int;
}

/// Registers what is done at the very end. What is registered first is done last: call it before `main` is prepared, which
/// registers that libraries are ended. It belongs to no library, so it is not done when this one is ended.
pub(crate) fn prepare() {
    // SAFETY: a function of the kind that is asked for, which needs no argument.
    unsafe { __cxa_atexit(at_exit, std::ptr::null_mut(), std::ptr::null_mut()) };
}

/// Has it told in a file of facts, if this process ends as Python ends.
pub(crate) fn tell(path: PathBuf) {
    *TOLD.lock() = Some((std::process::id(), path));
}

extern "C" fn at_exit(_argument: *mut c_void) {
    let Some((process, path)) = TOLD.lock().take() else { return };
    if process != std::process::id() {
        return;
    }
    let Some(bytes) = std::fs::read_to_string("/proc/self/status").ok().as_deref().and_then(most_resident_bytes) else {
        return;
    };
    // Whoever reads the facts takes a missing line for not known.
    let _ = OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("[\"exit\", {bytes}]\n").as_bytes()));
}

fn most_resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernels_peak_is_read() {
        assert_eq!(super::most_resident_bytes("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 4 kB\n"), Some(2 << 20));
        assert_eq!(super::most_resident_bytes("Name:\tx\n"), None);
    }
}
