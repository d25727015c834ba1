//! The state of a program between two instructions.

use std::rc::Rc;

use super::heap::Heap;
use super::object::Object;
use super::origins::Age;
use super::value::{ObjId, Value};

/// Whether graphs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Grad {
    /// They are not.
    Off,
    /// It depends on a value.
    Unknown,
    /// They are.
    On,
}

/// Variables of the running function, objects, the modes of torch.
#[derive(Debug, Clone)]
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
        self.heap.put(id, Some(Rc::new(object)));
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

    /// Takes graphs a step along an edge: variables, and what is in objects that the running call has touched.
    pub(crate) fn age(&mut self, age: Age) {
        self.locals.iter_mut().chain(&mut self.regs).for_each(|value| value.age(age));
        self.heap.age(age);
    }
}

fn join_all(own: &mut Vec<Value>, others: &[Value]) -> bool {
    if own.len() < others.len() {
        own.resize(others.len(), Value::nothing());
    }
    own.iter_mut().zip(others).fold(false, |changed, (own, other)| own.join(other) | changed)
}
