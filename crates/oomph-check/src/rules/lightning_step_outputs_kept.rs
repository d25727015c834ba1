//! `lightning-step-outputs-kept`: a list on a Lightning module grows for the whole run.

use crate::analysis::events::{At, BlockKind, Call, Callee, Store, StoreKind};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::{Flags, Kind, Value};
use crate::facts::{Facts, FunctionKind};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::string_of;

pub(super) static RULE: Rule = Rule {
    name: "lightning-step-outputs-kept",
    group: Group::Frameworks,
    size: Size::per_batch(Amount::Batch).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "Outputs of Lightning steps are collected on the module and never cleared.",
    why: "Since Lightning 2 the module collects step outputs itself. A list that no `on_*_epoch_end` clears keeps those of \
          every epoch, in `training_step` with their graphs.",
    cost: "One output a batch for the whole run; with its graph's nodes in `training_step`.",
    instead: "`self.outputs.clear()` at the end of the epoch, and append `.detach().cpu()`; or `self.log` a number.",
    when_not: "The list is emptied elsewhere, in a callback for instance.",
    programs: include_str!("lightning_step_outputs_kept.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for store in facts.stores() {
        if !is_growing(store) {
            continue;
        }
        let Some(step) = step_of(facts, &store.at) else { continue };
        let Some(holder) = holder_name(store.target) else { continue };
        let keeps = holds_output(&store.value)
            || keeps_returned(facts, store, step)
            || keeps_given(facts, store)
            || keeps_in_record(facts, store);
        if !keeps || is_emptied(facts, holder) || has_project_base(facts, store) {
            continue;
        }
        let (target, function) = (facts.written(store.target), facts.function_name(&store.at));
        let what = if store.value.holds_graph() { "outputs with their graphs" } else { "outputs" };
        report
            .add(
                store,
                format!("`{target}` collects {what} in `{function}` and is never cleared: it grows with every epoch"),
            )
            .because(store.value_expr, "a tensor of every batch")
            .because(store.target, format!("nothing in this file empties or rebinds `self.{holder}`"))
            .unsafe_fix("Store a detached copy on the CPU", detached(store));
    }
}

/// The step of training or validation that a point runs in: the step's own method, one that only it calls, or what a
/// callback does after it. Testing and predicting run once: their lists grow with no epoch.
fn step_of(facts: &Facts<'_>, at: &At) -> Option<FunctionKind> {
    let own = |at: &At| match (facts.kind_at(at), facts.function_name(at)) {
        (_, "test_step" | "predict_step") => None,
        (step @ (FunctionKind::TrainingStep | FunctionKind::EvaluationStep), _) => Some(step),
        _ => None,
    };
    let by_step = || {
        let mut steps = facts.callers_of(at).map(|call| own(&call.at));
        let first = steps.next()??;
        (facts.class_kind(at) == ClassKind::Lightning && steps.all(|step| step.is_some())).then_some(first)
    };
    own(at).or_else(by_step).or_else(|| after_step(facts, at))
}

/// The step after which a method of a callback runs.
fn after_step(facts: &Facts<'_>, at: &At) -> Option<FunctionKind> {
    let of_lightning = facts.outline().imports.values().any(|full| full.contains("lightning"));
    match facts.function_name(at) {
        _ if facts.class_kind(at) != ClassKind::Framework || !of_lightning => None,
        "on_train_batch_end" => Some(FunctionKind::TrainingStep),
        "on_validation_batch_end" => Some(FunctionKind::EvaluationStep),
        _ => None,
    }
}

/// Whether a dict that is kept has an output of the model among its values: `{"id": batch["id"], "out": out}`.
fn keeps_in_record(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let record = match store.value_expr {
        Expr::List(list) => list.elts.first(),
        other => Some(other),
    };
    let Some(Expr::Dict(record)) = record else { return false };
    record.items.iter().any(|item| match &item.value {
        Expr::Name(name) => {
            let own = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == store.at.function);
            let before = own.filter(|bind| bind.at.order < store.at.order);
            before.last().is_some_and(|bind| holds_output(&bind.value))
        }
        _ => false,
    })
}

/// Whether a callback keeps what it is given: all outputs of a step or the batch. The loss alone is one number.
fn keeps_given(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let mut kept = store.value_expr;
    let mut key = None;
    while let Expr::Subscript(item) = kept {
        key = string_of(&item.slice);
        kept = &item.value;
    }
    let given = matches!(kept, Expr::Name(name) if matches!(name.id.as_str(), "outputs" | "batch"));
    given
        && !key.is_some_and(|key| key.contains("loss") || key.contains("acc"))
        && after_step(facts, &store.at).is_some()
}

fn is_growing(store: &Store<'_>) -> bool {
    matches!(store.kind, StoreKind::Append | StoreKind::Extend) && store.via.is_none()
}

/// `outputs` of `self.outputs` and `self.outputs['x']`.
fn holder_name(target: &Expr) -> Option<&str> {
    match target {
        Expr::Attribute(node) => {
            matches!(&*node.value, Expr::Name(name) if name.id.as_str() == "self").then(|| node.attr.as_str())
        }
        Expr::Subscript(node) => holder_name(&node.value),
        _ => None,
    }
}

