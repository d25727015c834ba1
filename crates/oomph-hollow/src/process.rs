//! The life of a process that has the library in it: start, fork, end, and the report it leaves.

use std::collections::BTreeMap;
use std::env;
use std::ffi::c_int;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde::Serialize;

use crate::{count, device, estimate, kernel, memory, nccl};

/// Whether the program has called CUDA at all. `LD_PRELOAD` puts the library into every child, most of which never do.
static USED: AtomicBool = AtomicBool::new(false);
/// Whether the program has asked for a card, which is when the real driver initialises itself.
static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// Whether this process was forked from one that had asked for a card. A card cannot be used there, as with the real driver.
static FORKED_AFTER_USE: AtomicBool = AtomicBool::new(false);

/// This process. A child of `vfork` borrows its parent's memory, and must not report in its name.
static ID: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize)]
struct Report {
    pid: u32,
    peak_device_bytes: Vec<u64>,
    unmodelled: BTreeMap<&'static str, u64>,
    estimates: Vec<estimate::Line>,
    kernel_launches: u64,
    reads: u64,
}

/// Notes that the program uses CUDA, so that it leaves a report.
pub(crate) fn used() {
    if !USED.load(Ordering::Relaxed) {
        USED.store(true, Ordering::Relaxed);
    }
}

/// Notes that the program asks for a card.
pub(crate) fn initialized() {
    if !INITIALIZED.load(Ordering::Relaxed) {
        INITIALIZED.store(true, Ordering::Relaxed);
    }
}

/// Whether a card can be used here: not in a child forked from a process that had used one.
pub(crate) fn can_use_cards() -> bool {
    !FORKED_AFTER_USE.load(Ordering::Relaxed)
}

/// In the child, after a fork: what was counted is the parent's.
pub(crate) fn forked() {
    ID.store(std::process::id(), Ordering::Relaxed);
    USED.store(false, Ordering::Relaxed);
    if INITIALIZED.load(Ordering::Relaxed) {
        FORKED_AFTER_USE.store(true, Ordering::Relaxed);
    }
    count::reset();
    estimate::forked();
    memory::forked();
    device::forked();
    kernel::forked();
    nccl::forked();
}

/// One line on stderr.
pub(crate) fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "oomph: {message}");
}

/// Appends one line about this process to `OOMPH_HOLLOW_REPORT`.
pub(crate) fn report() {
    let Some(path) = env::var_os("OOMPH_HOLLOW_REPORT") else { return };
    let report = Report {
        pid: std::process::id(),
        peak_device_bytes: memory::peak_device_bytes(),
        unmodelled: count::unmodelled_calls(),
        estimates: estimate::noted(),
        kernel_launches: count::LAUNCHES.get(),
        reads: count::READS.get(),
    };
    let Ok(mut line) = serde_json::to_vec(&report) else { return };
    line.push(b'\n');
    // One write to a file opened for appending: lines of several processes do not mix.
    let written = OpenOptions::new().create(true).append(true).open(&path).and_then(|mut file| file.write_all(&line));
    if let Err(error) = written {
        say(&format!("cannot write {}: {error}", path.display()));
    }
}

extern "C" fn start() {
    ID.store(std::process::id(), Ordering::Relaxed);
    crate::lock::watch_forks();
    crate::host_exit::prepare();
}

extern "C" fn end() {
    if ID.load(Ordering::Relaxed) == std::process::id() && USED.swap(false, Ordering::Relaxed) {
        report();
    }
}

/// Ends the process at once, as the system's function of this name does. Children that Python forked end by it, without
/// a way for libraries to say a last word.
#[unsafe(no_mangle)]
extern "C" fn _exit(status: c_int) -> ! {
    end();
    loop {
        // SAFETY: ends all threads and does not come back.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
