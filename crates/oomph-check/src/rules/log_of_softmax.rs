//! `log-of-softmax`: two tensors where one would do.

use crate::analysis::events::{Bind, Call};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, TextRange, count_reads};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "log-of-softmax",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "The logarithm of a softmax is taken in two steps.",
    why: "`softmax` and `log` each keep a tensor of the logits' size for backward; `log_softmax` keeps one. It is also \
          exact where a probability rounds to zero.",
    cost: "One more tensor of the logits' size.",
    instead: "`F.log_softmax(x, dim=-1)`.",
    when_not: "The probabilities themselves are needed as well.",
    programs: include_str!("log_of_softmax.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("log") {
        let by_function = facts.full_name(call) == Some("torch.log");
        let inner = if by_function { call.arg(0) } else { call.receiver_expr() };
        let Some(inner) = inner else { continue };
        let Some(softmax) = probabilities(facts, call, inner, 4) else { continue };
        if !call.node.arguments.is_empty() && !by_function {
            continue;
        }
        let direct = inner.range() == softmax.node.range();
        report
            .add(call, "`log` of `softmax` keeps two tensors of the logits' size for backward")
            .because(softmax, "made here, and used for nothing else")
            .unsafe_fix("Use `log_softmax`", if direct { edits(call, softmax) } else { Vec::new() });
    }
}

/// The softmax an expression is, seen through bounds, a small number added and a name that nothing else reads.
fn probabilities<'f, 'a>(facts: &'f Facts<'a>, log: &Call<'a>, expr: &'a Expr, hops: u32) -> Option<&'f Call<'a>> {
    let hops = hops.checked_sub(1)?;
    match expr {
        Expr::BinOp(node) if node.op == Operator::Add => probabilities(facts, log, &node.left, hops),
        Expr::Name(name) => {
            let own = |bind: &&Bind<'_>| bind.at.function == log.at.function;
            let mut binds = facts.binds_of(name.id.as_str()).filter(own);
            let (Some(only), None) = (binds.next(), binds.next()) else { return None };
            let reads = count_reads(facts.body_around(&log.at), name.id.as_str());
            probabilities(facts, log, only.value_expr.filter(|_| reads == 1 && log.at.function.is_some())?, hops)
        }
        Expr::Call(_) => {
            let call = facts.call_at(expr)?;
            if is_softmax(facts, call) {
                return Some(call);
            }
            let bounds = matches!(call.name, "clamp" | "clamp_min" | "clip") && facts.full_name(call).is_none();
            probabilities(facts, log, call.receiver_expr().filter(|_| bounds)?, hops)
        }
        _ => None,
    }
}

fn is_softmax(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let by_function =
        facts.full_name(call).is_some_and(|name| matches!(name, "torch.softmax" | "torch.nn.functional.softmax"));
    call.name == "softmax" && (by_function || call.is_method("softmax"))
}

fn edits(log: &Call<'_>, softmax: &Call<'_>) -> Vec<Edit> {
    let name = match &*softmax.node.func {
        Expr::Attribute(node) => node.attr.range(),
        _ => return Vec::new(),
    };
    let (outer, inner) = (log.node.range(), softmax.node.range());
    let mut edits = vec![Edit::insert(name.start(), "log_")];
    if outer.start() < inner.start() {
        edits.push(Edit::delete(TextRange::new(outer.start(), inner.start())));
    }
    edits.push(Edit::delete(TextRange::new(inner.end(), outer.end())));
    edits
}
