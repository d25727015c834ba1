//! How a call from C enters and leaves: the status, the error that the thread last met, results through pointers.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fault::{Fault, Outcome};
use crate::process;

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// Runs the body of a runtime function. What fails stays this thread's last error until it is asked for.
pub(crate) fn runtime(body: impl FnOnce() -> Outcome) -> c_int {
    let status = driver(body);
    if status != 0 {
        LAST.set(status);
    }
    status
}

/// Runs the body of a driver function.
pub(crate) fn driver(body: impl FnOnce() -> Outcome) -> c_int {
    process::used();
    // A panic here would be a defect, but the program that is planned must not die of it.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(Fault(number))) => number,
        Err(_) => Fault::UNKNOWN.0,
    }
}

/// The last error of this thread.
pub(crate) fn last_error() -> c_int {
    LAST.get()
}

/// The last error of this thread, which is forgotten.
pub(crate) fn take_last_error() -> c_int {
    LAST.replace(0)
}

/// Hands a result over through a pointer of the caller's; a null pointer is the caller's mistake.
///
/// # Safety
///
/// `out` is null or can be written.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Outcome {
    if out.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller vouches for it. C callers align their variables.
    unsafe { out.write(value) };
    Ok(())
}

/// Hands a result over where the caller wants it.
///
/// # Safety
///
/// `out` is null or can be written.
pub(crate) unsafe fn put_if_wanted<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: not null, so the caller vouches for it.
        unsafe { out.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_once() {
        assert_eq!(runtime(|| Err(Fault::OUT_OF_MEMORY)), 2);
        assert_eq!(runtime(|| Ok(())), 0);
        assert_eq!(last_error(), 2);
        assert_eq!(take_last_error(), 2);
        assert_eq!(take_last_error(), 0);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(driver(|| panic!("never")), 999);
    }
}
