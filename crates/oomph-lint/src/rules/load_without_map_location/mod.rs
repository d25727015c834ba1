//! `load-without-map-location`: weights are read to the card they were saved from, beside those already there.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "load-without-map-location", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for loading in facts.loadings().filter(|loading| !loading.has_map_location) {
        let costs = loading.is_into_card.is_likely() || facts.is_distributed() || loading.is_kept;
        if costs {
            let message = "without `map_location` this loads to the card it was saved from: pass `map_location=\"cpu\"`";
            found.push(Found::new(&loading.at, Amount::Model, Often::Once, message));
        }
    }
}
