//! `no-grad-called-as-statement`: a context manager that is made and thrown away.

use crate::analysis::events::{At, BlockKind, Call, Callee, GradMode};
use crate::analysis::known;
use crate::analysis::value::Value;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "no-grad-called-as-statement",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`torch.no_grad()` stands alone on a line, where it does nothing.",
    why: "`no_grad`, `inference_mode` and `autocast` are context managers: they act only inside `with` (or as a \
          decorator). Called alone, the object is made and dropped. Everything after it still records gradients, or \
          still runs in float32.",
    cost: "All saved activations of the forward passes that were meant to keep none; twice the activations where \
           `autocast` was meant to halve them.",
    instead: "`with torch.no_grad():` around the code, or `@torch.no_grad()` on the function.",
    when_not: "Never. `torch.set_grad_enabled(False)` is another matter: it does act when called alone.",
    programs: include_str!("no_grad_called_as_statement.py"),
    check,
};

/// Context managers that act only inside `with`.
const MANAGERS: &[&str] = &[
    "torch.no_grad",
    "torch.inference_mode",
    "torch.enable_grad",
    "torch.autocast",
    "torch.amp.autocast",
    "torch.amp.autocast_mode.autocast",
    "torch.cuda.amp.autocast",
    "torch.cpu.amp.autocast",
    "torch.autograd.graph.save_on_cpu",
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (manager, call) in MANAGERS.iter().flat_map(|name| facts.calls_to(name).map(move |call| (name, call))) {
        let Some(statement) = facts.statement(call.at.stmt) else { continue };
        let alone = matches!(statement.node, Stmt::Expr(node) if node.value.range() == call.node.range());
        // Under a `no_grad` of the caller nothing is recorded all the same.
        let records = call.at.grad == GradMode::On
            && !facts.is_called_without_gradients(&call.at, false)
            && !is_switched_off_anyway(facts, call);
        if !alone || is_probed(facts, &call.at) || effect_missed(manager) == RECORDED && !records {
            continue;
        }
        report
            .add(call, format!("`{manager}()` alone on a line does nothing: {} after it", effect_missed(manager)))
            .because(call, "the context manager is made and dropped, never entered")
            .unsafe_fix("Put the rest of the block under it", entered(facts, &call.at));
    }
    for bare in facts.bares() {
        let named = facts.name_of(&bare.value).filter(|name| MANAGERS.contains(name));
        let (Some(manager), Expr::Attribute(_) | Expr::Name(_)) = (named, bare.expr) else { continue };
        report
            .add(bare.expr, format!("`{manager}` alone on a line does nothing: {} after it", effect_missed(manager)))
            .because(bare.expr, "it is named, neither called nor entered");
    }
}

const RECORDED: &str = "gradients are recorded, and activations kept,";

fn effect_missed(manager: &str) -> &'static str {
    match manager {
        "torch.no_grad" | "torch.inference_mode" => RECORDED,
        "torch.enable_grad" => "gradient mode is what it was",
        "torch.autograd.graph.save_on_cpu" => "saved tensors stay on the GPU",
        _ => "everything runs in full precision",
    }
}

/// Whether every model that runs after it in the same function does so under a `no_grad` that is entered.
fn is_switched_off_anyway(facts: &Facts<'_>, idle: &Call<'_>) -> bool {
    let runs = |call: &&Call<'_>| {
        let after = call.at.function == idle.at.function && call.at.order > idle.at.order;
        let helper = || call.name.starts_with(|c: char| c.is_ascii_lowercase()) && call.values().any(Value::is_module);
        let inside = || facts.callee_summary(call).is_some_and(|summary| summary.forwards);
        after && (call.callee == Callee::Module || inside() || helper() && !known::returns_module(call.name))
    };
    let mut runs = facts.calls().iter().filter(runs).peekable();
    runs.peek().is_some() && runs.all(|call| call.at.grad.is_off())
}

/// Whether the call is there to see if it raises.
fn is_probed(facts: &Facts<'_>, at: &At) -> bool {
    facts.blocks_around(at).any(|(_, block)| match block.kind {
        BlockKind::Try => true,
        BlockKind::With(node) => node.items.iter().any(|item| {
            let text = facts.source.slice(item.context_expr.range()).to_ascii_lowercase();
            text.contains("raises") || text.contains("warns")
        }),
        _ => false,
    })
}

/// The rest of the block, put into a `with`.
fn entered(facts: &Facts<'_>, at: &At) -> Vec<Edit> {
    let Some(statement) = facts.statement(at.stmt) else { return Vec::new() };
    let mut edits = facts.delete_statement(at.stmt);
    let (Some(next), Some(last)) = (statement.suite.get(statement.index + 1), statement.suite.last()) else {
        return edits;
    };
    let Some(first) = facts.statement_id(next) else { return Vec::new() };
    let wrapped = facts.wrap_in_with(first, last.range(), facts.source.slice(statement.node.range()));
    if edits.is_empty() || wrapped.is_empty() {
        return Vec::new();
    }
    edits.extend(wrapped);
    edits
}
