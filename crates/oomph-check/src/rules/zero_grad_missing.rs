//! `zero-grad-missing`: gradients of all past batches add up.

use crate::analysis::events::{Call, Callee};
use crate::analysis::value::{Flags, FunctionId, Kind};
use crate::facts::{Effect, Facts, Loop};
use crate::finding::Safety;
use crate::python::{Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "zero-grad-missing",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A training loop runs `backward()` and `step()` and never clears the gradients.",
    why: "`backward()` adds to the gradients that are there. Without clearing, every step goes along the sum of all past \
          batches, and the gradients stay allocated through every forward pass.",
    cost: "The size of the trainable parameters, held through the forward pass; the training itself goes wrong.",
    instead: "`optimizer.zero_grad()` once per step, best right after it.",
    when_not: "The step itself clears them, as the engines of some frameworks do.",
    programs: include_str!("zero_grad_missing.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut seen = Vec::new();
    for step in facts.effects(Effect::Step) {
        let Some(batches) = facts.batch_loop(&step.at) else { continue };
        if seen.contains(&batches.block) || clears(facts, step, &batches) {
            continue;
        }
        let Some((message, backward)) = plain_step(facts, step, &batches).or_else(|| helper_step(facts, step)) else {
            continue;
        };
        seen.push(batches.block);
        let after = facts.stepped(step).filter(|_| step.name == "step").unwrap_or_default();
        let edits = match after {
            "" => Vec::new(),
            optimizer => facts.insert_after(step.at.stmt, &format!("{optimizer}.zero_grad()")),
        };
        report
            .add(step, message)
            .because(&backward, "this adds to the gradients that are there")
            .because(&batches.head(), "once a batch, and nothing here clears them")
            .unsafe_fix("Clear them after the step", edits);
    }
}

/// A step right in the loop, after a backward pass there.
fn plain_step(facts: &Facts<'_>, step: &Call<'_>, batches: &Loop<'_>) -> Option<(String, TextRange)> {
    let optimizer = plain_optimizer(facts, step).filter(|_| step.name == "step")?;
    let anew = facts.binds_of(optimizer).any(|bind| facts.is_inside(bind.at.block, batches.block));
    if anew {
        return None;
    }
    let mut backwards = facts.effects_in(Effect::Backward, batches.block).filter(|call| call.name == "backward");
    let backward = backwards.find(|call| call.at.order < step.at.order)?;
    let message = format!("`{optimizer}` steps along the gradients of all past batches: nothing clears them");
    Some((message, backward.range()))
}

/// A function of this file that runs the backward pass and the step, and clears nothing.
fn helper_step(facts: &Facts<'_>, step: &Call<'_>) -> Option<(String, TextRange)> {
    let Callee::Project(id) = step.callee else { return None };
    let summary =
        facts.summary(id).filter(|summary| summary.calls_backward && summary.steps_batch && !summary.zeroes_grad)?;
    let node = facts.function_def(id).node;
    let here = facts.outline().functions.iter().any(|function| std::ptr::eq(function.node, node));
    let mut steps = facts.effects_of(Effect::Step, Some(id.index));
    let once = steps.all(|own| {
        own.name == "step" && plain_optimizer(facts, own).is_some() && facts.loops(&own.at).next().is_none()
    });
    let name = &node.name;
    let plain = here && once && !summary.zeroes_grad && is_never_cleared(facts);
    plain
        .then(|| (format!("`{name}` steps along the gradients of all past batches: nothing clears them"), name.range()))
}

/// Whether a method's class has no base that could clear gradients, and nothing in the file does.
fn owns_all(facts: &Facts<'_>, step: &Call<'_>) -> bool {
    let class = facts.function(&step.at).and_then(|function| function.class);
    let alone =
        class.is_some_and(|class| facts.outline().classes[class as usize].bases.iter().all(|base| base == "object"));
    // What works on gradients by hand means some of them to add up: an attack on the weights, a penalty.
    let by_hand =
        class.is_some_and(|class| works_on_gradients(facts, facts.outline().classes[class as usize].node.range()));
    alone && !by_hand && is_never_cleared(facts)
}

/// Whether the text of a range reads a gradient: `param.grad`.
fn works_on_gradients(facts: &Facts<'_>, range: TextRange) -> bool {
    let text = facts.source.slice(range);
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(".grad").any(|(at, found)| ends(&text[at + found.len()..]))
}

/// Whether the file clears gradients nowhere.
fn is_never_cleared(facts: &Facts<'_>) -> bool {
    !BY_HAND.iter().any(|way| facts.source.text.contains(way))
}

/// Ways to clear gradients, as written.
const BY_HAND: &[&str] = &[
    "zero_grad",
    ".grad = None",
    ".grad=None",
    ".grad.zero_",
    "grad.data.zero_",
    "grad.data.fill_",
    ".grad *= 0",
    "grad_zero",
];

/// Whether the project has an optimizer of its own whose `step` clears gradients: one that is only guessed may be it.
fn may_clear_itself(facts: &Facts<'_>) -> bool {
    facts.tables().outlines.iter().zip(0..).any(|(outline, file)| {
        outline.classes.iter().filter(|class| class.node.name.to_ascii_lowercase().contains("optim")).any(|class| {
            let step = class.methods.get("step").map(|&index| FunctionId { file, index });
            step.and_then(|step| facts.summary(step)).is_some_and(|summary| summary.zeroes_grad)
        })
    })
}

/// The name of an optimizer of torch that is stepped without a closure.
fn plain_optimizer<'f>(facts: &'f Facts<'_>, step: &Call<'_>) -> Option<&'f str> {
    let receiver = step.receiver.as_ref()?;
    let of_torch = |value: &crate::analysis::value::Value| {
        value.kind == Kind::Optimizer
            && value.class.is_none()
            && (facts.name_of(value).is_some_and(|name| name.starts_with("torch.optim."))
                || (value.has(Flags::GUESSED) || value.maker.is_none()) && !may_clear_itself(facts))
    };
    let known = match receiver.kind {
        Kind::Optimizer => of_torch(receiver) && step.node.arguments.is_empty(),
        Kind::Scaler => step.args.first().is_some_and(of_torch),
        _ => false,
    };
    // Another method, or a base class, may clear what `self` has.
    facts.stepped(step).filter(|text| known && (!text.contains("self.") || owns_all(facts, step)))
}

