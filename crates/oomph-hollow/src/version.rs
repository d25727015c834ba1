//! Which CUDA the program was built for.
//!
//! The runtime that the program's libraries name is loaded beside this one, though nobody calls it. It says which
//! version it is, without a device, and some functions have other parameters in CUDA 13 than in CUDA 12.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// Where no runtime is loaded.
const DEFAULT: c_int = 13_000;

static RUNTIME: AtomicI32 = AtomicI32::new(0);

/// The version of the runtime, such as 12040 or 13000.
pub(crate) fn runtime() -> c_int {
    let known = RUNTIME.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let Some(found) = find() else { return DEFAULT };
    RUNTIME.store(found, Ordering::Relaxed);
    found
}

/// The version of the driver: as new as the runtime needs.
pub(crate) fn driver() -> c_int {
    runtime().max(DEFAULT)
}

/// Whether functions have the parameters of CUDA 13.
pub(crate) fn is_13() -> bool {
    runtime() >= 13_000
}

fn find() -> Option<c_int> {
    let mut path: Option<CString> = None;
    // SAFETY: the callback gets the pointer that goes in here, during this call only.
    unsafe { libc::dl_iterate_phdr(Some(see), (&raw mut path).cast()) };
    // SAFETY: the file is loaded already; opening it again runs nothing.
    let library = unsafe { libc::dlopen(path?.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is open, the name ends with a zero.
    let function = unsafe { libc::dlsym(library, c"cudaRuntimeGetVersion".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: every libcudart has this function, with this signature since CUDA 2.
    let ask: unsafe extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(function) };
    let mut version = 0;
    // SAFETY: it writes the version, a constant of the library.
    let status = unsafe { ask(&raw mut version) };
    (status == 0 && version >= 11_000).then_some(version)
}

/// Remembers the path of a loaded runtime.
unsafe extern "C" fn see(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description.
    let name: *const c_char = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: a name in the loader's list ends with a zero.
    let name = unsafe { CStr::from_ptr(name) };
    let is_runtime = name.to_bytes().rsplit(|&byte| byte == b'/').next().is_some_and(|file| {
        // Wheels that bring a copy of their own call it libcudart-1a2b3c4d.so.12 or libcudart.1a2b3c4d.so.13.
        file.starts_with(b"libcudart") && file.windows(4).any(|part| part == b".so.")
    });
    if !is_runtime {
        return 0;
    }
    // SAFETY: `find` passes a pointer to this type.
    unsafe { *found.cast::<Option<CString>>() = Some(name.to_owned()) };
    1
}
