//! From events to requests.
//!
//! A trace tells what the allocator did. What the program did is in it but for a few things, which are worked out:
//! whether memory was given back because the program emptied the cache or because a request needed room, which
//! blocks were completed by that wait, and when expandable segments were turned on or off.

use oomph_trace::{Action, BlockState, DeviceTrace, Event, EventIndex, PoolId, StackId};
use rustc_hash::FxHashMap;

use super::calibrate::calibrate;
use super::{Ghost, Limit, LimitKind, Op, PoolFacts, Requests};
use crate::config::{Config, SMALL_LIMIT_BYTES, SMALL_SEGMENT_BYTES};
use crate::source::card_from_reservations;
use crate::timeline::{BlockId, LiveSpan, SegmentAt, Timeline, unsplit_pools};

const NO_BLOCK: BlockId = BlockId::MAX;

pub(super) fn infer(device: &DeviceTrace, timeline: &Timeline) -> Requests {
    let mut walk = Walk::new(device, timeline);
    let mut at = 0;
    while at < device.events.len() {
        at = walk.step(at);
    }
    let collected = walk.collected;
    let mut requests = walk.finish();
    if collected && requests.limit.known_bytes.is_none() {
        calibrate(device, &mut requests);
    }
    requests
}

/// Events without a request of their own that follow each other.
struct Run {
    /// Where they end.
    end: usize,
    /// The request right after them.
    owner: Option<usize>,
    /// The last of them by which something other than that request gave memory back.
    last_foreign: Option<usize>,
}

struct Walk<'a> {
    device: &'a DeviceTrace,
    timeline: &'a Timeline,
    /// For each event, the block it speaks of.
    block_of: Vec<BlockId>,
    config: Config,
    expandable: bool,
    toggled: bool,
    ops: Vec<Op>,
    op_events: Vec<EventIndex>,
    requested_bytes: Vec<u64>,
    first_failed: BlockId,
    waiting: usize,
    run: Run,
    /// The block handed out last.
    last_block: BlockId,
    /// For each event that gave memory back, the pool that did.
    releases: FxHashMap<EventIndex, PoolId>,
    released: Vec<PoolId>,
    limit: Limit,
    /// Whether garbage collection gave memory back.
    collected: bool,
}

impl<'a> Walk<'a> {
    fn new(device: &'a DeviceTrace, timeline: &'a Timeline) -> Self {
        let mut config = timeline.config().clone();
        config.expandable_segments = first_expandable(device).unwrap_or(config.expandable_segments);
        let limit = Limit { known_bytes: known_limit(device, &config), ..Limit::default() };
        Self {
            device,
            timeline,
            block_of: blocks_by_event(device, timeline),
            expandable: config.expandable_segments,
            toggled: false,
            config,
            ops: Vec::with_capacity(device.events.len()),
            op_events: Vec::with_capacity(device.events.len()),
            requested_bytes: timeline.blocks.iter().map(|block| block.requested_bytes).collect(),
            first_failed: timeline.blocks.len() as BlockId,
            waiting: timeline
                .blocks
                .iter()
                .filter(|block| block.is_ghost() && block.free_requested.is_none() && block.free_completed.is_some())
                .count(),
            run: Run { end: 0, owner: None, last_foreign: None },
            last_block: NO_BLOCK,
            releases: timeline.segments.iter().filter_map(|segment| Some((segment.released?, segment.pool))).collect(),
            released: Vec::new(),
            limit,
            collected: false,
        }
    }

    fn push(&mut self, at: usize, op: Op) {
        self.ops.push(op);
        self.op_events.push(at as EventIndex);
    }

    /// Reads the event at `at`, or everything that happened inside one request, and returns where to go on.
    fn step(&mut self, at: usize) -> usize {
        let event = &self.device.events[at];
        match event.action {
            Action::Alloc | Action::Oom => self.request(at, at),
            Action::FreeRequested => {
                self.free(at);
                // A completion right after its own request waited for nothing.
                let next = self.device.events.get(at + 1);
                if next.is_some_and(|next| next.action == Action::FreeCompleted && next.addr == event.addr) {
                    self.complete(at + 1);
                    return at + 2;
                }
                at + 1
            }
            Action::FreeCompleted
            | Action::SegmentAlloc
            | Action::SegmentFree
            | Action::SegmentMap
            | Action::SegmentUnmap => match self.owner_of(at) {
                Some(owner) => self.request(at, owner),
                None => self.outside_request(at),
            },
            Action::Snapshot | Action::Other(_) => at + 1,
        }
    }

