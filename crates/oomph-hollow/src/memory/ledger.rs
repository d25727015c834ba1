//! Who has which addresses, and what each device has left.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::PAGE_BYTES;
use super::chunks::{Chunks, UNIT_BYTES};
use super::pool::Pools;
use super::shared::Shared;
use super::space::{OperatingSystem, Own, Space};
use super::virtual_memory::VirtualMemory;
use crate::card;
use crate::fault::{Fault, Outcome};

/// Requests up to this size share a page with others.
const SMALL_BYTES: u64 = 1 << 20;

/// What kind of memory a range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From `cudaMalloc`.
    Device,
    /// From a memory pool.
    Pool(usize),
    /// Physical memory mapped into reserved addresses.
    Mapped(u64),
    /// Another process's memory.
    Imported,
    /// Pinned host memory.
    Host,
    /// Host memory of the program's own that it registered.
    Registered,
    /// Host memory that kernels may use as theirs.
    Managed,
}

impl Kind {
    /// Whether the memory must never be touched.
    pub(crate) fn is_on_device(self) -> bool {
        match self {
            Self::Device | Self::Pool(_) | Self::Mapped(_) | Self::Imported => true,
            Self::Host | Self::Registered | Self::Managed => false,
        }
    }
}

/// A stretch of memory that one request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    /// As requested.
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) device: u32,
    /// A number that no other range of this process has or had.
    pub(crate) id: u64,
}

/// What a device has given to this process.
pub(crate) struct Device {
    /// The number of its card among the installed ones.
    card: usize,
    /// Where other processes write what they have on it.
    shared: Option<&'static Shared>,
    capacity_bytes: u64,
    context_bytes: u64,
    has_context: bool,
    taken_bytes: u64,
    peak_bytes: u64,
    own: Own,
    /// None until there is a context.
    space: Option<Space>,
    small: Chunks,
}

impl Device {
    pub(crate) fn has_context(&self) -> bool {
        self.has_context
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.taken_bytes + if self.has_context { self.context_bytes } else { 0 }
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Counts `bytes` as taken, if the device has them.
    pub(super) fn charge(&mut self, bytes: u64) -> Outcome {
        let taken = self.taken_bytes.checked_add(bytes).filter(|&taken| taken <= self.capacity_bytes);
        let taken = taken.ok_or(Fault::OUT_OF_MEMORY)?;
        let before = std::mem::replace(&mut self.taken_bytes, taken);
        // Told before it is checked: of two processes that ask at once for what one can have, none gets it.
        self.publish();
        let room_bytes = self.capacity_bytes - taken;
        if self.shared.is_some_and(|shared| !shared.leaves_room(self.card, room_bytes)) {
            self.taken_bytes = before;
            self.publish();
            return Err(Fault::OUT_OF_MEMORY);
        }
        self.peak_bytes = self.peak_bytes.max(self.used_bytes());
        Ok(())
    }

    pub(super) fn give_back(&mut self, bytes: u64) {
        self.taken_bytes = self.taken_bytes.saturating_sub(bytes);
        self.publish();
    }

    /// Tells other processes what this one has.
    fn publish(&self) {
        if let Some(shared) = self.shared {
            shared.publish(self.card, self.used_bytes());
        }
    }

    fn space(&mut self) -> &mut Space {
        self.space.get_or_insert_with(|| Space::new(OperatingSystem, self.own))
    }

    /// Kernels get larger stacks. They are part of what a context takes, so nothing is charged.
    pub(super) fn grow_stacks(&mut self) {
        self.space().grow_stacks();
    }

    /// Addresses for `bytes`, and the bytes counted.
    pub(super) fn take_pages(&mut self, bytes: u64) -> Outcome<u64> {
        self.charge(bytes)?;
        let address = self.space().take(bytes);
        if address.is_none() {
            self.give_back(bytes);
        }
        address.ok_or(Fault::OUT_OF_MEMORY)
    }

    pub(super) fn return_pages(&mut self, address: u64, bytes: u64) {
        self.give_back(bytes);
        if let Some(space) = &mut self.space {
            space.give_back(address, bytes);
        }
    }

    /// Addresses for `bytes` of the host's, which lie among the device's own.
    pub(super) fn take_host_pages(&mut self, bytes: u64) -> Outcome<u64> {
        self.space().take(bytes).ok_or(Fault::OUT_OF_MEMORY)
    }

    pub(super) fn return_host_pages(&mut self, address: u64, bytes: u64) {
        self.space().give_back(address, bytes);
    }

    fn take_small(&mut self, bytes: u64) -> Outcome<u64> {
        let bytes = bytes.next_multiple_of(UNIT_BYTES);
        if let Some(address) = self.small.take(bytes) {
            return Ok(address);
        }
        let page = self.take_pages(PAGE_BYTES)?;
        self.small.add_chunk(page, PAGE_BYTES);
        self.small.take(bytes).ok_or(Fault::OUT_OF_MEMORY)
    }

    fn return_small(&mut self, address: u64, bytes: u64) {
        self.small.give_back(address, bytes.next_multiple_of(UNIT_BYTES));
        while let Some((page, page_bytes)) = self.small.remove_empty() {
            self.return_pages(page, page_bytes);
        }
    }
}

/// The state behind the lock.
pub(crate) struct Ledger {
    /// Empty until it was looked for.
    shared: OnceCell<Option<&'static Shared>>,
    devices: Vec<Device>,
    ranges: BTreeMap<u64, Range>,
    next_id: u64,
    pub(super) pools: Pools,
    pub(super) virtual_memory: VirtualMemory,
}

impl Ledger {
    pub(super) const fn new() -> Self {
        Self {
            shared: OnceCell::new(),
            devices: Vec::new(),
            ranges: BTreeMap::new(),
            next_id: 1,
            pools: Pools::new(),
            virtual_memory: VirtualMemory::new(),
        }
    }