fn holds_output(value: &Value) -> bool {
    let own = value.is_tensor() && value.device != crate::analysis::value::Device::Cpu && !value.has(Flags::DATA);
    let known = value.holds_graph() || value.has(Flags::RAW) || value.has(Flags::LOSS);
    own && known || value.parts.iter().any(|parts| parts.iter().any(holds_output))
}

/// Whether a `training_step` keeps what it returns, itself or as an item of a dict: the loss, with its graph.
fn keeps_returned(facts: &Facts<'_>, store: &Store<'_>, step: FunctionKind) -> bool {
    let returned = |name: &str| {
        let mut returns = facts.returns().iter().filter(|found| found.at.function == store.at.function);
        returns.any(|found| matches!(found.expr, Expr::Name(node) if node.id.as_str() == name))
    };
    let is_it = |expr: &Expr| matches!(expr, Expr::Name(node) if returned(node.id.as_str()));
    let unknown = |value: &Value| matches!(value.kind, Kind::Unknown | Kind::Dict) || value.is_tensor();
    let kept = match store.value_expr {
        Expr::Dict(dict) => dict.items.iter().any(|item| is_it(&item.value)),
        other => is_it(other),
    };
    step == FunctionKind::TrainingStep && kept && unknown(&store.value)
}

/// Whether anything in the file clears the attribute, takes from it, deletes it or binds it anew outside `__init__`.
fn is_emptied(facts: &Facts<'_>, holder: &str) -> bool {
    let own = |expr: &Expr| holder_name(expr) == Some(holder);
    let clears = ["clear", "pop", "popleft"]
        .iter()
        .any(|name| facts.calls_named(name).any(|call| call.receiver_expr().is_some_and(own)));
    let deletes = facts.deletes().iter().any(|delete| own(delete.target));
    let rebinds =
        facts.binds_of(holder).any(|bind| facts.function_name(&bind.at) != "__init__" && bind.at.function.is_some());
    let indirect = facts.source.text.contains(&format!("reset_{holder}")) || facts.source.text.contains(".__dict__");
    clears || deletes || rebinds || indirect || resets_by_loop(facts, holder) || may_be_emptied_by_name(facts, holder)
}

/// Ways to empty a list that goes by another name.
const EMPTIES: &[&str] = &["clear", "pop", "popleft", "popitem"];

/// Whether the list may go by another name where that is emptied: `getattr(self, f"{phase}_outputs").clear()`,
/// `for kept in (self.outputs, self.labels): kept.clear()`, `reset(self.outputs)`.
fn may_be_emptied_by_name(facts: &Facts<'_>, holder: &str) -> bool {
    let named = |call: &Call<'_>| call.arg(1).and_then(string_of).is_none_or(|name| name == holder);
    let of_self = |call: &Call<'_>| call.arg(0).is_some_and(|own| facts.written(own) == "self") && named(call);
    let empties = || {
        let mut calls = EMPTIES.iter().flat_map(|way| facts.calls_named(way));
        calls.any(|call| call.receiver_expr().is_some_and(|on| holder_name(on).is_none()))
    };
    if facts.calls_named("setattr").any(of_self) || facts.calls_named("getattr").any(of_self) && empties() {
        return true;
    }
    let is_it = |expr: &Expr| holder_name(expr) == Some(holder);
    let aliased = facts.binds().iter().any(|bind| bind.value_expr.is_some_and(is_it));
    let walked = facts.blocks().any(|(_, block)| match block.kind {
        BlockKind::Loop(_, Stmt::For(node)) => match &*node.iter {
            Expr::Tuple(all) => all.elts.iter().any(is_it),
            Expr::List(all) => all.elts.iter().any(is_it),
            _ => false,
        },
        _ => false,
    });
    let handed_on = || {
        let ours = |call: &&Call<'_>| matches!(call.callee, Callee::Project(_));
        facts.calls().iter().filter(ours).any(|call| call.node.arguments.args.iter().any(is_it))
    };
    (aliased || walked || handed_on()) && empties()
}

/// `for values in self.outputs.values(): values.clear()`.
fn resets_by_loop(facts: &Facts<'_>, holder: &str) -> bool {
    let loops = facts.calls_named("values").chain(facts.calls_named("items"));
    let mut over = loops.filter(|call| call.receiver_expr().is_some_and(|expr| holder_name(expr) == Some(holder)));
    over.any(|_| facts.calls_named("clear").next().is_some())
}

/// Whether a base class of the project may do the clearing.
fn has_project_base(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    facts.class_at(&store.at).is_none_or(|class| facts.tables().ancestry(class).len() > 1)
}

fn detached(store: &Store<'_>) -> Vec<Edit> {
    use crate::python::Ranged;
    match store.value_expr {
        // A dict has no `detach`.
        Expr::Name(_) | Expr::Call(_) if store.kind == StoreKind::Append && store.value.is_tensor() => {
            vec![Edit::insert(store.value_expr.end(), ".detach().cpu()")]
        }
        _ => Vec::new(),
    }
}
