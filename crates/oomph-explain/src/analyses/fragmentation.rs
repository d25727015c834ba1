//! Room the allocator holds but cannot hand out, as a number and as a map.

use oomph_heap::{SegmentAt, Timeline};
use oomph_trace::{BlockState, EventIndex};

/// How the allocator's segments were filled after one event.
#[derive(Clone, Debug)]
pub struct Fragmentation {
    /// The event.
    pub at: EventIndex,
    /// Bytes taken from the driver.
    pub reserved_bytes: u64,
    /// Bytes in blocks clients hold.
    pub allocated_bytes: u64,
    /// Bytes given back but still used by a stream.
    pub waiting_bytes: u64,
    /// Free bytes inside segments.
    pub free_bytes: u64,
    /// The largest request of any stream that a free block could still serve.
    pub largest_free_bytes: u64,
    /// Of the bytes in held blocks, those beyond what was asked for.
    pub rounding_bytes: u64,
    /// Free bytes in segments that also hold something, which therefore cannot go back to the driver.
    pub pinned_bytes: u64,
    /// The segments in address order.
    pub segments: Vec<SegmentAt>,
}

impl Fragmentation {
    /// The part of the reserved memory that is free inside segments, from 0 to 1.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.reserved_bytes == 0 { 0.0 } else { self.free_bytes as f64 / self.reserved_bytes as f64 }
    }
}

/// Measures fragmentation after an event.
#[must_use]
pub fn measure(timeline: &Timeline, at: EventIndex) -> Fragmentation {
    let segments = timeline.segments_at(at);
    let books = timeline.books_at(at);
    let free = |segment: &SegmentAt| -> u64 {
        segment.blocks.iter().filter(|block| block.state == BlockState::Inactive).map(|block| block.bytes).sum()
    };
    let blocks = || segments.iter().flat_map(|segment| &segment.blocks);
    let free_blocks = || blocks().filter(|block| block.state == BlockState::Inactive);
    Fragmentation {
        at,
        reserved_bytes: books.reserved_bytes,
        allocated_bytes: books.allocated_bytes,
        waiting_bytes: books.active_bytes.saturating_sub(books.allocated_bytes),
        free_bytes: segments.iter().map(free).sum(),
        largest_free_bytes: free_blocks().map(|block| block.bytes).max().unwrap_or(0),
        rounding_bytes: books.active_bytes.saturating_sub(books.requested_bytes),
        pinned_bytes: segments.iter().filter(|segment| segment.blocks.len() > 1).map(free).sum(),
        segments,
    }
}
