//! `empty-cache-before-del`: the cache is emptied while the model is still alive.

use crate::analysis::events::{At, Call, Delete};
use crate::analysis::value::{Device, Flags, Kind};
use crate::facts::{Facts, Loop};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "empty-cache-before-del",
    group: Group::Allocator,
    size: Size::once(Amount::Batch).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`torch.cuda.empty_cache()` runs just before the `del` of what it was to give back.",
    why: "`empty_cache()` returns blocks that no tensor uses. At that moment everything is still in use; what `del` frees \
          afterwards goes to the cache and stays there.",
    cost: "All that the deleted names held stays with this process.",
    instead: "First `del`, then `gc.collect()` where there are cycles, then `empty_cache()`.",
    when_not: "Another `empty_cache()` follows.",
    programs: include_str!("empty_cache_before_del.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.cuda.empty_cache") {
        let Some(delete) = deleted_next(facts, call) else { continue };
        let again = facts.calls_to("torch.cuda.empty_cache").any(|other| {
            other.at.function == call.at.function && other.range().start() > delete.target.range().start()
        });
        let in_loop = facts.loops(&call.at).next();
        if again || in_loop.is_some_and(|turns| !is_of_turn(facts, call, delete, &turns)) || !may_be_on_gpu(delete) {
            continue;
        }
        let name = facts.source.slice(delete.target.range());
        // What `cpu()` gives of a tensor is a copy; a module moves itself.
        let is_tensor = delete.value.is_tensor() && !delete.value.has(Flags::GUESSED);
        if is_gone_already(facts, call, name) && !is_tensor {
            continue;
        }
        report
            .add(call, format!("`{name}` is still alive here: `empty_cache()` gives none of it back"))
            .because(delete.target, format!("`{name}` is deleted only afterwards"))
            .unsafe_fix("Empty the cache after the `del`", swapped(facts, call, delete));
    }
}

/// Whether each turn makes a model of its own, trains or asks it, and deletes it: the cache is emptied once a model, while
/// that is still there. Nothing else of the loop empties the cache.
fn is_of_turn(facts: &Facts<'_>, call: &Call<'_>, delete: &Delete<'_>, turns: &Loop<'_>) -> bool {
    let Expr::Name(name) = delete.target else { return false };
    let made = facts.binds_of(name.id.as_str()).any(|bind| {
        let made = bind.value_expr.and_then(|expr| facts.call_at(expr));
        let is_model = || delete.value.kind == Kind::Module || is_model_name(name.id.as_str());
        made.is_some_and(|made| delete.value.kind == Kind::Module || facts.goes_to_gpu(made))
            && is_model()
            && bind.at.function == call.at.function
            && facts.is_inside(bind.at.block, turns.block)
    });
    let empties_elsewhere = facts
        .calls_to("torch.cuda.empty_cache")
        .any(|other| other.range() != call.range() && facts.is_inside(other.at.block, turns.block));
    made && !facts.is_per_batch(turns) && !empties_elsewhere
}

fn is_model_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("model") || name.contains("net")
}

/// The `del` that follows a call in its suite, with nothing but cleaning up between.
fn deleted_next<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'_>) -> Option<&'f Delete<'a>> {
    let statement = facts.statement(call.at.stmt)?;
    let is_cleaning = |stmt: &&Stmt| match stmt {
        Stmt::Expr(node) => facts.source.slice(node.range()).starts_with("gc.collect"),
        _ => false,
    };
    let own = matches!(statement.node, Stmt::Expr(node) if node.value.range() == call.node.range());
    let next = statement.suite.iter().skip(statement.index + 1).find(|stmt| !is_cleaning(stmt)).filter(|_| own)?;
    let Stmt::Delete(node) = next else { return None };
    let mut deletes = facts.deletes().iter();
    deletes.find(|delete| node.range().contains_range(delete.target.range()))
}

/// Whether the name was set to `None`, or what it names moved to the CPU, before the cache is emptied.
fn is_gone_already(facts: &Facts<'_>, call: &Call<'_>, name: &str) -> bool {
    let before = |at: &At| at.function == call.at.function && at.order < call.at.order;
    let last = name.rsplit('.').next().unwrap_or(name);
    let none = facts.binds_of(last).any(|bind| {
        before(&bind.at)
            && facts.source.slice(bind.target.range()) == name
            && matches!(bind.value_expr, Some(Expr::NoneLiteral(_)))
    });
    let moves = ["cpu", "to"].into_iter().flat_map(|method| facts.calls_named(method)).any(|found| {
        let to_cpu = found.name == "cpu" || found.arg(0).is_some_and(|place| facts.written(place).contains("cpu"));
        before(&found.at) && to_cpu && found.receiver_expr().is_some_and(|expr| facts.written(expr) == name)
    });
    none || moves
}

fn may_be_on_gpu(delete: &Delete<'_>) -> bool {
    let value = &delete.value;
    let held = matches!(
        value.kind,
        Kind::Tensor | Kind::Module | Kind::Optimizer | Kind::Unknown | Kind::None | Kind::List | Kind::Dict
    );
    held && value.device != Device::Cpu && matches!(delete.target, Expr::Name(_) | Expr::Attribute(_))
}

fn swapped(facts: &Facts<'_>, call: &Call<'_>, delete: &Delete<'_>) -> Vec<Edit> {
    let mut edits = facts.delete_statement(call.at.stmt);
    let text = facts.source.slice(call.node.range());
    let after = facts.insert_after(delete.at.stmt, text);
    let whole = |edits: &[Edit]| edits.iter().all(|edit| edit.range != TextRange::default());
    if edits.is_empty() || after.is_empty() || !whole(&edits) {
        return Vec::new();
    }
    edits.extend(after);
    edits
}
