//! Memory and events handed to another process.
//!
//! A handle says how large the block is and on which device; whoever opens it gets addresses of its own, which cost
//! nothing there: the block is its maker's. A handle opened in the process that made it is that block again.

use std::ffi::{c_int, c_uint};

use crate::call::{put, runtime};
use crate::fault::{Fault, Outcome};
use crate::{device, memory, stream};

/// `cudaIpcMemHandle_t`, 64 bytes that only this file reads.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    magic: u64,
    process: u64,
    address: u64,
    bytes: u64,
    device: u64,
    unused: [u64; 3],
}

const MAGIC: u64 = u64::from_ne_bytes(*b"oomph-ip");

/// A handle of the block that an address lies in.
pub(crate) fn export(address: u64) -> Outcome<Handle> {
    let range = memory::find(address).filter(|range| range.kind.is_on_device()).ok_or(Fault::INVALID_VALUE)?;
    Ok(Handle {
        magic: MAGIC,
        process: u64::from(std::process::id()),
        address: range.start,
        bytes: range.bytes,
        device: u64::from(range.device),
        unused: [0; 3],
    })
}

/// Addresses for the block of a handle.
pub(crate) fn open(handle: &Handle) -> Outcome<u64> {
    if handle.magic != MAGIC {
        return Err(Fault::INVALID_VALUE);
    }
    device::enter()?;
    if handle.process == u64::from(std::process::id()) {
        return Ok(handle.address);
    }
    // Devices go by the number that the other process has for them.
    let count = device::count()?;
    memory::import((handle.device as u32).min(count - 1), handle.bytes)
}

/// Closes what [`open`] gave.
pub(crate) fn close(address: u64) -> Outcome {
    match memory::find(address) {
        Some(range) if range.kind == memory::Kind::Imported => memory::forget_import(address),
        Some(_) => Ok(()),
        None => Err(Fault::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaIpcGetMemHandle(out: *mut Handle, address: u64) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, export(address)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaIpcOpenMemHandle(out: *mut u64, handle: Handle, _flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, open(&handle)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaIpcCloseMemHandle(address: u64) -> c_int {
    runtime(|| close(address))
}

/// `cudaIpcEventHandle_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct EventHandle([u64; 8]);

/// Events of another process are complete, as all are: a handle says nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaIpcGetEventHandle(out: *mut EventHandle, event: usize) -> c_int {
    runtime(|| {
        stream::event_device(event)?;
        // SAFETY: the caller's 64 bytes.
        unsafe { put(out, EventHandle([MAGIC, 0, 0, 0, 0, 0, 0, 0])) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaIpcOpenEventHandle(out: *mut usize, handle: EventHandle) -> c_int {
    runtime(|| {
        if handle.0[0] != MAGIC {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(out, stream::create_event(2)?) }
    })
}
