//! Events; what they are is in [`crate::stream`].

use std::ffi::{c_int, c_uint};

use crate::call::{put, runtime};
use crate::stream;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreate(out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create_event(0)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreateWithFlags(out: *mut usize, flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create_event(flags)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventDestroy(event: usize) -> c_int {
    runtime(|| stream::destroy_event(event))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecord(event: usize, on: usize) -> c_int {
    runtime(|| stream::record_event(event, on))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecordWithFlags(event: usize, on: usize, _flags: c_uint) -> c_int {
    runtime(|| stream::record_event(event, on))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventQuery(event: usize) -> c_int {
    runtime(|| stream::event_query(event))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventSynchronize(event: usize) -> c_int {
    runtime(|| stream::event_query(event))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventElapsedTime(out: *mut f32, start: usize, end: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::elapsed_ms(start, end)?) })
}
