//! `loss-accumulated-with-graph`: a running sum of losses keeps every graph.

use crate::analysis::events::{Callee, LoopKind, Root, Store, StoreKind};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::finding::{Level, Safety};
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "loss-accumulated-with-graph",
    group: Group::Graph,
    level: Level::Error,
    fix: Some(Safety::Unsafe),
    summary: "A running sum adds up losses that still have their graph.",
    why: "The sum refers to every loss, every loss to its graph, and a graph that no `backward()` has freed to all \
          activations of its forward pass.",
    cost: "All saved activations of every batch so far where no `backward()` runs; one small block and the graph's \
           nodes a batch where one does.",
    instead: "Add `loss.item()`, or `loss.detach()` to avoid a synchronisation with the device.",
    when_not: "The sum itself is back-propagated: see `losses-summed-then-one-backward`.",
    examples: &[
        Example {
            bad: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
for x, y in val_loader:
    total += criterion(net(x), y)
",
            good: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
with torch.no_grad():
    for x, y in val_loader:
        total += criterion(net(x), y)
",
        },
        Example {
            bad: "\
import torch

def train(model, train_loader, optimizer, criterion):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss
    return running / len(train_loader)
",
            good: "\
import torch

def train(model, train_loader, optimizer, criterion):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(train_loader)
",
        },
    ],
    silent_on: &[
        "\
import torch

def train(model, loader, optimizer):
    total = 0
    for x, y in loader:
        out = model(x)
        loss = torch.nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() if isinstance(loss, torch.Tensor) else loss
    return total
",
        "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in train_loader:
    loss = 0
    for head in range(3):
        loss += criterion(net(x), y)
    loss.backward()
",
        "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
for x, y in train_loader:
    loss = criterion(net(x), y)
    loss.backward()
    loss = loss.item()
    total += loss
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        if !matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind) || !store.value.keeps_graph() {
            continue;
        }
        let turns = facts.batch_loop(&store.at);
        let backward_inside = match &turns {
            Some(batches) if !outlives(facts, store, batches) => continue,
            Some(batches) => facts.effects_in(Effect::Backward, batches.block).next().map(Ranged::range),
            None if !is_lightning_sum(facts, store) => continue,
            // The framework runs the backward pass.
            None => facts.function(&store.at).map(|function| function.node.name.range()),
        };
        let frees = backward_inside.is_some();
        if !frees && (facts.backward_of(&store.value, &store.at).is_some() || may_be_used_later(facts, store)) {
            continue;
        }
        let target = facts.source.slice(store.target.range());
        let message = if frees {
            format!("`{target}` keeps the graph of every loss added to it: a small block and the nodes of each batch")
        } else {
            format!("`{target}` keeps the graph of every loss added to it: the activations of every batch stay alive")
        };
        let finding = report.add(store, message);
        finding
            .level(if frees { Level::Warning } else { Level::Error })
            .because_if(facts.forward_pass(&store.value, &store.at), "this forward pass makes the graph")
            .because_if(turns.as_ref().map(Loop::head), "once a batch, and the sum outlives it")
            .because_if(backward_inside, "the backward pass frees activations, but not the nodes of the graph");
        if store.kind == StoreKind::AugAssign {
            finding.unsafe_fix("Detach what is added", facts.call_method_on(store.value_expr, "detach"));
        }
    }
}

/// Whether the sum is carried from turn to turn, for its own sake.
fn outlives(facts: &Facts<'_>, store: &Store<'_>, batches: &Loop<'_>) -> bool {
    !facts.is_rebound_in(store.target, batches.block, store.at.stmt) && !is_back_propagated(facts, store)
}

/// Whether a Lightning step, which runs once a batch, adds to an attribute.
fn is_lightning_sum(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    facts.kind_at(&store.at) == FunctionKind::TrainingStep && matches!(store.root, Root::SelfAttribute(_))
}

/// Whether `backward` is called on the sum itself.
fn is_back_propagated(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let target = facts.source.slice(store.target.range());
    facts.effects_of(Effect::Backward, store.at.function).any(|call| {
        let on = call.receiver_expr().into_iter().chain(call.node.arguments.args.iter());
        on.into_iter().any(|expr| facts.source.slice(expr.range()).contains(target))
    })
}

/// Whether the sum leaves the function with its graph, from a function that does not look like evaluation.
fn may_be_used_later(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let returned = facts.returns().iter().any(|ret| {
        ret.at.function == store.at.function
            && ret.value.holds_graph()
            && ret.value.sources.overlap(store.value.sources)
    });
    // Nobody back-propagates a sum over a whole loader, unless a caller is seen to.
    let over_loader = facts.batch_loop(&store.at).is_some_and(|batches| batches.kind == LoopKind::Loader);
    let called_to_train = facts.calls().iter().any(|call| {
        matches!(call.callee, Callee::Project(function) if Some(function.index) == store.at.function)
            && facts.effects_of(Effect::Backward, call.at.function).next().is_some()
    });
    returned && !facts.looks_like_evaluation(&store.at) && (!over_loader || called_to_train)
}
