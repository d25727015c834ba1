//! `create-graph-in-backward`: gradients that refer to the graph that made them.

use crate::analysis::events::{At, Call, Callee};
use crate::analysis::value::Flags;
use crate::facts::{Effect, Facts};
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::uses_in;

pub(super) static RULE: Rule = Rule {
    name: "create-graph-in-backward",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: None,
    summary: "`backward(create_graph=True)` leaves gradients that refer to their own graph.",
    why: "With `create_graph=True` every `p.grad` gets a graph, and that graph ends in `p` again. Parameter and gradient \
          hold each other, so counting references frees neither: torch itself warns of the leak.",
    cost: "The saved activations of the forward and of the backward pass, until the cycle collector happens to run or \
           the gradients are set to `None`.",
    instead: "`grads = torch.autograd.grad(loss, params, create_graph=True)`, which puts nothing into `.grad`. Or set \
              every `.grad` to `None` once it is used.",
    when_not: "Gradients are set to `None` right after use, by hand or by `zero_grad()` with its default.",
    programs: include_str!("create_graph_in_backward.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let methods = ["backward", "manual_backward"].into_iter().flat_map(|name| facts.calls_named(name));
    for call in methods {
        let Some(flag) = literal_true(facts, call) else { continue };
        if let Some((leaf, read)) = input_left(facts, call) {
            report
                .add(
                    call,
                    format!(
                        "`{leaf}.grad` has a graph that ends in `{leaf}` again: the two hold each other, and the graph of \
                         this pass, until the cycle collector runs"
                    ),
                )
                .because(flag, "each `.grad` gets a graph that refers back to what it is the gradient of")
                .because(&read, "an input, not a parameter: no `zero_grad` clears its gradient");
            continue;
        }
        if is_reset(facts, call) {
            if let Some((made, again)) = left_by_each_call(facts, call) {
                report
                    .add(
                        call,
                        "The gradients of the last turn keep its graph in a cycle when this function ends: each network \
                         it has made stays until the cycle collector runs",
                    )
                    .because(flag, "each `.grad` gets a graph that refers back to its parameter")
                    .because(&made, "made anew by every call")
                    .because(&again, "called again and again");
            }
            continue;
        }
        report
            .add(
                call,
                "`create_graph=True` in `backward()` ties every gradient to its parameter in a cycle: the graph of this \
                 pass stays until the cycle collector runs",
            )
            .because(flag, "each `.grad` gets a graph that refers back to its parameter")
            .because_if(
                facts.function(&call.at).map(|function| function.node.name.range()),
                "nothing here sets the gradients to `None` afterwards",
            );
    }
}

/// What is given for `create_graph`, by name, by place or in a dict that is spread, where that is `True` for sure.
fn literal_true<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let place = if facts.full_name(call) == Some("torch.autograd.backward") { 3 } else { 2 };
    let given = facts.keyword_given(call, "create_graph").or_else(|| call.arg(place))?;
    let is_true = |expr: &Expr| matches!(expr, Expr::BooleanLiteral(literal) if literal.value);
    let bound = || {
        let parameter = |name: &str| facts.function(&call.at).is_some_and(|own| own.node.parameters.includes(name));
        let named = matches!(given, Expr::Name(name) if !parameter(name.id.as_str())) || given.is_attribute_expr();
        let binds = facts.binds_seen(given, &call.at);
        named && !binds.is_empty() && binds.iter().all(|bind| bind.value_expr.is_some_and(is_true))
    };
    (is_true(given) || bound()).then_some(given)
}

