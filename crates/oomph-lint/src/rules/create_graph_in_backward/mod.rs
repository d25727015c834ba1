//! `create-graph-in-backward`: parameters and their gradients refer to one another.

use super::{Amount, Found, Often, Rule};
use crate::facts::Facts;

pub(super) static RULE: Rule = Rule { name: "create-graph-in-backward", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for backward in facts.backwards().filter(|backward| backward.create_graph == Some(true) && !backward.is_grad) {
        let message = "`backward(create_graph=True)` makes parameters and gradients refer to one another: use `torch.autograd.grad`";
        found.push(Found::new(&backward.at, Amount::Activations, Often::Iteration, message));
    }
}