    /// What processes share about the cards, where they do.
    pub(super) fn shared(&self) -> Option<&'static Shared> {
        *self.shared.get_or_init(Shared::from_environment)
    }

    pub(super) fn device(&self, device: u32) -> Option<&Device> {
        self.devices.get(device as usize)
    }

    pub(super) fn device_mut(&mut self, device: u32) -> Outcome<&mut Device> {
        if self.devices.is_empty() {
            let shared = self.shared();
            self.devices.extend(card::cards().iter().zip(0..).map(|(card, device)| Device {
                card: card::installed_index(device).unwrap_or(usize::MAX),
                shared,
                capacity_bytes: card.usable_bytes(),
                context_bytes: card.context_bytes,
                has_context: false,
                taken_bytes: 0,
                peak_bytes: 0,
                own: Own::of_threads(card.resident_threads()),
                space: None,
                small: Chunks::new(),
            }));
        }
        self.devices.get_mut(device as usize).ok_or(Fault::INVALID_DEVICE)
    }

    pub(super) fn charge_context(&mut self, device: u32) -> Outcome {
        let device = self.device_mut(device)?;
        let had_context = std::mem::replace(&mut device.has_context, true);
        if let Err(fault) = device.charge(0) {
            device.has_context = had_context;
            device.publish();
            return Err(fault);
        }
        // The driver's own arenas lie where the program's memory ends at this moment.
        device.space();
        Ok(())
    }

    pub(super) fn allocate(&mut self, device: u32, bytes: u64) -> Outcome<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        let place = self.device_mut(device)?;
        let address = if bytes <= SMALL_BYTES {
            place.take_small(bytes)?
        } else {
            place.take_pages(bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Fault::OUT_OF_MEMORY)?)?
        };
        self.note(address, bytes, Kind::Device, device);
        Ok(address)
    }

    pub(super) fn free(&mut self, address: u64) -> Outcome {
        let range = self.remove(address).ok_or(Fault::INVALID_VALUE)?;
        let place = self.device_mut(range.device)?;
        if range.bytes <= SMALL_BYTES {
            place.return_small(address, range.bytes);
        } else {
            place.return_pages(address, range.bytes.next_multiple_of(PAGE_BYTES));
        }
        Ok(())
    }

    pub(super) fn import(&mut self, device: u32, bytes: u64) -> Outcome<u64> {
        let address =
            super::host::reserve(bytes.next_multiple_of(PAGE_BYTES), PAGE_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
        self.note(address, bytes, Kind::Imported, device);
        Ok(address)
    }

    pub(super) fn forget_import(&mut self, address: u64) -> Outcome {
        let range = self.range_starting_at(address).filter(|range| range.kind == Kind::Imported);
        let range = range.ok_or(Fault::INVALID_VALUE)?;
        self.remove(address);
        super::host::unmap(address, range.bytes.next_multiple_of(PAGE_BYTES));
        Ok(())
    }

    /// Remembers a range.
    pub(super) fn note(&mut self, start: u64, bytes: u64, kind: Kind, device: u32) {
        let id = self.next_id;
        self.next_id += 1;
        self.ranges.insert(start, Range { start, bytes, kind, device, id });
    }

    pub(super) fn remove(&mut self, start: u64) -> Option<Range> {
        self.ranges.remove(&start)
    }

    pub(super) fn range_starting_at(&self, address: u64) -> Option<Range> {
        self.ranges.get(&address).copied()
    }

    pub(super) fn find(&self, address: u64) -> Option<Range> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        (address - range.start < range.bytes.max(1)).then_some(*range)
    }

    pub(super) fn overlaps(&self, start: u64, bytes: u64) -> bool {
        let before = self.ranges.range(..start + bytes).next_back();
        before.is_some_and(|(_, range)| range.start + range.bytes > start)
    }

    pub(super) fn is_on_device(&self, address: u64) -> bool {
        if let Some(range) = self.find(address) {
            return range.kind.is_on_device();
        }
        // Beyond the end of a request, or freed: still not to be touched.
        let in_space = |device: &Device| device.space.as_ref().is_some_and(|space| space.holds(address));
        self.devices.iter().any(in_space) || self.virtual_memory.is_reserved(address)
    }

    pub(super) fn forget_usage(&mut self) {
        if let Some(Some(shared)) = self.shared.get() {
            shared.forked();
        }
        for device in &mut self.devices {
            device.has_context = false;
            device.taken_bytes = 0;
            device.peak_bytes = 0;
        }
    }
}
