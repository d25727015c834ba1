//! The live segments, in no order: there are few, and they change seldom.
//!
//! Parts of expandable segments are mapped and unmapped in ranges that need not match, so what is unmapped is cut out of
//! whatever it overlaps.

use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{MAX_SEGMENTS, RECORD_WORDS, Region, word};
use crate::memory::Memory;
use crate::model::MemoryEvent;
use crate::slot::{self, Content, Slot};

/// The segments of a box.
#[derive(Clone, Copy)]
pub(crate) struct Segments<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) region: Region,
}

impl<'a> Segments<'a> {
    /// Every slot that was ever used.
    pub(crate) fn slots(self) -> impl Iterator<Item = &'a Slot> {
        let used = (self.memory.load(word::SEGMENTS_USED) as usize).min(MAX_SEGMENTS);
        let (slots, _) = self.memory.slice(self.region.start, used * RECORD_WORDS).as_chunks::<RECORD_WORDS>();
        slots.iter()
    }

    /// Adds a segment, or a part of an expandable one.
    pub(crate) fn insert(self, event: &MemoryEvent, birth: u64, expandable: bool) {
        let content = Content { event, birth, flag: expandable };
        if let Some(slot) = self.slots().find(|slot| slot[0].load(Relaxed) == slot::EMPTY && slot::claim(slot)) {
            slot::fill(slot, content);
            return;
        }
        let Some(used) = self.memory.words().get(word::SEGMENTS_USED) else { return };
        let index = used.fetch_add(1, Relaxed) as usize;
        if let Some(slot) = self.memory.record::<RECORD_WORDS>(self.region.start + index * RECORD_WORDS)
            && index < MAX_SEGMENTS
            && slot::claim(slot)
        {
            slot::fill(slot, content);
            return;
        }
        used.fetch_min(MAX_SEGMENTS as u64, Relaxed);
        if let Some(lost) = self.memory.words().get(word::LOST_SEGMENTS) {
            lost.fetch_add(1, Relaxed);
        }
    }

    /// Takes the range of an event out.
    pub(crate) fn remove(self, event: &MemoryEvent, birth: u64) {
        let (from, to) = (event.address, event.address.saturating_add(event.bytes));
        for slot in self.slots() {
            let Some(segment) = slot::segment(slot).filter(|segment| segment.device == event.device) else { continue };
            let end = segment.address.saturating_add(segment.bytes);
            if end <= from || to <= segment.address {
                continue;
            }
            slot::clear(slot);
            for (start, end) in [(segment.address, from.min(end)), (to.max(segment.address), end)] {
                if start < end {
                    let rest = MemoryEvent {
                        address: start,
                        bytes: end - start,
                        stack: segment.stack,
                        lane: segment.lane,
                        ..*event
                    };
                    self.insert(&rest, birth, segment.expandable);
                }
            }
        }
    }
}
