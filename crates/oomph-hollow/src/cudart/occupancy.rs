//! Occupancy, from the card's properties and [`crate::kernel`]'s idea of a kernel.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{put, runtime};
use crate::estimate::{self, Estimate};
use crate::{device, kernel};

unsafe fn put_blocks(out: *mut c_int, function: usize, threads: c_int, shared_bytes: usize) -> c_int {
    runtime(|| {
        let card = device::card(device::enter()?)?;
        estimate::note(Estimate::Occupancy, function);
        let threads = u32::try_from(threads).unwrap_or(0);
        // SAFETY: the caller's pointer.
        unsafe { put(out, kernel::blocks_per_sm(card, threads, shared_bytes as u64) as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    out: *mut c_int,
    function: usize,
    threads: c_int,
    shared_bytes: usize,
) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_blocks(out, function, threads, shared_bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    out: *mut c_int,
    function: usize,
    threads: c_int,
    shared_bytes: usize,
    _flags: c_uint,
) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_blocks(out, function, threads, shared_bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    out: *mut usize,
    function: usize,
    blocks: c_int,
    _threads: c_int,
) -> c_int {
    runtime(|| {
        let card = device::card(device::enter()?)?;
        estimate::note(Estimate::Occupancy, function);
        let blocks = u64::try_from(blocks).unwrap_or(0).max(1);
        let share = card.shared_memory_per_sm_bytes / blocks;
        let free = share.saturating_sub(card.reserved_shared_memory_per_block_bytes());
        // SAFETY: the caller's pointer.
        unsafe { put(out, free.min(card.shared_memory_per_block_optin_bytes) as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxPotentialClusterSize(
    out: *mut c_int,
    function: usize,
    _c: *const c_void,
) -> c_int {
    estimate::note(Estimate::Occupancy, function);
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, 8) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveClusters(out: *mut c_int, function: usize, _c: *const c_void) -> c_int {
    runtime(|| {
        let card = device::card(device::enter()?)?;
        estimate::note(Estimate::Occupancy, function);
        // SAFETY: the caller's pointer.
        unsafe { put(out, (card.sms / 2).max(1) as c_int) }
    })
}
