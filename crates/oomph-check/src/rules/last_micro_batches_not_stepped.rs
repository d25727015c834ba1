//! `last-micro-batches-not-stepped`: what is left over at the end of an epoch trains nothing.

use crate::analysis::events::{At, Bind, BlockKind, Call, LoopKind, StoreKind};
use crate::facts::{Effect, Facts, Loop};
use crate::python::ast::{BoolOp, CmpOp, Operator, UnaryOp};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "last-micro-batches-not-stepped",
    group: Group::Optimizer,
    size: Size::per_epoch(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "The optimizer steps every few batches, and the last ones of an epoch get no step.",
    why: "Where the number of batches is no multiple of the accumulation, the gradients of the remainder are computed \
          and kept through the rest of the program, or spill into the first step of the next epoch, which then adds up \
          more batches than its scaling allows for.",
    cost: "A set of gradients held with no use, and the work of up to one accumulation less one batch per epoch.",
    instead: "Step on the last batch too: `if (i + 1) % every == 0 or i + 1 == len(loader)`.",
    when_not: "The loader is known to give a multiple of the accumulation, for instance by its sampler.",
    programs: include_str!("last_micro_batches_not_stepped.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut seen = Vec::new();
    for step in facts.effects(Effect::Step) {
        let Some(batches) = facts.loops(&step.at).find(|turns| turns.kind == LoopKind::Loader) else { continue };
        if seen.contains(&batches.block) {
            continue;
        }
        let guarded = only_test(facts, step, &batches).and_then(|test| every_few(facts, test, step, &batches));
        let Some(modulo) = guarded.or_else(|| skipped_by(facts, step, &batches)) else { continue };
        let Some(backward) = accumulating_backward(facts, step, &batches) else { continue };
        if steps_otherwise(facts, step, &batches) || leaves(facts, &batches) {
            continue;
        }
        seen.push(batches.block);
        let iterated = facts.source.slice(batches.head());
        let iterated = iterated.rsplit(" in ").next().unwrap_or("the loader");
        report
            .add(
                &modulo.range(),
                format!("The last batches of `{iterated}` get no step unless the very last one meets this condition"),
            )
            .doubtful_if(steps_always(facts, modulo, &step.at))
            .because(backward, "every batch adds its gradients")
            .because(step, "the only step, under this condition, and none follows the loop");
    }
}

/// Whether the accumulation is one as the program is written: then every batch steps.
pub(super) fn steps_always<'a>(facts: &Facts<'a>, test: &'a Expr, at: &At) -> bool {
    every_of(test).is_some_and(|every| facts.is_one_as_written(every, at) == Some(true))
}

/// After how many batches a test holds.
fn every_of(test: &Expr) -> Option<&Expr> {
    let every = match test {
        Expr::UnaryOp(not) => period(&not.operand),
        Expr::Compare(compare) => period(&compare.left).or_else(|| compare.comparators.first().and_then(period)),
        other => period(other),
    };
    let counted = || match test {
        // `waiting == every`.
        Expr::Compare(compare) => compare.comparators.first(),
        _ => None,
    };
    every.or_else(counted)
}

/// The `n` of `i % n`.
fn period(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::BinOp(node) if node.op == Operator::Mod => Some(&node.right),
        _ => None,
    }
}

/// `i` of `for i, batch in enumerate(loader)`.
fn batch_index<'a>(facts: &Facts<'a>, batches: &Loop<'a>) -> Option<&'a str> {
    let BlockKind::Loop(_, Stmt::For(node)) = batches.node else { return None };
    let Expr::Tuple(target) = &*node.target else { return None };
    // `bar = tqdm(enumerate(loader))` before the loop.
    let named = |name: &str| facts.binds_of(name).filter_map(|bind| bind.value_expr).any(is_enumerate);
    let counted = is_enumerate(&node.iter) || matches!(&*node.iter, Expr::Name(name) if named(name.id.as_str()));
    match target.elts.first() {
        Some(Expr::Name(name)) if counted => Some(name.id.as_str()),
        _ => None,
    }
}

/// `enumerate(loader)`, `tqdm(enumerate(loader), total=...)`, `metric_logger.log_every(enumerate(loader), 10)`.
fn is_enumerate(iter: &Expr) -> bool {
    let Expr::Call(call) = iter else { return false };
    let direct = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "enumerate");
    direct || call.arguments.args.first().is_some_and(is_enumerate)
}

/// The one test around a step, inside the loop.
fn only_test<'a>(facts: &Facts<'a>, step: &Call<'_>, batches: &Loop<'_>) -> Option<&'a Expr> {
    let mut tests = facts.tests_within(&step.at, batches.block);
    let (first, more) = (tests.next()?, tests.next());
    if more.is_some() { None } else { first }
}

/// The `i % n` of `if i % n: continue` before a step that stands right in the loop.
fn skipped_by<'a>(facts: &Facts<'a>, step: &Call<'_>, batches: &Loop<'a>) -> Option<&'a Expr> {
    if facts.tests_within(&step.at, batches.block).next().is_some() {
        return None;
    }
    let index = batch_index(facts, batches);
    let counts = |name: &str| index == Some(name) || counts_from_zero(facts, name, step, batches);
    facts.body_of(batches).iter().find_map(|stmt| match stmt {
        Stmt::If(node) if stmt.end() <= step.range().start() && node.elif_else_clauses.is_empty() => {
            let skips = matches!(node.body.last(), Some(Stmt::Continue(_)));
            let remains = match &*node.test {
                Expr::Compare(compare) => {
                    compare.ops.first() == Some(&CmpOp::NotEq) && is_remainder(&compare.left, &counts)
                }
                other => is_remainder(other, &counts),
            };
            (skips && remains).then_some(&*node.test)
        }
        _ => None,
    })
}

