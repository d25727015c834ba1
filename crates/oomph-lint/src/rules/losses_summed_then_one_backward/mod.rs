//! `losses-summed-then-one-backward`: the graphs of many batches live until one backward pass.

use super::{Amount, Found, Often, Rule};
use crate::domain::{Origins, Size};
use crate::facts::Facts;
use crate::interp::ChainOp;

const MESSAGE: &str = "the activations of every iteration live until one backward pass: run `backward()` on each loss";

pub(super) static RULE: Rule =
    Rule { name: "losses-summed-then-one-backward", page: include_str!("page.md"), check };

/// Whether a forward pass that begins one of these graphs runs in a loop: each round adds its activations.
fn has_pass(facts: &Facts<'_>, around: u32, origins: &Origins) -> bool {
    facts.forwards().any(|forward| {
        forward.loops.contains(&around) && forward.origins.sites().any(|site| origins.sites().any(|own| own == site))
    })
}

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for chain in facts.chains() {
        if chain.op != ChainOp::Sum || !chain.graph.is_likely() || !facts.is_chain_trained(chain) {
            continue;
        }
        let Some(&around) = chain.carried.iter().rev().find(|number| facts.is_long(**number)) else { continue };
        if has_pass(facts, around, &chain.origins) {
            found.push(Found::new(&chain.at, Amount::Activations, Often::Epoch, MESSAGE).sure(chain.graph));
        }
    }
    for keep in facts.keeps() {
        let is_loss = keep.graph.is_likely() && keep.size == Size::Small && facts.is_container_trained(keep.container);
        let Some(&around) = facts.growth(keep).last() else { continue };
        if is_loss && !facts.is_open_loop(around) && has_pass(facts, around, &keep.origins) {
            found.push(Found::new(&keep.at, Amount::Activations, Often::Epoch, MESSAGE).sure(keep.graph));
        }
    }
}
