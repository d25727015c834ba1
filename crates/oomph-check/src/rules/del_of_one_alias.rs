//! `del-of-one-alias`: a name is deleted, what it named lives on.

use crate::analysis::events::{At, Bind, Callee, Delete, Root, Store, StoreKind};
use crate::analysis::value::{Device, Flags, Kind};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "del-of-one-alias",
    group: Group::Allocator,
    size: Size::once(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A `del` removes one name of what another name, a list, an optimizer or the caller holds.",
    why: "`del` removes a name, not an object. A tensor is freed when the last reference to it goes: a second name, a view \
          of it, a list it was put in, the optimizer that has its parameters, or the caller's own variable keep it.",
    cost: "All of what was to be freed stays.",
    instead: "Delete every name, or let the scope end: what only a function's locals hold goes when it returns.",
    when_not: "The other reference goes a line later.",
    programs: include_str!("del_of_one_alias.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for delete in facts.deletes().iter().filter(|delete| delete.is_written) {
        let Expr::Name(name) = delete.target else { continue };
        let name = name.id.as_str();
        if !may_be_big(delete) || hands_over(facts, delete, name) {
            continue;
        }
        let held = held_by_caller(facts, delete, name)
            .or_else(|| held_by_optimizer(facts, delete, name))
            .or_else(|| held_by_returned_optimizer(facts, delete, name))
            .or_else(|| held_by_list(facts, delete, name))
            .or_else(|| held_by_name(facts, delete, name));
        if let Some((place, message, why)) = held {
            report.add(delete.target, message).because(&place, why);
        } else if let Some((place, message, why)) = ends_anyway(facts, delete, name) {
            report.add(delete.target, message).doubtful_if(true).because(&place, why);
        }
    }
}

