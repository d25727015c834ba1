//! The threads that nearly all blocks are taken on: the main thread and autograd's, known again at a glance.
//!
//! To ask Python for the state of a thread, and the thread for its name, leads through two libraries and half a dozen
//! cache lines that nobody else needs: a good part of what an event costs. What these threads answer never changes while
//! they run: Python keeps the main thread's state to its end, and PyTorch holds that of autograd's threads.

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::interpreter::{self, Interpreter};

/// One main thread, and one of autograd's for each card; further ones are asked each time.
const ROOM: usize = 8;

/// In place of a thread's address: nobody; nobody any more; somebody who is being put there.
const NOBODY: usize = 0;
const GONE: usize = 1;
const TAKEN: usize = 2;

/// Beside the address of a state, which is even.
const AUTOGRAD: usize = 1;

/// What is known of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Python's state of it; 0 if Python does not know it.
    pub(crate) state: usize,
    /// It runs backward passes.
    pub(crate) is_autograd: bool,
}

#[repr(align(64))]
struct Known([(AtomicUsize, AtomicUsize); ROOM]);

static KNOWN: Known = Known([const { (AtomicUsize::new(NOBODY), AtomicUsize::new(0)) }; ROOM]);

/// The calling thread.
#[inline]
pub(crate) fn current() -> Thread {
    let pointer = thread_pointer();
    for (held, about) in &KNOWN.0 {
        match held.load(Acquire) {
            held if held == pointer => {
                let about = about.load(Relaxed);
                return Thread { state: about & !AUTOGRAD, is_autograd: about & AUTOGRAD != 0 };
            }
            NOBODY => break,
            _ => {}
        }
    }
    ask(pointer)
}

/// Nobody is known any more: for a forked child, whose threads are others.
pub(crate) fn forget_all() {
    for (held, _) in &KNOWN.0 {
        held.store(NOBODY, Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Autograd,
    Other,
}

/// Asks the thread itself and Python; remembers the answer where it will stay the same.
#[cold]
fn ask(pointer: usize) -> Thread {
    let kind = kind();
    let state = interpreter::current().map_or(0, Interpreter::thread_state);
    if state != 0 && kind != Kind::Other {
        remember(pointer, state | if kind == Kind::Autograd { AUTOGRAD } else { 0 });
    }
    Thread { state, is_autograd: kind == Kind::Autograd }
}

fn remember(pointer: usize, about: usize) {
    // A thread whose end would not be noticed is asked each time.
    if END.try_with(|end| end.0.set(pointer)).is_err() {
        return;
    }
    let take = |held: &AtomicUsize, free| held.compare_exchange(free, TAKEN, Acquire, Relaxed).is_ok();
    if let Some((held, kept)) = KNOWN.0.iter().find(|(held, _)| take(held, NOBODY) || take(held, GONE)) {
        kept.store(about, Relaxed);
        held.store(pointer, Release);
    }
}

/// Another thread may get the same place in memory once this one has ended.
struct End(Cell<usize>);

impl Drop for End {
    fn drop(&mut self) {
        let pointer = self.0.get();
        for (held, _) in KNOWN.0.iter().filter(|(held, _)| pointer != NOBODY && held.load(Relaxed) == pointer) {
            held.store(GONE, Relaxed);
        }
    }
}

thread_local! {
    static END: End = const { End(Cell::new(NOBODY)) };
    static KIND: Cell<Option<Kind>> = const { Cell::new(None) };
}

fn kind() -> Kind {
    KIND.with(|known| {
        let kind = known.get().unwrap_or_else(|| {
            // SAFETY: neither call has conditions.
            let is_main = unsafe { libc::gettid() == libc::getpid() };
            match is_main {
                true => Kind::Main,
                // PyTorch gives autograd's threads a name.
                false if thread_name().starts_with(b"pt_autograd") => Kind::Autograd,
                false => Kind::Other,
            }
        });
        known.set(Some(kind));
        kind
    })
}

fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the kernel writes 16 bytes at most.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// An address that no other running thread has.
#[inline]
fn thread_pointer() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: usize;
        // SAFETY: the first word of what this register points to is its own address, by the ABI of Linux.
        unsafe {
            core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
        };
        pointer
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: usize;
        // SAFETY: every program may read this register; no memory is touched.
        unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
        pointer
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the call has no conditions.
        unsafe { libc::pthread_self() as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<T: Send + 'static>(name: &str, inside: fn() -> T) -> T {
        std::thread::Builder::new().name(name.to_owned()).spawn(inside).expect("started").join().expect("ended")
    }

    #[test]
    fn only_autograds_threads_are_taken_for_them() {
        assert!(!current().is_autograd);
        assert!(named("pt_autograd_0", current).is_autograd);
        assert!(!named("pt_data", current).is_autograd);
    }

    #[test]
    fn a_thread_is_known_until_it_ends_and_no_other_is_taken_for_it() {
        let is_held = |pointer: usize| KNOWN.0.iter().any(|(held, _)| held.load(Relaxed) == pointer);
        for _ in 0..3 * ROOM {
            let pointer = named("pt_autograd_1", || {
                remember(thread_pointer(), 64 | AUTOGRAD);
                assert_eq!(current(), Thread { state: 64, is_autograd: true });
                thread_pointer()
            });
            assert!(!is_held(pointer));
            // It often gets the place of the one before.
            assert_eq!(named("other", current), Thread { state: 0, is_autograd: false });
        }
    }
}
