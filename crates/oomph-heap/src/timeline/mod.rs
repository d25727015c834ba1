//! A device's recorded history made usable: who lived when, and what the books said at every event.
//!
//! The final segments are the one thing a snapshot knows for certain, so the history is walked backwards from them:
//! the result is right even if the recorder was started late or dropped its oldest entries. Blocks that existed
//! before the first event ("ghosts") come out of that walk by themselves.

mod curves;
mod facts;
mod pools;
mod rewind;
mod sane;
mod segments;
#[cfg(test)]
mod tests;

use oomph_trace::{BlockState, Category, DeviceTrace, EventIndex, ForwardId, PoolId, SegmentKind, StackId, StringId};

use crate::config::Config;
pub(crate) use facts::unsplit_pools;
pub(crate) use sane::sane;

/// Handle of a [`LiveSpan`]: its place in [`Timeline::blocks`].
pub type BlockId = u32;

/// One life of one block. Addresses are used again and again; lives are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSpan {
    /// Its place in [`Timeline::blocks`].
    pub id: BlockId,
    /// First byte.
    pub address: u64,
    /// Bytes the client asked for.
    pub requested_bytes: u64,
    /// Bytes the block took: the request rounded, plus the tail where the allocator did not split it off.
    pub bytes: u64,
    /// The stream it was allocated on.
    pub stream: u64,
    /// The pool it lay in.
    pub pool: PoolId,
    /// The event that allocated it; `None` for a ghost, which existed before the history begins.
    pub alloc: Option<EventIndex>,
    /// The event by which the client gave it back; `None` if it never did.
    pub free_requested: Option<EventIndex>,
    /// The event after which it could be used again; later than `free_requested` if another stream used it.
    pub free_completed: Option<EventIndex>,
    /// Where it was allocated; for a ghost alive at the end, what the final segments say.
    pub stack: StackId,
    /// What it was for, where known.
    pub category: Category,
    /// torch.compile's context, or [`StringId::MISSING`].
    pub compile_context: StringId,
    /// The forward stack of the autograd node that made it, or [`ForwardId::NONE`].
    pub forward: ForwardId,
}

impl LiveSpan {
    /// Whether it existed before the history begins.
    #[must_use]
    pub fn is_ghost(&self) -> bool {
        self.alloc.is_none()
    }

    /// The state before the first event, or `None` if the block did not exist then.
    #[must_use]
    pub fn initial_state(&self) -> Option<BlockState> {
        if !self.is_ghost() {
            return None;
        }
        // Its completion is recorded but not its return: it had been given back before.
        let pending = self.free_requested.is_none() && self.free_completed.is_some();
        Some(if pending { BlockState::PendingFree } else { BlockState::Allocated })
    }

    /// The state after the event `at`, or `None` if the block did not exist then.
    #[must_use]
    pub fn state_at(&self, at: EventIndex) -> Option<BlockState> {
        let born = self.alloc.is_none_or(|alloc| alloc <= at);
        let gone = |end: Option<EventIndex>| end.is_some_and(|end| end <= at);
        if !born || gone(self.free_completed) {
            None
        } else if gone(self.free_requested) || self.initial_state() == Some(BlockState::PendingFree) {
            Some(BlockState::PendingFree)
        } else {
            Some(BlockState::Allocated)
        }
    }
}

/// A stretch of memory the allocator owned for a while: a segment, or a piece mapped into an expandable one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentSpan {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// The stream it belongs to.
    pub stream: u64,
    /// The pool it belongs to.
    pub pool: PoolId,
    /// Small or large half of that pool.
    pub kind: SegmentKind,
    /// Whether it is a piece of an expandable segment.
    pub expandable: bool,
    /// The event that obtained it; `None` if that was before the history begins.
    pub obtained: Option<EventIndex>,
    /// The event that gave it back; `None` if it was kept to the end.
    pub released: Option<EventIndex>,
    /// Where it was obtained.
    pub stack: StackId,
}

/// The four totals PyTorch keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Bytes clients asked for, of all blocks not yet reusable.
    pub requested_bytes: u64,
    /// Bytes of blocks clients hold: what `torch.cuda.memory_allocated()` returns.
    pub allocated_bytes: u64,
    /// Bytes of blocks held, or given back but still used by a stream.
    pub active_bytes: u64,
    /// Bytes taken from the driver: what `torch.cuda.memory_reserved()` returns.
    pub reserved_bytes: u64,
}

