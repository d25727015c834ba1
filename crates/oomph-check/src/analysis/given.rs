//! A call as the walk sees it: what it is given, and what it came to.

use super::events::Callee;
use super::value::{Device, Flags, Kind, Sources, Value};
use crate::python::Expr;
use crate::python::ast::ExprCall;

/// A call with its arguments evaluated.
pub(super) struct Given<'a> {
    pub(super) node: &'a ExprCall,
    pub(super) name: &'a str,
    pub(super) args: Vec<Value>,
    pub(super) keywords: Vec<Value>,
}

impl<'a> Given<'a> {
    /// The device a call's `device=` or arguments name.
    pub(super) fn device(&self) -> Device {
        if let Some((_, value)) = self.keyword("device") {
            return value.device;
        }
        let named = self.args.iter().find(|value| value.kind == Kind::Str && value.device != Device::Unknown);
        named.map_or(Device::Unknown, |value| value.device)
    }

    pub(super) fn first(&self) -> Option<&Value> {
        self.args.first().or_else(|| self.keywords.first())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        self.args.iter().chain(&self.keywords)
    }

    /// Whether something given comes from a loader or was moved to a device: what a model is fed.
    pub(super) fn takes_batch(&self) -> bool {
        self.all().any(|value| value.has(Flags::DATA)) || self.takes_moved()
    }

    /// Whether something given was moved to a device.
    pub(super) fn takes_moved(&self) -> bool {
        let moved = |value: &Value| {
            !value.is_module() && (value.has(Flags::MOVED) || value.is_tensor() && value.device == Device::Cuda)
        };
        self.all().any(|value| {
            moved(value) || value.kind == Kind::List && value.parts.iter().any(|parts| parts.iter().any(moved))
        })
    }

    /// Whether a reduction is told the dimension: by name, or by the argument at this place, which is no other tensor.
    pub(super) fn takes_dim(&self, place: usize) -> bool {
        self.keyword("dim").is_some()
            || self.keyword("axis").is_some()
            || self.args.get(place).is_some_and(|value| !value.is_tensor())
    }

    pub(super) fn keyword(&self, name: &str) -> Option<(&'a Expr, &Value)> {
        let keywords = &self.node.arguments.keywords;
        let index = keywords.iter().position(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name))?;
        Some((&keywords[index].value, self.keywords.get(index)?))
    }

    /// Whether the first argument is this truth value, written out.
    pub(super) fn is_first(&self, expected: bool) -> bool {
        matches!(self.node.arguments.args.first(), Some(Expr::BooleanLiteral(literal)) if literal.value == expected)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        matches!(self.keyword(name), Some((Expr::BooleanLiteral(literal), _)) if literal.value)
    }

    pub(super) fn is_false(&self, name: &str) -> bool {
        matches!(self.keyword(name), Some((Expr::BooleanLiteral(literal), _)) if !literal.value)
    }
}

/// What a call came to.
pub(super) struct Outcome {
    pub(super) callee: Callee,
    pub(super) value: Value,
    pub(super) site: Sources,
    /// Whether all it runs is in evaluation mode.
    pub(super) evaluates: bool,
}

impl Outcome {
    pub(super) fn other(value: Value) -> Self {
        Self { callee: Callee::Other, value, site: Sources::default(), evaluates: false }
    }
}
