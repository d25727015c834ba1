//! Places blocks: policies, replay, timeline, validator. Pure: no unsafe, no clock, no randomness, no I/O.
//!
//! - [`Timeline`] turns a device's recorded history into lives of blocks, curves and segment maps.

mod config;
mod error;
mod timeline;

pub use config::{
    Backend, Config, MIB, MIN_BLOCK_BYTES, OWN_SEGMENT_BYTES, PinnedConfig, ROUNDUP_SLOTS, SEGMENT_QUANTUM_BYTES,
    SMALL_LIMIT_BYTES, SMALL_SEGMENT_BYTES, UNSPLIT_TAIL_BYTES, round_up,
};
pub use error::HeapError;
pub use timeline::{BlockAt, BlockId, Books, LiveSpan, OomEvent, Peak, SegmentAt, SegmentSpan, Timeline};
