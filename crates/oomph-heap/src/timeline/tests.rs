//! Small histories whose every number is known by hand.

use oomph_trace::{
    Action, Block, BlockState, Category, DeviceTrace, Event, ForwardId, PoolId, Segment, SegmentKind, StackId, StringId,
};

use super::*;
use crate::config::MIB;

fn event(action: Action, addr: u64, bytes: u64) -> Event {
    Event {
        addr,
        bytes,
        stream: 0,
        time_us: 0,
        stack: StackId::EMPTY,
        forward: ForwardId::NONE,
        compile_context: StringId::MISSING,
        user_metadata: StringId::MISSING,
        module: StringId::MISSING,
        action,
        category: Category::Unknown,
        pool: None,
    }
}

fn block(address: u64, bytes: u64, requested_bytes: u64, state: BlockState) -> Block {
    Block { address, bytes, requested_bytes, state, stack: StackId::EMPTY, extra: Vec::new() }
}

fn segment(address: u64, kind: SegmentKind, expandable: bool, blocks: Vec<Block>) -> Segment {
    let sum = |keep: &dyn Fn(&Block) -> bool| blocks.iter().filter(|block| keep(block)).map(|block| block.bytes).sum();
    Segment {
        address,
        bytes: sum(&|_| true),
        allocated_bytes: sum(&|block| block.state == BlockState::Allocated),
        active_bytes: sum(&|block| block.state != BlockState::Inactive),
        requested_bytes: 0,
        stream: 0,
        kind,
        pool: PoolId::DEFAULT,
        expandable,
        stack: StackId::EMPTY,
        blocks,
        extra: Vec::new(),
    }
}

fn device(events: Vec<Event>, segments: Vec<Segment>) -> DeviceTrace {
    DeviceTrace { events, segments, ..DeviceTrace::default() }
}

const BASE: u64 = 0x7f00_0000_0000;

/// 20 MiB segment: A = 5 MiB (kept), B = 14.5 MiB whose half-MiB tail is not split off, freed after a wait.
fn history() -> DeviceTrace {
    let a_bytes = 5 * MIB;
    let b_bytes = 14 * MIB + MIB / 2;
    let events = vec![
        event(Action::SegmentAlloc, BASE, 20 * MIB),
        event(Action::Alloc, BASE, a_bytes),
        event(Action::Alloc, BASE + a_bytes, b_bytes),
        event(Action::FreeRequested, BASE + a_bytes, b_bytes),
        event(Action::SegmentAlloc, 2 * BASE, 2 * MIB),
        event(Action::FreeCompleted, BASE + a_bytes, b_bytes),
        event(Action::SegmentFree, 2 * BASE, 2 * MIB),
    ];
    let blocks = vec![
        block(BASE, a_bytes, a_bytes, BlockState::Allocated),
        block(BASE + a_bytes, 15 * MIB, 0, BlockState::Inactive),
    ];
    device(events, vec![segment(BASE, SegmentKind::Large, false, blocks)])
}

#[test]
fn curves_tell_held_from_waiting_and_count_unsplit_tails() {
    let timeline = Timeline::of(&history());
    let mib = |curve: &[u64]| curve.iter().map(|bytes| bytes / MIB).collect::<Vec<_>>();
    assert_eq!(mib(&timeline.allocated_bytes), [0, 5, 20, 5, 5, 5, 5]);
    assert_eq!(mib(&timeline.active_bytes), [0, 5, 20, 20, 20, 5, 5]);
    assert_eq!(mib(&timeline.reserved_bytes), [20, 20, 20, 20, 22, 22, 20]);
    assert_eq!(timeline.requested_bytes[2], 19 * MIB + MIB / 2);
    assert_eq!(timeline.peak_allocated, Peak { bytes: 20 * MIB, event: 2 });
    assert_eq!(timeline.peak_reserved, Peak { bytes: 22 * MIB, event: 4 });
    assert_eq!(timeline.initial, Books::default());
}

