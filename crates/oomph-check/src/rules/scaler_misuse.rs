//! `scaler-misuse`: a gradient scaler that cannot do its work.

use crate::analysis::events::Call;
use crate::analysis::value::Kind;
use crate::facts::{Effect, Facts};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "scaler-misuse",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "A `GradScaler` is made every step, never updated, or used with bfloat16 or a half model.",
    why: "The scaler looks for the largest scale that does not overflow, over many steps. Made anew it begins at 65536 \
          each time, overflows and skips the step; without `update()` its second `step()` raises; bfloat16 needs no \
          scale; and it refuses gradients in half precision, which is why weights must stay in full.",
    cost: "Skipped steps that keep their gradients, or a job that ends with an error.",
    instead: "One scaler for the whole training, `update()` after each `step()`; none for bfloat16; autocast in the place \
              of `model.half()`.",
    when_not: "A scaler per fold or per run.",
    programs: include_str!("scaler_misuse.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    made_in_loop(facts, report);
    never_updated(facts, report);
    with_bfloat16(facts, report);
    with_half_weights(facts, report);
}

fn scalers<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Call<'a>> {
    facts.calls_named("GradScaler").filter(|call| call.result.kind == Kind::Scaler)
}

fn made_in_loop(facts: &Facts<'_>, report: &mut Report) {
    for call in scalers(facts) {
        let by_loop = facts.batch_loop(&call.at).map(|batches| (batches.head(), "this loop runs once a batch"));
        let by_call = || Some((step_around(facts, call)?, "this function runs once a batch"));
        let Some((place, why)) = by_loop.or_else(by_call) else { continue };
        report
            .add(call, "A new scaler on every step begins at the largest scale again: steps overflow and are skipped")
            .because(&place, why);
    }
}

/// The name of a function that runs once a batch, and makes a scaler for the one loss it scales.
fn step_around(facts: &Facts<'_>, made: &Call<'_>) -> Option<TextRange> {
    let per_batch = facts.is_called_per_batch(&made.at) || facts.runs_per_batch(&made.at);
    let always = facts.is_unconditional_in(&made.at, facts.function_block(&made.at));
    let looped = |call: &Call<'_>| facts.loops(&call.at).next().is_some();
    let scales = facts.calls_named("scale").any(|call| {
        let of_scaler = call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler);
        of_scaler && call.at.function == made.at.function && !looped(call)
    });
    let function = facts.function(&made.at).filter(|_| per_batch && always && scales)?;
    Some(function.node.name.range())
}

fn never_updated(facts: &Facts<'_>, report: &mut Report) {
    let scaler_steps = facts
        .effects(Effect::Step)
        .filter(|call| call.name == "step" && call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler));
    for step in scaler_steps {
        let Some(scaler) = step.receiver_expr().map(|expr| facts.source.slice(expr.range())) else { continue };
        let last = scaler.rsplit('.').next().unwrap_or(scaler);
        let updated = facts.source.text.contains(&format!("{last}.update("));
        let handed_on = facts.calls().iter().any(|call| {
            let arguments = call
                .node
                .arguments
                .args
                .iter()
                .chain(call.node.arguments.keywords.iter().map(|keyword| &keyword.value));
            arguments.into_iter().any(|arg| facts.source.slice(arg.range()) == scaler)
        });
        let Some(batches) = facts.batch_loop(&step.at) else { continue };
        // Who hands the scaler in may update it.
        let is_given = facts.function(&step.at).is_some_and(|function| function.node.parameters.includes(scaler));
        if updated || handed_on || is_given || scaler.contains("self.") && scalers(facts).next().is_none() {
            continue;
        }
        report
            .add(step, format!("`{scaler}.update()` is never called: the second `{scaler}.step()` raises an error"))
            .because(&batches.head(), "this loop steps more than once");
    }
}

fn with_bfloat16(facts: &Facts<'_>, report: &mut Report) {
    let made: Vec<&Call<'_>> = scalers(facts).collect();
    let switched = made.iter().any(|call| call.keyword("enabled").is_some() || call.has_star());
    if made.is_empty() || switched {
        return;
    }
    for scaled in facts.calls_named("scale") {
        let casts: Vec<&Call<'_>> =
            facts.calls_named("autocast").filter(|call| call.at.function == scaled.at.function).collect();
        let bfloat = |call: &&Call<'_>| {
            let dtype = call.keyword("dtype").or_else(|| call.arg(1));
            let is_it = |dtype: &Expr| dtype.is_attribute_expr() && facts.written(dtype).ends_with(".bfloat16");
            dtype.is_some_and(is_it) && call.keyword("enabled").is_none()
        };
        let is_scaler = scaled.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler);
        let (Some(first), true, true) = (casts.first(), is_scaler, casts.iter().all(bfloat)) else { continue };
        report
            .add(scaled, "bfloat16 has the range of full precision: this scaler only goes over all gradients once more and waits for the GPU on every step")
            .because(*first, "the forward pass runs in bfloat16")
            .because(made[0], "the scaler is on");
    }
}

fn with_half_weights(facts: &Facts<'_>, report: &mut Report) {
    let to_half = facts.calls_named("to").filter(|call| {
        let dtype = call.arg(0).or_else(|| call.keyword("dtype"));
        dtype.is_some_and(|dtype| matches!(facts.written(dtype), "torch.half" | "torch.float16"))
    });
    let switched = scalers(facts).any(|call| call.keyword("enabled").is_some() || call.has_star());
    for half in facts.calls_named("half").chain(to_half).filter(|_| !switched) {
        let Some(receiver) = half.receiver_expr().and_then(base) else { continue };
        let module = bound_to(facts, half).unwrap_or(receiver);
        let (module, original) = (facts.written(module), facts.written(receiver));
        if !half.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module) {
            continue;
        }
        let trained = facts.calls_under("torch.optim.").find(|call| {
            let parameters = call.arg(0).map_or("", |expr| facts.source.slice(expr.range()));
            parameters.strip_suffix(".parameters()").is_some_and(|of| of == module || of == original)
                && call.at.function == half.at.function
                && facts.is_always_before(&half.at, &call.at)
        });
        // What `self` holds is trained by another method.
        let of_self = module.starts_with("self.").then(|| facts.class_at(&half.at)).flatten();
        let scale = facts.calls_named("scale").find(|call| {
            let same_class = of_self.is_some() && of_self == facts.class_at(&call.at);
            (call.at.function == half.at.function || same_class)
                && call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler)
        });
        let (Some(trained), Some(scale)) = (trained, scale) else { continue };
        report
            .add(
                half,
                format!(
                    "The scaler cannot unscale the gradients of `{module}` in half precision: `step()` raises an error"
                ),
            )
            .because(trained, "these weights are trained")
            .because(scale, "their loss is scaled here");
    }
}

/// What is made half: `model` of `model.half()`, `self.net` of `self.net.cuda().half()`.
fn base(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Name(_) | Expr::Attribute(_) => Some(expr),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "cuda" | "to" | "train") => base(&method.value),
            _ => None,
        },
        _ => None,
    }
}

/// The one target that the half model, moved or not, is bound to.
fn bound_to<'a>(facts: &Facts<'a>, half: &Call<'a>) -> Option<&'a Expr> {
    let Stmt::Assign(assign) = facts.statement(half.at.stmt)?.node else { return None };
    let own = base(&assign.value).is_some() && assign.value.range().contains_range(half.node.range())
        || assign.value.range() == half.node.range();
    match assign.targets.as_slice() {
        [target @ (Expr::Name(_) | Expr::Attribute(_))] if own => Some(target),
        _ => None,
    }
}
