//! `pack-hook-keeps-undetached-tensor`: a pack hook that hands the tensor itself back.

use crate::analysis::events::{BlockKind, Call, Callee};
use crate::analysis::value::FunctionId;
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "pack-hook-keeps-undetached-tensor",
    group: Group::Graph,
    level: Level::Error,
    fix: None,
    summary: "A pack hook of `saved_tensors_hooks` keeps the very tensor it was given.",
    why: "What the pack hook returns is kept by the node of the graph. A tensor that the node itself made refers to that \
          node through `grad_fn`: node, packed object and tensor form a cycle that counting references never frees.",
    cost: "Every saved activation of a graph that no backward pass goes over, for ever or until the cycle collector runs: \
           5.7 times those of one forward pass where 2 were expected, when measured over six steps.",
    instead: "Keep `t.detach()`, a copy (`t.cpu()`, `t.to(torch.half)`) or something outside Python's memory.",
    when_not: "Only parameters are handed back as they are: a leaf has no `grad_fn`.",
    examples: &[
        Example {
            bad: "\
import torch

class Packed:
    def __init__(self, tensor):
        self.tensor = tensor

def step(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: Packed(t), lambda p: p.tensor):
        return model(x).sum()
",
            good: "\
import torch

class Packed:
    def __init__(self, tensor):
        self.tensor = tensor

def step(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: Packed(t.detach()), lambda p: p.tensor):
        return model(x).sum()
",
        },
        Example {
            bad: "\
import torch
from torch.autograd.graph import saved_tensors_hooks

def pack(tensor):
    if tensor.numel() < 1024:
        return (None, tensor)
    return (tensor.device, tensor.cpu())

def unpack(packed):
    device, tensor = packed
    return tensor if device is None else tensor.to(device)

def forward(net, batch):
    with saved_tensors_hooks(pack, unpack):
        return net(batch)
",
            good: "\
import torch
from torch.autograd.graph import saved_tensors_hooks

def pack(tensor):
    if tensor.numel() < 1024:
        return (None, tensor.detach())
    return (tensor.device, tensor.cpu())

def unpack(packed):
    device, tensor = packed
    return tensor if device is None else tensor.to(device)

def forward(net, batch):
    with saved_tensors_hooks(pack, unpack):
        return net(batch)
",
        },
    ],
    silent_on: &[
        "\
import torch

def offloaded(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.device, t.cpu()), lambda p: p[1].to(p[0])):
        return model(x)
",
        "\
import torch

def pack(t):
    if isinstance(t, torch.nn.Parameter):
        return t
    return t.detach()

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
",
        "\
import torch, tempfile

def pack(t):
    name = tempfile.mktemp()
    torch.save(t, name)
    return name

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.load):
        return model(x)
",
        "\
import torch

def pack(t):
    t = t.detach()
    return t

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in registrations(facts) {
        let Some(pack) = call.arg(0).or_else(|| call.keyword("pack_hook")) else { continue };
        let value = call.args.first().or_else(|| call.keyword_value("pack_hook"));
        let Some(callback) = value.and_then(|value| facts.callback(pack, value)) else { continue };
        let Some(tensor) = callback.parameters.first() else { continue };
        let Some(kept) = callback.results.iter().find_map(|result| kept_in(facts, result, tensor)) else { continue };
        if is_rebound(facts, kept, tensor) || is_for_leaves(facts, kept) {
            continue;
        }
        report
            .add(
                &kept.range(),
                format!("The pack hook keeps `{tensor}` itself: tensor and graph hold each other, and saved activations pile up"),
            )
            .because(kept, format!("`{tensor}` goes back undetached, with its `grad_fn`"))
            .because(call, "the graph keeps what this hook returns");
    }
}

/// Calls that install a pack hook, directly or from a subclass.
fn registrations<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Call<'a>> + use<'f, 'a> {
    let direct = ["torch.autograd.graph.saved_tensors_hooks", "torch.autograd.graph.disable_saved_tensors_hooks"];
    let from_subclass = facts.calls_named("__init__").filter(|call| {
        let class = facts.function(&call.at).and_then(|function| function.class);
        let bases = class.map(|index| &facts.outline().classes[index as usize].bases);
        bases.is_some_and(|bases| bases.iter().any(|base| base.ends_with("saved_tensors_hooks")))
    });
    facts.calls_to(direct[0]).chain(from_subclass).chain(facts.calls_named("register_hooks"))
}

/// The place in a result where the tensor itself is kept: bare, in a tuple, list or dict, or in an object made here.
fn kept_in<'a>(facts: &Facts<'a>, result: &'a Expr, tensor: &str) -> Option<&'a Expr> {
    let inside = |items: &'a [Expr]| items.iter().find_map(|item| kept_in(facts, item, tensor));
    match result {
        Expr::Name(name) => (name.id.as_str() == tensor).then_some(result),
        Expr::Tuple(node) => inside(&node.elts),
        Expr::List(node) => inside(&node.elts),
        Expr::Dict(node) => node.items.iter().find_map(|item| kept_in(facts, &item.value, tensor)),
        Expr::If(node) => kept_in(facts, &node.body, tensor).or_else(|| kept_in(facts, &node.orelse, tensor)),
        Expr::Call(node) => {
            let call = facts.call_at(result)?;
            let Callee::Project(id) = call.callee else { return None };
            let index = node.arguments.args.iter().position(|arg| kept_in(facts, arg, tensor).is_some())?;
            keeps_argument(facts, id, index).then(|| &node.arguments.args[index])
        }
        _ => None,
    }
}

/// Whether a constructor keeps one of its arguments as it is.
fn keeps_argument(facts: &Facts<'_>, id: FunctionId, argument: usize) -> bool {
    let is_init = facts.function_def(id).node.name.as_str() == "__init__";
    is_init && facts.summary(id).is_some_and(|summary| summary.keeps.iter().any(|kept| kept.parameter == argument + 1))
}

/// Whether the tensor's name means something else by then: `t = t.detach()`.
fn is_rebound(facts: &Facts<'_>, kept: &Expr, tensor: &str) -> bool {
    facts.binds_of(tensor).any(|bind| {
        let same = facts
            .returns()
            .iter()
            .any(|found| found.at.function == bind.at.function && found.expr.range().contains_range(kept.range()));
        same && bind.at.function.is_some()
    })
}

/// Whether only leaves come this way: `isinstance(t, Parameter)`, `t.is_leaf`, `not t.requires_grad`.
fn is_for_leaves(facts: &Facts<'_>, kept: &Expr) -> bool {
    let Some(found) = facts.returns().iter().find(|found| found.expr.range().contains_range(kept.range())) else {
        return false;
    };
    facts.blocks_around(&found.at).any(|(_, block)| {
        let (BlockKind::If(Some(test)) | BlockKind::Else(test)) = block.kind else { return false };
        let condition = facts.source.slice(test.range());
        ["Parameter", "is_leaf", "requires_grad", "grad_fn", "param"].iter().any(|word| condition.contains(word))
    })
}
