//! `manual-grad-zeroing`: gradients are zeroed by hand, one by one, and stay allocated.

use crate::analysis::events::{At, BlockKind, Call, LoopKind};
use crate::facts::{Effect, Facts, Loop};
use crate::finding::{Edit, Safety};
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, string_of};

pub(super) static RULE: Rule = Rule {
    name: "manual-grad-zeroing",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A loop over a module's parameters fills each gradient with zeros.",
    why: "The gradients stay allocated through the next forward pass, when the activations are built up, and each is \
          written by a kernel of its own.",
    cost: "The size of the trainable parameters, at the time of the peak.",
    instead: "`model.zero_grad()` or `optimizer.zero_grad()`, which drop the gradients.",
    when_not: "Only some of the parameters are meant, or the zeros are read.",
    programs: include_str!("manual_grad_zeroing.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    check_new_zeros(facts, report);
    for call in facts.calls_named("zero_").chain(facts.calls_named("fill_")) {
        let Some(turns) = facts.loops(&call.at).next() else { continue };
        let listed = || listed_module(facts, &turns, call).or_else(|| optimizer_of(facts, &turns, &call.at));
        let Some(module) = whole_module(facts, &turns).or_else(listed) else { continue };
        let is_whole = turns.kind == LoopKind::Parameters && whole_module(facts, &turns).is_some();
        if !is_gradient(facts, call, &turns)
            || !does_nothing_else(facts, &turns) && !zeroes_after_update(facts, &turns, call)
            || facts.function_name(&call.at) == "zero_grad"
        {
            continue;
        }
        if let BlockKind::Comprehension(..) = turns.node {
            report
                .add(call, format!("The gradients of `{module}` stay allocated as zeros through the next forward pass"))
                .because(&turns.range, "this goes over all parameters of the module");
            continue;
        }
        let BlockKind::Loop(_, node) = turns.node else { continue };
        let alone = does_nothing_else(facts, &turns);
        let edits = match facts.statement_id(node) {
            Some(stmt) if is_whole && alone && facts.is_alone_on_its_lines(stmt) => {
                vec![Edit::replace(node.range(), format!("{module}.zero_grad()"))]
            }
            _ => Vec::new(),
        };
        report
            .add(call, format!("The gradients of `{module}` stay allocated as zeros through the next forward pass"))
            .because(&turns.head(), "this goes over all parameters of the module")
            .unsafe_fix("Drop the gradients", edits);
    }
}

/// `p.grad = torch.zeros_like(p)` for every parameter of a module.
fn check_new_zeros(facts: &Facts<'_>, report: &mut Report) {
    for bind in facts.binds_of("grad") {
        let (Expr::Attribute(target), Some(zeros)) =
            (bind.target, bind.value_expr.and_then(|expr| facts.call_at(expr)))
        else {
            continue;
        };
        let Some(turns) = facts.loops(&bind.at).next() else { continue };
        let Some(module) = whole_module(facts, &turns) else { continue };
        let of_parameter = parameter_of(&turns).is_some_and(|name| facts.written(&*target.value) == name);
        let made = matches!(facts.full_name(zeros), Some("torch.zeros_like" | "torch.zeros"));
        let alone = facts.body_of(&turns).len() == 1 && facts.is_unconditional_in(&bind.at, turns.block);
        // Zeros that are made once are there to be added to.
        if of_parameter && made && alone && facts.comes_again(&bind.at).is_some() {
            report
                .add(
                    bind.target,
                    format!("The gradients of `{module}` stay allocated as zeros through the next forward pass"),
                )
                .because(&turns.head(), "this goes over all parameters of the module");
        }
    }
}

/// `optimizer` of `for group in optimizer.param_groups` and `for p in group["params"]`: all it has.
fn optimizer_of<'f>(facts: &'f Facts<'_>, turns: &Loop<'_>, at: &At) -> Option<&'f str> {
    let Expr::Subscript(item) = walked(turns)? else { return None };
    let group = item.value.as_name_expr().filter(|_| string_of(&item.slice) == Some("params"))?;
    let outer = facts.loops(at).nth(1)?;
    let Expr::Attribute(groups) = walked(&outer)? else { return None };
    let same =
        matches!(outer.node, BlockKind::Loop(_, Stmt::For(node)) if facts.written(&*node.target) == group.id.as_str());
    // An optimizer that is being written here has its own way.
    let own = facts.written(&*groups.value) == "self";
    (same && groups.attr.as_str() == "param_groups" && !own).then(|| facts.source.slice(groups.value.range()))
}

