//! Objects: containers, instances, modules, functions.

use std::rc::Rc;

use super::attrs::Attrs;
use super::origins::Age;
use super::value::{ObjId, Sure, Value};
use crate::ir::Name;

/// A function of the program: the file's number and the function's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FuncRef {
    pub file: u32,
    pub function: u32,
}

/// A class of the program, by its body.
pub(crate) type ClassRef = FuncRef;

/// What an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A list, set or deque; whether its length is limited.
    List { is_bounded: bool },
    /// A tuple.
    Tuple,
    /// A dictionary; its constant keys are attributes.
    Dict,
    /// An object of a class of the program.
    Instance(ClassRef),
    /// A module of torch or of a class that is not in sight.
    Module,
    /// A function; whether it records graphs, where a decorator says so.
    Function { func: FuncRef, frame: Option<ObjId>, grad: Option<bool>, defaults: Vec<Value> },
    /// A method with its object.
    Bound { func: ObjId, this: Box<Value> },
    /// A class; the objects that are its bases.
    Class { body: ClassRef, bases: Vec<Value> },
    /// Something imported, by its full name.
    External(Name),
    /// What calling something imported gave, by that name: an optimizer, a loader, a context.
    Made(Name),
    /// A file of the program, imported.
    File(u32),
    /// What a generator yields, or any iterator over values not indexed.
    Stream,
    /// The shared variables of one function.
    Frame,
}

/// What is known of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModuleFacts {
    /// How surely it is a module at all.
    pub sure: Sure,
    /// Whether it was put into evaluation mode.
    pub is_eval: Sure,
    /// Whether its parameters ask for no gradients.
    pub is_frozen: Sure,
    /// Whether it is on the card.
    pub card: Sure,
    /// Whether it has parameters: loss functions and activations have none.
    pub has_parameters: bool,
    /// Whether what it gives is a loss: a number.
    pub is_loss: bool,
    /// Whether an optimizer has its parameters.
    pub is_optimized: bool,
}

impl ModuleFacts {
    /// A module with parameters, in training mode.
    pub(crate) fn new(sure: Sure) -> Self {
        Self {
            sure,
            is_eval: Sure::No,
            is_frozen: Sure::No,
            card: Sure::Maybe,
            has_parameters: true,
            is_loss: false,
            is_optimized: false,
        }
    }

    fn join(&mut self, other: Self) -> bool {
        let before = *self;
        self.sure = self.sure.max(other.sure);
        // Evaluation mode and freezing count only where they hold on every way.
        self.is_eval = self.is_eval.min(other.is_eval);
        self.is_frozen = self.is_frozen.min(other.is_frozen);
        self.card = self.card.max(other.card);
        self.has_parameters |= other.has_parameters;
        self.is_loss |= other.is_loss;
        self.is_optimized |= other.is_optimized;
        before != *self
    }
}

/// An object of the heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// What it is.
    pub kind: Kind,
    /// Attributes; for a dictionary, its constant keys.
    pub attrs: Attrs,
    /// What it holds, whichever element.
    pub elem: Value,
    /// Its elements one by one, where they are known.
    pub items: Option<Vec<Value>>,
    /// The loops that were running when it was made, outermost first.
    pub birth: Rc<[u32]>,
    /// For modules.
    pub module: Option<ModuleFacts>,
}

impl Object {
    /// A new object without contents.
    pub(crate) fn new(kind: Kind, birth: Rc<[u32]>) -> Self {
        Self { kind, attrs: Attrs::default(), elem: Value::nothing(), items: None, birth, module: None }
    }

    /// Anything it may hold.
    pub(crate) fn any(&self) -> Value {
        let mut all = self.elem.clone();
        self.items.iter().flatten().for_each(|item| {
            all.join(item);
        });
        if self.kind == Kind::Dict {
            self.attrs.values().for_each(|value| {
                all.join(value);
            });
        }
        all
    }

    /// Whether it is a container of Python's.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::List { .. } | Kind::Tuple | Kind::Dict | Kind::Stream)
    }

    /// Takes a step along an edge.
    pub(crate) fn age(&mut self, age: Age) {
        self.attrs.age(age);
        self.items.iter_mut().flatten().for_each(|item| item.age(age));
        self.elem.age(age);
    }

    /// Whether a step along an edge changes anything.
    pub(crate) fn is_aged_by(&self, age: Age) -> bool {
        self.items.iter().flatten().chain(self.attrs.values()).chain([&self.elem]).any(|value| value.is_aged_by(age))
    }

    /// Whether a join with what the other knows of the same object would surely add nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let are_items_covered = match (&self.items, &other.items) {
            (Some(own), Some(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(|(own, other)| own.covers(other))
            }
            (None, Some(others)) => others.iter().all(|item| self.elem.covers(item)),
            (Some(_), None) => false,
            (None, None) => true,
        };
        are_items_covered
            && self.birth.len() <= other.birth.len()
            && self.module == other.module
            && self.elem.covers(&other.elem)
            && self.attrs.covers(&other.attrs)
            && self.kind == other.kind
    }

    /// Adds what the other knows of the same object.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut changed = self.attrs.join(&other.attrs);
        changed |= self.elem.join(&other.elem);
        changed |= self.join_items(other);
        match (&mut self.module, &other.module) {
            (Some(own), Some(other)) => changed |= own.join(*other),
            (None, Some(other)) => {
                self.module = Some(*other);
                changed = true;
            }
            _ => {}
        }
        if other.birth.len() < self.birth.len() {
            self.birth = other.birth.clone();
            changed = true;
        }
        if let (Kind::Bound { this, .. }, Kind::Bound { this: other, .. }) = (&mut self.kind, &other.kind) {
            changed |= this.join(other);
        }
        if let (Kind::Function { defaults, .. }, Kind::Function { defaults: other, .. }) = (&mut self.kind, &other.kind)
        {
            for (own, other) in defaults.iter_mut().zip(other) {
                changed |= own.join(other);
            }
        }
        changed
    }

    fn join_items(&mut self, other: &Self) -> bool {
        match (&mut self.items, &other.items) {
            (Some(own), Some(others)) if own.len() == others.len() => {
                own.iter_mut().zip(others).fold(false, |changed, (own, other)| own.join(other) | changed)
            }
            (Some(own), _) => {
                let all = own.iter().fold(Value::nothing(), Value::joined_with);
                self.elem.join(&all);
                other.items.iter().flatten().for_each(|item| {
                    self.elem.join(item);
                });
                self.items = None;
                true
            }
            (None, Some(others)) => others.iter().fold(false, |changed, item| self.elem.join(item) | changed),
            (None, None) => false,
        }
    }
}

impl Value {
    fn joined_with(self, other: &Self) -> Self {
        self.joined(other)
    }
}
