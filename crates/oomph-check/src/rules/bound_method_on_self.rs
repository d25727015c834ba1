//! `bound-method-on-self`: a module that refers to itself through its own method.

use crate::analysis::events::{Root, StoreKind};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "bound-method-on-self",
    group: Group::Graph,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "A module keeps one of its own bound methods as an attribute.",
    why: "A bound method refers to its object: `self.act = self.gelu` makes the module refer to itself. Counting references \
          no longer frees it, so after `del model` its weights stay on the GPU until the cycle collector runs.",
    cost: "All parameters (with gradients and buffers) of a module nobody uses any more, for as long as the collector waits.",
    instead: "Look the method up when it is called (`getattr(self, self.act_name)`), keep the plain function \
              (`type(self).gelu`), or a `weakref.WeakMethod`.",
    when_not: "One module lives as long as the process: then nothing ever waits to be freed.",
    programs: include_str!("bound_method_on_self.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let Root::SelfAttribute(name) = store.root else { continue };
        if store.kind != StoreKind::Attribute
            || !matches!(facts.class_kind(&store.at), ClassKind::Module | ClassKind::Lightning)
        {
            continue;
        }
        let arms = match store.value_expr {
            Expr::If(node) => vec![&*node.body, &*node.orelse],
            other => vec![other],
        };
        let Some(method) = arms.into_iter().find(|arm| is_own_method(facts, &store.at, arm)) else { continue };
        let text = facts.source.slice(method.range());
        // One model for the whole run is freed with the program.
        let turns = facts.class_at(&store.at).and_then(|class| facts.made_again(class));
        report
            .add(store, format!("`self.{name}` holds `{text}`, which holds `self`: the module's weights are freed only by the cycle collector"))
            .doubtful_if(turns.is_none())
            .because_if(turns, "another one is made each time around here")
            .because(method, "a bound method refers to its object");
    }
}

/// Whether an expression is `self.method` for a method of the class itself, not static and no property.
fn is_own_method(facts: &Facts<'_>, at: &crate::analysis::events::At, expr: &Expr) -> bool {
    let Expr::Attribute(node) = expr else { return false };
    let Some(function) = facts.function(at) else { return false };
    let own = function.node.parameters.args.first().map(|parameter| parameter.parameter.name.as_str());
    let on_self = matches!(&*node.value, Expr::Name(base) if Some(base.id.as_str()) == own);
    let Some(class) = function.class.filter(|_| on_self) else { return false };
    let id = crate::analysis::value::ClassId { file: facts.file_index(), index: class };
    let stored = facts.tables().attribute(id, node.attr.as_str());
    let is_attribute = stored.is_some_and(|value| !matches!(value.kind, Kind::Function(_)));
    let method = facts.tables().method(id, node.attr.as_str());
    !is_attribute && method.is_some_and(|method| facts.function_def(method).node.decorator_list.is_empty())
}
