//! `foreach-peak`: the step of an optimizer needs room for another set of parameters.

use crate::facts::Facts;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "foreach-peak",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "The optimizer works on all parameters at once, with intermediate results for all of them.",
    why: "On CUDA the default implementation handles the parameters as one list. It is fast, and holds the intermediate \
          results of a step for all of them at the same time.",
    cost: "About the size of the parameters, during the step. It is the peak only where activations are small.",
    instead: "`fused=True`, which is faster still and keeps no intermediates, or `foreach=False`.",
    when_not: "The peak is in the forward or backward pass, or `fused` does not support the data type or device.",
    programs: include_str!("foreach_peak.py"),
    check,
};

/// Optimizers whose default on CUDA is the implementation for lists.
const FOREACH: &[&str] =
    &["Adam", "AdamW", "SGD", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "ASGD"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    let on_gpu = facts.source.text.contains("cuda");
    for call in facts.calls_under("torch.optim.").filter(|call| FOREACH.contains(&call.name)) {
        let chosen = ["fused", "foreach"].iter().any(|name| call.keyword(name).is_some());
        let plain = call.name == "SGD" && call.keyword("momentum").is_none();
        if !on_gpu || chosen || plain || call.has_star() {
            continue;
        }
        report
            .add(call, "A step of this optimizer needs room for about one more set of parameters")
            .because(call, "neither `fused` nor `foreach` is given, so CUDA parameters are handled as one list");
    }
}
