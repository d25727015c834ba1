//! New threads, which get to where they wait before whoever started them goes on.
//!
//! A card's memory comes from the same kernel as theirs, and which of several free blocks PyTorch's allocator takes depends on
//! addresses. Whether a thread has mapped what it begins with by the next segment, and whether the stack of one that has just
//! ended is free for the next, would be a matter of chance here, and more so on a busy machine.

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// As the C library wants them.
type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
}

/// How long a thread is waited for that has much to do.
const PATIENCE: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_micros(50);

/// Starts a thread, and returns once it waits for something, has ended, or is at work for longer.
#[unsafe(export_name = "pthread_create")]
unsafe extern "C" fn start_and_wait(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the name ends with a zero.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    // SAFETY: the C library's own function of that name has this type; null is `None`.
    let Some(create) = (unsafe { std::mem::transmute::<*mut c_void, Option<Create>>(next) }) else {
        return libc::EAGAIN;
    };
    // SAFETY: the caller's arguments, as they are.
    let told = unsafe { create(thread, attributes, start, argument) };
    if told == 0 && !is_detached(attributes) {
        // SAFETY: the C library has written there, and a thread that can be joined is known until it is.
        wait_for(unsafe { *thread });
    }
    told
}

/// Whether nobody is going to join the thread, so that it may be gone for good by now.
fn is_detached(attributes: *const libc::pthread_attr_t) -> bool {
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: not null, so the caller vouches for it; the state is ours.
    !attributes.is_null()
        && unsafe { pthread_attr_getdetachstate(attributes, &raw mut state) } == 0
        && state == libc::PTHREAD_CREATE_DETACHED
}

fn wait_for(thread: libc::pthread_t) {
    let Some(number) = number_of(thread) else { return };
    let file = format!("/proc/self/task/{number}/stat");
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && std::fs::read_to_string(&file).is_ok_and(|stat| is_at_work(&stat)) {
        std::thread::sleep(LOOK);
    }
}

/// The kernel's number of a thread, which is part of the clock of its processor time.
fn number_of(thread: libc::pthread_t) -> Option<libc::pid_t> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: a thread that can be joined, and a clock of ours.
    (unsafe { libc::pthread_getcpuclockid(thread, &raw mut clock) } == 0).then_some(!(clock >> 3))
}

/// Whether a thread runs, could run, or waits for a disk.
fn is_at_work(stat: &str) -> bool {
    // The name before it may hold brackets and blanks.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('R' | 'D'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    use super::*;

    #[test]
    fn a_thread_waits_before_its_starter_goes_on() {
        for _ in 0..50 {
            let (told, hears) = mpsc::channel();
            let (stop, stopped) = mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                let _ = told.send(());
                let _ = stopped.recv();
            });
            assert!(hears.try_recv().is_ok(), "it has got to its second line");
            drop(stop);
            thread.join().expect("it ends");
        }
    }

    #[test]
    fn a_thread_at_work_is_not_waited_for_long() {
        let began = Instant::now();
        let is_wanted = Arc::new(AtomicBool::new(true));
        let theirs = Arc::clone(&is_wanted);
        let thread = std::thread::spawn(move || while theirs.load(Ordering::Relaxed) {});
        let waited = began.elapsed();
        is_wanted.store(false, Ordering::Relaxed);
        thread.join().expect("it ends");
        assert!(waited < Duration::from_secs(2), "{waited:?}");
    }

    #[test]
    fn the_state_is_read_behind_any_name() {
        assert!(is_at_work("12 (a) S (b) R 1 1"));
        assert!(!is_at_work("12 (pt_nccl_watchdg) S 1 1"));
        assert!(!is_at_work(""));
    }
}
