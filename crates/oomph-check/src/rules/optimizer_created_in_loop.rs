//! `optimizer-created-in-loop`: a new optimizer, with new state, on every turn.

use crate::analysis::events::{Call, LoopKind};
use crate::analysis::value::Kind;
use crate::facts::{Facts, Loop};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "optimizer-created-in-loop",
    group: Group::Optimizer,
    size: Size::per_epoch(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "An optimizer of the same parameters is made anew on every turn of a training loop.",
    why: "Each one begins with no state and allocates it at its first step; the old state lives until the new optimizer \
          has its name. The averages that Adam and momentum live on are thrown away every time.",
    cost: "Up to two sets of optimizer state, each twice the parameters for Adam, freed and allocated over and over.",
    instead: "Make it once before the loop. To change the learning rate use a scheduler or `param_groups`.",
    when_not: "Each turn trains something new, or the restart is meant.",
    programs: include_str!("optimizer_created_in_loop.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_under("torch.optim.") {
        if call.result.kind != Kind::Optimizer || !has_state(call) {
            continue;
        }
        let Some(module) = module_of(facts, call) else { continue };
        let Some(turns) = training_loop(facts, call) else {
            made_by_step(facts, report, call, module);
            continue;
        };
        let text = facts.source.slice(module.range());
        if !facts.is_unconditional_in(&call.at, turns.block) || begins_anew(facts, module, &turns) {
            continue;
        }
        report
            .add(
                call,
                format!(
                    "A new optimizer of `{text}` on every turn: its state is allocated again and its averages are lost"
                ),
            )
            .because(&turns.head(), "this loop makes one on every turn")
            .because(module, format!("`{text}` is the same on every turn"));
    }
}

/// A function that takes one step with an optimizer of its own, called once a batch with the same model.
fn made_by_step(facts: &Facts<'_>, report: &mut Report, call: &Call<'_>, module: &Expr) {
    let Some(function) = facts.function(&call.at) else { return };
    let alone =
        facts.loops(&call.at).next().is_none() && facts.is_unconditional_in(&call.at, facts.function_block(&call.at));
    let body = facts.written(function.node);
    let set_back = ["load_state_dict", "deepcopy", "reset_parameters", ".reset("].iter().any(|way| body.contains(way));
    let root = root_name(module).unwrap_or_default();
    let given = function.node.parameters.includes(root) || root == "self";
    if !alone || set_back || !given || !facts.is_training_step(&call.at) {
        return;
    }
    let same = |caller: &&Call<'_>| {
        let turns = facts.batch_loop(&caller.at).filter(|turns| turns.kind == LoopKind::Loader);
        turns.is_some_and(|turns| {
            let model = facts.argument_of(caller, root).or_else(|| caller.receiver_expr());
            model.is_some_and(|model| !facts.varies_in(model, turns.block))
        })
    };
    let Some(caller) = facts.callers_of(&call.at).find(same) else { return };
    let text = facts.source.slice(module.range());
    report
        .add(
            call,
            format!(
                "A new optimizer of `{text}` on every call: its state is allocated again and its averages are lost"
            ),
        )
        .because(caller, "called once a batch, with the same model")
        .because(module, format!("`{text}` is the same on every call"));
}

/// Whether the optimizer keeps anything between steps: plain SGD does not.
fn has_state(call: &Call<'_>) -> bool {
    call.name != "SGD" || call.keyword("momentum").is_some()
}

/// The loop over epochs or batches an optimizer is made in; folds and trials begin anew on purpose.
fn training_loop<'a>(facts: &Facts<'a>, call: &Call<'_>) -> Option<Loop<'a>> {
    let turns = facts.loops(&call.at).next()?;
    let head = facts.source.slice(turns.head()).to_ascii_lowercase();
    let epochs = turns.kind == LoopKind::Epochs && head.contains("epoch");
    let batches = facts.batch_loop(&call.at).is_some_and(|batches| batches.block == turns.block);
    (epochs || batches).then_some(turns)
}

/// `model` of `Adam(model.parameters(), ...)`.
fn module_of<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let Some(Expr::Call(parameters)) = call.arg(0).or_else(|| call.keyword("params")) else { return None };
    let Expr::Attribute(method) = &*parameters.func else { return None };
    let named = matches!(&*method.value, Expr::Name(_) | Expr::Attribute(_));
    let known = facts.call_at(call.arg(0)?).and_then(|found| found.receiver.as_ref()).is_some();
    (method.attr.as_str() == "parameters" && named && known).then_some(&*method.value)
}

/// Whether the module is another, or is set back, on every turn.
fn begins_anew(facts: &Facts<'_>, module: &Expr, turns: &Loop<'_>) -> bool {
    let Some(root) = root_name(module) else { return true };
    let rebound = facts.binds_of(root).any(|bind| facts.is_inside(bind.at.block, turns.block));
    let within = facts.source.slice(turns.range);
    let set_back =
        ["load_state_dict", "deepcopy", "reset_parameters", "apply(", ".reset("].iter().any(|way| within.contains(way));
    rebound || set_back
}

fn root_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root_name(&attribute.value),
        Expr::Subscript(item) => root_name(&item.value),
        _ => None,
    }
}
