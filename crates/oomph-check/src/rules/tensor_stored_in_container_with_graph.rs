//! `tensor-stored-in-container-with-graph`: a list collects outputs with their graphs.

use crate::analysis::events::{Call, Store, StoreKind};
use crate::analysis::value::Kind;
use crate::facts::{Effect, Facts, FunctionKind};
use crate::finding::{Level, Safety};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "tensor-stored-in-container-with-graph",
    group: Group::Graph,
    level: Level::Error,
    fix: Some(Safety::Unsafe),
    summary: "A list or dict collects tensors that still have their graph.",
    why: "Each tensor refers to its graph, and a graph that no `backward()` has freed to all activations of its \
          forward pass.",
    cost: "All saved activations of every batch so far where no `backward()` runs; every stored tensor always.",
    instead: "Store `x.detach().cpu()`, or the number itself.",
    when_not: "What is collected is back-propagated later as a whole.",
    examples: &[
        Example {
            bad: "\
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
features = []
for images, _ in loader:
    features.append(model(images.cuda()))
",
            good: "\
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
features = []
for images, _ in loader:
    features.append(model(images.cuda()).detach().cpu())
",
        },
        Example {
            bad: "\
import torch

def fit(model, loader, optimizer, criterion):
    history = {'loss': []}
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history['loss'].append(loss)
    return history, model.state_dict()
",
            good: "\
import torch

def fit(model, loader, optimizer, criterion):
    history = {'loss': []}
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history['loss'].append(loss.item())
    return history, model.state_dict()
",
        },
    ],
    silent_on: &[
        "\
import torch
from torch import nn

net = nn.Linear(8, 2)
for x, y in loader:
    parts = []
    for chunk in x.chunk(4):
        parts.append(net(chunk))
    loss = torch.cat(parts).sum()
    loss.backward()
",
        "\
import torch
from torch import nn

net = nn.Linear(8, 2)
losses = []
for x, y in loader:
    losses.append((net(x) - y).pow(2).mean())
torch.stack(losses).mean().backward()
",
        "\
import torch
from collections import deque
from torch import nn

net = nn.Linear(8, 2)
recent = deque(maxlen=10)
for x, y in loader:
    recent.append(net(x))
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        if !grows(facts, store) || !store.value.holds_graph() || facts.kind_at(&store.at) == FunctionKind::Forward {
            continue;
        }
        let Some(batches) = facts.batch_loop(&store.at) else { continue };
        let kept =
            facts.outlives(&store.holder, &batches) && !facts.is_emptied_in(store.target, batches.block, store.at.stmt);
        if !kept {
            continue;
        }
        let backward = facts.effects_in(Effect::Backward, batches.block).next();
        let later = |call: &Call<'_>| {
            !facts.is_inside(call.at.block, batches.block)
                && facts.backward_sources(call).overlap(store.value.sources.sites())
        };
        if facts.effects_of(Effect::Backward, store.at.function).any(later) {
            continue;
        }
        let target = facts.source.slice(store.target.range());
        let message = if backward.is_some() {
            format!("`{target}` collects tensors with their graph: one tensor and its graph's nodes a batch")
        } else {
            format!("`{target}` collects tensors with their graph: the activations of every batch stay alive")
        };
        report
            .add(store, message)
            .level(if backward.is_some() { Level::Warning } else { Level::Error })
            .because_if(facts.forward_pass(&store.value, &store.at), "this forward pass makes the graph")
            .because(&batches.head(), "once a batch, and the holder outlives it")
            .because_if(
                backward.map(Ranged::range),
                "the backward pass frees activations, but not the nodes of the graph",
            )
            .unsafe_fix("Detach what is stored", detached(facts, store));
    }
}

/// Whether each turn adds something: what has the same key each time is overwritten.
fn grows(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let growing = store.holder.is_growing_holder() || store.via.is_some();
    match store.kind {
        StoreKind::Append => growing || store.holder.kind == Kind::Unknown,
        StoreKind::Extend => growing || store.holder.kind == Kind::Tuple,
        StoreKind::Item => {
            let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) else {
                return false;
            };
            let keys = assign.targets.iter().filter_map(Expr::as_subscript_expr).map(|target| &*target.slice);
            let batches = facts.batch_loop(&store.at);
            let varies = |key: &Expr| batches.is_some_and(|batches| facts.varies_in(key, batches.block));
            matches!(store.holder.kind, Kind::Dict | Kind::List) && keys.into_iter().any(varies)
        }
        _ => false,
    }
}

fn detached(facts: &Facts<'_>, store: &Store<'_>) -> Vec<crate::finding::Edit> {
    let single =
        store.value.keeps_graph() && matches!(store.value_expr, Expr::Name(_) | Expr::Call(_) | Expr::Attribute(_));
    if single && store.kind == StoreKind::Append {
        return facts.call_method_on(store.value_expr, "detach");
    }
    Vec::new()
}
