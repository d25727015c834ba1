//! Reads a file, or as much of it as is there.

use crate::error::TraceError;
use crate::model::event::{Action, Event};
use crate::model::mark::MarkStage;
use crate::model::segment::Segment;
use crate::model::stack::{ForwardId, StackId, StackTable, StringId};
use crate::model::trace::{DeviceTrace, Trace, Truncation};

use super::chunk;
use super::record::Record;

/// Real files unfold 3 to 30 times; a file made to hurt must not unfold without end.
const MAX_UNFOLDED_RATIO: usize = 100;

/// Small files may unfold more.
const ALWAYS_ALLOWED_BYTES: usize = 64 << 20;

/// Every device costs memory, and PyTorch numbers them in 8 bits.
const MAX_DEVICES: usize = 256;

/// Reads everything up to the last whole chunk; [`Trace::truncated`] tells if the end is missing.
pub(crate) fn read(data: &[u8]) -> Result<Trace, TraceError> {
    let mut trace = Trace::new(chunk::read_header(data)?);
    let mut at = chunk::HEADER_BYTES;
    let mut bytes_left = data.len().saturating_mul(MAX_UNFOLDED_RATIO).max(ALWAYS_ALLOWED_BYTES);
    let mut ended = false;
    while let Some((packed, next)) = chunk::read_chunk(data, at) {
        let record = chunk::unfold(packed, at, bytes_left)?;
        bytes_left -= record.len();
        let record = postcard::from_bytes(&record)
            .map_err(|problem| damaged(at, &format!("a record that cannot be decoded ({problem})")))?;
        if ended {
            return Err(damaged(at, "a record after the end"));
        }
        ended = matches!(record, Record::End);
        take_in(record, &mut trace).ok_or_else(|| damaged(at, "a record that refers to what is not there"))?;
        at = next;
    }
    if !ended || at < data.len() {
        trace.truncated = Some(Truncation { good_bytes: at as u64, lost_bytes: (data.len() - at) as u64 });
    }
    Ok(trace)
}

fn damaged(at: usize, problem: &str) -> TraceError {
    TraceError::malformed(at, format!("{problem}: the file is damaged or of a newer oomph"))
}

/// Adds what a record says; `None` if it refers to something that was never defined.
fn take_in(record: Record, trace: &mut Trace) -> Option<()> {
    match record {
        Record::Strings(texts) => trace.stacks.strings.extend(texts.into_iter().map(String::into_boxed_str)),
        Record::Frames(frames) => {
            let table = &mut trace.stacks;
            frames.iter().all(|frame| has_string(table, frame.name) && has_string(table, frame.file)).then_some(())?;
            table.frames.extend(frames);
        }
        Record::Stacks(stacks) => {
            let table = &mut trace.stacks;
            for stack in stacks {
                stack.iter().all(|frame| (frame.0 as usize) < table.frames.len()).then_some(())?;
                table.stack_frames.extend(stack);
                table.stack_starts.push(u32::try_from(table.stack_frames.len()).ok()?);
            }
        }
        Record::Forwards(forwards) => {
            let table = &mut trace.stacks;
            forwards.iter().flatten().all(|&line| has_string(table, line)).then_some(())?;
            table.forwards.extend(forwards);
        }
        Record::Device(about) => {
            let device = device_mut(trace, about.ordinal)?;
            device.total_bytes = about.total_bytes;
            device.limit_bytes = about.limit_bytes;
            device.other_process_bytes = about.other_process_bytes;
        }
        Record::Events(batch) => {
            let device = device_mut(trace, batch.ordinal)?;
            let at = device.events.len();
            let (mut events, mut extra) = (std::mem::take(&mut device.events), std::mem::take(&mut device.event_extra));
            let ordinal = batch.ordinal;
            batch.append_to(&mut events, &mut extra)?;
            events[at..].iter().all(|event| is_sound(&trace.stacks, event)).then_some(())?;
            let device = device_mut(trace, ordinal)?;
            (device.events, device.event_extra) = (events, extra);
        }
        Record::Marks(marks) => {
            let known = |stage| match stage {
                MarkStage::Other(text) => has_string(&trace.stacks, text),
                _ => true,
            };
            marks.iter().all(|mark| has_string(&trace.stacks, mark.name) && known(mark.stage)).then_some(())?;
            trace.marks.extend(marks);
        }
        Record::Settings(settings) => trace.settings = settings,
        Record::Segments(books) => {
            books.segments.iter().all(|segment| is_sound_segment(&trace.stacks, segment)).then_some(())?;
            let device = device_mut(trace, books.ordinal)?;
            if !books.continues {
                device.segments.clear();
            }
            device.segments.extend(books.segments);
        }
        Record::Extra(extra) => trace.extra = extra,
        Record::Modules(modules) => {
            modules.runs.iter().all(|&(_, module)| has_string(&trace.stacks, module)).then_some(())?;
            modules.complete(&mut device_mut(trace, modules.ordinal)?.events)?;
        }
        Record::End => {}
    }
    Some(())
}

fn is_sound(table: &StackTable, event: &Event) -> bool {
    has_stack(table, event.stack)
        && (event.forward == ForwardId::NONE || (event.forward.0 as usize) < table.forwards.len())
        && has_string(table, event.compile_context)
        && has_string(table, event.user_metadata)
        && match event.action {
            Action::Other(name) => has_string(table, name),
            _ => true,
        }
}

fn is_sound_segment(table: &StackTable, segment: &Segment) -> bool {
    has_stack(table, segment.stack) && segment.blocks.iter().all(|block| has_stack(table, block.stack))
}

fn has_string(table: &StackTable, id: StringId) -> bool {
    id == StringId::MISSING || (id.0 as usize) < table.strings.len()
}

fn has_stack(table: &StackTable, id: StackId) -> bool {
    id == StackId::MISSING || (id.0 as usize) < table.stack_count()
}

fn device_mut(trace: &mut Trace, ordinal: u32) -> Option<&mut DeviceTrace> {
    let at = trace.devices.partition_point(|device| device.ordinal < ordinal);
    if trace.devices.get(at).is_none_or(|device| device.ordinal != ordinal) {
        if trace.devices.len() == MAX_DEVICES {
            return None;
        }
        trace.devices.insert(at, DeviceTrace { ordinal, ..DeviceTrace::default() });
    }
    Some(&mut trace.devices[at])
}
