//! CUPTI, the profiler's library.
//!
//! Profilers can subscribe, and are told of nothing: kernels take no time here. Counters and metrics are not modelled.

use std::ffi::{c_char, c_int, c_void};

use crate::call::put_if_wanted;
use crate::device;

const SUCCESS: c_int = 0;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: there is no further record.
const NO_FURTHER_RECORD: c_int = 12;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetVersion(out: *mut u32) -> c_int {
    // The version of CUDA 12.4, since when nothing that is modelled has changed. SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, 22) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetResultString(_result: c_int, out: *mut *const c_char) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, c"CUPTI is not modelled".as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiSubscribe(out: *mut usize, _callback: *const c_void, _data: *mut c_void) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, crate::handle::fresh()) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityGetNextRecord(_buffer: *mut u8, _bytes: usize, out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, std::ptr::null_mut()) };
    NO_FURTHER_RECORD
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityGetNumDroppedRecords(_context: usize, _stream: u32, out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, 0) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityPopExternalCorrelationId(_kind: c_int, out: *mut u64) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, 0) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetDeviceId(_context: usize, out: *mut u32) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, device::current()) };
    SUCCESS
}

/// Nanoseconds of the system's clock, as CUPTI's are.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetTimestamp(out: *mut u64) -> c_int {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetCallbackName(_domain: c_int, _id: u32, out: *mut *const c_char) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, c"call".as_ptr()) };
    SUCCESS
}