/// Whether anything in the function, or anything it calls that cannot be seen, may clear gradients.
fn clears(facts: &Facts<'_>, step: &Call<'_>, batches: &Loop<'_>) -> bool {
    let around =
        facts.function(&step.at).map_or_else(|| TextRange::up_to(facts.end()), |function| function.node.range());
    let effect = facts.effects(Effect::ZeroGrad).any(|call| around.contains_range(call.range()));
    let text = facts.source.slice(around);
    let hidden = facts.calls().iter().any(|call| {
        let unseen = matches!(call.callee, Callee::Other | Callee::External(_));
        let name = call.name.to_ascii_lowercase();
        let clearing =
            ["zero", "clear", "reset", "clean"].iter().any(|word| name.contains(word)) && !name.starts_with("zeros");
        unseen && clearing && name != "empty_cache" && facts.is_inside(call.at.block, batches.block)
    });
    effect || hidden || BY_HAND.iter().any(|way| text.contains(way)) || hands_optimizer_on(facts, step, batches)
}

/// Whether the optimizer goes into a call that cannot be seen through.
fn hands_optimizer_on(facts: &Facts<'_>, step: &Call<'_>, batches: &Loop<'_>) -> bool {
    let optimizer = facts.stepped(step).unwrap_or_default();
    facts.calls().iter().any(|call| {
        let passes = call.node.arguments.args.iter().any(|arg| facts.source.slice(arg.range()) == optimizer);
        let scaler = call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler);
        let seen =
            matches!(call.callee, Callee::Project(_)) || scaler || matches!(call.name, "step" | "unscale_" | "print");
        passes && !seen && facts.is_inside(call.at.block, batches.block)
    })
}
