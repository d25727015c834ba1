//! `accumulation-walks-whole-loader`: every accumulation step runs a whole epoch.

use crate::analysis::events::{Call, Callee, LoopKind};
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts, Loop};
use crate::python::{Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "accumulation-walks-whole-loader",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Batch).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "The loop over accumulation steps walks the whole data loader on every turn.",
    why: "Gradient accumulation takes a few micro-batches and steps, so that a big batch fits in the memory of a small \
          one. Here each accumulation step goes through all of the data: the optimizer sees the gradients of whole \
          epochs added up and hardly ever steps. Whoever then raises the batch to make it learn runs out of memory.",
    cost: "As many epochs of work as there are accumulation steps for one step of the optimizer, and none of the memory \
           that accumulation was to save.",
    instead: "Walk the loader once and step every few batches: `if (i + 1) % accumulation == 0`.",
    when_not: "The gradient of the whole data set is wanted for each step.",
    programs: include_str!("accumulation_walks_whole_loader.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut seen = Vec::new();
    for backward in facts.effects(Effect::Backward) {
        let Some((inner, outer)) = nested_loops(facts, backward) else { continue };
        if seen.contains(&outer.block) || leaves_early(facts, &inner) {
            continue;
        }
        let Some(why) = accumulates(facts, &outer, &inner) else { continue };
        seen.push(outer.block);
        report
            .add(&inner.head(), "This walks the whole loader once for every accumulation step")
            .because(&outer.head(), why)
            .because(backward, "every batch of the loader adds its gradients before the optimizer steps");
    }
}

/// The loop over the loader around a backward pass, and the loop around that, if only through a function of this file.
fn nested_loops<'a>(facts: &Facts<'a>, backward: &Call<'a>) -> Option<(Loop<'a>, Loop<'a>)> {
    let mut loops = facts.loops(&backward.at);
    let in_loader = facts.loops(&backward.at).next().is_some_and(|turns| turns.kind == LoopKind::Loader);
    if let (Callee::Project(id), false) = (backward.callee, in_loader) {
        let outer = loops.next().filter(|_| facts.is_own(id))?;
        let mut passes = facts.effects(Effect::Backward).filter(|call| call.at.function == Some(id.index));
        return passes.find_map(|call| {
            let mut around = facts.loops(&call.at);
            let inner = around.next().filter(|turns| turns.kind == LoopKind::Loader && around.next().is_none())?;
            facts.is_unconditional_in(&call.at, inner.block).then_some((inner, outer))
        });
    }
    let inner = loops.find(|turns| turns.kind == LoopKind::Loader)?;
    let outer = loops.next()?;
    facts.is_unconditional_in(&backward.at, inner.block).then_some((inner, outer))
}

/// What shows that the outer loop counts accumulation steps.
fn accumulates(facts: &Facts<'_>, outer: &Loop<'_>, inner: &Loop<'_>) -> Option<&'static str> {
    let steps_inside = facts.effects_in(Effect::Step, inner.block).next().is_some();
    let head = facts.source.slice(outer.head()).to_ascii_lowercase();
    if head.contains("epoch") || steps_inside {
        return None;
    }
    let words = || head.split(|c: char| !c.is_alphanumeric() && c != '_');
    let by_name = ["accum", "micro", "grad_acc"].iter().any(|word| head.contains(word))
        || words().any(|word| word.ends_with("_acc") || word.starts_with("acc_"));
    if by_name {
        return Some("this loop counts accumulation steps");
    }
    let function = facts.block(outer.block).function;
    if facts.block(inner.block).function != function {
        return None;
    }
    let end = outer.range.end();
    let steps = |block: BlockId| facts.effects_in(Effect::Step, block).next().is_some();
    let after = facts.effects_of(Effect::Step, function).any(|call| {
        let same_turn = facts.loops(&call.at).all(|turns| facts.is_inside(outer.block, turns.block));
        call.range().start() > end && same_turn
    });
    (after && !steps(outer.block)).then_some("the optimizer steps only after this loop: it counts accumulation steps")
}

/// Whether a loop is left after its first batches.
fn leaves_early(facts: &Facts<'_>, turns: &Loop<'_>) -> bool {
    let statements = facts.statements().iter();
    let inside = statements.filter(|statement| facts.is_inside(statement.block, turns.block));
    inside.into_iter().any(|statement| matches!(statement.node, Stmt::Break(_) | Stmt::Return(_)))
}
