//! `dataparallel`: one process feeds all cards and gathers on the first.

use crate::analysis::events::{At, Call, Callee};
use crate::analysis::value::{Flags, Kind};
use crate::facts::{Effect, Facts, is_reference_name};
use crate::python::{Expr, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;
use crate::wrapping::cards::{is_single, is_single_unless_told};
use crate::wrapping::fate_of;

pub(super) static RULE: Rule = Rule {
    name: "dataparallel",
    group: Group::Distributed,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A model trains under `nn.DataParallel`.",
    why: "Every step copies the model to all GPUs, and gathers outputs, loss and gradients on GPU 0. That card is full \
          while the others have room, and it decides the largest batch.",
    cost: "All outputs of all cards, the loss and the gradients of every replica on GPU 0, on top of its own share.",
    instead: "`DistributedDataParallel` with one process a GPU (`torchrun`), which needs the same memory on all of them.",
    when_not: "A quick evaluation on one machine, or a single device.",
    programs: include_str!("dataparallel.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    // A program that offers both ways leaves the choice to its user.
    let both = || ["DistributedDataParallel", " DDP(", "smart_DDP("].iter().any(|way| facts.source.text.contains(way));
    if facts.is_test_file() || both() {
        return;
    }
    for call in ["torch.nn.DataParallel", "torch.nn.parallel.DataParallel"].iter().flat_map(|name| facts.calls_to(name))
    {
        if call.args.is_empty() && call.keywords.is_empty() || is_single(facts, call) || is_no_model(facts, call) {
            continue;
        }
        if facts.never_runs(&call.at) {
            continue;
        }
        let Some(training) = trains(facts, call).filter(|_| !evaluates(facts, call)) else { continue };
        let model = call.arg(0).map_or("the model", |model| facts.written(model));
        if is_beside(model)
            || is_beside(bound_to(facts, call))
            || call.args.first().is_some_and(|value| value.has(Flags::FROZEN))
        {
            continue;
        }
        let fate = fate_of(facts, call);
        if !fate.runs || fate.fails || is_fed_one_by_one(facts) || is_unpacked_wrongly(facts, call) {
            continue;
        }
        let model = if model.contains('\n') || model.len() > 40 { "model" } else { model };
        // A model that wraps itself is called both ways: `self(x)` is not the wrapper.
        let depends = !fate.is_seen
            || is_single_unless_told(facts, call)
            || only_loads(facts, call)
            || model == "self"
            || is_left_frozen(facts, call);
        report
            .add(
                call,
                format!("The first GPU holds the outputs, the loss and all gradients of `{model}`: it fills up first"),
            )
            .doubtful_if(depends)
            .because(call, "`DataParallel` gathers everything on its first device")
            .because(training, "the model is trained");
    }
}

/// Whether the file takes the model out of training, and gives its parameters to no optimizer.
fn is_left_frozen(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let wrapped = wrapping.arg(0).and_then(last_name).unwrap_or_default();
    let is_frozen = |name: &str| facts.is_given_to_freezer(name) || facts.is_frozen_in_loop(name);
    let optimized = |name: &str| {
        let mut makers = facts.calls().iter().filter(|call| call.result.kind == Kind::Optimizer);
        makers.any(|call| facts.mentions_word(call.node.arguments.range, name))
    };
    [wrapped, bound_to(facts, wrapping)].into_iter().any(|name| is_frozen(name) && !optimized(name))
}

/// Whether what is wrapped is no model to train: an optimizer, a scheduler, a loss, or a list that cannot be called.
fn is_no_model(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let value = wrapping.args.first();
    let of_kind = value.is_some_and(|value| {
        let listed = facts.name_of(value).is_some_and(|name| name.ends_with("ModuleList"));
        matches!(value.kind, Kind::Optimizer | Kind::Scheduler) || listed
    });
    let written = wrapping.arg(0).map_or("", |model| facts.written(model));
    let name = written.split('(').next().unwrap_or(written).to_ascii_lowercase();
    of_kind || ["optimizer", "scheduler", "loss", "criterion"].iter().any(|word| name.ends_with(word))
}

/// Whether the name says that the model runs beside what is trained: it has no gradients to gather.
fn is_beside(model: &str) -> bool {
    let beside = ["teacher", "vgg", "extractor", "perceptual", "lpips"];
    let is_part = |word: &str| {
        matches!(
            word,
            "ref" | "reference" | "ema" | "test" | "criterion" | "criterions" | "criteria" | "loss" | "losses"
        )
    };
    is_reference_name(model)
        || beside.iter().any(|word| model.contains(word))
        || model.split(|c: char| !c.is_alphanumeric()).any(is_part)
}

/// What the statement around binds: `teacher` of `teacher = net.cuda() if single else DataParallel(net)`.
fn bound_to<'f>(facts: &'f Facts<'_>, wrapping: &Call<'_>) -> &'f str {
    match facts.statement(wrapping.at.stmt).map(|found| found.node) {
        Some(Stmt::Assign(assign)) => assign.targets.first().map_or("", |target| facts.written(target)),
        _ => "",
    }
}