    /// The request during which the event at `at` happened: the next `alloc` or `oom`, if nothing but completions
    /// and segments lies between and the segments given back were given back from the same place in the program.
    fn owner_of(&mut self, at: usize) -> Option<usize> {
        if at >= self.run.end {
            self.run = self.run_from(at);
        }
        // Once something else gave memory back, only what follows can belong to the request.
        self.run.owner.filter(|_| self.run.last_foreign.is_none_or(|last| at > last))
    }

    fn run_from(&self, at: usize) -> Run {
        let events = &self.device.events;
        let length = events[at..].iter().position(|event| !is_inner(event));
        let end = length.map_or(events.len(), |length| at + length);
        let is_request = |event: &Event| matches!(event.action, Action::Alloc | Action::Oom);
        let owner = events.get(end).is_some_and(is_request).then_some(end);
        let last_foreign = owner.and_then(|owner| {
            (at..owner).rev().find(|&release| is_release(&events[release]) && !self.released_by(release, at, owner))
        });
        Run { end, owner, last_foreign }
    }

    /// Whether the memory given back at `release`, in a run that begins at `from`, was given back to serve the
    /// request at `owner`.
    fn released_by(&self, release: usize, from: usize, owner: usize) -> bool {
        let (event, request) = (&self.device.events[release], &self.device.events[owner]);
        if event.stack != StackId::MISSING || request.stack != StackId::MISSING {
            return event.stack == request.stack;
        }
        // Without stacks: a request that failed, or one that took new memory where more had never been taken.
        let took = self.device.events[owner - 1].action;
        let grew = matches!(took, Action::SegmentAlloc | Action::SegmentMap);
        let wanted = self.timeline.reserved_before(from).saturating_add(self.segment_bytes(request));
        let collects = self.config.garbage_collection_threshold > 0.0;
        request.action == Action::Oom || (grew && (collects || wanted > self.timeline.peak_reserved.bytes))
    }

    fn segment_bytes(&self, request: &Event) -> u64 {
        self.config.segment_bytes(self.config.round(request.bytes))
    }

    /// One request with all that happened inside it, from `from` to `owner`.
    fn request(&mut self, from: usize, owner: usize) -> usize {
        let events = &self.device.events;
        let inside = &events[from..owner];
        let request = &events[owner];
        let retried = request.action == Action::Oom || inside.iter().any(is_release);
        let waited_from = if retried { self.first_waited(from, owner) } else { owner };
        let made_room = inside.iter().any(is_release) || (waited_from < owner && inside.iter().any(is_completion));
        self.complete_all(from, waited_from);
        self.release_pools(from, owner);
        self.learn_limit(from, owner);
        self.follow_toggles(from, owner);
        self.alloc(owner, made_room);
        self.complete_all(waited_from, owner);
        owner + 1
    }

    /// From which event on completions inside a request that had to make room come from waiting for all streams
    /// rather than from looking which ones are done. The former leave nothing waiting.
    fn first_waited(&self, from: usize, owner: usize) -> usize {
        let events = &self.device.events[from..owner];
        let completions = events.iter().filter(|event| is_completion(event)).count();
        if completions < self.waiting {
            return owner;
        }
        let collects = self.config.garbage_collection_threshold > 0.0;
        let max_split_bytes = self.config.max_split_bytes;
        if !collects && max_split_bytes == u64::MAX {
            return from;
        }
        // Garbage collection and oversize release give memory back before anything is waited for, but only large
        // segments, and the latter only oversize ones. The wait comes right before what is given back last.
        let Some(last) = events.iter().rposition(is_completion) else { return owner };
        let before = events[..last].iter().rposition(|event| !is_completion(event));
        let waited_from = from + before.map_or(0, |before| before + 1);
        let request = &self.device.events[owner];
        let failed = request.action == Action::Oom;
        let passed_over = (waited_from..=from + last).any(|at| self.would_have_served(at, request));
        let released_before = events[..last].iter().any(is_release);
        if failed || released_before || passed_over || self.shows_wait(&events[last..], request) {
            waited_from
        } else {
            owner
        }
    }

