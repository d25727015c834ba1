//! `zero-grad-inside-accumulation`: gradients are cleared before they are used.

use crate::analysis::events::{At, Block, BlockKind, Call, Callee, LoopKind, StoreKind};
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts, Loop, Turn};
use crate::python::ast::CmpOp;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::rules::last_micro_batches_not_stepped::steps_always;
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "zero-grad-inside-accumulation",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "Gradients are cleared on every micro-batch, but the optimizer steps only every few.",
    why: "Each clearing throws the accumulated gradients away: the step sees the last micro-batch alone. The accumulation \
          that was to replace a big batch does nothing, so people raise the batch and run out of memory.",
    cost: "The saving that accumulation promised.",
    instead: "Clear gradients right after the step, under the same condition.",
    when_not: "The gradients cleared belong to another optimizer.",
    programs: include_str!("zero_grad_inside_accumulation.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for zero in facts.effects(Effect::ZeroGrad).filter(|call| call.name == "zero_grad" || is_micro_step(facts, call)) {
        if report_micro_loop(facts, zero, report) {
            continue;
        }
        if report_accumulate_block(facts, zero, report) {
            continue;
        }
        let Some(turn) = facts.turn(&zero.at) else { continue };
        if !facts.is_unconditional_in(&zero.at, turn.block) {
            continue;
        }
        let cleared = zero.receiver_expr().map(|expr| facts.source.slice(expr.range())).unwrap_or_default();
        let clears_module = zero.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module);
        let steps = facts.effects_in(Effect::Step, turn.block);
        let mut steps = steps.filter(|call| call.name == "step");
        let all = clears_module || zero.name != "zero_grad";
        let is_it = |step: &&Call<'_>| facts.stepped(step) == Some(cleared);
        let Some(step) = steps.find(|step| all || is_it(step)) else { continue };
        // Behind `if step % k: continue` it is cleared as seldom as it is stepped.
        if modulo_around(facts, zero, turn.block).is_some() {
            continue;
        }
        let Some(every) = modulo_around(facts, step, turn.block) else { continue };
        let always = |other: &Call<'_>| {
            facts.is_unconditional_in(&other.at, turn.block) && modulo_around(facts, other, turn.block).is_none()
        };
        if facts.effects_in(Effect::Step, turn.block).any(always) {
            continue;
        }
        // `if turn: opt_d.step() else: opt_g.step()`: some step follows every turn, two networks train by turns.
        let instead = |other: &Call<'_>| {
            facts.are_exclusive(other.at.block, step.at.block) && modulo_around(facts, other, turn.block).is_none()
        };
        if facts.effects_in(Effect::Step, turn.block).any(instead) {
            continue;
        }
        // What goes back where it steps has added up losses, not gradients.
        let together = |back: &Call<'_>| back.at.block == step.at.block && step.at.block != turn.block;
        if facts.effects_in(Effect::Backward, turn.block).any(together) {
            continue;
        }
        let Some(backward) = backward_of_turn(facts, zero, &turn) else { continue };
        report
            .add(zero, "Gradients are cleared on every micro-batch: what was accumulated is lost before the step")
            .doubtful_if(steps_always(facts, every, &step.at))
            .because(every, "the optimizer steps only when this holds")
            .because(step, "the step")
            .because(backward, "gradients are added up here on every micro-batch");
    }
}

/// What adds gradients on every turn: rather another call than a helper that clears them as well.
fn backward_of_turn<'f, 'a>(facts: &'f Facts<'a>, zero: &Call<'_>, turn: &Turn) -> Option<&'f Call<'a>> {
    let always = |call: &&Call<'a>| facts.is_unconditional_in(&call.at, turn.block) && !is_gradient_alone(facts, call);
    let all: Vec<&Call<'a>> = facts.effects_in(Effect::Backward, turn.block).filter(always).collect();
    let other = all.iter().find(|call| call.range() != zero.range() && !is_micro_step(facts, call));
    other.or_else(|| all.first()).copied()
}

