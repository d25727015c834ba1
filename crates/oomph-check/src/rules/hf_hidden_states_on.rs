//! `hf-hidden-states-on`: hidden states or attentions are asked for and not read.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::uses_in;

pub(super) static RULE: Rule = Rule {
    name: "hf-hidden-states-on",
    group: Group::Frameworks,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: true,
    fix: Some(Safety::Safe),
    summary: "A forward pass returns hidden states or attentions that nobody reads.",
    why: "The output then refers to the result of every layer, so none can be freed before the output is. Attentions also \
          switch fused attention off.",
    cost: "Layers x batch x tokens x width numbers; with attentions, layers x batch x heads x tokens^2.",
    instead: "Leave the flag out.",
    when_not: "The states are read through an index, `out[2]`.",
    programs: include_str!("hf_hidden_states_on.py"),
    check,
};

/// Fields of an output that do not need the flags.
const PLAIN_FIELDS: &[&str] = &["logits", "loss", "pooler_output", "last_hidden_state", "start_logits", "end_logits"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    on_for_all(facts, report);
    for call in facts.calls() {
        for flag in ["output_hidden_states", "output_attentions"] {
            if !call.keyword_is(flag, true)
                || matches!(call.name, "from_pretrained" | "generate")
                || call.name.ends_with("Config")
            {
                continue;
            }
            let Some(read) = only_field_read(facts, call) else { continue };
            let Some(keyword) = call
                .node
                .arguments
                .keywords
                .iter()
                .find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == flag))
            else {
                continue;
            };
            report
                .add(keyword, format!("`{flag}` keeps the result of every layer, and nothing reads it"))
                .because(&read, "all that is read of the output")
                .safe_fix("Leave the flag out", facts.remove_argument(call, keyword.range()));
        }
    }
}

/// The flag given once for all forward passes, in a program that never reads what it keeps.
fn on_for_all(facts: &Facts<'_>, report: &mut Report) {
    const FLAG: &str = "output_hidden_states";
    let text = &facts.source.text;
    let by_place = ["[1]", "[2]", "[-1]", "[\"hidden_states\"]", "['hidden_states']", ".hidden_states"];
    let plain = PLAIN_FIELDS.iter().any(|field| facts.outline().attribute_reads.contains_key(field));
    if !plain || facts.attribute_reads("hidden_states") > 0 || by_place.iter().any(|way| text.contains(way)) {
        return;
    }
    let made = facts.calls().iter().filter(|call| call.name == "from_pretrained" && call.keyword_is(FLAG, true));
    let set = facts.binds_of(FLAG).filter(|bind| {
        bind.target.is_attribute_expr()
            && matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if literal.value)
    });
    let places = made.filter_map(|call| call.keyword(FLAG)).chain(set.filter_map(|bind| bind.value_expr));
    for place in places {
        report
            .add(place, format!("`{FLAG}` keeps the result of every layer, and nothing reads it"))
            .because(place, "on for every forward pass");
    }
}

/// Where the output is read, when only through fields that need no flag.
fn only_field_read(facts: &Facts<'_>, call: &Call<'_>) -> Option<crate::python::TextRange> {
    let plain = |expr: &Expr| matches!(expr, Expr::Attribute(node) if PLAIN_FIELDS.contains(&node.attr.as_str()));
    let around = facts.around(call);
    if let Some(outer) = around.first() {
        return plain(outer).then(|| outer.range());
    }
    let name = facts.bound_name(call)?;
    call.at.function?;
    let uses = uses_in(facts.body_around(&call.at), name);
    let once = facts.binds_of(name).filter(|bind| bind.at.function == call.at.function).count() == 1;
    let all = uses.iter().all(|found| found.around.first().is_some_and(|outer| plain(outer)));
    let first = uses.first()?;
    (once && all).then(|| first.name.range())
}
