//! `loss-accumulated-with-graph`: a running sum of losses keeps every graph.

use crate::analysis::events::{GradMode, LoopKind, Root, Store, StoreKind};
use crate::analysis::value::{BlockId, Flags, Kind};
use crate::facts::{Effect, Facts, FunctionKind, Loop, Turn};
use crate::finding::Safety;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "loss-accumulated-with-graph",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A running sum adds up losses that still have their graph.",
    why: "The sum refers to every loss, every loss to its graph, and a graph that no `backward()` has freed to all \
          activations of its forward pass.",
    cost: "All saved activations of every batch so far where no `backward()` runs; one small block and the graph's \
           nodes a batch where one does.",
    instead: "Add `loss.item()`, or `loss.detach()` to avoid a synchronisation with the device.",
    when_not: "The sum itself is back-propagated: see `losses-summed-then-one-backward`.",
    programs: include_str!("loss_accumulated_with_graph.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        if !matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind) || !store.value.keeps_graph() {
            continue;
        }
        // Under `no_grad` the sum is a number in a tensor.
        if store.at.grad != GradMode::On || !sums(facts, store) || !facts.surely_keeps_graph(store) {
            continue;
        }
        if facts.comes_from_reference(&store.value, &store.at) {
            continue;
        }
        let Some(turn) = turn(facts, store) else { continue };
        if !facts.is_carried(store, &turn) || is_back_propagated(facts, store) {
            continue;
        }
        let back = backward_in(facts, store, &turn);
        if back.is_some() && (facts.is_dropped_with_step(store, &turn) || is_set_back(facts, store, &turn)) {
            continue;
        }
        if back.is_none() && (is_used(facts, store) || facts.may_have_no_graph(&store.value, &store.at)) {
            continue;
        }
        let target = facts.source.slice(facts.keeper(store).range());
        let added = if is_loss(facts, store) { "loss" } else { "tensor" };
        let frees = back.filter(|back| !back.retains).map(|back| back.range);
        let retains = back.filter(|back| back.retains).map(|back| back.range);
        let is_freed = frees.is_some() || back.is_none() && store.value.is_freed_elsewhere();
        let kept = if is_freed {
            "a small block and the nodes of each batch"
        } else {
            "the activations of every batch stay alive"
        };
        let message = format!("`{target}` keeps the graph of every {added} added to it: {kept}");
        let finding = report.add(store, message);
        finding
            .size(if is_freed { Size::per_batch(Amount::Small).growing() } else { RULE.size })
            .doubtful_if(is_doubtful(facts, store, back.is_some()))
            .made_by_if(facts.forward_pass(&store.value, &store.at), "this forward pass makes the graph")
            .because(&turn.head, "once a batch, and the sum outlives it")
            .because_if(frees, "the backward pass frees activations, but not the nodes of the graph")
            .because_if(retains, "this backward pass retains the graph: it frees nothing");
        if store.kind == StoreKind::AugAssign {
            finding.unsafe_fix("Detach what is added", facts.call_method_on(store.value_expr, "detach"));
        }
    }
}

/// What is seen of a sum tells how sure it is: where nothing goes back, the network that makes the graph has to be seen;
/// where the backward pass runs elsewhere, at least the pass.
fn is_doubtful<'a>(facts: &Facts<'a>, store: &Store<'a>, goes_back: bool) -> bool {
    if goes_back || store.value.is_freed_elsewhere() && facts.forward_pass(&store.value, &store.at).is_some() {
        is_unproven_entry(facts, store.value_expr, store) || facts.is_unseen_part(store)
    } else {
        !facts.is_seen_to_record(&store.value, &store.at)
    }
}

/// Whether what is added is a loss, by what made it or by some name: a sum of outputs is none.
fn is_loss<'a>(facts: &Facts<'a>, store: &Store<'a>) -> bool {
    let named = |expr: &Expr| {
        let text = facts.source.slice(expr.range()).to_ascii_lowercase();
        ["loss", "cost", "crit", "err", "objective", "nll", "elbo"].iter().any(|word| text.contains(word))
    };
    store.value.has(Flags::LOSS) || named(store.value_expr) || named(facts.keeper(store))
}

/// Whether what is added is an entry of what a criterion or a step returns, and nothing treats that entry as a tensor:
/// beside the losses such a record holds counts and rates, which are plain numbers.
fn is_unproven_entry<'a>(facts: &Facts<'a>, added: &Expr, store: &Store<'a>) -> bool {
    let node = match added {
        Expr::BinOp(node) => {
            return is_unproven_entry(facts, &node.left, store) || is_unproven_entry(facts, &node.right, store);
        }
        Expr::Subscript(node) if node.slice.is_string_literal_expr() => node,
        _ => return false,
    };
    let Expr::Name(record) = &*node.value else { return false };
    let is_record = facts.binds_of(record.id.as_str()).any(|bind| {
        let made = bind.value_expr.and_then(Expr::as_call_expr).and_then(|call| last_name(&call.func));
        let made = made.unwrap_or_default().to_ascii_lowercase();
        bind.at.function == store.at.function && ["crit", "loss", "step"].iter().any(|word| made.contains(word))
    });
    let text = facts.source.slice(added.range());
    let is_tensor = || {
        facts.calls().iter().any(|call| call.receiver_expr().is_some_and(|on| facts.source.slice(on.range()) == text))
    };
    is_record && !is_tensor()
}