/// `new = old; del old`, `parts[i] = x; del x`: the other takes over, and the name goes at once so that it alone holds
/// the tensor. Where memory is asked back right after, that was no tidying.
fn hands_over(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> bool {
    let Some(statement) = facts.statement(delete.at.stmt) else { return false };
    let Some(before) = statement.index.checked_sub(1).and_then(|index| statement.suite.get(index)) else {
        return false;
    };
    let given = matches!(before, Stmt::Assign(assign) if is_name(&assign.value, name));
    let frees = statement.suite.get(statement.index + 1).is_some_and(|next| {
        let text = facts.source.slice(next.range());
        text.contains("empty_cache") || text.contains("collect(")
    });
    given && !frees
}

type Held = (TextRange, String, String);

fn may_be_big(delete: &Delete<'_>) -> bool {
    matches!(delete.value.kind, Kind::Tensor | Kind::Module | Kind::Optimizer | Kind::Unknown | Kind::List | Kind::Dict)
}

/// `def free(model): del model; empty_cache()`: the caller's variable still holds it.
fn held_by_caller(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let function = facts.function(&delete.at)?;
    let parameter = function.node.parameters.iter().find(|parameter| parameter.name().as_str() == name)?;
    let rebound = facts.binds_of(name).any(|bind| bind.at.function == delete.at.function);
    let only_frees = function.node.body.iter().all(|stmt| is_freeing(facts, stmt));
    let frees = ["empty_cache", "collect"].iter().any(|call| {
        facts.calls_named(call).any(|found| found.at.function == delete.at.function && found.at.order > delete.at.order)
    });
    if rebound || !only_frees || !frees || delete.value.kind == Kind::List {
        return None;
    }
    let message = format!("This frees nothing: the caller of `{}` still holds `{name}`", function.node.name);
    Some((parameter.range(), message, format!("`{name}` is a parameter: another name for what the caller passed")))
}

/// Whether a statement does nothing but free, move away and report.
fn is_freeing(facts: &Facts<'_>, stmt: &Stmt) -> bool {
    let all = |body: &[Stmt]| body.iter().all(|stmt| is_freeing(facts, stmt));
    match stmt {
        Stmt::Delete(_) | Stmt::Pass(_) | Stmt::Return(_) | Stmt::Global(_) | Stmt::Import(_) => true,
        Stmt::Expr(node) => {
            let text = facts.source.slice(node.range());
            let words = [
                "empty_cache",
                "gc.collect",
                "synchronize",
                "print(",
                "ipc_collect",
                ".cpu()",
                "to('cpu')",
                "to(\"cpu\")",
                "log",
                "\"",
                "'",
            ];
            words.iter().any(|word| text.contains(word))
        }
        Stmt::Assign(node) => {
            matches!(&*node.value, Expr::NoneLiteral(_)) || facts.source.slice(node.value.range()).contains("memory_")
        }
        Stmt::If(node) => all(&node.body) && node.elif_else_clauses.iter().all(|clause| all(&clause.body)),
        Stmt::Try(node) => all(&node.body),
        Stmt::With(node) => all(&node.body),
        _ => false,
    }
}

/// `del model` while an optimizer has its parameters, and the cache is emptied.
fn held_by_optimizer(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let optimizer = facts
        .binds()
        .iter()
        .filter(|bind| is_optimizer_of(facts, bind, name))
        .find(|bind| bind.at.function == delete.at.function && facts.is_always_before(&bind.at, &delete.at))?;
    let mut empties = facts.calls_named("empty_cache").filter(|call| call.at.function == delete.at.function);
    let cleared = empties.find(|call| facts.is_always_before(&delete.at, &call.at))?;
    let dropped = facts.deletes().iter().any(|other| is_name(other.target, optimizer.name));
    let rebound = facts
        .binds_of(optimizer.name)
        .filter(|bind| bind.at.order > optimizer.at.order)
        .any(|bind| bind.at.order < cleared.at.order);
    let model_rebound =
        facts.binds_of(name).any(|bind| bind.at.order > optimizer.at.order && bind.at.order < delete.at.order);
    if dropped || rebound || model_rebound || !matches!(optimizer.target, Expr::Name(_) | Expr::Attribute(_)) {
        return None;
    }
    let holder = facts.source.slice(optimizer.target.range());
    let message = format!("This frees no parameter: `{holder}` still holds those of `{name}`");
    Some((
        optimizer.target.range(),
        message,
        format!("`{holder}` is made from `{name}.parameters()` and is not deleted"),
    ))
}

/// `model, optimizer = build()`, `del model`: the function made the second from the first.
fn held_by_returned_optimizer(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let here = |at: &At| at.function == delete.at.function;
    let mut binds = facts.binds_of(name).filter(|bind| here(&bind.at));
    let (Some(bind), None) = (binds.next(), binds.next()) else { return None };
    let Stmt::Assign(assign) = facts.statement(bind.at.stmt)?.node else { return None };
    let ([Expr::Tuple(targets)], Some(made)) = (assign.targets.as_slice(), facts.call_at(&assign.value)) else {
        return None;
    };
    let Callee::Project(id) = made.callee else { return None };
    let mut results = facts.returns().iter().filter(|found| facts.is_own(id) && found.at.function == Some(id.index));
    let (Some(Expr::Tuple(given)), None) = (results.next().map(|found| found.expr), results.next()) else {
        return None;
    };
    let place = targets.elts.iter().position(|target| is_name(target, name))?;
    let Expr::Name(model) = given.elts.get(place)? else { return None };
    let mut pairs = targets.elts.iter().zip(&given.elts);
    let (holder, _) = pairs.find(|(_, result)| {
        let Expr::Name(result) = result else { return false };
        facts
            .binds_of(result.id.as_str())
            .any(|bind| bind.at.function == Some(id.index) && is_optimizer_of(facts, bind, model.id.as_str()))
    })?;
    let Expr::Name(optimizer) = holder else { return None };
    let optimizer = optimizer.id.as_str();
    let mut empties = facts.calls_named("empty_cache").filter(|call| here(&call.at));
    let cleared = empties.find(|call| facts.is_always_before(&delete.at, &call.at))?;
    let dropped = facts.deletes().iter().any(|other| is_name(other.target, optimizer));
    let rebound = facts
        .binds_of(optimizer)
        .any(|other| here(&other.at) && other.at.stmt != bind.at.stmt && other.at.order < cleared.at.order);
    if dropped || rebound {
        return None;
    }
    let message = format!("This frees no parameter: `{optimizer}` still holds those of `{name}`");
    let why = format!("`{}` makes `{optimizer}` from the parameters of `{name}`, and it is not deleted", made.name);
    Some((holder.range(), message, why))
}

fn is_optimizer_of(facts: &Facts<'_>, bind: &Bind<'_>, name: &str) -> bool {
    let Some(Expr::Call(call)) = bind.value_expr else { return false };
    let first = call.arguments.args.first().map_or("", |expr| facts.source.slice(expr.range()));
    bind.value.kind == Kind::Optimizer && first == format!("{name}.parameters()")
}

/// `kept.append(out); del out`: the list holds it.
fn held_by_list(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let store = facts.stores().iter().find(|store| {
        let kept =
            matches!(store.kind, StoreKind::Append | StoreKind::Item | StoreKind::Attribute) && store.via.is_none();
        kept && is_name(store.value_expr, name)
            && store.value.is_tensor()
            && facts.is_always_before(&store.at, &delete.at)
            && is_same_turn(facts, &store.at, &delete.at)
    })?;
    // A list of results that are read later is what was wanted; on the GPU or with a graph each is dear.
    let of_module = facts.binds_of(name).any(|bind| {
        let made = bind.value_expr.and_then(|expr| facts.call_at(expr));
        bind.at.function == store.at.function && made.is_some_and(|call| call.callee == Callee::Module)
    });
    if store.value.device != Device::Cuda && !of_module {
        return None;
    }
    let holder = facts.source.slice(store.target.range());
    let of_self = matches!(store.root, Root::SelfAttribute(_)) && !matches!(store.target, Expr::Subscript(_));
    let local = matches!(store.target, Expr::Name(_));
    let rebound = facts.binds_of(name).any(|bind| bind.at.order > store.at.order && bind.at.order < delete.at.order);
    let emptied = facts.is_emptied_in(store.target, crate::analysis::value::BlockId::MODULE, store.at.stmt)
        && facts
            .loops(&store.at)
            .next()
            .is_some_and(|turns| facts.is_emptied_in(store.target, turns.block, store.at.stmt));
    let read_later = facts.is_read_after(&delete.at, holder, delete.target.range().end());
    let lives = local && store.holder.is_growing_holder() && read_later || of_self && lasts(facts, store);
    if rebound || emptied || !lives {
        return None;
    }
    let message = format!("This frees nothing: `{holder}` holds `{name}`");
    let lasting =
        if of_self { "the object outlives this call".to_owned() } else { format!("`{holder}` is read later") };
    Some((store.range, message, format!("the same tensor is put into `{holder}` here, and {lasting}")))
}

/// Whether an attribute keeps what it was given: this function neither clears nor rebinds it later.
fn lasts(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let block = facts.blocks_around(&store.at).last().map_or(crate::analysis::value::BlockId::MODULE, |(id, _)| id);
    !facts.is_emptied_in(store.target, block, store.at.stmt)
}

/// A `del` as the last thing a function does: the return frees the same.
fn ends_anyway(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let function = facts.function(&delete.at).filter(|function| !function.is_generator)?;
    let body = &function.node.body;
    let known = matches!(delete.value.kind, Kind::Tensor | Kind::Module);
    let parameter = function.node.parameters.iter().any(|parameter| parameter.name().as_str() == name);
    let place = body.iter().position(|stmt| stmt.range().contains_range(delete.target.range()))?;
    let ends = body[place + 1..].iter().all(|stmt| match stmt {
        Stmt::Return(node) => node.value.as_deref().is_none_or(is_plain),
        Stmt::Delete(_) => true,
        _ => false,
    });
    if !known || parameter || !ends || !matches!(body[place], Stmt::Delete(_)) {
        return None;
    }
    let message =
        format!("This frees nothing that the end of `{}` would not free at the same time", function.node.name);
    Some((body.last()?.range(), message, format!("the function ends here, and `{name}` with it")))
}

/// Whether an expression takes no memory to evaluate.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_plain),
        Expr::Name(_) | Expr::Attribute(_) => true,
        other => matches!(other, Expr::NoneLiteral(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_)),
    }
}