/// Whether a call asks `torch.autograd.grad`, itself or in a function that does no more: that adds nothing to `.grad`.
fn is_gradient_alone(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    match call.callee {
        Callee::Project(id) => {
            let function = facts.function_def(id);
            function.differentiates
        }
        _ => call.name == "grad",
    }
}

/// `for micro in range(k): zero_grad(); backward()` with the step after that loop, inside the loop around it.
fn report_micro_loop(facts: &Facts<'_>, zero: &Call<'_>, report: &mut Report) -> bool {
    let mut around = facts.loops(&zero.at);
    let (Some(micro), Some(outer)) = (around.next(), around.next()) else { return false };
    let own = |call: &&Call<'_>| facts.loops(&call.at).next().is_some_and(|found| found.block == micro.block);
    let Some(backward) = facts.effects_in(Effect::Backward, micro.block).find(own) else { return false };
    let steps_inside = facts.effects_in(Effect::Step, micro.block).next().is_some();
    let steps_after = |call: &&Call<'_>| {
        call.at.order > zero.at.order && facts.loops(&call.at).next().is_some_and(|found| found.block == outer.block)
    };
    let Some(step) = facts.effects_in(Effect::Step, outer.block).find(steps_after) else { return false };
    let always =
        facts.is_unconditional_in(&zero.at, micro.block) && facts.is_unconditional_in(&backward.at, micro.block);
    // Micro-batches may be drawn in a `range`, chunks of a batch, or items of a list.
    let is_loader = micro.kind == LoopKind::Loader && outer.kind != LoopKind::Loader && !counts_up(&micro);
    // `p.grad` is copied away on every turn: gradients of single samples, added up elsewhere.
    let taken = facts.source.slice(micro.range).contains(".grad") || gives_gradients_away(facts, backward, &micro);
    if steps_inside || !always || is_loader || micro.kind == LoopKind::Epochs || taken {
        return false;
    }
    report
        .add(zero, "Gradients are cleared on every micro-batch: only the last one reaches the step")
        .doubtful_if(turns_once(facts, &micro, &zero.at))
        .because(&micro.head(), "this loop adds up the gradients of one step")
        .because(backward, "gradients are added up here on every micro-batch")
        .because(step, "the step comes once, after them");
    true
}

/// Whether the loop counts to one, or to a setting that is one unless told otherwise.
pub(super) fn turns_once<'a>(facts: &Facts<'a>, micro: &Loop<'a>, at: &At) -> bool {
    let BlockKind::Loop(_, Stmt::For(node)) = micro.node else { return false };
    let Expr::Call(range) = &*node.iter else { return false };
    let [times] = &*range.arguments.args else { return false };
    counts_up(micro) && facts.is_one_as_written(times, at) == Some(true)
}

/// Whether something in the loop is called to take the gradients: `store_grad(model)`, a function that reads `.grad`.
fn gives_gradients_away(facts: &Facts<'_>, backward: &Call<'_>, micro: &Loop<'_>) -> bool {
    facts.calls().iter().any(|call| {
        let after = call.at.order > backward.at.order && facts.is_inside(call.at.block, micro.block);
        let named = call.name.contains("grad") && call.name != "zero_grad" && !call.name.starts_with("clip");
        after && call.at.function == backward.at.function && named
    })
}

/// `with accelerator.accumulate(model): model.zero_grad()`: the wrapped optimizer skips its own on micro-batches, a
/// module does not.
fn report_accumulate_block(facts: &Facts<'_>, zero: &Call<'_>, report: &mut Report) -> bool {
    let module =
        zero.name == "zero_grad" && zero.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module);
    let within = facts.calls_named("accumulate").find(|call| {
        let around = facts.blocks_around(&zero.at).find_map(|(id, block)| match block.kind {
            BlockKind::With(node) if node.items.iter().any(|item| item.context_expr.range() == call.range()) => {
                Some(id)
            }
            _ => None,
        });
        around.is_some_and(|block| facts.is_unconditional_in(&zero.at, block))
    });
    let (true, Some(accumulate)) = (module, within) else { return false };
    let mut backwards = facts.effects_of(Effect::Backward, zero.at.function);
    let Some(backward) = backwards.find(|call| call.at.block == zero.at.block) else { return false };
    report
        .add(zero, "Gradients are cleared on every micro-batch: what was accumulated is lost before the step")
        .because(
            accumulate,
            "the wrapped optimizer steps and clears every few micro-batches only; a module's `zero_grad` always clears",
        )
        .because(backward, "gradients are added up here on every micro-batch");
    true
}

