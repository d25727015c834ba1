//! Free blocks, by pool, half and stream.

use std::collections::BTreeSet;

use oomph_trace::PoolId;

use super::arena::{Block, Slot};

/// Free blocks of one stream, ordered by (bytes, address).
pub(super) type FreeSet = BTreeSet<(u64, u64, Slot)>;

/// One half (small or large) of a pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    /// Free blocks by stream, streams ascending: the order in which PyTorch walks them.
    free: Vec<(u64, FreeSet)>,
    /// Unmapped stretches of expandable segments by stream, ordered by address.
    unmapped: Vec<(u64, BTreeSet<(u64, Slot)>)>,
    /// How often a free block was looked for, while garbage collection is on.
    pub(super) searches: u64,
}

impl Half {
    pub(super) fn free_of(&self, stream: u64) -> Option<&FreeSet> {
        self.free.binary_search_by_key(&stream, |entry| entry.0).ok().map(|at| &self.free[at].1)
    }

    pub(super) fn unmapped_of(&self, stream: u64) -> Option<&BTreeSet<(u64, Slot)>> {
        self.unmapped.binary_search_by_key(&stream, |entry| entry.0).ok().map(|at| &self.unmapped[at].1)
    }

    pub(super) fn insert_free(&mut self, stream: u64, block: &Block, slot: Slot) {
        entry_of(&mut self.free, stream).insert((block.bytes, block.address, slot));
    }

    pub(super) fn remove_free(&mut self, stream: u64, block: &Block, slot: Slot) {
        entry_of(&mut self.free, stream).remove(&(block.bytes, block.address, slot));
    }

    pub(super) fn insert_unmapped(&mut self, stream: u64, block: &Block, slot: Slot) {
        entry_of(&mut self.unmapped, stream).insert((block.address, slot));
    }

    pub(super) fn remove_unmapped(&mut self, stream: u64, block: &Block, slot: Slot) {
        entry_of(&mut self.unmapped, stream).remove(&(block.address, slot));
    }

    /// Every free block in PyTorch's order: stream, bytes, address.
    pub(super) fn all_free(&self) -> impl Iterator<Item = Slot> {
        self.free.iter().flat_map(|(_, set)| set.iter().map(|&(_, _, slot)| slot))
    }
}

fn entry_of<T: Default>(entries: &mut Vec<(u64, T)>, stream: u64) -> &mut T {
    let at = match entries.binary_search_by_key(&stream, |entry| entry.0) {
        Ok(at) => at,
        Err(at) => {
            entries.insert(at, (stream, T::default()));
            at
        }
    };
    &mut entries[at].1
}

/// A pool: the default one, one of a CUDA graph, or a `MemPool`.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) id: PoolId,
    /// Its blocks are never split.
    pub(super) no_split: bool,
    /// It serves requests of the default pool before those fail.
    pub(super) use_on_oom: bool,
    pub(super) small: Half,
    pub(super) large: Half,
}

impl Pool {
    pub(super) fn new(id: PoolId) -> Self {
        let half = Half::default;
        Self { id, no_split: false, use_on_oom: false, small: half(), large: half() }
    }

    pub(super) fn half(&self, small: bool) -> &Half {
        if small { &self.small } else { &self.large }
    }

    pub(super) fn half_mut(&mut self, small: bool) -> &mut Half {
        if small { &mut self.small } else { &mut self.large }
    }
}
