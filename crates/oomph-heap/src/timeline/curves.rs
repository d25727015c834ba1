//! The books at every event, once every life and every segment is known.

use oomph_trace::{Action, BlockState, DeviceTrace, EventIndex};

use super::{Books, LiveSpan, OomEvent, Peak, SegmentSpan, Timeline};
use crate::config::Config;

pub(super) fn with_curves(
    device: &DeviceTrace,
    config: &Config,
    blocks: Vec<LiveSpan>,
    segments: Vec<SegmentSpan>,
) -> Timeline {
    let count = device.events.len();
    let mut changes = Changes::new(count);
    for block in &blocks {
        changes.add_block(block);
    }
    for segment in &segments {
        changes.reserved.add(segment.obtained, segment.released, segment.bytes);
    }
    let initial = Books {
        requested_bytes: changes.requested.before,
        allocated_bytes: changes.allocated.before,
        active_bytes: changes.active.before,
        reserved_bytes: changes.reserved.before,
    };
    let allocated_bytes = changes.allocated.into_curve();
    let reserved_bytes = changes.reserved.into_curve();
    let mut timeline = Timeline {
        blocks,
        segments,
        initial,
        peak_allocated: peak_of(&allocated_bytes),
        peak_reserved: peak_of(&reserved_bytes),
        requested_bytes: changes.requested.into_curve(),
        allocated_bytes,
        active_bytes: changes.active.into_curve(),
        reserved_bytes,
        ooms: Vec::new(),
        config: config.clone(),
        lost_segments: false,
    };
    timeline.ooms = ooms_of(device, &timeline);
    timeline
}

/// One curve as steps up and down; sums that go down and up wrap round and meet again.
struct Steps {
    before: u64,
    at: Vec<u64>,
}

impl Steps {
    fn new(count: usize) -> Self {
        Self { before: 0, at: vec![0; count] }
    }

    fn add(&mut self, from: Option<EventIndex>, to: Option<EventIndex>, bytes: u64) {
        match from {
            Some(from) => self.at[from as usize] = self.at[from as usize].wrapping_add(bytes),
            None => self.before += bytes,
        }
        if let Some(to) = to {
            self.at[to as usize] = self.at[to as usize].wrapping_sub(bytes);
        }
    }

    fn into_curve(self) -> Vec<u64> {
        let mut now = self.before;
        let mut curve = self.at;
        for step in &mut curve {
            now = now.wrapping_add(*step);
            *step = now;
        }
        curve
    }
}

struct Changes {
    requested: Steps,
    allocated: Steps,
    active: Steps,
    reserved: Steps,
}

impl Changes {
    fn new(count: usize) -> Self {
        let steps = || Steps::new(count);
        Self { requested: steps(), allocated: steps(), active: steps(), reserved: steps() }
    }

    fn add_block(&mut self, block: &LiveSpan) {
        self.requested.add(block.alloc, block.free_completed, block.requested_bytes);
        self.active.add(block.alloc, block.free_completed, block.bytes);
        if block.initial_state() != Some(BlockState::PendingFree) {
            self.allocated.add(block.alloc, block.free_requested, block.bytes);
        }
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

fn ooms_of(device: &DeviceTrace, timeline: &Timeline) -> Vec<OomEvent> {
    let failed = device.events.iter().enumerate().filter(|(_, event)| event.action == Action::Oom);
    failed
        .map(|(at, event)| OomEvent {
            event: at as EventIndex,
            bytes: event.bytes,
            device_free_bytes: event.addr,
            stream: event.stream,
            stack: event.stack,
            books: timeline.books_at(at as EventIndex),
        })
        .collect()
}