/// The highest value of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The value.
    pub bytes: u64,
    /// The first event after which the curve stood there; 0 if there are no events.
    pub event: EventIndex,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OomEvent {
    /// The event.
    pub event: EventIndex,
    /// The request, rounded as the allocator rounds.
    pub bytes: u64,
    /// What the driver had free.
    pub device_free_bytes: u64,
    /// The stream it was for.
    pub stream: u64,
    /// Where in the program.
    pub stack: StackId,
    /// The books at that moment.
    pub books: Books,
}

/// A block in the map of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAt {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Held, waiting or free.
    pub state: BlockState,
    /// Whose life it is; `None` when free.
    pub block: Option<BlockId>,
}

/// A segment in the map of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentAt {
    /// First byte.
    pub address: u64,
    /// Bytes obtained.
    pub bytes: u64,
    /// The stream it belongs to.
    pub stream: u64,
    /// The pool it belongs to.
    pub pool: PoolId,
    /// Small or large half of that pool.
    pub kind: SegmentKind,
    /// Whether it is a mapped range of an expandable segment.
    pub expandable: bool,
    /// Where it was obtained.
    pub stack: StackId,
    /// Its blocks in address order, without gaps; neighbouring free blocks are one.
    pub blocks: Vec<BlockAt>,
}

/// The history of one device.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Every life of every block: ghosts by address, then the others in the order they were allocated.
    pub blocks: Vec<LiveSpan>,
    /// Every stretch of owned memory, in the order it was obtained; those that were there before come first.
    pub segments: Vec<SegmentSpan>,
    /// The books before the first event.
    pub initial: Books,
    /// After each event: bytes clients asked for.
    pub requested_bytes: Vec<u64>,
    /// After each event: bytes of blocks clients hold.
    pub allocated_bytes: Vec<u64>,
    /// After each event: bytes of blocks held or still used by a stream.
    pub active_bytes: Vec<u64>,
    /// After each event: bytes taken from the driver.
    pub reserved_bytes: Vec<u64>,
    /// The peak of `allocated_bytes`.
    pub peak_allocated: Peak,
    /// The peak of `reserved_bytes`.
    pub peak_reserved: Peak,
    /// Every request that failed.
    pub ooms: Vec<OomEvent>,
    config: Config,
    lost_segments: bool,
}

impl Timeline {
    /// The history of a device whose allocator ran with PyTorch's default configuration.
    #[must_use]
    pub fn of(device: &DeviceTrace) -> Self {
        Self::with_config(device, &Config::default())
    }

    /// The history of a device whose allocator ran with this configuration, which decides how bytes are rounded.
    #[must_use]
    pub fn with_config(device: &DeviceTrace, config: &Config) -> Self {
        rewind::rewind(&sane(device), config)
    }

    /// The configuration this was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The books after an event; past the end, the last ones.
    #[must_use]
    pub fn books_at(&self, at: EventIndex) -> Books {
        let Some(last) = self.allocated_bytes.len().checked_sub(1) else { return self.initial };
        let at = (at as usize).min(last);
        Books {
            requested_bytes: self.requested_bytes[at],
            allocated_bytes: self.allocated_bytes[at],
            active_bytes: self.active_bytes[at],
            reserved_bytes: self.reserved_bytes[at],
        }
    }

    /// Whether some block lay in memory of which the trace does not tell.
    pub(crate) fn lost_segments(&self) -> bool {
        self.lost_segments
    }

    /// Bytes taken from the driver right before the event at `at`.
    pub(crate) fn reserved_before(&self, at: usize) -> u64 {
        at.checked_sub(1).map_or(self.initial.reserved_bytes, |last| self.reserved_bytes[last])
    }

    /// The blocks clients hold after an event; their bytes sum to `allocated_bytes` there.
    pub fn live_at(&self, at: EventIndex) -> impl Iterator<Item = &LiveSpan> {
        self.active_at(at).filter(move |block| block.state_at(at) == Some(BlockState::Allocated))
    }

    /// The blocks held or still used by a stream after an event; their bytes sum to `active_bytes` there.
    pub fn active_at(&self, at: EventIndex) -> impl Iterator<Item = &LiveSpan> {
        // Blocks stand in the order they were allocated, so later ones need not be looked at.
        let born = self.blocks.partition_point(|block| block.alloc.is_none_or(|alloc| alloc <= at));
        self.blocks[..born].iter().filter(move |block| block.state_at(at).is_some())
    }

    /// The segment map after an event, in address order.
    #[must_use]
    pub fn segments_at(&self, at: EventIndex) -> Vec<SegmentAt> {
        segments::map_at(self, at)
    }

    /// The segment map before the first event, in address order.
    #[must_use]
    pub fn initial_segments(&self) -> Vec<SegmentAt> {
        segments::map_before(self)
    }
}
