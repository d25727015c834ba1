//! `grad-norm-history-kept`: a list of gradient norms is a list of tensors on the GPU.

use crate::analysis::events::{Call, Callee, LoopKind, Root, Store, StoreKind};
use crate::analysis::value::{Device, Kind};
use crate::facts::{Effect, Facts, Loop};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "grad-norm-history-kept",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A list collects what `clip_grad_norm_` returns, a tensor on the GPU, on every step.",
    why: "Each norm is a block of its own in the allocator, 512 bytes at least, in the midst of the blocks of its step. \
          Such survivors keep whole segments from being given back or joined.",
    cost: "512 bytes a step, and the segments they sit in.",
    instead: "Append `norm.item()`, or keep the last few and convert them together.",
    when_not: "The list is emptied at every step.",
    programs: include_str!("grad_norm_history_kept.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        if !matches!(store.kind, StoreKind::Append | StoreKind::Extend | StoreKind::Item)
            || !matches!(store.holder.kind, Kind::List | Kind::Dict | Kind::Set | Kind::Unknown)
        {
            continue;
        }
        let Some(batches) = facts.batch_loop(&store.at) else {
            check_step(facts, report, store);
            continue;
        };
        let gradients = gradients_kept(facts, store, &batches);
        let norm = || norm_made(facts, store).filter(|_| has_new_key(facts, store, &batches));
        let Some(made) = gradients.or_else(norm) else { continue };
        let short_lived =
            !facts.outlives(&store.holder, &batches) || facts.is_emptied_in(store.target, batches.block, store.at.stmt);
        // A local list over the time steps of one batch is short, and ends with the function. One that goes on through
        // a loop around that, over epochs, is not.
        let mut around = facts.loops(&store.at).skip_while(|turns| turns.block != batches.block).skip(1);
        let few = matches!(batches.kind, LoopKind::Range | LoopKind::Items)
            && matches!(store.root, Root::Local(_))
            && store.at.function.is_some()
            && !around.any(|outer| facts.outlives(&store.holder, &outer));
        if short_lived || few || matches!(store.value.kind, Kind::Number | Kind::Str) {
            continue;
        }
        let target = facts.source.slice(store.target.range());
        if gradients.is_some() {
            report
                .add(store, format!("`{target}` keeps the gradients of every step: as much as the weights, each time"))
                .because(&made, "the gradients themselves, or copies where they are")
                .because(&batches.head(), "once a step, and what is kept outlives it");
            continue;
        }
        report
            .add(store, format!("`{target}` keeps one tensor on the GPU for every step"))
            .because(&made, "this returns the norm as a tensor where the gradients are")
            .because(&batches.head(), "once a step, and the list outlives it")
            .unsafe_fix("Keep the number", item(facts, store));
    }
}

/// The norm of a step that is kept on an object or in the module, where the step is a function of its own.
fn check_step(facts: &Facts<'_>, report: &mut Report, store: &Store<'_>) {
    let lasting = matches!(store.root, Root::SelfAttribute(_) | Root::Outer(_)) && store.via.is_none();
    let grows = matches!(store.kind, StoreKind::Append | StoreKind::Extend);
    let known = matches!(store.value.kind, Kind::Number | Kind::Str) || store.holder.kind == Kind::Unknown;
    if !lasting || !grows || known || facts.loops(&store.at).next().is_some() {
        return;
    }
    let Some(made) = norm_made(facts, store) else { return };
    let Some((place, why)) = facts.comes_again(&store.at) else { return };
    if is_taken_from(facts, store) {
        return;
    }
    let target = facts.source.slice(store.target.range());
    report
        .add(store, format!("`{target}` keeps one tensor on the GPU for every step"))
        .because(&made, "this returns the norm as a tensor where the gradients are")
        .because(&place, why)
        .unsafe_fix("Keep the number", item(facts, store));
}

/// Whether anything in the file empties the holder, takes from it or makes it anew.
fn is_taken_from(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let (Root::SelfAttribute(name) | Root::Outer(name)) = store.root else { return true };
    let within = |expr: &Expr| facts.mentions_word(expr.range(), name);
    let empties = ["clear", "pop", "popleft", "popitem"].iter().flat_map(|way| facts.calls_named(way));
    empties.into_iter().any(|call| call.receiver_expr().is_some_and(within))
        || facts.deletes().iter().any(|delete| within(delete.target))
        || facts.binds_of(name).count() > 1
}

