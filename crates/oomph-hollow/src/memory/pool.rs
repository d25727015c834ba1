//! Memory pools, as `cudaMallocAsync` uses them.
//!
//! A pool takes chunks of 32 MiB from the device and cuts them, best fit, to multiples of 512 bytes. Chunks without a
//! live piece go back when the program synchronizes and the pool holds more than its release threshold, or when it
//! trims the pool. Streams run in order and at once here, so freed memory can be used again at once.

use std::collections::BTreeMap;

use super::chunks::{Chunks, UNIT_BYTES};
use super::ledger::Ledger;
use super::{Kind, ledger};
use crate::fault::{Fault, Outcome};
use crate::handle;

const CHUNK_BYTES: u64 = 32 << 20;

#[derive(Debug)]
struct Pool {
    device: u32,
    chunks: Chunks,
    reserved_bytes: u64,
    reserved_peak_bytes: u64,
    used_bytes: u64,
    used_peak_bytes: u64,
    release_threshold_bytes: u64,
    /// The three reuse policies; all on, as in a new pool.
    reuse: [u64; 3],
}

impl Pool {
    fn new(device: u32) -> Self {
        Self {
            device,
            chunks: Chunks::new(),
            reserved_bytes: 0,
            reserved_peak_bytes: 0,
            used_bytes: 0,
            used_peak_bytes: 0,
            release_threshold_bytes: 0,
            reuse: [1; 3],
        }
    }
}

/// The pools of a process, each device's own among them.
pub(super) struct Pools {
    pools: BTreeMap<usize, Pool>,
    defaults: BTreeMap<u32, usize>,
}

impl Pools {
    pub(super) const fn new() -> Self {
        Self { pools: BTreeMap::new(), defaults: BTreeMap::new() }
    }

    fn create(&mut self, device: u32) -> usize {
        let pool = handle::fresh();
        self.pools.insert(pool, Pool::new(device));
        pool
    }

    fn get(&mut self, pool: usize) -> Outcome<&mut Pool> {
        self.pools.get_mut(&pool).ok_or(Fault::INVALID_VALUE)
    }
}

/// What can be asked of a pool, by the numbers of `cudaMemPoolAttr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolAttribute {
    Reuse(usize),
    ReleaseThreshold,
    ReservedCurrent,
    ReservedHigh,
    UsedCurrent,
    UsedHigh,
}

impl PoolAttribute {
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Reuse(0),
            2 => Self::Reuse(1),
            3 => Self::Reuse(2),
            4 => Self::ReleaseThreshold,
            5 => Self::ReservedCurrent,
            6 => Self::ReservedHigh,
            7 => Self::UsedCurrent,
            8 => Self::UsedHigh,
            _ => return None,
        })
    }
}

/// A new pool on a device.
pub(crate) fn create_pool(device: u32) -> usize {
    ledger().pools.create(device)
}

/// The pool that a device comes with.
pub(crate) fn default_pool(device: u32) -> usize {
    let mut ledger = ledger();
    let pools = &mut ledger.pools;
    if let Some(&pool) = pools.defaults.get(&device) {
        return pool;
    }
    let pool = pools.create(device);
    pools.defaults.insert(device, pool);
    pool
}

/// Whether there is such a pool.
pub(crate) fn is_pool(pool: usize) -> bool {
    ledger().pools.pools.contains_key(&pool)
}

/// The device of a pool.
pub(crate) fn pool_device(pool: usize) -> Outcome<u32> {
    ledger().pools.get(pool).map(|pool| pool.device)
}

/// Ends a pool. Its memory goes back to the device; pieces that are still in use are forgotten with it.
pub(crate) fn destroy_pool(pool: usize) -> Outcome {
    let mut ledger = ledger();
    let removed = ledger.pools.pools.remove(&pool).ok_or(Fault::INVALID_VALUE)?;
    ledger.pools.defaults.retain(|_, default| *default != pool);
    ledger.device_mut(removed.device)?.give_back(removed.reserved_bytes);
    Ok(())
}

/// Takes `bytes` from a pool.
pub(crate) fn allocate_from_pool(pool: usize, bytes: u64) -> Outcome<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let piece = bytes.checked_next_multiple_of(UNIT_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
    let mut ledger = ledger();
    let device = ledger.pools.get(pool)?.device;
    let ready = ledger.pools.get(pool)?.chunks.take(piece);
    let address = if let Some(address) = ready { address } else { ledger.grow(pool, device, piece)? };
    let state = ledger.pools.get(pool)?;
    state.used_bytes += piece;
    state.used_peak_bytes = state.used_peak_bytes.max(state.used_bytes);
    ledger.note(address, bytes, Kind::Pool(pool), device);
    Ok(address)
}

