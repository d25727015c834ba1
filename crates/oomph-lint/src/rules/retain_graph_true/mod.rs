//! `retain-graph-true`: a graph is kept after its backward pass although nothing goes through it again.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "retain-graph-true", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for backward in facts.backwards().filter(|backward| backward.retain == Some(true) && !backward.is_grad) {
        let is_used_again = facts.backwards().any(|other| {
            let shares = other.origins.sites().any(|site| backward.origins.sites().any(|own| own == site));
            other.at != backward.at && other.at > backward.at && (shares || backward.origins.is_empty())
        });
        if !is_used_again && backward.create_graph != Some(true) {
            let message = "`retain_graph=True` keeps the activations after the backward pass, and nothing goes through them again";
            found.push(Found::new(&backward.at, Amount::Activations, Often::Once, message));
        }
    }
}
