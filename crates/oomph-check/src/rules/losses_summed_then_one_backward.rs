//! `losses-summed-then-one-backward`: many forward passes wait for one backward pass.

use crate::analysis::events::{BlockKind, Call, Store, StoreKind};
use crate::analysis::value::{BlockId, Flags, Value};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::finding::Level;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "losses-summed-then-one-backward",
    group: Group::Graph,
    level: Level::Warning,
    fix: None,
    summary: "The losses of several forward passes are summed, then back-propagated at once.",
    why: "No graph can be freed before the one backward pass, so the activations of all forward passes are alive at the \
          same time.",
    cost: "As many times the saved activations as there are passes, where one would do.",
    instead: "Call `(loss / n).backward()` inside the loop: gradients add up by themselves.",
    when_not: "The loss couples the passes (contrastive losses, sequences), or they share one forward pass.",
    examples: &[
        Example {
            bad: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
loss = 0
for x, y in micro_batches:
    loss = loss + criterion(net(x), y)
loss.backward()
",
            good: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in micro_batches:
    loss = criterion(net(x), y) / len(micro_batches)
    loss.backward()
",
        },
        Example {
            bad: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
loss = sum(criterion(net(x), y) for x, y in micro_batches)
loss.backward()
",
            good: "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in micro_batches:
    criterion(net(x), y).backward()
",
        },
    ],
    silent_on: &[
        "\
import torch
import torch.nn.functional as F

def update(features, parts, heads, optimizer):
    loss = 0
    for j, (part, y) in enumerate(parts):
        loss += F.cross_entropy(heads[j](features[part].detach()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
",
        "\
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    out = net(x)
    loss = 0
    for k in range(4):
        loss += criterion(out[k], y[k])
    loss.backward()
",
        "\
import torch
from torch import nn

cell = nn.LSTMCell(8, 8)
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    h = None
    loss = 0
    for t in range(10):
        h = cell(x[t], h)
        loss += criterion(h[0], y[t])
    loss.backward()
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let sums = matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind | StoreKind::Append);
        let loss = store.value.keeps_graph() && store.value.has(Flags::LOSS);
        if !sums || !loss || facts.kind_at(&store.at) == FunctionKind::Forward {
            continue;
        }
        let Some(turns) = facts.loops(&store.at).next() else { continue };
        if facts.is_rebound_in(store.target, turns.block, store.at.stmt) {
            continue;
        }
        let Some(backward) = one_backward(facts, store, &turns) else { continue };
        if !passes_are_apart(facts, &store.value, store, turns.range) || is_one_head_a_turn(facts, store, &turns) {
            continue;
        }
        report
            .add(
                store,
                "All these losses wait for one backward pass: the activations of every forward pass are alive at once",
            )
            .because_if(facts.forward_pass(&store.value, &store.at), "a forward pass each turn")
            .because(&turns.head(), "no backward pass in this loop")
            .because(backward, "the one backward pass over all of them");
    }
    let mut seen = Vec::new();
    for backward in facts.effects(Effect::Backward) {
        check_comprehensions(facts, backward, &mut seen, report);
    }
}

/// The backward pass outside the loop over what is summed up in it, if there is none inside.
fn one_backward<'f, 'a>(facts: &'f Facts<'a>, store: &Store<'_>, turns: &Loop<'_>) -> Option<&'f Call<'a>> {
    if facts.effects_in(Effect::Backward, turns.block).next().is_some() {
        return None;
    }
    let mut after = facts.effects_of(Effect::Backward, store.at.function).filter(|call| call.at.order > store.at.order);
    after.find(|call| facts.backward_sources(call).overlap(store.value.sources))
}

/// Whether every forward pass is made in the loop, and none feeds the next.
fn passes_are_apart(facts: &Facts<'_>, value: &Value, store: &Store<'_>, turns: TextRange) -> bool {
    let passes: Vec<TextRange> = facts.forward_passes(value, &store.at).collect();
    let inside = !passes.is_empty() && passes.iter().all(|pass| turns.contains_range(*pass));
    let coupled = facts.calls().iter().any(|call| {
        passes.contains(&call.node.range()) && call.values().any(|input| input.sources.sites().overlap(call.site))
    });
    inside && !coupled
}

/// `for i, head in enumerate(heads): loss += criterion(head(features), y[i])`: parts of one model, each run once.
fn is_one_head_a_turn(facts: &Facts<'_>, store: &Store<'_>, turns: &Loop<'_>) -> bool {
    let passes: Vec<TextRange> = facts.forward_passes(&store.value, &store.at).collect();
    facts.calls().iter().any(|call| {
        let picked = matches!(&*call.node.func, Expr::Subscript(_));
        passes.contains(&call.node.range()) && picked && facts.varies_in(&call.node.func, turns.block)
    })
}

/// `sum(criterion(net(x), y) for x, y in parts)`, then `backward`.
fn check_comprehensions(facts: &Facts<'_>, backward: &Call<'_>, seen: &mut Vec<BlockId>, report: &mut Report) {
    let sources = facts.backward_sources(backward);
    let inside = |call: &&Call<'_>| call.at.function == backward.at.function && call.at.order < backward.at.order;
    for loss in facts.calls().iter().filter(inside) {
        let in_comprehension =
            facts.loops(&loss.at).next().filter(|found| matches!(found.node, BlockKind::Comprehension(..)));
        let Some(turns) = in_comprehension.filter(|turns| !seen.contains(&turns.block)) else { continue };
        let BlockKind::Comprehension(_, whole) = turns.node else { continue };
        let is_loss = loss.result.keeps_graph() && loss.result.has(Flags::LOSS) && loss.result.sources.overlap(sources);
        let passes: Vec<TextRange> = facts.forward_passes(&loss.result, &loss.at).collect();
        let own = !passes.is_empty() && passes.iter().all(|pass| whole.range().contains_range(*pass));
        if !is_loss || !own || facts.is_inside(backward.at.block, turns.block) {
            continue;
        }
        seen.push(turns.block);
        report
            .add(
                whole,
                "All these losses wait for one backward pass: the activations of every forward pass are alive at once",
            )
            .because_if(passes.first().copied(), "a forward pass each turn")
            .because(backward, "the one backward pass over all of them");
    }
}
