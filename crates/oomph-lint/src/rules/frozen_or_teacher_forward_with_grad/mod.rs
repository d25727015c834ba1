//! `frozen-or-teacher-forward-with-grad`: a module that nothing trains records a graph in a training loop.

use super::{Amount, Found, Often, Rule};
use crate::domain::Sure;
use crate::facts::Facts;
use crate::hints::is_reference_module_name;

pub(super) static RULE: Rule =
    Rule { name: "frozen-or-teacher-forward-with-grad", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for forward in facts.forwards() {
        if !forward.graph.is_likely() || forward.is_input_recorded || facts.is_optimized(forward.module) {
            continue;
        }
        let names = facts.names_of(forward.module).iter().chain(&forward.name);
        let is_named = names.into_iter().any(|name| is_reference_module_name(name));
        let is_reference = is_named || (forward.is_eval == Sure::Yes && facts.has_optimizer());
        // Another module is trained by the same backward pass.
        let with_others = facts.backwards().any(|backward| {
            let has_own = forward.origins.sites().any(|site| backward.origins.sites().any(|other| other == site));
            has_own && backward.origins.sites().count() > forward.origins.sites().count()
        });
        if is_reference && with_others {
            let message = "this module is only asked, and records a graph all the same: run it under `torch.no_grad()`";
            let sure = if is_named { Sure::Likely } else { forward.graph };
            found.push(Found::new(&forward.at, Amount::Activations, Often::Once, message).sure(sure));
        }
    }
}
