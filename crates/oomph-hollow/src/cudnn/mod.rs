//! cuDNN: the graph API asks the user's own cuDNN; the older functions are modelled.

mod batch_norm;
mod descriptor;
mod graph;
mod losses;
mod model;
mod problem;
mod real;
mod rnn;
mod split_k;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

pub(crate) use self::graph::workspaces;
use crate::object::{Out, create, put};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 1001;
const BAD_PARAM: c_int = 2000;

/// What `cudnnGetVersion` says where there is no cuDNN to ask.
const VERSION_UNKNOWN: usize = 91_000;

/// What `cudnnCreate` hands out.
struct Handle {
    stream: *mut c_void,
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { BAD_PARAM }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreate(handle: Out<'_, *mut Handle>) -> c_int {
    done(create(handle, Handle { stream: ptr::null_mut() }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroy(handle: Option<Box<Handle>>) -> c_int {
    if handle.is_some() { SUCCESS } else { NOT_INITIALIZED }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetStream(handle: Option<&mut Handle>, stream: *mut c_void) -> c_int {
    let Some(handle) = handle else { return NOT_INITIALIZED };
    handle.stream = stream;
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetStream(handle: Option<&mut Handle>, stream: Out<'_, *mut c_void>) -> c_int {
    handle.map_or(NOT_INITIALIZED, |handle| done(put(stream, handle.stream)))
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetVersion() -> usize {
    match real::version() {
        0 => VERSION_UNKNOWN,
        version => version,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetCudartVersion() -> usize {
    real::library().and_then(|library| library.number(c"cudnnGetCudartVersion")).unwrap_or(13_000)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetProperty(which: c_int, value: Out<'_, c_int>) -> c_int {
    let version = cudnnGetVersion() as c_int;
    match which {
        0 => done(put(value, version / 10_000)),
        1 => done(put(value, version / 100 % 100)),
        2 => done(put(value, version % 100)),
        _ => BAD_PARAM,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudnnGetErrorString(status: c_int) -> *const c_char {
    let name: &CStr = match status {
        SUCCESS => c"CUDNN_STATUS_SUCCESS",
        NOT_INITIALIZED => c"CUDNN_STATUS_NOT_INITIALIZED",
        BAD_PARAM..3000 => c"CUDNN_STATUS_BAD_PARAM",
        3000..4000 => c"CUDNN_STATUS_NOT_SUPPORTED",
        4000..5000 => c"CUDNN_STATUS_INTERNAL_ERROR",
        _ => c"CUDNN_STATUS_EXECUTION_FAILED",
    };
    name.as_ptr()
}

/// # Safety
///
/// `message` has room for `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetLastErrorString(message: *mut c_char, size: usize) {
    if message.is_null() || size == 0 {
        return;
    }
    let mut text = real::api().map(real::last_error).unwrap_or_default().into_bytes();
    text.truncate(size - 1);
    text.push(0);
    // SAFETY: no longer than the caller's room.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), message, text.len()) };
}
