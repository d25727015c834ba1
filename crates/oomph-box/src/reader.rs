//! Reads a box: one that a process is writing, or that a dead one left. Nothing in it is trusted.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::catching_up;
use crate::clock::Calibration;
use crate::device;
use crate::error::BoxError;
use crate::event;
use crate::host;
use crate::intern::{self, seal_frame};
use crate::lanes;
use crate::layout::{self, FRAME_WORDS, Layout, MAX_DEVICES, RECORD_WORDS, word};
use crate::memory::Memory;
use crate::model::{
    BoxFrame, DeviceState, Ended, EndedHow, Events, FrameNumber, HostState, LiveBlock, LiveSegment, Lost, NameNumber,
    Phase, Process, StackNumber, State,
};
use crate::process;
use crate::segments::Segments;
use crate::slot;
use crate::text;

/// A box, mapped for reading. What it says changes while its process runs; each answer is a copy.
pub struct BlackBox {
    memory: Memory,
    layout: Layout,
}

impl BlackBox {
    /// Whether a file begins as boxes do.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        let mut first = [0; 8];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
        read.is_ok() && u64::from_le_bytes(first) == layout::MAGIC
    }

    /// Opens the box at `path`.
    ///
    /// The file is mapped; it must not be cut short by another program meanwhile.
    ///
    /// # Errors
    /// If it cannot be read, or is no box of this version.
    pub fn open(path: &Path) -> Result<Self, BoxError> {
        let failed = |source| BoxError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let name = || path.display().to_string();
        if !about.is_file() || about.len() < layout::MIN_BYTES {
            return Err(BoxError::NotABox { name: name(), problem: "too small for a black box" });
        }
        Self::of_memory(Memory::map_read_only(&file).map_err(failed)?, about.len(), &name)
    }

    /// Reads a copy of a box.
    ///
    /// # Errors
    /// If it is no box of this version.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, BoxError> {
        let length = bytes.len() as u64;
        let memory = Memory::copy_of(&bytes);
        drop(bytes);
        Self::of_memory(memory, length, &|| "these bytes".to_owned())
    }

    fn of_memory(memory: Memory, bytes: u64, name: &dyn Fn() -> String) -> Result<Self, BoxError> {
        let wrong = |problem| BoxError::NotABox { name: name(), problem };
        if memory.load(word::MAGIC) != layout::MAGIC {
            return Err(wrong("not a black box"));
        }
        if memory.load(word::VERSION) != layout::VERSION {
            return Err(wrong("a black box of another version"));
        }
        if memory.load(word::BYTES) != bytes {
            return Err(wrong("a black box that was cut"));
        }
        let layout = Layout::of_bytes(bytes).ok_or_else(|| wrong("not the size of a black box"))?;
        Ok(Self { memory, layout })
    }

    /// The process it is about.
    #[must_use]
    pub fn process(&self) -> Process {
        Process {
            pid: self.memory.load(word::PID) as u32,
            start_ticks: self.memory.load(word::START_TICKS),
            created_us: self.memory.load(word::CREATED_US),
        }
    }

    /// Whether that process still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let Process { pid, start_ticks, .. } = self.process();
        process::is_alive(pid, start_ticks)
    }

    /// What the job is doing.
    #[must_use]
    pub fn state(&self) -> State {
        let load = |at| self.memory.load(at);
        let ended = match load(word::ENDED) {
            0 => None,
            how => Some(Ended { how: EndedHow::from_number(how as u8), exit_code: load(word::EXIT_CODE) as i32 }),
        };
        State {
            step: load(word::STEP),
            batches: load(word::BATCHES),
            phase: Phase::from_number(load(word::PHASE) as u8).unwrap_or(Phase::Setup),
            step_started_us: load(word::STEP_STARTED_US),
            updated_us: load(word::UPDATED_US),
            ended,
        }
    }

    /// Every device that was heard of, by number.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceState> {
        (0..MAX_DEVICES as u8).filter_map(|ordinal| device::read(&self.memory, self.layout.devices, ordinal)).collect()
    }

    /// Memory on the host.
    #[must_use]
    pub fn host(&self) -> HostState {
        host::read(&self.memory)
    }

    /// What had no room.
    #[must_use]
    pub fn lost(&self) -> Lost {
        Lost {
            blocks: self.memory.load(word::LOST_BLOCKS),
            segments: self.memory.load(word::LOST_SEGMENTS),
            stacks: self.memory.load(word::LOST_STACKS),
            facts: self.memory.load(word::LOST_FACTS),
        }
    }

    /// Blocks that were not given back yet, by address.
    #[must_use]
    pub fn live_blocks(&self) -> Vec<LiveBlock> {
        let mut found = catching_up::live_blocks(&self.memory, &self.layout);
        // What was given back last is not in the ring yet.
        for ordinal in 0..MAX_DEVICES as u8 {
            let pending = device::pending(&self.memory, self.layout.devices, ordinal);
            if let Some(block) = found.get_mut(&pending) {
                block.free_requested = true;
            }
        }
        found.into_values().collect()
    }

    /// Memory that the allocators have from the driver, by address.
    #[must_use]
    pub fn live_segments(&self) -> Vec<LiveSegment> {
        let segments = Segments { memory: &self.memory, region: self.layout.segments };
        let mut found: Vec<_> = segments.slots().filter_map(slot::segment).collect();
        found.sort_unstable_by_key(|segment| segment.address);
        found
    }

    /// What happened from event `number` on, as far as it is still there.
    #[must_use]
    pub fn events_since(&self, number: u64) -> Events {
        let room = self.layout.ring.records(RECORD_WORDS) as u64;
        let end = self.memory.words().get(word::EVENTS).map_or(0, |word| word.load(Acquire));
        let first = number.max(end.saturating_sub(room));
        let mut found = Events { events: Vec::new(), lost: first.saturating_sub(number).min(end), next: end };
        let clock = Calibration::of(&self.memory);
        for number in first..end {
            let at = self.layout.ring.start + (number % room.max(1)) as usize * RECORD_WORDS;
            let words = self.memory.record::<RECORD_WORDS>(at).map(|words| words.each_ref().map(|w| w.load(Relaxed)));
            match words.and_then(|words| event::decode(number, words, clock)) {
                Some((event, second)) => {
                    found.events.push((number, event));
                    found.events.extend(second.map(|event| (number, event)));
                }
                None => found.lost += 1,
            }
        }
        found
    }

    /// The lines of a stack, innermost first; empty if there is no such stack.
    #[must_use]
    pub fn stack(&self, stack: StackNumber) -> Vec<BoxFrame> {
        self.stack_frames(stack).into_iter().filter_map(|frame| self.frame(frame)).collect()
    }

    /// The frames of a stack, innermost first: stacks that share callers share their numbers.
    #[must_use]
    pub fn stack_frames(&self, stack: StackNumber) -> Vec<FrameNumber> {
        intern::read_stack(&self.memory, self.layout.stacks, stack)
    }

    /// One frame.
    #[must_use]
    pub fn frame(&self, frame: FrameNumber) -> Option<BoxFrame> {
        let region = self.layout.frames;
        let number = frame.0 as usize;
        if number == 0 || number >= region.records(FRAME_WORDS) {
            return None;
        }
        let words = self.memory.record::<FRAME_WORDS>(region.start + number * FRAME_WORDS)?;
        let words = words.each_ref().map(|word| word.load(Relaxed));
        let [names, line, module_pointer] = words;
        if seal_frame(words) != words {
            return None;
        }
        let name = |number: u64| self.name(NameNumber(number as u32)).unwrap_or_default();
        Some(BoxFrame { file: name(names), function: name(names >> 32), line: line as u32, module_pointer })
    }

    /// A name.
    #[must_use]
    pub fn name(&self, name: NameNumber) -> Option<String> {
        if name.0 == 0 {
            return None;
        }
        text::read_string(&self.memory, self.layout.strings, name.0 as usize)
    }

    /// Stream and pool of a lane; zeros (the default stream and pool) if there is no such lane.
    #[must_use]
    pub fn lane(&self, lane: u16) -> (u64, (u64, u64)) {
        lanes::read(&self.memory, self.layout.lanes, lane).unwrap_or_default()
    }

    /// What only the job knew: lines of JSON, oldest first, whole ones only.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let region = self.layout.facts;
        let end = (self.memory.load(word::FACTS_USED) as usize).min(region.words);
        let mut facts = Vec::new();
        let mut offset = 0;
        while offset < end {
            match text::read(&self.memory, region, offset) {
                text::Found::Nothing => break,
                text::Found::Broken(words) => offset += words,
                text::Found::Text(bytes, words) => {
                    offset += words;
                    facts.extend(String::from_utf8(bytes).ok());
                }
            }
        }
        facts
    }

    /// A question that was not answered yet.
    #[must_use]
    pub fn question(&self) -> Option<u64> {
        let asked = self.memory.words().get(word::ASKED).map_or(0, |word| word.load(Acquire));
        (asked > self.memory.load(word::ANSWERED)).then_some(asked)
    }

    /// What the last question was.
    #[must_use]
    pub fn question_text(&self) -> Option<String> {
        text::read_string(&self.memory, self.layout.question, 0)
    }
}
