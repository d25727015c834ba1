//! Launches, attributes of functions, and descriptors of tensors in memory.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{driver, put};
use crate::fault::Fault;
use crate::{device, kernel, stream};

fn launch(grid: [u32; 3], block: [u32; 3], shared_bytes: c_uint, on: usize) -> c_int {
    driver(|| {
        kernel::check_launch(grid, block, shared_bytes as usize).map_err(|_| Fault::INVALID_VALUE)?;
        stream::launch(on)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    _function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    on: usize,
    _parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    launch([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes, on)
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchCooperativeKernel(
    _function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    on: usize,
    _parameters: *mut *mut c_void,
) -> c_int {
    launch([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes, on)
}

/// The beginning of `CUlaunchConfig`; attributes follow.
#[repr(C)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: c_uint,
    stream: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    _function: usize,
    _parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's pointer.
    match unsafe { config.as_ref() } {
        Some(config) => launch(config.grid, config.block, config.shared_bytes, config.stream),
        None => Fault::INVALID_VALUE.0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(out: *mut c_int, attribute: c_int, function: usize) -> c_int {
    driver(|| {
        let card = device::card(device::enter()?)?;
        let value = match attribute {
            0 => kernel::MAX_THREADS as c_int,
            4 => kernel::REGISTERS as c_int,
            5 | 6 => kernel::architecture(card, function) as c_int,
            8 => kernel::dynamic_shared_bytes(card, function) as c_int,
            9 => -1,
            // Shared, constant and local memory, cache mode, clusters.
            1..=3 | 7 | 10..=15 => 0,
            _ => return Err(Fault::INVALID_VALUE),
        };
        // SAFETY: the caller's pointer.
        unsafe { put(out, value) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) -> c_int {
    driver(|| match attribute {
        8 => kernel::set_dynamic_shared_bytes(device::card(device::enter()?)?, function, value),
        _ => Ok(()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuKernelSetAttribute(attribute: c_int, value: c_int, function: usize, _device: c_int) -> c_int {
    cuFuncSetAttribute(function, attribute, value)
}

/// `CUtensorMap`: opaque, and only kernels read it.
#[repr(C, align(64))]
struct TensorMap([u8; 128]);

/// The shape of the tensor follows.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapEncodeTiled(out: *mut TensorMap) -> c_int {
    // SAFETY: the caller's structure.
    driver(|| unsafe { put(out, TensorMap([0; 128])) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    _function: usize,
    _shared: *const c_void,
    _shared_bytes: usize,
    limit: c_int,
) -> c_int {
    driver(|| {
        let card = device::card(device::enter()?)?;
        let threads = if (1..1024).contains(&limit) { limit } else { 1024 };
        let blocks = card.sms * kernel::blocks_per_sm(card, threads as u32, 0);
        // SAFETY: the caller's pointers.
        unsafe { put(grid, blocks as c_int) }?;
        // SAFETY: the caller's pointers.
        unsafe { put(block, threads) }
    })
}