    /// Whether the block completed at `at` would have served the request, had it been free when that began.
    fn would_have_served(&self, at: usize, request: &Event) -> bool {
        let Some(block) = self.timeline.blocks.get(self.block_of[at] as usize) else { return false };
        let rounded_bytes = self.config.round(request.bytes);
        let max_split_bytes = self.config.max_split_bytes;
        let oversize = rounded_bytes >= max_split_bytes;
        let small = |bytes: u64| bytes <= SMALL_LIMIT_BYTES;
        block.stream == request.stream
            && block.pool == request.pool.unwrap_or(PoolId::DEFAULT)
            && small(self.config.round(block.requested_bytes)) == small(rounded_bytes)
            && block.bytes >= rounded_bytes
            && (oversize || block.bytes < max_split_bytes)
            && (!oversize || block.bytes - rounded_bytes < self.config.max_non_split_rounding_bytes)
    }

    /// Whether what a request gave back cannot be the work of garbage collection or oversize release alone.
    fn shows_wait(&self, events: &[Event], request: &Event) -> bool {
        let released = || events.iter().filter(|event| is_release(event));
        if released().any(|event| event.action == Action::SegmentUnmap || event.bytes == SMALL_SEGMENT_BYTES) {
            return true;
        }
        if self.config.garbage_collection_threshold > 0.0 {
            return false;
        }
        // Oversize release goes from large to small, within one stream, and ends with enough for the request.
        let key_bytes = self.config.round(request.bytes).max(self.config.max_split_bytes);
        let grows = released().zip(released().skip(1)).any(|(one, next)| one.bytes < next.bytes);
        let foreign = released().any(|event| event.stream != request.stream);
        let sum_bytes: u64 = released().map(|event| event.bytes).sum();
        grows || foreign || (sum_bytes > 0 && sum_bytes < key_bytes)
    }

    fn alloc(&mut self, owner: usize, made_room: bool) {
        let event = &self.device.events[owner];
        if event.action == Action::Oom {
            let block = self.requested_bytes.len() as BlockId;
            self.requested_bytes.push(event.bytes);
            let pool = event.pool.unwrap_or_else(|| self.pool_of_failure(owner, made_room));
            self.push(owner, Op::Alloc { block, bytes: event.bytes, stream: event.stream, pool });
            // The client never had it, whatever a replay makes of it.
            self.push(owner, Op::Free { block });
            self.push(owner, Op::Complete { block });
            return;
        }
        let block = self.block_of[owner];
        if block == NO_BLOCK {
            return;
        }
        let span = &self.timeline.blocks[block as usize];
        let (bytes, stream, pool) = (span.requested_bytes, span.stream, span.pool);
        let gone_at_once = span.free_completed == Some(owner as EventIndex);
        self.last_block = block;
        self.push(owner, Op::Alloc { block, bytes, stream, pool });
        if gone_at_once {
            self.push(owner, Op::Free { block });
            self.push(owner, Op::Complete { block });
        }
    }

    /// Where requests are routed to a private pool, one that fails does not wait for streams or empty the default pool
    /// first. If there was something to be had that way and it was left, the pool that served the stream last failed.
    fn pool_of_failure(&self, owner: usize, made_room: bool) -> PoolId {
        let last = self.timeline.blocks.get(self.last_block as usize).map(|block| (block.stream, block.pool));
        let last = last.filter(|&(stream, pool)| stream == self.device.events[owner].stream && pool != PoolId::DEFAULT);
        let Some((_, pool)) = last.filter(|_| !made_room) else { return PoolId::DEFAULT };
        let is_free = |segment: &SegmentAt| segment.blocks.iter().all(|block| block.block.is_none());
        let map = self.timeline.segments_at(owner as EventIndex);
        let left_over = map.iter().any(|segment| segment.pool == PoolId::DEFAULT && is_free(segment));
        if self.waiting > 0 || left_over { pool } else { PoolId::DEFAULT }
    }

