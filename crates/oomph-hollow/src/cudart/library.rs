//! Libraries of kernels loaded at run time; what they are is in [`crate::module`].

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::call::{put, put_if_wanted, runtime};
use crate::fault::{Fault, Outcome};
use crate::{device, module};

/// A C string of the caller's.
///
/// # Safety
///
/// `text` is null or a C string.
pub(crate) unsafe fn name<'a>(text: *const c_char) -> Outcome<&'a [u8]> {
    if text.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: not null, so a C string.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Options for the compiler and for the library follow `code`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryLoadData(out: *mut usize, code: *const c_void) -> c_int {
    runtime(|| {
        device::enter()?;
        if code.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(out, module::load()) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryLoadFromFile(out: *mut usize, path: *const c_char) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe {
        device::enter()?;
        name(path)?;
        put(out, module::load())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaLibraryUnload(library: usize) -> c_int {
    runtime(|| module::unload(library))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryGetKernel(out: *mut usize, library: usize, of: *const c_char) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put(out, module::function(library, name(of)?)?) })
}

unsafe fn put_global(out: *mut u64, bytes: *mut usize, library: usize, of: *const c_char) -> Outcome {
    // SAFETY: the caller's pointers.
    unsafe {
        let address = module::global(library, name(of)?, device::enter()?)?;
        put_if_wanted(bytes, module::GLOBAL_BYTES as usize);
        put_if_wanted(out, address);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryGetGlobal(
    out: *mut u64,
    bytes: *mut usize,
    library: usize,
    of: *const c_char,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_global(out, bytes, library, of) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryGetKernelCount(out: *mut c_uint, _library: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 0) })
}
