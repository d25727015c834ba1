//! Physical memory and the addresses it is mapped to: what `expandable_segments` is made of.
//!
//! Physical memory is charged to its device from its creation until it is both released and unmapped everywhere.
//! Reserved addresses cost nothing. A range can only be mapped inside a reservation, and not twice.

use std::collections::BTreeMap;

use super::ledger::Ledger;
use super::{Kind, PAGE_BYTES, host, ledger};
use crate::fault::{Fault, Outcome};

/// Where physical memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Device(u32),
    Host,
    /// Another process's: it costs nothing here.
    Imported(u32),
}

impl Location {
    fn device(self) -> u32 {
        match self {
            Self::Device(device) | Self::Imported(device) => device,
            Self::Host => 0,
        }
    }
}

#[derive(Debug)]
struct Physical {
    bytes: u64,
    location: Location,
    handles: u32,
    mappings: u32,
}

/// Physical memory by its handle, and reserved addresses.
pub(super) struct VirtualMemory {
    physical: BTreeMap<u64, Physical>,
    reservations: BTreeMap<u64, u64>,
    next_handle: u64,
}

impl VirtualMemory {
    pub(super) const fn new() -> Self {
        Self { physical: BTreeMap::new(), reservations: BTreeMap::new(), next_handle: 1 }
    }

    fn get(&mut self, handle: u64) -> Outcome<&mut Physical> {
        self.physical.get_mut(&handle).ok_or(Fault::INVALID_VALUE)
    }

    pub(super) fn is_reserved(&self, address: u64) -> bool {
        let before = self.reservations.range(..=address).next_back();
        before.is_some_and(|(start, bytes)| address - start < *bytes)
    }

    fn holds(&self, start: u64, bytes: u64) -> bool {
        let before = self.reservations.range(..=start).next_back();
        before.is_some_and(|(from, size)| start.checked_add(bytes).is_some_and(|end| end <= from + size))
    }
}

impl Ledger {
    /// Gives physical memory back once nobody has it.
    fn settle(&mut self, handle: u64) {
        let Ok(physical) = self.virtual_memory.get(handle) else { return };
        if physical.handles > 0 || physical.mappings > 0 {
            return;
        }
        let (bytes, location) = (physical.bytes, physical.location);
        self.virtual_memory.physical.remove(&handle);
        if let Location::Device(device) = location
            && let Ok(device) = self.device_mut(device)
        {
            device.give_back(bytes);
        }
    }
}

/// Takes physical memory, a multiple of [`PAGE_BYTES`].
pub(crate) fn create_physical(bytes: u64, location: Location) -> Outcome<u64> {
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(Fault::INVALID_VALUE);
    }
    let mut ledger = ledger();
    if let Location::Device(device) = location {
        ledger.device_mut(device)?.charge(bytes)?;
    }
    let handle = ledger.virtual_memory.next_handle;
    ledger.virtual_memory.next_handle += 1;
    ledger.virtual_memory.physical.insert(handle, Physical { bytes, location, handles: 1, mappings: 0 });
    Ok(handle)
}

/// Gives one handle of physical memory up.
pub(crate) fn release_physical(handle: u64) -> Outcome {
    let mut ledger = ledger();
    let physical = ledger.virtual_memory.get(handle)?;
    physical.handles = physical.handles.checked_sub(1).ok_or(Fault::INVALID_VALUE)?;
    ledger.settle(handle);
    Ok(())
}

/// One more handle of the physical memory behind an address.
pub(crate) fn retain_physical(address: u64) -> Outcome<u64> {
    let handle = physical_at(address)?;
    ledger().virtual_memory.get(handle)?.handles += 1;
    Ok(handle)
}

/// The physical memory behind an address.
pub(crate) fn physical_at(address: u64) -> Outcome<u64> {
    match ledger().find(address).map(|range| range.kind) {
        Some(Kind::Mapped(handle)) => Ok(handle),
        _ => Err(Fault::INVALID_VALUE),
    }
}

/// How much physical memory a handle stands for, and where.
pub(crate) fn physical_bytes_and_location(handle: u64) -> Outcome<(u64, Location)> {
    ledger().virtual_memory.get(handle).map(|physical| (physical.bytes, physical.location))
}

/// Reserves addresses.
pub(crate) fn reserve_addresses(bytes: u64) -> Outcome<u64> {
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(Fault::INVALID_VALUE);
    }
    let address = host::reserve(bytes, PAGE_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
    ledger().virtual_memory.reservations.insert(address, bytes);
    Ok(address)
}

/// Gives reserved addresses back.
pub(crate) fn release_addresses(address: u64, bytes: u64) -> Outcome {
    let mut ledger = ledger();
    if ledger.virtual_memory.reservations.get(&address) != Some(&bytes) || ledger.overlaps(address, bytes) {
        return Err(Fault::INVALID_VALUE);
    }
    ledger.virtual_memory.reservations.remove(&address);
    host::unmap(address, bytes);
    Ok(())
}

/// Maps physical memory to reserved addresses.
pub(crate) fn map(address: u64, bytes: u64, handle: u64) -> Outcome {
    let mut ledger = ledger();
    if bytes == 0 || !ledger.virtual_memory.holds(address, bytes) || ledger.overlaps(address, bytes) {
        return Err(Fault::INVALID_VALUE);
    }
    let physical = ledger.virtual_memory.get(handle)?;
    if bytes > physical.bytes {
        return Err(Fault::INVALID_VALUE);
    }
    physical.mappings += 1;
    let device = physical.location.device();
    ledger.note(address, bytes, Kind::Mapped(handle), device);
    Ok(())
}

/// Unmaps every mapping in a range of addresses, which must cover them whole.
pub(crate) fn unmap(address: u64, bytes: u64) -> Outcome {
    let end = address.checked_add(bytes).ok_or(Fault::INVALID_VALUE)?;
    let mut ledger = ledger();
    let mut at = address;
    while at < end {
        let range = ledger.range_starting_at(at).filter(|range| at + range.bytes <= end);
        let Some(Kind::Mapped(handle)) = range.map(|range| range.kind) else { return Err(Fault::INVALID_VALUE) };
        at += range.map_or(end, |range| range.bytes);
        ledger.remove(at - range.map_or(0, |range| range.bytes));
        if let Ok(physical) = ledger.virtual_memory.get(handle) {
            physical.mappings = physical.mappings.saturating_sub(1);
        }
        ledger.settle(handle);
    }
    Ok(())
}
