//! `checkpoint-with-cache`: keys and values are cached while training recomputes them.

use crate::analysis::events::{At, Call};
use crate::analysis::value::Value;
use crate::facts::{Effect, Facts};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "checkpoint-with-cache",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "A model trains with gradient checkpointing and `use_cache=True`.",
    why: "Checkpointing drops activations to compute them again; the cache keeps the keys and values of every layer for a \
          decoding that training does not do.",
    cost: "2 x layers x batch x tokens x width numbers, held through the step. Newer versions of transformers switch the \
           cache off and say so.",
    instead: "`use_cache=False` while training; switch it on for generation.",
    when_not: "The cache is switched on after training.",
    programs: include_str!("checkpoint_with_cache.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    let enabled = facts.calls_named("gradient_checkpointing_enable").next();
    let asked = facts.calls().iter().find(|call| call.keyword_is("gradient_checkpointing", true));
    let Some(checkpointing) = enabled.or(asked) else { return };
    for call in facts.calls() {
        if !call.keyword_is("use_cache", true) || !loads_or_trains(facts, call) || is_switched_off(facts) {
            continue;
        }
        let Some(argument) = call.keyword("use_cache") else { continue };
        report
            .add(argument, "Keys and values of all layers are cached in training, beside checkpointed activations")
            .because(checkpointing, "gradient checkpointing is on")
            .unsafe_fix("Switch the cache off", vec![Edit::replace(argument.range(), "False")]);
    }
    for bind in facts.binds_of("use_cache") {
        let (Some(argument @ Expr::BooleanLiteral(literal)), Expr::Attribute(target)) = (bind.value_expr, bind.target)
        else {
            continue;
        };
        let of_config = last_name(&target.value).is_some_and(|name| name.contains("config") || name.contains("cfg"));
        if !literal.value || !of_config || is_switched_off(facts) || is_after_training(facts, &bind.at) {
            continue;
        }
        report
            .add(argument, "Keys and values of all layers are cached in training, beside checkpointed activations")
            .because(checkpointing, "gradient checkpointing is on")
            .unsafe_fix("Switch the cache off", vec![Edit::replace(argument.range(), "False")]);
    }
}

/// Whether training is over by then: the cache is for generating.
fn is_after_training(facts: &Facts<'_>, at: &At) -> bool {
    let trained = |call: &Call<'_>| call.at.function == at.function && call.at.order < at.order;
    let by_framework = ["train", "fit"].into_iter().flat_map(|name| facts.calls_named(name));
    let of_module = |call: &&Call<'_>| !call.receiver.as_ref().is_some_and(Value::is_module);
    by_framework.filter(of_module).chain(facts.effects(Effect::Backward)).any(trained)
        || facts.looks_like_evaluation(at)
}

/// Whether the flag reaches training: given when the model is made, or in a forward pass that is trained on.
fn loads_or_trains(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let makes = call.name == "from_pretrained" && facts.written(&*call.node.func).contains("Model");
    let forward = call.callee == crate::analysis::events::Callee::Module && !call.at.grad.is_off();
    makes || forward && facts.effects(Effect::Backward).next().is_some()
}

/// Whether `config.use_cache = False` stands anywhere.
fn is_switched_off(facts: &Facts<'_>) -> bool {
    facts.binds_of("use_cache").any(|bind| {
        matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if !literal.value)
            && last_name(bind.target).is_some()
    })
}
