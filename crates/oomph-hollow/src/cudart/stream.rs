//! Streams and captures; what they are is in [`crate::stream`].

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{put, put_if_wanted, runtime};
use crate::fault::{Fault, Outcome};
use crate::{stream, version};

/// What a program wants called when a stream has come so far: at once.
type HostFunction = unsafe extern "C" fn(*mut c_void);
type Callback = unsafe extern "C" fn(usize, c_int, *mut c_void);

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreate(out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create(0, 0)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithFlags(out: *mut usize, flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create(flags, 0)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithPriority(out: *mut usize, flags: c_uint, priority: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create(flags, priority)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamDestroy(of: usize) -> c_int {
    runtime(|| stream::destroy(of))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamSynchronize(of: usize) -> c_int {
    runtime(|| stream::synchronize(of))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamQuery(of: usize) -> c_int {
    runtime(|| stream::query(of))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetPriority(of: usize, out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::get(of)?.priority) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetFlags(of: usize, out: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::get(of)?.flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetId(of: usize, out: *mut u64) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::get(of)?.id) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetDevice(of: usize, out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::get(of)?.device as c_int) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamWaitEvent(of: usize, event: usize, _flags: c_uint) -> c_int {
    runtime(|| stream::wait_event(of, event))
}

/// Runs a host function at once, unless the stream is being captured.
///
/// # Safety
///
/// The function can be called with its argument.
pub(crate) unsafe fn run_on_host(on: usize, function: Option<HostFunction>, data: *mut c_void) -> Outcome {
    let function = function.ok_or(Fault::INVALID_VALUE)?;
    stream::get(on)?;
    if stream::is_capturing(on) {
        return stream::work(on);
    }
    // SAFETY: the caller vouches for it; no lock is held here.
    unsafe { function(data) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchHostFunc(on: usize, function: Option<HostFunction>, data: *mut c_void) -> c_int {
    // SAFETY: the caller's function.
    runtime(|| unsafe { run_on_host(on, function, data) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchHostFunc_v2(
    on: usize,
    function: Option<HostFunction>,
    data: *mut c_void,
    _mode: c_uint,
) -> c_int {
    // SAFETY: the caller's function.
    runtime(|| unsafe { run_on_host(on, function, data) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamAddCallback(
    on: usize,
    callback: Option<Callback>,
    data: *mut c_void,
    _flags: c_uint,
) -> c_int {
    runtime(|| {
        let callback = callback.ok_or(Fault::INVALID_VALUE)?;
        stream::get(on)?;
        // SAFETY: the caller's function; no lock is held here.
        unsafe { callback(on, 0, data) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamAttachMemAsync(on: usize, _address: u64, _bytes: usize, _flags: c_uint) -> c_int {
    runtime(|| stream::get(on).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCopyAttributes(to: usize, from: usize) -> c_int {
    runtime(|| stream::get(to).and(stream::get(from)).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamSetAttribute(of: usize, _attribute: c_int, _value: *const c_void) -> c_int {
    runtime(|| stream::get(of).map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetAttribute(of: usize, _attribute: c_int, out: *mut [u8; 64]) -> c_int {
    // SAFETY: the caller's union, which has 64 bytes.
    runtime(|| stream::get(of).and(unsafe { put(out, [0; 64]) }))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamBeginCapture(on: usize, _mode: c_int) -> c_int {
    runtime(|| stream::begin_capture(on, None))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamBeginCaptureToGraph(
    on: usize,
    graph: usize,
    _dependencies: *const usize,
    _edges: *const c_void,
    _count: usize,
    _mode: c_int,
) -> c_int {
    runtime(|| stream::begin_capture(on, Some(graph)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamEndCapture(on: usize, out: *mut usize) -> c_int {
    runtime(|| {
        let ended = stream::end_capture(on);
        // SAFETY: the caller's pointer.
        unsafe { put(out, ended.unwrap_or(0)) }?;
        ended.map(drop)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamIsCapturing(on: usize, out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::capture_info(on).status) })
}

/// What all versions of the question answer; those that a version does not have are null.
unsafe fn put_capture_info(
    on: usize,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut *const usize,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Outcome {
    let info = stream::capture_info(on);
    // SAFETY: the caller's pointers, each null or writable.
    unsafe {
        put(status, info.status)?;
        put_if_wanted(id, info.id);
        put_if_wanted(graph, info.graph);
        put_if_wanted(dependencies, info.dependencies);
        put_if_wanted(edges, std::ptr::null());
        put_if_wanted(count, info.dependency_count);
    }
    Ok(())
}

/// In CUDA 12 this name takes the first three parameters only; what lies beyond must then not be read.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetCaptureInfo(
    on: usize,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut *const usize,
    edges: *mut *const c_void,
    count: *mut usize,
) -> c_int {
    runtime(|| {
        if version::is_13() {
            // SAFETY: the caller's pointers.
            unsafe { put_capture_info(on, status, id, graph, dependencies, edges, count) }
        } else {
            let none = std::ptr::null_mut();
            // SAFETY: the caller's pointers.
            unsafe { put_capture_info(on, status, id, none, std::ptr::null_mut(), std::ptr::null_mut(), none) }
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetCaptureInfo_v2(
    on: usize,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut *const usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_capture_info(on, status, id, graph, dependencies, std::ptr::null_mut(), count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetCaptureInfo_v3(
    on: usize,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut usize,
    dependencies: *mut *const usize,
    edges: *mut *const c_void,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_capture_info(on, status, id, graph, dependencies, edges, count) })
}

/// Adds to (0) or replaces (1) what the next node comes after.
///
/// # Safety
///
/// `nodes` is null or points to `count` nodes.
pub(crate) unsafe fn update_dependencies(on: usize, nodes: *const usize, count: usize, flags: c_uint) -> Outcome {
    let nodes = match (count, nodes.is_null()) {
        (0, _) => &[],
        (_, true) => return Err(Fault::INVALID_VALUE),
        // SAFETY: not null, so the caller vouches for it.
        _ => unsafe { std::slice::from_raw_parts(nodes, count) },
    };
    stream::set_dependencies(on, nodes, flags == 1)
}

/// CUDA 13 has data of edges before the count.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamUpdateCaptureDependencies(
    on: usize,
    nodes: *const usize,
    third: usize,
    fourth: usize,
    fifth: c_uint,
) -> c_int {
    let (count, flags) = if version::is_13() { (fourth, fifth) } else { (third, fourth as c_uint) };
    // SAFETY: the caller's array.
    runtime(|| unsafe { update_dependencies(on, nodes, count, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamUpdateCaptureDependencies_v2(
    on: usize,
    nodes: *const usize,
    _edges: *const c_void,
    count: usize,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's array.
    runtime(|| unsafe { update_dependencies(on, nodes, count, flags) })
}

thread_local! {
    static MODE: std::cell::Cell<c_int> = const { std::cell::Cell::new(0) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_int {
    runtime(|| {
        if mode.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: not null, the caller's variable.
        unsafe { mode.write(MODE.replace(mode.read())) };
        Ok(())
    })
}
