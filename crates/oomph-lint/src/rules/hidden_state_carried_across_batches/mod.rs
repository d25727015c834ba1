//! `hidden-state-carried-across-batches`: the graph of a state grows by every batch.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;
use crate::interp::{ChainOp, Trip};

pub(super) static RULE: Rule =
    Rule { name: "hidden-state-carried-across-batches", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for chain in facts.chains() {
        if chain.op != ChainOp::Forward || !chain.graph.is_likely() {
            continue;
        }
        let Some(&around) = chain.carried.iter().rev().find(|number| facts.is_long(**number)) else { continue };
        let is_trained_inside = facts.is_trained_in(around, &chain.origins);
        let is_endless = facts.loop_facts(around).trip == Trip::Batches && !facts.is_trained(&chain.origins);
        if is_trained_inside || is_endless {
            let message = "the state carried to the next iteration holds on to the graphs of all before: detach it";
            let at = facts.place_in_loop(&chain.at, &chain.calls, &chain.loops);
            found.push(Found::new(&at, Amount::Activations, Often::Iteration, message).sure(chain.graph));
        }
    }
}
