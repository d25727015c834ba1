//! A slow judge of replays that shares no code with the policies.
//!
//! It keeps plain lists of what is owned and what is live, and looks through all of them at every step. What it
//! checks: memory comes from the driver before it is used and nothing lives in what is given back; no two live blocks
//! overlap; a block is not used again before its streams are done with it, and never by another stream; the books
//! balance; limits are kept.

use oomph_trace::{BlockState, PoolId};

use crate::caching::{BEFORE_OPS, Placement, SegmentAction, SegmentEvent};
use crate::config::{MIN_BLOCK_BYTES, SMALL_SEGMENT_BYTES};
use crate::replay::Replay;
use crate::requests::{LimitKind, Op, Requests};
use crate::timeline::BlockId;

/// Something a replay did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation during which it happened; `None` if it concerns the whole or what came before.
    pub op: Option<u32>,
    /// What is wrong.
    pub problem: String,
}

/// Judges a replay of `requests`. `capacity_bytes` is what the source said the card has; `limit_bytes` is the limit the
/// replay ran under where it was not the one in `requests`.
#[must_use]
pub fn validate(
    requests: &Requests,
    replay: &Replay,
    capacity_bytes: Option<u64>,
    limit_bytes: Option<u64>,
) -> Vec<Violation> {
    let mut judge = Judge::new(requests, replay, capacity_bytes, limit_bytes);
    if replay.placements.is_empty() {
        judge.check_lower_bound();
        return judge.violations;
    }
    judge.check_beginning();
    for (at, op) in requests.ops.iter().enumerate().take(replay.op_count as usize) {
        judge.step(at as u32, op);
    }
    judge.check_end();
    judge.violations
}

#[derive(Clone, Copy)]
struct Owned {
    start: u64,
    end: u64,
    stream: u64,
    pool: PoolId,
}

#[derive(Clone, Copy)]
struct Live {
    block: BlockId,
    start: u64,
    end: u64,
    requested_bytes: u64,
    held: bool,
}

struct Judge<'a> {
    requests: &'a Requests,
    replay: &'a Replay,
    capacity_bytes: Option<u64>,
    limit_bytes: Option<u64>,
    owned: Vec<Owned>,
    live: Vec<Live>,
    next_event: usize,
    next_sync: usize,
    peak_allocated_bytes: u64,
    peak_active_bytes: u64,
    peak_requested_bytes: u64,
    peak_reserved_bytes: u64,
    op: Option<u32>,
    violations: Vec<Violation>,
}

impl<'a> Judge<'a> {
    fn new(requests: &'a Requests, replay: &'a Replay, capacity_bytes: Option<u64>, limit_bytes: Option<u64>) -> Self {
        let found = requests.limit.bytes().filter(|_| requests.limit.kind != LimitKind::Card);
        Self {
            requests,
            replay,
            capacity_bytes,
            limit_bytes: limit_bytes.or(found),
            owned: Vec::new(),
            live: Vec::new(),
            next_event: 0,
            next_sync: 0,
            peak_allocated_bytes: 0,
            peak_active_bytes: 0,
            peak_requested_bytes: 0,
            peak_reserved_bytes: 0,
            op: None,
            violations: Vec::new(),
        }
    }

    fn blame(&mut self, problem: String) {
        self.violations.push(Violation { op: self.op, problem });
    }

    /// What existed before: taken over where it lay, or requested anew before the first operation.
    fn check_beginning(&mut self) {
        let requests = self.requests;
        if self.replay.seeded {
            for segment in &requests.initial {
                let (start, end) = (segment.address, segment.address + segment.bytes);
                self.owned.push(Owned { start, end, stream: segment.stream, pool: segment.pool });
            }
            self.note_reserved();
        }
        self.apply_events(BEFORE_OPS);
        for ghost in &requests.ghosts {
            if let Some(placement) = self.replay.placements[ghost.block as usize] {
                self.place(ghost.block, placement, ghost.stream, ghost.pool);
            }
        }
        for ghost in requests.ghosts.iter().filter(|ghost| ghost.waits) {
            self.give_back(ghost.block);
        }
        if self.replay.seeded {
            // Peaks are counted from the state that was found, not from the way it was filled in here.
            self.peak_allocated_bytes = 0;
            self.note_books();
        }
    }

    fn step(&mut self, at: u32, op: &Op) {
        self.op = Some(at);
        self.apply_events(at);
        match *op {
            Op::Alloc { block, stream, pool, .. } => match self.replay.placements[block as usize] {
                Some(placement) => self.place(block, placement, stream, pool),
                None if self.replay.ooms.iter().any(|oom| oom.block == block) => {}
                None => self.blame(format!("block {block} was neither placed nor refused")),
            },
            Op::Free { block } => self.give_back(block),
            Op::Complete { block } => self.live.retain(|live| live.block != block || live.held),
            Op::EmptyCache | Op::EmptyPool { .. } | Op::ReleasePool { .. } | Op::SetExpandable { .. } => {}
        }
    }

