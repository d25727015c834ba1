//! Copies and fills.
//!
//! What goes to a device costs nothing and is forgotten; what comes from a device is zeros, and is counted as a read;
//! between host addresses bytes are copied for real. Which case it is follows from the addresses, not from the
//! direction that the caller names.

use std::ffi::{c_int, c_void};

use crate::call::runtime;
use crate::fault::{Fault, Outcome};
use crate::{answer, count, device, exchanged, memory, stream};

/// Copies `bytes` as described above.
///
/// # Safety
///
/// Addresses that are not on a device are valid for `bytes`.
pub(crate) unsafe fn copy(to: u64, from: u64, bytes: usize) -> Outcome {
    // SAFETY: one row.
    unsafe { copy_rows(to, bytes, from, bytes, bytes, 1) }
}

/// Copies `rows` of `width` bytes, `to_pitch` and `from_pitch` apart.
///
/// # Safety
///
/// Rows that are not on a device are valid for `width` bytes each.
pub(crate) unsafe fn copy_rows(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    rows: usize,
) -> Outcome {
    device::enter()?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(Fault::INVALID_VALUE);
    }
    let from_device = memory::is_on_device(from);
    if memory::is_on_device(to) {
        if rows == 1 && from_device {
            exchanged::moved(to, from, width);
        } else if rows == 1 {
            // SAFETY: a host row that the caller vouches for.
            unsafe { exchanged::sent(to, from as *const u8, width) };
        }
        return Ok(());
    }
    if from_device {
        count::read();
    }
    let (to, from) = (to as *mut u8, from as *const u8);
    // SAFETY: a host row that the caller vouches for.
    if from_device && rows == 1 && unsafe { answer::give(to, width) } {
        return Ok(());
    }
    for row in 0..rows {
        let to = to.wrapping_add(row * to_pitch);
        if from_device {
            // SAFETY: a host row that the caller vouches for.
            if !unsafe { exchanged::received(to, from as u64, width) } {
                // SAFETY: as above.
                unsafe { memory::zero(to, width) };
            }
        } else {
            // SAFETY: two host rows that the caller vouches for; they may overlap.
            unsafe { std::ptr::copy(from.wrapping_add(row * from_pitch), to, width) };
        }
    }
    Ok(())
}