/// The `(i + 1) % n == 0` that a test is, itself or by a name bound to it, or `count == n` of a counter set back.
fn every_few<'a>(facts: &Facts<'a>, test: &'a Expr, step: &Call<'_>, batches: &Loop<'a>) -> Option<&'a Expr> {
    // Whatever else is asked for makes steps rarer still: `i > 0 and i % n == 0`.
    if let Expr::BoolOp(all) = test
        && all.op == BoolOp::And
    {
        return all.values.iter().find_map(|part| every_few(facts, part, step, batches));
    }
    let mut expr = test;
    if let Expr::Name(name) = test {
        let mut binds = facts.binds_of(name.id.as_str());
        let (only, more) = (binds.next()?, binds.next());
        expr = only.value_expr.filter(|_| more.is_none())?;
    }
    let index = batch_index(facts, batches);
    let counts = |name: &str| index == Some(name) || counts_from_zero(facts, name, step, batches);
    let counter = match expr {
        Expr::Compare(compare) if matches!(compare.ops.first(), Some(CmpOp::Eq | CmpOp::GtE)) => match &*compare.left {
            Expr::Name(name) => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    };
    let set_back =
        counter.is_some_and(|name| counts_from_zero(facts, name, step, batches) && is_set_back(facts, name, step));
    (set_back || is_modulo(expr, &counts)).then_some(expr)
}

/// Whether a name counts batches from the start of this loop: zero before it, one more on every turn.
fn counts_from_zero(facts: &Facts<'_>, name: &str, step: &Call<'_>, batches: &Loop<'_>) -> bool {
    let around = |at: &At| facts.loops(at).map(|turns| turns.block).collect::<Vec<_>>();
    let outer: Vec<_> = around(&step.at).into_iter().skip_while(|block| *block != batches.block).skip(1).collect();
    let begins = facts.binds_of(name).any(|bind| {
        let zero = bind.value_expr.is_some_and(Expr::is_number_literal_expr);
        zero && bind.at.function == step.at.function && around(&bind.at) == outer
    });
    let adds = facts.stores().iter().any(|store| {
        let same = matches!(store.target, Expr::Name(target) if target.id.as_str() == name);
        same && store.kind == StoreKind::AugAssign && facts.is_unconditional_in(&store.at, batches.block)
    });
    begins && adds
}

/// Whether the counter begins again where the step is.
fn is_set_back(facts: &Facts<'_>, name: &str, step: &Call<'_>) -> bool {
    let zero = |bind: &Bind<'_>| bind.value_expr.is_some_and(Expr::is_number_literal_expr);
    facts.binds_of(name).any(|bind| zero(bind) && bind.at.block == step.at.block)
}

fn is_modulo(test: &Expr, counts: &dyn Fn(&str) -> bool) -> bool {
    match test {
        Expr::UnaryOp(not) if not.op == UnaryOp::Not => is_remainder(&not.operand, counts),
        Expr::Compare(compare) => {
            let side = |expr: &Expr| is_remainder(expr, counts);
            compare.ops.len() == 1
                && compare.ops[0] == CmpOp::Eq
                && (side(&compare.left) || side(&compare.comparators[0]))
        }
        _ => false,
    }
}

/// `i % n`, `(i + 1) % n`.
fn is_remainder(expr: &Expr, counts: &dyn Fn(&str) -> bool) -> bool {
    let Expr::BinOp(node) = expr else { return false };
    let is_index = |expr: &Expr| matches!(expr, Expr::Name(name) if counts(name.id.as_str()));
    let counted = match &*node.left {
        Expr::BinOp(sum) => sum.op == Operator::Add && (is_index(&sum.left) || is_index(&sum.right)),
        other => is_index(other),
    };
    node.op == Operator::Mod && counted
}

/// A backward pass on every batch, with no clearing on every batch.
fn accumulating_backward<'f, 'a>(facts: &'f Facts<'a>, step: &Call<'_>, batches: &Loop<'_>) -> Option<&'f Call<'a>> {
    let always = |call: &&Call<'a>| facts.is_unconditional_in(&call.at, batches.block);
    // What follows the step in its own block runs as seldom as the step.
    let with_step = |call: &&Call<'a>| call.at.block == step.at.block && call.at.order > step.at.order;
    let clears = facts.effects_in(Effect::ZeroGrad, batches.block).any(|call| always(&call) && !with_step(&call));
    let mut backwards = facts.effects_in(Effect::Backward, batches.block);
    let backward = backwards.find(always)?;
    let others = facts.effects_in(Effect::Backward, batches.block).any(|call| !always(&call));
    (!clears && !others).then_some(backward)
}

/// Whether another step, of this loop or after it, takes what is left.
fn steps_otherwise(facts: &Facts<'_>, step: &Call<'_>, batches: &Loop<'_>) -> bool {
    let end = batches.range.end();
    let stepped = facts.stepped(step);
    facts.effects_of(Effect::Step, step.at.function).any(|other| {
        let inside = facts.is_inside(other.at.block, batches.block);
        let elsewhere = inside && other.at.block != step.at.block;
        let after = other.range().start() > end && (facts.stepped(other) == stepped || other.name != "step");
        elsewhere || after
    })
}

/// Whether the loop is left or batches are skipped on purpose.
fn leaves(facts: &Facts<'_>, batches: &Loop<'_>) -> bool {
    facts.statements_in(batches.block).any(|statement| matches!(statement.node, Stmt::Break(_)))
}