#[test]
fn lives_know_their_events_and_moments_their_lives() {
    let timeline = Timeline::of(&history());
    assert_eq!(timeline.blocks.len(), 2);
    let waiting = &timeline.blocks[1];
    assert_eq!((waiting.alloc, waiting.free_requested, waiting.free_completed), (Some(2), Some(3), Some(5)));
    assert_eq!(timeline.live_at(3).map(|block| block.id).collect::<Vec<_>>(), [0]);
    assert_eq!(timeline.active_at(3).map(|block| block.id).collect::<Vec<_>>(), [0, 1]);
    let map = timeline.segments_at(4);
    assert_eq!(map.len(), 2);
    let states: Vec<_> = map[0].blocks.iter().map(|block| (block.bytes / MIB, block.state)).collect();
    assert_eq!(states, [(5, BlockState::Allocated), (15, BlockState::PendingFree)]);
    assert_eq!(
        map[1].blocks,
        [BlockAt { address: 2 * BASE, bytes: 2 * MIB, state: BlockState::Inactive, block: None }]
    );
}

#[test]
fn a_history_that_begins_late_still_starts_from_the_right_books() {
    let mut late = history();
    late.events.drain(..3);
    let timeline = Timeline::of(&late);
    assert!(timeline.blocks.iter().all(LiveSpan::is_ghost));
    let expected = Books {
        requested_bytes: 19 * MIB + MIB / 2,
        allocated_bytes: 20 * MIB,
        active_bytes: 20 * MIB,
        reserved_bytes: 20 * MIB,
    };
    assert_eq!(timeline.initial, expected);
    let whole = Timeline::of(&history());
    assert_eq!(timeline.allocated_bytes, whole.allocated_bytes[3..]);
    assert_eq!(timeline.reserved_bytes, whole.reserved_bytes[3..]);
}

#[test]
fn a_history_without_final_segments_ends_with_what_its_events_left() {
    let mut bare = history();
    bare.segments.clear();
    let timeline = Timeline::of(&bare);
    let whole = Timeline::of(&history());
    assert_eq!(timeline.allocated_bytes, whole.allocated_bytes);
    assert_eq!(timeline.reserved_bytes, whole.reserved_bytes);
    assert_eq!(timeline.segments_at(2), whole.segments_at(2));
}

#[test]
fn skipped_frees_are_survived() {
    for skipped in [Action::FreeRequested, Action::FreeCompleted] {
        let mut sparse = history();
        sparse.events.retain(|event| event.action != skipped);
        let timeline = Timeline::of(&sparse);
        assert_eq!(timeline.allocated_bytes.last(), Some(&(5 * MIB)));
        assert_eq!(timeline.peak_allocated.bytes, 20 * MIB);
        assert_eq!(timeline.initial, Books::default());
    }
}

#[test]
fn expandable_pieces_join_and_part() {
    let unit = 20 * MIB;
    let events = vec![
        event(Action::SegmentMap, BASE, 2 * unit),
        event(Action::Alloc, BASE, 30 * MIB),
        event(Action::SegmentMap, BASE + 2 * unit, unit),
        event(Action::Alloc, BASE + 30 * MIB, 2 * MIB),
        event(Action::FreeRequested, BASE, 30 * MIB),
        event(Action::FreeCompleted, BASE, 30 * MIB),
        event(Action::SegmentUnmap, BASE, unit),
        event(Action::SegmentUnmap, BASE + 2 * unit, unit),
    ];
    let blocks = vec![
        block(BASE + unit, 10 * MIB, 0, BlockState::Inactive),
        block(BASE + 30 * MIB, 2 * MIB, 2 * MIB, BlockState::Allocated),
        block(BASE + 32 * MIB, 8 * MIB, 0, BlockState::Inactive),
    ];
    let trace = device(events, vec![segment(BASE + unit, SegmentKind::Large, true, blocks)]);
    let timeline = Timeline::of(&trace);
    let mib: Vec<_> = timeline.reserved_bytes.iter().map(|bytes| bytes / MIB).collect();
    assert_eq!(mib, [40, 40, 60, 60, 60, 60, 40, 20]);
    let map = timeline.segments_at(5);
    assert_eq!((map.len(), map[0].bytes), (1, 3 * unit));
    assert_eq!(timeline.segments_at(7)[0].address, BASE + unit);
    assert_eq!(timeline.initial, Books::default());
}

#[test]
fn an_oom_carries_the_books_of_its_moment() {
    let mut trace = history();
    trace.events.insert(3, event(Action::Oom, 7, 64 * MIB));
    let timeline = Timeline::of(&trace);
    assert_eq!(timeline.ooms.len(), 1);
    let oom = &timeline.ooms[0];
    assert_eq!((oom.event, oom.bytes, oom.device_free_bytes), (3, 64 * MIB, 7));
    assert_eq!(oom.books.allocated_bytes, 20 * MIB);
}
