//! `forward-hook-stores-output`: a hook keeps what it sees, with its graph.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "forward-hook-stores-output", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let message = "this hook keeps an activation and its graph: store `.detach()`, or what is computed from it";
    for keep in facts.keeps().filter(|keep| keep.is_hook && keep.graph.is_likely()) {
        if !facts.growth(keep).is_empty() && !facts.is_container_trained(keep.container) {
            found.push(Found::new(&keep.at, Amount::Activations, Often::Iteration, message).sure(keep.graph));
        }
    }
}
