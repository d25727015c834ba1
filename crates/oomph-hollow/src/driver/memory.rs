//! Memory and pointers, as the driver tells of them.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{driver, put, put_if_wanted};
use crate::cudart::{allocate, allocate_pitch};
use crate::fault::{Fault, Outcome};
use crate::memory::{self, Kind, Range};
use crate::{count, device};

/// Unlike the runtime's, a failure here is nobody's last error.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(out: *mut u64, bytes: usize) -> c_int {
    driver(|| match bytes {
        0 => Err(Fault::INVALID_VALUE),
        // SAFETY: the caller's pointer.
        _ => unsafe { put(out, allocate(bytes as u64)?) },
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocPitch_v2(
    out: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    _element_bytes: c_uint,
) -> c_int {
    driver(|| {
        let (address, pitch_bytes) = allocate_pitch(width, height)?;
        // SAFETY: the caller's pointers.
        unsafe { put(pitch, pitch_bytes as usize) }?;
        // SAFETY: the caller's pointers.
        unsafe { put(out, address) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    driver(|| memory::free(address))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    driver(|| {
        let (free_bytes, total_bytes) = memory::free_and_total(device::enter()?)?;
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(free, free_bytes as usize) };
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(total, total_bytes as usize) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) -> c_int {
    driver(|| {
        let range = memory::find(address).ok_or(Fault::NOT_FOUND)?;
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(base, range.start) };
        // SAFETY: the caller's pointers.
        unsafe { put_if_wanted(bytes, range.bytes as usize) };
        Ok(())
    })
}

/// Writes one attribute of a pointer, by its number; false for those that are not modelled.
#[expect(clippy::match_same_arms, reason = "by number, as the manual lists them")]
unsafe fn put_attribute(out: *mut c_void, attribute: c_int, address: u64, range: &Range) -> Outcome<bool> {
    let on_device = range.kind.is_on_device();
    let int = |value: bool| c_int::from(value);
    // SAFETY: the caller's variable, of the type that the attribute has.
    unsafe {
        match attribute {
            // Context: that of its device.
            1 => put(out.cast::<usize>(), super::context::primary(range.device))?,
            // Host or device.
            2 => put(out.cast::<c_uint>(), if on_device { 2 } else { 1 })?,
            3 => put(out.cast::<u64>(), address)?,
            4 if on_device => return Err(Fault::INVALID_VALUE),
            4 => put(out.cast::<u64>(), address)?,
            // Synchronous operations, GPU-direct capability.
            6 | 15 => put(out.cast::<c_int>(), 0)?,
            7 => put(out.cast::<u64>(), range.id)?,
            8 => put(out.cast::<c_int>(), int(range.kind == Kind::Managed))?,
            9 => put(out.cast::<c_int>(), range.device as c_int)?,
            10 => put(out.cast::<c_int>(), int(matches!(range.kind, Kind::Device | Kind::Pool(_))))?,
            11 => put(out.cast::<u64>(), range.start)?,
            12 => put(out.cast::<usize>(), range.bytes as usize)?,
            13 => put(out.cast::<c_int>(), 1)?,
            // Kinds of handles it can be shared by: a file descriptor, for mapped memory.
            14 => put(out.cast::<u64>(), u64::from(matches!(range.kind, Kind::Mapped(_))))?,
            // Readable and writable.
            16 => put(out.cast::<u64>(), 3)?,
            17 => put(out.cast::<usize>(), if let Kind::Pool(pool) = range.kind { pool } else { 0 })?,
            18 => put(out.cast::<u64>(), range.bytes)?,
            19 => put(out.cast::<u64>(), range.start)?,
            20 => put(out.cast::<u64>(), range.id)?,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttribute(out: *mut c_void, attribute: c_int, address: u64) -> c_int {
    driver(|| {
        let range = memory::find(address).ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: the caller's pointer.
        if unsafe { put_attribute(out, attribute, address, &range) }? {
            return Ok(());
        }
        count::unmodelled!("cuPointerGetAttribute: an attribute of a pointer");
        Err(Fault::INVALID_VALUE)
    })
}

/// Attributes that a pointer does not have read zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *const c_int,
    outs: *const *mut c_void,
    address: u64,
) -> c_int {
    driver(|| {
        if attributes.is_null() || outs.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        let range = memory::find(address);
        for index in 0..count as usize {
            // SAFETY: both arrays of the caller's have `count` entries.
            let (attribute, out) = unsafe { (*attributes.add(index), *outs.add(index)) };
            // SAFETY: the caller's variable, of the type that the attribute has.
            let is_known =
                range.is_some_and(|range| unsafe { put_attribute(out, attribute, address, &range) } == Ok(true));
            if !is_known {
                // SAFETY: every attribute has at least the width of an int.
                unsafe { put_if_wanted(out.cast::<c_int>(), 0) };
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuPointerSetAttribute(_value: *const c_void, _attribute: c_int, address: u64) -> c_int {
    driver(|| memory::find(address).map(drop).ok_or(Fault::INVALID_VALUE))
}