    fn apply_events(&mut self, op: u32) {
        loop {
            let replay = self.replay;
            let event = replay.segment_events.get(self.next_event).filter(|event| event.op == op);
            let sync = replay.syncs.get(self.next_sync).filter(|sync| sync.op == op);
            match (event, sync) {
                (_, Some(sync)) if sync.after_events as usize <= self.next_event => {
                    self.live.retain(|live| live.held);
                    self.next_sync += 1;
                }
                (Some(event), _) => {
                    self.next_event += 1;
                    self.apply_event(event);
                }
                _ => return,
            }
        }
    }

    fn apply_event(&mut self, event: &SegmentEvent) {
        let (start, end) = (event.address, event.address.saturating_add(event.bytes));
        match event.action {
            SegmentAction::Alloc | SegmentAction::Map => {
                if self.owned.iter().any(|owned| owned.start < end && start < owned.end) {
                    self.blame(format!("{:#x} was obtained although it is owned", event.address));
                }
                self.owned.push(Owned { start, end, stream: event.stream, pool: event.pool });
                self.note_reserved();
                self.check_limits(event.action == SegmentAction::Map);
            }
            SegmentAction::Free | SegmentAction::Unmap => {
                if self.live.iter().any(|live| live.start < end && start < live.end) {
                    self.blame(format!("{:#x} was given back although a block lives there", event.address));
                }
                if event.action == SegmentAction::Free && !self.owned.iter().any(|o| (o.start, o.end) == (start, end)) {
                    self.blame(format!("{:#x} was given back but is no segment", event.address));
                }
                self.disown(start, end);
            }
        }
    }

    fn disown(&mut self, start: u64, end: u64) {
        let before = self.reserved_bytes();
        let mut kept = Vec::new();
        for owned in &self.owned {
            if owned.end <= start || end <= owned.start {
                kept.push(*owned);
                continue;
            }
            if owned.start < start {
                kept.push(Owned { end: start, ..*owned });
            }
            if end < owned.end {
                kept.push(Owned { start: end, ..*owned });
            }
        }
        self.owned = kept;
        if before - self.reserved_bytes() != end - start {
            self.blame(format!("{start:#x} was given back but only part of it was owned"));
        }
    }

    /// The check against the fraction looks at the segment asked for; mapping rounds up beyond it by less than a unit.
    fn check_limits(&mut self, mapped: bool) {
        let reserved_bytes = self.reserved_bytes();
        let config = &self.requests.config;
        let slack_bytes = if mapped { config.large_segment_bytes.max(SMALL_SEGMENT_BYTES) } else { 0 };
        if self.limit_bytes.is_some_and(|limit| reserved_bytes > limit.saturating_add(slack_bytes)) {
            self.blame(format!("{reserved_bytes} bytes reserved, beyond the limit of {:?}", self.limit_bytes));
        }
        if self.capacity_bytes.is_some_and(|capacity| reserved_bytes > capacity) {
            self.blame(format!("{reserved_bytes} bytes reserved on a card of {:?}", self.capacity_bytes));
        }
    }

    fn place(&mut self, block: BlockId, placement: Placement, stream: u64, pool: PoolId) {
        let (start, end) = (placement.address, placement.address.saturating_add(placement.bytes));
        let requested_bytes = self.requests.requested_bytes(block);
        if placement.bytes < requested_bytes.max(MIN_BLOCK_BYTES) || !start.is_multiple_of(MIN_BLOCK_BYTES) {
            self.blame(format!("block {block} of {requested_bytes} bytes got {} at {start:#x}", placement.bytes));
        }
        if let Some(other) = self.live.iter().find(|live| live.start < end && start < live.end) {
            let waits = if other.held { "held" } else { "still used by a stream" };
            let problem = format!("block {block} at {start:#x} overlaps block {}, {waits}", other.block);
            self.blame(problem);
        }
        let touched = self.owned.iter().filter(|owned| owned.start < end && start < owned.end);
        let covered: u64 = touched.clone().map(|owned| owned.end.min(end) - owned.start.max(start)).sum();
        let strange = touched.clone().any(|owned| owned.stream != stream);
        let spare = |id: PoolId| self.requests.pools.iter().any(|facts| facts.id == id && facts.use_on_oom);
        let misplaced = touched.clone().any(|owned| owned.pool != pool && !spare(owned.pool));
        if covered != placement.bytes {
            self.blame(format!("block {block} at {start:#x} lies outside owned memory"));
        }
        if strange {
            self.blame(format!("block {block} lies in another stream's segment"));
        }
        if misplaced {
            self.blame(format!("block {block} lies in another pool's segment"));
        }
        self.live.push(Live { block, start, end, requested_bytes, held: true });
        self.note_books();
    }

