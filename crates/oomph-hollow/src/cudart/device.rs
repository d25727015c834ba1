//! Devices: their number, properties and limits, errors, peer access.
//!
//! Modelled: everything that follows from the card; one current device a thread; contexts made by the first call that
//! needs one; peer access between all devices, enabled once per pair. Not modelled: limits and flags have no effect
//! beyond being remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::properties;
use crate::call::{last_error, put, put_if_wanted, runtime, take_last_error};
use crate::fault::{Fault, Outcome, words};
use crate::lock::Guarded;
use crate::{attribute, card, device, memory, stream, version};

static LIMITS: Guarded<BTreeMap<(u32, c_int), usize>> = Guarded::new(BTreeMap::new());
static PEERS: Guarded<BTreeSet<(u32, u32)>> = Guarded::new(BTreeSet::new());

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> c_int {
    runtime(|| {
        let found = device::count();
        // SAFETY: the caller's pointer.
        unsafe { put(count, found.map_or(0, |count| count as c_int)) }?;
        found.map(drop)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDevice(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, device::current() as c_int) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(number: c_int) -> c_int {
    runtime(|| {
        let number = device::checked(number)?;
        device::choose(number);
        device::enter_device(number)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaInitDevice(number: c_int, _device_flags: c_uint, _flags: c_uint) -> c_int {
    runtime(|| device::enter_device(device::checked(number)?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaChooseDevice(out: *mut c_int, _wanted: *const c_void) -> c_int {
    runtime(|| {
        device::count()?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, 0) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetValidDevices(_devices: *mut c_int, _count: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSynchronize() -> c_int {
    runtime(stream::synchronize_device)
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> c_int {
    runtime(|| device::enter().map(drop))
}

unsafe fn put_properties(out: *mut c_void, number: c_int, is_13: bool) -> Outcome {
    if out.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    let number = device::checked(number)?;
    let bytes = properties::of(device::card(number)?, number, is_13);
    // SAFETY: the caller's structure is as large as its CUDA's layout, which is what `of` made.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), out.cast(), bytes.len()) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties(out: *mut c_void, number: c_int) -> c_int {
    // Under this name CUDA 12 keeps the layout of CUDA 11, which begins alike and is smaller; no build for 12 asks.
    // SAFETY: the caller's pointer to its structure.
    runtime(|| unsafe { put_properties(out, number, version::is_13()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties_v2(out: *mut c_void, number: c_int) -> c_int {
    // SAFETY: the caller's pointer to its structure.
    runtime(|| unsafe { put_properties(out, number, false) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetAttribute(out: *mut c_int, number: c_int, of: c_int) -> c_int {
    runtime(|| {
        let of = device::checked(of)?;
        let value = attribute::value(device::card(of)?, of, number).ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, value) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetPCIBusId(out: *mut c_char, length: c_int, of: c_int) -> c_int {
    runtime(|| {
        let index = card::installed_index(device::checked(of)?).ok_or(Fault::INVALID_DEVICE)?;
        // SAFETY: the caller's buffer of `length` bytes.
        unsafe { put_text(out, length, &card::pci_text(index)) }
    })
}

/// Writes a text and its closing zero into a buffer of the caller's.
///
/// # Safety
///
/// `out` is null or has room for `length` bytes.
pub(crate) unsafe fn put_text(out: *mut c_char, length: c_int, text: &str) -> Outcome {
    let room = usize::try_from(length).unwrap_or(0);
    if out.is_null() || text.len() >= room {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: the text and its zero are not longer than the room.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        out.add(text.len()).write(0);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetByPCIBusId(out: *mut c_int, id: *const c_char) -> c_int {
    runtime(|| {
        if id.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: not null, so a C string of the caller's.
        let id = unsafe { CStr::from_ptr(id) }.to_string_lossy();
        let same = |index: &usize| card::pci_text(*index).eq_ignore_ascii_case(&id);
        let index = (0..card::installed().len()).find(same).ok_or(Fault::INVALID_DEVICE)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, card::device_of(index).ok_or(Fault::INVALID_DEVICE)? as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    runtime(|| {
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(least, 0) };
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(greatest, stream::GREATEST_PRIORITY) };
        Ok(())
    })
}

/// What a limit is before a program sets it, by its number.
fn default_limit(limit: c_int) -> Outcome<usize> {
    Ok(match limit {
        0 => 1024,
        1 => 6_912_000,
        2 => 8 << 20,
        3 => 2,
        4 => 2048,
        5 => 128,
        6 => 0,
        _ => return Err(Fault::UNSUPPORTED_LIMIT),
    })
}

/// The limit of a device, shared with the driver.
pub(crate) fn limit(number: c_int) -> Outcome<usize> {
    let default = default_limit(number)?;
    Ok(LIMITS.lock().get(&(device::current(), number)).copied().unwrap_or(default))
}

/// Sets a limit of a device, shared with the driver.
pub(crate) fn set_limit(number: c_int, value: usize) -> Outcome {
    default_limit(number)?;
    let device = device::enter()?;
    LIMITS.lock().insert((device, number), value);
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetLimit(out: *mut usize, number: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, limit(number)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetLimit(number: c_int, value: usize) -> c_int {
    runtime(|| set_limit(number, value))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetCacheConfig(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 0) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetSharedMemConfig(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 1) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceFlags(out: *mut c_uint) -> c_int {
    // Automatic scheduling, host memory can be mapped.
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 8) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDeviceFlags(_flags: c_uint) -> c_int {
    runtime(|| device::count().map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceCanAccessPeer(out: *mut c_int, from: c_int, to: c_int) -> c_int {
    runtime(|| {
        let (from, to) = (device::checked(from)?, device::checked(to)?);
        // SAFETY: the caller's pointer.
        unsafe { put(out, c_int::from(from != to)) }
    })
}

/// Lets the current device reach another's memory, once.
pub(crate) fn enable_peer(peer: u32) -> Outcome {
    let device = device::enter()?;
    if device == peer {
        return Err(Fault::PEER_ACCESS_UNSUPPORTED);
    }
    device::enter_device(peer)?;
    if PEERS.lock().insert((device, peer)) { Ok(()) } else { Err(Fault::PEER_ACCESS_ALREADY_ENABLED) }
}

/// Takes that back.
pub(crate) fn disable_peer(peer: u32) -> Outcome {
    if PEERS.lock().remove(&(device::current(), peer)) { Ok(()) } else { Err(Fault::PEER_ACCESS_NOT_ENABLED) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) -> c_int {
    runtime(|| enable_peer(device::checked(peer)?))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceDisablePeerAccess(peer: c_int) -> c_int {
    runtime(|| disable_peer(device::checked(peer)?))
}

/// What a pair of devices can do: performance rank 0, access, atomics, arrays.
pub(crate) fn peer_attribute(attribute: c_int, from: u32, to: u32) -> Outcome<c_int> {
    if from == to {
        return Err(Fault::INVALID_DEVICE);
    }
    match attribute {
        1 => Ok(0),
        2..=4 => Ok(1),
        _ => Err(Fault::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetP2PAttribute(out: *mut c_int, attribute: c_int, from: c_int, to: c_int) -> c_int {
    runtime(|| {
        let value = peer_attribute(attribute, device::checked(from)?, device::checked(to)?)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, value) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetTexture1DLinearMaxWidth(out: *mut usize, _format: *const c_void, of: c_int) -> c_int {
    runtime(|| {
        let of = device::checked(of)?;
        let value = attribute::value(device::card(of)?, of, 69).unwrap_or(0);
        // SAFETY: the caller's pointer.
        unsafe { put(out, value as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    runtime(|| {
        let (free_bytes, total_bytes) = memory::free_and_total(device::enter()?)?;
        // SAFETY: the caller's pointers.
        unsafe { put(free, free_bytes as usize) }?;
        // SAFETY: the caller's pointers.
        unsafe { put(total, total_bytes as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaRuntimeGetVersion(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, version::runtime()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDriverGetVersion(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, version::driver()) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> c_int {
    take_last_error()
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> c_int {
    last_error()
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(number: c_int) -> *const c_char {
    words(number).map_or(c"unrecognized error code", |words| words.runtime_name).as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(number: c_int) -> *const c_char {
    words(number).map_or(c"unrecognized error code", |words| words.text).as_ptr()
}
