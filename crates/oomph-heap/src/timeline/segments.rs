//! The segment map of one moment.

use oomph_trace::{BlockState, EventIndex};

use super::{BlockAt, LiveSpan, SegmentAt, SegmentSpan, Timeline};

pub(super) fn map_at(timeline: &Timeline, at: EventIndex) -> Vec<SegmentAt> {
    let mut owned: Vec<&SegmentSpan> = timeline.segments.iter().filter(|segment| is_owned_at(segment, at)).collect();
    owned.sort_by_key(|segment| segment.address);
    let mut map: Vec<SegmentAt> = Vec::new();
    for segment in owned {
        match map.last_mut() {
            Some(last) if continues(last, segment) => last.bytes += segment.bytes,
            _ => map.push(empty(segment)),
        }
    }
    let mut blocks: Vec<&LiveSpan> = timeline.active_at(at).collect();
    blocks.sort_by_key(|block| block.address);
    let mut blocks = blocks.into_iter().peekable();
    for segment in &mut map {
        fill(segment, at, &mut blocks);
    }
    map
}

fn is_owned_at(segment: &SegmentSpan, at: EventIndex) -> bool {
    segment.obtained.is_none_or(|obtained| obtained <= at) && segment.released.is_none_or(|released| released > at)
}

/// PyTorch shows one segment for each contiguous mapped range of an expandable segment.
fn continues(last: &SegmentAt, next: &SegmentSpan) -> bool {
    last.expandable
        && next.expandable
        && last.address + last.bytes == next.address
        && (last.stream, last.pool, last.kind) == (next.stream, next.pool, next.kind)
}

fn empty(segment: &SegmentSpan) -> SegmentAt {
    SegmentAt {
        address: segment.address,
        bytes: segment.bytes,
        stream: segment.stream,
        pool: segment.pool,
        kind: segment.kind,
        expandable: segment.expandable,
        stack: segment.stack,
        blocks: Vec::new(),
    }
}

fn fill<'a>(
    segment: &mut SegmentAt,
    at: EventIndex,
    blocks: &mut std::iter::Peekable<impl Iterator<Item = &'a LiveSpan>>,
) {
    let end = segment.address + segment.bytes;
    let mut reached = segment.address;
    while let Some(block) = blocks.next_if(|block| block.address < end) {
        if block.address < reached {
            // Outside every owned segment: the trace lacks the segment's own events.
            continue;
        }
        push_free(segment, reached, block.address);
        let bytes = block.bytes.min(end - block.address);
        let state = block.state_at(at).unwrap_or(BlockState::Inactive);
        segment.blocks.push(BlockAt { address: block.address, bytes, state, block: Some(block.id) });
        reached = block.address + bytes;
    }
    push_free(segment, reached, end);
}

fn push_free(segment: &mut SegmentAt, start: u64, end: u64) {
    if end > start {
        let free = BlockAt { address: start, bytes: end - start, state: BlockState::Inactive, block: None };
        segment.blocks.push(free);
    }
}
