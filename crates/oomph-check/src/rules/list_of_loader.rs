//! `list-of-loader`: a whole epoch is held at once.

use crate::analysis::events::{BlockKind, Call, LoopKind, Store, StoreKind};
use crate::analysis::guesses::is_loader_name;
use crate::analysis::value::{Flags, Kind, Value};
use crate::facts::{Facts, Loop};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, last_name};

pub(super) static RULE: Rule = Rule {
    name: "list-of-loader",
    group: Group::Data,
    size: Size::per_batch(Amount::Batch).growing(),
    is_opportunity: false,
    fix: None,
    summary: "A list is made of all batches of a data loader.",
    why: "A loader makes one batch at a time so that only a few exist at once. A list of it holds every batch of the \
          epoch, and on the GPU when each is moved there.",
    cost: "The whole dataset as tensors: 50,000 images of 3 x 224 x 224 floats are 30 GB.",
    instead: "Iterate over the loader and move one batch at a time; for a few batches use `itertools.islice`.",
    when_not: "The dataset is known to be tiny.",
    programs: include_str!("list_of_loader.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in ["list", "tuple", "sorted", "dict", "collections.deque"].iter().flat_map(|name| facts.calls_to(name)) {
        let (Some(argument), 1) = (call.arg(0), call.node.arguments.args.len()) else { continue };
        if !facts.goes_over_loader(argument, call) || is_cut_short(facts, argument) {
            continue;
        }
        let text = facts.written(argument);
        report
            .add(call, format!("`{}({text})` holds every batch of the epoch at once", call.name))
            .doubtful_if(may_be_one_batch(facts, call, argument))
            .because(argument, "a data loader: it makes one batch at a time");
    }
    for call in facts.calls_named("extend") {
        let (Some(argument), Some(list)) = (call.arg(0), call.receiver_expr()) else { continue };
        if facts.goes_over_loader(argument, call) && !is_cut_short(facts, argument) {
            let list = facts.written(list);
            report
                .add(call, format!("`{list}` holds every batch of the epoch at once"))
                .because(argument, "a data loader: it makes one batch at a time");
        }
    }
    for bind in facts.binds() {
        let Some(whole @ Expr::List(list)) = bind.value_expr else { continue };
        let [Expr::Starred(star)] = &list.elts[..] else { continue };
        if is_loader(facts, &star.value) && !is_cut_short(facts, &star.value) {
            report
                .add(whole, "This holds every batch of the epoch at once")
                .because(&*star.value, "a data loader: it makes one batch at a time");
        }
    }
    for call in facts.calls_to("zip") {
        let [Expr::Starred(star)] = &*call.node.arguments.args else { continue };
        if is_surely_loader(facts, &star.value) && !is_cut_short(facts, &star.value) {
            report
                .add(call, "This holds every batch of the epoch at once")
                .because(&*star.value, "a data loader: it makes one batch at a time");
        }
    }
    check_comprehensions(facts, report);
    check_loops(facts, report);
}

/// `[batch for batch in loader]`, `{i: batch for i, batch in enumerate(loader)}`.
fn check_comprehensions(facts: &Facts<'_>, report: &mut Report) {
    for (_, block) in facts.blocks() {
        let BlockKind::Comprehension(LoopKind::Loader, whole) = block.kind else { continue };
        let (generator, element) = match whole {
            Expr::ListComp(node) if node.generators.len() == 1 => (&node.generators[0], &node.elt),
            Expr::DictComp(node) if node.generators.len() == 1 => (&node.generators[0], &node.value),
            _ => continue,
        };
        let target = batch_target(&generator.target, &generator.iter);
        if !keeps_batch(target, element) || is_cut_short(facts, &generator.iter) || !generator.ifs.is_empty() {
            continue;
        }
        if !is_surely_loader(facts, &generator.iter) || carries_no_tensors(facts, &generator.iter) {
            continue;
        }
        report
            .add(whole, "This holds every batch of the epoch at once")
            .because(&generator.iter, "a data loader: it makes one batch at a time")
            .because(&**element, "each batch is kept");
    }
}

