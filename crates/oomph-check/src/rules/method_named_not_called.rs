//! `method-named-not-called`: `model.eval` without its brackets.

use crate::analysis::events::Bare;
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::source;

pub(super) static RULE: Rule = Rule {
    name: "method-named-not-called",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Model).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A method is named on a line of its own but not called: the brackets are missing.",
    why: "`optimizer.zero_grad` without brackets looks the method up and drops it. Gradients are never cleared, the mode \
          never switched, the cache never emptied, and nothing says so.",
    cost: "What the call was to save: gradients, activations or cached blocks. Sums and modes are wrong besides.",
    instead: "Add the brackets: `optimizer.zero_grad()`.",
    when_not: "The last line of a notebook cell, where naming a thing shows it.",
    programs: include_str!("method_named_not_called.py"),
    check,
};

/// Methods nobody else has: whatever they are named on, the brackets are missing.
const DISTINCT: &[&str] = &["zero_grad", "empty_cache", "backward", "requires_grad_", "gradient_checkpointing_enable"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for bare in facts.bares() {
        let Expr::Attribute(attribute) = bare.expr else { continue };
        let method = attribute.attr.as_str();
        if !is_missed_call(facts, bare, method) || is_shown(facts, bare) {
            continue;
        }
        let text = facts.source.slice(bare.expr.range());
        report
            .add(bare.expr, format!("`{text}` is named but not called: {}", what_is_missed(method)))
            .because(bare.expr, "the line looks a method up and drops it")
            .unsafe_fix("Call it", vec![Edit::insert(bare.expr.end(), "()")]);
    }
}

fn is_missed_call(facts: &Facts<'_>, bare: &Bare<'_>, method: &str) -> bool {
    let Some(receiver) = &bare.receiver else { return false };
    let by_kind = match receiver.kind {
        Kind::Module => matches!(method, "eval" | "train" | "cuda" | "half" | "cpu" | "zero_grad" | "requires_grad_"),
        Kind::Optimizer | Kind::Scaler => matches!(method, "step" | "zero_grad" | "update"),
        Kind::Scheduler => method == "step",
        Kind::Tensor => matches!(method, "backward" | "detach_" | "requires_grad_" | "zero_"),
        Kind::External(_) => match facts.name_of(receiver) {
            Some("torch.cuda") => {
                matches!(method, "empty_cache" | "synchronize" | "ipc_collect" | "reset_peak_memory_stats")
            }
            Some("gc") => method == "collect",
            _ => false,
        },
        Kind::Unknown => method == "eval" || DISTINCT.contains(&method),
        _ => DISTINCT.contains(&method),
    };
    by_kind && !is_property(facts, bare, method)
}

/// Whether a class of the project makes it a property or an attribute: looking it up may do something.
fn is_property(facts: &Facts<'_>, bare: &Bare<'_>, method: &str) -> bool {
    let class = bare.receiver.as_ref().and_then(|value| match value.kind {
        Kind::Instance(id) | Kind::Class(id) => Some(id),
        _ => value.class,
    });
    let Some(class) = class else { return false };
    let tables = facts.tables();
    if tables.attribute(class, method).is_some() {
        return true;
    }
    tables.method(class, method).is_some_and(|id| !facts.function_def(id).node.decorator_list.is_empty())
}

/// Whether it is the last line of a notebook's cell, which shows its value.
fn is_shown(facts: &Facts<'_>, bare: &Bare<'_>) -> bool {
    let source = facts.source;
    source.kind == source::Kind::Notebook
        && source.cells.iter().any(|cell| {
            cell.range.contains_range(bare.expr.range())
                && source.slice(crate::python::TextRange::new(bare.expr.end(), cell.range.end())).trim().is_empty()
        })
}

fn what_is_missed(method: &str) -> &'static str {
    match method {
        "zero_grad" | "zero_" => "gradients are never cleared",
        "eval" | "train" => "the mode is never switched",
        "empty_cache" | "ipc_collect" | "collect" => "nothing is released",
        "backward" => "no gradient is computed and the graph is not freed",
        "step" | "update" => "nothing is updated",
        "requires_grad_" | "detach_" => "gradients are tracked as before",
        _ => "nothing happens",
    }
}
