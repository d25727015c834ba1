//! The signal that [`crate::trap`] needs stays ours: programs that take or block all signals do so but for this one.

use std::ffi::c_int;

use libc::{sigaction as Action, sigset_t};

use super::{In, door, give, next};
use crate::layer::layer;
use crate::sys::{Answer, Errno};

type Change = unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// A set of signals without ours.
fn without_ours(set: In<sigset_t>) -> Option<sigset_t> {
    let mut set = *set.get()?;
    if layer().is_some() {
        // SAFETY: our own copy.
        unsafe { libc::sigdelset(&raw mut set, libc::SIGSYS) };
    }
    Some(set)
}

fn change(real: Option<Change>, how: c_int, set: In<sigset_t>, old: *mut sigset_t) -> Answer<c_int> {
    let changed = if how == libc::SIG_UNBLOCK { set.get().copied() } else { without_ours(set) };
    let set = changed.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a copy of the caller's set, and the caller's own memory.
    real.map(|real| unsafe { real(how, set, old) }).ok_or(Errno(libc::ENOSYS))
}

door! {
    /// Says what happens on a signal.
    sigaction => (signal: c_int, action: *const Action, old: *mut Action) -> c_int {
        type Sigaction = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;
        let kept = signal == libc::SIGSYS && layer().is_some();
        let action = if kept { std::ptr::null() } else { action };
        let real = next!("sigaction" as Sigaction).ok_or(Errno(libc::ENOSYS));
        // SAFETY: the caller's own arguments.
        give(real.map(|real| unsafe { real(signal, action, old) }))
    }

    /// Blocks and unblocks signals.
    sigprocmask => (how: c_int, set: In<sigset_t>, old: *mut sigset_t) -> c_int {
        give(change(next!("sigprocmask" as Change), how, set, old))
    }

    /// Blocks and unblocks signals of this thread.
    pthread_sigmask => (how: c_int, set: In<sigset_t>, old: *mut sigset_t) -> c_int {
        change(next!("pthread_sigmask" as Change), how, set, old).unwrap_or_else(|errno| errno.0)
    }
}
