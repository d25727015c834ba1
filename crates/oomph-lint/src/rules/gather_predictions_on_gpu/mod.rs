//! `gather-predictions-on-gpu`: outputs of all batches gathered on the card.

use super::{Amount, Found, Often, Rule};
use crate::domain::{Size, Sure};
use crate::facts::Facts;
use crate::interp::Trip;

pub(super) static RULE: Rule = Rule { name: "gather-predictions-on-gpu", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for keep in facts.keeps() {
        let is_output = keep.is_output && keep.size == Size::Batch && keep.card.is_likely();
        if keep.graph > Sure::No || !is_output || keep.is_hook {
            continue;
        }
        let growth = facts.growth(keep);
        if growth.iter().any(|number| facts.loop_facts(*number).trip == Trip::Batches) {
            let message = "the outputs of all batches are gathered on the card: move each to the host with `.cpu()`";
            found.push(Found::new(&keep.at, Amount::Batch, Often::Iteration, message).sure(keep.card));
        }
    }
}
