//! Modules, libraries and the linker; what is modelled of them is in [`crate::module`].
//!
//! The linker takes anything, and what it makes of it is an empty image.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::call::{driver, put, put_if_wanted};
use crate::fault::Outcome;
use crate::handle;

static IMAGE: [u8; 16] = *b"oomph-hollow\0\0\0\0";

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetLoadingMode(out: *mut c_int) -> c_int {
    // Lazy. SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, 2) })
}

/// A library is its own module, a kernel its own function.
unsafe fn same(out: *mut usize, handle: usize) -> Outcome {
    // SAFETY: the caller's pointer.
    unsafe { put(out, handle) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLibraryGetModule(out: *mut usize, library: usize) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { same(out, library) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuKernelGetFunction(out: *mut usize, kernel: usize) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { same(out, kernel) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkCreate_v2(
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
    out: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, handle::fresh()) })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddData_v2(_state: usize, _kind: c_int, _data: *mut c_void, _bytes: usize) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddFile_v2(_state: usize, _kind: c_int, _path: *const c_char) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkComplete(_state: usize, out: *mut *const u8, bytes: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe {
        put_if_wanted(bytes, IMAGE.len());
        put(out, IMAGE.as_ptr())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkDestroy(_state: usize) -> c_int {
    0
}
