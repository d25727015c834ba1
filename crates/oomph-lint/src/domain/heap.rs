//! Objects by number. States share what they do not change, and the heap tells which objects an activation has touched:
//! all that a call depends on, and all that it changes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::object::Object;
use super::origins::Age;
use super::value::{ObjId, Value};

/// Objects of one chunk: as many as a word has bits.
const CHUNK: usize = 32;

/// Where an object is kept, if it is made.
pub(crate) type Slot = Option<Rc<Object>>;

/// Neighbouring objects, shared by states until one of them changes an object.
#[derive(Debug, Clone)]
struct Chunk {
    slots: [Slot; CHUNK],
    /// Which of them hold a tensor with a graph, once that was asked.
    graphs: Cell<Option<u32>>,
}

impl Chunk {
    fn empty() -> Self {
        Self { slots: [const { None }; CHUNK], graphs: Cell::new(Some(0)) }
    }

    fn graphs(&self) -> u32 {
        self.graphs.get().unwrap_or_else(|| {
            let holds = |slot: &Slot| slot.as_ref().is_some_and(|object| has_graph(object));
            let found = self.slots.iter().enumerate().filter(|(_, slot)| holds(slot));
            let bits = found.fold(0, |bits, (at, _)| bits | 1 << at);
            self.graphs.set(Some(bits));
            bits
        })
    }
}

/// All objects, and those touched since the running call began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    chunks: Rc<Vec<Rc<Chunk>>>,
    touched: Rc<RefCell<Vec<u32>>>,
}

