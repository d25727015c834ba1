//! `retry-inside-except`: the retry runs while the failed step is still alive.

use crate::analysis::events::{BlockKind, Call, Callee};
use crate::analysis::value::BlockId;
use crate::facts::Facts;
use crate::python::ast::ExceptHandlerExceptHandler;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "retry-inside-except",
    group: Group::Recovery,
    size: Size::per_batch(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "After running out of memory the work is tried again inside the `except` block.",
    why: "Inside the block the exception is alive, with it the frames of the failed step and every tensor in them. The \
          retry needs its memory on top of that.",
    cost: "All activations of the failed step, until the block is left.",
    instead: "Set a flag in the block, leave it, and retry after it.",
    when_not: "The block runs work that needs next to nothing.",
    programs: include_str!("retry_inside_except.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (block, handler) in facts.handlers() {
        let Some(caught) = oom_caught(facts, handler) else { continue };
        let Some(body) = facts.tried(block) else { continue };
        let tried: Vec<&Call<'_>> = facts.calls().iter().filter(|call| facts.is_inside(call.at.block, body)).collect();
        let retry = facts.calls().iter().find(|call| {
            facts.is_inside(call.at.block, block)
                && is_work(facts, call)
                && is_for_oom(facts, call, block)
                && !is_on_cpu(facts, call, handler)
                && is_same_work(facts, call, &tried)
        });
        let Some(retry) = retry else { continue };
        report
            .add(retry, "This runs while the failed step's tensors are still alive: leave the `except` block first")
            .because(&caught, "here the exception, and with it the failed step's frames, is alive");
    }
}

/// The head of a handler that catches running out of memory.
fn oom_caught(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
    let kind = handler.type_.as_deref()?;
    let text = facts.source.slice(kind.range());
    let by_class = text.contains("OutOfMemoryError");
    let by_text = text.contains("RuntimeError") && facts.source.slice(handler.range()).contains("out of memory");
    (by_class || by_text).then(|| kind.range())
}

/// Whether a call is on the path of the error that ran out of memory, where the handler tells errors by their words.
fn is_for_oom(facts: &Facts<'_>, call: &Call<'_>, handler: BlockId) -> bool {
    let tells = |test: &Expr| {
        let text = facts.written(test);
        (text.contains("str(") || text.contains(".args")) && text.contains(" in ")
    };
    let within = facts.blocks_around(&call.at).take_while(|(id, _)| *id != handler);
    within.into_iter().all(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) if tells(test) => {
            facts.written(test).contains("memory") && !facts.written(test).contains(" not in ")
        }
        BlockKind::Else(test) if tells(test) => facts.written(test).contains(" not in "),
        _ => true,
    })
}

/// Whether the work goes to the CPU, as far as the handler says up to there: `model.cpu()`, `device="cpu"`.
fn is_on_cpu(facts: &Facts<'_>, call: &Call<'_>, handler: &ExceptHandlerExceptHandler) -> bool {
    let text = facts.source.slice(TextRange::new(handler.start(), call.range().end().max(handler.start())));
    [".cpu()", "\"cpu\"", "'cpu'"].iter().any(|way| text.contains(way))
}

/// Whether a call runs what the `try` ran: a backward pass, the same model, or the same function again.
fn is_same_work(facts: &Facts<'_>, call: &Call<'_>, tried: &[&Call<'_>]) -> bool {
    let text = facts.written(&*call.node.func);
    let same = || tried.iter().filter(|other| facts.written(&*other.node.func) == text);
    match call.callee {
        _ if call.name == "backward" => tried.iter().any(|other| facts.is_heavy(other)),
        _ if is_smaller_form(call, tried) => true,
        Callee::Module => is_used(facts, call) && same().next().is_some(),
        Callee::Project(_) => {
            // A pass that records nothing holds its tensors too while its frame is alive.
            let off = facts.callee_summary(call).is_some_and(|summary| summary.forwards_off);
            let heavy = facts.is_heavy(call) || off;
            let recurses = call.name == facts.function_name(&call.at);
            let through = tried.iter().any(|other| calls(facts, call, other, 2));
            let again = recurses || through || same().next().is_some();
            again
                && (heavy
                    || recurses && is_used(facts, call)
                    || tried.iter().any(|other| gives_same(facts, call, other)))
        }
        Callee::Other => {
            same().any(|other| gives_same(facts, call, other) || is_returned(facts, other) && is_in_pieces(facts, call))
        }
        Callee::External(_) => false,
    }
}

/// Whether a function returns what a call gives, and nothing else.
fn is_returned(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let statement = facts.statement(call.at.stmt).map(|found| found.node);
    let Some(Stmt::Return(node)) = statement else { return false };
    node.value.as_deref().is_some_and(|value| value.range() == call.range())
}

/// Whether a call is made for each piece of what was too large: in a loop or a comprehension of the handler.
fn is_in_pieces(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let handler = facts.blocks_around(&call.at).find(|(_, block)| matches!(block.kind, BlockKind::Handler(_)));
    let Some((handler, _)) = handler else { return false };
    let mut turns = facts.loops(&call.at).filter(|turns| facts.is_inside(turns.block, handler));
    let given = &call.node.arguments.args;
    turns.any(|turns| given.iter().any(|arg| facts.varies_in(arg, turns.block)))
}

/// Whether something is done with what a call gives.
fn is_used(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let statement = facts.statement(call.at.stmt).map(|found| found.node);
    !matches!(statement, Some(Stmt::Expr(node)) if node.value.range() == call.range())
}

/// Whether two calls give the same thing: a value of the same name, or what the function returns.
fn gives_same(facts: &Facts<'_>, call: &Call<'_>, other: &Call<'_>) -> bool {
    let given = |call: &Call<'_>| match facts.statement(call.at.stmt).map(|found| found.node) {
        Some(Stmt::Assign(node)) => node.targets.first().map(|target| facts.written(target)),
        Some(Stmt::AugAssign(node)) => Some(facts.written(&*node.target)),
        Some(Stmt::Return(_)) => Some("return"),
        _ => None,
    };
    let same_function = facts.written(&*call.node.func) == facts.written(&*other.node.func);
    let related = same_function || matches!((call.callee, other.callee), (Callee::Project(_), Callee::Project(_)));
    related && given(call).is_some() && given(call) == given(other)
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
