//! The walk backwards from the final segments to the first event.

use std::collections::BTreeMap;

use oomph_trace::{
    Action, BlockState, Category, DeviceTrace, Event, EventIndex, ForwardId, PoolId, SegmentKind, StackId, StringId,
};
use rustc_hash::FxHashMap;

use super::facts::{expandable_toggles, unsplit_pools};
use super::{BlockId, LiveSpan, SegmentSpan, Timeline, curves, pools};
use crate::config::{Config, SMALL_LIMIT_BYTES, SMALL_SEGMENT_BYTES};

pub(super) fn rewind(device: &DeviceTrace, config: &Config) -> Timeline {
    let mut state = Rewind::at_the_end(device, config);
    for (at, event) in device.events.iter().enumerate().rev() {
        state.undo(at as EventIndex, event);
    }
    let lost_segments = state.lost_segments;
    let (mut blocks, mut segments) = state.into_spans();
    pools::assign_pools(device, config, &mut blocks, &mut segments);
    Timeline { lost_segments, ..curves::with_curves(device, config, blocks, segments) }
}

struct Life {
    id: BlockId,
    /// Whether a client holds the block; otherwise a stream still uses it.
    held: bool,
}

struct Rewind<'a> {
    config: &'a Config,
    /// Pools whose blocks are never split.
    unsplit_pools: Vec<PoolId>,
    /// When expandable segments were turned on or off, latest last.
    toggles: Vec<(EventIndex, bool)>,
    /// Every life met so far, in the order of their deaths backwards.
    spans: Vec<LiveSpan>,
    /// The lives going on at the present point of the walk, by address.
    live: BTreeMap<u64, Life>,
    /// Whether the recorder wrote `free_requested` at all; a user can have it skipped.
    says_free_requested: bool,
    /// Whether a block lay outside every stretch known.
    lost_segments: bool,
    pieces: Vec<SegmentSpan>,
    /// The stretches owned at the present point of the walk, by address.
    owned: BTreeMap<u64, u32>,
}

impl<'a> Rewind<'a> {
    fn at_the_end(device: &DeviceTrace, config: &'a Config) -> Self {
        let mut state = Self {
            config,
            unsplit_pools: unsplit_pools(device, config),
            toggles: expandable_toggles(device),
            spans: Vec::with_capacity(device.events.len() / 3),
            live: BTreeMap::new(),
            says_free_requested: device.events.iter().any(|event| event.action == Action::FreeRequested),
            lost_segments: false,
            pieces: Vec::new(),
            owned: BTreeMap::new(),
        };
        for segment in &device.segments {
            state.own(SegmentSpan {
                address: segment.address,
                bytes: segment.bytes,
                stream: segment.stream,
                pool: segment.pool,
                kind: segment.kind,
                expandable: segment.expandable,
                obtained: None,
                released: None,
                stack: segment.stack,
            });
            for block in segment.blocks.iter().filter(|block| block.state != BlockState::Inactive) {
                let mut span = span_at(block.address, block.requested_bytes, segment.stream);
                span.bytes = block.bytes;
                span.pool = segment.pool;
                span.stack = block.stack;
                state.begin(span, block.state == BlockState::Allocated);
            }
        }
        state.add_what_the_segments_lack(device);
        state
    }

    /// A trace that is not a snapshot may lack its final segments: what its events leave behind is put in their place.
    fn add_what_the_segments_lack(&mut self, device: &DeviceTrace) {
        let lacks_segments = device.segments.is_empty();
        if lacks_segments {
            for (address, (end, at)) in memory_left(device) {
                let event = &device.events[at as usize];
                let piece = piece_of(event, event.action == Action::SegmentMap, None, self.config);
                self.own(SegmentSpan { address, bytes: end - address, ..piece });
            }
        }
        let mut open_blocks: FxHashMap<u64, (EventIndex, bool)> = FxHashMap::default();
        for (at, event) in device.events.iter().enumerate() {
            match event.action {
                Action::Alloc => drop(open_blocks.insert(event.addr, (at as EventIndex, true))),
                Action::FreeRequested => {
                    if let Some((_, held)) = open_blocks.get_mut(&event.addr) {
                        *held = false;
                    }
                }
                Action::FreeCompleted => drop(open_blocks.remove(&event.addr)),
                _ => {}
            }
        }
        let mut missing: Vec<(EventIndex, bool)> = open_blocks.into_values().collect();
        missing.sort_unstable();
        for (at, held) in missing {
            let event = &device.events[at as usize];
            if !self.live.contains_key(&event.addr) && (held || lacks_segments) {
                let span = self.sized(event);
                self.begin(span, held);
            }
        }
    }

