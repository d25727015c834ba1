//! `pack-hook-keeps-undetached-tensor`: a pack hook that hands the tensor itself back.

use crate::analysis::events::{BlockKind, Call, Callee, Return, Root, Store, StoreKind};
use crate::analysis::value::{ClassId, FunctionId};
use crate::facts::Facts;
use crate::python::{Expr, ExprCall, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "pack-hook-keeps-undetached-tensor",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: None,
    summary: "A pack hook of `saved_tensors_hooks` keeps the very tensor it was given.",
    why: "What the pack hook returns is kept by the node of the graph. A tensor that the node itself made refers to that \
          node through `grad_fn`: node, packed object and tensor form a cycle that counting references never frees.",
    cost: "Every saved activation of a graph that no backward pass goes over, for ever or until the cycle collector runs: \
           5.7 times those of one forward pass where 2 were expected, when measured over six steps.",
    instead: "Keep `t.detach()`, a copy (`t.cpu()`, `t.to(torch.half)`) or something outside Python's memory.",
    when_not: "Only parameters are handed back as they are: a leaf has no `grad_fn`.",
    programs: include_str!("pack_hook_keeps_undetached_tensor.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in registrations(facts) {
        let Some(pack) = call.arg(0).or_else(|| call.keyword("pack_hook")) else { continue };
        let value = call.args.first().or_else(|| call.keyword_value("pack_hook"));
        let Some(callback) = value.and_then(|value| facts.callback(pack, value)) else { continue };
        let Some(tensor) = callback.parameters.first() else { continue };
        let returned = callback.results.iter().find_map(|result| kept_in(facts, result, tensor));
        let returned = returned.filter(|kept| !is_rebound(facts, kept, tensor) && !is_for_leaves(facts, kept));
        if let Some(kept) = returned {
            report
                .add(
                    &kept.range(),
                    format!("The pack hook keeps `{tensor}` itself: tensor and graph hold each other, and saved activations pile up"),
                )
                .because(kept, format!("`{tensor}` goes back undetached, with its `grad_fn`"))
                .because(call, "the graph keeps what this hook returns");
        } else if let Some(store) = facts.stores_of(&callback).find(|store| piles_up(facts, store, tensor)) {
            let place = facts.written(store.target);
            report
                .add(
                    store,
                    format!(
                        "The pack hook keeps `{tensor}` itself in `{place}`, graph and all, and nothing takes it out"
                    ),
                )
                .because(store.value_expr, format!("`{tensor}` is kept undetached, with its `grad_fn`"))
                .because(call, "the hook runs for every tensor that a forward pass saves");
        }
    }
}

/// Whether a store of the hook keeps the tensor itself in something that outlives it and is never emptied.
fn piles_up(facts: &Facts<'_>, store: &Store<'_>, tensor: &str) -> bool {
    let grows = matches!(store.kind, StoreKind::Append | StoreKind::Item | StoreKind::Extend);
    let outside = matches!(store.root, Root::Outer(_) | Root::SelfAttribute(_));
    let Some(kept) = kept_in(facts, store.value_expr, tensor).filter(|_| grows && outside) else { return false };
    let bound =
        facts.binds_of(tensor).any(|bind| bind.at.function == store.at.function && bind.at.order < store.at.order);
    let Some(holder) = last_name(store.target) else { return false };
    let named = |expr: &Expr| last_name(expr) == Some(holder);
    let takes_out = |name: &str| facts.calls_named(name).any(|call| call.receiver_expr().is_some_and(named));
    let emptied = ["pop", "clear", "popleft", "popitem"].into_iter().any(takes_out)
        || facts.deletes().iter().any(|delete| match delete.target {
            Expr::Subscript(item) => named(&item.value),
            other => named(other),
        });
    !bound && !emptied && !is_for_leaves(facts, kept)
}

/// Calls that install a pack hook, directly or from a subclass.
fn registrations<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Call<'a>> + use<'f, 'a> {
    let direct = ["torch.autograd.graph.saved_tensors_hooks", "torch.autograd.graph.disable_saved_tensors_hooks"];
    let from_subclass = facts.calls_named("__init__").filter(|call| {
        let class = facts.function(&call.at).and_then(|function| function.class);
        let bases = class.map(|index| &facts.outline().classes[index as usize].bases);
        bases.is_some_and(|bases| bases.iter().any(|base| base.ends_with("saved_tensors_hooks")))
    });
    facts.calls_to(direct[0]).chain(from_subclass).chain(facts.calls_named("register_hooks"))
}

/// The place in a result where the tensor itself is kept: bare, in a tuple, list or dict, or in an object made here.
fn kept_in<'a>(facts: &Facts<'a>, result: &'a Expr, tensor: &str) -> Option<&'a Expr> {
    kept_within(facts, result, tensor, 3)
}

