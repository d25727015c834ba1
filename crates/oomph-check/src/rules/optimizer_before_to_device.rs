//! `optimizer-before-to-device`: the optimizer is made before the model is moved.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "optimizer-before-to-device",
    group: Group::Optimizer,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "An optimizer is made from parameters that are moved to the device afterwards.",
    why: "A plain `.cuda()` changes parameters in place, and the optimizer follows. It does not follow where the move makes \
          new parameters, as wrapping in FSDP and some device backends do, and state it has loaded stays on the old \
          device: then both sides hold a copy.",
    cost: "Nothing for plain modules; the parameters or the optimizer's state twice otherwise.",
    instead: "Move the model first, then make the optimizer.",
    when_not: "The module is plain, and the optimizer has no state yet.",
    programs: include_str!("optimizer_before_to_device.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for made in facts.calls_under("torch.optim.") {
        let Some(module) = parameters_of(facts, made) else { continue };
        let moved = ["cuda", "to"].iter().flat_map(|name| facts.calls_named(name)).find(|call| {
            call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == module)
                && call.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module)
                && is_to_gpu(facts, call)
                && facts.is_always_before(&made.at, &call.at)
        });
        let Some(moved) = moved else { continue };
        let before = ["cuda", "to"].iter().flat_map(|name| facts.calls_named(name)).any(|call| {
            call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == module)
                && facts.is_always_before(&call.at, &made.at)
        });
        if before {
            continue;
        }
        report
            .add(
                made,
                format!(
                    "The optimizer is made before `{module}` is moved: parameters or state may end up on both sides"
                ),
            )
            .because(moved, format!("`{module}` is moved only here"));
    }
}

/// `model` of `Adam(model.parameters())`.
fn parameters_of<'f>(facts: &'f Facts<'_>, made: &Call<'_>) -> Option<&'f str> {
    let Some(Expr::Call(call)) = made.arg(0) else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    (method.attr.as_str() == "parameters").then(|| facts.source.slice(method.value.range()))
}

fn is_to_gpu(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let text = facts.source.slice(call.node.arguments.range()).to_ascii_lowercase();
    call.name == "cuda"
        || (text.contains("cuda") || text.contains("device") || text.contains("gpu")) && !text.contains("cpu")
}
