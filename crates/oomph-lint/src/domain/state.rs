//! The state of a program between two instructions.

use std::rc::Rc;

use super::object::Object;
use super::value::{ObjId, Value};

/// Whether graphs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grad {
    /// They are not.
    Off,
    /// It depends on a value.
    Unknown,
    /// They are.
    On,
}

/// Objects of one chunk.
const CHUNK: usize = 32;

/// Objects by number, in chunks that states share until one of them changes an object: most states differ in few.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Heap(Vec<Rc<Vec<Option<Rc<Object>>>>>);

impl Heap {
    /// All objects with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjId, &Object)> {
        let slots = self.0.iter().flat_map(|chunk| chunk.iter()).enumerate();
        slots.filter_map(|(id, slot)| slot.as_deref().map(|object| (id as ObjId, object)))
    }

    fn get(&self, id: ObjId) -> Option<&Object> {
        self.0.get(id as usize / CHUNK)?[id as usize % CHUNK].as_deref()
    }

    fn get_mut(&mut self, id: ObjId) -> Option<&mut Object> {
        let chunk = self.0.get_mut(id as usize / CHUNK)?;
        chunk[id as usize % CHUNK].as_ref()?;
        Rc::make_mut(chunk)[id as usize % CHUNK].as_mut().map(Rc::make_mut)
    }

    fn put(&mut self, id: ObjId, object: Object) {
        let at = id as usize / CHUNK;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || Rc::new(vec![None; CHUNK]));
        }
        Rc::make_mut(&mut self.0[at])[id as usize % CHUNK] = Some(Rc::new(object));
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (at, theirs) in other.0.iter().enumerate() {
            match self.0.get_mut(at) {
                None => {
                    self.0.push(theirs.clone());
                    changed = true;
                }
                Some(own) if Rc::ptr_eq(own, theirs) => {}
                Some(own) => changed |= join_chunk(own, theirs),
            }
        }
        changed
    }
}

fn join_chunk(own: &mut Rc<Vec<Option<Rc<Object>>>>, theirs: &[Option<Rc<Object>>]) -> bool {
    let mut changed = false;
    for (at, other) in theirs.iter().enumerate() {
        let Some(other) = other else { continue };
        match &own[at] {
            Some(known) if Rc::ptr_eq(known, other) || **known == **other => {}
            Some(_) => {
                if let Some(known) = &mut Rc::make_mut(own)[at] {
                    changed |= Rc::make_mut(known).join(other);
                }
            }
            None => {
                Rc::make_mut(own)[at] = Some(other.clone());
                changed = true;
            }
        }
    }
    changed
}

/// Variables of the running function, objects, the modes of torch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Local variables.
    pub locals: Vec<Value>,
    /// Registers that blocks share.
    pub regs: Vec<Value>,
    /// Objects by number; not all are made yet.
    pub heap: Heap,
    /// Recording of graphs: one entry for each open `with`, the last holds.
    pub grad: Vec<Grad>,
    /// Sites whose graphs a backward pass has freed on every way here.
    pub freed: Vec<u32>,
}

impl State {
    /// Before anything runs.
    pub(crate) fn new() -> Self {
        Self { locals: Vec::new(), regs: Vec::new(), heap: Heap::default(), grad: vec![Grad::On], freed: Vec::new() }
    }

    /// Whether graphs are recorded now.
    pub(crate) fn grad_now(&self) -> Grad {
        self.grad.last().copied().unwrap_or(Grad::On)
    }

    /// An object, if it is made.
    pub(crate) fn object(&self, id: ObjId) -> Option<&Object> {
        self.heap.get(id)
    }

    /// An object to change.
    pub(crate) fn object_mut(&mut self, id: ObjId) -> Option<&mut Object> {
        self.heap.get_mut(id)
    }

    /// Puts an object at its number; what was there is gone.
    pub(crate) fn put(&mut self, id: ObjId, object: Object) {
        self.heap.put(id, object);
    }

    /// Adds what another way here knows; gives whether anything was new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut changed = join_all(&mut self.locals, &other.locals);
        changed |= join_all(&mut self.regs, &other.regs);
        changed |= self.heap.join(&other.heap);
        for (own, other) in self.grad.iter_mut().zip(&other.grad) {
            if own != other && *own != Grad::Unknown {
                *own = Grad::Unknown;
                changed = true;
            }
        }
        let before = self.freed.len();
        self.freed.retain(|site| other.freed.contains(site));
        changed | (before != self.freed.len())
    }

    /// Changes every value, those in objects too.
    pub(crate) fn for_each_value(&mut self, change: &impl Fn(&mut Value)) {
        self.locals.iter_mut().chain(&mut self.regs).for_each(change);
        let with_graphs: Vec<ObjId> =
            self.heap.iter().filter(|(_, object)| has_graph(object)).map(|(id, _)| id).collect();
        for id in with_graphs {
            if let Some(object) = self.object_mut(id) {
                object.attrs.values_mut().for_each(change);
                object.items.iter_mut().flatten().for_each(change);
                change(&mut object.elem);
            }
        }
    }
}

/// Whether an object holds a tensor with a graph itself.
fn has_graph(object: &Object) -> bool {
    let has_origins = |value: &Value| value.tensor.as_ref().is_some_and(|tensor| !tensor.origins.is_empty());
    object.items.iter().flatten().chain(object.attrs.values()).chain([&object.elem]).any(has_origins)
}

fn join_all(own: &mut Vec<Value>, others: &[Value]) -> bool {
    if own.len() < others.len() {
        own.resize(others.len(), Value::nothing());
    }
    own.iter_mut().zip(others).fold(false, |changed, (own, other)| own.join(other) | changed)
}
