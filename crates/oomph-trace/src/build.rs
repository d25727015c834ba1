//! Writes traces by hand: for tests, generators and recorders.

use crate::intern::Interner;
use crate::model::event::{Action, Category, Event};
use crate::model::extra::Extra;
use crate::model::mark::{Mark, MarkStage};
use crate::model::segment::{Block, BlockState, PoolId, Segment, SegmentKind};
use crate::model::settings::AllocatorSettings;
use crate::model::stack::{ForwardId, StackId, StringId};
use crate::model::trace::{DeviceTrace, Origin, Trace};

/// A stack as people write it: `(function, file, line)`, innermost first.
pub type Calls<'a> = &'a [(&'a str, &'a str, u32)];

/// Builds a [`Trace`] event by event.
///
/// Time advances by one microsecond an event unless [`TraceBuilder::at`] sets it; events go to the device, stream
/// and pool chosen last (0, 0 and none at the start).
///
/// ```
/// use oomph_trace::{Origin, TraceBuilder};
/// let mut job = TraceBuilder::new(Origin::RealRun);
/// let line = [("forward", "model.py", 12), ("<module>", "train.py", 40)];
/// job.mark_start("step 0");
/// job.segment_alloc(0x1000, 2 << 20, &line).alloc(0x1000, 512, &line).free(0x1000, 512, &line);
/// job.mark_end("step 0");
/// let trace = job.finish();
/// assert_eq!(trace.devices[0].events.len(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct TraceBuilder {
    trace: Trace,
    interner: Interner,
    device: u32,
    stream: u64,
    pool: Option<PoolId>,
    category: Category,
    module: StringId,
    time_us: u64,
}

