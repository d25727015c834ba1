//! Python's C interface, found by name at run time: the same library serves every version.

use std::ffi::{c_char, c_void};

/// `PyObject *`.
pub(crate) type Object = *mut c_void;
/// Counts a reference, or gives one back.
pub(crate) type Count = unsafe extern "C" fn(Object);
/// Forgets an exception.
pub(crate) type Clear = extern "C" fn();
/// A text, as a new reference.
pub(crate) type TextFrom = unsafe extern "C" fn(*const c_char) -> Object;

/// Takes a symbol for the function it is; returns `None` from the function around it where there is none.
macro_rules! function {
    ($name:literal as $type:ty) => {
        // SAFETY: a function of Python's C interface, with the type that its documentation gives.
        unsafe { std::mem::transmute::<usize, $type>(oomph_elf::global_symbol($name)?) }
    };
}

pub(crate) use function;
