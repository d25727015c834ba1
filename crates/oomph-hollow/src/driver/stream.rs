//! Streams, where the driver's first versions of a function differ from the runtime's; and memory operations on them.
//!
//! Waits for a value in device memory are over at once, since nothing else would end them; writes are forgotten.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{driver, put, put_if_wanted};
use crate::cudart::update_dependencies;
use crate::stream;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamGetCaptureInfo(on: usize, status: *mut c_int, id: *mut u64) -> c_int {
    driver(|| {
        let info = stream::capture_info(on);
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(id, info.id) };
        // SAFETY: the caller's pointers.
        unsafe { put(status, info.status) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamUpdateCaptureDependencies(
    on: usize,
    nodes: *const usize,
    count: usize,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's array of `count` nodes.
    driver(|| unsafe { update_dependencies(on, nodes, count, flags) })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWriteValue32_v2(on: usize, _address: u64, _value: u32, _flags: c_uint) -> c_int {
    driver(|| stream::work(on))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWriteValue64_v2(on: usize, _address: u64, _value: u64, _flags: c_uint) -> c_int {
    driver(|| stream::work(on))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitValue32_v2(on: usize, _address: u64, _value: u32, _flags: c_uint) -> c_int {
    driver(|| stream::work(on))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitValue64_v2(on: usize, _address: u64, _value: u64, _flags: c_uint) -> c_int {
    driver(|| stream::work(on))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBatchMemOp_v2(on: usize, _count: c_uint, _operations: *mut c_void, _flags: c_uint) -> c_int {
    driver(|| stream::work(on))
}
