//! `pin-memory-in-loop`: main memory is page-locked again for every batch.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::analysis::value::Kind;
use crate::facts::{Facts, FunctionKind, Loop};
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "pin-memory-in-loop",
    group: Group::Data,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "`pin_memory()` is called for every batch or sample.",
    why: "Pinning copies the tensor into page-locked memory, on the thread that waits for it, and torch caches such memory \
          and seldom gives it back. In a worker process it also opens a CUDA context.",
    cost: "Page-locked main memory, rounded up to powers of two, and half a gigabyte on the GPU for each worker that does \
           it.",
    instead: "`DataLoader(..., pin_memory=True)`: a thread pins ahead of time. Or fill one pinned buffer again and again.",
    when_not: "A batch type of your own with a `pin_memory` method, which the loader's thread calls.",
    programs: include_str!("pin_memory_in_loop.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_named("pin_memory") {
        let module_like =
            matches!(call.receiver.as_ref().map(|value| value.kind), None | Some(Kind::Loader | Kind::External(_)));
        if module_like || !call.node.arguments.is_empty() || facts.function_name(&call.at).contains("pin_memory") {
            continue;
        }
        let what = call.receiver_expr().map_or("", |expr| facts.written(expr));
        let plain = !what.is_empty() && !what.contains('\n') && what.len() <= 40;
        let what = if plain { format!("`{what}`") } else { "The batch".to_owned() };
        let turns = facts.loops(&call.at).find(|turns| turns.kind == LoopKind::Loader);
        let turns = turns.or_else(|| facts.loops(&call.at).next().filter(|turns| streams(facts, call, turns)));
        let turns = turns.filter(|turns| turns.kind == LoopKind::Loader || sent_by_helper(facts, call).is_none());
        let in_worker = matches!(facts.kind_at(&call.at), FunctionKind::GetItem | FunctionKind::Collate);
        if let Some(turns) = turns {
            let proven = turns.kind == LoopKind::Loader && streams(facts, call, &turns);
            report
                .add(
                    call,
                    format!("{what} is copied into page-locked memory on every batch, and that is seldom given back"),
                )
                .doubtful_if(!proven)
                .because(&turns.head(), "once a batch");
        } else if let Some(caller) = sent_by_helper(facts, call) {
            report
                .add(
                    call,
                    format!("{what} is copied into page-locked memory on every batch, and that is seldom given back"),
                )
                .because(&caller, "called once a batch");
        } else if in_worker {
            report
                .add(call, format!("{what} is pinned in a worker: each worker opens a CUDA context for it"))
                .doubtful_if(true)
                .because(call, "this function runs in the loader's workers");
        }
    }
}

/// Where a helper that pins what it sends to the GPU is called once a batch.
fn sent_by_helper(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let sends = |outer: &&Expr| facts.call_at(outer).is_some_and(|outer| facts.goes_to_gpu(outer));
    // Only a comprehension over the parts of one batch may be around it.
    let in_loop = facts.loops(&call.at).any(|turns| matches!(turns.node, BlockKind::Loop(..)));
    if in_loop || !facts.around(call).iter().any(sends) {
        return None;
    }
    // What a helper makes itself is a batch of its own choice, and small.
    let parameters = &facts.function(&call.at)?.node.parameters;
    let given = |expr: &Expr| root_name(expr).is_some_and(|name| parameters.includes(name));
    let parts = facts.loops(&call.at).any(|turns| match turns.node {
        BlockKind::Comprehension(_, whole) => {
            parameters.iter().any(|own| count_reads_in(whole, own.name().as_str()) > 0)
        }
        _ => false,
    });
    if !parts && !call.receiver_expr().is_some_and(given) {
        return None;
    }
    let of_batch = |caller: &&Call<'_>| {
        let over_batches = |turns: &Loop<'_>| match turns.node {
            BlockKind::Loop(LoopKind::Items, Stmt::For(node)) => facts.written(&*node.target).contains("batch"),
            _ => facts.is_per_batch(turns),
        };
        facts.loops(&caller.at).any(|turns| over_batches(&turns))
    };
    facts.callers_of(&call.at).find(of_batch).map(Ranged::range)
}

/// Whether a loop sends what it pins to the GPU in the same turn: a stream of batches, whatever it goes over.
fn streams<'a>(facts: &Facts<'a>, call: &Call<'a>, turns: &Loop<'a>) -> bool {
    if turns.kind == LoopKind::Parameters || matches!(turns.node, BlockKind::Comprehension(..)) {
        return false;
    }
    let sends = |outer: &&Expr| facts.call_at(outer).is_some_and(|outer| facts.goes_to_gpu(outer));
    if facts.around(call).iter().any(sends) {
        return true;
    }
    let Some(name) = facts.bound_name(call) else { return false };
    let sent = |found: &Use<'_>| found.around.iter().any(sends);
    uses_in(facts.body_of(turns), name).iter().any(sent)
}