    fn give_back(&mut self, block: BlockId) {
        for live in self.live.iter_mut().filter(|live| live.block == block) {
            live.held = false;
        }
    }

    fn reserved_bytes(&self) -> u64 {
        self.owned.iter().map(|owned| owned.end - owned.start).sum()
    }

    fn note_reserved(&mut self) {
        self.peak_reserved_bytes = self.peak_reserved_bytes.max(self.reserved_bytes());
    }

    fn note_books(&mut self) {
        let bytes = |live: &Live| live.end - live.start;
        let allocated: u64 = self.live.iter().filter(|live| live.held).map(bytes).sum();
        let active: u64 = self.live.iter().map(bytes).sum();
        let requested: u64 = self.live.iter().map(|live| live.requested_bytes).sum();
        self.peak_allocated_bytes = self.peak_allocated_bytes.max(allocated);
        self.peak_active_bytes = self.peak_active_bytes.max(active);
        self.peak_requested_bytes = self.peak_requested_bytes.max(requested);
    }

    fn check_end(&mut self) {
        self.op = None;
        let bytes = |live: &Live| live.end - live.start;
        let allocated: u64 = self.live.iter().filter(|live| live.held).map(bytes).sum();
        let active: u64 = self.live.iter().map(bytes).sum();
        let stats = &self.replay.stats;
        let books = [
            ("allocated", stats.allocated_bytes.all.current, allocated),
            ("active", stats.active_bytes.all.current, active),
            ("reserved", stats.reserved_bytes.all.current, self.reserved_bytes()),
            ("segment map", self.replay.segments.iter().map(|segment| segment.bytes).sum(), self.reserved_bytes()),
            ("peak allocated", self.replay.peak_allocated_bytes, self.peak_allocated_bytes),
            ("peak active", self.replay.peak_active_bytes, self.peak_active_bytes),
            ("peak requested", self.replay.peak_requested_bytes, self.peak_requested_bytes),
            ("peak reserved", self.replay.peak_reserved_bytes, self.peak_reserved_bytes),
        ];
        for (name, claimed, counted) in books {
            if claimed != counted {
                self.blame(format!("{name}: {claimed} bytes claimed, {counted} counted"));
            }
        }
        if self.next_event != self.replay.segment_events.len() {
            self.blame("segment events out of order".to_owned());
        }
        self.check_final_map();
    }

    fn check_final_map(&mut self) {
        for segment in &self.replay.segments {
            let mut reached = segment.address;
            for block in &segment.blocks {
                if block.address != reached {
                    let problem = format!("gap or overlap at {reached:#x} in the final map");
                    self.violations.push(Violation { op: None, problem });
                }
                reached = block.address + block.bytes;
                let live = self.live.iter().find(|live| Some(live.block) == block.block);
                let agrees = match (block.state, live) {
                    (BlockState::Inactive, None) => true,
                    (state, Some(live)) => {
                        live.held == (state == BlockState::Allocated)
                            && (live.start, live.end) == (block.address, block.address + block.bytes)
                    }
                    _ => false,
                };
                if !agrees {
                    let problem = format!("the final map is wrong about {:#x}", block.address);
                    self.violations.push(Violation { op: None, problem });
                }
            }
        }
    }

    /// A policy that places nothing must still have counted what clients held.
    fn check_lower_bound(&mut self) {
        let mut held: Vec<(BlockId, u64)> = Vec::new();
        for ghost in self.requests.ghosts.iter().filter(|ghost| !ghost.waits) {
            held.push((ghost.block, self.requests.requested_bytes(ghost.block)));
        }
        let mut peak_bytes: u64 = held.iter().map(|entry| entry.1).sum();
        for op in &self.requests.ops {
            match *op {
                Op::Alloc { block, bytes, .. } if !self.requests.failed(block) => held.push((block, bytes)),
                Op::Free { block } => held.retain(|entry| entry.0 != block),
                _ => {}
            }
            peak_bytes = peak_bytes.max(held.iter().map(|entry| entry.1).sum());
        }
        if self.replay.peak_requested_bytes != peak_bytes {
            let claimed = self.replay.peak_requested_bytes;
            self.blame(format!("{claimed} bytes claimed as the peak of requests, {peak_bytes} counted"));
        }
    }
}
