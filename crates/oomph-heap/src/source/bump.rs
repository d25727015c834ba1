//! Addresses without a trace: one documented rule.

use std::collections::BTreeMap;

use super::{SegmentRequest, Source};
use crate::config::{MIB, SMALL_SEGMENT_BYTES, round_up};

/// How a [`BumpSource`] chooses addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As recorded drivers do: addresses come in chunks of 32 MiB, each new run of chunks right below the last; a
    /// segment takes the smallest gap that holds it, from the gap's start, before new chunks are opened.
    #[default]
    Driver,
    /// The lowest gap that is large enough; segments of 2 MiB have a region of their own.
    Ascending,
    /// The highest gap that is large enough, from its end; segments of 2 MiB have a region of their own.
    Descending,
}

/// The rule for replays without recorded addresses: [`Order::Driver`]. Freed addresses can be used again.
///
/// The allocator breaks ties between equally large free blocks by address, so addresses can change what a replay
/// reserves. The other orders are there to show by how much: run all three for the range.
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
const CHUNK_BYTES: u64 = 32 * MIB;

impl BumpSource {
    /// A card on which the allocator can take at most `capacity_bytes`; `None` means as much as it likes.
    #[must_use]
    pub fn new(order: Order, capacity_bytes: Option<u64>) -> Self {
        Self {
            order,
            capacity_bytes: capacity_bytes.unwrap_or(u64::MAX),
            used_bytes: 0,
            small: Region::new(SMALL_BASE, REGION_BYTES),
            large: match order {
                Order::Driver => Region::without_gaps(LARGE_BASE, REGION_BYTES),
                Order::Ascending | Order::Descending => Region::new(LARGE_BASE, REGION_BYTES),
            },
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
        let apart = self.order != Order::Driver && request.bytes == SMALL_SEGMENT_BYTES;
        let region = if apart { &mut self.small } else { &mut self.large };
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
        let order = if self.order == Order::Descending { Order::Descending } else { Order::Ascending };
        self.reserved.take(request.bytes, order).unwrap_or(RESERVED_BASE + RESERVED_REGION_BYTES)
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
    /// Where the lowest chunk opened so far begins.
    floor: u64,
}

impl Region {
    fn new(start: u64, bytes: u64) -> Self {
        Self { gaps: BTreeMap::from([(start, bytes)]), ..Self::without_gaps(start, bytes) }
    }

    /// A region in which chunks have to be opened first.
    fn without_gaps(start: u64, bytes: u64) -> Self {
        let end = start + bytes;
        Self { start, end, taken: BTreeMap::new(), gaps: BTreeMap::new(), floor: end }
    }

    fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    fn take(&mut self, bytes: u64, order: Order) -> Option<u64> {
        let fits = |gap: &(&u64, &u64)| *gap.1 >= bytes;
        let found = match order {
            Order::Driver => self.gaps.iter().filter(fits).min_by_key(|gap| *gap.1),
            Order::Ascending => self.gaps.iter().find(fits),
            Order::Descending => self.gaps.iter().rev().find(fits),
        };
        let (gap, gap_bytes) = match found {
            Some((&gap, &gap_bytes)) => (gap, gap_bytes),
            None if order == Order::Driver => self.open_chunks(bytes)?,
            None => return None,
        };
        let address = if order == Order::Descending { gap + gap_bytes - bytes } else { gap };
        self.occupy(gap, gap_bytes, address, bytes);
        Some(address)
    }

    /// Opens chunks below all others for a segment; they are a gap until it is taken.
    fn open_chunks(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let chunk_bytes = round_up(bytes, CHUNK_BYTES);
        self.floor = self.floor.checked_sub(chunk_bytes).filter(|&floor| floor >= self.start)?;
        Some((self.floor, chunk_bytes))
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
