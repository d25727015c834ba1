//! `profiler-without-schedule`: every operation of an epoch is recorded.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::analysis::value::BlockId;
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "profiler-without-schedule",
    group: Group::Allocator,
    level: Level::Warning,
    fix: None,
    summary: "The profiler records a whole pass over a data loader.",
    why: "The profiler keeps every operation, with shapes, stacks and allocations as asked for, in host memory until it \
          stops. A pass over a loader has millions of them, and the trace written at the end cannot be opened.",
    cost: "Host memory: hundreds of bytes an operation, several kilobytes with stacks.",
    instead: "`schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)` and `prof.step()` once a batch.",
    when_not: "The loop is left after a few batches.",
    examples: &[
        Example {
            bad: "\
import torch
from torch.profiler import ProfilerActivity, profile

def run(model, train_loader):
    with profile(activities=[ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as prof:
        for x, y in train_loader:
            model(x.cuda()).sum().backward()
    prof.export_chrome_trace('trace.json')
",
            good: "\
import torch
from torch.profiler import ProfilerActivity, profile, schedule

def run(model, train_loader):
    plan = schedule(wait=1, warmup=1, active=3)
    with profile(activities=[ProfilerActivity.CUDA], profile_memory=True, with_stack=True, schedule=plan) as prof:
        for x, y in train_loader:
            model(x.cuda()).sum().backward()
            prof.step()
    prof.export_chrome_trace('trace.json')
",
        },
        Example {
            bad: "\
import torch

def run(model, loader):
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        for epoch in range(3):
            for x, y in loader:
                model(x).sum().backward()
    print(prof.key_averages().table())
",
            good: "\
import torch

def run(model, loader):
    x, y = next(iter(loader))
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        model(x).sum().backward()
    print(prof.key_averages().table())
",
        },
    ],
    silent_on: &[
        "\
import torch

def run(model, loader):
    with torch.profiler.profile(profile_memory=True) as prof:
        for i, (x, y) in enumerate(loader):
            model(x).sum().backward()
            if i == 10:
                break
    print(prof.key_averages().table())
",
        "\
import torch

def run(model, x):
    with torch.profiler.profile(with_stack=True) as prof:
        for _ in range(10):
            model(x).sum().backward()
    print(prof.key_averages().table())
",
        "\
import torch

def run(model, loader, enabled):
    with torch.autograd.profiler.profile(enabled=enabled) as prof:
        for x, y in loader:
            model(x).sum().backward()
    print(prof.key_averages().table())
",
        "\
import itertools
import torch

def run(model, loader):
    with torch.profiler.profile(profile_memory=True) as prof:
        for x, y in itertools.islice(loader, 5):
            model(x).sum().backward()
    print(prof.key_averages().table())
",
    ],
    check,
};

const PROFILERS: &[&str] =
    &["torch.profiler.profile", "torch.autograd.profiler.profile", "torch.profiler.profiler.profile"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for item in facts.withs() {
        let Some(call) = facts.call_at(item.expr) else { continue };
        let profiles = facts.full_name(call).is_some_and(|name| PROFILERS.contains(&name));
        if !profiles || is_limited(call) {
            continue;
        }
        let Some(head) = whole_pass(facts, item.body) else { continue };
        report
            .add(call, "This records every operation of a whole pass over the data: host memory grows with each batch")
            .because(&head, "all batches of this loop are recorded")
            .because(call, "no `schedule` says which of them to record");
    }
}

fn is_limited(call: &Call<'_>) -> bool {
    let off = call.keyword("enabled").is_some() || matches!(call.arg(0), Some(Expr::Name(_) | Expr::Attribute(_)));
    call.keyword("schedule").is_some() || call.has_star() || off
}

/// A loop over a loader inside, which nothing leaves early.
fn whole_pass(facts: &Facts<'_>, body: BlockId) -> Option<TextRange> {
    let (id, block) = facts
        .blocks()
        .find(|(id, block)| matches!(block.kind, BlockKind::Loop(LoopKind::Loader, _)) && facts.is_inside(*id, body))?;
    let BlockKind::Loop(_, Stmt::For(node)) = block.kind else { return None };
    let sliced = facts.source.slice(node.iter.range());
    let cut = ["islice", "range(", "[:"].iter().any(|way| sliced.contains(way));
    let mut statements = facts.statements().iter();
    let left = statements.any(|statement| {
        matches!(statement.node, Stmt::Break(_) | Stmt::Return(_)) && facts.is_inside(statement.block, id)
    });
    (!cut && !left).then(|| TextRange::new(node.range().start(), node.iter.range().end()))
}
