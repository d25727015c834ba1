//! `optimizer-given-frozen-parameters`: frozen parameters in the optimizer's list.

use crate::analysis::events::{At, BlockKind};
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "optimizer-given-frozen-parameters",
    group: Group::GradMode,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "An optimizer is given all parameters of a model that is partly frozen.",
    why: "State is made lazily, so a parameter without a gradient costs nothing at first. But one stray gradient, a weight \
          decay or a reload, and the optimizer keeps state for parameters that never train.",
    cost: "Up to two copies of the frozen parameters with Adam, once any of them gets a gradient.",
    instead: "`Adam(p for p in model.parameters() if p.requires_grad)`.",
    when_not: "Layers are unfrozen later on.",
    programs: include_str!("optimizer_given_frozen_parameters.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls().iter().filter(|call| call.result.kind == Kind::Optimizer) {
        let Some(given) = call.arg(0).or_else(|| call.keyword("params")) else { continue };
        let Some(model) = facts.source.slice(given.range()).strip_suffix(".parameters()") else { continue };
        let Some(frozen) = freezings(facts).into_iter().find(|found| {
            found.at.function == call.at.function
                && facts.is_always_before(&found.at, &call.at)
                && is_part_of(found.module, model)
        }) else {
            continue;
        };
        if thaws(facts) {
            continue;
        }
        let edits = vec![Edit::replace(given.range(), format!("(p for p in {model}.parameters() if p.requires_grad)"))];
        report
            .add(
                given,
                format!(
                    "The optimizer is given every parameter of `{model}`, the frozen ones of `{}` too",
                    frozen.module
                ),
            )
            .because(&frozen.range, "frozen here")
            .unsafe_fix("Give it the trainable ones", edits);
    }
}

struct Freezing<'f> {
    module: &'f str,
    range: TextRange,
    at: At,
}

/// Where the file freezes parameters, and whose.
fn freezings<'f>(facts: &'f Facts<'_>) -> Vec<Freezing<'f>> {
    let mut found = Vec::new();
    for call in facts.calls_named("requires_grad_") {
        let off = matches!(call.arg(0), Some(Expr::BooleanLiteral(literal)) if !literal.value);
        if let (true, Some(module)) = (off, call.receiver_expr()) {
            found.push(Freezing { module: facts.source.slice(module.range()), range: call.range(), at: call.at });
        }
    }
    for bind in facts.binds_of("requires_grad") {
        let off = matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if !literal.value);
        let walk = facts.blocks_around(&bind.at).find_map(|(id, block)| match block.kind {
            BlockKind::Loop(_, Stmt::For(node)) => Some((id, node)),
            _ => None,
        });
        let (true, Some((block, node))) = (off, walk) else { continue };
        let text = facts.source.slice(node.iter.range());
        let module = text.strip_suffix(".parameters()").or_else(|| text.strip_suffix(".named_parameters()"));
        if let Some(module) =
            module.filter(|_| facts.is_unconditional_in(&bind.at, block) || text.ends_with(".named_parameters()"))
        {
            // The loop counts, not the test of names in it: some of the parameters are frozen.
            let at = At { block: facts.block(block).parent, ..bind.at };
            found.push(Freezing { module, range: bind.target.range(), at });
        }
    }
    found
}

/// Whether a module is another one or a part of it: `model.layer1` of `model`.
fn is_part_of(part: &str, whole: &str) -> bool {
    part == whole || part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether anything in the file is made trainable again.
fn thaws(facts: &Facts<'_>) -> bool {
    let is_off = |expr: Option<&Expr>| matches!(expr, Some(Expr::BooleanLiteral(literal)) if !literal.value);
    facts.binds_of("requires_grad").any(|bind| !is_off(bind.value_expr))
        || facts.calls_named("requires_grad_").any(|call| !is_off(call.arg(0)))
}
