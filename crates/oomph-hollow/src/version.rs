//! Which CUDA the program was built for.
//!
//! The runtime that the program's libraries name is loaded beside this one, though nobody calls it. It says which
//! version it is, without a device, and some functions have other parameters in CUDA 13 than in CUDA 12.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::installed::Library;

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
    // Wheels that bring a copy of their own call it libcudart-1a2b3c4d.so.12 or libcudart.1a2b3c4d.so.13.
    let version = Library::loaded("libcudart")?.number_by_pointer(c"cudaRuntimeGetVersion")?;
    (version >= 11_000).then_some(version)
}