    fn free(&mut self, at: usize) {
        let block = self.block_of[at];
        if block == NO_BLOCK {
            return;
        }
        self.push(at, Op::Free { block });
        if self.timeline.blocks[block as usize].free_completed == Some(at as EventIndex) {
            self.push(at, Op::Complete { block });
        } else {
            self.waiting += 1;
        }
    }

    fn complete_all(&mut self, from: usize, to: usize) {
        for at in from..to {
            if is_completion(&self.device.events[at]) {
                self.complete(at);
            }
        }
    }

    fn complete(&mut self, at: usize) {
        let block = self.block_of[at];
        if block == NO_BLOCK {
            return;
        }
        if self.timeline.blocks[block as usize].free_requested == Some(at as EventIndex) {
            self.push(at, Op::Free { block });
        } else {
            self.waiting = self.waiting.saturating_sub(1);
        }
        self.push(at, Op::Complete { block });
    }

    /// Completions and releases that no request caused: the program emptied a cache.
    fn outside_request(&mut self, at: usize) -> usize {
        let events = &self.device.events;
        if events[at].action == Action::FreeCompleted {
            self.complete(at);
            return at + 1;
        }
        if !is_release(&events[at]) {
            return at + 1;
        }
        let stack = events[at].stack;
        let length = events[at..].iter().position(|event| !is_release(event) || event.stack != stack);
        let end = length.map_or(events.len(), |length| at + length);
        self.release_pools(at, end);
        let mut pools: Vec<PoolId> = (at..end).map(|at| self.pool_of_release(at)).collect();
        pools.dedup();
        if pools.contains(&PoolId::DEFAULT) {
            self.push(at, Op::EmptyCache);
        } else {
            for pool in pools {
                self.push(at, Op::EmptyPool { pool });
            }
        }
        end
    }

    fn pool_of_release(&self, at: usize) -> PoolId {
        self.releases.get(&(at as EventIndex)).copied().unwrap_or(PoolId::DEFAULT)
    }

    /// A private pool gives memory back only once nobody uses it any more.
    fn release_pools(&mut self, from: usize, to: usize) {
        for at in from..to {
            if is_release(&self.device.events[at]) {
                let pool = self.pool_of_release(at);
                if pool != PoolId::DEFAULT && !self.released.contains(&pool) {
                    self.released.push(pool);
                    self.push(at, Op::ReleasePool { pool });
                }
            }
        }
    }

    /// What a request's success or failure says about the limit.
    fn learn_limit(&mut self, from: usize, owner: usize) {
        let events = &self.device.events;
        let request = &events[owner];
        let segment_bytes = self.segment_bytes(request);
        let before = |at: usize| self.timeline.reserved_before(at);
        let first_grown =
            (from..owner).find(|&at| matches!(events[at].action, Action::SegmentAlloc | Action::SegmentMap));
        if let Some(at) = first_grown {
            self.limit.worked(before(at).saturating_add(segment_bytes));
        }
        self.limit.held(self.timeline.reserved_bytes[owner]);
        let kind = if request.action == Action::Oom && request.addr < segment_bytes {
            LimitKind::Card
        } else {
            LimitKind::Fraction
        };
        if request.action == Action::Oom {
            self.limit.failed(before(owner).saturating_add(segment_bytes), kind);
        }
        // Garbage collection gives whole segments back before anything fails; only unmapping shows a failure then.
        let collects = self.config.garbage_collection_threshold > 0.0;
        let released = (from..owner).filter(|&at| is_release(&events[at]));
        let shows_failure = |at: &usize| !collects || events[*at].action == Action::SegmentUnmap;
        self.collected |= collects && released.clone().any(|at| events[at].action == Action::SegmentFree);
        if let Some(at) = released.clone().find(shows_failure) {
            self.limit.failed(before(at).saturating_add(segment_bytes), kind);
        }
    }

