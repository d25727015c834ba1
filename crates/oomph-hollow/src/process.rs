//! The life of a process that has the library in it: start, fork, end, and the report it leaves.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use std::collections::BTreeMap;

use crate::{count, device, memory};

/// Whether the program has called CUDA at all. `LD_PRELOAD` puts the library into every child, most of which never do.
static USED: AtomicBool = AtomicBool::new(false);
/// Whether this process was forked from one that had used CUDA. A card cannot be used there, as with the real driver.
static FORKED_AFTER_USE: AtomicBool = AtomicBool::new(false);

#[derive(Serialize)]
struct Report {
    pid: u32,
    peak_device_bytes: Vec<u64>,
    unmodelled: BTreeMap<&'static str, u64>,
    kernel_launches: u64,
    reads: u64,
}

/// Notes that the program uses CUDA, so that it leaves a report.
pub(crate) fn used() {
    if !USED.load(Ordering::Relaxed) {
        USED.store(true, Ordering::Relaxed);
    }
}

/// Whether a card can be used here: not in a child forked from a process that had used one.
pub(crate) fn can_use_cards() -> bool {
    !FORKED_AFTER_USE.load(Ordering::Relaxed)
}

/// In the child, after a fork: what was counted is the parent's.
pub(crate) fn forked() {
    if USED.swap(false, Ordering::Relaxed) {
        FORKED_AFTER_USE.store(true, Ordering::Relaxed);
    }
    count::reset();
    memory::forked();
    device::forked();
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
    crate::lock::watch_forks();
}

extern "C" fn end() {
    if USED.load(Ordering::Relaxed) {
        report();
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
