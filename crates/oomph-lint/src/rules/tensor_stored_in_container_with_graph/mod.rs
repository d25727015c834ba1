//! `tensor-stored-in-container-with-graph`: what a container keeps holds on to graphs.

use super::{Amount, Found, Rule, often};
use crate::facts::Facts;
use crate::interp::Trip;

pub(super) static RULE: Rule =
    Rule { name: "tensor-stored-in-container-with-graph", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for keep in facts.keeps() {
        if !keep.graph.is_likely() || keep.is_hook || facts.is_container_trained(keep.container) {
            continue;
        }
        let growth = facts.growth(keep);
        let Some(&around) = growth.last() else { continue };
        let is_freed = facts.is_freed_in(around, &keep.origins) || facts.is_trained_in(around, &keep.origins);
        let is_evaluation = facts.is_evaluation_by_name(&keep.calls, &growth);
        let is_known = is_freed || is_evaluation || facts.loop_facts(around).trip == Trip::Batches;
        if facts.escapes(keep.container) && !is_known || facts.may_be_trained_elsewhere(&keep.origins) && !is_freed {
            continue;
        }
        let amount = if is_freed { Amount::Small } else { Amount::Activations };
        let what = if is_freed { "the nodes of each graph" } else { "the activations of each graph" };
        let message = format!("what is stored here keeps {what}: store `.detach()`, `.item()` or a copy on the host");
        found.push(Found::new(&keep.at, amount, often(facts, &growth), message).sure(keep.graph));
    }
}