/// Fills host rows; a device's are forgotten.
///
/// # Safety
///
/// Rows that are not on a device are valid for `width` bytes each.
pub(crate) unsafe fn fill(to: u64, pitch: usize, value: &[u8], width: usize, rows: usize) -> Outcome {
    device::enter()?;
    if width == 0 || rows == 0 || memory::is_on_device(to) {
        return Ok(());
    }
    if to == 0 || value.is_empty() {
        return Err(Fault::INVALID_VALUE);
    }
    for row in 0..rows {
        let start = (to as *mut u8).wrapping_add(row * pitch);
        if let &[byte] = value {
            // SAFETY: a host row that the caller vouches for.
            unsafe { start.write_bytes(byte, width) };
            continue;
        }
        for (at, &byte) in (0..width).zip(value.iter().cycle()) {
            // SAFETY: `at` lies in a host row that the caller vouches for.
            unsafe { start.add(at).write(byte) };
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy(to: u64, from: u64, bytes: usize, _kind: c_int) -> c_int {
    // SAFETY: the caller's addresses.
    runtime(|| unsafe { copy(to, from, bytes) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize, _kind: c_int, on: usize) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's addresses.
        unsafe { copy(to, from, bytes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeer(to: u64, _to_device: c_int, from: u64, _from_device: c_int, bytes: usize) -> c_int {
    // SAFETY: the caller's addresses.
    runtime(|| unsafe { copy(to, from, bytes) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: u64,
    _to_device: c_int,
    from: u64,
    _from_device: c_int,
    bytes: usize,
    on: usize,
) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's addresses.
        unsafe { copy(to, from, bytes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2D(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    rows: usize,
    _kind: c_int,
) -> c_int {
    // SAFETY: the caller's addresses.
    runtime(|| unsafe { copy_rows(to, to_pitch, from, from_pitch, width, rows) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DAsync(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    rows: usize,
    _kind: c_int,
    on: usize,
) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's addresses.
        unsafe { copy_rows(to, to_pitch, from, from_pitch, width, rows) }
    })
}

/// `cudaMemcpy3DParms`: arrays, positions and pitched pointers of both sides, the extent, the direction.
#[repr(C)]
struct Copy3d {
    from_array: usize,
    from_position: [usize; 3],
    from: [usize; 4],
    to_array: usize,
    to_position: [usize; 3],
    to: [usize; 4],
    extent: [usize; 3],
    kind: c_int,
}

/// One box of bytes: a two-dimensional copy for each layer.
unsafe fn copy_3d(parameters: *const Copy3d) -> Outcome {
    // SAFETY: the caller's pointer.
    let box_ = unsafe { parameters.as_ref() }.ok_or(Fault::INVALID_VALUE)?;
    if box_.from_array != 0 || box_.to_array != 0 {
        return Err(Fault::NOT_SUPPORTED);
    }
    let at = |[pointer, pitch, _, height]: [usize; 4], [x, y, z]: [usize; 3], layer: usize| {
        (pointer + x + (y + (z + layer) * height) * pitch) as u64
    };
    let [width, rows, layers] = box_.extent;
    for layer in 0..layers {
        let (to, from) = (at(box_.to, box_.to_position, layer), at(box_.from, box_.from_position, layer));
        // SAFETY: the caller's addresses.
        unsafe { copy_rows(to, box_.to[1], from, box_.from[1], width, rows) }?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy3D(parameters: *const Copy3d) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { copy_3d(parameters) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy3DAsync(parameters: *const Copy3d, on: usize) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's pointer.
        unsafe { copy_3d(parameters) }
    })
}

/// In CUDA 12 the failed index comes before the stream; neither is needed.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyBatchAsync(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    _attributes: *mut c_void,
    _indices: *mut usize,
    _attribute_count: usize,
    _stream_or_failed: usize,
) -> c_int {
    runtime(|| {
        if to.is_null() || from.is_null() || bytes.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        for index in 0..count {
            // SAFETY: the caller's arrays have `count` entries, of addresses it vouches for.
            unsafe { copy(*to.add(index), *from.add(index), *bytes.add(index)) }?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbol(_symbol: usize, _from: u64, _bytes: usize, _offset: usize, _kind: c_int) -> c_int {
    runtime(|| device::enter().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbolAsync(
    _symbol: usize,
    _from: u64,
    _bytes: usize,
    _offset: usize,
    _kind: c_int,
    on: usize,
) -> c_int {
    runtime(|| stream::work(on))
}

unsafe fn from_symbol(to: u64, bytes: usize) -> Outcome {
    device::enter()?;
    if to != 0 && !memory::is_on_device(to) {
        count::read();
        // SAFETY: host memory that the caller vouches for.
        unsafe { memory::zero(to as *mut u8, bytes) };
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbol(
    to: u64,
    _symbol: usize,
    bytes: usize,
    _offset: usize,
    _kind: c_int,
) -> c_int {
    // SAFETY: the caller's address.
    runtime(|| unsafe { from_symbol(to, bytes) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    to: u64,
    _symbol: usize,
    bytes: usize,
    _offset: usize,
    _kind: c_int,
    on: usize,
) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's address.
        unsafe { from_symbol(to, bytes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset(to: u64, value: c_int, bytes: usize) -> c_int {
    // SAFETY: the caller's address.
    runtime(|| unsafe { fill(to, bytes, &[value as u8], bytes, 1) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemsetAsync(to: u64, value: c_int, bytes: usize, on: usize) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's address.
        unsafe { fill(to, bytes, &[value as u8], bytes, 1) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2D(to: u64, pitch: usize, value: c_int, width: usize, rows: usize) -> c_int {
    // SAFETY: the caller's address.
    runtime(|| unsafe { fill(to, pitch, &[value as u8], width, rows) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2DAsync(
    to: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    on: usize,
) -> c_int {
    runtime(|| {
        stream::work(on)?;
        // SAFETY: the caller's address.
        unsafe { fill(to, pitch, &[value as u8], width, rows) }
    })
}
