//! `loss-accumulated-with-graph`: a running sum that keeps every graph.

use super::{Amount, Found, Often, Rule};
use crate::domain::Size;
use crate::facts::Facts;
use crate::interp::{ChainOp, Trip};

pub(super) static RULE: Rule =
    Rule { name: "loss-accumulated-with-graph", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for chain in facts.chains() {
        let is_sum = chain.op == ChainOp::Sum || (chain.op == ChainOp::Other && chain.size == Size::Small);
        if !is_sum || !chain.graph.is_likely() || facts.is_chain_trained(chain) {
            continue;
        }
        let Some(&around) = chain.carried.iter().rev().find(|number| facts.is_long(**number)) else { continue };
        let is_freed = facts.is_freed_in(around, &chain.origins) || facts.is_trained_in(around, &chain.origins);
        let is_evaluation = facts.is_evaluation_by_name(&chain.calls, &chain.loops);
        // A sum handed to a caller out of sight may be trained there, unless it goes over all batches.
        let is_known = is_freed || is_evaluation || facts.loop_facts(around).trip == Trip::Batches;
        if facts.is_returned(&chain.origins) && !is_known || facts.may_be_trained_elsewhere(&chain.origins) && !is_freed {
            continue;
        }
        let amount = if is_freed { Amount::Small } else { Amount::Activations };
        let message = if is_freed {
            "this running sum keeps the nodes of every iteration's graph: add `.item()` or `.detach()`"
        } else {
            "this running sum keeps the activations of every iteration: add `.item()` or `.detach()`, or compute without a graph"
        };
        found.push(Found::new(&chain.at, amount, Often::Iteration, message).sure(chain.graph));
    }
}
