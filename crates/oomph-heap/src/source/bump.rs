//! Addresses without a trace: one documented rule.

use std::collections::BTreeMap;

use super::{SegmentRequest, Source};
use crate::config::SMALL_SEGMENT_BYTES;

/// In which direction a [`BumpSource`] hands out large addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each new segment lies above the last.
    Ascending,
    /// Each new segment lies below the last.
    Descending,
}

/// The rule for replays without recorded addresses.
///
/// Segments of 2 MiB come from one region and all others from another; a new segment takes the lowest free gap of
/// its region that is large enough ([`Order::Descending`]: the highest). A freed address range can be used again.
/// The allocator breaks ties between equally large free blocks by address, so the order can change what a replay
/// reserves: run both orders for the range.
#[derive(Clone, Debug)]
pub struct BumpSource {
    order: Order,
    capacity_bytes: u64,
    used_bytes: u64,
    small: Region,
    large: Region,
    reserved: Region,
}

const SMALL_BASE: u64 = 0x7000_0000_0000;
const LARGE_BASE: u64 = 0x7400_0000_0000;
const RESERVED_BASE: u64 = 0x1000_0000_0000;
const REGION_BYTES: u64 = 0x0400_0000_0000;
const RESERVED_REGION_BYTES: u64 = 0x6000_0000_0000;

impl BumpSource {
    /// A card on which the allocator can take at most `capacity_bytes`; `None` means as much as it likes.
    #[must_use]
    pub fn new(order: Order, capacity_bytes: Option<u64>) -> Self {
        Self {
            order,
            capacity_bytes: capacity_bytes.unwrap_or(u64::MAX),
            used_bytes: 0,
            small: Region::new(SMALL_BASE, REGION_BYTES),
            large: Region::new(LARGE_BASE, REGION_BYTES),
            reserved: Region::new(RESERVED_BASE, RESERVED_REGION_BYTES),
        }
    }

    fn region_at(&mut self, address: u64) -> &mut Region {
        if self.small.holds(address) {
            &mut self.small
        } else if self.large.holds(address) {
            &mut self.large
        } else {
            &mut self.reserved
        }
    }

    fn take(&mut self, bytes: u64) -> bool {
        let used = self.used_bytes.saturating_add(bytes);
        let fits = used <= self.capacity_bytes;
        if fits {
            self.used_bytes = used;
        }
        fits
    }
}

impl Source for BumpSource {
    fn obtain(&mut self, request: SegmentRequest) -> Option<u64> {
        if !self.take(request.bytes) {
            return None;
        }
        let region = if request.bytes == SMALL_SEGMENT_BYTES { &mut self.small } else { &mut self.large };
        let address = region.take(request.bytes, self.order);
        if address.is_none() {
            self.used_bytes -= request.bytes;
        }
        address
    }

    fn release(&mut self, address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
        self.region_at(address).free(address);
    }

    fn reserve_addresses(&mut self, request: SegmentRequest) -> u64 {
        // Addresses past every region are still addresses: nothing else lies there.
        self.reserved.take(request.bytes, self.order).unwrap_or(RESERVED_BASE + RESERVED_REGION_BYTES)
    }

    fn release_addresses(&mut self, address: u64, _bytes: u64) {
        self.reserved.free(address);
    }

    fn map(&mut self, _address: u64, bytes: u64) -> bool {
        self.take(bytes)
    }

    fn unmap(&mut self, _address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }

    fn adopt(&mut self, address: u64, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        self.region_at(address).adopt(address, bytes);
    }
}

/// A stretch of addresses and the ranges taken in it.
#[derive(Clone, Debug)]
struct Region {
    start: u64,
    end: u64,
    taken: BTreeMap<u64, u64>,
    /// Free stretches by address; kept so that a search need not walk every range taken.
    gaps: BTreeMap<u64, u64>,
}

impl Region {
    fn new(start: u64, bytes: u64) -> Self {
        Self { start, end: start + bytes, taken: BTreeMap::new(), gaps: BTreeMap::from([(start, bytes)]) }
    }

    fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    fn take(&mut self, bytes: u64, order: Order) -> Option<u64> {
        let fits = |gap: &(&u64, &u64)| *gap.1 >= bytes;
        let (gap, gap_bytes) = match order {
            Order::Ascending => self.gaps.iter().find(fits),
            Order::Descending => self.gaps.iter().rev().find(fits),
        }
        .map(|(&gap, &gap_bytes)| (gap, gap_bytes))?;
        let address = match order {
            Order::Ascending => gap,
            Order::Descending => gap + gap_bytes - bytes,
        };
        self.occupy(gap, gap_bytes, address, bytes);
        Some(address)
    }

    fn occupy(&mut self, gap: u64, gap_bytes: u64, address: u64, bytes: u64) {
        self.gaps.remove(&gap);
        if address > gap {
            self.gaps.insert(gap, address - gap);
        }
        let (end, gap_end) = (address + bytes, gap + gap_bytes);
        if gap_end > end {
            self.gaps.insert(end, gap_end - end);
        }
        self.taken.insert(address, bytes);
    }

    fn adopt(&mut self, address: u64, bytes: u64) {
        let gap = self.gaps.range(..=address).next_back().map(|(&gap, &gap_bytes)| (gap, gap_bytes));
        if let Some((gap, gap_bytes)) = gap
            && address + bytes <= gap + gap_bytes
        {
            self.occupy(gap, gap_bytes, address, bytes);
        }
    }

    fn free(&mut self, address: u64) {
        let Some(bytes) = self.taken.remove(&address) else { return };
        let (mut start, mut end) = (address, address + bytes);
        if let Some((&gap, &gap_bytes)) = self.gaps.range(..address).next_back()
            && gap + gap_bytes == address
        {
            self.gaps.remove(&gap);
            start = gap;
        }
        if let Some(gap_bytes) = self.gaps.remove(&end) {
            end += gap_bytes;
        }
        self.gaps.insert(start, end - start);
    }
}
