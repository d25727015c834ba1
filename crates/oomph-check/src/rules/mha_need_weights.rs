//! `mha-need-weights`: attention weights are made and thrown away.

use crate::analysis::events::{At, Bind, Call};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, last_name, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "mha-need-weights",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`nn.MultiheadAttention` returns attention weights that nobody reads.",
    why: "`need_weights` is true unless told otherwise. The module then makes the full table of weights, averages it over \
          heads, keeps it for backward, and cannot use a fused kernel, which never makes that table.",
    cost: "Batch x heads x length x length numbers a layer, several times over: 2 GB at batch 8, 16 heads and 2,048 \
           tokens in float32.",
    instead: "`attention(q, k, v, need_weights=False)`.",
    when_not: "The weights are read somewhere, a forward hook for instance.",
    programs: include_str!("mha_need_weights.py"),
    check,
};

const ATTENTION: &str = "torch.nn.MultiheadAttention";

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.calls_to(ATTENTION).next().is_none() {
        return;
    }
    for call in facts.calls() {
        // Positions: query, key, value, key_padding_mask, need_weights.
        let is_told = call.keyword("need_weights").is_some() || call.args.len() > 4 || call.has_star();
        if is_told || call.node.arguments.is_empty() {
            continue;
        }
        let Some(made) = made_as(facts, &call.node.func, &call.at, 3) else { continue };
        let Some(dropped) = weights_dropped(facts, call) else { continue };
        let attention = facts.written(&*call.node.func);
        report
            .add(call, format!("`{attention}` makes the whole table of attention weights, and nothing reads it"))
            .doubtful_if(is_of_one_row(facts, call, made))
            .because(&dropped, "the weights are dropped here")
            .because(&made, "`need_weights` is true unless told otherwise")
            .unsafe_fix("Do not make the weights", facts.add_argument(call, "need_weights=False"));
    }
}

/// Whether one query meets one key, each a row added on the spot: their weight is one number, no table.
fn is_of_one_row(facts: &Facts<'_>, call: &Call<'_>, made: TextRange) -> bool {
    let maker = facts.calls_to(ATTENTION).find(|maker| maker.range() == made);
    let batch_first = maker.and_then(|maker| maker.keyword("batch_first"));
    let axis = i64::from(batch_first.is_some_and(|expr| facts.written(expr) == "True"));
    let is_row = |expr: &Expr| {
        let added = facts.call_at(expr).filter(|added| added.name == "unsqueeze");
        added.and_then(|added| added.arg(0)).is_some_and(|at| is_number(at, axis))
    };
    let is_one = |expr: &Expr| match expr {
        Expr::Name(name) => {
            let own = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == call.at.function);
            let last = own.filter(|bind| bind.at.order < call.at.order).max_by_key(|bind| bind.at.order);
            last.and_then(|bind| bind.value_expr).is_some_and(is_row)
        }
        other => is_row(other),
    };
    let (query, key) = (call.keyword("query").or_else(|| call.arg(0)), call.keyword("key").or_else(|| call.arg(1)));
    query.is_some_and(is_one) && key.is_some_and(is_one)
}

/// Where what an expression stands for is made, when that is always such an attention: by name, or out of a list of them.
fn made_as(facts: &Facts<'_>, expr: &Expr, at: &At, hops: u32) -> Option<TextRange> {
    let hops = hops.checked_sub(1)?;
    let name = match expr {
        Expr::Subscript(node) => return holds(facts, &node.value, at, hops),
        _ => last_name(expr)?,
    };
    let mut made = None;
    for bind in facts.binds_seen(expr, at) {
        let attention = |value: &Expr| facts.call_at(value).is_some_and(|call| is_attention(facts, call));
        let found = match bind.value_expr {
            Some(value) if attention(value) => Some(value.range()),
            Some(value @ (Expr::Name(_) | Expr::Subscript(_) | Expr::Attribute(_))) => {
                made_as(facts, value, &bind.at, hops)
            }
            Some(_) => None,
            None => walked(facts, bind, name).and_then(|walked| holds(facts, walked, &bind.at, hops)),
        };
        made = Some(found?);
    }
    made
}

/// What a loop goes over that binds a name: `layers` of `for layer in layers`, of `for i, layer in enumerate(layers)`.
fn walked<'a>(facts: &Facts<'a>, bind: &Bind<'a>, name: &str) -> Option<&'a Expr> {
    let Stmt::For(walk) = facts.statement(bind.at.stmt)?.node else { return None };
    let Expr::Call(call) = &*walk.iter else { return Some(&walk.iter) };
    let Expr::Tuple(targets) = &*walk.target else { return None };
    let at = targets.elts.iter().position(|target| matches!(target, Expr::Name(found) if found.id.as_str() == name))?;
    match last_name(&call.func)? {
        "enumerate" => call.arguments.args.first().filter(|_| at == 1),
        "zip" => call.arguments.args.get(at),
        _ => None,
    }
}

/// Where the attentions in a list of modules are made, when it holds nothing else.
fn holds(facts: &Facts<'_>, list: &Expr, at: &At, hops: u32) -> Option<TextRange> {
    let name = last_name(list)?;
    let mut made = None;
    for bind in facts.binds_seen(list, at) {
        let held = facts.call_at(bind.value_expr?)?;
        if !matches!(facts.full_name(held), Some("torch.nn.ModuleList" | "torch.nn.ModuleDict")) {
            return made_as(facts, bind.value_expr?, &bind.at, hops);
        }
        let within = held.node.arguments.range();
        let mut modules =
            facts.calls().iter().filter(|call| within.contains_range(call.node.range()) && call.result.is_module());
        let first = modules.next();
        if first.into_iter().chain(modules).any(|module| !is_attention(facts, module)) {
            return None;
        }
        made = made.or(first.map(Ranged::range));
    }
    let class = facts.class_around(at);
    let appended = |call: &&Call<'_>| {
        call.receiver_expr().and_then(last_name) == Some(name) && facts.class_around(&call.at) == class
    };
    for call in facts.calls_named("append").filter(appended) {
        let item = call.arg(0).and_then(|item| facts.call_at(item)).filter(|item| is_attention(facts, item))?;
        made = made.or(Some(item.range()));
    }
    made
}

fn is_attention(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.full_name(call) == Some(ATTENTION)
}

/// Where the second result is thrown away.
fn weights_dropped(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let statement = facts.statement(call.at.stmt)?.node;
    let around = crate::uses::expressions_around(statement, call.node.range());
    if let Some(Expr::Subscript(subscript)) = around.first() {
        return is_number(&subscript.slice, 0).then(|| subscript.slice.range());
    }
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], true) = (assign.targets.as_slice(), assign.value.range() == call.node.range()) else {
        return None;
    };
    match targets.elts.as_slice() {
        [_, Expr::Name(weights)] => {
            let unread = uses_in(facts.body_around(&call.at), weights.id.as_str()).is_empty();
            unread.then(|| weights.range())
        }
        _ => None,
    }
}
