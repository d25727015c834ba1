//! A replay written down as the trace a recorder would have made of it.

use oomph_trace::{
    Action, Block, BlockState, Category, DeviceTrace, Event, ForwardId, PoolId, Segment, StackId, StringId,
};

use crate::caching::{SegmentAction, SegmentEvent};
use crate::replay::Replay;
use crate::requests::{Op, Requests};
use crate::timeline::{BlockId, SegmentAt};

/// The trace of a replay in which nothing existed before: the same events, in the same order, that PyTorch's recorder
/// would have written, one microsecond apart.
#[must_use]
pub fn record(requests: &Requests, replay: &Replay) -> DeviceTrace {
    let mut recorder = Recorder {
        requests,
        replay,
        events: Vec::with_capacity(requests.ops.len() + replay.segment_events.len()),
        streams: vec![0; requests.block_count()],
        waiting: Vec::new(),
        next_event: 0,
        next_sync: 0,
        next_oom: 0,
    };
    for (at, op) in requests.ops.iter().enumerate().take(replay.op_count as usize) {
        recorder.step(at as u32, op);
    }
    DeviceTrace {
        total_bytes: requests.total_bytes,
        limit_bytes: requests.limit.known_bytes,
        events: recorder.events,
        segments: replay.segments.iter().map(|segment| final_segment(segment, requests)).collect(),
        ..DeviceTrace::default()
    }
}

struct Recorder<'a> {
    requests: &'a Requests,
    replay: &'a Replay,
    events: Vec<Event>,
    /// The stream of each block that was allocated.
    streams: Vec<u64>,
    /// Blocks given back and not yet completed, with stream and pool.
    waiting: Vec<(BlockId, u64, PoolId)>,
    next_event: usize,
    next_sync: usize,
    next_oom: usize,
}

impl Recorder<'_> {
    fn step(&mut self, at: u32, op: &Op) {
        // A place in the program of its own tells an emptied cache from a request that made room.
        let stack = if matches!(op, Op::Alloc { .. }) { StackId::EMPTY } else { StackId::MISSING };
        self.exchanges(at, stack);
        match *op {
            Op::Alloc { block, bytes, stream, pool } => self.alloc(at, block, bytes, stream, pool),
            Op::Free { block } => {
                if let Some(placement) = self.replay.placements[block as usize] {
                    let stream = self.streams[block as usize];
                    let pool = placement.pool;
                    let bytes = self.requests.requested_bytes(block);
                    self.push(Action::FreeRequested, placement.address, bytes, stream, pool, StackId::EMPTY);
                    self.waiting.push((block, stream, pool));
                }
            }
            Op::Complete { block } => {
                if let Some(found) = self.waiting.iter().rposition(|entry| entry.0 == block) {
                    let (block, stream, pool) = self.waiting.remove(found);
                    self.complete(block, stream, pool);
                }
            }
            Op::EmptyCache | Op::EmptyPool { .. } | Op::ReleasePool { .. } | Op::SetExpandable { .. } => {}
        }
    }

    fn exchanges(&mut self, at: u32, stack: StackId) {
        loop {
            let event = self.replay.segment_events.get(self.next_event).filter(|event| event.op == at);
            let sync = self.replay.syncs.get(self.next_sync).filter(|sync| sync.op == at);
            match (event, sync) {
                (_, Some(sync)) if sync.after_events as usize <= self.next_event => {
                    for (block, stream, pool) in std::mem::take(&mut self.waiting) {
                        self.complete(block, stream, pool);
                    }
                    self.next_sync += 1;
                }
                (Some(event), _) => {
                    self.exchange(event, stack);
                    self.next_event += 1;
                }
                _ => return,
            }
        }
    }

    fn exchange(&mut self, event: &SegmentEvent, stack: StackId) {
        let action = match event.action {
            SegmentAction::Alloc => Action::SegmentAlloc,
            SegmentAction::Free => Action::SegmentFree,
            SegmentAction::Map => Action::SegmentMap,
            SegmentAction::Unmap => Action::SegmentUnmap,
        };
        self.push(action, event.address, event.bytes, event.stream, event.pool, stack);
    }

    fn alloc(&mut self, at: u32, block: BlockId, bytes: u64, stream: u64, pool: PoolId) {
        if let Some(oom) = self.replay.ooms.get(self.next_oom).filter(|oom| oom.op == at) {
            self.next_oom += 1;
            self.push(Action::Oom, u64::MAX, oom.detail.rounded_bytes, stream, pool, StackId::EMPTY);
        } else if let Some(placement) = self.replay.placements[block as usize] {
            self.streams[block as usize] = stream;
            self.push(Action::Alloc, placement.address, bytes, stream, placement.pool, StackId::EMPTY);
        }
    }

    fn complete(&mut self, block: BlockId, stream: u64, pool: PoolId) {
        if let Some(placement) = self.replay.placements[block as usize] {
            let bytes = self.requests.requested_bytes(block);
            self.push(Action::FreeCompleted, placement.address, bytes, stream, pool, StackId::EMPTY);
        }
    }

    fn push(&mut self, action: Action, addr: u64, bytes: u64, stream: u64, pool: PoolId, stack: StackId) {
        self.events.push(Event {
            addr,
            bytes,
            stream,
            time_us: self.events.len() as u64,
            stack,
            forward: ForwardId::NONE,
            compile_context: StringId::MISSING,
            user_metadata: StringId::MISSING,
            module: StringId::MISSING,
            action,
            category: Category::Unknown,
            pool: Some(pool),
        });
    }
}

fn final_segment(segment: &SegmentAt, requests: &Requests) -> Segment {
    let requested = |block: &crate::timeline::BlockAt| block.block.map_or(0, |id| requests.requested_bytes(id));
    let sum = |keeps: &dyn Fn(BlockState) -> bool| {
        segment.blocks.iter().filter(|block| keeps(block.state)).map(|block| block.bytes).sum()
    };
    Segment {
        address: segment.address,
        bytes: segment.bytes,
        allocated_bytes: sum(&|state| state == BlockState::Allocated),
        active_bytes: sum(&|state| state != BlockState::Inactive),
        requested_bytes: segment.blocks.iter().map(requested).sum(),
        stream: segment.stream,
        kind: segment.kind,
        pool: segment.pool,
        expandable: segment.expandable,
        stack: StackId::EMPTY,
        blocks: segment
            .blocks
            .iter()
            .map(|block| Block {
                address: block.address,
                bytes: block.bytes,
                requested_bytes: requested(block),
                state: block.state,
                stack: StackId::EMPTY,
                extra: Vec::new(),
            })
            .collect(),
        extra: Vec::new(),
    }
}