/// Gives a piece back to its pool.
pub(crate) fn free_to_pool(address: u64) -> Outcome {
    let mut ledger = ledger();
    let range = ledger.range_starting_at(address).ok_or(Fault::INVALID_VALUE)?;
    let Kind::Pool(pool) = range.kind else { return Err(Fault::INVALID_VALUE) };
    ledger.remove(address);
    let piece = range.bytes.next_multiple_of(UNIT_BYTES);
    // The pool may be gone already, and its memory with it.
    if let Ok(pool) = ledger.pools.get(pool) {
        pool.chunks.give_back(address, piece);
        pool.used_bytes = pool.used_bytes.saturating_sub(piece);
    }
    Ok(())
}

/// Gives chunks without a live piece back until the pool holds at most `keep_bytes`.
pub(crate) fn trim_pool(pool: usize, keep_bytes: u64) -> Outcome {
    ledger().trim(pool, keep_bytes)
}

/// What a synchronization does: every pool of a device falls back to its release threshold.
pub(crate) fn trim_pools(device: u32) {
    let mut ledger = ledger();
    let over = |pool: &Pool| pool.device == device && pool.reserved_bytes > pool.release_threshold_bytes;
    let found = ledger.pools.pools.iter().filter(|(_, pool)| over(pool));
    let due: Vec<(usize, u64)> = found.map(|(&handle, pool)| (handle, pool.release_threshold_bytes)).collect();
    for (pool, keep_bytes) in due {
        let _ = ledger.trim(pool, keep_bytes);
    }
}

impl Ledger {
    /// Gives a pool another chunk, and takes a piece from it.
    fn grow(&mut self, pool: usize, device: u32, piece: u64) -> Outcome<u64> {
        let chunk_bytes = piece.checked_next_multiple_of(CHUNK_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
        let chunk = self.device_mut(device)?.take_pages(chunk_bytes)?;
        let pool = self.pools.get(pool)?;
        pool.chunks.add_chunk(chunk, chunk_bytes);
        pool.reserved_bytes += chunk_bytes;
        pool.reserved_peak_bytes = pool.reserved_peak_bytes.max(pool.reserved_bytes);
        pool.chunks.take(piece).ok_or(Fault::OUT_OF_MEMORY)
    }

    fn trim(&mut self, pool: usize, keep_bytes: u64) -> Outcome {
        loop {
            let state = self.pools.get(pool)?;
            if state.reserved_bytes <= keep_bytes {
                return Ok(());
            }
            let Some((start, bytes)) = state.chunks.remove_empty() else { return Ok(()) };
            state.reserved_bytes -= bytes;
            let device = state.device;
            self.device_mut(device)?.return_pages(start, bytes);
        }
    }
}

/// What a pool says about itself.
pub(crate) fn pool_attribute(pool: usize, attribute: PoolAttribute) -> Outcome<u64> {
    let mut ledger = ledger();
    let pool = ledger.pools.get(pool)?;
    Ok(match attribute {
        PoolAttribute::Reuse(which) => *pool.reuse.get(which).ok_or(Fault::INVALID_VALUE)?,
        PoolAttribute::ReleaseThreshold => pool.release_threshold_bytes,
        PoolAttribute::ReservedCurrent => pool.reserved_bytes,
        PoolAttribute::ReservedHigh => pool.reserved_peak_bytes,
        PoolAttribute::UsedCurrent => pool.used_bytes,
        PoolAttribute::UsedHigh => pool.used_peak_bytes,
    })
}

/// Changes a pool. High-water marks can only be set back to what is in use.
pub(crate) fn set_pool_attribute(pool: usize, attribute: PoolAttribute, value: u64) -> Outcome {
    let mut ledger = ledger();
    let pool = ledger.pools.get(pool)?;
    match attribute {
        PoolAttribute::Reuse(which) => *pool.reuse.get_mut(which).ok_or(Fault::INVALID_VALUE)? = value,
        PoolAttribute::ReleaseThreshold => pool.release_threshold_bytes = value,
        PoolAttribute::ReservedHigh if value == 0 => pool.reserved_peak_bytes = pool.reserved_bytes,
        PoolAttribute::UsedHigh if value == 0 => pool.used_peak_bytes = pool.used_bytes,
        _ => return Err(Fault::INVALID_VALUE),
    }
    Ok(())
}
