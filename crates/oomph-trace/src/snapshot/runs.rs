//! Stacks by the bytes they are written with.
//!
//! Nearly every stack in a snapshot is a list of references to frames that were stored before, and the same few
//! thousand lists come again a million times. Equal bytes mean equal frames while no memo slot changes, so a list
//! seen before is recognised without looking at one reference.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::error::TraceError;
use crate::model::stack::{FrameId, StackId};

use super::item::{Item, Object};
use super::opcode as op;
use super::store::Store;

/// How many runs are found by their beginning.
const RECENT_RUNS: usize = 1 << 12;

/// As many bytes of a run choose its place among the recent ones: eight frames.
const BEGINNING: usize = 40;

/// A run of memo references, as bytes of the file, and the stack it means.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    len: usize,
    stack: StackId,
}

const NO_RUN: Run = Run { start: 0, len: 0, stack: StackId::EMPTY };

impl Run {
    fn bytes(self, data: &[u8]) -> &[u8] {
        &data[self.start..self.start + self.len]
    }
}

/// All runs seen so far.
pub(super) struct Runs {
    known: HashTable<Run>,
    /// The run seen last for each beginning: most are found here without looking for their end.
    recent: Vec<Run>,
    frame_buffer: Vec<FrameId>,
}

impl Runs {
    pub(super) fn new() -> Self {
        Self { known: HashTable::new(), recent: vec![NO_RUN; RECENT_RUNS], frame_buffer: Vec::new() }
    }

    /// To be called when a memo slot changes its meaning.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.recent.fill(NO_RUN);
    }

    /// Reads a whole list of references to frames, up to and with its APPENDS; returns the stack and where it ends.
    /// `None` if there is anything else.
    pub(super) fn read(
        &mut self,
        data: &[u8],
        start: usize,
        memo: &[Item],
        store: &mut Store<'_>,
    ) -> Result<Option<(StackId, usize)>, TraceError> {
        let place = hash(&data[start..data.len().min(start + BEGINNING)]) as usize % RECENT_RUNS;
        let recent = self.recent[place];
        let end = start + recent.len;
        if recent.len > 0 && data.get(end) == Some(&op::APPENDS) && data[start..end] == *recent.bytes(data) {
            return Ok(Some((recent.stack, end + 1)));
        }
        let Some((end, plain)) = end_of_run(data, start) else { return Ok(None) };
        let bytes = &data[start..end];
        let code = hash(bytes);
        if let Some(&known) = self.known.find(code, |known| known.bytes(data) == bytes) {
            self.recent[place] = known;
            return Ok(Some((known.stack, end + 1)));
        }
        if !self.resolve(bytes, memo, store) {
            return Ok(None);
        }
        let run = Run { start, len: end - start, stack: store.intern_stack(&self.frame_buffer)? };
        // A run with a FRAME in it holds a length that will not come again.
        if plain {
            self.recent[place] = run;
            self.known.insert_unique(code, run, |known| hash(known.bytes(data)));
        }
        Ok(Some((run.stack, end + 1)))
    }

    /// Fills the frame buffer with what the references of a run mean; `false` if one is no frame.
    fn resolve(&mut self, mut run: &[u8], memo: &[Item], store: &Store<'_>) -> bool {
        self.frame_buffer.clear();
        loop {
            let slot = match *run {
                [] => return !self.frame_buffer.is_empty(),
                [op::LONG_BINGET, a, b, c, d, ref rest @ ..] => {
                    run = rest;
                    u32::from_le_bytes([a, b, c, d]) as usize
                }
                [op::BINGET, slot, ref rest @ ..] => {
                    run = rest;
                    slot.into()
                }
                [op::FRAME, ref rest @ ..] if rest.len() >= 8 => {
                    run = &rest[8..];
                    continue;
                }
                _ => return false,
            };
            match memo.get(slot) {
                Some(&Item::Object(id)) => match store.objects[id as usize] {
                    Object::Frame(frame) => self.frame_buffer.push(frame),
                    _ => return false,
                },
                _ => return false,
            }
        }
    }
}

/// Where a run's APPENDS stands, and whether nothing but references came before it; `None` if it is no run.
fn end_of_run(data: &[u8], start: usize) -> Option<(usize, bool)> {
    let mut at = start;
    let mut plain = true;
    loop {
        match *data.get(at)? {
            op::LONG_BINGET => at += 5,
            op::BINGET => at += 2,
            op::FRAME => {
                at += 9;
                plain = false;
            }
            op::APPENDS if at > start => return Some((at, plain)),
            _ => return None,
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut state = FxBuildHasher.build_hasher();
    state.write(bytes);
    state.finish()
}
