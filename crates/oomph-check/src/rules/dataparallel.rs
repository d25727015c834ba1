//! `dataparallel`: one process feeds all cards and gathers on the first.

use crate::analysis::events::{At, Call, Callee};
use crate::analysis::value::{Flags, Kind};
use crate::facts::{Effect, Facts};
use crate::finding::Level;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{Use, last_name, string_of, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "dataparallel",
    group: Group::Distributed,
    level: Level::Warning,
    fix: None,
    summary: "A model trains under `nn.DataParallel`.",
    why: "Every step copies the model to all GPUs, and gathers outputs, loss and gradients on GPU 0. That card is full \
          while the others have room, and it decides the largest batch.",
    cost: "All outputs of all cards, the loss and the gradients of every replica on GPU 0, on top of its own share.",
    instead: "`DistributedDataParallel` with one process a GPU (`torchrun`), which needs the same memory on all of them.",
    when_not: "A quick evaluation on one machine, or a single device.",
    examples: &[
        Example {
            bad: "\
import torch
from torch import nn

def fit(net, loader, criterion):
    net = nn.DataParallel(net).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
",
            good: "\
import torch
from torch.nn.parallel import DistributedDataParallel

def fit(net, loader, criterion, rank):
    torch.cuda.set_device(rank)
    net = DistributedDataParallel(net.cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
",
        },
        Example {
            bad: "\
import torch

class Trainer:
    def __init__(self, model, gpus):
        self.model = torch.nn.DataParallel(model, device_ids=gpus).to('cuda')
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).mean().backward()
        self.optimizer.step()
",
            good: "\
import torch

class Trainer:
    def __init__(self, model, rank):
        torch.cuda.set_device(rank)
        self.model = torch.nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[rank])
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).mean().backward()
        self.optimizer.step()
",
        },
    ],
    silent_on: &[
        "\
import torch

def fit(model, model_ref, loader, optimizer):
    model_ref = torch.nn.DataParallel(model_ref)
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    return masks(model_ref)
",
        "\
import torch

class Trainer:
    def __init__(self, model, gpus):
        self.optimizer = torch.optim.Adam(model.parameters())
        self.optimizer = torch.nn.DataParallel(self.optimizer, device_ids=gpus)

    def step(self, model, batch):
        self.optimizer.module.zero_grad()
        model(batch).mean().backward()
        self.optimizer.module.step()
",
        "\
import torch
from nets import Joint, Single

def build(tasks):
    parts = {}
    for task in tasks:
        model = torch.nn.DataParallel(Single(task))
        model.load_state_dict(torch.load(task, map_location='cpu'))
        parts[task] = model.module.backbone
    model = Joint(parts)
    return model

def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
",
        "\
import torch

def fit_head(model, head, loader, optimizer, criterion):
    model.encoder = torch.nn.DataParallel(model.encoder)
    for x, y in loader:
        with torch.no_grad():
            features = model.encoder(x.cuda())
        loss = criterion(head(features), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
",
        "\
import torch

class Runner:
    def fit(self, model, loader, optimizer):
        for x, y in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

    def sample(self, model, path):
        model.load_state_dict(torch.load(path, map_location='cpu'))
        model = torch.nn.DataParallel(model)
        model.eval()
        return draw(model)
",
        "\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

def validate(model, loader):
    model = torch.nn.DataParallel(model)
    with torch.no_grad():
        for x, y in loader:
            report(model(x), y)
",
        "\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

model = Net()
train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
model = torch.nn.DataParallel(model)
evaluate(model, test_loader)
",
        "\
import torch
from torch import nn

def evaluate(net, loader):
    net = nn.DataParallel(net).cuda().eval()
    with torch.no_grad():
        return [net(x).argmax(1).cpu() for x in loader]
",
        "\
import torch
from torch import nn

def save(net, optimizer, loss):
    loss.backward()
    optimizer.step()
    if isinstance(net, nn.DataParallel):
        net = net.module
    torch.save(net.state_dict(), 'net.pt')
",
        "\
import torch
from torch.nn import DataParallel
from torch.nn.parallel import DistributedDataParallel

def wrap(net, distributed, loss, optimizer):
    net = DistributedDataParallel(net) if distributed else DataParallel(net)
    loss.backward()
    optimizer.step()
    return net
",
        "\
import torch
from torch import nn

def fit(net, x, optimizer):
    net = nn.DataParallel(net, device_ids=[0])
    net(x).sum().backward()
    optimizer.step()
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    // A program that offers both ways leaves the choice to its user.
    if facts.is_test_file() || facts.source.text.contains("DistributedDataParallel") {
        return;
    }
    for call in ["torch.nn.DataParallel", "torch.nn.parallel.DataParallel"].iter().flat_map(|name| facts.calls_to(name))
    {
        if call.args.is_empty() && call.keywords.is_empty() || is_single(call) {
            continue;
        }
        if is_no_model(facts, call) || only_loads(facts, call) {
            continue;
        }
        if evaluates(facts, call) || only_runs_without_grad(facts, call) {
            continue;
        }
        let Some(training) = trains(facts, call) else { continue };
        let model = call.arg(0).map_or("the model", |model| facts.written(model));
        // A teacher runs beside what is trained: it has no gradients to gather.
        let beside = ["teacher", "vgg", "extractor", "perceptual", "lpips"];
        let is_part = |word: &str| matches!(word, "ref" | "reference" | "ema" | "criterion" | "loss" | "losses");
        if beside.iter().any(|word| model.contains(word))
            || model.split(|c: char| !c.is_alphanumeric()).any(is_part)
            || call.args.first().is_some_and(|value| value.has(Flags::FROZEN))
        {
            continue;
        }
        let model = if model.contains('\n') || model.len() > 40 { "model" } else { model };
        report
            .add(
                call,
                format!("The first GPU holds the outputs, the loss and all gradients of `{model}`: it fills up first"),
            )
            .level(if is_single_unless_told(facts, call) { Level::Info } else { Level::Warning })
            .because(call, "`DataParallel` gathers everything on its first device")
            .because(training, "the model is trained");
    }
}

/// Whether what is wrapped is an optimizer or a scheduler: it has no outputs to gather.
fn is_no_model(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let of_kind = wrapping.args.first().is_some_and(|value| matches!(value.kind, Kind::Optimizer | Kind::Scheduler));
    let name = wrapping.arg(0).map_or("", |model| facts.written(model)).to_ascii_lowercase();
    of_kind || ["optimizer", "scheduler"].iter().any(|word| name.ends_with(word))
}

/// Whether the wrapper only serves names of weights that begin with `module.`: until its name is bound anew, weights are
/// loaded into it and its parts taken out.
fn only_loads<'a>(facts: &Facts<'a>, wrapping: &Call<'a>) -> bool {
    let Some(name) = facts.bound_name(wrapping) else { return false };
    let end = wrapping.node.end();
    let own = facts.binds_of(name).filter(|bind| bind.at.function == wrapping.at.function);
    let next = own.filter(|bind| bind.target.start() >= end).map(|bind| bind.target.start()).min();
    // `model = model.module`: the right-hand side is read before the name is bound.
    let rebinding =
        |found: &Use<'_>| found.stmt.start() <= next.unwrap_or(end) && found.stmt.end() > next.unwrap_or(end);
    let uses = uses_in(facts.body_around(&wrapping.at), name);
    let own = |found: &&Use<'_>| {
        found.name.start() >= end && (next.is_none_or(|next| found.name.start() < next) || rebinding(found))
    };
    let attribute = |found: &Use<'a>| match found.around.first() {
        Some(Expr::Attribute(part)) => Some(part.attr.as_str()),
        _ => None,
    };
    let parts: Vec<Option<&str>> = uses.iter().filter(own).map(attribute).collect();
    let harmless = ["load_state_dict", "module", "eval", "to", "cuda"];
    parts.contains(&Some("module")) && parts.iter().all(|part| part.is_some_and(|name| harmless.contains(&name)))
}

