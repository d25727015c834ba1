//! The snapshot's dictionaries, with PyTorch's own keys in PyTorch's own order.

use std::io::{self, Write};

use crate::error::TraceError;
use crate::model::event::{Action, Event};
use crate::model::extra::Value;
use crate::model::mark::{Mark, MarkStage};
use crate::model::segment::{Block, BlockState, PoolId, Segment, SegmentKind};
use crate::model::settings::AllocatorSettings;
use crate::model::stack::{ForwardId, FrameId, StackId, StringId};
use crate::model::trace::{DeviceTrace, Trace};
use crate::snapshot::OOMPH_KEY;

use super::own_to_value;
use super::pickle::{OpenList, Pickler, Slot};

/// Writes a trace as a torch memory snapshot: the pickle that `torch.cuda.memory._dump_snapshot` would write.
///
/// Reading it back gives the same trace. Frames and stacks are shared by reference, as PyTorch does.
///
/// # Errors
/// If `out` fails.
pub fn write_torch_snapshot(trace: &Trace, out: impl Write) -> Result<(), TraceError> {
    let mut writer = SnapshotWriter {
        to: Pickler::new(io::BufWriter::with_capacity(1 << 18, out))?,
        trace,
        strings: vec![None; trace.stacks.string_count()],
        frames: vec![None; trace.stacks.frame_count()],
        stacks: vec![None; trace.stacks.stack_count()],
        forwards: vec![None; trace.stacks.forward_count()],
    };
    writer.snapshot()?;
    Ok(writer.to.finish()?)
}

struct SnapshotWriter<'t, W: Write> {
    to: Pickler<W>,
    trace: &'t Trace,
    /// Where each handle's value is in the memo, once written.
    strings: Vec<Option<Slot>>,
    frames: Vec<Option<Slot>>,
    stacks: Vec<Option<Slot>>,
    forwards: Vec<Option<Slot>>,
}

