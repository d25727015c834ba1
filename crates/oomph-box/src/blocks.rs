//! The table of live blocks, by address.
//!
//! A block lies in one of the few slots from the one its address is hashed to. Nothing is ever moved, so threads need no
//! lock. The table has three parts, and a block goes to the first that has room: a job has hundreds of blocks, and spread
//! over the whole table each would lie on a page of its own, which costs a processor that has long forgotten where that
//! page is more than all the rest of the work. Where all slots are taken, the block is counted as lost.

use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{RECORD_WORDS, Region, word};
use crate::memory::Memory;
use crate::model::MemoryEvent;
use crate::slot::{self, Content, Slot};

/// Where the first and the second part end.
const ENDS: [usize; 2] = [1 << 10, 1 << 13];
/// Slots that are looked at in each part.
const WINDOWS: [usize; 3] = [8, 8, 64];

/// The blocks of a box.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) region: Region,
}

impl<'a> Blocks<'a> {
    /// Looks at the slots that a block with this address may lie in, until `look` finds what it wants.
    #[inline]
    fn search(self, address: u64, mut look: impl FnMut(&'a Slot) -> bool) -> Option<&'a Slot> {
        let mixed = (address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let slots = self.region.records(RECORD_WORDS);
        let [first, second] = ENDS.map(|end| end.min(slots));
        for ((start, end), window) in [(0, first), (first, second), (second, slots)].into_iter().zip(WINDOWS) {
            let length = end - start;
            // As much of the length as the hash is of all hashes.
            let home = ((mixed * length as u64) >> 32) as usize;
            for at in home..home + window.min(length) {
                let at = start + if at < length { at } else { at - length };
                let slot = self.memory.record::<RECORD_WORDS>(self.region.start + at * RECORD_WORDS)?;
                if look(slot) {
                    return Some(slot);
                }
            }
        }
        None
    }

    /// Adds a block. One that is there with the same address was given back unseen: it is replaced.
    #[inline]
    pub(crate) fn insert(self, event: &MemoryEvent, birth: u64) {
        let is_for_it = |slot: &Slot| match slot[0].load(Relaxed) {
            slot::EMPTY => slot::claim(slot),
            held => held == event.address,
        };
        if let Some(slot) = self.search(event.address, is_for_it) {
            slot::fill(slot, Content { event, birth, flag: false });
        } else if let Some(lost) = self.memory.words().get(word::LOST_BLOCKS) {
            lost.fetch_add(1, Relaxed);
        }
    }

    /// The slot of a block.
    #[inline]
    pub(crate) fn find(self, address: u64) -> Option<&'a Slot> {
        if address <= 1 {
            return None;
        }
        self.search(address, |slot| slot[0].load(Relaxed) == address)
    }

    /// Every slot.
    pub(crate) fn slots(self) -> impl Iterator<Item = &'a Slot> {
        let (slots, _) = self.memory.slice(self.region.start, self.region.words).as_chunks::<RECORD_WORDS>();
        slots.iter()
    }
}
