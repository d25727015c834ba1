//! `lbfgs-history`: L-BFGS remembers a hundred steps.

use crate::facts::Facts;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::whole_literal;

pub(super) static RULE: Rule = Rule {
    name: "lbfgs-history",
    group: Group::Optimizer,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "L-BFGS over a module's parameters keeps a long history of them.",
    why: "The method approximates curvature from the last steps and gradients, and keeps both for each of them, all \
          parameters long.",
    cost: "The size of the parameters times `history_size + 1`: 101 times with the default of 100.",
    instead: "`history_size=10`, or another optimizer for big models.",
    when_not: "The net is small, as nets that solve equations are.",
    programs: include_str!("lbfgs_history.py"),
    check,
};

/// Histories up to this are taken for chosen with care.
const MODEST: u64 = 20;

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.optim.LBFGS").chain(facts.calls_to("torch.optim.lbfgs.LBFGS")) {
        let of_module = matches!(call.arg(0), Some(Expr::Call(_)));
        let history = match call.keyword("history_size").or_else(|| call.arg(5)) {
            None => Some(100),
            Some(given) => whole_literal(given),
        };
        let Some(history) = history.filter(|history| of_module && *history > MODEST && !call.has_star()) else {
            continue;
        };
        report
            .add(call, format!("This keeps {} times the parameters", history + 1))
            .because(call, format!("its history is {history} steps long, and each step keeps all parameters"));
    }
}
