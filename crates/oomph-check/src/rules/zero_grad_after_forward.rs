//! `zero-grad-after-forward`: the last step's gradients lie there while the activations are built up.

use crate::analysis::events::{Call, Callee};
use crate::facts::{Effect, Facts};
use crate::finding::{Edit, Safety};
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "zero-grad-after-forward",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "Gradients are cleared after the forward pass, not before it.",
    why: "The gradients of the last step are of no more use once the optimizer has stepped. Cleared between forward and \
          backward they lie beside all activations of the new step.",
    cost: "The size of the trainable parameters during the forward pass. The peak falls only where it is at the end of \
           the forward pass, not in the backward pass, which needs gradients anyway.",
    instead: "`optimizer.zero_grad()` right after `optimizer.step()`.",
    when_not: "Something reads the gradients between the step and the next forward pass.",
    programs: include_str!("zero_grad_after_forward.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for zero in facts.calls_named("zero_grad") {
        let Some(batches) = facts.batch_loop(&zero.at) else { continue };
        let always = |call: &Call<'_>| facts.is_unconditional_in(&call.at, batches.block);
        let one = |effect| facts.effects_in(effect, batches.block).count() == 1;
        if !always(zero) || !one(Effect::ZeroGrad) || !one(Effect::Step) || !one(Effect::Backward) {
            continue;
        }
        let forward = facts.calls().iter().find(|call| {
            call.callee == Callee::Module
                && !call.site.is_empty()
                && facts.is_inside(call.at.block, batches.block)
                && call.at.order < zero.at.order
        });
        let step = facts.effects_in(Effect::Step, batches.block).find(|step| step.at.order > zero.at.order);
        let (Some(forward), Some(step)) = (forward, step) else { continue };
        let mut edits = facts.delete_statement(zero.at.stmt);
        let after: Vec<Edit> = facts.insert_after(step.at.stmt, facts.source.slice(zero.node.range()));
        let text = facts.source.slice(facts.lines_of(zero.range()));
        if edits.is_empty() || after.is_empty() || text.trim() != facts.source.slice(zero.node.range()) {
            edits = Vec::new();
        } else {
            edits.extend(after);
        }
        report
            .add(zero, "The last step's gradients are alive through this whole forward pass: clear them after the step")
            .because(forward, "this forward pass builds up its activations beside them")
            .because(step, "from here on the gradients are of no use")
            .unsafe_fix("Clear them after the step", edits);
    }
}
