//! Appends to a file as a job runs.

use std::io::Write;

use crate::error::TraceError;
use crate::intern::Interner;
use crate::model::event::Event;
use crate::model::extra::Extra;
use crate::model::mark::Mark;
use crate::model::segment::Segment;
use crate::model::settings::AllocatorSettings;
use crate::model::stack::StackId;
use crate::model::trace::{Origin, Trace};

use super::chunk;
use super::columns::EventColumns;
use super::record::{DeviceRecord, Record, SegmentsRecord};

/// So many events, or definitions, go into one chunk at most: large enough to compress well, small enough that a
/// killed job loses little.
const BATCH: usize = 8192;

/// Blocks are larger than events.
const BLOCK_BATCH: usize = 2048;

/// Text is split by its bytes.
const TEXT_BATCH_BYTES: usize = 1 << 20;

/// Writes oomph's own file while a job runs: what was appended before the last [`TraceWriter::flush`] survives a kill.
///
/// ```
/// use oomph_trace::{Origin, Trace, TraceBuilder, TraceWriter};
/// let mut job = TraceBuilder::new(Origin::RealRun);
/// job.alloc(0x1000, 512, &[("forward", "model.py", 3)]);
/// let event = job.clone().finish().devices[0].events[0];
///
/// let mut writer = TraceWriter::new(Vec::new(), Origin::RealRun)?;
/// let stack = writer.interner().intern_calls(&[("forward", "model.py", 3)]);
/// writer.append_event(0, &oomph_trace::Event { stack, ..event })?;
/// let file = writer.finish()?;
/// assert!(Trace::from_bytes(&file, "job.oomph")? == job.finish());
/// # Ok::<(), oomph_trace::TraceError>(())
/// ```
pub struct TraceWriter<W: Write> {
    out: W,
    interner: Interner,
    written: Written,
    /// Events not yet written, a batch a device.
    batches: Vec<EventColumns>,
    marks: Vec<Mark>,
}

/// How much of the interner is already in the file.
#[derive(Default)]
struct Written {
    strings: usize,
    frames: usize,
    stacks: usize,
    forwards: usize,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(out: W, origin: Origin) -> Result<Self, TraceError> {
        Self::with_interner(out, origin, Interner::new())
    }

