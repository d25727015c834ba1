//! `non-blocking-without-pin`: an asynchronous copy that is not.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "non-blocking-without-pin",
    group: Group::Data,
    size: Size::per_batch(Amount::Small),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "Batches are copied with `non_blocking=True` from a loader that does not pin them.",
    why: "A copy from ordinary memory waits whatever it is told. Pinning makes it overlap, and costs page-locked main \
          memory: worth knowing before everything is pinned as a cure.",
    cost: "Time, not memory; with `pin_memory=True` a pinned copy of every batch that waits.",
    instead: "`DataLoader(..., pin_memory=True)`, or drop `non_blocking`.",
    when_not: "The dataset pins by hand or lives on the GPU, where pinning raises.",
    programs: include_str!("non_blocking_without_pin.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut told: Vec<crate::python::TextRange> = Vec::new();
    for call in facts.calls().iter().filter(|call| facts.moves_to_gpu(call) && call.keyword_is("non_blocking", true)) {
        let Some(loader) = loader_around(facts, call) else { continue };
        if told.contains(&loader.range()) {
            continue;
        }
        told.push(loader.range());
        report
            .add(call, "This copy waits all the same: its loader does not pin its batches")
            .because(loader, "no `pin_memory=True`")
            .unsafe_fix("Pin batches", facts.add_argument(loader, "pin_memory=True"));
    }
}

/// The unpinned loader, made in this file, of the loop around a call.
fn loader_around<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>) -> Option<&'f Call<'a>> {
    let iterated = facts.loops(&call.at).find_map(|turns| match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => innermost(&node.iter),
        _ => None,
    })?;
    let made: Vec<_> = facts
        .calls_to("torch.utils.data.DataLoader")
        .filter(|made| {
            facts.binds_of(iterated).any(|bind| bind.value_expr.is_some_and(|value| value.range() == made.node.range()))
        })
        .collect();
    let pinned = |made: &&&Call<'_>| made.keyword("pin_memory").is_none() && !made.has_star();
    made.iter().all(|made| pinned(&made)).then(|| made.first().copied()).flatten()
}

/// The name within `enumerate(tqdm(loader))`.
fn innermost(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Call(call) => innermost(call.arguments.args.first()?),
        _ => last_name(expr),
    }
}
