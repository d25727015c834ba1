//! Giving memory back to the driver.

use oomph_trace::PoolId;

use super::arena::{NONE, Slot};
use super::{Allocator, Search, SegmentAction, Sync};
use crate::config::round_up;
use crate::source::Source;

impl Allocator {
    /// Gives back all that is cached (`torch.cuda.empty_cache()`).
    pub fn empty_cache(&mut self, source: &mut dyn Source) {
        self.release_cached(source);
    }

    /// Gives back what one pool caches, if nobody routes requests to it any more.
    pub fn empty_pool(&mut self, pool: PoolId, source: &mut dyn Source) {
        let pool = self.pool_index(pool) as usize;
        if self.freeable.contains(&pool) {
            self.release_half(pool, true, source);
            self.release_half(pool, false, source);
        }
    }

    pub(super) fn release_cached(&mut self, source: &mut dyn Source) {
        self.wait_for_streams();
        self.release_half(0, false, source);
        self.release_half(0, true, source);
        // PyTorch walks these pools in the order of a hash table; the order in which they were released stands in.
        for pool in self.freeable.clone() {
            self.release_half(pool, true, source);
            self.release_half(pool, false, source);
        }
    }

    fn wait_for_streams(&mut self) {
        self.stats.num_sync_all_streams += 1;
        self.syncs.push(Sync { op: self.op, after_events: self.events.len() as u32 });
        for block in std::mem::take(&mut self.waiting) {
            self.make_free(block);
        }
    }

    /// Gives back every whole segment that is free, then every whole unit that is free in expandable segments.
    fn release_half(&mut self, pool: usize, small: bool, source: &mut dyn Source) {
        let free: Vec<Slot> = self.pools[pool].half(small).all_free().collect();
        let (expandable, ordinary): (Vec<Slot>, Vec<Slot>) =
            free.into_iter().partition(|&slot| self.is_expandable(slot));
        for slot in ordinary {
            if !self.blocks.is_split(slot) {
                self.release_segment(slot, source);
            }
        }
        for slot in expandable {
            self.unmap(slot, source);
        }
    }

    /// Gives a free block that is a whole segment back to the driver.
    fn release_segment(&mut self, slot: Slot, source: &mut dyn Source) {
        let block = *self.blocks.get(slot);
        let segment = *self.segment_of(slot);
        self.stats.num_device_free += 1;
        self.log(SegmentAction::Free, block.address, block.bytes, &segment);
        source.release(block.address, block.bytes);
        self.reserved_bytes -= block.bytes;
        self.stats.segment.decrease(segment.small, 1);
        self.stats.reserved_bytes.decrease(segment.small, block.bytes);
        if block.bytes >= self.config.max_split_bytes {
            self.stats.oversize_segment(false);
        }
        self.take_from_free(slot);
        self.blocks.remove(slot);
        self.drop_segment(block.segment);
    }

    /// Unmaps the whole units inside a free block; what sticks out at either end stays a free block.
    fn unmap(&mut self, slot: Slot, source: &mut dyn Source) {
        let segment = *self.segment_of(slot);
        let block = *self.blocks.get(slot);
        let unit_bytes = self.config.unit_bytes(segment.small);
        let offset = block.address - segment.address;
        let start = segment.address + round_up(offset, unit_bytes);
        let end = segment.address + (offset + block.bytes) / unit_bytes * unit_bytes;
        if start >= end {
            return;
        }
        self.take_from_free(slot);
        if start > block.address {
            let before = self.blocks.cut_front(slot, start - block.address);
            self.put_among_free(before);
        }
        if block.address + block.bytes > end {
            let after = self.blocks.cut_back(slot, end - start);
            self.put_among_free(after);
        }
        self.blocks.get_mut(slot).mapped = false;
        let (prev, next) = (self.blocks.get(slot).prev, self.blocks.get(slot).next);
        self.try_absorb(slot, prev);
        self.try_absorb(slot, next);
        self.put_among_free(slot);
        let bytes = end - start;
        source.unmap(start, bytes);
        self.reserved_bytes -= bytes;
        self.stats.reserved_bytes.decrease(segment.small, bytes);
        self.stats.num_device_free += 1;
        self.log(SegmentAction::Unmap, start, bytes, &segment);
        self.drop_if_all_unmapped(slot, source);
    }

