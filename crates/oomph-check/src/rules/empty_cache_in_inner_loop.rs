//! `empty-cache-in-inner-loop`: the cache is thrown away once a batch.

use crate::analysis::events::{BlockKind, Call, Callee, LoopKind};
use crate::analysis::value::{BlockId, Flags, FunctionId, Kind};
use crate::facts::{Effect, Facts, Loop};
use crate::finding::Safety;
use crate::python::ast::CmpOp;
use crate::python::{Expr, Ranged, Stmt, count_reads_in};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, whole_literal};

pub(super) static RULE: Rule = Rule {
    name: "empty-cache-in-inner-loop",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Small).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`torch.cuda.empty_cache()` runs once a batch.",
    why: "It frees no tensor: it only hands unused cached blocks back to the driver. The next batch asks for them \
          again, waits for the device each time, and may get them in worse pieces.",
    cost: "No memory saved; a device synchronisation and new `cudaMalloc` calls every batch.",
    instead: "Remove it. To make room between phases of different shapes, call it once there.",
    when_not: "The GPU is shared on purpose with another process that needs the room between batches.",
    programs: include_str!("empty_cache_in_inner_loop.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.cuda.empty_cache") {
        let batches = facts.batch_loop(&call.at).or_else(|| chunk_loop(facts, call));
        // A network's own method goes over parts of one pass.
        let of_network = facts.class_kind(&call.at).is_module();
        let items = || facts.model_loop(&call.at).filter(|_| !of_network);
        let of_items = batches.is_none();
        let batches = batches.or_else(items);
        let (outer, place, text) = match (&batches, facts.function(&call.at)) {
            (Some(items), _) if of_items => (items.block, items.head(), "this loop runs the model on every turn"),
            (Some(batches), _) => (batches.block, batches.head(), "this loop runs once a batch"),
            (None, Some(function)) if facts.is_called_per_batch(&call.at) || facts.runs_per_batch(&call.at) => {
                (facts.function_block(&call.at), function.node.name.range(), "this function is called once a batch")
            }
            _ => continue,
        };
        // A helper that only cleans is told of where it is called once a batch.
        let pure = || batches.is_none() && !facts.runs_per_batch(&call.at) && only_cleans(facts, call);
        let once = || batches.as_ref().is_some_and(|turns| stops_after_first(turns) || goes_over_epochs(turns));
        if pure() || tries_models(facts, outer) || runs_epochs(facts, outer) || once() {
            continue;
        }
        let recovers = facts.handler(&call.at).is_some() || facts.follows_failure(call);
        if recovers || !facts.is_unconditional_in(&call.at, outer) {
            continue;
        }
        if facts.statement(call.at.stmt).is_some_and(|found| makes_room(found.suite, found.index)) {
            continue;
        }
        let often = if of_items && batches.is_some() { "once a pass" } else { "once a batch" };
        report
            .add(call, format!("`empty_cache()` runs {often}: it frees no tensor and makes the next ones slower"))
            .because(&place, text)
            .unsafe_fix("Remove the call", facts.delete_statement(call.at.stmt));
    }
    for call in facts.calls() {
        let empties = facts
            .callee_summary(call)
            .is_some_and(|summary| summary.empties_cache && !summary.steps && !summary.forwards);
        if !empties || facts.handler(&call.at).is_some() || helper_makes_room(facts, call) {
            continue;
        }
        if facts.follows_failure(call) {
            continue;
        }
        let by_loop = facts.batch_loop(&call.at).map(|batches| (batches.block, batches.head()));
        let by_framework = || {
            let function = facts.function(&call.at).filter(|_| facts.runs_per_batch(&call.at))?;
            Some((facts.function_block(&call.at), function.node.name.range()))
        };
        let Some((outer, place)) = by_loop.or_else(by_framework) else { continue };
        if facts.is_unconditional_in(&call.at, outer) {
            let name = facts.source.slice(call.node.func.range());
            report
                .add(
                    call,
                    format!("`{name}()` empties the cache once a batch: that frees no tensor and slows the next ones"),
                )
                .because(&place, "this runs once a batch");
        }
    }
}

/// Whether a function does nothing but clean up: it forwards nothing, steps nothing, and is not long.
fn only_cleans(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(index) = call.at.function else { return false };
    let id = FunctionId { file: facts.file_index(), index };
    facts.summary(id).is_some_and(|summary| !summary.steps && !summary.forwards)
        && facts.function_def(id).node.body.len() <= 16
}

/// `while epoch < epochs` around a loop over batches.
fn goes_over_epochs(turns: &Loop<'_>) -> bool {
    turns.kind == LoopKind::Epochs && matches!(turns.node, BlockKind::Loop(_, Stmt::While(_)))
}

