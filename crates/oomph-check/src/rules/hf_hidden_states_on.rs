//! `hf-hidden-states-on`: hidden states or attentions are asked for and not read.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Level, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::uses_in;

pub(super) static RULE: Rule = Rule {
    name: "hf-hidden-states-on",
    group: Group::Frameworks,
    level: Level::Info,
    fix: Some(Safety::Safe),
    summary: "A forward pass returns hidden states or attentions that nobody reads.",
    why: "The output then refers to the result of every layer, so none can be freed before the output is. Attentions also \
          switch fused attention off.",
    cost: "Layers x batch x tokens x width numbers; with attentions, layers x batch x heads x tokens^2.",
    instead: "Leave the flag out.",
    when_not: "The states are read through an index, `out[2]`.",
    examples: &[Example {
        bad: "\
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
with torch.no_grad():
    pooled = model(**batch, output_hidden_states=True).pooler_output
",
        good: "\
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
with torch.no_grad():
    pooled = model(**batch).pooler_output
",
    }],
    silent_on: &[
        "\
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
out = model(**batch, output_hidden_states=True)
print(out.last_hidden_state, out.hidden_states[-2])
",
        "\
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
out = model(**batch, output_attentions=True)
print(out[0], out[-1])
",
    ],
    check,
};

/// Fields of an output that do not need the flags.
const PLAIN_FIELDS: &[&str] = &["logits", "loss", "pooler_output", "last_hidden_state", "start_logits", "end_logits"];

fn check(facts: &Facts<'_>, report: &mut Report) {
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
