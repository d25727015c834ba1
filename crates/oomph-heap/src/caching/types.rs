//! What goes into the allocator and what comes out of it.

use oomph_trace::PoolId;

use crate::timeline::BlockId;

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentAction {
    /// Taken from the driver in one piece.
    Alloc,
    /// Given back in one piece.
    Free,
    /// Mapped into an expandable segment.
    Map,
    /// Unmapped from an expandable segment.
    Unmap,
}

/// One exchange of memory with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEvent {
    /// The operation during which it happened.
    pub op: u32,
    /// What happened.
    pub action: SegmentAction,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// The stream concerned.
    pub stream: u64,
    /// The pool concerned.
    pub pool: PoolId,
}

/// A moment at which the allocator waited for all streams: every block given back can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// The operation during which it happened.
    pub op: u32,
    /// How many exchanges with the driver came before it.
    pub after_events: u32,
}

/// The operation of what happens before the first one.
pub const BEFORE_OPS: u32 = u32::MAX;

/// Where a block was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// First byte.
    pub address: u64,
    /// First byte of its segment; of an expandable segment, where its reserved addresses begin.
    pub segment_address: u64,
    /// Bytes the block took.
    pub bytes: u64,
    /// The pool its segment belongs to.
    pub pool: PoolId,
}

/// A request that could not be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The request, rounded.
    pub rounded_bytes: u64,
    /// What the allocator wanted from the driver; this is what PyTorch prints.
    pub segment_bytes: u64,
    /// Bytes clients held.
    pub allocated_bytes: u64,
    /// Bytes taken from the driver.
    pub reserved_bytes: u64,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocRequest {
    /// Name of the block; names are small numbers, each used once.
    pub block: BlockId,
    /// Bytes asked for.
    pub bytes: u64,
    /// The stream asked for.
    pub stream: u64,
    /// The pool requests are routed to.
    pub pool: PoolId,
}

/// How an [`Allocator`](crate::Allocator) is set up beyond its [`Config`](crate::Config).
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The most the allocator lets itself take (PyTorch's per-process fraction); `None` is no limit.
    pub limit_bytes: Option<u64>,
    /// Bytes of the card: they decide how many addresses an expandable segment reserves.
    pub total_bytes: Option<u64>,
}
