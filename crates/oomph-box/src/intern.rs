//! Strings, frames and stacks, each kept once.
//!
//! The arenas are in the box; the indexes to find what is already there are the writer's own, made once at the start.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{FRAME_WORDS, Layout, Region, word};
use crate::memory::Memory;
use crate::model::{FrameNumber, NameNumber, StackNumber};
use crate::text;

/// Longer names and paths are cut.
const MAX_NAME_BYTES: usize = 1024;

/// Deeper stacks lose their outermost frames.
pub const MAX_FRAMES: usize = 256;

/// Finds offsets by hash; fixed in size.
struct Index {
    offsets: Box<[u32]>,
}

impl Index {
    fn of_slots(slots: usize) -> Self {
        Self { offsets: vec![0; slots.next_power_of_two()].into_boxed_slice() }
    }

    /// The offset with this hash that `is_same` accepts, or the place for a new one; `None` where there is no room.
    fn find(&mut self, hash: u32, is_same: impl Fn(u32) -> bool) -> Option<&mut u32> {
        let mask = self.offsets.len() - 1;
        let home = hash as usize;
        let at = (home..home + self.offsets.len()).map(|at| at & mask).find(|&at| {
            let offset = self.offsets.get(at).copied().unwrap_or(0);
            offset == 0 || is_same(offset)
        })?;
        self.offsets.get_mut(at)
    }
}

/// Takes words of an arena; `None` where it is full. Word 0 of an arena is never handed out: 0 means nothing.
fn take(memory: &Memory, used_at: usize, words: usize, room: usize) -> Option<usize> {
    let used = memory.words().get(used_at)?;
    let start = used.load(Relaxed).max(1) as usize;
    let end = start.checked_add(words).filter(|&end| end <= room)?;
    used.store(end as u64, Relaxed);
    Some(start)
}

/// Whoever holds this writes to the arenas.
pub(crate) struct Interner {
    strings: Index,
    frames: Index,
    stacks: Index,
}

impl Interner {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self {
            // Texts take 5 words or so, stacks a dozen or more.
            strings: Index::of_slots(layout.strings.words / 2),
            frames: Index::of_slots(layout.frames.words / FRAME_WORDS * 2),
            stacks: Index::of_slots(layout.stacks.words / 4),
        }
    }

    /// The number of a text.
    pub(crate) fn string(&mut self, memory: &Memory, layout: &Layout, bytes: &[u8]) -> NameNumber {
        let bytes = bytes.get(..MAX_NAME_BYTES).unwrap_or(bytes);
        let region = layout.strings;
        let is_same = |offset: u32| matches!(text::read(memory, region, offset as usize), text::Found::Text(held, _) if held == bytes);
        let Some(place) = self.strings.find(text::hash(bytes), is_same) else { return lost(memory, NameNumber(0)) };
        if *place == 0 {
            let words = text::words_of(bytes.len());
            let Some(offset) = take(memory, word::STRINGS_USED, words, region.words) else {
                return lost(memory, NameNumber(0));
            };
            text::write(memory, region.start + offset, bytes);
            *place = offset as u32;
        }
        NameNumber(*place)
    }

    /// The number of a frame.
    pub(crate) fn frame(&mut self, memory: &Memory, layout: &Layout, words: [u64; FRAME_WORDS]) -> FrameNumber {
        let region = layout.frames;
        let words = seal_frame(words);
        let at = |number: u32| region.start + number as usize * FRAME_WORDS;
        let is_same = |number: u32| (0..FRAME_WORDS).all(|i| words.get(i) == Some(&memory.load(at(number) + i)));
        let hash = text::hash(words.map(u64::to_le_bytes).as_flattened());
        let Some(place) = self.frames.find(hash, is_same) else { return lost(memory, FrameNumber(0)) };
        if *place == 0 {
            let Some(number) = take(memory, word::FRAMES_USED, 1, region.records(FRAME_WORDS)) else {
                return lost(memory, FrameNumber(0));
            };
            for (index, word) in words.into_iter().enumerate() {
                memory.store(at(number as u32) + index, word);
            }
            *place = number as u32;
        }
        FrameNumber(*place)
    }

    /// The number of a stack, innermost frame first.
    pub(crate) fn stack(&mut self, memory: &Memory, layout: &Layout, frames: &[FrameNumber]) -> StackNumber {
        let frames = frames.get(..MAX_FRAMES).unwrap_or(frames);
        if frames.is_empty() {
            return StackNumber(0);
        }
        let region = layout.stacks;
        let hash = hash_frames(frames);
        let head = stack_head(frames.len(), hash);
        let is_same = |offset: u32| {
            let at = region.start + offset as usize;
            memory.load(at) == head
                && pack_frames(frames).enumerate().all(|(index, word)| memory.load(at + 1 + index) == word)
        };
        let Some(place) = self.stacks.find(hash, is_same) else { return lost(memory, StackNumber(0)) };
        if *place == 0 {
            let words = 1 + frames.len().div_ceil(2);
            let Some(offset) = take(memory, word::STACKS_USED, words, region.words) else {
                return lost(memory, StackNumber(0));
            };
            let at = region.start + offset;
            for (index, word) in pack_frames(frames).enumerate() {
                memory.store(at + 1 + index, word);
            }
            if let Some(first) = memory.words().get(at) {
                first.store(head, Release);
            }
            *place = offset as u32;
        }
        StackNumber(*place)
    }
}

