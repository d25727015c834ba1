//! The table of live blocks, by address.
//!
//! A block lies in one of the [`WINDOW`] slots from the one its address is hashed to. Nothing is ever moved, so threads
//! need no lock; where all slots of the window are taken, the block is counted as lost.

use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{RECORD_WORDS, Region, word};
use crate::memory::Memory;
use crate::model::MemoryEvent;
use crate::slot::{self, Content, Slot};

const WINDOW: usize = 64;

/// The blocks of a box.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) region: Region,
}

impl<'a> Blocks<'a> {
    #[inline]
    fn window(self, address: u64) -> impl Iterator<Item = &'a Slot> {
        let slots = self.region.records(RECORD_WORDS);
        let mixed = (address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let home = (mixed >> 40) as usize;
        // The number of slots is a power of two.
        let mask = slots.wrapping_sub(1);
        (home..home + WINDOW)
            .filter_map(move |at| self.memory.record::<RECORD_WORDS>(self.region.start + (at & mask) * RECORD_WORDS))
    }

    /// Adds a block. One that is there with the same address was given back unseen: it is replaced.
    #[inline]
    pub(crate) fn insert(self, event: &MemoryEvent, birth: u64) {
        for slot in self.window(event.address) {
            let held = slot[0].load(Relaxed);
            if held == event.address || (held == slot::EMPTY && slot::claim(slot)) {
                slot::fill(slot, Content { event, birth, flag: false });
                return;
            }
        }
        if let Some(lost) = self.memory.words().get(word::LOST_BLOCKS) {
            lost.fetch_add(1, Relaxed);
        }
    }

    /// The slot of a block.
    #[inline]
    pub(crate) fn find(self, address: u64) -> Option<&'a Slot> {
        if address <= 1 {
            return None;
        }
        self.window(address).find(|slot| slot[0].load(Relaxed) == address)
    }

    /// Takes a block out and says how large it was.
    #[inline]
    pub(crate) fn remove(self, address: u64) -> Option<u64> {
        let slot = self.find(address)?;
        let bytes = slot::bytes(slot);
        slot::clear(slot);
        Some(bytes)
    }

    /// Every slot.
    pub(crate) fn slots(self) -> impl Iterator<Item = &'a Slot> {
        let (slots, _) = self.memory.slice(self.region.start, self.region.words).as_chunks::<RECORD_WORDS>();
        slots.iter()
    }
}
