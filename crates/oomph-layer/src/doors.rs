//! The functions of libc that this library stands in front of: one file a kind.
//!
//! Every one is as short as it can be: it takes what C hands over, asks [`crate::ops`], and answers as C expects.

mod attributes;
mod extended;
mod folders;
mod libraries;
mod names;
mod open;
mod other;
mod paths;
mod processes;
mod search;
mod shared;
mod signals;
mod sockets;
mod stats;
mod temporary;
mod variadic;

use std::ffi::{CStr, c_char, c_int};

use crate::sys::{Answer, Errno, c_str};

/// Text that a C caller hands over. Only C makes these, and C's own rule is what makes reading them sound: null, or
/// bytes that end in a NUL and stay as they are during the call.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct CText(pub(crate) *const c_char);

impl CText {
    /// The text, or `EFAULT` for null.
    pub(crate) fn get<'a>(self) -> Answer<&'a CStr> {
        // SAFETY: the rule of this type.
        unsafe { c_str(self.0) }
    }
}

/// A place that a C caller wants filled: null, or valid for one `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Out<T>(pub(crate) *mut T);

impl<T> Out<T> {
    /// Fills it.
    pub(crate) fn put(self, value: T) -> Answer<()> {
        if self.0.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: not null, and the rule of this type.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// Something that a C caller lets us read: null, or valid for one `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct In<T>(pub(crate) *const T);

impl<T> In<T> {
    /// What it points to, none for null.
    pub(crate) fn get<'a>(self) -> Option<&'a T> {
        // SAFETY: the rule of this type.
        unsafe { self.0.as_ref() }
    }
}

/// Sets `errno`.
pub(crate) fn set_errno(errno: Errno) {
    // SAFETY: libc's own place for this thread.
    unsafe { *libc::__errno_location() = errno.0 };
}

/// What C calls "an error is indicated by".
pub(crate) trait Failure {
    /// That value.
    const FAILURE: Self;
}

impl Failure for c_int {
    const FAILURE: Self = -1;
}

impl Failure for isize {
    const FAILURE: Self = -1;
}

impl<T> Failure for *mut T {
    const FAILURE: Self = std::ptr::null_mut();
}

/// An answer as C expects it.
pub(crate) fn give<T: Failure>(answer: Answer<T>) -> T {
    answer.unwrap_or_else(|errno| {
        set_errno(errno);
        T::FAILURE
    })
}

/// An answer that is only yes or why not.
pub(crate) fn give_done(answer: Answer<()>) -> c_int {
    give(answer.map(|()| 0))
}

/// One function under all the names that programs know it by.
macro_rules! door {
    ($(#[$doc:meta] $($name:ident),+ => $arguments:tt -> $result:ty $body:block)+) => {
        $($(
            #[$doc]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name $arguments -> $result $body
        )+)+
    };
}
pub(crate) use door;

/// A function of the next library that has it, found once: libc's own, or that of another library that is preloaded.
macro_rules! next {
    ($name:literal as $type:ty) => {{
        static FOUND: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut found = FOUND.load(std::sync::atomic::Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name ends in a NUL.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, concat!($name, "\0").as_ptr().cast()) };
            FOUND.store(found, std::sync::atomic::Ordering::Relaxed);
        }
        // SAFETY: a function of that name has this type, as its manual says; null is `None`.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, Option<$type>>(found) }
    }};
}
pub(crate) use next;