    fn undo(&mut self, at: EventIndex, event: &Event) {
        match event.action {
            Action::Alloc => self.undo_alloc(at, event),
            Action::FreeRequested => self.undo_free_requested(at, event),
            Action::FreeCompleted => self.undo_free_completed(at, event),
            Action::SegmentAlloc | Action::SegmentMap => self.undo_obtained(at, event),
            Action::SegmentFree | Action::SegmentUnmap => {
                let expandable = event.action == Action::SegmentUnmap;
                self.own(piece_of(event, expandable, Some(at), self.config));
            }
            Action::Oom | Action::Snapshot | Action::Other(_) => {}
        }
    }

    fn undo_alloc(&mut self, at: EventIndex, event: &Event) {
        while self.toggles.last().is_some_and(|&(from, _)| from > at) {
            self.toggles.pop();
        }
        let life = self.live.remove(&event.addr);
        // Who lies beyond the block is known for this very moment, so this is where its bytes can be told.
        let sized = self.sized(event);
        let id = if let Some(life) = life {
            life.id as usize
        } else {
            // The recorder skipped the frees: the block was gone before the next one came here.
            self.spans.push(LiveSpan { free_requested: Some(at), free_completed: Some(at), ..sized.clone() });
            self.spans.len() - 1
        };
        let span = &mut self.spans[id];
        span.bytes = sized.bytes;
        span.pool = sized.pool;
        span.alloc = Some(at);
        span.stream = event.stream;
        span.stack = event.stack;
        span.category = event.category;
        span.compile_context = event.compile_context;
        span.forward = event.forward;
    }

    fn undo_free_requested(&mut self, at: EventIndex, event: &Event) {
        if let Some(life) = self.live.get_mut(&event.addr) {
            if !life.held {
                life.held = true;
                self.spans[life.id as usize].free_requested = Some(at);
            }
            return;
        }
        // The recorder skipped `free_completed`: nothing says that the block waited for a stream.
        let mut span = self.sized(event);
        span.free_requested = Some(at);
        span.free_completed = Some(at);
        self.begin(span, true);
    }

    fn undo_free_completed(&mut self, at: EventIndex, event: &Event) {
        if !self.live.contains_key(&event.addr) {
            let mut span = self.sized(event);
            span.free_completed = Some(at);
            let held = !self.says_free_requested;
            span.free_requested = held.then_some(at);
            self.begin(span, held);
        }
    }

    /// The block an event speaks of, with the bytes it takes of the free memory that begins at its address.
    fn sized(&mut self, event: &Event) -> LiveSpan {
        let mut span = span_at(event.addr, event.bytes, event.stream);
        let rounded_bytes = self.config.round(event.bytes);
        span.bytes = rounded_bytes;
        span.pool = event.pool.unwrap_or(PoolId::DEFAULT);
        let piece = self.owned.range(..=event.addr).next_back().map(|(_, &piece)| piece);
        let piece = piece.map(|piece| &mut self.pieces[piece as usize]);
        let Some(piece) = piece.filter(|piece| event.addr < piece.address + piece.bytes) else {
            self.lost_segments = true;
            return span;
        };
        let end = piece.address + piece.bytes;
        if event.pool.is_none() {
            span.pool = piece.pool;
        }
        let small = rounded_bytes <= SMALL_LIMIT_BYTES;
        piece.kind = if small { SegmentKind::Small } else { SegmentKind::Large };
        let never_split = self.unsplit_pools.contains(&span.pool);
        if !piece.expandable && (never_split || !small) {
            let expandable = self.toggles.last().is_some_and(|&(_, on)| on);
            let end = self.live.range(event.addr..).next().map_or(end, |(&next, _)| next.min(end));
            let free_bytes = end - event.addr;
            if never_split || !self.config.splits(free_bytes, rounded_bytes, small, expandable) {
                span.bytes = free_bytes.max(rounded_bytes);
            }
        }
        span
    }