/// What a loop or a comprehension goes over.
fn walked<'a>(turns: &Loop<'a>) -> Option<&'a Expr> {
    match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => Some(&node.iter),
        BlockKind::Comprehension(_, Expr::ListComp(node)) => match &node.generators[..] {
            [only] => Some(&only.iter),
            _ => None,
        },
        _ => None,
    }
}

/// The name that a loop over parameters gives each of them.
fn parameter_of<'a>(turns: &Loop<'a>) -> Option<&'a str> {
    let target = match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => &*node.target,
        BlockKind::Comprehension(_, Expr::ListComp(node)) => &node.generators.first()?.target,
        _ => return None,
    };
    let parameter = match target {
        Expr::Tuple(pair) => pair.elts.last()?,
        other => other,
    };
    parameter.as_name_expr().map(|name| name.id.as_str())
}

/// `model` of `for p in model.parameters()`.
fn whole_module<'f>(facts: &'f Facts<'_>, turns: &Loop<'_>) -> Option<&'f str> {
    let Expr::Call(call) = walked(turns)? else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let all = matches!(method.attr.as_str(), "parameters" | "named_parameters") && call.arguments.is_empty();
    all.then(|| facts.source.slice(method.value.range()))
}

/// `model` of `params = list(model.parameters())` and `for p in params`, be it in a function that all callers give that.
fn listed_module<'f>(facts: &'f Facts<'_>, turns: &Loop<'_>, call: &Call<'_>) -> Option<&'f str> {
    let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return None };
    if node.iter.is_attribute_expr() {
        return list_of(facts, &node.iter, &call.at);
    }
    let Expr::Name(walked) = &*node.iter else { return None };
    let name = walked.id.as_str();
    let parameters = facts.function(&call.at).map(|function| &function.node.parameters);
    let position = parameters
        .and_then(|all| all.iter_non_variadic_params().position(|parameter| parameter.parameter.name.as_str() == name));
    let Some(position) = position else { return list_of(facts, &node.iter, &call.at) };
    let mut callers = facts.callers_of(&call.at).peekable();
    let first = list_of(facts, callers.peek()?.arg(position)?, &callers.peek()?.at)?;
    let same =
        |caller: &Call<'_>| caller.arg(position).and_then(|given| list_of(facts, given, &caller.at)) == Some(first);
    callers.all(same).then_some(first)
}

/// `model` of a name that is bound to `list(model.parameters())` and nothing else; the name itself where it stands for
/// the parameters of several.
fn list_of<'f>(facts: &'f Facts<'_>, expr: &Expr, at: &At) -> Option<&'f str> {
    let binds = facts.binds_seen(expr, at);
    let [only] = binds.as_slice() else { return None };
    let value = only.value_expr?;
    let several = match value {
        Expr::BinOp(sum) if sum.op == Operator::Add => is_of_lists(facts, value),
        Expr::List(list) => list.elts.len() > 1 && list.elts.iter().all(is_spread),
        _ => false,
    };
    if several {
        return Some(facts.source.slice(only.target.range()));
    }
    whole_list(facts, value)
}

/// `list(a.parameters()) + list(b.parameters())`.
fn is_of_lists(facts: &Facts<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::BinOp(sum) if sum.op == Operator::Add => is_of_lists(facts, &sum.left) && is_of_lists(facts, &sum.right),
        other => whole_list(facts, other).is_some(),
    }
}

