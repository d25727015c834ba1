//! Fills a [`StackTable`] so that each string, frame and stack is stored once.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::model::extra::{Extra, Value};
use crate::model::stack::{ForwardId, Frame, FrameId, StackId, StackTable, StringId};

/// Builds a [`StackTable`]: equal things get equal handles.
///
/// The maps that find equal things live here and not in the table, so that a finished trace does not carry them.
#[derive(Clone, Debug)]
pub struct Interner {
    table: StackTable,
    strings: HashTable<u32>,
    frames: HashTable<u32>,
    stacks: HashTable<u32>,
    forwards: HashTable<u32>,
}

impl Default for Interner {
    fn default() -> Self {
        Self::from_table(StackTable::default())
    }
}

impl Interner {
    /// An interner with nothing in it but the empty stack.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues a finished table; handles given out before stay valid.
    #[must_use]
    pub fn from_table(table: StackTable) -> Self {
        let mut strings = HashTable::new();
        for (at, text) in table.strings.iter().enumerate() {
            strings.insert_unique(hash(text.as_bytes()), at as u32, |&id| hash(table.strings[id as usize].as_bytes()));
        }
        let mut frames = HashTable::new();
        for (at, frame) in table.frames.iter().enumerate() {
            frames.insert_unique(hash_frame(frame), at as u32, |&id| hash_frame(&table.frames[id as usize]));
        }
        let mut stacks = HashTable::new();
        for at in 0..table.stack_count() as u32 {
            stacks.insert_unique(hash(table.stack(StackId(at))), at, |&id| hash(table.stack(StackId(id))));
        }
        let mut forwards = HashTable::new();
        for (at, lines) in table.forwards.iter().enumerate() {
            forwards.insert_unique(hash(lines.as_slice()), at as u32, |&id| hash(&*table.forwards[id as usize]));
        }
        Self { table, strings, frames, stacks, forwards }
    }

    /// What has been interned so far.
    #[must_use]
    pub fn table(&self) -> &StackTable {
        &self.table
    }

    /// The finished table.
    #[must_use]
    pub fn into_table(mut self) -> StackTable {
        self.table.strings.shrink_to_fit();
        self.table.frames.shrink_to_fit();
        self.table.stack_starts.shrink_to_fit();
        self.table.stack_frames.shrink_to_fit();
        self.table
    }

    /// The handle of a string.
    pub fn intern_string(&mut self, text: &str) -> StringId {
        let Self { table, strings, .. } = self;
        let code = hash(text.as_bytes());
        if let Some(&id) = strings.find(code, |&id| &*table.strings[id as usize] == text) {
            return StringId(id);
        }
        let id = next_id(table.strings.len());
        table.strings.push(text.into());
        strings.insert_unique(code, id, |&id| hash(table.strings[id as usize].as_bytes()));
        StringId(id)
    }

    /// The handle of a frame that has no keys beyond function, file and line.
    pub fn intern_call(&mut self, function: &str, file: &str, line: u32) -> FrameId {
        let name = self.intern_string(function);
        let file = self.intern_string(file);
        self.intern_frame(Frame { name, file, line, extra: Extra::new() })
    }

    /// The handle of a frame.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        let Self { table, frames, .. } = self;
        let code = hash_frame(&frame);
        if let Some(&id) = frames.find(code, |&id| table.frames[id as usize] == frame) {
            return FrameId(id);
        }
        let id = next_id(table.frames.len());
        table.frames.push(frame);
        frames.insert_unique(code, id, |&id| hash_frame(&table.frames[id as usize]));
        FrameId(id)
    }

    /// The handle of a stack, innermost frame first.
    ///
    /// # Panics
    /// If all distinct stacks together exceed 2^32 frames.
    pub fn intern_stack(&mut self, stack: &[FrameId]) -> StackId {
        let Self { table, stacks, .. } = self;
        let code = hash(stack);
        if let Some(&id) = stacks.find(code, |&id| table.stack(StackId(id)) == stack) {
            return StackId(id);
        }
        let id = next_id(table.stack_count());
        table.stack_frames.extend_from_slice(stack);
        table.stack_starts.push(next_id(table.stack_frames.len()));
        stacks.insert_unique(code, id, |&id| hash(table.stack(StackId(id))));
        StackId(id)
    }

    /// The handle of a stack given as `(function, file, line)`, innermost first.
    pub fn intern_calls(&mut self, calls: &[(&str, &str, u32)]) -> StackId {
        let frames: Vec<FrameId> =
            calls.iter().map(|&(function, file, line)| self.intern_call(function, file, line)).collect();
        self.intern_stack(&frames)
    }

    /// The handle of a forward traceback.
    pub fn intern_forward(&mut self, lines: &[StringId]) -> ForwardId {
        let Self { table, forwards, .. } = self;
        let code = hash(lines);
        if let Some(&id) = forwards.find(code, |&id| table.forwards[id as usize] == lines) {
            return ForwardId(id);
        }
        let id = next_id(table.forwards.len());
        table.forwards.push(lines.to_vec());
        forwards.insert_unique(code, id, |&id| hash(&*table.forwards[id as usize]));
        ForwardId(id)
    }
}

