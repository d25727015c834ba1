//! Texts in a box: a word of length and check, then the bytes, filled up to a whole word.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{Region, WORD_BYTES};
use crate::memory::Memory;

/// Longer texts are cut: nobody reads a path or a fact of a megabyte.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;

/// Words that a text takes.
pub(crate) fn words_of(bytes: usize) -> usize {
    1 + bytes.div_ceil(WORD_BYTES)
}

/// A hash of 32 bits, never 0.
pub(crate) fn hash(bytes: &[u8]) -> u32 {
    let mixed = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    ((mixed >> 32) ^ mixed) as u32 | 1
}

/// Writes a text at a word of the memory; the caller has made sure that there is room.
pub(crate) fn write(memory: &Memory, at: usize, bytes: &[u8]) {
    for (index, chunk) in bytes.chunks(WORD_BYTES).enumerate() {
        let mut word = [0; WORD_BYTES];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        memory.store(at + 1 + index, u64::from_le_bytes(word));
    }
    if let Some(head) = memory.words().get(at) {
        head.store(bytes.len() as u64 | u64::from(hash(bytes)) << 32, Release);
    }
}

/// Makes the text at a word unreadable, before it is written anew.
pub(crate) fn clear(memory: &Memory, at: usize) {
    if let Some(head) = memory.words().get(at) {
        head.store(0, Release);
    }
}

/// What stands at a word of a region.
pub(crate) enum Found {
    /// Nothing, or not yet.
    Nothing,
    /// Something that takes so many words and cannot be read.
    Broken(usize),
    /// A text, and the words it takes.
    Text(Vec<u8>, usize),
}

/// Reads the text at word `offset` of a region.
pub(crate) fn read(memory: &Memory, region: Region, offset: usize) -> Found {
    let Some(at) = region.start.checked_add(offset).filter(|_| offset < region.words) else { return Found::Nothing };
    let Some(head) = memory.words().get(at).map(|word| word.load(Acquire)) else { return Found::Nothing };
    let length = head as u32 as usize;
    let words = words_of(length);
    if head == 0 || length > MAX_TEXT_BYTES || words > region.words - offset {
        return Found::Nothing;
    }
    let mut bytes: Vec<u8> =
        memory.slice(at + 1, words - 1).iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
    bytes.truncate(length);
    if u64::from(hash(&bytes)) == head >> 32 { Found::Text(bytes, words) } else { Found::Broken(words) }
}

/// Reads it as a string, whatever it holds.
pub(crate) fn read_string(memory: &Memory, region: Region, offset: usize) -> Option<String> {
    match read(memory, region, offset) {
        Found::Text(bytes, _) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Found::Nothing | Found::Broken(_) => None,
    }
}