/// `*a.parameters()` of `[*a.parameters(), *b.parameters()]`.
fn is_spread(item: &Expr) -> bool {
    let Expr::Starred(spread) = item else { return false };
    let Expr::Call(all) = &*spread.value else { return false };
    let Expr::Attribute(method) = &*all.func else { return false };
    method.attr.as_str() == "parameters" && all.arguments.is_empty()
}

/// `model` of `list(model.parameters())`.
fn whole_list<'f>(facts: &'f Facts<'_>, expr: &Expr) -> Option<&'f str> {
    let Expr::Call(list) = expr else { return None };
    let (Expr::Name(made), [Expr::Call(all)]) = (&*list.func, &*list.arguments.args) else { return None };
    let Expr::Attribute(method) = &*all.func else { return None };
    let whole = method.attr.as_str() == "parameters" && all.arguments.is_empty();
    (made.id.as_str() == "list" && whole).then(|| facts.source.slice(method.value.range()))
}

/// Whether the call zeroes the gradient of the loop's parameter.
fn is_gradient(facts: &Facts<'_>, call: &Call<'_>, turns: &Loop<'_>) -> bool {
    let Some(name) = parameter_of(turns) else { return false };
    let receiver = call.receiver_expr().map_or("", |expr| facts.source.slice(expr.range()));
    receiver == format!("{name}.grad") || receiver == format!("{name}.grad.data")
}

/// Whether a loop that trains updates every parameter by hand and then zeroes its gradient: `p -= lr * p.grad`.
fn zeroes_after_update(facts: &Facts<'_>, turns: &Loop<'_>, call: &Call<'_>) -> bool {
    let outer = facts.loops(&call.at).nth(1);
    let trains = outer.is_some_and(|outer| facts.effects_in(Effect::Backward, outer.block).next().is_some());
    let only_zero = call.name == "zero_" || call.arg(0).is_some_and(|value| is_number(value, 0));
    let tests = facts.tests_within(&call.at, turns.block);
    let of_all = tests.into_iter().all(|test| test.is_some_and(|test| has_gradient(facts, test)));
    let leaves = |stmt: &Stmt| match stmt {
        Stmt::If(node) => node.body.iter().any(|inner| matches!(inner, Stmt::Continue(_) | Stmt::Break(_))),
        _ => false,
    };
    let at_the_end = facts.body_of(turns).iter().rev().take(2).any(|stmt| stmt.range().contains_range(call.range()));
    // What is done by hand on the CPU is a lesson.
    let on_gpu = facts.calls().iter().any(|call| facts.moves_to_gpu(call) || facts.makes_on_gpu(call));
    on_gpu && trains && only_zero && of_all && at_the_end && !facts.body_of(turns).iter().any(leaves)
}

/// `p.grad is not None`, `p.requires_grad`.
fn has_gradient(facts: &Facts<'_>, test: &Expr) -> bool {
    let test = facts.source.slice(test.range());
    matches!(test.rsplit('.').next().unwrap_or(test), "grad is not None" | "grad" | "requires_grad")
}

/// Whether the loop does nothing but zero gradients, of all parameters that have one.
fn does_nothing_else(facts: &Facts<'_>, turns: &Loop<'_>) -> bool {
    let zeroing = |stmt: &Stmt| match stmt {
        Stmt::Expr(node) => {
            let text = facts.source.slice(node.range());
            text.ends_with("zero_()")
                || text.ends_with("fill_(0)")
                || text.ends_with("fill_(0.0)")
                || text.ends_with("detach_()")
                || text.ends_with("requires_grad_(False)")
        }
        _ => false,
    };
    let has_one = |test: &Expr| has_gradient(facts, test);
    if let BlockKind::Comprehension(_, Expr::ListComp(node)) = turns.node {
        let text = facts.written(&*node.elt);
        return (text.ends_with("zero_()") || text.ends_with("fill_(0)")) && node.generators[0].ifs.iter().all(has_one);
    }
    facts.body_of(turns).iter().all(|stmt| match stmt {
        Stmt::If(node) => has_one(&node.test) && node.elif_else_clauses.is_empty() && node.body.iter().all(zeroing),
        other => zeroing(other),
    })
}