    fn begin(&mut self, span: LiveSpan, held: bool) {
        self.live.insert(span.address, Life { id: self.spans.len() as BlockId, held });
        self.spans.push(span);
    }

    fn own(&mut self, piece: SegmentSpan) {
        self.owned.insert(piece.address, self.pieces.len() as u32);
        self.pieces.push(piece);
    }

    /// Memory was obtained by the event: before it, the stretch was not owned. A mapped stretch may by now be part
    /// of a longer one, or be cut in several.
    fn undo_obtained(&mut self, at: EventIndex, event: &Event) {
        let end = event.addr.saturating_add(event.bytes);
        self.cut_at(event.addr);
        self.cut_at(end);
        let inside: Vec<u64> = self.owned.range(event.addr..end).map(|(&address, _)| address).collect();
        for address in inside {
            if let Some(piece) = self.owned.remove(&address) {
                let piece = &mut self.pieces[piece as usize];
                piece.obtained = Some(at);
                piece.stack = event.stack;
            }
        }
    }

    /// Makes `address` a boundary between two owned pieces, if it lies inside one.
    fn cut_at(&mut self, address: u64) {
        let Some((_, &index)) = self.owned.range(..address).next_back() else { return };
        let piece = &mut self.pieces[index as usize];
        let end = piece.address + piece.bytes;
        if end > address {
            let mut rest = piece.clone();
            piece.bytes = address - piece.address;
            rest.address = address;
            rest.bytes = end - address;
            self.owned.insert(address, self.pieces.len() as u32);
            self.pieces.push(rest);
        }
    }

    fn into_spans(mut self) -> (Vec<LiveSpan>, Vec<SegmentSpan>) {
        // `None` sorts before every event, so ghosts come first.
        self.spans.sort_unstable_by_key(|span| (span.alloc, span.address, span.free_completed));
        for (id, span) in self.spans.iter_mut().enumerate() {
            span.id = id as BlockId;
        }
        self.pieces.sort_by_key(|piece| (piece.obtained, piece.address));
        (self.spans, self.pieces)
    }
}

/// The stretches of memory that events obtained and no event gave back: where each ends and which event obtained it.
fn memory_left(device: &DeviceTrace) -> BTreeMap<u64, (u64, EventIndex)> {
    let mut left: BTreeMap<u64, (u64, EventIndex)> = BTreeMap::new();
    for (at, event) in device.events.iter().enumerate() {
        let (start, end) = (event.addr, event.addr.saturating_add(event.bytes));
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => drop(left.insert(start, (end, at as EventIndex))),
            Action::SegmentFree | Action::SegmentUnmap => {
                let below = left.range(..end).rev().map(|(&from, &(to, by))| (from, to, by));
                let touched: Vec<_> = below.take_while(|&(_, to, _)| to > start).collect();
                for (from, to, by) in touched {
                    left.remove(&from);
                    if from < start {
                        left.insert(from, (start, by));
                    }
                    if to > end {
                        left.insert(end, (to, by));
                    }
                }
            }
            _ => {}
        }
    }
    left
}

fn span_at(address: u64, requested_bytes: u64, stream: u64) -> LiveSpan {
    LiveSpan {
        id: 0,
        address,
        requested_bytes,
        bytes: requested_bytes,
        stream,
        pool: PoolId::DEFAULT,
        alloc: None,
        free_requested: None,
        free_completed: None,
        stack: StackId::MISSING,
        category: Category::Unknown,
        compile_context: StringId::MISSING,
        forward: ForwardId::NONE,
    }
}

fn piece_of(event: &Event, expandable: bool, released: Option<EventIndex>, config: &Config) -> SegmentSpan {
    let small = if expandable {
        !event.bytes.is_multiple_of(config.large_segment_bytes)
    } else {
        event.bytes == SMALL_SEGMENT_BYTES
    };
    SegmentSpan {
        address: event.addr,
        bytes: event.bytes,
        stream: event.stream,
        pool: event.pool.unwrap_or(PoolId::DEFAULT),
        kind: if small { SegmentKind::Small } else { SegmentKind::Large },
        expandable,
        obtained: None,
        released,
        stack: StackId::MISSING,
    }
}
