//! Device memory: address space that is counted and never touched.
//!
//! Modelled: the capacity of each card, less what a context takes; pages of 2 MiB; small requests packed into pages;
//! memory pools; physical memory mapped into reserved addresses; pinned, registered and managed host memory; memory
//! of another process opened through a handle.
//! What other processes take of a card is known where they share a ledger ([`shared`]).
//! Not modelled: managed memory that moves to a card (it is host memory here and
//! costs a card nothing).
//!
//! Every lookup takes logarithmic time under one lock; so does every change but that of the address space, which looks
//! through its gaps.

mod chunks;
mod gaps;
mod host;
mod ledger;
mod pool;
mod shared;
mod space;
mod virtual_memory;

use crate::card;
use crate::fault::{Fault, Outcome};
use crate::lock::{Guard, Guarded};
use ledger::Ledger;
pub(crate) use ledger::{Kind, Range};

pub(crate) use host::{allocate_host, allocate_managed, free_host, register_host, unregister_host, zero};
pub(crate) use pool::{
    PoolAttribute, allocate_from_pool, create_pool, default_pool, destroy_pool, free_to_pool, is_pool, pool_attribute,
    pool_device, set_pool_attribute, trim_pool, trim_pools,
};
pub(crate) use virtual_memory::{
    Location, create_physical, map, physical_at, physical_bytes_and_location, release_addresses, release_physical,
    reserve_addresses, retain_physical, unmap,
};

/// What the driver gives memory by.
pub(crate) const PAGE_BYTES: u64 = 2 << 20;

static LEDGER: Guarded<Ledger> = Guarded::new(Ledger::new());

fn ledger() -> Guard<Ledger> {
    LEDGER.lock()
}

/// Charges the context of a device, once.
pub(crate) fn charge_context(device: u32) -> Outcome {
    ledger().charge_context(device)
}

/// Whether this process has a context on the device.
pub(crate) fn has_context(device: u32) -> bool {
    ledger().device(device).is_some_and(ledger::Device::has_context)
}

/// Takes `bytes` on a device.
pub(crate) fn allocate(device: u32, bytes: u64) -> Outcome<u64> {
    ledger().allocate(device, bytes)
}

/// Kernels get larger stacks on a device: the driver moves them to other addresses.
pub(crate) fn grow_stacks(device: u32) -> Outcome {
    ledger().device_mut(device)?.grow_stacks();
    Ok(())
}

/// Gives back what starts at `address`, whatever kind of memory it is.
pub(crate) fn free(address: u64) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    // The lock ends with the statement: what follows takes it again.
    let kind = ledger().range_starting_at(address).map(|range| range.kind);
    match kind.ok_or(Fault::INVALID_VALUE)? {
        Kind::Device => ledger().free(address),
        Kind::Pool(_) => free_to_pool(address),
        Kind::Managed => host::free_mapped(address),
        Kind::Host | Kind::Registered | Kind::Mapped(_) | Kind::Imported => Err(Fault::INVALID_VALUE),
    }
}

/// The memory that an address lies in, if it is known here.
pub(crate) fn find(address: u64) -> Option<Range> {
    ledger().find(address)
}

/// Whether the address is on a device: memory that must never be touched.
pub(crate) fn is_on_device(address: u64) -> bool {
    ledger().is_on_device(address)
}

/// Free and total bytes of a device, as CUDA tells them.
pub(crate) fn free_and_total(device: u32) -> Outcome<(u64, u64)> {
    let card = card::cards().get(device as usize).ok_or(Fault::INVALID_DEVICE)?;
    let others = card::installed_index(device).map_or(0, others_bytes);
    let used = device_bytes(device).saturating_add(others);
    Ok((card.memory_bytes.saturating_sub(used), card.memory_bytes))
}

/// What other processes have on an installed card.
pub(crate) fn others_bytes(installed_index: usize) -> u64 {
    // The lock ends with the statement; looking at other processes takes system calls.
    let shared = ledger().shared();
    shared.map_or(0, |shared| shared.others_bytes(installed_index))
}

/// The processes that have something on an installed card, this one first: id and bytes.
pub(crate) fn processes_on(installed_index: usize) -> Vec<(u32, u64)> {
    let own_bytes = card::device_of(installed_index).map_or(0, device_bytes);
    let own = (own_bytes > 0).then(|| (std::process::id(), own_bytes));
    let shared = ledger().shared();
    own.into_iter().chain(shared.into_iter().flat_map(|shared| shared.others_on(installed_index))).collect()
}

/// What this process has on a device, its context included.
pub(crate) fn device_bytes(device: u32) -> u64 {
    ledger().device(device).map_or(0, ledger::Device::used_bytes)
}

/// The most that this process has had on each device.
pub(crate) fn peak_device_bytes() -> Vec<u64> {
    let ledger = ledger();
    let count = card::cards().len() as u32;
    (0..count).map(|device| ledger.device(device).map_or(0, ledger::Device::peak_bytes)).collect()
}

/// Notes memory of another process, opened here through a handle: it has an address and costs nothing.
pub(crate) fn import(device: u32, bytes: u64) -> Outcome<u64> {
    ledger().import(device, bytes)
}

/// Forgets memory of another process.
pub(crate) fn forget_import(address: u64) -> Outcome {
    ledger().forget_import(address)
}