/// `for batch in loader: batches.append(batch)`.
fn check_loops(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        // What a helper keeps of the batch may be its labels.
        let keeps = matches!(store.kind, StoreKind::Append | StoreKind::Item)
            && store.holder.is_growing_holder()
            && !is_kept_by_helper(facts, store);
        let Some(turns) = facts.loops(&store.at).next().filter(|turns| keeps && turns.kind == LoopKind::Loader) else {
            continue;
        };
        let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { continue };
        let target = batch_target(&node.target, &node.iter);
        let turn = turns.turn();
        let whole = keeps_batch(target, store.value_expr) && is_loader(facts, &node.iter);
        let always = facts.is_unconditional_in(&store.at, turns.block) && !leaves(facts, &turns);
        if !whole || !always || !facts.is_carried(store, &turn) || is_cut_short(facts, &node.iter) {
            continue;
        }
        let list = facts.written(store.target);
        if is_joined(facts, list) || carries_no_tensors(facts, &node.iter) {
            continue;
        }
        report
            .add(store, format!("`{list}` holds every batch of the epoch at once"))
            // Whoever writes the loop to keep an epoch in main memory means to; on the GPU it takes the model's room.
            .doubtful_if(store.value_expr.is_name_expr())
            .because(&turns.head(), "a data loader: it makes one batch at a time")
            .because(store.value_expr, "each batch is kept");
    }
}

/// Whether a list is made into one tensor or array afterwards: that is what it was collected for.
fn is_joined(facts: &Facts<'_>, list: &str) -> bool {
    const JOIN: &[&str] = &["cat", "concat", "concatenate", "stack", "vstack", "hstack", "column_stack", "array"];
    let takes = |call: &Call<'_>| call.node.arguments.args.iter().any(|arg| facts.written(arg) == list);
    JOIN.iter().any(|name| facts.calls_named(name).any(takes))
}

/// Whether a loader hands its items on as they are: `collate_fn=lambda items: items`. They are then seldom tensors.
fn carries_no_tensors(facts: &Facts<'_>, iter: &Expr) -> bool {
    let iterated = match iter {
        Expr::Call(call) => return call.arguments.args.first().is_some_and(|inner| carries_no_tensors(facts, inner)),
        other => last_name(other),
    };
    let collates_nothing = |expr: &Expr| match facts.call_at(expr).and_then(|made| made.keyword("collate_fn")) {
        Some(Expr::Lambda(lambda)) => matches!(&*lambda.body, Expr::Name(_) | Expr::Subscript(_)),
        Some(named) => facts.written(named).contains("identity"),
        None => false,
    };
    iterated.is_some_and(|name| facts.given_to(name).any(collates_nothing))
}

/// Whether a call of something else than a list's own methods does the keeping.
fn is_kept_by_helper(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    const OWN: &[&str] = &["append", "appendleft", "add", "insert", "extend", "put", "setdefault", "update"];
    let by_call = facts.calls().iter().find(|call| call.node.range() == store.range);
    store.via.is_some() || by_call.is_some_and(|call| !OWN.contains(&call.name))
}

/// Whether what is gone over is a loader by more than the shape of the loop.
fn is_loader(facts: &Facts<'_>, iter: &Expr) -> bool {
    let named = |expr: &Expr| {
        last_name(expr).is_some_and(|name| {
            facts.binds_of(name).any(|bind| bind.value.kind == Kind::Loader)
                || is_loader_name(&name.to_ascii_lowercase())
        })
    };
    match iter {
        Expr::Call(_) if makes_loader(facts, iter) => true,
        Expr::Call(call) => call.arguments.args.first().is_some_and(|inner| is_loader(facts, inner)),
        other => named(other),
    }
}

/// Whether an expression makes a loader: `DataLoader(dataset)`, `make_loader(dataset)`.
fn makes_loader(facts: &Facts<'_>, expr: &Expr) -> bool {
    facts.call_at(expr).is_some_and(|made| is_known_loader(&made.result))
}

fn is_known_loader(value: &Value) -> bool {
    value.kind == Kind::Loader && !value.has(Flags::GUESSED)
}