fn kept_within<'a>(facts: &Facts<'a>, result: &'a Expr, tensor: &str, hops: u32) -> Option<&'a Expr> {
    let within = |item: &'a Expr| kept_within(facts, item, tensor, hops);
    match result {
        Expr::Name(name) if name.id.as_str() == tensor => Some(result),
        // What the hook made and gave a name: `packed = Packed(t)`.
        Expr::Name(name) => {
            let mut binds = facts.binds_of(name.id.as_str());
            let (Some(only), None) = (binds.next(), binds.next()) else { return None };
            kept_within(facts, only.value_expr?, tensor, hops.checked_sub(1)?)
        }
        Expr::Tuple(node) => node.elts.iter().find_map(within),
        Expr::List(node) => node.elts.iter().find_map(within),
        Expr::Dict(node) => node.items.iter().find_map(|item| within(&item.value)),
        Expr::If(node) => within(&node.body).or_else(|| within(&node.orelse)),
        Expr::Call(node) => {
            let call = facts.call_at(result)?;
            let given = node.arguments.args.iter().chain(node.arguments.keywords.iter().map(|keyword| &keyword.value));
            let (index, kept) = given.enumerate().find(|(_, arg)| within(arg).is_some())?;
            match call.callee {
                Callee::Project(id) => keeps_argument(facts, id, index, node).then_some(kept),
                Callee::External(_) => HOLDERS.contains(&facts.full_name(call)?).then_some(kept),
                // A dataclass or a named tuple has no constructor to read.
                _ => {
                    let record = call.result.class.is_some_and(|class| is_record(facts, class));
                    record.then_some(kept)
                }
            }
        }
        _ => None,
    }
}

/// Makers of things that hold what they are given.
const HOLDERS: &[&str] = &["tuple", "list", "dict", "types.SimpleNamespace", "functools.partial"];

/// Whether a class keeps whatever it is made from: a dataclass, a named tuple.
fn is_record(facts: &Facts<'_>, class: ClassId) -> bool {
    let definition = &facts.tables().outlines[class.file as usize].classes[class.index as usize];
    let decorated = definition.node.decorator_list.iter().any(|found| {
        let name = match &found.expression {
            Expr::Call(call) => last_name(&call.func),
            other => last_name(other),
        };
        name == Some("dataclass")
    });
    decorated || definition.bases.iter().any(|base| base.ends_with("NamedTuple"))
}

/// Whether a constructor keeps one of its arguments as it is, or a function gives it back in what it makes.
fn keeps_argument(facts: &Facts<'_>, id: FunctionId, argument: usize, node: &ExprCall) -> bool {
    let function = facts.function_def(id);
    let parameters = &function.node.parameters;
    let skipped = usize::from(function.class.is_some());
    let keyword = argument.checked_sub(node.arguments.args.len()).and_then(|index| node.arguments.keywords.get(index));
    let index = match keyword.and_then(|keyword| keyword.arg.as_ref()) {
        Some(name) => parameters.args.iter().position(|found| found.parameter.name.as_str() == name.as_str()),
        None => Some(argument + skipped),
    };
    let Some(index) = index else { return false };
    if function.node.name.as_str() == "__init__" {
        return facts.summary(id).is_some_and(|summary| summary.keeps.iter().any(|kept| kept.parameter == index));
    }
    let name = parameters.args.get(index).map(|found| found.parameter.name.as_str());
    let returned = |found: &&Return<'_>| found.at.function == Some(id.index) && !found.is_yield;
    facts.is_own(id)
        && name.is_some_and(|name| {
            facts.returns().iter().filter(returned).any(|found| {
                matches!(found.expr, Expr::Name(_) | Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_))
                    && kept_within(facts, found.expr, name, 0).is_some_and(|kept| !is_rebound(facts, kept, name))
            })
        })
}

/// Whether the tensor's name means something else by then: `t = t.detach()`.
fn is_rebound(facts: &Facts<'_>, kept: &Expr, tensor: &str) -> bool {
    facts.binds_of(tensor).any(|bind| {
        let same = facts
            .returns()
            .iter()
            .any(|found| found.at.function == bind.at.function && found.expr.range().contains_range(kept.range()));
        same && bind.at.function.is_some()
    })
}

/// Whether only leaves come this way: `isinstance(t, Parameter)`, `t.is_leaf`, `not t.requires_grad`.
fn is_for_leaves(facts: &Facts<'_>, kept: &Expr) -> bool {
    let returned = facts.returns().iter().find(|found| found.expr.range().contains_range(kept.range()));
    let stored = || facts.stores().iter().find(|store| store.value_expr.range().contains_range(kept.range()));
    let Some(at) = returned.map(|found| &found.at).or_else(|| stored().map(|store| &store.at)) else {
        return false;
    };
    facts.blocks_around(at).any(|(_, block)| {
        let (BlockKind::If(Some(test)) | BlockKind::Else(test)) = block.kind else { return false };
        let condition = facts.source.slice(test.range());
        ["Parameter", "is_leaf", "requires_grad", "grad_fn", "param"].iter().any(|word| condition.contains(word))
    })
}
