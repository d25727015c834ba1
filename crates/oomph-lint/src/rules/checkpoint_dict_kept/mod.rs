//! `checkpoint-dict-kept`: a checkpoint stays on the card beside the model it was loaded into.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "checkpoint-dict-kept", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for loading in facts.loadings().filter(|loading| loading.has_map_location && loading.card.is_likely()) {
        if loading.is_into_module && loading.stays {
            let message = "the checkpoint stays on the card beside the model: load it to the host, or delete it";
            found.push(Found::new(&loading.at, Amount::Model, Often::Once, message).sure(loading.card));
        }
    }
}