    /// Where a request got its memory shows whether expandable segments were on.
    fn follow_toggles(&mut self, from: usize, owner: usize) {
        let mut shown = None;
        for event in &self.device.events[from..owner] {
            match event.action {
                Action::SegmentMap => shown = Some(true),
                Action::SegmentAlloc => shown = Some(false),
                _ => {}
            }
        }
        if let Some(on) = shown
            && on != self.expandable
        {
            self.expandable = on;
            self.toggled = true;
            self.push(owner, Op::SetExpandable { on });
        }
    }

    fn finish(mut self) -> Requests {
        if self.toggled && self.config.expandable_segments {
            // A history with both kinds is replayed by `native`, which starts with ordinary segments.
            self.ops.insert(0, Op::SetExpandable { on: true });
            self.op_events.insert(0, 0);
        }
        self.config.expandable_segments &= !self.toggled;
        let guess = || card_from_reservations(self.device, self.config.large_segment_bytes);
        let total_bytes = self.device.total_bytes.or_else(guess);
        let initial = self.timeline.initial_segments();
        Requests {
            ops: self.ops,
            op_events: self.op_events,
            ghosts: ghosts_of(self.timeline),
            initial_is_whole: is_whole(self.timeline, &initial),
            initial,
            pools: pool_facts(self.device, &self.config),
            config: self.config,
            limit: self.limit,
            total_bytes,
            requested_bytes: self.requested_bytes,
            first_failed: self.first_failed,
        }
    }
}

/// Whether the event happens inside requests or, like an emptied cache, between them.
fn is_inner(event: &Event) -> bool {
    is_release(event) || matches!(event.action, Action::FreeCompleted | Action::SegmentAlloc | Action::SegmentMap)
}

fn is_completion(event: &Event) -> bool {
    event.action == Action::FreeCompleted
}

fn is_release(event: &Event) -> bool {
    matches!(event.action, Action::SegmentFree | Action::SegmentUnmap)
}

fn ghosts_of(timeline: &Timeline) -> Vec<Ghost> {
    let ghosts = timeline.blocks.iter().take_while(|block| block.is_ghost());
    let ghost = |block: &LiveSpan| Ghost {
        block: block.id,
        stream: block.stream,
        pool: block.pool,
        waits: block.initial_state() == Some(BlockState::PendingFree),
    };
    ghosts.map(ghost).collect()
}

/// Whether every block that existed before lies whole in a segment that did, and every later one found a segment.
fn is_whole(timeline: &Timeline, initial: &[SegmentAt]) -> bool {
    let mut seen = initial.iter().flat_map(|segment| segment.blocks.iter().filter(|block| block.block.is_some()));
    let mut ghosts = timeline.blocks.iter().take_while(|block| block.is_ghost());
    !timeline.lost_segments()
        && ghosts
            .all(|ghost| seen.next().is_some_and(|block| block.block == Some(ghost.id) && block.bytes == ghost.bytes))
}

fn first_expandable(device: &DeviceTrace) -> Option<bool> {
    device.events.iter().find_map(|event| match event.action {
        Action::SegmentMap => Some(true),
        Action::SegmentAlloc => Some(false),
        _ => None,
    })
}

fn blocks_by_event(device: &DeviceTrace, timeline: &Timeline) -> Vec<BlockId> {
    let mut block_of = vec![NO_BLOCK; device.events.len()];
    for block in &timeline.blocks {
        for event in [block.alloc, block.free_requested, block.free_completed].into_iter().flatten() {
            block_of[event as usize] = block.id;
        }
    }
    block_of
}

#[expect(clippy::cast_sign_loss, reason = "fractions are not negative")]
fn known_limit(device: &DeviceTrace, config: &Config) -> Option<u64> {
    let fraction = |total: u64| (config.memory_fraction * total as f64) as u64;
    device.limit_bytes.or_else(|| device.total_bytes.filter(|_| config.memory_fraction < 1.0).map(fraction))
}

fn pool_facts(device: &DeviceTrace, config: &Config) -> Vec<PoolFacts> {
    let fact = |id| PoolFacts { id, no_split: true, use_on_oom: false };
    unsplit_pools(device, config).into_iter().map(fact).collect()
}