    /// An expandable segment of which nothing is mapped any more gives its addresses back.
    fn drop_if_all_unmapped(&mut self, slot: Slot, source: &mut dyn Source) {
        let block = *self.blocks.get(slot);
        if block.prev == NONE && block.next == NONE {
            self.take_from_free(slot);
            self.blocks.remove(slot);
            source.release_addresses(block.address, block.bytes);
            self.drop_segment(block.segment);
        }
    }

    /// Frees whole large segments of the default pool that were not used for long, until the allocator is under its
    /// threshold. No stream is waited for.
    pub(super) fn collect_garbage(&mut self, source: &mut dyn Source) {
        let limit = self.limits.limit_bytes.unwrap_or(u64::MAX);
        let threshold_bytes = scaled(limit, self.config.garbage_collection_threshold);
        let Some(target_bytes) = self.reserved_bytes.checked_sub(threshold_bytes).filter(|&bytes| bytes > 0) else {
            return;
        };
        let mut candidates: Vec<(Slot, u64)> = Vec::new();
        for slot in self.pools[0].large.all_free() {
            if !self.blocks.is_split(slot) {
                candidates.push((slot, self.pools[0].large.searches - self.blocks.get(slot).searches_before));
            }
        }
        let mut reclaimed_bytes = 0;
        while reclaimed_bytes < target_bytes && !candidates.is_empty() {
            let total_age: u64 = candidates.iter().map(|candidate| candidate.1).sum();
            let mean_age = total_age as f64 / candidates.len() as f64;
            let before = candidates.len();
            let mut kept = Vec::new();
            for (slot, age) in candidates {
                if age as f64 >= mean_age && !self.is_expandable(slot) {
                    reclaimed_bytes += self.blocks.get(slot).bytes;
                    self.release_segment(slot, source);
                } else {
                    kept.push((slot, age));
                }
            }
            candidates = kept;
            if candidates.len() == before {
                return;
            }
        }
    }

    /// With a split limit set, frees oversize blocks of the stream, but only as many as the request needs.
    pub(super) fn release_oversize(&mut self, search: &Search, source: &mut dyn Source) -> bool {
        if self.config.max_split_bytes == u64::MAX {
            return false;
        }
        let key_bytes = search.rounded_bytes.max(self.config.max_split_bytes);
        let half = self.pools[search.pool as usize].half(search.small);
        let Some(free) = half.free_of(search.stream) else { return false };
        let enough = free.range((key_bytes, 0, 0)..).next().map(|entry| entry.2);
        if let Some(slot) = enough
            && self.is_whole_segment(slot)
        {
            self.release_segment(slot, source);
            return true;
        }
        let smaller = free.range(..(key_bytes, 0, 0)).rev();
        let oversize: Vec<(u64, Slot)> = smaller
            .take_while(|entry| entry.0 >= self.config.max_split_bytes)
            .map(|&(bytes, _, slot)| (bytes, slot))
            .filter(|&(_, slot)| self.is_whole_segment(slot))
            .collect();
        let mut released_bytes = 0;
        for (bytes, slot) in oversize {
            if released_bytes >= key_bytes {
                break;
            }
            released_bytes += bytes;
            self.release_segment(slot, source);
        }
        released_bytes >= key_bytes
    }

    /// PyTorch takes every oversize block of an ordinary segment for a whole segment. One that was split while
    /// expandable segments were on is not, and giving it back would free memory in use: it is passed over here.
    fn is_whole_segment(&self, slot: Slot) -> bool {
        !self.is_expandable(slot) && !self.blocks.is_split(slot)
    }
}

/// `fraction` of `bytes`, cut off as PyTorch cuts it off.
#[expect(clippy::cast_sign_loss, reason = "fractions are not negative")]
fn scaled(bytes: u64, fraction: f64) -> u64 {
    (fraction * bytes as f64) as u64
}
