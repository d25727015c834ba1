//! The segment map of one moment.

use oomph_trace::{BlockState, EventIndex};

use super::{BlockAt, LiveSpan, SegmentAt, SegmentSpan, Timeline};

pub(super) fn map_at(timeline: &Timeline, at: EventIndex) -> Vec<SegmentAt> {
    let owned = timeline.segments.iter().filter(|segment| is_owned_at(segment, at)).collect();
    let blocks = timeline.active_at(at).map(|block| (block, block.state_at(at).unwrap_or(BlockState::Inactive)));
    map_of(owned, blocks.collect())
}

pub(super) fn map_before(timeline: &Timeline) -> Vec<SegmentAt> {
    let owned = timeline.segments.iter().take_while(|segment| segment.obtained.is_none()).collect();
    let ghosts = timeline.blocks.iter().take_while(|block| block.is_ghost());
    let ghosts = ghosts.map(|block| (block, block.initial_state().unwrap_or(BlockState::Allocated)));
    map_of(owned, ghosts.collect())
}

fn map_of(mut owned: Vec<&SegmentSpan>, mut blocks: Vec<(&LiveSpan, BlockState)>) -> Vec<SegmentAt> {
    owned.sort_by_key(|segment| segment.address);
    let mut map: Vec<SegmentAt> = Vec::new();
    for segment in owned {
        match map.last_mut() {
            Some(last) if continues(last, segment) => last.bytes += segment.bytes,
            _ => map.push(empty(segment)),
        }
    }
    blocks.sort_by_key(|(block, _)| block.address);
    let mut blocks = blocks.into_iter().peekable();
    for segment in &mut map {
        fill(segment, &mut blocks);
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
    blocks: &mut std::iter::Peekable<impl Iterator<Item = (&'a LiveSpan, BlockState)>>,
) {
    let end = segment.address + segment.bytes;
    let mut reached = segment.address;
    while let Some((block, state)) = blocks.next_if(|(block, _)| block.address < end) {
        if block.address < reached {
            // Outside every owned segment: the trace lacks the segment's own events.
            continue;
        }
        push_free(segment, reached, block.address);
        let bytes = block.bytes.min(end - block.address);
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
