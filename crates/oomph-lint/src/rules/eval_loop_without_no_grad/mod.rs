//! `eval-loop-without-no-grad`: a forward pass that nothing trains records a graph.

use super::{Amount, Found, Often, Rule};
use crate::facts::{Evaluation, Facts};
use crate::interp::Trip;

pub(super) static RULE: Rule = Rule { name: "eval-loop-without-no-grad", page: include_str!("page.md"), check };

fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for forward in facts.forwards() {
        if !forward.graph.is_likely() || forward.is_input_recorded {
            continue;
        }
        if facts.is_trained(&forward.origins) || facts.may_be_trained_elsewhere(&forward.origins) {
            continue;
        }
        let Some(evaluation) = facts.evaluation(forward) else { continue };
        let is_in_loop = forward.loops.iter().any(|number| {
            facts.loop_facts(*number).trip == Trip::Batches || (facts.is_long(*number) && !facts.is_open_loop(*number))
        });
        let is_returned = facts.is_returned(&forward.origins);
        if !is_in_loop && (is_returned || evaluation == Evaluation::Name) {
            continue;
        }
        let at = facts.place_in_loop(&forward.at, &forward.calls, &forward.loops);
        let message = "evaluation records a graph that nothing uses: run it under `torch.no_grad()` or `torch.inference_mode()`";
        let sure = if evaluation == Evaluation::Mode { forward.graph } else { crate::domain::Sure::Likely };
        found.push(Found::new(&at, Amount::Activations, Often::Once, message).sure(sure));
    }
}
