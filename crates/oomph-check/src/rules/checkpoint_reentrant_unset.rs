//! `checkpoint-reentrant-unset`: activation checkpointing without choosing how.

use crate::analysis::events::{At, BlockKind, Call};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "checkpoint-reentrant-unset",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "Activation checkpointing is used without `use_reentrant`.",
    why: "Unset, torch takes the reentrant way and warns. That way records nothing when no input needs a gradient, so \
          the first checkpointed block trains nothing or keeps everything, and it does not work with `torch.autograd.grad`, \
          keyword arguments and several hooks. The default is to change, and `checkpoint` will raise without it.",
    cost: "The activations that checkpointing was to save, wherever the reentrant way falls back.",
    instead: "`checkpoint(block, x, use_reentrant=False)`.",
    when_not: "The code must run on torch before 1.11, which does not know the argument.",
    programs: include_str!("checkpoint_reentrant_unset.py"),
    check,
};

const CHECKPOINTS: &[&str] = &["torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in CHECKPOINTS.iter().flat_map(|name| facts.calls_to(name)) {
        let hidden = call.node.arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        if hidden || call.keyword("use_reentrant").is_some() || call.args.is_empty() || is_for_old_torch(facts, call) {
            continue;
        }
        let block = call.arg(0).map_or("", |block| facts.written(block));
        let block = if block.len() > 60 || block.contains('\n') { "the block" } else { block };
        // Under `if x.requires_grad` the inputs do need one: what is left is that PyTorch wants the choice made.
        let message = if asks_inputs(facts, call) {
            format!("`{block}` is checkpointed without `use_reentrant`: PyTorch warns, and prefers `False`")
        } else {
            format!("`{block}` is checkpointed the reentrant way: it saves nothing where no input needs a gradient")
        };
        report
            .add(call, message)
            .because(&call.node.arguments, "`use_reentrant` is not given")
            .unsafe_fix("Use the non-reentrant way", facts.add_argument(call, "use_reentrant=False"));
    }
}

/// `if version >= "1.11": checkpoint(..., use_reentrant=False)`, `else:`: the rest is for a torch that has no such choice.
fn is_for_old_torch(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let mut around = facts.blocks_around(&call.at);
    around.any(|(_, block)| match block.kind {
        BlockKind::Else(test) => facts.source.slice(test.range()).to_ascii_lowercase().contains("version"),
        _ => false,
    })
}

/// Whether its inputs are known to need gradients: asked for around the call, or made so in it. The reentrant way works
/// there.
fn asks_inputs(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let inputs = call.node.arguments.args.iter().skip(1).map(|input| facts.written(input).trim_start_matches('*'));
    let inputs: Vec<&str> = inputs.collect();
    // `checkpoint(block, x.requires_grad_())`: one of them is made to need a gradient.
    if inputs.iter().any(|input| input.contains("requires_grad_(")) {
        return true;
    }
    // `x.requires_grad_()`, `x.requires_grad = True` before the call.
    let made_so = |input: &&str| {
        let function = facts.function_block(&call.at);
        let earlier = |at: &At| at.order < call.at.order && facts.is_inside(at.block, function);
        let by_call = facts
            .calls_named("requires_grad_")
            .any(|made| earlier(&made.at) && made.receiver_expr().is_some_and(|owner| facts.written(owner) == *input));
        let by_flag = facts.binds_of("requires_grad").any(|bind| match bind.target {
            Expr::Attribute(target) => earlier(&bind.at) && facts.written(&*target.value) == *input,
            _ => false,
        });
        by_call || by_flag
    };
    if inputs.iter().any(made_so) {
        return true;
    }
    let asks = |test: &str| {
        inputs.iter().any(|input| {
            let one = test.contains(&format!("{input}.requires_grad"));
            let some = test.contains(".requires_grad for ") && test.contains(&format!(" in {input}"));
            (one || some) && !test.contains("not ")
        })
    };
    facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) => asks(facts.source.slice(test.range())),
        _ => false,
    })
}