/// Whether a loop is left at the start of its second turn: `for i, batch in enumerate(loader): if i > 0: break`.
fn stops_after_first(turns: &Loop<'_>) -> bool {
    let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return false };
    let (Expr::Tuple(target), Expr::Call(call)) = (&*node.target, &*node.iter) else { return false };
    let numbers = last_name(&call.func) == Some("enumerate") && call.arguments.find_argument("start", 1).is_none();
    let Some(Expr::Name(counter)) = target.elts.first().filter(|_| numbers) else { return false };
    node.body.iter().any(|stmt| match stmt {
        Stmt::If(test) => {
            let Expr::Compare(compare) = &*test.test else { return false };
            let own = matches!(&*compare.left, Expr::Name(name) if name.id == counter.id);
            let limit = compare.comparators.first().and_then(whole_literal);
            let second = match compare.ops.first() {
                Some(CmpOp::Gt) => limit == Some(0),
                Some(CmpOp::GtE | CmpOp::Eq) => limit == Some(1),
                _ => false,
            };
            own && second && compare.ops.len() == 1 && test.body.last().is_some_and(Stmt::is_break_stmt)
        }
        _ => false,
    })
}

/// Whether a turn holds a whole training of many epochs: what a loader of tasks gives is no batch.
fn runs_epochs(facts: &Facts<'_>, turns: BlockId) -> bool {
    let in_epochs = |call: &Call<'_>| {
        let mut within = facts.loops(&call.at).take_while(|inner| inner.block != turns);
        within.any(|inner| inner.kind == LoopKind::Epochs)
    };
    let by_function = |call: &Call<'_>| {
        let trains = facts.callee_summary(call).is_some_and(|summary| summary.steps && !summary.steps_batch);
        trains && facts.written(&call.node.arguments).contains("epochs")
    };
    facts.effects_in(Effect::Step, turns).any(|call| in_epochs(call) || by_function(call))
}

/// Whether each turn makes a model of its own, as a search for the largest batch does: its memory is to go back.
fn tries_models(facts: &Facts<'_>, turns: BlockId) -> bool {
    facts.binds().iter().any(|bind| {
        let named = || ["model", "net"].iter().any(|word| bind.name.to_ascii_lowercase().contains(word));
        let module = bind.value.kind == Kind::Module && !bind.value.has(Flags::GUESSED);
        let made_here = bind.value.born != BlockId::ELSEWHERE && facts.is_inside(bind.value.born, turns);
        (module && made_here || named())
            && facts.is_inside(bind.at.block, turns)
            && bind.value_expr.is_some_and(|expr| makes(facts, expr))
            && is_deleted_in(facts, bind.name, turns)
    })
}

fn is_deleted_in(facts: &Facts<'_>, name: &str, turns: BlockId) -> bool {
    let own = |target: &Expr| matches!(target, Expr::Name(found) if found.id.as_str() == name);
    facts.deletes().iter().any(|delete| own(delete.target) && facts.is_inside(delete.at.block, turns))
}

/// Whether an expression makes what it gives: `Net(...)`, moved or switched.
fn makes(facts: &Facts<'_>, expr: &Expr) -> bool {
    let Some(call) = facts.call_at(expr) else { return false };
    match call.name {
        "to" | "cuda" | "eval" | "train" | "half" | "bfloat16" => {
            call.receiver_expr().is_some_and(|made| makes(facts, made))
        }
        name => {
            name.starts_with(char::is_uppercase)
                || ["make", "build", "create"].iter().any(|word| name.starts_with(word))
        }
    }
}

/// Whether the cache is emptied between two phases: tensors of the first are deleted right before, and more is computed
/// after.
fn makes_room(suite: &[Stmt], index: usize) -> bool {
    let is_cleaning = |stmt: &&Stmt| matches!(stmt, Stmt::Expr(node) if node.value.is_call_expr());
    let deleted = matches!(suite[..index].iter().rev().find(|stmt| !is_cleaning(stmt)), Some(Stmt::Delete(_)));
    let computes = |stmt: &Stmt| match stmt {
        Stmt::Assign(node) => node.value.is_call_expr(),
        Stmt::With(_) => true,
        _ => false,
    };
    deleted && suite[index + 1..].iter().any(computes)
}

/// The same, somewhere in the function that a call calls.
fn helper_makes_room(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    fn within(suite: &[Stmt]) -> bool {
        suite.iter().enumerate().any(|(index, stmt)| match stmt {
            Stmt::With(node) => within(&node.body),
            Stmt::Try(node) => within(&node.body),
            Stmt::If(node) => within(&node.body),
            Stmt::Expr(node) => {
                let empties = matches!(&*node.value, Expr::Call(call) if matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "empty_cache"));
                empties && makes_room(suite, index)
            }
            _ => false,
        })
    }
    match call.callee {
        Callee::Project(id) => within(&facts.function_def(id).node.body),
        _ => false,
    }
}

/// A loop around a call that takes one piece after the other of something long through a model: by
/// `range(0, len(texts), size)`, or by `while start < len(texts)` and `start += size`.
fn chunk_loop<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<Loop<'a>> {
    let forwards = |turns: &Loop<'a>| {
        facts.calls().iter().any(|other| other.callee == Callee::Module && facts.is_inside(other.at.block, turns.block))
    };
    let advances = |turns: &Loop<'a>| match turns.node {
        BlockKind::Loop(_, Stmt::While(node)) => node.body.iter().any(|stmt| match stmt {
            Stmt::AugAssign(step) => match &*step.target {
                Expr::Name(name) => step.op.is_add() && count_reads_in(&node.test, name.id.as_str()) > 0,
                _ => false,
            },
            _ => false,
        }),
        _ => false,
    };
    facts.loops(&call.at).find(|turns| (turns.kind == LoopKind::Chunks || advances(turns)) && forwards(turns))
}
