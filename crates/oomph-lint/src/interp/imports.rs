//! Imports: files of the program run once for what they define, everything else is known by its name.

use std::hash::{BuildHasher, Hash};

use super::machine::{Frame, Machine, Maker};
use crate::domain::{FuncRef, Kind, ObjId, Object, State, Value};
use crate::ir::{Name, Span};
use rustc_hash::FxHashSet;

/// Files that import one another are followed this deep.
const FILES_DEEP_MAX: usize = 3;

/// A number for a text, the same in every run.
pub(super) fn number_of(text: impl Hash) -> u64 {
    rustc_hash::FxBuildHasher.hash_one(text)
}

impl Machine<'_> {
    /// Something that is not in sight, by its full name.
    pub(super) fn external(&mut self, state: &mut State, path: &str) -> Value {
        let id = self.id(Maker::External(number_of(path)));
        if state.object(id).is_none() {
            state.put(id, Object::new(Kind::External(path.into()), [].into()));
        }
        Value::object(id)
    }

    pub(super) fn import(&mut self, state: &mut State, path: &Name) -> Value {
        match self.program.resolve(self.file(), path, 0) {
            Some(file) => self.file_value(state, file),
            None => self.external(state, path),
        }
    }

    pub(super) fn import_from(&mut self, state: &mut State, module: &Name, name: &Name, level: u32) -> Value {
        let inner = if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
        if let Some(file) = self.program.resolve(self.file(), &inner, level) {
            return self.file_value(state, file);
        }
        if let Some(file) = self.program.resolve(self.file(), module, level) {
            let value = self.file_value(state, file);
            let found = self.attr_of_object(state, value.refs[0], name);
            return found.filter(|value| !value.is_nothing()).unwrap_or_else(Value::unknown);
        }
        self.external(state, &canonical(&inner))
    }

    /// The object of a file; its body runs when it is first needed.
    pub(super) fn file_value(&mut self, state: &mut State, file: u32) -> Value {
        let id = self.file_object(file);
        if state.object(id).is_none() {
            if let Some(cached) = self.run_files.get(&file).cloned() {
                cached.into_iter().for_each(|(id, object)| state.put(id, object));
                return Value::object(id);
            }
            state.put(id, Object::new(Kind::File(file), [].into()));
            let deep = self.frames.iter().filter(|frame| frame.func.function == 0).count();
            if deep < FILES_DEEP_MAX {
                let before: FxHashSet<ObjId> =
                    state.heap.iter().map(|(id, _)| id).filter(|known| *known != id).collect();
                self.run_file(state, file);
                let made = state.heap.iter().filter(|(id, _)| !before.contains(id));
                let made = made.map(|(id, object)| (id, object.clone())).collect();
                self.run_files.insert(file, made);
            }
        }
        Value::object(id)
    }

    pub(super) fn file_object(&mut self, file: u32) -> ObjId {
        self.id(Maker::File(file))
    }

    /// Runs a file's body for what it defines.
    fn run_file(&mut self, state: &mut State, file: u32) {
        let func = FuncRef { file, function: 0 };
        let (records, loops) = (std::mem::take(&mut self.is_recording), std::mem::take(&mut self.loops));
        let entry = self.suspend(state, func, None);
        let before = (entry.heap.clone(), entry.freed.clone());
        self.frames.push(Frame {
            func,
            cells: None,
            class: None,
            called_at: Span::default(),
            this: None,
            yields: Value::nothing(),
        });
        let outcome = self.run_graph(func, entry);
        self.frames.pop();
        match outcome.state {
            Some(after) => Self::resume(state, after, true),
            None => {
                state.heap.take_back(before.0);
                state.freed = before.1;
            }
        }
        (self.is_recording, self.loops) = (records, loops);
    }
}

/// The full name behind the usual short ones.
pub(super) fn canonical(path: &str) -> String {
    for (short, long) in [("torch.nn.functional.", "torch.nn.functional."), ("pytorch_lightning", "lightning")] {
        if let Some(rest) = path.strip_prefix(short) {
            return format!("{long}{rest}");
        }
    }
    path.to_owned()
}