impl TraceBuilder {
    /// Starts an empty trace.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self {
            trace: Trace::new(origin),
            interner: Interner::new(),
            device: 0,
            stream: 0,
            pool: None,
            category: Category::Unknown,
            module: StringId::MISSING,
            time_us: 0,
        }
    }

    /// Sends what follows to this device.
    pub fn device(&mut self, ordinal: u32) -> &mut Self {
        self.device = ordinal;
        self.device_mut();
        self
    }

    /// Sets the current device's total memory and the allocator's limit on it.
    pub fn capacity(&mut self, total_bytes: u64, limit_bytes: Option<u64>) -> &mut Self {
        let device = self.device_mut();
        device.total_bytes = Some(total_bytes);
        device.limit_bytes = limit_bytes;
        self
    }

    /// Sends what follows to this stream.
    pub fn stream(&mut self, stream: u64) -> &mut Self {
        self.stream = stream;
        self
    }

    /// Puts what follows into this pool.
    pub fn pool(&mut self, pool: Option<PoolId>) -> &mut Self {
        self.pool = pool;
        self
    }

    /// Says what the bytes of the events that follow are for.
    pub fn category(&mut self, category: Category) -> &mut Self {
        self.category = category;
        self
    }

    /// Says to which module of the model the bytes of the events that follow belong; `""` for none.
    pub fn module(&mut self, path: &str) -> &mut Self {
        self.module = if path.is_empty() { StringId::MISSING } else { self.interner.intern_string(path) };
        self
    }

    /// Sets the time of the next event or mark.
    pub fn at(&mut self, time_us: u64) -> &mut Self {
        self.time_us = time_us;
        self
    }

    /// Sets the allocator's configuration.
    pub fn settings(&mut self, settings: AllocatorSettings) -> &mut Self {
        self.trace.settings = settings;
        self
    }

    /// A block is taken; `bytes` is what was asked for.
    pub fn alloc(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::Alloc, addr, bytes, calls)
    }

    /// A block is given back and can be used again at once: `free_requested`, then `free_completed`.
    pub fn free(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::FreeRequested, addr, bytes, calls).event(Action::FreeCompleted, addr, bytes, calls)
    }

    /// A block is given back while a stream still uses it.
    pub fn free_requested(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::FreeRequested, addr, bytes, calls)
    }

    /// No stream uses the block any more.
    pub fn free_completed(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::FreeCompleted, addr, bytes, calls)
    }

    /// The allocator takes a segment from the driver.
    pub fn segment_alloc(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::SegmentAlloc, addr, bytes, calls)
    }

    /// The allocator gives a segment back to the driver.
    pub fn segment_free(&mut self, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::SegmentFree, addr, bytes, calls)
    }

    /// A request of `bytes` (rounded) fails while the driver has `device_free_bytes`.
    pub fn oom(&mut self, bytes: u64, device_free_bytes: u64, calls: Calls<'_>) -> &mut Self {
        self.event(Action::Oom, device_free_bytes, bytes, calls)
    }

    /// Anything else that happens.
    pub fn event(&mut self, action: Action, addr: u64, bytes: u64, calls: Calls<'_>) -> &mut Self {
        let stack = self.stack(calls);
        let event = Event {
            addr,
            bytes,
            stream: self.stream,
            time_us: self.tick(),
            stack,
            forward: ForwardId::NONE,
            compile_context: StringId::MISSING,
            user_metadata: StringId::MISSING,
            module: self.module,
            action,
            category: self.category,
            pool: self.pool,
        };
        self.push(event)
    }

    /// An event made elsewhere, whose handles come from this builder's [`TraceBuilder::interner`].
    pub fn push(&mut self, event: Event) -> &mut Self {
        self.device_mut().events.push(event);
        self
    }

    /// A stretch begins.
    pub fn mark_start(&mut self, name: &str) -> &mut Self {
        self.mark(name, MarkStage::Start)
    }

    /// A stretch ends.
    pub fn mark_end(&mut self, name: &str) -> &mut Self {
        self.mark(name, MarkStage::End)
    }

    /// A named moment or end of a stretch.
    pub fn mark(&mut self, name: &str, stage: MarkStage) -> &mut Self {
        let name = self.interner.intern_string(name);
        let mark = Mark { device: self.device, time_us: self.tick(), name, stage, extra: Extra::new() };
        self.trace.marks.push(mark);
        self
    }

    /// Adds a segment to the final books, laid out as `(bytes, requested bytes, state, stack)` from its first byte;
    /// what the blocks leave uncovered becomes one inactive block, and the sums are worked out.
    pub fn segment(
        &mut self,
        address: u64,
        bytes: u64,
        kind: SegmentKind,
        blocks: &[(u64, u64, BlockState, Calls<'_>)],
    ) -> &mut Self {
        let mut laid = Vec::with_capacity(blocks.len() + 1);
        let mut end = address;
        for &(block_bytes, requested_bytes, state, calls) in blocks {
            let stack = self.stack(calls);
            let extra = Extra::new();
            laid.push(Block { address: end, bytes: block_bytes, requested_bytes, state, stack, extra });
            end += block_bytes;
        }
        if end < address + bytes {
            let (bytes, state) = (address + bytes - end, BlockState::Inactive);
            let (stack, extra) = (StackId::EMPTY, Extra::new());
            laid.push(Block { address: end, bytes, requested_bytes: 0, state, stack, extra });
        }
        let sum = |keep: fn(BlockState) -> bool, of: fn(&Block) -> u64| -> u64 {
            laid.iter().filter(|block| keep(block.state)).map(of).sum()
        };
        let segment = Segment {
            address,
            bytes,
            allocated_bytes: sum(|state| state == BlockState::Allocated, |block| block.bytes),
            active_bytes: sum(|state| state != BlockState::Inactive, |block| block.bytes),
            requested_bytes: sum(|state| state != BlockState::Inactive, |block| block.requested_bytes),
            stream: self.stream,
            kind,
            pool: self.pool.unwrap_or_default(),
            expandable: false,
            stack: StackId::EMPTY,
            blocks: laid,
            extra: Extra::new(),
        };
        self.push_segment(segment)
    }

    /// Adds a segment made elsewhere to the current device's final books.
    pub fn push_segment(&mut self, segment: Segment) -> &mut Self {
        self.device_mut().segments.push(segment);
        self
    }

    /// Interns a stack for use in [`TraceBuilder::push`].
    pub fn stack(&mut self, calls: Calls<'_>) -> StackId {
        self.interner.intern_calls(calls)
    }

    /// The strings, frames and stacks so far.
    pub fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    /// The finished trace.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        self.trace.stacks = self.interner.into_table();
        self.trace
    }

    fn tick(&mut self) -> u64 {
        let now = self.time_us;
        self.time_us += 1;
        now
    }

    fn device_mut(&mut self) -> &mut DeviceTrace {
        let devices = &mut self.trace.devices;
        let at = devices.partition_point(|device| device.ordinal < self.device);
        if devices.get(at).is_none_or(|device| device.ordinal != self.device) {
            devices.insert(at, DeviceTrace { ordinal: self.device, ..DeviceTrace::default() });
        }
        &mut devices[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_stay_in_ordinal_order() {
        let mut job = TraceBuilder::new(Origin::RealRun);
        job.device(2).alloc(1, 2, &[]).device(0).alloc(3, 4, &[]).device(2).alloc(5, 6, &[]);
        let trace = job.finish();
        assert_eq!(trace.devices.iter().map(|d| (d.ordinal, d.events.len())).collect::<Vec<_>>(), [(0, 1), (2, 2)]);
    }

    #[test]
    fn a_segment_is_filled_up_and_summed() {
        let mut job = TraceBuilder::new(Origin::RealRun);
        let line: Calls<'_> = &[("f", "a.py", 1)];
        let blocks = [(512, 500, BlockState::Allocated, line), (1024, 1000, BlockState::PendingFree, line)];
        job.segment(0x1000, 4096, SegmentKind::Small, &blocks);
        let trace = job.finish();
        let segment = &trace.devices[0].segments[0];
        assert_eq!((segment.allocated_bytes, segment.active_bytes, segment.requested_bytes), (512, 1536, 1500));
        assert_eq!(segment.blocks[2].address, 0x1000 + 1536);
        assert_eq!(segment.blocks.iter().map(|block| block.bytes).sum::<u64>(), 4096);
    }
}
