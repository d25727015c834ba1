//! The supervisor's side of the mailbox.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Release;

use crate::layout::{self, Layout, MAX_MESSAGE_BYTES, word};
use crate::memory::Memory;
use crate::text;

/// Answers what a process asks through its box: the only thing in a box that somebody else writes.
pub struct Answers {
    memory: Memory,
    layout: Layout,
}

impl Answers {
    /// Opens the box at `path` for answers.
    ///
    /// # Errors
    /// If it cannot be written, or is no box.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = file.metadata()?.len();
        let layout = Layout::of_bytes(bytes).ok_or_else(|| io::Error::other("not the size of a black box"))?;
        let memory = Memory::map(&file)?;
        if (memory.load(word::MAGIC), memory.load(word::VERSION)) != (layout::MAGIC, layout::VERSION) {
            return Err(io::Error::other("not a black box of this version"));
        }
        Ok(Self { memory, layout })
    }

    /// Answers a question; longer texts are cut.
    pub fn answer(&self, question: u64, text: &str) {
        let bytes = text.as_bytes().get(..text.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default();
        text::clear(&self.memory, self.layout.answer.start);
        text::write(&self.memory, self.layout.answer.start, bytes);
        if let Some(answered) = self.memory.words().get(word::ANSWERED) {
            answered.store(question, Release);
        }
    }
}
