//! New memory: ordinary segments, and mappings into expandable ones.

use super::arena::{NONE, Slot, State};
use super::{Allocator, Search, Segment, SegmentAction, whole_block};
use crate::config::round_up;
use crate::source::{SegmentRequest, Source};

/// The card assumed where nobody knows: larger than any there is.
const UNKNOWN_CARD_BYTES: u64 = 1 << 38;

impl Allocator {
    /// New memory for a request: a block out of the free set, or `None` if the limit or the card forbids it.
    pub(super) fn grow(&mut self, search: &Search, source: &mut dyn Source) -> Option<Slot> {
        // The check looks at the size of an ordinary segment even where only part of that would be mapped.
        let wanted = self.reserved_bytes.saturating_add(search.segment_bytes);
        if self.limits.limit_bytes.is_some_and(|limit| wanted > limit) {
            return None;
        }
        if search.expandable { self.grow_expandable(search, source) } else { self.grow_ordinary(search, source) }
    }

    fn grow_ordinary(&mut self, search: &Search, source: &mut dyn Source) -> Option<Slot> {
        let bytes = search.segment_bytes;
        let address = source.obtain(SegmentRequest { bytes, stream: search.stream, small: search.small })?;
        let segment = segment_for(search, address, false);
        let index = self.new_segment(segment);
        self.reserved_bytes += bytes;
        self.stats.segment.increase(search.small, 1);
        self.stats.reserved_bytes.increase(search.small, bytes);
        if bytes >= self.config.max_split_bytes {
            self.stats.oversize_segment(true);
        }
        self.stats.num_device_alloc += 1;
        self.log(SegmentAction::Alloc, address, bytes, &segment);
        Some(self.blocks.insert(whole_block(address, bytes, index, true)))
    }

    fn grow_expandable(&mut self, search: &Search, source: &mut dyn Source) -> Option<Slot> {
        let mut slot = self.find_room(search, source);
        if !self.blocks.get(slot).mapped {
            let bytes = self.blocks.get(slot).bytes.min(search.rounded_bytes);
            self.map(slot, bytes, source)?;
        }
        while self.blocks.get(slot).bytes < search.rounded_bytes {
            // The room begins with a free block and goes on with unmapped addresses.
            let missing_bytes = search.rounded_bytes - self.blocks.get(slot).bytes;
            let next = self.blocks.get(slot).next;
            let bytes = missing_bytes.min(self.blocks.get(next).bytes);
            self.map(next, bytes, source)?;
            slot = next;
        }
        self.take_from_free(slot);
        Some(slot)
    }

    /// Addresses an expandable segment reserves: an eighth more than the card has memory.
    pub(super) fn reservation_bytes(&self, small: bool) -> u64 {
        let card_bytes = self.limits.total_bytes.unwrap_or(UNKNOWN_CARD_BYTES);
        round_up(card_bytes + card_bytes / 8, self.config.unit_bytes(small))
    }

    /// The lowest place in the stream's expandable segments where free and unmapped blocks make enough room; a new
    /// segment if there is none.
    fn find_room(&mut self, search: &Search, source: &mut dyn Source) -> Slot {
        let half = self.pools[search.pool as usize].half(search.small);
        if let Some(unmapped) = half.unmapped_of(search.stream) {
            for &(_, slot) in unmapped {
                let before = self.blocks.get(slot).prev;
                let start = if self.is_free(before) { before } else { slot };
                if self.has_room(start, search.rounded_bytes) {
                    return start;
                }
            }
        }
        // A request larger than the card gets the addresses all the same: mapping it will fail.
        let wanted_bytes = round_up(search.rounded_bytes, self.config.unit_bytes(search.small));
        let bytes = self.reservation_bytes(search.small).max(wanted_bytes);
        let request = SegmentRequest { bytes, stream: search.stream, small: search.small };
        let address = source.reserve_addresses(request);
        let segment = self.new_segment(segment_for(search, address, true));
        let slot = self.blocks.insert(whole_block(address, bytes, segment, false));
        self.put_among_free(slot);
        slot
    }

    fn is_free(&self, slot: Slot) -> bool {
        self.blocks.find(slot).is_some_and(|block| block.state == State::Free)
    }

    fn has_room(&self, mut slot: Slot, bytes: u64) -> bool {
        let mut room_bytes = 0;
        while room_bytes < bytes && slot != NONE && self.is_free(slot) {
            room_bytes += self.blocks.get(slot).bytes;
            slot = self.blocks.get(slot).next;
        }
        room_bytes >= bytes
    }

    /// Maps at least the first `bytes` of an unmapped block, in whole units, and joins it with free neighbours.
    fn map(&mut self, slot: Slot, bytes: u64, source: &mut dyn Source) -> Option<()> {
        let segment = *self.segment_of(slot);
        let block = *self.blocks.get(slot);
        let bytes = round_up(bytes, self.config.unit_bytes(segment.small)).min(block.bytes);
        if !source.map(block.address, bytes) {
            return None;
        }
        self.take_from_free(slot);
        if bytes < block.bytes {
            let rest = self.blocks.cut_back(slot, bytes);
            self.put_among_free(rest);
        }
        self.blocks.get_mut(slot).mapped = true;
        let (prev, next) = (self.blocks.get(slot).prev, self.blocks.get(slot).next);
        self.try_absorb(slot, prev);
        self.try_absorb(slot, next);
        self.put_among_free(slot);
        self.reserved_bytes += bytes;
        self.stats.reserved_bytes.increase(segment.small, bytes);
        self.stats.num_device_alloc += 1;
        self.log(SegmentAction::Map, block.address, bytes, &segment);
        Some(())
    }
}

fn segment_for(search: &Search, address: u64, expandable: bool) -> Segment {
    Segment { address, stream: search.stream, pool: search.pool, small: search.small, expandable }
}