/// Whether more than the sound of a name and the shape of a loop says that something is a loader: `train_data` may be a
/// list that was read from a file.
fn is_surely_loader(facts: &Facts<'_>, iter: &Expr) -> bool {
    match iter {
        Expr::Call(call) => {
            makes_loader(facts, iter) || call.arguments.args.first().is_some_and(|inner| is_surely_loader(facts, inner))
        }
        other => last_name(other).is_some_and(|name| {
            let bound = facts.binds_of(name).any(|bind| is_known_loader(&bind.value));
            // `self.trainer.train_dataloader`, `loader`, `val_dl`.
            bound || is_loader_name(&name.to_ascii_lowercase())
        }),
    }
}

/// Whether a loop is left before its end.
fn leaves(facts: &Facts<'_>, turns: &Loop<'_>) -> bool {
    facts.statements_in(turns.block).any(|statement| matches!(statement.node, Stmt::Break(_) | Stmt::Return(_)))
}

/// What stands for the batch in a loop's target: `batch` of `for i, batch in enumerate(loader)`.
fn batch_target<'a>(target: &'a Expr, iter: &Expr) -> &'a Expr {
    let counted = matches!(iter, Expr::Call(call) if last_name(&call.func) == Some("enumerate"));
    match target {
        Expr::Tuple(tuple) if counted && tuple.elts.len() == 2 => &tuple.elts[1],
        other => other,
    }
}

/// `list(loader)[0]` of a loader that comes from elsewhere: whoever takes the first batch so may know that there is only
/// one.
fn may_be_one_batch(facts: &Facts<'_>, call: &Call<'_>, argument: &Expr) -> bool {
    let around = facts.around(call);
    let is_first = matches!(around.first(), Some(Expr::Subscript(node)) if is_number(&node.slice, 0));
    let made_here = || last_name(argument).is_some_and(|name| facts.binds_of(name).next().is_some());
    is_first && !made_here()
}

fn is_cut_short(facts: &Facts<'_>, iterated: &Expr) -> bool {
    let text = facts.written(iterated);
    let plural = last_name(iterated).is_some_and(|name| name.to_ascii_lowercase().ends_with("loaders"));
    plural
        || ["islice", "range(", "take(", "zip(", "select(", "limit", "dataset", ".keys", ".items", ".values"]
            .iter()
            .any(|word| text.contains(word))
}

/// Whether an element is the batch itself, as it came or moved.
fn keeps_batch(target: &Expr, element: &Expr) -> bool {
    match (target, element) {
        (Expr::Name(target), _) => moved_name(element) == Some(target.id.as_str()),
        (Expr::Tuple(targets), Expr::Tuple(items)) => targets.elts.iter().all(|target| {
            items.elts.iter().any(|item| moved_name(item).is_some() && moved_name(item) == last_name(target))
        }),
        _ => false,
    }
}

/// The name of `x`, `x.cuda()` and `x.to(device)`, for a dict or list of tensors part by part.
fn moved_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(node) => Some(node.id.as_str()),
        // `tuple(part.cuda() for part in batch)`
        Expr::Call(call) if matches!(last_name(&call.func), Some("tuple" | "list")) => match &*call.arguments.args {
            [Expr::Generator(node)] => match &node.generators[..] {
                [only] if moved_name(&node.elt).is_some() && moved_name(&node.elt) == last_name(&only.target) => {
                    last_name(&only.iter)
                }
                _ => None,
            },
            _ => None,
        },
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method)
                if matches!(method.attr.as_str(), "cuda" | "to" | "clone") && !goes_to_cpu(call) =>
            {
                moved_name(&method.value)
            }
            _ => None,
        },
        // `{k: v.cuda() for k, v in batch.items()}`, `[part.cuda() for part in batch]`.
        Expr::DictComp(node) => match &node.generators[..] {
            [only] => match &only.iter {
                Expr::Call(call) => match &*call.func {
                    Expr::Attribute(items) if items.attr.as_str() == "items" => moved_name(&items.value),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        },
        Expr::ListComp(node) => match &node.generators[..] {
            [only] if moved_name(&node.elt).is_some() && moved_name(&node.elt) == last_name(&only.target) => {
                last_name(&only.iter)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `x.to("cpu")`: whoever keeps an epoch there means to.
fn goes_to_cpu(call: &crate::python::ExprCall) -> bool {
    call.arguments.args.first().and_then(crate::uses::string_of) == Some("cpu")
}
