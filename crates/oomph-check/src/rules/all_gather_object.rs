//! `all-gather-object`: every rank gets everybody's predictions.

use crate::analysis::events::{Call, LoopKind};
use crate::analysis::value::{Device, Flags, Kind, Value};
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "all-gather-object",
    group: Group::Distributed,
    level: Level::Warning,
    fix: None,
    summary: "Outputs of a model are gathered whole to every rank.",
    why: "Gathering gives each rank a copy of what all ranks have. As objects, tensors are pickled through a byte tensor \
          on the GPU as well, and come back on the device they came from: everybody's on everybody's.",
    cost: "The number of ranks times the output on every GPU, twice while it is unpickled.",
    instead: "Reduce on each rank and gather the few numbers that are left (`dist.all_reduce`), or gather to the CPU of one \
              rank.",
    when_not: "A contrastive loss needs the other ranks' outputs.",
    examples: &[
        Example {
            bad: "\
import torch
import torch.distributed as dist

@torch.no_grad()
def evaluate(model, loader, world):
    seen = []
    for x, _ in loader:
        logits = model(x.cuda())
        parts = [torch.zeros_like(logits) for _ in range(world)]
        dist.all_gather(parts, logits)
        seen.append(torch.cat(parts).cpu())
    return seen
",
            good: "\
import torch
import torch.distributed as dist

@torch.no_grad()
def evaluate(model, loader, world):
    right = torch.zeros((), device='cuda')
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum()
    dist.all_reduce(right)
    return right.item()
",
        },
        Example {
            bad: "\
import torch
import torch.distributed as dist

@torch.no_grad()
def collect(model, loader, world):
    outputs = []
    for x in loader:
        outputs.append(model(x.cuda()))
    everybody = [None] * world
    dist.all_gather_object(everybody, outputs)
    return everybody
",
            good: "\
import torch
import torch.distributed as dist

@torch.no_grad()
def collect(model, loader, world):
    labels = []
    for x in loader:
        labels.extend(model(x.cuda()).argmax(1).tolist())
    everybody = [None] * world
    dist.all_gather_object(everybody, labels)
    return everybody
",
        },
        Example {
            bad: "\
import torch.distributed as dist

def merge(features, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, features.cuda())
    return everybody
",
            good: "\
import torch.distributed as dist

def merge(features, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, features.cpu())
    return everybody
",
        },
    ],
    silent_on: &[
        "\
import torch.distributed as dist

def merge(loss, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, loss.cuda().mean().item())
    return everybody
",
        "\
import torch.distributed as dist

def merge(scores, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, {'loss': 0.5, 'count': 12})
    return everybody
",
        "\
import torch
import torch.distributed as dist
from torch import nn

net = nn.Linear(8, 8)

def contrast(x, world):
    z = net(x)
    parts = [torch.zeros_like(z) for _ in range(world)]
    dist.all_gather(parts, z)
    return z @ torch.cat(parts).T
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_under("torch.distributed.") {
        let Some(value) = call.args.get(1) else { continue };
        let gathered = match call.name {
            "all_gather_object" => {
                let heavy = |value: &Value| is_output(value) || is_on_gpu(value);
                heavy(value) || value.parts.iter().any(|parts| parts.iter().any(heavy))
            }
            "all_gather" | "all_gather_into_tensor" => is_output(value) && in_evaluation(facts, call),
            _ => false,
        };
        if !gathered {
            continue;
        }
        let name = call.arg(1).map_or("the output", |expr| facts.written(expr));
        // What a function of another file made has no place in this one.
        let made_here = Some(value.made_at).filter(|range| !range.is_empty());
        report.add(call, format!("Every GPU gets every rank's `{name}`: one copy a rank")).because(
            &made_here.unwrap_or_else(|| call.arg(1).map_or(call.range(), Ranged::range)),
            if is_output(value) { "the output of a model" } else { "tensors on the GPU" },
        );
    }
}

/// Whether it is a tensor on the GPU, and more than one number.
fn is_on_gpu(value: &Value) -> bool {
    let tensor = matches!(value.kind, Kind::Tensor | Kind::Unknown);
    tensor && value.device == Device::Cuda && !value.has(Flags::SCALAR) && !value.has(Flags::LOSS)
}

/// Whether it is what a model gave, as it came, with no graph: nothing is trained on it.
fn is_output(value: &Value) -> bool {
    value.is_tensor() && value.has(Flags::RAW.with(Flags::NO_GRAD)) && !value.has(Flags::DATA)
}

fn in_evaluation(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    call.at.grad.is_off() && facts.loops(&call.at).any(|turns| turns.kind == LoopKind::Loader)
}