/// An input that needs gradients and whose `grad` is read after the backward pass, where nothing sets that to `None`.
fn input_left<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<(&'a str, TextRange)> {
    let own = |at: &At| at.function == call.at.function;
    let of_grad = |target: &Expr| matches!(target, Expr::Attribute(target) if target.attr.as_str() == "grad");
    let by_hand = facts.binds_of("grad").any(|bind| own(&bind.at));
    let deleted = facts.deletes().iter().any(|delete| own(&delete.at) && of_grad(delete.target));
    if by_hand || deleted || call.keyword("inputs").is_some() || facts.calls_to("gc.collect").next().is_some() {
        return None;
    }
    let before = facts.binds().iter().filter(|bind| own(&bind.at) && bind.at.order < call.at.order);
    let mut leaves = before.filter(|bind| bind.target.is_name_expr() && bind.value.has(Flags::LEAF));
    leaves.find_map(|leaf| {
        let uses = uses_in(facts.body_around(&call.at), leaf.name);
        let mut after = uses.iter().filter(|found| found.name.start() > call.range().end());
        let read = after.find(|found| found.around.first().is_some_and(|outer| of_grad(outer)))?;
        Some((leaf.name, read.name.range()))
    })
}

/// Whether gradients are set to `None` in the same function, or once a turn of a loop around.
fn is_reset(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let looped = facts.loops(&call.at).last().map(|found| found.block);
    let reached = |at: &At| {
        at.function == call.at.function
            && (at.order > call.at.order || looped.is_some_and(|block| facts.is_inside(at.block, block)))
    };
    let by_hand =
        facts.binds_of("grad").any(|bind| reached(&bind.at) && matches!(bind.value_expr, Some(Expr::NoneLiteral(_))));
    let deleted = facts.deletes().iter().any(|found| {
        reached(&found.at) && matches!(found.target, Expr::Attribute(target) if target.attr.as_str() == "grad")
    });
    let cleared = facts
        .effects_of(Effect::ZeroGrad, call.at.function)
        .any(|zero| reached(&zero.at) && !zero.keyword_is("set_to_none", false));
    by_hand || deleted || cleared || is_cleared_by_callers(facts, call.at.function, 3)
}

/// Whether every call of a helper, in this file, is followed by gradients cleared to `None`.
fn is_cleared_by_callers(facts: &Facts<'_>, helper: Option<u32>, hops: u32) -> bool {
    let Some(helper) = helper.filter(|_| hops > 0) else { return false };
    let means_it =
        |call: &&Call<'_>| matches!(call.callee, Callee::Project(id) if facts.is_own(id) && id.index == helper);
    let mut callers = facts.calls().iter().filter(means_it).peekable();
    callers.peek().is_some()
        && callers.all(|call| {
            let mut zeroes = facts.effects_of(Effect::ZeroGrad, call.at.function);
            zeroes.any(|zero| zero.at.order > call.at.order && !zero.keyword_is("set_to_none", false))
                || is_cleared_by_callers(facts, call.at.function, hops - 1)
        })
}

/// A network that this function makes and the loop around a call of the function, where gradients are cleared before each
/// backward pass alone: those of the last turn stay.
fn left_by_each_call(facts: &Facts<'_>, call: &Call<'_>) -> Option<(TextRange, TextRange)> {
    let own = |at: &At| at.function == call.at.function;
    let later = facts.effects_of(Effect::ZeroGrad, call.at.function).any(|zero| zero.at.order > call.at.order);
    let by_hand = facts.binds_of("grad").any(|bind| own(&bind.at));
    let deleted = facts.deletes().iter().any(|delete| own(&delete.at));
    if later || by_hand || deleted || facts.calls_to("gc.collect").next().is_some() {
        return None;
    }
    let made = facts.binds().iter().find(|bind| {
        let is_new = bind.value.is_module() && bind.value_expr.is_some_and(Expr::is_call_expr);
        own(&bind.at) && is_new && bind.target.is_name_expr() && facts.loops(&bind.at).next().is_none()
    })?;
    // `model = wrap(model)` is the caller's.
    let function = facts.function(&call.at)?;
    if function.node.parameters.iter().any(|found| found.name().as_str() == made.name) {
        return None;
    }
    let again = facts.callers_of(&call.at).find_map(|caller| facts.loops(&caller.at).next())?;
    Some((made.target.range(), again.head()))
}