/// Whether the model is wrapped in a function that only evaluates: no loss and no gradients to gather.
fn evaluates(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let name = facts.function_name(&wrapping.at).to_ascii_lowercase();
    let by_name = ["eval", "valid", "infer", "predict"].iter().any(|word| name.contains(word));
    let own = |call: &&Call<'_>| call.at.function == wrapping.at.function && call.node.arguments.is_empty();
    let switched = wrapping.at.function.is_some()
        && facts.calls_named("eval").filter(own).any(|call| call.at.order > wrapping.at.order)
        && !facts.calls_named("train").any(|call| own(&call));
    let goes_back = facts.effects_of(Effect::Backward, wrapping.at.function).next().is_some();
    !goes_back && !name.contains("train") && (by_name || switched)
}

/// Whether the wrapped model is called, and only where no gradients are recorded: features for another one's training.
fn only_runs_without_grad(facts: &Facts<'_>, wrapping: &Call<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(wrapping.at.stmt).map(|found| found.node) else { return false };
    let [target] = assign.targets.as_slice() else { return false };
    let name = facts.written(target);
    let mut passes = facts.calls().iter().filter(|call| facts.written(&*call.node.func) == name).peekable();
    // Handed to a function, returned or optimized, it may be trained out of sight.
    let handed_on = facts.calls().iter().any(|call| {
        let given = call.node.arguments.args.iter().any(|arg| facts.written(arg) == name);
        let optimized = facts.written(&*call.node.func) == format!("{name}.parameters");
        call.node.range() != wrapping.node.range() && (given || optimized)
    });
    let returned = facts.returns().iter().any(|found| facts.written(found.expr).contains(name));
    passes.peek().is_some() && passes.all(|pass| pass.at.grad.is_off()) && !handed_on && !returned
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
    passes.find(|call| !is_over(&call.at) && !is_called_before(call.at.function))
}

/// Whether the devices come from an option that names one: with that, the model is called as it is.
fn is_single_unless_told(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let name = call.keyword("device_ids").or_else(|| call.arg(1)).and_then(last_name);
    let one = |default: &Expr| match default {
        Expr::List(list) => list.elts.len() == 1,
        other => string_of(other).is_some_and(|text| text.parse::<u32>().is_ok()),
    };
    name.is_some_and(|name| facts.defaults_of(name).any(one))
}

/// Whether it is told to use one device.
fn is_single(call: &Call<'_>) -> bool {
    matches!(call.keyword("device_ids").or_else(|| call.arg(1)), Some(Expr::List(list)) if list.elts.len() == 1)
}