impl<W: Write> SnapshotWriter<'_, W> {
    fn snapshot(&mut self) -> io::Result<()> {
        let trace = self.trace;
        self.to.open_dict()?;
        self.to.key("segments")?;
        let segments = trace.devices.iter().flat_map(|device| device.segments.iter().map(|one| (device.ordinal, one)));
        self.list(segments, |to, (ordinal, segment)| to.segment(ordinal, segment))?;
        self.to.key("device_traces")?;
        let ordinals = 0..trace.devices.iter().map(|device| device.ordinal + 1).max().unwrap_or(0);
        self.list(ordinals, |to, ordinal| match trace.device(ordinal) {
            Some(device) => to.events(device),
            None => to.list(std::iter::empty::<()>(), |_, ()| Ok(())),
        })?;
        self.to.key("allocator_settings")?;
        self.settings(&trace.settings)?;
        self.to.key("external_annotations")?;
        self.list(&trace.marks, Self::mark)?;
        if let Some(own) = own_to_value(trace) {
            self.to.key(OOMPH_KEY)?;
            self.to.value(&own)?;
        }
        self.extra(&trace.extra)?;
        self.to.close_dict()
    }

    fn segment(&mut self, ordinal: u32, segment: &Segment) -> io::Result<()> {
        self.to.open_dict()?;
        self.number("device", ordinal.into())?;
        self.number("address", segment.address)?;
        self.number("total_size", segment.bytes)?;
        self.number("allocated_size", segment.allocated_bytes)?;
        self.number("active_size", segment.active_bytes)?;
        self.number("requested_size", segment.requested_bytes)?;
        self.number("stream", segment.stream)?;
        if !has(&segment.extra, "segment_type") {
            self.to.key("segment_type")?;
            self.to.key(match segment.kind {
                SegmentKind::Small => "small",
                SegmentKind::Large => "large",
            })?;
        }
        self.pool("segment_pool_id", segment.pool)?;
        self.to.key("is_expandable")?;
        self.to.bool(segment.expandable)?;
        self.frames("frames", segment.stack)?;
        self.to.key("blocks")?;
        self.list(&segment.blocks, Self::block)?;
        self.extra(&segment.extra)?;
        self.to.close_dict()
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        self.to.open_dict()?;
        self.number("address", block.address)?;
        self.number("size", block.bytes)?;
        self.number("requested_size", block.requested_bytes)?;
        self.to.key("state")?;
        self.to.key(match block.state {
            BlockState::Allocated => "active_allocated",
            BlockState::PendingFree => "active_pending_free",
            BlockState::Inactive => "inactive",
        })?;
        self.frames("frames", block.stack)?;
        self.extra(&block.extra)?;
        self.to.close_dict()
    }

    fn events(&mut self, device: &DeviceTrace) -> io::Result<()> {
        let mut extras = device.event_extra.iter().peekable();
        self.list(device.events.iter().enumerate(), |to, (at, event)| {
            let extra = extras.next_if(|(of, _)| *of as usize == at);
            to.event(event, extra.map_or(&[], |(_, extra)| extra.as_slice()))
        })
    }

    fn event(&mut self, event: &Event, extra: &[(String, Value)]) -> io::Result<()> {
        self.to.open_dict()?;
        self.to.key("action")?;
        match event.action {
            Action::Other(name) => self.string(name)?,
            known => self.to.key(known.name().unwrap_or_default())?,
        }
        self.number(if event.action == Action::Oom { "device_free" } else { "addr" }, event.addr)?;
        self.number("size", event.bytes)?;
        self.number("stream", event.stream)?;
        self.number("time_us", event.time_us)?;
        self.text("compile_context", event.compile_context)?;
        self.text("user_metadata", event.user_metadata)?;
        self.frames("frames", event.stack)?;
        self.forward_frames(event.forward)?;
        if let Some(pool) = event.pool {
            self.pool("pool_id", pool)?;
        }
        if !has(extra, "module") {
            self.text("module", event.module)?;
        }
        if let Some(category) = event.category.torch_name()
            && !has(extra, "category")
        {
            self.to.key("category")?;
            self.to.key(category)?;
        }
        self.extra(extra)?;
        self.to.close_dict()
    }

    fn settings(&mut self, settings: &AllocatorSettings) -> io::Result<()> {
        self.to.open_dict()?;
        if *settings != AllocatorSettings::default() {
            if let Some(conf) = &settings.conf {
                self.to.key("PYTORCH_CUDA_ALLOC_CONF")?;
                self.to.text(conf)?;
            }
            if !has(&settings.extra, "max_split_size") {
                self.to.key("max_split_size")?;
                match settings.max_split_bytes {
                    Some(bytes) => self.to.u64(bytes)?,
                    None => self.to.i64(-1)?,
                }
            }
            if let Some(threshold) = settings.garbage_collection_threshold {
                self.to.key("garbage_collection_threshold")?;
                self.to.float(threshold)?;
            }
            if let Some(flag) = settings.expandable_segments {
                self.to.key("expandable_segments")?;
                self.to.bool(flag)?;
            }
            self.extra(&settings.extra)?;
            if !settings.roundup_power2_divisions.is_empty() {
                self.to.key("roundup_power2_divisions")?;
                self.to.open_dict()?;
                for &(mebibytes, divisions) in &settings.roundup_power2_divisions {
                    self.to.text(&mebibytes.to_string())?;
                    self.to.u64(divisions)?;
                }
                self.to.close_dict()?;
            }
        }
        self.to.close_dict()
    }

    fn mark(&mut self, mark: &Mark) -> io::Result<()> {
        self.to.open_dict()?;
        if mark.stage != MarkStage::Instant {
            self.to.key("stage")?;
        }
        match mark.stage {
            MarkStage::Start => self.to.key("START")?,
            MarkStage::End => self.to.key("END")?,
            MarkStage::Other(text) => self.string(text)?,
            MarkStage::Instant => {}
        }
        self.text("name", mark.name)?;
        if !has(&mark.extra, "device") {
            self.number("device", mark.device.into())?;
        }
        if !has(&mark.extra, "time_us") {
            self.number("time_us", mark.time_us)?;
        }
        self.extra(&mark.extra)?;
        self.to.close_dict()
    }

    fn frames(&mut self, key: &'static str, stack: StackId) -> io::Result<()> {
        if stack == StackId::MISSING {
            return Ok(());
        }
        self.to.key(key)?;
        if let Some(&Some(slot)) = self.stacks.get(stack.0 as usize) {
            return self.to.get(slot);
        }
        let trace = self.trace;
        self.list(trace.stacks.stack(stack), |to, &frame| to.frame(frame))?;
        let slot = self.to.memoize()?;
        if let Some(known) = self.stacks.get_mut(stack.0 as usize) {
            *known = Some(slot);
        }
        Ok(())
    }

    fn frame(&mut self, id: FrameId) -> io::Result<()> {
        if let Some(slot) = self.frames[id.0 as usize] {
            return self.to.get(slot);
        }
        let trace = self.trace;
        let frame = trace.stacks.frame(id);
        self.to.open_dict()?;
        self.text("name", frame.name)?;
        self.text("filename", frame.file)?;
        if !has(&frame.extra, "line") {
            self.number("line", frame.line.into())?;
        }
        self.extra(&frame.extra)?;
        self.to.close_dict()?;
        self.frames[id.0 as usize] = Some(self.to.memoize()?);
        Ok(())
    }

    fn forward_frames(&mut self, forward: ForwardId) -> io::Result<()> {
        if forward == ForwardId::NONE {
            return Ok(());
        }
        self.to.key("forward_frames")?;
        if let Some(&Some(slot)) = self.forwards.get(forward.0 as usize) {
            return self.to.get(slot);
        }
        let trace = self.trace;
        self.list(trace.stacks.forward(forward), |to, &line| to.string(line))?;
        let slot = self.to.memoize()?;
        if let Some(known) = self.forwards.get_mut(forward.0 as usize) {
            *known = Some(slot);
        }
        Ok(())
    }

    /// Text behind a handle, shared by all that use it.
    fn string(&mut self, id: StringId) -> io::Result<()> {
        if let Some(&Some(slot)) = self.strings.get(id.0 as usize) {
            return self.to.get(slot);
        }
        let trace = self.trace;
        self.to.text(trace.stacks.string(id))?;
        let slot = self.to.memoize()?;
        if let Some(known) = self.strings.get_mut(id.0 as usize) {
            *known = Some(slot);
        }
        Ok(())
    }

    fn text(&mut self, key: &'static str, id: StringId) -> io::Result<()> {
        if id == StringId::MISSING {
            return Ok(());
        }
        self.to.key(key)?;
        self.string(id)
    }

    fn number(&mut self, key: &'static str, number: u64) -> io::Result<()> {
        self.to.key(key)?;
        self.to.u64(number)
    }

    fn pool(&mut self, key: &'static str, pool: PoolId) -> io::Result<()> {
        self.to.key(key)?;
        self.to.pair(pool.0, pool.1)
    }

    fn extra(&mut self, extra: &[(String, Value)]) -> io::Result<()> {
        extra.iter().try_for_each(|(key, value)| {
            self.to.text(key)?;
            self.to.value(value)
        })
    }

    fn list<T>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
        mut one: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut list = OpenList::begin(&mut self.to)?;
        for element in elements {
            list.next(&mut self.to)?;
            one(self, element)?;
        }
        list.end(&mut self.to)
    }
}

/// Whether an unknown key stands in for a known one whose value the model cannot hold.
fn has(extra: &[(String, Value)], key: &str) -> bool {
    extra.iter().any(|(name, _)| name == key)
}
