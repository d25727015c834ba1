//! `flatten-all-parameters`: all parameters are copied into one vector.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "flatten-all-parameters",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "All parameters, or all gradients, are copied into one long vector.",
    why: "The vector is a second copy of all of them in one block, and the allocator has to find or reserve a piece of \
          that size.",
    cost: "The size of the parameters, in one block; with a graph its gradient as well.",
    instead: "Work on the list: `torch.nn.utils.get_total_norm`, `torch._foreach_*`, or a sum over parameters.",
    when_not: "The method needs the vector, as second-order ones do.",
    programs: include_str!("flatten_all_parameters.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let message = "All parameters are copied into one block";
    for call in facts.calls_to("torch.nn.utils.parameters_to_vector") {
        report.add(call, message).because(call, "the vector is a second copy of them");
    }
    for call in facts.calls_to("torch.cat").chain(facts.calls_to("torch.concat")) {
        let Some(place) = flattens(facts, call) else { continue };
        report.add(call, message).because(&place, "each parameter is flattened here and goes into the copy");
    }
}

/// The comprehension over parameters that a `cat` is given.
fn flattens(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let (element, range) = match call.arg(0)? {
        Expr::ListComp(node) => (&*node.elt, node.range()),
        Expr::Generator(node) => (&*node.elt, node.range()),
        _ => return None,
    };
    let over_parameters = facts.blocks().any(|(_, block)| {
        matches!(block.kind, BlockKind::Comprehension(LoopKind::Parameters, whole) if whole.range() == range)
    });
    let Expr::Call(flat) = element else { return None };
    let Expr::Attribute(method) = &*flat.func else { return None };
    let whole = matches!(&*method.value, Expr::Name(_) | Expr::Attribute(_));
    let flattened = matches!(method.attr.as_str(), "view" | "reshape" | "flatten" | "ravel");
    (over_parameters && whole && flattened).then_some(range)
}
