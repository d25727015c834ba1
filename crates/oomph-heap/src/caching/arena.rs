//! Blocks by index, chained to their neighbours in address order.

use crate::timeline::BlockId;

/// Place of a block in an [`Arena`].
pub(super) type Slot = u32;
/// No block.
pub(super) const NONE: Slot = Slot::MAX;

/// Segment of a block that is no more.
const GONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Cached, or not even mapped.
    Free,
    /// A client holds it.
    Held,
    /// Given back, but a stream may still use it.
    Waiting,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) requested_bytes: u64,
    /// The value of its pool's search counter when it was last put among the free blocks.
    pub(super) searches_before: u64,
    pub(super) prev: Slot,
    pub(super) next: Slot,
    /// Index of its segment.
    pub(super) segment: u32,
    pub(super) owner: BlockId,
    pub(super) state: State,
    pub(super) mapped: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    blocks: Vec<Block>,
    vacant: Vec<Slot>,
}

impl Arena {
    pub(super) fn insert(&mut self, block: Block) -> Slot {
        if let Some(slot) = self.vacant.pop() {
            self.blocks[slot as usize] = block;
            return slot;
        }
        self.blocks.push(block);
        (self.blocks.len() - 1) as Slot
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        self.blocks[slot as usize].segment = GONE;
        self.vacant.push(slot);
    }

    /// Every block there is, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.segment != GONE)
    }

    pub(super) fn get(&self, slot: Slot) -> &Block {
        &self.blocks[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Block {
        &mut self.blocks[slot as usize]
    }

    pub(super) fn find(&self, slot: Slot) -> Option<&Block> {
        if slot == NONE { None } else { Some(self.get(slot)) }
    }

    /// Whether the block shares its segment with another.
    pub(super) fn is_split(&self, slot: Slot) -> bool {
        let block = self.get(slot);
        block.prev != NONE || block.next != NONE
    }

    /// Cuts the first `bytes` off a block. The returned new block is the first part; `slot` keeps the rest.
    pub(super) fn cut_front(&mut self, slot: Slot, bytes: u64) -> Slot {
        let mut front = *self.get(slot);
        front.bytes = bytes;
        front.next = slot;
        let prev = front.prev;
        let front = self.insert(front);
        if prev != NONE {
            self.get_mut(prev).next = front;
        }
        let rest = self.get_mut(slot);
        rest.prev = front;
        rest.address += bytes;
        rest.bytes -= bytes;
        front
    }

    /// Cuts everything after the first `bytes` off a block. `slot` keeps the first part; the returned new block is
    /// the rest.
    pub(super) fn cut_back(&mut self, slot: Slot, bytes: u64) -> Slot {
        let mut rest = *self.get(slot);
        rest.address += bytes;
        rest.bytes -= bytes;
        rest.prev = slot;
        let next = rest.next;
        let rest = self.insert(rest);
        if next != NONE {
            self.get_mut(next).prev = rest;
        }
        let first = self.get_mut(slot);
        first.bytes = bytes;
        first.next = rest;
        rest
    }

    /// Joins `other`, a neighbour of `slot`, into `slot` and returns the bytes gained.
    pub(super) fn absorb(&mut self, slot: Slot, other: Slot) -> u64 {
        let gone = *self.get(other);
        if gone.next == slot {
            let block = self.get_mut(slot);
            block.address = gone.address;
            block.prev = gone.prev;
            if gone.prev != NONE {
                self.get_mut(gone.prev).next = slot;
            }
        } else {
            self.get_mut(slot).next = gone.next;
            if gone.next != NONE {
                self.get_mut(gone.next).prev = slot;
            }
        }
        self.get_mut(slot).bytes += gone.bytes;
        self.remove(other);
        gone.bytes
    }
}