/// Whether what is stored adds to what is there: by another key on every turn, or at the end.
fn has_new_key(facts: &Facts<'_>, store: &Store<'_>, batches: &Loop<'_>) -> bool {
    match facts.statement(store.at.stmt).map(|found| found.node) {
        Some(Stmt::Assign(assign)) if store.kind == StoreKind::Item => {
            let mut keys = assign.targets.iter().filter_map(Expr::as_subscript_expr);
            keys.any(|target| facts.varies_in(&target.slice, batches.block))
        }
        _ => store.kind != StoreKind::Item,
    }
}

/// The gradients of all parameters, where a loop that trains keeps them for each of its steps, on the GPU:
/// `[p.grad.clone() for p in model.parameters()]`.
fn gradients_kept(facts: &Facts<'_>, store: &Store<'_>, batches: &Loop<'_>) -> Option<TextRange> {
    let (each, whole) = match store.value_expr {
        Expr::ListComp(node) => (&*node.elt, node.generators.first()?),
        Expr::DictComp(node) => (&*node.value, node.generators.first()?),
        _ => return None,
    };
    let goes_over = facts.written(&whole.iter);
    let of_parameters = goes_over.contains("parameters()") && !goes_over.contains('[');
    let text = facts.written(each);
    let rest = text.split_once(".grad").map(|(_, rest)| rest)?;
    let itself = ["", ".clone()", ".detach()", ".detach().clone()", ".data", ".data.clone()", ".clone().detach()"];
    let steps = facts.effects_in(Effect::Step, batches.block).next().is_some();
    let another = store.kind != StoreKind::Extend && has_new_key(facts, store, batches);
    (of_parameters && steps && another && itself.contains(&rest)).then(|| each.range())
}

/// The call that made the norm: in place, or bound to the name that is stored.
fn norm_made(facts: &Facts<'_>, store: &Store<'_>) -> Option<crate::python::TextRange> {
    let items: Vec<&Expr> = match store.value_expr {
        Expr::List(list) => list.elts.iter().collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        Expr::Dict(dict) => dict.items.iter().map(|item| &item.value).collect(),
        other => vec![other],
    };
    items.into_iter().find_map(|kept| {
        let expr = match kept {
            Expr::Name(name) => {
                let binds = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == store.at.function);
                binds.filter(|bind| bind.at.order < store.at.order).last()?.value_expr?
            }
            other => other,
        };
        let call = facts.call_at(without_copies(expr))?;
        (is_norm(call) || is_norm_of_gradients(facts, call) || hands_norm_on(facts, call)).then(|| call.range())
    })
}

fn is_norm(call: &Call<'_>) -> bool {
    matches!(call.name, "clip_grad_norm_" | "clip_grad_norm" | "get_total_norm")
}

/// `x` of `x.detach()` and `x.clone()`: another tensor in the same place.
fn without_copies(expr: &Expr) -> &Expr {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "detach" | "clone") => {
                without_copies(&method.value)
            }
            _ => expr,
        },
        _ => expr,
    }
}

/// Whether a function of this file returns the norm as it got it: `return clip_grad_norm_(model.parameters(), limit)`.
fn hands_norm_on(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Callee::Project(id) = call.callee else { return false };
    let mut returns = facts.returns().iter().filter(|found| facts.is_own(id) && found.at.function == Some(id.index));
    let (Some(only), None) = (returns.next(), returns.next()) else { return false };
    let bound = || {
        let Expr::Name(name) = only.expr else { return None };
        let mut binds = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == Some(id.index));
        let (bind, more) = (binds.next()?, binds.next());
        bind.value_expr.filter(|_| more.is_none())
    };
    let returned = bound().unwrap_or(only.expr);
    facts.call_at(without_copies(returned)).is_some_and(is_norm)
}

/// Whether a function of the project works out the norm of all gradients and returns it as a tensor.
fn is_norm_of_gradients(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Callee::Project(id) = call.callee else { return false };
    let name = call.name.to_ascii_lowercase();
    let returned = facts.summary(id).is_some_and(|summary| summary.returns.is_tensor());
    let reads = facts.is_own(id) && facts.written(facts.function_def(id).node).contains(".grad.");
    returned && reads && name.contains("norm") && call.result.device != Device::Cpu
}

fn item(facts: &Facts<'_>, store: &Store<'_>) -> Vec<Edit> {
    match store.value_expr {
        Expr::Name(_) | Expr::Call(_) if store.kind == StoreKind::Append => {
            facts.call_method_on(store.value_expr, "item")
        }
        _ => Vec::new(),
    }
}
