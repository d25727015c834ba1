//! The allocator's books at the moment a trace ends.

use serde::{Deserialize, Serialize};

use super::extra::Extra;
use super::stack::StackId;

/// Which memory pool: `(0, 0)` is the default pool; a first number is given by graph capture, a second by `MemPool`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PoolId(pub u64, pub u64);

impl PoolId {
    /// The pool every ordinary tensor lives in.
    pub const DEFAULT: Self = Self(0, 0);
}

/// Which half of a pool a segment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SegmentKind {
    /// Requests of up to 1 MiB.
    Small,
    /// Requests above 1 MiB.
    Large,
}

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BlockState {
    /// A client holds it.
    Allocated,
    /// The client gave it back but a stream may still use it.
    PendingFree,
    /// Free, cached by the allocator.
    Inactive,
}

/// A stretch of a [`Segment`]; blocks lie in address order without gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// First byte.
    pub address: u64,
    /// Bytes, rounded as the allocator rounds.
    pub bytes: u64,
    /// Bytes the client asked for; meaningless when inactive.
    pub requested_bytes: u64,
    /// Held, waiting or free.
    pub state: BlockState,
    /// Where it was allocated.
    pub stack: StackId,
    /// Keys oomph does not know.
    pub extra: Extra,
}

/// Memory obtained from the driver in one piece (or, if expandable, one contiguous mapped range).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// First byte.
    pub address: u64,
    /// Bytes obtained.
    pub bytes: u64,
    /// Bytes in blocks a client holds.
    pub allocated_bytes: u64,
    /// Bytes held or waiting for a stream.
    pub active_bytes: u64,
    /// Bytes clients asked for, before rounding.
    pub requested_bytes: u64,
    /// The stream it belongs to.
    pub stream: u64,
    /// Small or large.
    pub kind: SegmentKind,
    /// The owning pool.
    pub pool: PoolId,
    /// Whether it is an expandable segment.
    pub expandable: bool,
    /// Where it was obtained.
    pub stack: StackId,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Keys oomph does not know.
    pub extra: Extra,
}
