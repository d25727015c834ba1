//! `backward-inside-autocast`: the casts of the weights stay alive through the backward pass.

use crate::facts::{Effect, Facts};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "backward-inside-autocast",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "`backward()` runs inside the autocast block of its forward pass.",
    why: "Autocast keeps the half-precision copy of each weight it has cast until the block ends. Inside the block the \
          backward pass runs with all of these copies alive, and PyTorch advises against it.",
    cost: "Half the size of the parameters that were cast, during the backward pass.",
    instead: "Leave the block after the loss is computed.",
    when_not: "A backward of your own relies on autocast.",
    programs: include_str!("backward_inside_autocast.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for backward in facts.effects(Effect::Backward).filter(|call| call.name == "backward") {
        let block = facts.withs().iter().find(|item| {
            let autocast = facts.call_at(item.expr).filter(|call| call.name == "autocast");
            autocast.is_some_and(|call| !call.keyword_is("enabled", false))
                && facts.is_inside(backward.at.block, item.body)
        });
        let Some(block) = block else { continue };
        report
            .add(backward, "The backward pass runs with every cast weight still alive: leave the autocast block first")
            .because(block.expr, "this block keeps the casts until it ends");
    }
}
