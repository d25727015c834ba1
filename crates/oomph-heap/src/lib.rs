//! Places blocks: policies, replay, timeline, validator. Pure: no unsafe, no clock, no randomness, no I/O.
//!
//! - [`Timeline`] turns a device's recorded history into lives of blocks, curves and segment maps.
//! - [`Requests`] is what the program asked for, freed from where the allocator put it.
//! - [`replay()`] runs requests through a [`Policy`], with memory from a [`Source`].
//! - [`validate()`] judges a replay, sharing no code with what made it.

mod caching;
mod config;
mod error;
mod policies;
mod record;
mod replay;
mod requests;
mod source;
mod timeline;
mod validate;

pub use caching::{
    AllocRequest, Allocator, BEFORE_OPS, Limits, OutOfMemory, Placement, SegmentAction, SegmentEvent, Stat, StatByHalf,
    Stats, Sync,
};
pub use policies::{ExpandableSegments, Ideal, Native, POLICIES, Policy, PolicyPage, policy};
pub use record::record;
pub use replay::{Options, Outcome, Replay, ReplayOom, replay};
pub use requests::{Ghost, Limit, LimitKind, Op, PoolFacts, Requests};
pub use source::{BumpSource, Order, SegmentRequest, Source, TraceSource};

pub use config::{
    Backend, Config, MIB, MIN_BLOCK_BYTES, OWN_SEGMENT_BYTES, PinnedConfig, ROUNDUP_SLOTS, SEGMENT_QUANTUM_BYTES,
    SMALL_LIMIT_BYTES, SMALL_SEGMENT_BYTES, UNSPLIT_TAIL_BYTES, round_up,
};
pub use error::HeapError;
pub use timeline::{BlockAt, BlockId, Books, LiveSpan, OomEvent, Peak, SegmentAt, SegmentSpan, Timeline};
pub use validate::{Violation, validate};