fn lost<T>(memory: &Memory, nothing: T) -> T {
    if let Some(lost) = memory.words().get(word::LOST_STACKS) {
        lost.fetch_add(1, Relaxed);
    }
    nothing
}

/// The words of a frame: file and function; line; module.
pub(crate) fn frame_words(file: NameNumber, function: NameNumber, line: u32, module: u64) -> [u64; FRAME_WORDS] {
    [u64::from(file.0) | u64::from(function.0) << 32, u64::from(line), module]
}

/// Puts a check into the upper half of the line's word.
pub(crate) fn seal_frame([names, line, module]: [u64; FRAME_WORDS]) -> [u64; FRAME_WORDS] {
    let line = line & 0xffff_ffff;
    let check = text::hash([names, line, module].map(u64::to_le_bytes).as_flattened());
    [names, line | u64::from(check) << 32, module]
}

/// A hash over frame numbers, never 0.
pub(crate) fn hash_frames(frames: &[FrameNumber]) -> u32 {
    let mixed = frames.iter().fold(0x9e37_79b9_u64, |hash, frame| {
        (hash ^ u64::from(frame.0)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(23)
    });
    ((mixed >> 32) ^ mixed) as u32 | 1
}

/// The first word of a stack.
pub(crate) fn stack_head(count: usize, hash: u32) -> u64 {
    count as u64 | u64::from(hash) << 32
}

fn pack_frames(frames: &[FrameNumber]) -> impl Iterator<Item = u64> {
    frames.chunks(2).map(|pair| pair.iter().rev().fold(0, |word, frame| word << 32 | u64::from(frame.0)))
}

/// The frames of a stack, innermost first; empty if there is no such stack.
pub(crate) fn read_stack(memory: &Memory, region: Region, stack: StackNumber) -> Vec<FrameNumber> {
    let Some((count, head)) = stack_size(memory, region, stack) else { return Vec::new() };
    let frames: Vec<_> = (0..count).map(|index| frame_of(memory, region, stack, index)).collect();
    if stack_head(count, hash_frames(&frames)) == head { frames } else { Vec::new() }
}

/// How many frames a stack has, and its first word.
pub(crate) fn stack_size(memory: &Memory, region: Region, stack: StackNumber) -> Option<(usize, u64)> {
    let offset = Some(stack.0 as usize).filter(|&offset| offset > 0 && offset < region.words)?;
    let head = memory.words().get(region.start + offset)?.load(Acquire);
    let count = head as u32 as usize;
    (count <= MAX_FRAMES && count.div_ceil(2) < region.words - offset).then_some((count, head))
}

/// One frame of a stack that has so many.
pub(crate) fn frame_of(memory: &Memory, region: Region, stack: StackNumber, index: usize) -> FrameNumber {
    let word = memory.load(region.start + stack.0 as usize + 1 + index / 2);
    FrameNumber((word >> (index % 2 * 32)) as u32)
}
