//! `checkpoint-dict-kept`: a loaded checkpoint stays alive for the whole run.

use crate::analysis::events::{Call, LoopKind, StmtId};
use crate::facts::{Effect, Facts};
use crate::finding::{Edit, Level, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{Use, parts_of, string_of, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "checkpoint-dict-kept",
    group: Group::Data,
    level: Level::Warning,
    fix: Some(Safety::Safe),
    summary: "A checkpoint loaded to the GPU stays in scope while the model trains.",
    why: "`load_state_dict` of a module copies. The loaded dict with its own copy of the weights lives as long as its name \
          does: here until the function that trains returns.",
    cost: "All parameters once more; an average of the weights in the same file comes on top.",
    instead: "Load with `map_location=\"cpu\"` and `del` the dict after the last `load_state_dict`, or load in a function \
              of its own.",
    when_not: "The file holds a handful of numbers.",
    examples: &[
        Example {
            bad: "\
import torch

def main(model, optimizer, loader, criterion):
    checkpoint = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
",
            good: "\
import torch

def main(model, optimizer, loader, criterion):
    checkpoint = torch.load('last.pt', map_location='cpu')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    del checkpoint
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
",
        },
        Example {
            bad: "\
import torch

def run(args, model, loader, optimizer):
    device = torch.device('cuda')
    start = 0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state['model'])
        start = state['epoch']
    for epoch in range(start, args.epochs):
        train_one_epoch(model, loader, optimizer)

def train_one_epoch(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
",
            good: "\
import torch

def run(args, model, loader, optimizer):
    start = resume(args.resume, model) if args.resume else 0
    for epoch in range(start, args.epochs):
        train_one_epoch(model, loader, optimizer)

def resume(path, model):
    state = torch.load(path, map_location='cpu')
    model.load_state_dict(state['model'])
    return state['epoch']

def train_one_epoch(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
",
        },
    ],
    silent_on: &[
        "\
import torch

def main(model, optimizer, loader):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state)
    del state
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
",
        "\
import torch

def resume(model):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state['model'])
    return state['epoch']
",
        "\
import torch

def main(model, optimizer, loader):
    state = torch.load('last.pt', map_location=lambda storage, location: storage)
    model.load_state_dict(state)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.load") {
        let Some(name) = facts.bound_name(call) else { continue };
        if !goes_to_gpu(facts, call) {
            continue;
        }
        let body = facts.body_around(&call.at);
        let uses = uses_in(body, name);
        let parts: Vec<Use<'_>> = parts_of(body, name).into_iter().flat_map(|part| uses_in(body, part)).collect();
        let Some(load) = uses.iter().chain(&parts).find(|found| goes_into_model(facts, found)) else { continue };
        // A bare dict of weights may come from anywhere, the CPU too; a checkpoint of this program comes from its GPU.
        let own = !parts.is_empty() || load.around.first().is_some_and(|around| around.is_subscript_expr());
        if !says_gpu(call) && !own {
            continue;
        }
        let Some(training) = trains_after(facts, call) else { continue };
        let gone = facts
            .deletes()
            .iter()
            .any(|delete| delete.at.function == call.at.function && facts.written(delete.target) == name);
        let rebound = facts.binds_of(name).any(|bind| {
            bind.at.function == call.at.function
                && bind.at.stmt != call.at.stmt
                && (call.at.order..training.at.order).contains(&bind.at.order)
        });
        let read_later = uses.iter().any(|found| found.name.start() > training.start());
        if gone || rebound {
            continue;
        }
        let finding =
            report.add(call, format!("`{name}` keeps its own copy of the weights on the GPU while the model trains"));
        finding
            .because(load.name, "its tensors are copied into the model here and not needed again")
            .because(training, "training runs with the copy still alive");
        if let (false, true, Some(last)) = (read_later, parts.is_empty(), last_statement(facts, call, &uses)) {
            finding.safe_fix(format!("Delete `{name}` after its last use"), delete_after(facts, last, name));
        }
    }
}

/// Whether the dict's tensors end up on the GPU: told so, or left where they were saved in a program that uses one.
fn goes_to_gpu<'a>(facts: &Facts<'a>, call: &Call<'a>) -> bool {
    match call.keyword("map_location").or_else(|| call.arg(1)) {
        Some(Expr::Lambda(lambda)) => facts.written(&*lambda.body).contains("cuda"),
        Some(place) => string_of(place).is_none_or(|text| text.starts_with("cuda")) && facts.is_gpu(place),
        None => !call.has_star() && facts.calls().iter().any(|other| facts.moves_to_gpu(other)),
    }
}

/// Whether `map_location` is given.
fn says_gpu(call: &Call<'_>) -> bool {
    call.keyword("map_location").is_some() || call.args.len() > 1
}

/// Whether a read feeds `load_state_dict` of something that copies: an optimizer shares what is already in place.
fn goes_into_model(facts: &Facts<'_>, found: &Use<'_>) -> bool {
    found.calls().any(|call| match &*call.func {
        Expr::Attribute(method) => {
            let holder = facts.written(&*method.value).to_ascii_lowercase();
            let shares = ["opt", "sched", "scaler"].iter().any(|word| holder.contains(word));
            let assigns = facts.written(&call.arguments).contains("assign=");
            method.attr.as_str() == "load_state_dict" && !shares && !assigns
        }
        _ => false,
    })
}

/// A step of training in a loop of the same function, after the load and not around it.
fn trains_after<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>) -> Option<&'f Call<'a>> {
    facts.effects_of(Effect::Backward, call.at.function).find(|step| {
        let in_loop = facts.loops(&step.at).any(|turns| {
            matches!(turns.kind, LoopKind::Loader | LoopKind::Epochs | LoopKind::Steps)
                && !facts.is_inside(call.at.block, turns.block)
        });
        step.at.order > call.at.order && in_loop
    })
}

/// The last statement that reads the name, when it is plain and stands beside the load.
fn last_statement<'a>(facts: &Facts<'a>, call: &Call<'a>, uses: &[Use<'a>]) -> Option<StmtId> {
    let load = facts.statement(call.at.stmt)?;
    let last = uses.last()?;
    let within = load.suite.iter().rev().find(|stmt| stmt.range().contains_range(last.name.range()))?;
    facts.statement_id(within)
}

fn delete_after(facts: &Facts<'_>, stmt: StmtId, name: &str) -> Vec<Edit> {
    facts.insert_after(stmt, &format!("del {name}"))
}
