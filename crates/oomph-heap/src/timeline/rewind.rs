//! The walk backwards from the final segments to the first event.

use std::collections::BTreeMap;

use oomph_trace::{
    Action, BlockState, Category, DeviceTrace, Event, EventIndex, ForwardId, PoolId, SegmentKind, StackId, StringId,
};
use rustc_hash::FxHashMap;

use super::{BlockId, Books, LiveSpan, OomEvent, Peak, SegmentSpan, Timeline};
use crate::config::{Config, SMALL_LIMIT_BYTES, SMALL_SEGMENT_BYTES};

pub(super) fn rewind(device: &DeviceTrace, config: &Config) -> Timeline {
    let mut state = Rewind::at_the_end(device, config);
    let count = device.events.len();
    let mut curves = Curves::with_length(count);
    let mut ooms = Vec::new();
    for (at, event) in device.events.iter().enumerate().rev() {
        curves.set(at, state.books);
        state.undo(at as EventIndex, event, &mut ooms);
    }
    ooms.reverse();
    let initial = state.books;
    let (blocks, segments) = state.into_spans();
    Timeline {
        blocks,
        segments,
        initial,
        peak_allocated: peak_of(&curves.allocated),
        peak_reserved: peak_of(&curves.reserved),
        requested_bytes: curves.requested,
        allocated_bytes: curves.allocated,
        active_bytes: curves.active,
        reserved_bytes: curves.reserved,
        ooms,
        config: config.clone(),
    }
}

struct Curves {
    requested: Vec<u64>,
    allocated: Vec<u64>,
    active: Vec<u64>,
    reserved: Vec<u64>,
}

impl Curves {
    fn with_length(count: usize) -> Self {
        let curve = || vec![0; count];
        Self { requested: curve(), allocated: curve(), active: curve(), reserved: curve() }
    }

    fn set(&mut self, at: usize, books: Books) {
        self.requested[at] = books.requested_bytes;
        self.allocated[at] = books.allocated_bytes;
        self.active[at] = books.active_bytes;
        self.reserved[at] = books.reserved_bytes;
    }
}

fn peak_of(curve: &[u64]) -> Peak {
    let mut peak = Peak { bytes: curve.first().copied().unwrap_or(0), event: 0 };
    for (at, &bytes) in curve.iter().enumerate() {
        if bytes > peak.bytes {
            peak = Peak { bytes, event: at as EventIndex };
        }
    }
    peak
}

struct Life {
    id: BlockId,
    /// Whether a client holds the block; otherwise a stream still uses it.
    held: bool,
}

struct Rewind<'a> {
    config: &'a Config,
    books: Books,
    /// Every life met so far, in the order of their deaths backwards.
    spans: Vec<LiveSpan>,
    /// The lives going on at the present point of the walk, by address.
    live: BTreeMap<u64, Life>,
    /// Whether the recorder wrote `free_requested` at all; a user can have it skipped.
    says_free_requested: bool,
    pieces: Vec<SegmentSpan>,
    /// The stretches owned at the present point of the walk, by address.
    owned: BTreeMap<u64, u32>,
}