/// Whether something is added: `h = layer(h)` goes on, but adds nothing.
fn sums<'a>(facts: &Facts<'a>, store: &Store<'a>) -> bool {
    let adds = |expr: &Expr| match expr {
        Expr::BinOp(_) => true,
        Expr::If(node) => node.body.is_bin_op_expr() || node.orelse.is_bin_op_expr(),
        Expr::Call(_) => facts.call_at(expr).and_then(|call| facts.full_name(call)) == Some("torch.add"),
        _ => false,
    };
    store.kind == StoreKind::AugAssign || adds(store.value_expr)
}

/// Whether the sum is set back with every step of the optimizer: `if accelerator.sync_gradients: total = 0`.
fn is_set_back<'a>(facts: &Facts<'a>, store: &Store<'a>, turn: &Turn) -> bool {
    let Expr::Name(name) = facts.keeper(store) else { return false };
    facts.binds_of(name.id.as_str()).filter(|bind| facts.is_inside(bind.at.block, turn.block)).any(|bind| {
        facts.tests_within(&bind.at, turn.block).flatten().any(|test| {
            let asked = facts.source.slice(test.range());
            asked.contains("sync_gradients") || asked.contains("accum")
        })
    })
}

/// What runs once a batch around a sum that outlives it.
fn turn<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<Turn> {
    // What a method of `self` keeps is found where it keeps it.
    if store.via.is_some() && matches!(facts.keeper(store), Expr::Name(name) if name.id.as_str() == "self") {
        return None;
    }
    if let Some(batches) = facts.batch_loop(&store.at) {
        return Some(batches.turn());
    }
    let module = facts.class_kind(&store.at).is_module();
    if store.kind == StoreKind::Rebind && !store.value_expr.is_bin_op_expr() {
        return None;
    }
    if facts.kind_at(&store.at) == FunctionKind::TrainingStep {
        return matches!(store.root, Root::SelfAttribute(_)).then(|| facts.function_turn(&store.at))?;
    }
    if let Some(turn) = facts.turn(&store.at) {
        // A module adds up auxiliary losses of one pass on itself, for whoever trains it.
        let kept = facts.is_kept_beyond_call(store) && !facts.is_back_propagated_elsewhere(store);
        return (kept && !module).then_some(turn);
    }
    evaluated_loop(facts, store).filter(|_| !module)
}

/// A loop of an evaluation that is over something else than batches, with the forward pass in it.
fn evaluated_loop<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<Turn> {
    let uses = facts.uses_gradients(store.at.function, &[]);
    let evaluates = facts.looks_like_evaluation(&store.at) || only_plays(facts, store);
    if uses || store.at.function.is_none() || !evaluates {
        return None;
    }
    let passes: Vec<_> = facts.forward_passes(&store.value, &store.at).collect();
    let around =
        |turns: &Loop<'_>| !passes.is_empty() && passes.iter().all(|pass| facts.is_text_of(*pass, turns.block));
    let turns = facts.loops(&store.at).find(around)?;
    (turns.kind != LoopKind::Parameters).then(|| turns.turn())
}

/// Whether a function plays in an environment, in a file that trains nothing.
fn only_plays(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let trains = facts.effects(Effect::Backward).next().is_some()
        || facts.binds().iter().any(|bind| bind.value.kind == Kind::Optimizer);
    let plays = facts.calls_named("step").any(|call| {
        let on = call.receiver_expr().map(|expr| facts.source.slice(expr.range()).to_ascii_lowercase());
        call.at.function == store.at.function && on.is_some_and(|text| text.contains("env"))
    });
    plays && !trains
}

/// A backward pass on every turn.
#[derive(Clone, Copy)]
struct Back {
    range: TextRange,
    /// Whether it leaves the activations alive: `retain_graph=True`.
    retains: bool,
}

/// The backward pass of every turn: in the loop, in the callers' loops, or run by the framework.
fn backward_in<'a>(facts: &Facts<'a>, store: &Store<'a>, turn: &Turn) -> Option<Back> {
    if facts.kind_at(&store.at) == FunctionKind::TrainingStep {
        return Some(Back { range: turn.head, retains: false });
    }
    let of_block = |block: BlockId| {
        let mut passes = facts.effects_in(Effect::Backward, block).peekable();
        let first = passes.peek()?.range();
        // One that frees is enough.
        let frees = passes.find(|back| !facts.may_retain_graph(back)).map(Ranged::range);
        Some(Back { range: frees.unwrap_or(first), retains: frees.is_none() })
    };
    if let Some(back) = of_block(turn.block) {
        return Some(back);
    }
    if facts.loops(&store.at).any(|turns| turns.block == turn.block) {
        return None;
    }
    facts.callers_of(&store.at).find_map(|call| of_block(facts.turn(&call.at)?.block))
}

/// Whether what was added may be wanted with its graph, by this function or by whoever gets the sum from it.
fn is_used<'a>(facts: &Facts<'a>, store: &Store<'a>) -> bool {
    // A module's own method makes a part of what is back-propagated.
    let part_of_model = facts.class_kind(&store.at).is_module();
    facts.backward_of(&store.value, &store.at).is_some()
        || part_of_model
        || facts.may_be_used_later(store) && !only_plays(facts, store)
}

/// Whether `backward` is called on the sum itself.
fn is_back_propagated<'a>(facts: &Facts<'a>, store: &Store<'a>) -> bool {
    if facts.keeper_goes_back(store) {
        return true;
    }
    let target = facts.source.slice(store.target.range());
    facts.effects_of(Effect::Backward, store.at.function).any(|call| {
        let on = call.receiver_expr().into_iter().chain(call.node.arguments.args.iter());
        on.into_iter().any(|expr| facts.source.slice(expr.range()).contains(target))
    })
}
