//! What was live when a history begins.

use std::collections::BTreeMap;

use oomph_box::{Action, BlackBox, BoxEvent, Category, Events, LiveBlock, LiveSegment, MemoryEvent, What};

/// Blocks and segments that were there before the first event, in the order in which they came to be.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// When the history begins.
    pub(super) time_us: u64,
    /// The segments.
    pub(super) segments: Vec<LiveSegment>,
    /// The blocks.
    pub(super) blocks: Vec<LiveBlock>,
}

/// Goes back from what is live now.
pub(super) fn start(the_box: &BlackBox, history: &Events) -> Start {
    let Some((first, event)) = history.events.first() else {
        return Start { time_us: 0, segments: the_box.live_segments(), blocks: the_box.live_blocks() };
    };
    // What was born later has its event, unless that was lost: then it cannot be told apart from what is torn.
    let mut blocks: BTreeMap<(u8, u64), LiveBlock> = BTreeMap::new();
    for block in the_box.live_blocks().into_iter().filter(|block| block.birth < *first) {
        blocks.insert((block.device, block.address), block);
    }
    let mut segments = Ranges::default();
    for segment in the_box.live_segments() {
        segments.add(segment);
    }
    for (number, event) in history.events.iter().rev() {
        if let BoxEvent { what: What::Memory(memory), .. } = event {
            undo(memory, *number, &mut blocks, &mut segments);
        }
    }
    let mut blocks: Vec<LiveBlock> = blocks.into_values().collect();
    blocks.sort_by_key(|block| block.birth);
    let mut segments = segments.into_segments();
    segments.sort_by_key(|segment| segment.birth);
    Start { time_us: event.time_us, segments, blocks }
}

fn undo(memory: &MemoryEvent, number: u64, blocks: &mut BTreeMap<(u8, u64), LiveBlock>, segments: &mut Ranges) {
    let place = (memory.device, memory.address);
    match memory.action {
        Action::Alloc => drop(blocks.remove(&place)),
        Action::FreeCompleted => drop(blocks.insert(place, block_of(memory))),
        Action::SegmentAlloc | Action::SegmentMap => segments.remove(memory),
        Action::SegmentFree | Action::SegmentUnmap => segments.add(segment_of(memory, number)),
        Action::FreeRequested | Action::Snapshot | Action::Oom => {}
    }
}

/// A block that was freed in the history: nobody knows any more when it was born.
fn block_of(memory: &MemoryEvent) -> LiveBlock {
    LiveBlock {
        device: memory.device,
        address: memory.address,
        bytes: memory.bytes,
        stack: memory.stack,
        lane: memory.lane,
        category: Category::Unknown,
        module: 0,
        birth: 0,
        free_requested: false,
    }
}

fn segment_of(memory: &MemoryEvent, number: u64) -> LiveSegment {
    LiveSegment {
        device: memory.device,
        address: memory.address,
        bytes: memory.bytes,
        stack: memory.stack,
        lane: memory.lane,
        expandable: memory.action == Action::SegmentUnmap,
        birth: number,
    }
}

/// Stretches of owned memory by device and address; expandable segments come and go in pieces.
#[derive(Default)]
struct Ranges(BTreeMap<(u8, u64), LiveSegment>);

impl Ranges {
    fn add(&mut self, segment: LiveSegment) {
        self.0.insert((segment.device, segment.address), segment);
    }

    /// Takes a stretch out, and leaves what lies on either side of it.
    fn remove(&mut self, memory: &MemoryEvent) {
        let (from, to) = (memory.address, memory.address.saturating_add(memory.bytes));
        let touched: Vec<LiveSegment> = self
            .0
            .range(..(memory.device, to))
            .rev()
            .take_while(|((device, _), _)| *device == memory.device)
            .take_while(|(_, segment)| segment.address.saturating_add(segment.bytes) > from)
            .map(|(_, segment)| *segment)
            .collect();
        for segment in touched {
            self.0.remove(&(segment.device, segment.address));
            let end = segment.address.saturating_add(segment.bytes);
            if segment.address < from {
                self.add(LiveSegment { bytes: from - segment.address, ..segment });
            }
            if end > to {
                self.add(LiveSegment { address: to, bytes: end - to, ..segment });
            }
        }
    }

    fn into_segments(self) -> Vec<LiveSegment> {
        self.0.into_values().collect()
    }
}
