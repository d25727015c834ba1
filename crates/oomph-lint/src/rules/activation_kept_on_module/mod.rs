//! `activation-kept-on-module`: a forward pass stores what it computes on its module.

use super::{Amount, Found, Often, Rule};
use crate::domain::Size;
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "activation-kept-on-module", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for keep in facts.attr_keeps() {
        if keep.is_module && keep.is_in_forward && !keep.is_hook && keep.size > Size::Small {
            let message = format!(
                "`{}` keeps this activation and its graph until the next forward pass: store `.detach()`, or return it",
                keep.attr
            );
            found.push(Found::new(&keep.at, Amount::Activations, Often::Once, message).sure(keep.graph));
        }
    }
}