/// The handle after `len` others. `u32::MAX` means "missing" and is never given out.
fn next_id(len: usize) -> u32 {
    u32::try_from(len)
        .ok()
        .filter(|&id| id < u32::MAX)
        .expect("a trace holds fewer than 2^32 distinct things of a kind")
}

fn hash<T: Hash + ?Sized>(thing: &T) -> u64 {
    FxBuildHasher.hash_one(thing)
}

fn hash_frame(frame: &Frame) -> u64 {
    let mut state = FxBuildHasher.build_hasher();
    (frame.name, frame.file, frame.line).hash(&mut state);
    for (key, value) in &frame.extra {
        key.hash(&mut state);
        hash_value(value, &mut state);
    }
    state.finish()
}

/// Floats make [`Value`] unhashable by derive; equal values need equal hashes, so a float adds nothing (0.0 == -0.0).
fn hash_value(value: &Value, state: &mut impl Hasher) {
    match value {
        Value::None | Value::Float(_) => {}
        Value::Bool(flag) => flag.hash(state),
        Value::Int(number) => number.hash(state),
        Value::Unsigned(number) => number.hash(state),
        Value::Text(text) => text.hash(state),
        Value::Bytes(bytes) => bytes.hash(state),
        Value::List(items) | Value::Tuple(items) => items.iter().for_each(|item| hash_value(item, state)),
        Value::Dict(pairs) => {
            for (key, item) in pairs {
                hash_value(key, state);
                hash_value(item, state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_get_equal_handles() {
        let mut interner = Interner::new();
        let first = interner.intern_calls(&[("forward", "model.py", 3), ("main", "train.py", 9)]);
        let again = interner.intern_calls(&[("forward", "model.py", 3), ("main", "train.py", 9)]);
        let other = interner.intern_calls(&[("forward", "model.py", 4), ("main", "train.py", 9)]);
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_eq!(interner.table().frame_count(), 3);
        assert_eq!(interner.table().string_count(), 4);
    }

    #[test]
    fn the_empty_stack_is_the_first() {
        assert_eq!(Interner::new().intern_stack(&[]), StackId::EMPTY);
    }

    #[test]
    fn frames_that_differ_in_unknown_keys_differ() {
        let mut interner = Interner::new();
        let plain = interner.intern_call("f", "a.py", 1);
        let mut frame = interner.table().frame(plain).clone();
        frame.extra.push(("fx_node_op".into(), Value::Text("call_function".into())));
        let rich = interner.intern_frame(frame.clone());
        assert_ne!(plain, rich);
        assert_eq!(interner.intern_frame(frame), rich);
    }

    #[test]
    fn a_continued_table_finds_what_it_holds() {
        let mut interner = Interner::new();
        let stack = interner.intern_calls(&[("f", "a.py", 1)]);
        let line = interner.intern_string("x = y");
        let forward = interner.intern_forward(&[line]);
        let mut again = Interner::from_table(interner.into_table());
        assert_eq!(again.intern_calls(&[("f", "a.py", 1)]), stack);
        assert_eq!(again.intern_forward(&[line]), forward);
        assert_eq!(again.intern_stack(&[]), StackId::EMPTY);
        assert_eq!(again.table().stack_count(), 2);
    }
}
