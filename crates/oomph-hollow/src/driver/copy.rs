//! Copies and fills with the driver's parameters; what they do is in `cudart/copy.rs`.

use std::ffi::c_int;

use crate::call::driver;
use crate::cudart::{copy, copy_rows, fill};
use crate::fault::{Fault, Outcome};
use crate::stream;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy(to: u64, from: u64, bytes: usize) -> c_int {
    // SAFETY: the caller's addresses.
    driver(|| unsafe { copy(to, from, bytes) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, on: usize) -> c_int {
    driver(|| {
        stream::work(on)?;
        // SAFETY: the caller's addresses.
        unsafe { copy(to, from, bytes) }
    })
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    kind: c_int,
    host: usize,
    device: usize,
    array: usize,
    pitch: usize,
}

impl Side {
    /// Where its first row begins; arrays are not modelled.
    fn start(&self) -> Outcome<u64> {
        let base = match self.kind {
            1 => self.host,
            2 | 4 => self.device,
            _ => return Err(Fault::NOT_SUPPORTED),
        };
        Ok((base + self.y * self.pitch + self.x) as u64)
    }
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
struct Copy2d {
    from: Side,
    to: Side,
    width: usize,
    rows: usize,
}

unsafe fn copy_2d(parameters: *const Copy2d) -> Outcome {
    // SAFETY: the caller's pointer.
    let area = unsafe { parameters.as_ref() }.ok_or(Fault::INVALID_VALUE)?;
    let (to, from) = (area.to.start()?, area.from.start()?);
    // SAFETY: the caller's addresses.
    unsafe { copy_rows(to, area.to.pitch, from, area.from.pitch, area.width, area.rows) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy2D_v2(parameters: *const Copy2d) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { copy_2d(parameters) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy2DAsync_v2(parameters: *const Copy2d, on: usize) -> c_int {
    driver(|| {
        stream::work(on)?;
        // SAFETY: the caller's pointer.
        unsafe { copy_2d(parameters) }
    })
}

unsafe fn fill_row(to: u64, value: &[u8], count: usize) -> Outcome {
    let bytes = count.checked_mul(value.len()).ok_or(Fault::INVALID_VALUE)?;
    // SAFETY: the caller's address.
    unsafe { fill(to, bytes, value, bytes, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| unsafe { fill_row(to, &[value], count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD16_v2(to: u64, value: u16, count: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| unsafe { fill_row(to, &value.to_ne_bytes(), count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD32_v2(to: u64, value: u32, count: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| unsafe { fill_row(to, &value.to_ne_bytes(), count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8Async(to: u64, value: u8, count: usize, on: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| stream::work(on).and_then(|()| unsafe { fill_row(to, &[value], count) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD16Async(to: u64, value: u16, count: usize, on: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| stream::work(on).and_then(|()| unsafe { fill_row(to, &value.to_ne_bytes(), count) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD32Async(to: u64, value: u32, count: usize, on: usize) -> c_int {
    // SAFETY: the caller's address.
    driver(|| stream::work(on).and_then(|()| unsafe { fill_row(to, &value.to_ne_bytes(), count) }))
}
