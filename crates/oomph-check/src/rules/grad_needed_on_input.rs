//! `grad-needed-on-input`: ordinary training that asks for gradients of its data.

use crate::analysis::events::{At, Call};
use crate::analysis::value::{Flags, Value};
use crate::facts::{Effect, Facts};
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "grad-needed-on-input",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: true,
    fix: None,
    summary: "Training asks for gradients of its input and never reads them.",
    why: "With `requires_grad` on the batch, the first layers save what they need to go back to it, frozen ones too, and \
          the backward pass computes a gradient as large as the batch.",
    cost: "One gradient of the input's size, and the saved activations of every frozen layer before the first trained one.",
    instead: "Leave the input alone: parameters require gradients by themselves.",
    when_not: "The gradient is read: adversarial training, physics losses, saliency. Reentrant checkpointing needs an \
               input with gradients.",
    programs: include_str!("grad_needed_on_input.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("requires_grad_") {
        let off = matches!(call.arg(0), Some(Expr::BooleanLiteral(literal)) if !literal.value);
        if !off && call.receiver.as_ref().is_some_and(is_batch) {
            say(facts, report, &call.at, call.range());
        }
    }
    for call in facts.calls_to("torch.autograd.Variable") {
        if call.keyword_is("requires_grad", true) && call.args.first().is_some_and(is_batch) {
            say(facts, report, &call.at, call.range());
        }
    }
    for bind in facts.binds_of("requires_grad") {
        let on = matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if literal.value);
        if on && bind.owner.as_ref().is_some_and(is_batch) {
            say(facts, report, &bind.at, bind.target.range());
        }
    }
}

fn is_batch(value: &Value) -> bool {
    value.is_tensor() && value.has(Flags::DATA)
}

fn say(facts: &Facts<'_>, report: &mut Report, at: &At, range: TextRange) {
    let Some(batches) = facts.batch_loop(at) else { return };
    let here = at.function;
    let backward = facts.effects_in(Effect::Backward, batches.block).next();
    let step = facts.effects_in(Effect::Step, batches.block).next();
    let (Some(backward), Some(_)) = (backward, step) else { return };
    let asks = |call: &Call<'_>| {
        call.at.function == here && matches!(call.name, "grad" | "checkpoint" | "jacobian" | "vjp" | "retain_grad")
    };
    let reads = facts.outline().attribute_reads.contains_key("grad");
    if reads || facts.calls().iter().any(asks) {
        return;
    }
    report
        .add(
            &range,
            "The batch asks for gradients that nothing reads: one gradient of its size, and more saved activations",
        )
        .because(backward, "the backward pass computes them")
        .because(&batches.head(), "once a batch of data");
}