/// In a child after a fork: nothing on any device is the child's.
pub(crate) fn forked() {
    ledger().forget_usage();
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Tests share one ledger and run at once: a lock of their own where they look at sums.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn turn() -> std::sync::MutexGuard<'static, ()> {
        TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[test]
    fn pages_are_charged_and_small_requests_share_them() {
        let _turn = turn();
        let before = device_bytes(0);
        let large = allocate(0, 3 * MIB).unwrap();
        assert_eq!(device_bytes(0) - before, 4 * MIB);
        assert_eq!(large % PAGE_BYTES, 0);
        let small: Vec<u64> = (0..4).map(|_| allocate(0, 300 << 10).unwrap()).collect();
        assert_eq!(device_bytes(0) - before, 6 * MIB);
        assert!(is_on_device(large + 3 * MIB - 1) && !is_on_device(0x1000));
        assert_eq!(find(large + 5).map(|range| (range.start, range.bytes)), Some((large, 3 * MIB)));
        assert_eq!(free(large + 1), Err(Fault::INVALID_VALUE));
        for address in small.into_iter().chain([large]) {
            free(address).unwrap();
        }
        assert_eq!(device_bytes(0), before);
        assert_eq!(free(large), Err(Fault::INVALID_VALUE));
        assert_eq!(free(0), Ok(()));
    }

    #[test]
    fn a_card_ends() {
        let _turn = turn();
        let capacity = card::cards()[0].usable_bytes();
        let before = device_bytes(0);
        assert_eq!(allocate(0, capacity + 1), Err(Fault::OUT_OF_MEMORY));
        assert_eq!(allocate(0, u64::MAX), Err(Fault::OUT_OF_MEMORY));
        assert_eq!(allocate(9, 1), Err(Fault::INVALID_DEVICE));
        assert_eq!(device_bytes(0), before);
    }

    #[test]
    fn physical_memory_lives_as_long_as_a_handle_or_a_mapping() {
        let _turn = turn();
        let before = device_bytes(0);
        let handle = create_physical(4 * MIB, Location::Device(0)).unwrap();
        let address = reserve_addresses(64 * MIB).unwrap();
        assert!(is_on_device(address + 63 * MIB));
        map(address, 4 * MIB, handle).unwrap();
        assert_eq!(map(address, 4 * MIB, handle), Err(Fault::INVALID_VALUE), "mapped already");
        assert_eq!(map(address + 62 * MIB, 4 * MIB, handle), Err(Fault::INVALID_VALUE), "beyond the end");
        release_physical(handle).unwrap();
        assert_eq!(device_bytes(0) - before, 4 * MIB, "still mapped");
        assert_eq!(release_addresses(address, 64 * MIB), Err(Fault::INVALID_VALUE), "still mapped");
        assert_eq!(retain_physical(address), Ok(handle));
        unmap(address, 4 * MIB).unwrap();
        assert_eq!(device_bytes(0) - before, 4 * MIB, "still held");
        release_physical(handle).unwrap();
        assert_eq!(device_bytes(0), before);
        assert_eq!(release_physical(handle), Err(Fault::INVALID_VALUE));
        release_addresses(address, 64 * MIB).unwrap();
        assert_eq!(create_physical(MIB, Location::Device(0)), Err(Fault::INVALID_VALUE), "not whole pages");
    }

    #[test]
    fn a_pool_keeps_chunks_until_it_is_trimmed() {
        let _turn = turn();
        let before = device_bytes(0);
        let pool = create_pool(0);
        let (a, b) = (allocate_from_pool(pool, 100).unwrap(), allocate_from_pool(pool, 40 * MIB).unwrap());
        assert_eq!(device_bytes(0) - before, 96 * MIB);
        assert_eq!(pool_attribute(pool, PoolAttribute::UsedCurrent), Ok(40 * MIB + 512));
        free(b).unwrap();
        set_pool_attribute(pool, PoolAttribute::ReleaseThreshold, u64::MAX).unwrap();
        trim_pools(0);
        assert_eq!(device_bytes(0) - before, 96 * MIB);
        set_pool_attribute(pool, PoolAttribute::ReleaseThreshold, 0).unwrap();
        trim_pools(0);
        assert_eq!(device_bytes(0) - before, 32 * MIB);
        free(a).unwrap();
        trim_pool(pool, 0).unwrap();
        assert_eq!(device_bytes(0), before);
        assert_eq!(pool_attribute(pool, PoolAttribute::ReservedHigh), Ok(96 * MIB));
        destroy_pool(pool).unwrap();
        assert_eq!(allocate_from_pool(pool, 1), Err(Fault::INVALID_VALUE));
    }

    /// The bound leaves room for a busy machine.
    #[test]
    fn lookups_among_many_ranges_are_cheap() {
        let _turn = turn();
        let addresses: Vec<u64> = (0..10_000).map(|_| allocate(0, 4096).unwrap()).collect();
        let start = Instant::now();
        for _ in 0..10 {
            for &address in &addresses {
                assert!(is_on_device(address + 17));
            }
        }
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        for address in addresses {
            free(address).unwrap();
        }
    }

    #[test]
    fn large_pinned_memory_lies_among_the_device_s_and_costs_the_device_nothing() {
        let _turn = turn();
        let before = device_bytes(0);
        let pinned = allocate_host(0, 8 * MIB).unwrap();
        assert!(!is_on_device(pinned) && !is_on_device(pinned + 8 * MIB - 1));
        // SAFETY: just allocated, and the host's.
        unsafe { std::ptr::write_bytes(pinned as *mut u8, 7, 8 << 20) };
        assert_eq!(device_bytes(0), before);
        assert_eq!(free_host(pinned + 1), Err(Fault::INVALID_VALUE));
        free_host(pinned).unwrap();
        assert_eq!(free_host(pinned), Err(Fault::INVALID_VALUE));
        let again = allocate_host(0, 8 * MIB).unwrap();
        // SAFETY: as above; fresh pages hold zeros.
        assert_eq!(unsafe { *(again as *const u8) }, 0);
        free_host(again).unwrap();
    }
}