impl<'a> Rewind<'a> {
    fn at_the_end(device: &DeviceTrace, config: &'a Config) -> Self {
        let mut state = Self {
            config,
            books: Books::default(),
            spans: Vec::with_capacity(device.events.len() / 3),
            live: BTreeMap::new(),
            says_free_requested: device.events.iter().any(|event| event.action == Action::FreeRequested),
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
        let mut open_segments: FxHashMap<u64, EventIndex> = FxHashMap::default();
        let mut open_blocks: FxHashMap<u64, (EventIndex, bool)> = FxHashMap::default();
        for (at, event) in device.events.iter().enumerate() {
            let at = at as EventIndex;
            match event.action {
                Action::SegmentAlloc | Action::SegmentMap => drop(open_segments.insert(event.addr, at)),
                Action::SegmentFree | Action::SegmentUnmap => drop(open_segments.remove(&event.addr)),
                Action::Alloc => drop(open_blocks.insert(event.addr, (at, true))),
                Action::FreeRequested => {
                    if let Some((_, allocated)) = open_blocks.get_mut(&event.addr) {
                        *allocated = false;
                    }
                }
                Action::FreeCompleted => drop(open_blocks.remove(&event.addr)),
                Action::Snapshot | Action::Oom | Action::Other(_) => {}
            }
        }
        if device.segments.is_empty() {
            let mut missing: Vec<EventIndex> = open_segments.into_values().collect();
            missing.sort_unstable();
            for at in missing {
                let event = &device.events[at as usize];
                self.own(piece_of(event, event.action == Action::SegmentMap, None, self.config));
            }
        }
        let mut missing: Vec<(EventIndex, bool)> = open_blocks.into_values().collect();
        missing.sort_unstable();
        for (at, allocated) in missing {
            let event = &device.events[at as usize];
            if !self.live.contains_key(&event.addr) && (allocated || device.segments.is_empty()) {
                let span = self.sized(event);
                self.begin(span, allocated);
            }
        }
    }

    fn undo(&mut self, at: EventIndex, event: &Event, ooms: &mut Vec<OomEvent>) {
        match event.action {
            Action::Alloc => self.undo_alloc(at, event),
            Action::FreeRequested => self.undo_free_requested(at, event),
            Action::FreeCompleted => self.undo_free_completed(at, event),
            Action::SegmentAlloc | Action::SegmentMap => self.undo_obtained(at, event),
            Action::SegmentFree | Action::SegmentUnmap => {
                let expandable = event.action == Action::SegmentUnmap;
                self.own(piece_of(event, expandable, Some(at), self.config));
            }
            Action::Oom => ooms.push(OomEvent {
                event: at,
                bytes: event.bytes,
                device_free_bytes: event.addr,
                stream: event.stream,
                stack: event.stack,
                books: self.books,
            }),
            Action::Snapshot | Action::Other(_) => {}
        }
    }

    fn undo_alloc(&mut self, at: EventIndex, event: &Event) {
        let Some(life) = self.live.remove(&event.addr) else {
            // The recorder skipped the frees: the block was gone before the next one came here.
            let mut span = self.sized(event);
            describe(&mut span, at, event);
            span.free_requested = Some(at);
            span.free_completed = Some(at);
            self.spans.push(span);
            return;
        };
        let span = &mut self.spans[life.id as usize];
        describe(span, at, event);
        self.books.requested_bytes = self.books.requested_bytes.saturating_sub(span.requested_bytes);
        self.books.active_bytes = self.books.active_bytes.saturating_sub(span.bytes);
        if life.held {
            self.books.allocated_bytes = self.books.allocated_bytes.saturating_sub(span.bytes);
        }
    }

    fn undo_free_requested(&mut self, at: EventIndex, event: &Event) {
        if let Some(life) = self.live.get_mut(&event.addr) {
            if !life.held {
                life.held = true;
                let span = &mut self.spans[life.id as usize];
                span.free_requested = Some(at);
                self.books.allocated_bytes += span.bytes;
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

    /// The block an event speaks of, with the bytes it took: what lies free around it tells.
    fn sized(&mut self, event: &Event) -> LiveSpan {
        let mut span = span_at(event.addr, event.bytes, event.stream);
        let rounded_bytes = self.config.round(event.bytes);
        span.bytes = rounded_bytes;
        span.pool = event.pool.unwrap_or(PoolId::DEFAULT);
        let piece = self.owned.range(..=event.addr).next_back().map(|(_, &piece)| piece);
        let Some(piece) = piece.map(|piece| &mut self.pieces[piece as usize]) else { return span };
        let end = piece.address + piece.bytes;
        if event.addr >= end {
            return span;
        }
        if event.pool.is_none() {
            span.pool = piece.pool;
        }
        let small = rounded_bytes <= SMALL_LIMIT_BYTES;
        piece.kind = if small { SegmentKind::Small } else { SegmentKind::Large };
        if !piece.expandable && !small {
            let end = self.live.range(event.addr..).next().map_or(end, |(&next, _)| next.min(end));
            let free_bytes = end - event.addr;
            if !self.config.splits(free_bytes, rounded_bytes, false, false) {
                span.bytes = free_bytes.max(rounded_bytes);
            }
        }
        span
    }

    fn begin(&mut self, span: LiveSpan, held: bool) {
        self.books.requested_bytes += span.requested_bytes;
        self.books.active_bytes += span.bytes;
        if held {
            self.books.allocated_bytes += span.bytes;
        }
        self.live.insert(span.address, Life { id: self.spans.len() as BlockId, held });
        self.spans.push(span);
    }

    fn own(&mut self, piece: SegmentSpan) {
        self.books.reserved_bytes += piece.bytes;
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
                self.books.reserved_bytes = self.books.reserved_bytes.saturating_sub(piece.bytes);
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

/// Notes what the allocating event says of a block.
fn describe(span: &mut LiveSpan, at: EventIndex, event: &Event) {
    span.alloc = Some(at);
    span.stream = event.stream;
    span.stack = event.stack;
    span.category = event.category;
    span.compile_context = event.compile_context;
    span.forward = event.forward;
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
