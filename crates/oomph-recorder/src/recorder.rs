//! The recorder of this process: its box, and what it needs to write it.

use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use oomph_box::{BoxError, Writer};

use crate::cache::{Cache, Followers};
use crate::threads;

/// Sizes that are tried where the one asked for has no room.
const SMALLER_BYTES: [u64; 4] = [16 << 20, 8 << 20, 4 << 20, oomph_box::MIN_BYTES];

/// Stacks and frames that are recognised at once.
const STACK_SLOTS: usize = 1 << 17;
const FRAME_SLOTS: usize = 1 << 16;

/// Ticks or nanoseconds within which a time is now: some seconds.
const NOW_TOLERANCE: u64 = 1 << 34;

/// Ticks within which a number is the processor's counter and no other clock that happens to be near: some milliseconds.
const TICKS_TOLERANCE: u64 = 1 << 24;

static CURRENT: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Everything that belongs to one box.
pub(crate) struct Recorder {
    writer: Writer,
    pub(crate) stacks: Cache,
    pub(crate) followers: Followers,
    pub(crate) frames: Cache,
    /// The stack of whoever called `backward()`, while that runs; 0 otherwise.
    pub(crate) backward_caller: AtomicU32,
    pub(crate) backward_depth: AtomicU32,
}

/// The recorder, once there is one. It is never taken away while threads may be using it.
#[inline]
pub(crate) fn current() -> Option<&'static Recorder> {
    // SAFETY: the pointer is null or came from `Box::leak` in `open`.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Makes the box of this process and starts to write it.
pub(crate) fn open(path: &Path, bytes: u64) -> Result<(), BoxError> {
    let mut made = create(path, bytes);
    for smaller in SMALLER_BYTES.into_iter().filter(|&smaller| smaller < bytes) {
        if made.is_ok() {
            break;
        }
        made = create(path, smaller);
    }
    let recorder = Box::leak(Box::new(Recorder {
        writer: made?,
        stacks: Cache::of_slots(STACK_SLOTS),
        followers: Followers::of_slots(STACK_SLOTS),
        frames: Cache::of_slots(FRAME_SLOTS),
        backward_caller: AtomicU32::new(0),
        backward_depth: AtomicU32::new(0),
    }));
    CURRENT.store(recorder, Ordering::Release);
    watch_forks();
    Ok(())
}

/// Hears nothing (`true`) until it is asked to go on: so that one process can be measured with and without its recorder.
/// What happens meanwhile is missing in the box.
pub(crate) fn pause(is_paused: bool) {
    static PAUSED: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());
    let (from, to) = if is_paused { (&CURRENT, &PAUSED) } else { (&PAUSED, &CURRENT) };
    let recorder = from.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !recorder.is_null() {
        to.store(recorder, Ordering::Release);
    }
}

/// A path below `/proc` is a file without a name that somebody holds open.
fn create(path: &Path, bytes: u64) -> Result<Writer, BoxError> {
    if path.starts_with("/proc") { Writer::create_in(path, bytes) } else { Writer::create(path, bytes) }
}

/// A forked child shares the mapping; what it does is not its parent's. It may open a box of its own.
fn watch_forks() {
    static WATCHED: Once = Once::new();
    extern "C" fn in_child() {
        CURRENT.store(std::ptr::null_mut(), Ordering::Release);
        threads::forget_all();
    }
    WATCHED.call_once(|| {
        // SAFETY: the handler stores some words, which is allowed after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

impl Recorder {
    /// What writes the box.
    #[inline]
    pub(crate) fn box_writer(&self) -> &Writer {
        &self.writer
    }
}

/// Whether a number is the present time by the processor's counter or by one of the clocks, in nanoseconds.
pub(crate) fn is_now(time: u64) -> bool {
    let clocks = [
        oomph_box::ticks(),
        clock_ns(libc::CLOCK_MONOTONIC),
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64),
    ];
    clocks.into_iter().any(|now| now.abs_diff(time) < NOW_TOLERANCE.min(now / 2))
}

/// Whether a number is the present time by the processor's counter.
pub(crate) fn is_now_in_ticks(time: u64) -> bool {
    oomph_box::ticks().abs_diff(time) < TICKS_TOLERANCE
}

/// What a clock says, in nanoseconds.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
