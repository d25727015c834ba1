//! What every name holds at the point the walk has reached; branches cost what they change.

use rustc_hash::FxHashMap;

use super::value::{Flags, Graph, Value};

/// A name, or an attribute of one (`self.model`), within one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// What the names of one function hold, with a log to undo changes by.
#[derive(Debug, Default)]
pub(crate) struct Env<'a> {
    slots: Vec<Option<Value>>,
    names: FxHashMap<&'a str, Slot>,
    attributes: FxHashMap<(Slot, &'a str), Slot>,
    /// The attributes known of each slot: forgotten when it is bound anew.
    children: Vec<Vec<Slot>>,
    log: Vec<(Slot, Option<Value>)>,
    /// Forward passes whose graph was freed by a `backward` on every path.
    pub(crate) freed: u64,
    /// The same on some path.
    pub(crate) maybe_freed: u64,
    /// What functions nobody wrote here made of a module: forward passes, if a backward pass goes over them.
    pub(crate) unknown_sites: u64,
}

/// A point to go back to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    log: usize,
    freed: u64,
    maybe_freed: u64,
}

/// What one path changed since a mark.
#[derive(Debug, Default, Clone)]
pub(crate) struct Branch {
    changes: Vec<(Slot, Option<Value>)>,
    freed: u64,
    maybe_freed: u64,
}

impl<'a> Env<'a> {
    /// The slot of a name.
    pub(crate) fn name(&mut self, name: &'a str) -> Slot {
        if let Some(&slot) = self.names.get(name) {
            return slot;
        }
        let slot = self.fresh();
        self.names.insert(name, slot);
        slot
    }

    /// The slot of a name that was bound or asked for before.
    pub(crate) fn known(&self, name: &str) -> Option<Slot> {
        self.names.get(name).copied()
    }

    /// The slot of an attribute of what a slot holds.
    pub(crate) fn attribute(&mut self, base: Slot, attribute: &'a str) -> Slot {
        if let Some(&slot) = self.attributes.get(&(base, attribute)) {
            return slot;
        }
        let slot = self.fresh();
        self.attributes.insert((base, attribute), slot);
        self.children[base.0 as usize].push(slot);
        slot
    }

    fn fresh(&mut self) -> Slot {
        let slot = Slot(self.slots.len() as u32);
        self.slots.push(None);
        self.children.push(Vec::new());
        slot
    }

    /// What a slot holds; `None` when it was never bound here.
    pub(crate) fn get(&self, slot: Slot) -> Option<&Value> {
        self.slots[slot.0 as usize].as_ref()
    }

    /// Binds a slot anew: its attributes are forgotten.
    pub(crate) fn bind(&mut self, slot: Slot, value: Option<Value>) {
        for index in 0..self.children[slot.0 as usize].len() {
            let child = self.children[slot.0 as usize][index];
            if self.slots[child.0 as usize].is_some() {
                self.bind(child, None);
            }
        }
        self.update(slot, value);
    }

    /// Changes what is known of a slot's value, which stays the same object.
    pub(crate) fn update(&mut self, slot: Slot, value: Option<Value>) {
        let old = std::mem::replace(&mut self.slots[slot.0 as usize], value);
        self.log.push((slot, old));
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { log: self.log.len(), freed: self.freed, maybe_freed: self.maybe_freed }
    }

    /// What changed since the mark, as it is now; nothing is undone.
    pub(crate) fn since(&self, mark: Mark) -> Branch {
        let mut slots: Vec<Slot> = self.log[mark.log..].iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let changes = slots.into_iter().map(|slot| (slot, self.slots[slot.0 as usize].clone())).collect();
        Branch { changes, freed: self.freed, maybe_freed: self.maybe_freed }
    }

    /// Undoes what changed since the mark.
    pub(crate) fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.log {
            if let Some((slot, old)) = self.log.pop() {
                self.slots[slot.0 as usize] = old;
            }
        }
        self.freed = mark.freed;
        self.maybe_freed = mark.maybe_freed;
    }

    /// What changed since the mark; everything is undone.
    pub(crate) fn take(&mut self, mark: Mark) -> Branch {
        let branch = self.since(mark);
        self.undo(mark);
        branch
    }

    /// Goes on with what holds on any of the branches, all taken from here. Returns whether anything changed.
    pub(crate) fn join(&mut self, branches: &[Branch]) -> bool {
        let Some((first, rest)) = branches.split_first() else { return false };
        if rest.is_empty() {
            for (slot, value) in &first.changes {
                self.update(*slot, value.clone());
            }
            self.freed = first.freed;
            self.maybe_freed = first.maybe_freed;
            return !first.changes.is_empty();
        }
        let mut slots: Vec<Slot> =
            branches.iter().flat_map(|branch| branch.changes.iter().map(|(slot, _)| *slot)).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut changed = false;
        for slot in slots {
            let joined = self.joined(slot, branches);
            if self.slots[slot.0 as usize] != joined {
                changed = true;
                self.update(slot, joined);
            }
        }
        self.freed = branches.iter().fold(u64::MAX, |freed, branch| freed & branch.freed);
        self.maybe_freed = branches.iter().fold(0, |freed, branch| freed | branch.maybe_freed);
        changed
    }

    fn joined(&self, slot: Slot, branches: &[Branch]) -> Option<Value> {
        let mut whole: Option<Value> = None;
        for branch in branches {
            let found = branch.changes.binary_search_by_key(&slot, |(slot, _)| *slot);
            let value = match found {
                Ok(index) => branch.changes[index].1.as_ref(),
                Err(_) => self.slots[slot.0 as usize].as_ref(),
            };
            whole = match (whole, value) {
                (Some(a), Some(b)) => Some(a.join(b)),
                (a, b) => a.or_else(|| b.cloned()),
            };
        }
        whole
    }

    /// Notes that losses of which nothing was known have a graph: a backward pass went over all they come from.
    pub(crate) fn show_graph(&mut self, sites: u64) {
        if self.unknown_sites & sites == 0 {
            return;
        }
        let is_open = |value: &Value| {
            let own = value.sources.sites().0;
            value.is_tensor()
                && value.graph == Graph::Unknown
                && value.has(Flags::LOSS)
                && own != 0
                && own & !sites == 0
        };
        for index in 0..self.slots.len() {
            if let Some(value) = self.slots[index].as_ref().filter(|value| is_open(value)) {
                let shown = Value { graph: Graph::Likely, ..value.clone() };
                self.update(Slot(index as u32), Some(shown));
            }
        }
    }

    /// Every attribute bound on a slot, with its value.
    pub(crate) fn attributes_of(&self, base: Slot) -> Vec<(&'a str, Value)> {
        let mut found: Vec<_> = self
            .attributes
            .iter()
            .filter(|((of, _), _)| *of == base)
            .filter_map(|((_, name), slot)| Some((*name, self.get(*slot)?.clone())))
            .collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }

    /// Every name bound, with its value.
    pub(crate) fn bound_names(&self) -> Vec<(&'a str, Value)> {
        let mut found: Vec<_> =
            self.names.iter().filter_map(|(name, slot)| Some((*name, self.get(*slot)?.clone()))).collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }
}
