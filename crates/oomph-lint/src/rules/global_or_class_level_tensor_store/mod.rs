//! `global-or-class-level-tensor-store`: a container that lives as long as the program keeps tensors on the card.

use super::{Amount, Found, Rule, often};
use crate::domain::{Size, Sure};
use crate::facts::Facts;
use crate::interp::Trip;

pub(super) static RULE: Rule =
    Rule { name: "global-or-class-level-tensor-store", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for keep in facts.keeps() {
        let is_large = keep.card.is_likely() && keep.size > Size::Small;
        if keep.graph > Sure::No || !is_large || !facts.is_shared(keep.container) || keep.calls.len() < 2 {
            continue;
        }
        let growth = facts.growth(keep);
        // Outputs of a loader's loop are told by `gather-predictions-on-gpu`.
        let is_gathered = keep.is_output && growth.iter().any(|number| facts.loop_facts(*number).trip == Trip::Batches);
        if !growth.is_empty() && !is_gathered {
            let message = "this container lives as long as the program and keeps tensors on the card: bound it, or keep them on the host";
            found.push(Found::new(&keep.at, Amount::Batch, often(facts, &growth), message).sure(keep.card));
        }
    }
}
