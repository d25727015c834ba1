//! `retry-inside-except`: the retry runs while the failed step is still alive.

use crate::analysis::events::{BlockKind, Call, Callee};
use crate::analysis::value::BlockId;
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::ast::ExceptHandlerExceptHandler;
use crate::python::{Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "retry-inside-except",
    group: Group::Recovery,
    level: Level::Error,
    fix: None,
    summary: "After running out of memory the work is tried again inside the `except` block.",
    why: "Inside the block the exception is alive, with it the frames of the failed step and every tensor in them. The \
          retry needs its memory on top of that.",
    cost: "All activations of the failed step, until the block is left.",
    instead: "Set a flag in the block, leave it, and retry after it.",
    when_not: "The block runs work that needs next to nothing.",
    examples: &[Example {
        bad: "\
import torch

def robust(model, batch):
    try:
        out = model(batch)
    except torch.OutOfMemoryError:
        out = model(batch[:1])
    return out, model.state_dict()
",
        good: "\
import torch

def robust(model, batch):
    failed = False
    try:
        out = model(batch)
    except torch.OutOfMemoryError:
        failed = True
    if failed:
        out = model(batch[:1])
    return out, model.state_dict()
",
    }],
    silent_on: &[
        "\
import json
import torch

def answer(model, params):
    try:
        for out in model.stream(params):
            yield json.dumps(out).encode()
    except torch.cuda.OutOfMemoryError as error:
        yield json.dumps({'error': str(error)}).encode()
",
        "\
import torch

def robust(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError:
        print('too big', batch.shape)
        torch.cuda.empty_cache()
        model.zero_grad()
    return model.state_dict()
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (block, handler) in handlers(facts) {
        let Some(caught) = oom_caught(facts, handler) else { continue };
        let tried: Vec<&Call<'_>> = tried_before(facts, block).collect();
        let retry = facts.calls().iter().find(|call| {
            facts.is_inside(call.at.block, block)
                && is_work(facts, call)
                && (is_forward(facts, call) || repeats(facts, call, &tried))
        });
        let Some(retry) = retry else { continue };
        report
            .add(retry, "This runs while the failed step's tensors are still alive: leave the `except` block first")
            .because(&caught, "here the exception, and with it the failed step's frames, is alive");
    }
}

fn handlers<'f, 'a>(
    facts: &'f Facts<'a>,
) -> impl Iterator<Item = (BlockId, &'a ExceptHandlerExceptHandler)> + use<'f, 'a> {
    facts.blocks().filter_map(|(id, block)| match block.kind {
        BlockKind::Handler(handler) => Some((id, handler)),
        _ => None,
    })
}

/// The head of a handler that catches running out of memory.
fn oom_caught(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
    let kind = handler.type_.as_deref()?;
    let text = facts.source.slice(kind.range());
    let by_class = text.contains("OutOfMemoryError");
    let by_text = text.contains("RuntimeError") && facts.source.slice(handler.range()).contains("out of memory");
    (by_class || by_text).then(|| kind.range())
}

/// Calls in the `try` a handler belongs to: in the block that ends before it, with the same parent.
fn tried_before<'f, 'a>(facts: &'f Facts<'a>, handler: BlockId) -> impl Iterator<Item = &'f Call<'a>> {
    let found = facts.block(handler);
    let (parent, start) = (found.parent, found.range.start());
    let tried = facts.blocks().filter(move |(_, block)| {
        matches!(block.kind, BlockKind::Try) && block.parent == parent && block.range.end() <= start
    });
    let tried = tried.last().map(|(id, _)| id);
    facts.calls().iter().filter(move |call| tried.is_some_and(|tried| facts.is_inside(call.at.block, tried)))
}

fn is_forward(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let heavy = facts.callee_summary(call).is_some_and(|summary| summary.forwards || summary.calls_backward);
    call.callee == Callee::Module || heavy || call.name == "backward"
}

/// Whether the same function is called as in the `try`.
fn repeats(facts: &Facts<'_>, call: &Call<'_>, tried: &[&Call<'_>]) -> bool {
    let text = facts.source.slice(call.node.func.range());
    let recurses = matches!(call.callee, Callee::Project(_)) && call.name == facts.function_name(&call.at);
    let through = matches!(call.callee, Callee::Project(_)) && tried.iter().any(|other| calls(facts, call, other, 2));
    recurses
        || through
        || is_smaller_form(call, tried)
        || matches!(call.callee, Callee::Other | Callee::Project(_))
            && tried.iter().any(|other| facts.source.slice(other.node.func.range()) == text)
}

/// Whether a call may need memory at all.
fn is_work(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let harmless = [
        "print",
        "info",
        "warning",
        "error",
        "debug",
        "log",
        "write",
        "append",
        "empty_cache",
        "collect",
        "zero_grad",
        "format",
        "join",
        "get",
        "pop",
        "item",
        "update",
        "close",
        "exit",
        "size",
        "keys",
        "items",
        "values",
        "sleep",
        "set_postfix",
        "to",
        "cuda",
        "cpu",
        "detach",
        "eval",
        "train",
        "lower",
        "startswith",
        "strip",
        "clear",
        "split",
    ];
    let written = facts.source.slice(call.node.func.range());
    // An answer that says what went wrong is text.
    !harmless.contains(&call.name) && !["log", "dump", "str("].iter().any(|word| written.contains(word))
}

/// Whether the function a call calls, calls what another call calls: `attention_sliced` runs `attention`.
fn calls(facts: &Facts<'_>, call: &Call<'_>, other: &Call<'_>, hops: u32) -> bool {
    let (Callee::Project(id), Callee::Project(wanted)) = (call.callee, other.callee) else { return false };
    let inner = |inside: &&Call<'_>| inside.at.function == Some(id.index);
    facts.is_own(id)
        && is_work(facts, other)
        && facts
            .calls()
            .iter()
            .filter(inner)
            .any(|inside| inside.callee == Callee::Project(wanted) || hops > 1 && calls(facts, inside, other, hops - 1))
}

/// Whether a call is the same work in smaller pieces, by its name: `tiled_decode` after `decode`.
fn is_smaller_form(call: &Call<'_>, tried: &[&Call<'_>]) -> bool {
    const PIECES: &[&str] = &["sliced", "tiled", "chunked", "chunks", "tiles", "slices", "batched", "split"];
    let words = |name: &str| name.split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let here = words(call.name);
    let plain: Vec<&String> = here.iter().filter(|word| !PIECES.contains(&word.as_str()) && *word != "in").collect();
    let same = |other: &&Call<'_>| words(other.name).iter().collect::<Vec<_>>() == plain;
    plain.len() < here.len() && !plain.is_empty() && tried.iter().any(same)
}