    /// Begins a file with strings, frames and stacks that are already interned.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn with_interner(mut out: W, origin: Origin, interner: Interner) -> Result<Self, TraceError> {
        chunk::write_header(origin, &mut out)?;
        // The empty stack is in every table from the start.
        let written = Written { stacks: 1, ..Written::default() };
        Ok(Self { out, interner, written, batches: Vec::new(), marks: Vec::new() })
    }

    /// Where the handles of events and marks come from.
    pub fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    /// Says how large a card is, how much of it the allocator may take, and what other processes hold of it; the last
    /// word counts.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn set_device(
        &mut self,
        ordinal: u32,
        total_bytes: Option<u64>,
        limit_bytes: Option<u64>,
        other_process_bytes: Option<u64>,
    ) -> Result<(), TraceError> {
        self.record(&Record::Device(DeviceRecord { ordinal, total_bytes, limit_bytes, other_process_bytes }))
    }

    /// Says how the allocator is configured; the last word counts.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn set_settings(&mut self, settings: AllocatorSettings) -> Result<(), TraceError> {
        self.record(&Record::Settings(settings))
    }

    /// Keeps keys oomph does not know; the last word counts.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn set_extra(&mut self, extra: Extra) -> Result<(), TraceError> {
        self.record(&Record::Extra(extra))
    }

    /// Adds an event to a device's history.
    ///
    /// # Errors
    /// If `out` fails, which it is only asked to do once a batch is full.
    pub fn append_event(&mut self, ordinal: u32, event: &Event) -> Result<(), TraceError> {
        self.append_event_with(ordinal, event, Extra::new())
    }

    /// Adds an event with keys oomph does not know.
    ///
    /// # Errors
    /// As [`TraceWriter::append_event`].
    pub fn append_event_with(&mut self, ordinal: u32, event: &Event, extra: Extra) -> Result<(), TraceError> {
        let at = self.batches.iter().position(|batch| batch.ordinal == ordinal).unwrap_or_else(|| {
            self.batches.push(EventColumns::new(ordinal));
            self.batches.len() - 1
        });
        self.batches[at].push(event, extra);
        if self.batches[at].len() >= BATCH { self.write_pending() } else { Ok(()) }
    }

    /// Adds a mark.
    ///
    /// # Errors
    /// As [`TraceWriter::append_event`].
    pub fn append_mark(&mut self, mark: Mark) -> Result<(), TraceError> {
        self.marks.push(mark);
        if self.marks.len() >= BATCH { self.write_pending() } else { Ok(()) }
    }

    /// Says what a device's books are; the last word counts.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn set_segments(&mut self, ordinal: u32, segments: &[Segment]) -> Result<(), TraceError> {
        self.write_definitions()?;
        let mut continues = false;
        let mut rest = segments;
        loop {
            let mut blocks = 0;
            let few = rest.iter().take_while(|segment| {
                let first = blocks == 0;
                blocks += segment.blocks.len() + 1;
                first || blocks <= BLOCK_BATCH
            });
            let (these, later) = rest.split_at(few.count());
            self.record(&Record::Segments(SegmentsRecord { ordinal, continues, segments: these.to_vec() }))?;
            if later.is_empty() {
                return Ok(());
            }
            (continues, rest) = (true, later);
        }
    }

    /// Hands everything appended so far to `out`, whole.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.write_pending()?;
        Ok(self.out.flush()?)
    }

    /// Ends the file, so that readers know it is complete.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.write_pending()?;
        self.record(&Record::End)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_pending(&mut self) -> Result<(), TraceError> {
        self.write_definitions()?;
        for mut batch in std::mem::take(&mut self.batches) {
            let modules = batch.modules();
            self.record(&Record::Events(Box::new(batch)))?;
            if let Some(modules) = modules {
                self.record(&Record::Modules(modules))?;
            }
        }
        if !self.marks.is_empty() {
            let marks = std::mem::take(&mut self.marks);
            self.record(&Record::Marks(marks))?;
        }
        Ok(())
    }

    /// Writes the strings, frames and stacks that are new since the last time.
    fn write_definitions(&mut self) -> Result<(), TraceError> {
        let Self { out, interner, written, .. } = self;
        let table = interner.table();
        while written.strings < table.strings.len() {
            let mut bytes = 0;
            let few = table.strings[written.strings..].iter().take(BATCH).take_while(|text| {
                let first = bytes == 0;
                bytes += text.len() + 1;
                first || bytes <= TEXT_BATCH_BYTES
            });
            let texts: Vec<String> = few.map(ToString::to_string).collect();
            written.strings += texts.len();
            write_record(&Record::Strings(texts), out)?;
        }
        for frames in table.frames[written.frames..].chunks(BATCH) {
            write_record(&Record::Frames(frames.to_vec()), out)?;
        }
        written.frames = table.frames.len();
        while written.stacks < table.stack_count() {
            let end = table.stack_count().min(written.stacks + BATCH / 32);
            let stacks = (written.stacks..end).map(|at| table.stack(StackId(at as u32)).to_vec()).collect();
            write_record(&Record::Stacks(stacks), out)?;
            written.stacks = end;
        }
        for forwards in table.forwards[written.forwards..].chunks(BATCH / 32) {
            write_record(&Record::Forwards(forwards.to_vec()), out)?;
        }
        written.forwards = table.forwards.len();
        Ok(())
    }

    fn record(&mut self, record: &Record) -> Result<(), TraceError> {
        write_record(record, &mut self.out)
    }
}

fn write_record(record: &Record, out: &mut impl Write) -> Result<(), TraceError> {
    let bytes = postcard::to_stdvec(record)
        .map_err(|problem| TraceError::shape("record", format!("cannot be encoded ({problem})")))?;
    chunk::write_chunk(&bytes, out)
}

/// Writes a whole trace as one of oomph's own files.
///
/// # Errors
/// If `out` fails.
pub fn write_oomph_trace(trace: &Trace, out: impl Write) -> Result<(), TraceError> {
    let interner = Interner::from_table(trace.stacks.clone());
    let mut writer = TraceWriter::with_interner(out, trace.origin, interner)?;
    if trace.settings != AllocatorSettings::default() {
        writer.set_settings(trace.settings.clone())?;
    }
    if !trace.extra.is_empty() {
        writer.set_extra(trace.extra.clone())?;
    }
    for device in &trace.devices {
        writer.set_device(device.ordinal, device.total_bytes, device.limit_bytes, device.other_process_bytes)?;
        let mut extras = device.event_extra.iter().peekable();
        for (at, event) in device.events.iter().enumerate() {
            let extra = extras.next_if(|(of, _)| *of as usize == at).map(|(_, extra)| extra.clone());
            writer.append_event_with(device.ordinal, event, extra.unwrap_or_default())?;
        }
        writer.write_pending()?;
        writer.set_segments(device.ordinal, &device.segments)?;
    }
    for mark in &trace.marks {
        writer.append_mark(mark.clone())?;
    }
    writer.finish().map(drop)
}
