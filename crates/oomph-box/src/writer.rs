//! Writes a box.
//!
//! Everything here is called in somebody else's process, often under the lock of PyTorch's allocator: no call blocks,
//! allocates or fails. What has no room is counted.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard};

use crate::blocks::Blocks;
use crate::catching_up::BATCH;
use crate::clock;
use crate::error::BoxError;
use crate::event::{self, Words};
use crate::intern::{self, Interner, frame_words};
use crate::lanes;
use crate::layout::{self, Layout, MAX_MESSAGE_BYTES, RECORD_WORDS, word};
use crate::memory::{self, Memory};
use crate::model::{Category, EndedHow, FrameNumber, NameNumber, Phase, StackNumber, Stage};
use crate::process;
use crate::segments::Segments;
use crate::slot;
use crate::text;

/// Attempts to get at what another thread holds before it is given up: far longer than anybody holds it, unless the kernel
/// has just stopped that thread.
const LOCK_ATTEMPTS: u32 = 10_000;

/// How far ahead of the ring's end memory is asked for: eight cache lines, some microseconds of a busy job.
const RECORDS_AHEAD: usize = 16;

/// A box that is being written.
pub struct Writer {
    pub(crate) memory: Memory,
    pub(crate) layout: Layout,
    interner: Mutex<Interner>,
    /// Held by whoever brings the table of live blocks up to date.
    catching_up: Mutex<()>,
}

impl Writer {
    /// Makes the box of this process at `path`, for this user alone. All of its disk space is taken at once, since a
    /// store to a mapped file on a full disk would end the process.
    ///
    /// # Errors
    /// If the file is there already, has no room, or cannot be mapped; then no file is left.
    pub fn create(path: &Path, bytes: u64) -> Result<Self, BoxError> {
        let layout = layout_of(bytes)?;
        let failed = |source| BoxError::Io { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        Self::in_file(&file, layout).map_err(|source| {
            // It is ours and of no use; that it could not be removed either changes nothing.
            let _ = std::fs::remove_file(path);
            failed(source)
        })
    }

    /// Makes the box of this process in a file that is open: one without a name, say.
    ///
    /// # Errors
    /// If there is no room, or it cannot be mapped.
    pub fn create_in(path: &Path, bytes: u64) -> Result<Self, BoxError> {
        let layout = layout_of(bytes)?;
        let failed = |source| BoxError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        // What an earlier attempt left there.
        file.set_len(0).map_err(failed)?;
        Self::in_file(&file, layout).map_err(failed)
    }

    /// Makes a box that is in no file; see [`Writer::to_bytes`].
    ///
    /// # Errors
    /// If no box has this size.
    pub fn in_memory(bytes: u64) -> Result<Self, BoxError> {
        let layout = layout_of(bytes)?;
        Ok(Self::start(Memory::zeroed(layout.words), layout))
    }

    fn in_file(file: &File, layout: Layout) -> io::Result<Self> {
        memory::take_disk_space(file, layout.words * layout::WORD_BYTES)?;
        let memory = Memory::map(file)?;
        memory.populate();
        Ok(Self::start(memory, layout))
    }

    fn start(memory: Memory, layout: Layout) -> Self {
        memory.store(word::VERSION, layout::VERSION);
        memory.store(word::BYTES, (layout.words * layout::WORD_BYTES) as u64);
        memory.store(word::PID, u64::from(std::process::id()));
        memory.store(word::START_TICKS, process::own_start_ticks());
        memory.store(word::CREATED_US, clock::now_us());
        clock::start(&memory);
        // Last: whoever sees this sees a whole header.
        if let Some(magic) = memory.words().get(word::MAGIC) {
            magic.store(layout::MAGIC, Release);
        }
        let interner = Mutex::new(Interner::new(&layout));
        Self { memory, layout, interner, catching_up: Mutex::new(()) }
    }

    /// A copy of the box, as its file holds it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.memory.to_bytes()
    }