/// `state = hidden; del hidden`, and `state` is read later.
fn held_by_name(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> Option<Held> {
    let kinds = [Kind::Tensor, Kind::Module, Kind::Dict, Kind::List, Kind::Unknown];
    if !kinds.contains(&delete.value.kind) || delete.value.device == Device::Cpu {
        return None;
    }
    let certain = |expr: &Expr| delete.value.kind != Kind::Unknown || is_tensor_view(expr);
    let holder = matches!(delete.value.kind, Kind::Dict | Kind::List);
    let alias = facts.binds().iter().find(|bind| {
        matches!(bind.target, Expr::Name(_))
            && bind.name != name
            && bind.value_expr.is_some_and(|expr| {
                !holder && certain(expr) && is_same_storage(expr, name) || is_item(facts, delete, bind, name)
            })
            && facts.is_always_before(&bind.at, &delete.at)
            && is_same_turn(facts, &bind.at, &delete.at)
    })?;
    let between = |bind: &Bind<'_>| bind.at.order > alias.at.order && bind.at.order < delete.at.order;
    let rebound = facts.binds_of(name).chain(facts.binds_of(alias.name)).any(between);
    let after = delete.target.range().end();
    let first_read = facts.is_read_after(&delete.at, alias.name, after);
    let overwritten = facts.binds_of(alias.name).any(|bind| bind.at.order > delete.at.order);
    if rebound || !first_read || overwritten || deleted_with(facts, delete, alias.name) {
        return None;
    }
    let other = alias.name;
    if alias.value_expr.is_some_and(Expr::is_subscript_expr) {
        let message = format!("This frees nothing of what `{other}` has: it is an item of `{name}`, and is used later");
        return Some((alias.target.range(), message, format!("`{other}` names a part of `{name}`")));
    }
    let message = format!("This frees nothing: `{other}` is the same tensor, and is used later");
    let message = if delete.value.is_module() { message.replace("tensor", "module") } else { message };
    Some((alias.target.range(), message, format!("`{other}` names what `{name}` names")))
}

/// `name[:8]` of a tensor is a view of it; `name["ids"]` and `name["mask"]` of a dict made here are most of it.
fn is_item(facts: &Facts<'_>, delete: &Delete<'_>, bind: &Bind<'_>, name: &str) -> bool {
    let item = |bind: &Bind<'_>| match bind.value_expr {
        Some(Expr::Subscript(item)) if is_name(&item.value, name) && bind.value.is_tensor() => match &*item.slice {
            Expr::Slice(_) => Some(true),
            Expr::StringLiteral(_) | Expr::NumberLiteral(_) => Some(false),
            _ => None,
        },
        _ => None,
    };
    let taken =
        || facts.binds().iter().filter(|other| other.at.function == bind.at.function && item(other).is_some()).count();
    match item(bind) {
        Some(true) => delete.value.is_tensor() && !delete.value.has(Flags::RAW),
        // A single item may be all that is wanted: the rest goes.
        Some(false) => !delete.value.is_tensor() && taken() > 1,
        None => false,
    }
}