/// Whether a function of the project clears, goes back and leaves the step to its caller.
fn is_micro_step(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.callee_summary(call).is_some_and(|summary| summary.zeroes_grad && summary.calls_backward && !summary.steps)
}

/// Whether a loop counts: `for micro in range(n)`, `while micro < n`.
fn counts_up(turns: &Loop<'_>) -> bool {
    match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => matches!(&*node.iter, Expr::Call(call) if
            matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "range" | "trange"))),
        BlockKind::Loop(_, Stmt::While(node)) => node.test.is_compare_expr(),
        _ => false,
    }
}

/// Whether a test lets something happen every few turns: `(i + 1) % n == 0`, `count == accumulation_steps`.
fn counts(test: &str) -> bool {
    let lower = test.to_ascii_lowercase();
    lower.contains('%') || ["accum", "grad_acc", "acc_step"].iter().any(|word| lower.contains(word))
}

/// The same, if only by a name bound to such a test: `if update:`.
fn is_count(facts: &Facts<'_>, test: &Expr) -> bool {
    let bound = |name: &str| {
        let mut binds = facts.binds_of(name).filter_map(|bind| bind.value_expr);
        binds.any(|value| counts(facts.source.slice(value.range())))
    };
    // `if is_due(i, every):`, with a function of this file that gives no more than the test.
    let asked = |call: &Call<'_>| match call.callee {
        Callee::Project(id) if facts.is_own(id) => {
            let mut given = facts.returns().iter().filter(|found| found.at.function == Some(id.index)).peekable();
            given.peek().is_some() && given.all(|found| counts(facts.written(found.expr)))
        }
        _ => false,
    };
    counts(facts.source.slice(test.range()))
        || matches!(test, Expr::Name(name) if bound(name.id.as_str()))
        || facts.call_at(test).is_some_and(asked)
}

/// `seen < enough`, `seen >= enough`, `seen == enough`, of a sum that the loop adds to and sets back.
fn is_threshold(facts: &Facts<'_>, test: &Expr, outer: BlockId) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let (Expr::Name(_) | Expr::Attribute(_), [CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE | CmpOp::Eq]) =
        (&*compare.left, &compare.ops[..])
    else {
        return false;
    };
    let sum = facts.source.slice(compare.left.range());
    let is_it = |expr: &Expr| facts.source.slice(expr.range()) == sum;
    let grows = facts.stores().iter().any(|store| {
        store.kind == StoreKind::AugAssign && is_it(store.target) && facts.is_inside(store.at.block, outer)
    });
    let set_back = facts.binds().iter().any(|bind| {
        let zero = bind.value_expr.is_some_and(Expr::is_number_literal_expr);
        zero && is_it(bind.target) && facts.is_inside(bind.at.block, outer)
    });
    grows && set_back
}

/// The `if` that counts turns around a call, inside a loop.
fn modulo_around<'a>(facts: &Facts<'a>, call: &Call<'a>, outer: BlockId) -> Option<&'a Expr> {
    let counted = |block: &Block<'a>| match block.kind {
        BlockKind::If(Some(test)) if is_count(facts, test) || is_threshold(facts, test, outer) => Some(test),
        _ => None,
    };
    let mut inside = facts.blocks_around(&call.at).take_while(|(id, _)| *id != outer);
    // `if step % k: continue` before the step says the same.
    let skips = |block: &Block<'_>| {
        let text = facts.source.slice(block.range).trim_end();
        block.range.end() <= call.range().start() && (text.ends_with("continue") || text.ends_with("return"))
    };
    inside.find_map(|(_, block)| counted(block)).or_else(|| {
        let mut skipping = facts.blocks().filter(|(_, block)| block.parent == outer && skips(block));
        skipping.find_map(|(_, block)| counted(block))
    })
}
