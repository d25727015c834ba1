//! The way from the runtime to the driver, and the profiler's switches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::library::name;
use crate::call::{put_if_wanted, runtime};
use crate::driver::entry::{Found, find};
use crate::fault::{Fault, Outcome};
use crate::version;

unsafe fn put_entry(
    symbol: *const c_char,
    out: *mut *const c_void,
    cuda_version: c_int,
    status: *mut c_int,
) -> Outcome {
    // SAFETY: the caller's pointers.
    unsafe {
        let found = find(name(symbol)?, cuda_version);
        let (address, result) = match found {
            Found::Function(address) => (address, 0),
            Found::Nothing => (std::ptr::null(), 1),
            Found::TooNew => (std::ptr::null(), 2),
        };
        put_if_wanted(out, address);
        if result != 0 && status.is_null() {
            return Err(Fault::NOT_FOUND);
        }
        put_if_wanted(status, result);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDriverEntryPoint(
    symbol: *const c_char,
    out: *mut *const c_void,
    _flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_entry(symbol, out, version::runtime(), status) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    symbol: *const c_char,
    out: *mut *const c_void,
    cuda_version: c_uint,
    _flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_entry(symbol, out, cuda_version as c_int, status) })
}

/// Private tables between NVIDIA's libraries: there are none behind this.
#[unsafe(no_mangle)]
extern "C" fn cudaGetExportTable(_table: *mut *const c_void, _id: *const c_void) -> c_int {
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStart() -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStop() -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaCtxResetPersistingL2Cache() -> c_int {
    0
}
