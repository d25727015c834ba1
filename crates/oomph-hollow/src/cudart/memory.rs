//! Memory: device, pinned, registered and managed, and what a pointer is.
//!
//! Modelled: capacity, alignment, addresses in the driver's order, every kind of pointer. Arrays and mipmaps (textures)
//! are not.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{put, put_if_wanted, runtime};
use crate::fault::{Fault, Outcome};
use crate::memory::{self, Kind, Range};
use crate::{device, version};

/// Rows of two-dimensional memory begin at multiples of this.
const PITCH_BYTES: u64 = 512;

/// A block on this thread's device.
pub(crate) fn allocate(bytes: u64) -> Outcome<u64> {
    memory::allocate(device::enter()?, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc(out: *mut u64, bytes: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, allocate(bytes as u64)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFree(address: u64) -> c_int {
    runtime(|| {
        device::enter()?;
        memory::free(address)
    })
}

/// Rows of `width` bytes, each padded: the address and the bytes from row to row.
pub(crate) fn allocate_pitch(width: usize, height: usize) -> Outcome<(u64, u64)> {
    let pitch = (width as u64).checked_next_multiple_of(PITCH_BYTES).ok_or(Fault::INVALID_VALUE)?;
    let bytes = pitch.checked_mul(height as u64).ok_or(Fault::OUT_OF_MEMORY)?;
    Ok((allocate(bytes)?, pitch))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocPitch(out: *mut u64, pitch: *mut usize, width: usize, height: usize) -> c_int {
    runtime(|| {
        let (address, pitch_bytes) = allocate_pitch(width, height)?;
        // SAFETY: the caller's pointers.
        unsafe { put(pitch, pitch_bytes as usize) }?;
        // SAFETY: the caller's pointers.
        unsafe { put(out, address) }
    })
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
struct Pitched {
    pointer: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc3D(out: *mut Pitched, extent: Extent) -> c_int {
    runtime(|| {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Fault::OUT_OF_MEMORY)?;
        let (pointer, pitch) = allocate_pitch(extent.width, rows)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, Pitched { pointer, pitch: pitch as usize, width: extent.width, height: extent.height }) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocManaged(out: *mut u64, bytes: usize, _flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, memory::allocate_managed(device::enter()?, bytes as u64)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostAlloc(out: *mut u64, bytes: usize, _flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, memory::allocate_host(device::enter()?, bytes as u64)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocHost(out: *mut u64, bytes: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, memory::allocate_host(device::enter()?, bytes as u64)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeHost(address: u64) -> c_int {
    runtime(|| memory::free_host(address))
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(address: u64, bytes: usize, _flags: c_uint) -> c_int {
    runtime(|| memory::register_host(device::enter()?, address, bytes as u64))
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(address: u64) -> c_int {
    runtime(|| memory::unregister_host(address))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetDevicePointer(out: *mut u64, address: u64, _flags: c_uint) -> c_int {
    runtime(|| match memory::find(address) {
        // One address for both sides. SAFETY: the caller's pointer.
        Some(range) if !range.kind.is_on_device() => unsafe { put(out, address) },
        _ => Err(Fault::INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetFlags(out: *mut c_uint, address: u64) -> c_int {
    runtime(|| match memory::find(address) {
        // Portable and mapped, as unified addressing makes all of it. SAFETY: the caller's pointer.
        Some(range) if range.kind == Kind::Host => unsafe { put(out, 3) },
        _ => Err(Fault::INVALID_VALUE),
    })
}

/// `cudaPointerAttributes`, without the words that CUDA 13 reserves at its end.
#[repr(C)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    device_pointer: u64,
    host_pointer: u64,
}

const RESERVED_WORDS_13: usize = 8;

/// What `cudaMemoryType` calls a range: unregistered, host, device, managed.
fn type_of(range: Option<&Range>) -> c_int {
    match range.map(|range| range.kind) {
        None => 0,
        Some(Kind::Host | Kind::Registered) => 1,
        Some(Kind::Device | Kind::Pool(_) | Kind::Mapped(_) | Kind::Imported) => 2,
        Some(Kind::Managed) => 3,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaPointerGetAttributes(out: *mut PointerAttributes, address: u64) -> c_int {
    runtime(|| {
        let range = memory::find(address);
        let kind = type_of(range.as_ref());
        let attributes = PointerAttributes {
            kind,
            device: range.map_or(-2, |range| range.device as c_int),
            device_pointer: if kind == 0 { 0 } else { address },
            host_pointer: if kind == 2 { 0 } else { address },
        };
        // SAFETY: the caller's structure.
        unsafe { put(out, attributes) }?;
        if version::is_13() {
            // SAFETY: in CUDA 13 the caller's structure goes on with these words.
            unsafe { out.add(1).cast::<u64>().write_bytes(0, RESERVED_WORDS_13) };
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemAdvise(_address: u64, _bytes: usize, _advice: c_int, _where: u64) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync(_address: u64, _bytes: usize, _where: u64, _last: u64, _stream: usize) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemRangeGetAttribute(
    out: *mut c_void,
    bytes: usize,
    _which: c_int,
    _at: u64,
    _count: usize,
) -> c_int {
    runtime(|| {
        if out.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: the caller's buffer of `bytes`.
        unsafe { out.cast::<u8>().write_bytes(0, bytes) };
        Ok(())
    })
}

/// What the memory pools of graphs hold: nothing, since graphs have no memory nodes here.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetGraphMemAttribute(_device: c_int, _attribute: c_int, out: *mut u64) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 0) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetGraphMemAttribute(_device: c_int, _attribute: c_int, _value: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGraphMemTrim(_device: c_int) -> c_int {
    0
}

/// Device variables have no memory of their own here; programs get an address that they may pass back.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolAddress(out: *mut u64, symbol: *const c_void) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, super::kernel::variable(symbol as usize)?.0) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolSize(out: *mut usize, symbol: *const c_void) -> c_int {
    runtime(|| {
        let (_, bytes) = super::kernel::variable(symbol as usize)?;
        // SAFETY: the caller's pointer.
        unsafe { put_if_wanted(out, bytes as usize) };
        Ok(())
    })
}
