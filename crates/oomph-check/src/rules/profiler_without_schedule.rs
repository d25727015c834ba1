//! `profiler-without-schedule`: every operation of an epoch is recorded.

use crate::analysis::events::{Block, BlockKind, Call, Callee, LoopKind};
use crate::analysis::value::{BlockId, FunctionId};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "profiler-without-schedule",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: None,
    summary: "The profiler records a whole pass over a data loader.",
    why: "The profiler keeps every operation, with shapes, stacks and allocations as asked for, in host memory until it \
          stops. A pass over a loader has millions of them, and the trace written at the end cannot be opened.",
    cost: "Host memory: hundreds of bytes an operation, several kilobytes with stacks.",
    instead: "`schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)` and `prof.step()` once a batch.",
    when_not: "The loop is left after a few batches.",
    programs: include_str!("profiler_without_schedule.py"),
    check,
};

const PROFILERS: &[&str] =
    &["torch.profiler.profile", "torch.autograd.profiler.profile", "torch.profiler.profiler.profile"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in PROFILERS.iter().flat_map(|name| facts.calls_to(name)).filter(|call| !is_limited(call)) {
        let body = facts.withs().iter().find(|item| item.expr.range() == call.node.range()).map(|item| item.body);
        let recorded = match body {
            Some(body) => whole_pass(facts, body),
            None => started(facts, call),
        };
        let Some(head) = recorded else { continue };
        report
            .add(call, "This records every operation of a whole pass over the data: host memory grows with each batch")
            .because(&head, "all batches of this loop are recorded")
            .because(call, "no `schedule` says which of them to record");
    }
}

fn is_limited(call: &Call<'_>) -> bool {
    let off = call.keyword("enabled").is_some() || matches!(call.arg(0), Some(Expr::Name(_) | Expr::Attribute(_)));
    call.keyword("schedule").is_some() || call.has_star() || off
}

/// A loop over a loader inside, here or in a function of this file called here, which nothing leaves early.
fn whole_pass(facts: &Facts<'_>, body: BlockId) -> Option<TextRange> {
    let mut blocks = facts.blocks();
    if let Some((id, _)) = blocks.find(|(id, block)| is_loader_loop(block) && facts.is_inside(*id, body)) {
        return uncut(facts, id);
    }
    let called =
        facts.calls().iter().filter(|call| facts.is_inside(call.at.block, body)).find_map(|call| {
            match call.callee {
                Callee::Project(function) => own_function(facts, function),
                _ => None,
            }
        })?;
    let mut blocks = facts.blocks();
    let (id, _) = blocks.find(|(_, block)| is_loader_loop(block) && block.function == Some(called))?;
    uncut(facts, id)
}

fn is_loader_loop(block: &Block<'_>) -> bool {
    matches!(block.kind, BlockKind::Loop(LoopKind::Loader, _))
}

/// The index of a function, if it is of this file.
fn own_function(facts: &Facts<'_>, id: FunctionId) -> Option<u32> {
    let node = facts.function_def(id).node;
    let own = facts.outline().functions.get(id.index as usize)?;
    std::ptr::eq(own.node, node).then_some(id.index)
}

/// The head of a loop that goes over all of its loader.
fn uncut(facts: &Facts<'_>, id: BlockId) -> Option<TextRange> {
    let BlockKind::Loop(_, Stmt::For(node)) = facts.block(id).kind else { return None };
    let sliced = facts.source.slice(node.iter.range());
    let cut = ["islice", "range(", "[:"].iter().any(|way| sliced.contains(way));
    let mut statements = facts.statements().iter();
    let left = statements.any(|statement| {
        matches!(statement.node, Stmt::Break(_) | Stmt::Return(_)) && facts.is_inside(statement.block, id)
    });
    (!cut && !left).then(|| crate::python::head_of(node))
}

/// A profiler started by hand, and a whole pass after that with no `step()` of it.
fn started(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let bind =
        facts.binds().iter().find(|bind| bind.value_expr.is_some_and(|expr| expr.range() == call.node.range()))?;
    let name = facts.source.slice(bind.target.range());
    let on = |method: &str| {
        let calls = facts.calls_named(method).filter(|found| found.at.function == call.at.function);
        calls
            .into_iter()
            .find(|found| found.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == name))
    };
    let start = on("start")?;
    let mut blocks = facts.blocks();
    let (id, _) = blocks.find(|(_, block)| {
        is_loader_loop(block) && block.function == call.at.function && block.range.start() > start.range().end()
    })?;
    if on("step").is_some() { None } else { uncut(facts, id) }
}