/// Methods that give back the same storage under another shape.
const VIEWS: &[&str] = &[
    "detach",
    "view",
    "squeeze",
    "unsqueeze",
    "permute",
    "transpose",
    "unfold",
    "movedim",
    "swapaxes",
    "unflatten",
    "view_as",
    "narrow",
    "diagonal",
];

/// Whether an expression is a view by a method that only tensors have.
fn is_tensor_view(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                let only_of_tensors = matches!(
                    method.attr.as_str(),
                    "unfold" | "permute" | "unsqueeze" | "detach" | "narrow" | "movedim" | "unflatten" | "view_as"
                );
                only_of_tensors || is_tensor_view(&method.value)
            }
            _ => false,
        },
        _ => false,
    }
}

/// `name`, `name.detach()`, `name.view(...)`: the same storage.
fn is_same_storage(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                // `flatten` of what is not in order copies.
                let flat = method.attr.as_str() == "flatten" && is_name(&method.value, name);
                flat || VIEWS.contains(&method.attr.as_str()) && is_same_storage(&method.value, name)
            }
            _ => false,
        },
        other => is_name(other, name),
    }
}

/// Whether the other name is deleted too.
fn deleted_with(facts: &Facts<'_>, delete: &Delete<'_>, name: &str) -> bool {
    facts.deletes().iter().any(|other| other.at.function == delete.at.function && is_name(other.target, name))
}

/// Whether two points are in the same loops: a store of an outer turn says nothing about this one.
fn is_same_turn(facts: &Facts<'_>, first: &At, second: &At) -> bool {
    let innermost = |at| facts.loops(at).next().map(|turns| turns.block);
    innermost(first) == innermost(second)
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(found) if found.id.as_str() == name)
}