impl Heap {
    /// All objects with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjId, &Object)> {
        let slots = self.chunks.iter().flat_map(|chunk| &chunk.slots).enumerate();
        slots.filter_map(|(id, slot)| slot.as_deref().map(|object| (id as ObjId, object)))
    }

    /// Where an object is kept; this does not count as touching it.
    pub(crate) fn slot(&self, id: ObjId) -> &Slot {
        let (chunk, at) = place(id);
        self.chunks.get(chunk).map_or(&None, |chunk| &chunk.slots[at])
    }

    /// An object, if it is made.
    pub(crate) fn get(&self, id: ObjId) -> Option<&Object> {
        self.touch(id);
        self.slot(id).as_deref()
    }

    /// An object to change.
    pub(crate) fn get_mut(&mut self, id: ObjId) -> Option<&mut Object> {
        self.touch(id);
        self.slot(id).as_ref()?;
        self.slot_mut(id).as_mut().map(Rc::make_mut)
    }

    /// Puts something at a number; what was there is gone.
    pub(crate) fn put(&mut self, id: ObjId, slot: Slot) {
        self.touch(id);
        *self.slot_mut(id) = slot;
    }

    /// Lets an object go, if it is made.
    pub(crate) fn forget(&mut self, id: ObjId) {
        if self.slot(id).is_some() {
            self.put(id, None);
        }
    }

    fn slot_mut(&mut self, id: ObjId) -> &mut Slot {
        let (chunk, at) = place(id);
        let chunks = Rc::make_mut(&mut self.chunks);
        if chunks.len() <= chunk {
            chunks.resize_with(chunk + 1, || Rc::new(Chunk::empty()));
        }
        let chunk = Rc::make_mut(&mut chunks[chunk]);
        chunk.graphs.set(None);
        &mut chunk.slots[at]
    }

    /// Adds what another way here knows; gives whether anything was new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        if Rc::ptr_eq(&self.chunks, &other.chunks) {
            return false;
        }
        let mut changed = false;
        for (at, theirs) in other.chunks.iter().enumerate() {
            match self.chunks.get(at) {
                None => {
                    Rc::make_mut(&mut self.chunks).push(theirs.clone());
                    changed = true;
                }
                Some(own) if Rc::ptr_eq(own, theirs) => {}
                Some(_) => {
                    for (slot, theirs) in theirs.slots.iter().enumerate() {
                        changed |= self.join_slot((at * CHUNK + slot) as ObjId, theirs);
                    }
                }
            }
        }
        changed
    }

    fn join_slot(&mut self, id: ObjId, theirs: &Slot) -> bool {
        let Some(theirs) = theirs else { return false };
        match self.slot(id) {
            Some(own) if Rc::ptr_eq(own, theirs) || own.covers(theirs) => false,
            Some(_) => self.slot_mut(id).as_mut().is_some_and(|own| Rc::make_mut(own).join(theirs)),
            None => {
                *self.slot_mut(id) = Some(theirs.clone());
                true
            }
        }
    }

    // --- what an activation touches

    fn touch(&self, id: ObjId) {
        let (word, bit) = place(id);
        let mut touched = self.touched.borrow_mut();
        if touched.len() <= word {
            touched.resize(word + 1, 0);
        }
        touched[word] |= 1 << bit;
    }

    /// Hands all objects to a call; what it touches is told apart from what its caller does.
    pub(crate) fn lend(&mut self) -> Self {
        Self { chunks: std::mem::take(&mut self.chunks), touched: Rc::default() }
    }

    /// Takes the objects back: what a call touched, its caller has touched.
    pub(crate) fn take_back(&mut self, lent: Self) {
        self.chunks = lent.chunks;
        let mut touched = self.touched.borrow_mut();
        let theirs = lent.touched.borrow();
        if touched.len() < theirs.len() {
            touched.resize(theirs.len(), 0);
        }
        touched.iter_mut().zip(theirs.iter()).for_each(|(own, theirs)| *own |= theirs);
    }

    /// The objects touched since the running call began.
    pub(crate) fn touched(&self) -> Vec<ObjId> {
        let touched = self.touched.borrow();
        let words = touched.iter().enumerate().filter(|(_, bits)| **bits != 0);
        words.flat_map(|(word, bits)| members(word, *bits)).collect()
    }

    /// Takes graphs in touched objects a step along an edge.
    pub(crate) fn age(&mut self, age: Age) {
        let touched = self.touched.borrow();
        let words = self.chunks.iter().zip(touched.iter()).enumerate().filter(|(_, (_, touched))| **touched != 0);
        let ids: Vec<ObjId> =
            words.flat_map(|(word, (chunk, touched))| members(word, chunk.graphs() & touched)).collect();
        drop(touched);
        for id in ids {
            let is_aged = self.slot(id).as_ref().is_some_and(|object| object.is_aged_by(age));
            if let (true, Some(object)) = (is_aged, self.slot_mut(id)) {
                Rc::make_mut(object).age(age);
            }
        }
    }
}

fn place(id: ObjId) -> (usize, usize) {
    (id as usize / CHUNK, id as usize % CHUNK)
}

fn members(word: usize, bits: u32) -> impl Iterator<Item = ObjId> {
    (0..CHUNK).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| (word * CHUNK + bit) as ObjId)
}

fn has_origins(value: &Value) -> bool {
    value.tensor.as_ref().is_some_and(|tensor| !tensor.origins.is_empty())
}

/// Whether an object holds a tensor with a graph itself.
fn has_graph(object: &Object) -> bool {
    object.items.iter().flatten().chain(object.attrs.values()).chain([&object.elem]).any(has_origins)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::Heap;
    use crate::domain::{Kind, Object};

    #[test]
    fn a_call_touches_what_it_reads_and_writes() {
        let made = || Some(Rc::new(Object::new(Kind::Tuple, [].into())));
        let mut caller = Heap::default();
        caller.put(1, made());
        let mut callee = caller.lend();
        callee.get(1);
        callee.put(70, made());
        assert_eq!(callee.touched(), [1, 70]);
        caller.take_back(callee);
        assert_eq!(caller.touched(), [1, 70]);
        assert!(caller.slot(70).is_some());
    }
}
