//! The abstract value.

use std::rc::Rc;

use super::origins::{Age, Origins, Tags};
use super::refs::{Inserted, Refs};
use crate::ir::Const;

/// An object, by the place that made it.
pub(crate) type ObjId = u32;

/// How sure a property is. A join keeps the surest: it holds on some way through the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) enum Sure {
    /// It does not hold.
    #[default]
    No,
    /// Not known.
    Maybe,
    /// It holds if a name means what such names mean.
    Likely,
    /// It holds.
    Yes,
}

impl Sure {
    /// Whether a finding may rest on it.
    pub(crate) fn is_likely(self) -> bool {
        self >= Self::Likely
    }
}

/// How large a tensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) enum Size {
    /// A number or a few: a loss, a count, a label a sample.
    #[default]
    Small,
    /// Not known.
    Unknown,
    /// Grows with the batch: inputs, outputs, activations.
    Batch,
}

/// What is known of a value that may be a tensor, or a structure of tensors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tensor {
    /// Whether it holds on to a graph.
    pub graph: Sure,
    /// Where that graph begins.
    pub origins: Origins,
    /// The containers and running sums it was read from.
    pub via: Tags,
    /// Whether it is on the card.
    pub card: Sure,
    /// How large it is.
    pub size: Size,
    /// The module whose parameter it is.
    pub parameter_of: Option<ObjId>,
    /// Whether a module made it: an output, not data.
    pub is_output: bool,
    /// Whether it is a leaf that asks for gradients.
    pub is_leaf: bool,
}

impl Tensor {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = raise(&mut self.graph, other.graph);
        changed |= self.origins.join(&other.origins);
        changed |= self.via.join(&other.via);
        changed |= raise(&mut self.card, other.card);
        changed |= raise(&mut self.size, other.size);
        changed |= raise(&mut self.is_output, other.is_output);
        changed |= raise(&mut self.is_leaf, other.is_leaf);
        if self.parameter_of.is_none() && other.parameter_of.is_some() {
            self.parameter_of = other.parameter_of;
            changed = true;
        }
        changed
    }

    /// Whether a join with another would add nothing.
    fn covers(&self, other: &Self) -> bool {
        self.graph >= other.graph
            && self.card >= other.card
            && self.size >= other.size
            && self.is_output >= other.is_output
            && self.is_leaf >= other.is_leaf
            && (self.parameter_of.is_some() || other.parameter_of.is_none())
            && self.origins.covers(&other.origins)
            && self.via.covers(&other.via)
    }

    /// The same without its graph.
    pub(crate) fn detached(&self) -> Self {
        Self {
            graph: Sure::No,
            origins: Origins::default(),
            parameter_of: None,
            is_leaf: false,
            via: self.via.clone(),
            ..*self
        }
    }
}

fn raise<T: Ord + Copy>(value: &mut T, other: T) -> bool {
    let higher = other > *value;
    if higher {
        *value = other;
    }
    higher
}

/// What a value may be: any of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Value {
    /// A constant, where nothing else is possible.
    pub constant: Option<Const>,
    /// `None`, a number, a string, or another thing that holds no memory.
    pub is_plain: bool,
    /// Something not followed.
    pub is_unknown: bool,
    /// A tensor or a structure of tensors; with `is_unknown`, something that may be one.
    pub tensor: Option<Rc<Tensor>>,
    /// Objects, sorted.
    pub refs: Refs,
}

impl Value {
    /// Nothing: no way leads here yet.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Something not followed.
    pub(crate) fn unknown() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    /// A number or a string.
    pub(crate) fn plain() -> Self {
        Self { is_plain: true, ..Self::default() }
    }

    /// A constant.
    pub(crate) fn constant(constant: Const) -> Self {
        Self { constant: Some(constant), is_plain: true, ..Self::default() }
    }

    /// A tensor.
    pub(crate) fn tensor(tensor: Tensor) -> Self {
        Self { tensor: Some(Rc::new(tensor)), ..Self::default() }
    }

    /// An object.
    pub(crate) fn object(id: ObjId) -> Self {
        Self { refs: Refs::one(id), ..Self::default() }
    }

    /// Whether nothing leads here.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.is_plain && !self.is_unknown && self.tensor.is_none() && self.refs.is_empty() && self.constant.is_none()
    }

    /// Whether it is one constant.
    pub(crate) fn is_const(&self, constant: &Const) -> bool {
        self.constant.as_ref() == Some(constant)
    }

    /// The text, for a constant string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.constant {
            Some(Const::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// The one object it is, if it is that alone.
    pub(crate) fn single(&self) -> Option<ObjId> {
        match self.refs.as_slice() {
            [id] => Some(*id),
            _ => None,
        }
    }

    /// Whether a join with another value would add nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_tensor_covered = match (&self.tensor, &other.tensor) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other) || own.covers(other),
            (None, Some(_)) => false,
            (_, None) => true,
        };
        is_tensor_covered
            && self.is_plain >= other.is_plain
            && self.is_unknown >= other.is_unknown
            && self.refs.covers(&other.refs, self.is_unknown)
            && (self.constant.is_none() || other.is_nothing() || self.constant == other.constant)
    }

    /// Takes a step along an edge.
    pub(crate) fn age(&mut self, age: Age) {
        if self.is_aged_by(age)
            && let Some(tensor) = self.tensor_mut()
        {
            tensor.origins.age(age);
        }
    }

    /// Whether a step along an edge changes anything.
    pub(crate) fn is_aged_by(&self, age: Age) -> bool {
        self.tensor.as_ref().is_some_and(|tensor| tensor.origins.is_aged_by(age))
    }

    /// Adds another possibility; gives whether that is new.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        if self.covers(other) {
            return false;
        }
        if self.is_nothing() {
            *self = other.clone();
            return true;
        }
        let mut changed = false;
        if self.constant.is_some() && self.constant != other.constant {
            self.constant = None;
            changed = true;
        }
        changed |= raise(&mut self.is_plain, other.is_plain);
        changed |= raise(&mut self.is_unknown, other.is_unknown);
        match (&mut self.tensor, &other.tensor) {
            (Some(own), Some(other)) if !Rc::ptr_eq(own, other) && !own.covers(other) => {
                changed |= Rc::make_mut(own).join(other);
            }
            (None, Some(other)) => {
                self.tensor = Some(other.clone());
                changed = true;
            }
            _ => {}
        }
        for &id in &other.refs {
            match self.refs.insert(id) {
                Inserted::New => changed = true,
                Inserted::Known => {}
                Inserted::Full => changed |= raise(&mut self.is_unknown, true),
            }
        }
        changed
    }

    /// The tensor that it may be, to change.
    pub(crate) fn tensor_mut(&mut self) -> Option<&mut Tensor> {
        self.tensor.as_mut().map(Rc::make_mut)
    }

    /// The same without the objects that it may be.
    pub(crate) fn without_refs(&self) -> Self {
        Self { refs: Refs::default(), ..self.clone() }
    }

    /// Both possibilities.
    pub(crate) fn joined(mut self, other: &Self) -> Self {
        self.join(other);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Sure, Tensor, Value};
    use crate::ir::Const;

    #[test]
    fn a_join_keeps_every_possibility() {
        let zero = Value::constant(Const::Int(0));
        let loss = Value::tensor(Tensor { graph: Sure::Yes, ..Tensor::default() });
        let both = zero.joined(&loss);
        assert!(both.is_plain && both.constant.is_none());
        assert_eq!(both.tensor.map(|tensor| tensor.graph), Some(Sure::Yes));
    }
}
