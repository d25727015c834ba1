//! `ctx-attribute-in-custom-function`: an output kept on `ctx` keeps itself alive.

use crate::analysis::events::{At, Bind, Store, StoreKind};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::Kind;
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "ctx-attribute-in-custom-function",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: None,
    summary: "The output of a custom `autograd.Function` is kept as an attribute of `ctx`.",
    why: "The output refers to its node in the graph, the node to `ctx`, and `ctx` to the output: a cycle that counting \
          references never frees. `save_for_backward` is made to avoid exactly this, and drops what it saved after \
          the backward pass.",
    cost: "The output of every call, and what hangs on it, until the cycle collector runs. With `save_for_backward` it \
           died at once when measured.",
    instead: "`ctx.save_for_backward(y)` in `forward`, `y, = ctx.saved_tensors` in `backward`.",
    when_not: "The attribute is no tensor (a shape, a flag), or the output is marked non-differentiable.",
    programs: include_str!("ctx_attribute_in_custom_function.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let kept = matches!(store.kind, StoreKind::Attribute | StoreKind::Append | StoreKind::Item);
        if !kept || !is_in_forward(facts, store) || !is_on_ctx(facts, store) {
            continue;
        }
        let held = matches!(store.value.kind, Kind::Tensor | Kind::Unknown)
            || matches!(store.value_expr, Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_));
        if !held || is_let_go_in_backward(facts, store) {
            continue;
        }
        let Some((output, range)) = output_kept(facts, store) else { continue };
        if is_non_differentiable(facts, store, output) {
            continue;
        }
        let target = facts.source.slice(store.target.range());
        report
            .add(
                store,
                format!("`{target}` keeps the output `{output}` in a cycle with its own graph: it stays until the cycle collector runs"),
            )
            .because(&range, format!("`{output}` is what the function returns, so its graph refers to this `ctx`"))
            .because(store, "`ctx` refers back to it, outside `save_for_backward`");
    }
}

fn is_in_forward(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    facts.kind_at(&store.at) == FunctionKind::AutogradForward || is_setup(facts, store)
}

fn is_setup(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    facts.class_kind(&store.at) == ClassKind::AutogradFunction && facts.function_name(&store.at) == "setup_context"
}

/// Whether the target is an attribute of the function's first parameter.
fn is_on_ctx(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Some(function) = facts.function(&store.at) else { return false };
    let first = function.node.parameters.args.first().map(|parameter| parameter.parameter.name.as_str());
    matches!(store.target, Expr::Attribute(target) if
        matches!(&*target.value, Expr::Name(base) if Some(base.id.as_str()) == first))
}

/// The output that is kept, as it is written, and where it is seen to be one.
fn output_kept<'f>(facts: &'f Facts<'_>, store: &Store<'_>) -> Option<(&'f str, crate::python::TextRange)> {
    if is_setup(facts, store) {
        let output = facts.function(&store.at)?.node.parameters.args.get(2)?;
        let output_name = output.parameter.name.as_str();
        // The output itself, or one of several it is taken apart into.
        let parts: Vec<&str> = facts
            .binds()
            .iter()
            .filter(|bind| bind.at.function == store.at.function && is_taken_from(facts, bind, output_name))
            .map(|bind| bind.name)
            .collect();
        let is_output = |name: &str| name == output_name || parts.contains(&name);
        let kept = |item: &&&Expr| matches!(item, Expr::Name(name) if is_output(name.id.as_str()));
        return items_of(store.value_expr)
            .iter()
            .find(kept)
            .map(|item| (facts.source.slice(item.range()), output.range()));
    }
    let mut kept = items_of(store.value_expr);
    if let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) {
        // `y = ctx.y = x.exp()`: both are the output.
        kept.extend(assign.targets.iter().filter(|target| target.is_name_expr() && assign.targets.len() > 1));
    }
    let target = facts.source.slice(store.target.range());
    let returns = facts.returns().iter().filter(|found| found.at.function == store.at.function);
    returns.filter(|found| found.at.order > store.at.order).find_map(|found| {
        let items = match found.expr {
            Expr::Tuple(tuple) => &tuple.elts[..],
            other => std::slice::from_ref(other),
        };
        let same = |item: &&Expr| {
            let text = facts.source.slice(item.range());
            text == target || kept.iter().any(|kept| kept.is_name_expr() && facts.written(*kept) == text)
        };
        let item = items.iter().find(same)?;
        let stays = matches!(item, Expr::Name(_)).then(|| !is_rebound_between(facts, store, item, found.at.order));
        stays.unwrap_or(true).then(|| (facts.source.slice(item.range()), item.range()))
    })
}

/// Whether a binding takes a tuple apart: `y, z = output`.
fn is_taken_from(facts: &Facts<'_>, bind: &Bind<'_>, name: &str) -> bool {
    match facts.statement(bind.at.stmt).map(|statement| statement.node) {
        Some(Stmt::Assign(assign)) => {
            let apart = assign.targets.iter().any(Expr::is_tuple_expr);
            apart && matches!(&*assign.value, Expr::Name(found) if found.id.as_str() == name)
        }
        _ => false,
    }
}

/// What is kept: the value itself, or what a tuple, list or dict of them holds.
fn items_of(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Tuple(node) => node.elts.iter().collect(),
        Expr::List(node) => node.elts.iter().collect(),
        Expr::Dict(node) => node.items.iter().map(|item| &item.value).collect(),
        other => vec![other],
    }
}

/// Whether a name is bound to something else between the store and the return.
fn is_rebound_between(facts: &Facts<'_>, store: &Store<'_>, name: &Expr, until: u32) -> bool {
    let Expr::Name(name) = name else { return false };
    facts.binds_of(name.id.as_str()).any(|bind| {
        bind.at.function == store.at.function
            && bind.at.order > store.at.order
            && bind.at.order < until
            && bind.at.stmt != store.at.stmt
    })
}

/// Whether an output has no graph, and so no way back to `ctx`.
fn is_non_differentiable(facts: &Facts<'_>, store: &Store<'_>, output: &str) -> bool {
    facts.calls_named("mark_non_differentiable").any(|call| {
        let marked = |arg: &Expr| items_of(arg).iter().any(|item| facts.written(*item) == output);
        call.at.function == store.at.function && call.node.arguments.args.iter().any(marked)
    })
}

/// Whether `backward` of the same class lets it go, which breaks the cycle: `ctx.y.pop()`, `del ctx.y`, `ctx.y = None`.
fn is_let_go_in_backward(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Expr::Attribute(kept) = store.target else { return false };
    let kept = kept.attr.as_str();
    let in_backward =
        |at: &At| facts.function_name(at) == "backward" && facts.class_at(at) == facts.class_at(&store.at);
    let is_kept = |expr: &Expr| matches!(expr, Expr::Attribute(found) if found.attr.as_str() == kept);
    let popped = ["pop", "clear", "popleft"].into_iter().flat_map(|name| facts.calls_named(name));
    popped.into_iter().any(|call| in_backward(&call.at) && call.receiver_expr().is_some_and(is_kept))
        || facts.deletes().iter().any(|delete| in_backward(&delete.at) && is_kept(delete.target))
        || facts.binds_of(kept).any(|bind| in_backward(&bind.at) && is_kept(bind.target))
}
