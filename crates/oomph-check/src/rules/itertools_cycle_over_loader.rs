//! `itertools-cycle-over-loader`: `cycle` keeps every batch of the first pass.

use crate::analysis::events::{Bind, BlockKind, Call};
use crate::analysis::value::Kind;
use crate::facts::{Effect, Facts};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "itertools-cycle-over-loader",
    group: Group::Data,
    size: Size::per_batch(Amount::Batch).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`itertools.cycle` goes over a data loader.",
    why: "`cycle` keeps a copy of every item of the first pass and replays those. For a loader these are all batches of \
          an epoch. It also means that data is never shuffled or augmented anew.",
    cost: "The whole dataset as tensors, after one epoch; on the GPU if the loader's batches are there.",
    instead: "A generator that starts the loader again: `while True: yield from loader`.",
    when_not: "What is cycled is a short list of settings, not a loader.",
    programs: include_str!("itertools_cycle_over_loader.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("itertools.cycle") {
        let Some(argument) = call.arg(0) else { continue };
        let plural = last_name(argument).is_some_and(|name| name.to_ascii_lowercase().ends_with("loaders"));
        let over_loader = facts.goes_over_loader(argument, call)
            || is_made_in_place(facts, argument)
            || is_one_of_made(facts, call, argument)
            || is_trained_on(facts, call, argument);
        if !over_loader || plural || is_cut_short(facts, call) {
            continue;
        }
        if gives_loaders(facts, call) || is_listed(facts, call) {
            continue;
        }
        let text = facts.written(argument);
        let finding =
            report.add(call, format!("`cycle` keeps every batch of `{text}` as long as it lives, to replay them"));
        finding.because(argument, "a data loader: each of its batches goes into a list of the cycle's own");
        if let Expr::Attribute(callee) = &*call.node.func
            && starts_again(facts, call, argument)
        {
            let module = facts.written(&*callee.value).to_owned();
            let edits = vec![
                Edit::replace(callee.attr.range(), format!("chain.from_iterable({module}.repeat")),
                Edit::insert(call.node.range().end(), ")"),
            ];
            finding.unsafe_fix("Start the loader again instead", edits);
        }
    }
}

/// Whether what is cycled is seen to be a loader, which begins anew each time it is gone over. An iterator
/// (`cycle(iter(loader))`) is used up after one pass: repeating it would wait for ever.
fn starts_again(facts: &Facts<'_>, call: &Call<'_>, argument: &Expr) -> bool {
    let is_made = |made: &Expr| facts.call_at(made).is_some_and(|maker| maker.name.ends_with("DataLoader"));
    match argument {
        Expr::Name(_) => {
            let binds = facts.binds_seen(argument, &call.at);
            !binds.is_empty() && binds.iter().all(|bind| bind.value_expr.is_some_and(is_made))
        }
        _ => is_made(argument),
    }
}

/// Whether a function of which nothing is known but its name makes the loader: `cycle(build_train_loader(args))`.
fn is_made_in_place(facts: &Facts<'_>, argument: &Expr) -> bool {
    let Some(maker) = facts.call_at(argument) else { return false };
    let name = maker.name.to_ascii_lowercase();
    let unknown = matches!(maker.result.kind, Kind::Unknown | Kind::Made(_) | Kind::Loader);
    let reads_files = ["yaml", "json", "config", "template"].iter().any(|word| name.contains(word));
    unknown && name.ends_with("loader") && name != "loader" && !reads_files
}

/// `labelled, rest = make_loaders(args)`: what a function of that name gives, apart from each other, are loaders.
fn is_one_of_made(facts: &Facts<'_>, call: &Call<'_>, argument: &Expr) -> bool {
    let binds = facts.binds_seen(argument, &call.at);
    let unpacked = |bind: &Bind<'_>| {
        let Some(Stmt::Assign(assign)) = facts.statement(bind.at.stmt).map(|found| found.node) else { return false };
        let ([Expr::Tuple(several)], Some(maker)) = (assign.targets.as_slice(), facts.call_at(&assign.value)) else {
            return false;
        };
        let name = maker.name.to_ascii_lowercase();
        let whole = several.elts.iter().any(|part| part.range() == bind.target.range());
        whole && several.elts.len() > 1 && name.ends_with("loaders") && bind.value.kind == Kind::Unknown
    };
    !binds.is_empty() && binds.into_iter().all(unpacked)
}

/// `for (x, y), u in zip(cycle(labelled), unlabelled)` around a step of training: what is given as labelled data, and
/// unpacked once a step, are batches.
fn is_trained_on(facts: &Facts<'_>, call: &Call<'_>, argument: &Expr) -> bool {
    let Expr::Name(name) = argument else { return false };
    let given = facts.binds_of(name.id.as_str()).next().is_none();
    let labelled = ["labelled", "labeled"].iter().any(|word| name.id.to_ascii_lowercase().contains(word));
    let Some(Stmt::For(walk)) = facts.statement(call.at.stmt).map(|found| found.node) else { return false };
    let (Expr::Call(zip), Expr::Tuple(targets)) = (&*walk.iter, &*walk.target) else { return false };
    let at = zip.arguments.args.iter().position(|arg| arg.range() == call.node.range());
    let unpacked = at.and_then(|at| targets.elts.get(at)).is_some_and(Expr::is_tuple_expr);
    let is_own =
        |kind: BlockKind<'_>| matches!(kind, BlockKind::Loop(_, Stmt::For(node)) if node.range() == walk.range());
    let steps = || {
        let body = facts.blocks().find(|(_, block)| is_own(block.kind)).map(|(id, _)| id);
        body.is_some_and(|body| facts.effects_in(Effect::Step, body).next().is_some())
    };
    given && labelled && unpacked && steps()
}

/// Whether the items are loaders themselves: `loader = next(turns)`, or a name that says so.
fn gives_loaders(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let is_loader = |name: &str| name.to_ascii_lowercase().ends_with("loader");
    let Some(name) = facts.bound_name(call) else { return false };
    let taken = facts
        .calls_to("next")
        .any(|next| next.arg(0).and_then(last_name) == Some(name) && facts.bound_name(next).is_some_and(is_loader));
    name.to_ascii_lowercase().ends_with("loaders") || taken
}

/// Whether all batches are put into a list anyway, which outlives the cycle: `list(zip(cycle(loader), other))`.
fn is_listed(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let around = facts.around(call);
    around
        .iter()
        .any(|expr| matches!(expr, Expr::Call(list) if matches!(last_name(&list.func), Some("list" | "tuple"))))
}

/// Whether only the first few items are taken at once: `islice(cycle(loader), 10)`.
fn is_cut_short(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.calls_to("itertools.islice").any(|cut| {
        let few = cut.arg(1).and_then(whole_number).is_some_and(|count| count <= FEW_BATCHES);
        few && cut.arg(0).is_some_and(|taken| taken.range() == call.node.range())
    })
}

/// Batches that a warm-up or a look at the data takes.
const FEW_BATCHES: u64 = 100;
