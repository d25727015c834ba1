//! The walk over calls of classes: what making one gives, and the tensors it is made to hold.

use std::sync::Arc;

use super::events::{Callee, StoreKind};
use super::given::{Given, Outcome};
use super::value::{ClassId, Flags, Kind, Sources, Value};
use super::walk::Walker;
use crate::python::Expr;
use crate::uses::last_name;

impl<'a> Walker<'a, '_> {
    /// An object of a class of the project.
    pub(super) fn construct(&mut self, id: ClassId, given: &Given<'a>) -> Outcome {
        let mut value = self.instance_of(id);
        let unless = self.tables.freezing(id).and_then(|freezing| freezing.unless);
        if unless.is_some_and(|name| given.is_true(name)) {
            value = value.unflagged(Flags::FROZEN);
        }
        let mut outcome = Outcome::other(value.clone());
        if let Some(init) = self.tables.method(id, "__init__") {
            outcome.callee = Callee::Project(init);
            self.note_call(init, Some(&value), given);
        }
        let held: Vec<Value> = given.all().filter(|value| value.holds_graph()).cloned().collect();
        if !held.is_empty() && matches!(value.kind, Kind::Instance(_)) && self.is_record(id) {
            outcome.value.sources = held.iter().fold(Sources::default(), |sources, value| sources.with(value.sources));
            outcome.value.parts = Some(Arc::from(held));
        }
        outcome
    }

    /// Whether objects of a class hold what they are made with: a dataclass, a named tuple, a constructor that keeps it.
    fn is_record(&self, id: ClassId) -> bool {
        let class = &self.tables.outlines[id.file as usize].classes[id.index as usize];
        let decorated = class.node.decorator_list.iter().any(|decorator| {
            let name = match &decorator.expression {
                Expr::Call(call) => last_name(&call.func),
                named => last_name(named),
            };
            matches!(name, Some("dataclass" | "define" | "frozen"))
        });
        let derived = class.bases.iter().any(|base| {
            matches!(base.rsplit('.').next(), Some("NamedTuple" | "BaseModel" | "TypedDict" | "ModelOutput"))
        });
        let keeps = || {
            let init = self.tables.method(id, "__init__").and_then(|init| self.tables.summary(init));
            init.is_some_and(|summary| summary.keeps.iter().any(|kept| kept.kind == StoreKind::Attribute))
        };
        decorated || derived || keeps()
    }
}
