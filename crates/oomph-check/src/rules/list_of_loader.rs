//! `list-of-loader`: a whole epoch is held at once.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::ast::Comprehension;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "list-of-loader",
    group: Group::Data,
    level: Level::Error,
    fix: None,
    summary: "A list is made of all batches of a data loader.",
    why: "A loader makes one batch at a time so that only a few exist at once. A list of it holds every batch of the \
          epoch, and on the GPU when each is moved there.",
    cost: "The whole dataset as tensors: 50,000 images of 3 x 224 x 224 floats are 30 GB.",
    instead: "Iterate over the loader and move one batch at a time; for a few batches use `itertools.islice`.",
    when_not: "The dataset is known to be tiny.",
    examples: &[
        Example {
            bad: "\
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64)
batches = list(loader)
",
            good: "\
import torch
from itertools import islice
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64)
batches = list(islice(loader, 4))
",
        },
        Example {
            bad: "\
import torch

def preload(train_loader, device):
    return [(x.to(device), y.to(device)) for x, y in train_loader]
",
            good: "\
import torch

def preload(train_loader, device):
    for x, y in train_loader:
        yield x.to(device), y.to(device)
",
        },
    ],
    silent_on: &[
        "\
import torch

labels = [y for _, y in train_loader]
sizes = [len(batch) for batch in train_loader]
",
        "\
import torch

for batch in train_loader:
    images, targets = list(batch)
    batch = tuple(part.cuda() for part in batch)
",
        "\
import torch

few = [next(iter(train_loader)) for _ in range(4)]
loaders = list(train_loaders)
",
        "\
import torch

first = [batch for index, batch in zip(range(10), train_loader)]
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in ["list", "tuple", "sorted"].iter().flat_map(|name| facts.calls_to(name)) {
        let (Some(argument), 1) = (call.arg(0), call.args.len()) else { continue };
        if !facts.goes_over_loader(argument, call) || is_cut_short(facts, argument) || is_shown(facts, call) {
            continue;
        }
        let text = facts.written(argument);
        report
            .add(call, format!("`{}({text})` holds every batch of the epoch at once", call.name))
            .because(argument, "a data loader: it makes one batch at a time");
    }
    for (_, block) in facts.blocks() {
        let BlockKind::Comprehension(LoopKind::Loader, whole) = block.kind else { continue };
        let (generator, element) = match whole {
            Expr::ListComp(node) if node.generators.len() == 1 => (&node.generators[0], &node.elt),
            _ => continue,
        };
        if !keeps_batch(&generator.target, element) || is_cut_short(facts, &generator.iter) || !generator.ifs.is_empty()
        {
            continue;
        }
        if is_plural(generator) {
            continue;
        }
        report
            .add(whole, "This list holds every batch of the epoch at once")
            .because(&generator.iter, "a data loader: it makes one batch at a time")
            .because(&**element, "each batch is kept");
    }
}

/// Whether the list is all of a statement: a look at a toy loader in a notebook.
fn is_shown(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts
        .statement(call.at.stmt)
        .is_some_and(|found| matches!(found.node, Stmt::Expr(shown) if shown.value.range() == call.node.range()))
}

fn is_cut_short(facts: &Facts<'_>, iterated: &Expr) -> bool {
    let text = facts.written(iterated);
    let plural = last_name(iterated).is_some_and(|name| name.to_ascii_lowercase().ends_with("loaders"));
    plural
        || ["islice", "range(", "take(", "zip(", "select(", "limit", "dataset", ".keys", ".items", ".values"]
            .iter()
            .any(|word| text.contains(word))
}

fn is_plural(generator: &Comprehension) -> bool {
    last_name(&generator.target).is_some_and(|name| name.to_ascii_lowercase().contains("loader"))
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

/// The name of `x`, `x.cuda()` and `x.to(device)`.
fn moved_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(node) => Some(node.id.as_str()),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "cuda" | "to" | "clone") => {
                moved_name(&method.value)
            }
            _ => None,
        },
        _ => None,
    }
}