    #[inline]
    pub(crate) fn blocks(&self) -> Blocks<'_> {
        Blocks { memory: &self.memory, region: self.layout.blocks }
    }

    pub(crate) fn segments(&self) -> Segments<'_> {
        Segments { memory: &self.memory, region: self.layout.segments }
    }

    /// Writes an event of this moment to the ring and returns its number.
    #[inline]
    pub(crate) fn push(&self, words: Words) -> u64 {
        self.push_at(words, clock::ticks())
    }

    /// Writes an event of that moment to the ring and returns its number.
    #[inline]
    pub(crate) fn push_at(&self, words: Words, ticks: u64) -> u64 {
        let Some(events) = self.memory.words().get(word::EVENTS) else { return 0 };
        let number = events.fetch_add(1, Relaxed);
        clock::keep(&self.memory, ticks);
        let words = event::seal(number, words, ticks >> clock::TICK_SHIFT);
        // The ring's size is a power of two.
        let index = number as usize & (self.layout.ring.records(RECORD_WORDS) - 1);
        let at = self.layout.ring.start + index * RECORD_WORDS;
        if let Some(record) = self.memory.record::<RECORD_WORDS>(at) {
            for (to, from) in record.iter().zip(words) {
                to.store(from, Relaxed);
            }
        }
        let ahead = (index + RECORDS_AHEAD) & (self.layout.ring.records(RECORD_WORDS) - 1);
        self.memory.will_store(self.layout.ring.start + ahead * RECORD_WORDS);
        if number & (BATCH - 1) == BATCH - 1 {
            self.catch_up(self.catching_up.try_lock().ok());
        }
        number
    }

    /// Gets at the interner, unless another thread has it for too long.
    fn interner(&self) -> Option<MutexGuard<'_, Interner>> {
        let guard = attempt(&self.interner);
        if guard.is_none() {
            self.add(word::LOST_STACKS, 1);
        }
        guard
    }

    pub(crate) fn add(&self, at: usize, count: u64) {
        if let Some(word) = self.memory.words().get(at) {
            word.fetch_add(count, Relaxed);
        }
    }

    /// The number of a text.
    pub fn name(&self, text: &[u8]) -> NameNumber {
        self.interner().map_or(NameNumber(0), |mut interner| interner.string(&self.memory, &self.layout, text))
    }

    /// The number of a frame: file, function, line, and the address of the module whose call it is, or 0.
    pub fn frame(&self, file: &[u8], function: &[u8], line: u32, module_pointer: u64) -> FrameNumber {
        let Some(mut interner) = self.interner() else { return FrameNumber(0) };
        let file = interner.string(&self.memory, &self.layout, file);
        let function = interner.string(&self.memory, &self.layout, function);
        interner.frame(&self.memory, &self.layout, frame_words(file, function, line, module_pointer))
    }

    /// The number of a stack, innermost frame first.
    pub fn stack(&self, frames: &[FrameNumber]) -> StackNumber {
        self.interner().map_or(StackNumber(0), |mut interner| interner.stack(&self.memory, &self.layout, frames))
    }

    /// One frame of a stack, counted from the innermost.
    #[must_use]
    pub fn frame_of_stack(&self, stack: StackNumber, index: usize) -> Option<FrameNumber> {
        let region = self.layout.stacks;
        let (count, _) = intern::stack_size(&self.memory, region, stack)?;
        (index < count).then(|| intern::frame_of(&self.memory, region, stack, index))
    }

    /// The number of a stack of files, functions and lines, innermost first.
    pub fn stack_of(&self, lines: &[(&str, &str, u32)]) -> StackNumber {
        let frame =
            |&(file, function, line): &(&str, &str, u32)| self.frame(file.as_bytes(), function.as_bytes(), line, 0);
        self.stack(&lines.iter().map(frame).collect::<Vec<_>>())
    }

    /// The number of a stream and pool. Zeros are lane 0; so is what has no room.
    #[inline]
    pub fn lane(&self, stream: u64, pool: (u64, u64)) -> u16 {
        lanes::find(&self.memory, self.layout.lanes, stream, pool).unwrap_or_else(|| {
            self.interner().map_or(0, |_only_one| lanes::add(&self.memory, &self.layout, stream, pool))
        })
    }

    /// The program came to a place that has a name.
    pub fn mark(&self, name: NameNumber, stage: Stage) {
        self.push(event::of_mark(name, stage));
    }

    /// Says what the job is doing.
    pub fn state(&self, step: u64, batches: u64, phase: Phase) {
        let now_us = clock::now_us();
        if step != self.memory.load(word::STEP) || self.memory.load(word::STEP_STARTED_US) == 0 {
            self.memory.store(word::STEP_STARTED_US, now_us);
        }
        self.memory.store(word::STEP, step);
        self.memory.store(word::BATCHES, batches);
        self.memory.store(word::PHASE, phase as u64);
        self.memory.store(word::UPDATED_US, now_us);
        self.push(event::of_state(step, batches, phase));
    }

    /// Says which part of the step begins.
    pub fn phase(&self, phase: Phase) {
        self.state(self.memory.load(word::STEP), self.memory.load(word::BATCHES), phase);
    }

    /// A step has ended, and another begins.
    pub fn next_step(&self) {
        self.state(self.memory.load(word::STEP) + 1, self.memory.load(word::BATCHES), Phase::Forward);
    }

    /// Says what the block at an address is for; one that is not there, or that already is known for that, is left
    /// alone.
    pub fn tag(&self, address: u64, category: Category, module: u32) {
        self.catch_up(attempt(&self.catching_up));
        let Some(slot) = self.blocks().find(address) else { return };
        let known = slot::block(slot).is_some_and(|block| (block.category, block.module) == (category, module));
        if !known {
            self.push(event::of_tag(address, category, module));
        }
    }

    /// Keeps a line of JSON.
    pub fn fact(&self, json: &[u8]) {
        let region = self.layout.facts;
        let words = text::words_of(json.len());
        let Some(used) = self.memory.words().get(word::FACTS_USED) else { return };
        let fits = |used: u64| used.checked_add(words as u64).filter(|&end| end <= region.words as u64);
        match used.fetch_update(Relaxed, Relaxed, fits) {
            Ok(offset) if json.len() <= text::MAX_TEXT_BYTES => {
                text::write(&self.memory, region.start + offset as usize, json);
            }
            _ => self.add(word::LOST_FACTS, 1),
        }
    }

    /// Asks the supervisor; the number is for [`Writer::answer`]. Only one question is open at a time: a new one takes
    /// the place of the last.
    pub fn question(&self, text: &[u8]) -> u64 {
        let text = text.get(..MAX_MESSAGE_BYTES).unwrap_or(text);
        text::clear(&self.memory, self.layout.question.start);
        text::write(&self.memory, self.layout.question.start, text);
        self.memory.words().get(word::ASKED).map_or(0, |asked| asked.fetch_add(1, Release) + 1)
    }

    /// The answer, once there is one.
    #[must_use]
    pub fn answer(&self, question: u64) -> Option<String> {
        let answered = self.memory.words().get(word::ANSWERED).map_or(0, |word| word.load(Acquire));
        if answered == question { text::read_string(&self.memory, self.layout.answer, 0) } else { None }
    }

    /// Says how the process ends.
    pub fn end(&self, how: EndedHow, exit_code: i32) {
        self.memory.store(word::EXIT_CODE, u64::from(exit_code as u32));
        self.memory.store(word::UPDATED_US, clock::now_us());
        self.memory.store(word::ENDED, how as u64);
    }
}

/// Gets at something, unless another thread has it for too long.
fn attempt<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..LOCK_ATTEMPTS {
        if let Ok(guard) = mutex.try_lock() {
            return Some(guard);
        }
        std::hint::spin_loop();
    }
    None
}

fn layout_of(bytes: u64) -> Result<Layout, BoxError> {
    Layout::of_bytes(bytes).ok_or(BoxError::TooSmall { bytes, min_bytes: layout::MIN_BYTES })
}