/// Whether every loader of the file gives one sample at a time: there is nothing to scatter, and one card runs alone.
fn is_fed_one_by_one(facts: &Facts<'_>) -> bool {
    let mut loaders = facts.calls_named("DataLoader").peekable();
    let one = |call: &Call<'_>| call.keyword("batch_size").is_some_and(|size| facts.is_always(size, 1));
    loaders.peek().is_some() && loaders.all(one)
}

/// Whether a function makes the model again from a file and returns it, with no optimizer: what for, is not in view.
fn only_loads(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let own = |call: &&Call<'_>| call.at.function == wrapping.at.function;
    let loads = facts.calls_named("load_state_dict").filter(own).any(|call| call.at.order > wrapping.at.order);
    let returns = facts.returns().iter().any(|found| found.at.function == wrapping.at.function);
    let optimizes = facts.calls().iter().filter(own).any(|call| facts.written(&*call.node.func).contains("optim"));
    wrapping.at.function.is_some() && loads && returns && !optimizes && !goes_back_in(facts, wrapping)
}

fn goes_back_in(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    facts.effects_of(Effect::Backward, wrapping.at.function).next().is_some()
}

/// Whether the model is wrapped in a function that only evaluates: no loss and no gradients to gather.
fn evaluates(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let name = facts.function_name(&wrapping.at).to_ascii_lowercase();
    let by_name = ["eval", "valid", "infer", "predict"].iter().any(|word| name.contains(word));
    let own = |call: &&Call<'_>| call.at.function == wrapping.at.function && call.node.arguments.is_empty();
    let switched = wrapping.at.function.is_some()
        && facts.calls_named("eval").filter(own).any(|call| call.at.order > wrapping.at.order)
        && !facts.calls_named("train").any(|call| own(&call));
    !goes_back_in(facts, wrapping) && !name.contains("train") && (by_name || switched)
}

/// A backward pass, or an optimizer made, in the file; not a pass that is over when the model is wrapped.
fn trains<'f, 'a>(facts: &'f Facts<'a>, wrapping: &Call<'_>) -> Option<&'f Call<'a>> {
    let looped = facts.loops(&wrapping.at).next().is_some();
    let is_over = |at: &At| !looped && at.function == wrapping.at.function && at.order < wrapping.at.order;
    let is_called_before = |function: Option<u32>| {
        let means_it = |call: &&Call<'_>| matches!(call.callee, Callee::Project(id) if facts.is_own(id) && Some(id.index) == function);
        let mut calls = facts.calls().iter().filter(means_it).peekable();
        calls.peek().is_some() && calls.all(|call| is_over(&call.at))
    };
    let mut passes = facts.effects(Effect::Backward).peekable();
    if passes.peek().is_none() {
        return facts.calls().iter().find(|call| call.result.kind == Kind::Optimizer);
    }
    let passes: Vec<&Call<'a>> =
        passes.filter(|call| !is_over(&call.at) && !is_called_before(call.at.function)).collect();
    // The nearest one is the likeliest to be of this model.
    let here = |call: &&&Call<'a>| call.at.function == wrapping.at.function;
    let class = facts.class_around(&wrapping.at);
    let beside = |call: &&&Call<'a>| class.is_some() && facts.class_around(&call.at) == class;
    passes.iter().find(here).or_else(|| passes.iter().find(beside)).or(passes.first()).copied()
}

/// Whether the function that wraps returns another number of things than all of its calls unpack: none gets past that.
fn is_unpacked_wrongly(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let parts = |expr: &Expr| expr.as_tuple_expr().map(|tuple| tuple.elts.len());
    let mut returned = facts.returns().iter().filter(|found| found.at.function == wrapping.at.function);
    let (Some(only), None) = (returned.next(), returned.next()) else { return false };
    let Some(given) = parts(only.expr).filter(|_| wrapping.at.function.is_some()) else { return false };
    let means_it = |call: &&Call<'_>| matches!(call.callee, Callee::Project(id) if facts.is_own(id) && Some(id.index) == wrapping.at.function);
    let taken = facts.calls().iter().filter(means_it).map(|call| match facts.statement(call.at.stmt)?.node {
        Stmt::Assign(assign) => assign.targets.first().and_then(parts),
        _ => None,
    });
    let taken: Vec<Option<usize>> = taken.collect();
    !taken.is_empty() && taken.iter().all(|taken| taken.is_some_and(|taken| taken != given))
}
