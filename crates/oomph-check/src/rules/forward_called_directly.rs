//! `forward-called-directly`: hooks are skipped.

use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "forward-called-directly",
    group: Group::Operations,
    size: Size::per_batch(Amount::Small),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "`model.forward(x)` is called in the place of `model(x)`.",
    why: "Only the call runs hooks. FSDP gathers and frees parameters in them, offloading moves weights in and out, DDP \
          prepares its buckets: all of that is skipped.",
    cost: "Nothing by itself; with FSDP or offloading, weights that stay gathered or on the GPU.",
    instead: "`model(x)`.",
    when_not: "`super().forward(x)` within `forward`.",
    programs: include_str!("forward_called_directly.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("forward") {
        let (Some(receiver), Some(value)) = (call.receiver_expr(), &call.receiver) else { continue };
        let own = matches!(receiver, Expr::Call(_)) || matches!(facts.written(receiver), "self" | "cls");
        // Whatever has a `forward` and is neither a class nor an autograd function is a module.
        let unknown = value.kind == Kind::Unknown
            && facts.outline().imports_torch
            && last_name(receiver).is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            && !call.args.is_empty();
        if own || !(value.is_module() || unknown) {
            continue;
        }
        let name = facts.written(receiver);
        let edits = vec![Edit::delete(TextRange::new(receiver.end(), call.node.func.end()))];
        report
            .add(call, format!("`{name}.forward(...)` skips hooks: sharding and offloading do not see it"))
            .because(receiver, "a module")
            .unsafe_fix("Call the module", edits);
    }
}
