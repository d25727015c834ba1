//! State in and out: an allocator that owns memory already, and the segment map of one.

use oomph_trace::{BlockState, SegmentKind, StackId};

use super::arena::{Block, NONE, Slot, State};
use super::{Allocator, Segment, whole_block};
use crate::source::Source;
use crate::timeline::{BlockAt, BlockId, SegmentAt};

impl Allocator {
    /// Takes over segments that exist when a history begins, with the blocks in them. `requested_bytes` says what
    /// the client of a block asked for.
    pub fn seed(&mut self, map: &[SegmentAt], requested_bytes: impl Fn(BlockId) -> u64, source: &mut dyn Source) {
        let mut at = 0;
        while at < map.len() {
            let first = &map[at];
            // Ranges of one expandable segment stand next to each other in the map; the rest of its addresses is
            // not mapped.
            let mut ranges = 1;
            while first.expandable && map.get(at + ranges).is_some_and(|next| self.same_reservation(first, next)) {
                ranges += 1;
            }
            // Where the segment began is not always known, so its addresses may reach less far than those reserved.
            let beyond = map.get(at + ranges).map_or(u64::MAX, |next| next.address);
            self.seed_segment(&map[at..at + ranges], beyond - first.address, &requested_bytes, source);
            at += ranges;
        }
    }

    fn same_reservation(&self, first: &SegmentAt, next: &SegmentAt) -> bool {
        let reach = first.address.saturating_add(self.reservation_bytes(first.kind == SegmentKind::Small));
        next.expandable
            && (first.stream, first.pool, first.kind) == (next.stream, next.pool, next.kind)
            && next.address + next.bytes <= reach
    }

    fn seed_segment(
        &mut self,
        ranges: &[SegmentAt],
        room_bytes: u64,
        requested_bytes: &impl Fn(BlockId) -> u64,
        source: &mut dyn Source,
    ) {
        let first = &ranges[0];
        let small = first.kind == SegmentKind::Small;
        let seen_bytes = ranges.last().map_or(0, |last| last.address + last.bytes - first.address);
        let reserved_bytes = self.reservation_bytes(small).min(room_bytes).max(seen_bytes);
        let bytes = if first.expandable { reserved_bytes } else { first.bytes };
        let pool = self.pool_index(first.pool);
        let segment =
            Segment { address: first.address, stream: first.stream, pool, small, expandable: first.expandable };
        let index = self.new_segment(segment);
        source.adopt(first.address, bytes);
        let mut last = NONE;
        let mut reached = first.address;
        for range in ranges {
            if range.address > reached {
                last = self.append(last, whole_block(reached, range.address - reached, index, false));
            }
            for block in &range.blocks {
                last = self.append_seen(last, block, index, requested_bytes);
            }
            reached = range.address + range.bytes;
            self.reserved_bytes += range.bytes;
            self.stats.reserved_bytes.increase(small, range.bytes);
        }
        if reached < first.address + bytes {
            self.append(last, whole_block(reached, first.address + bytes - reached, index, false));
        }
        if !first.expandable {
            self.stats.segment.increase(small, 1);
            self.count_split_seeds(last, small);
        }
    }

    fn append_seen(
        &mut self,
        last: Slot,
        seen: &BlockAt,
        segment: u32,
        requested_bytes: &impl Fn(BlockId) -> u64,
    ) -> Slot {
        let mut block = whole_block(seen.address, seen.bytes, segment, true);
        let small = self.segments[segment as usize].small;
        if let Some(owner) = seen.block {
            block.owner = owner;
            block.requested_bytes = requested_bytes(owner);
            block.state = if seen.state == BlockState::PendingFree { State::Waiting } else { State::Held };
            self.stats.active.increase(small, 1);
            self.stats.active_bytes.increase(small, block.bytes);
            self.stats.requested_bytes.increase(small, block.requested_bytes);
            if block.state == State::Held {
                self.stats.allocation.increase(small, 1);
                self.stats.allocated_bytes.increase(small, block.bytes);
            } else {
                self.waiting.push(owner);
            }
        }
        let slot = self.append(last, block);
        if let Some(owner) = seen.block {
            self.name(owner, slot);
        }
        slot
    }

    fn append(&mut self, last: Slot, mut block: Block) -> Slot {
        block.prev = last;
        let free = block.state == State::Free;
        let slot = self.blocks.insert(block);
        if last != NONE {
            self.blocks.get_mut(last).next = slot;
        }
        if free {
            self.put_among_free(slot);
        }
        slot
    }

    fn count_split_seeds(&mut self, last: Slot, small: bool) {
        let mut slot = last;
        while slot != NONE {
            let block = *self.blocks.get(slot);
            if block.state == State::Free && self.blocks.is_split(slot) {
                self.stats.inactive_split.increase(small, 1);
                self.stats.inactive_split_bytes.increase(small, block.bytes);
            }
            slot = block.prev;
        }
    }

    /// The segment map as PyTorch's snapshot would show it: one segment for each contiguous mapped range.
    #[must_use]
    pub fn segment_map(&self) -> Vec<SegmentAt> {
        let mut blocks: Vec<&Block> = self.blocks.all().filter(|block| block.mapped).collect();
        blocks.sort_unstable_by_key(|block| block.address);
        let mut map: Vec<SegmentAt> = Vec::new();
        let mut last_segment = u32::MAX;
        for block in blocks {
            let continues = block.segment == last_segment
                && map.last().is_some_and(|segment| segment.address + segment.bytes == block.address);
            if !continues {
                map.push(self.empty_segment(block));
            }
            last_segment = block.segment;
            if let Some(segment) = map.last_mut() {
                segment.bytes += block.bytes;
                segment.blocks.push(seen_block(block));
            }
        }
        map
    }

    fn empty_segment(&self, block: &Block) -> SegmentAt {
        let segment = &self.segments[block.segment as usize];
        SegmentAt {
            address: block.address,
            bytes: 0,
            stream: segment.stream,
            pool: self.pools[segment.pool as usize].id,
            kind: if segment.small { SegmentKind::Small } else { SegmentKind::Large },
            expandable: segment.expandable,
            stack: StackId::MISSING,
            blocks: Vec::new(),
        }
    }
}

fn seen_block(block: &Block) -> BlockAt {
    let state = match block.state {
        State::Free => BlockState::Inactive,
        State::Held => BlockState::Allocated,
        State::Waiting => BlockState::PendingFree,
    };
    let owner = (block.state != State::Free).then_some(block.owner);
    BlockAt { address: block.address, bytes: block.bytes, state, block: owner }
}
