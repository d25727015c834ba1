//! `mha-need-weights`: attention weights are made and thrown away.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Level, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{is_number, last_name, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "mha-need-weights",
    group: Group::Operations,
    level: Level::Warning,
    fix: Some(Safety::Unsafe),
    summary: "`nn.MultiheadAttention` returns attention weights that nobody reads.",
    why: "`need_weights` is true unless told otherwise. The module then makes the full table of weights, averages it over \
          heads, keeps it for backward, and cannot use a fused kernel, which never makes that table.",
    cost: "Batch x heads x length x length numbers a layer, several times over: 2 GB at batch 8, 16 heads and 2,048 \
           tokens in float32.",
    instead: "`attention(q, k, v, need_weights=False)`.",
    when_not: "The weights are read somewhere, a forward hook for instance.",
    examples: &[
        Example {
            bad: "\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8, batch_first=True)

    def forward(self, x):
        out, _ = self.attn(x, x, x)
        return x + out
",
            good: "\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8, batch_first=True)

    def forward(self, x):
        out, _ = self.attn(x, x, x, need_weights=False)
        return x + out
",
        },
        Example {
            bad: "\
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads)

    def forward(self, x, mask):
        return x + self.self_attn(x, x, value=x, attn_mask=mask)[0]
",
            good: "\
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads)

    def forward(self, x, mask):
        return x + self.self_attn(x, x, value=x, attn_mask=mask, need_weights=False)[0]
",
        },
    ],
    silent_on: &[
        "\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        out, weights = self.attn(x, x, x)
        return x + out, weights
",
        "\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        result = self.attn(x, x, x)
        return x + result[0], result[1]
",
        "\
from torch import nn
from mine import MultiheadAttention

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = MultiheadAttention(512, 8)

    def forward(self, x):
        out, _ = self.attn(x, x, x)
        return out
",
        "\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(512, 8)

    def forward(self, x):
        out, _ = self.attn(x, x, x, None, False)
        return out
",
    ],
    check,
};

const ATTENTION: &str = "torch.nn.MultiheadAttention";

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls() {
        let Some(name) = last_name(&call.node.func) else { continue };
        // Positions: query, key, value, key_padding_mask, need_weights.
        let is_told = call.keyword("need_weights").is_some() || call.args.len() > 4 || call.has_star();
        if is_told || call.args.is_empty() || !facts.is_made_by(name, ATTENTION) {
            continue;
        }
        let Some(dropped) = weights_dropped(facts, call) else { continue };
        let made = facts.binds_of(name).find_map(|bind| bind.value_expr);
        let attention = facts.written(&*call.node.func);
        report
            .add(call, format!("`{attention}` makes the whole table of attention weights, and nothing reads it"))
            .because(&dropped, "the weights are dropped here")
            .because_if(made.map(Ranged::range), "`need_weights` is true unless told otherwise")
            .unsafe_fix("Do not make the weights", facts.add_argument(call, "need_weights=False"));
    }
}

/// Where the second result is thrown away.
fn weights_dropped(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let statement = facts.statement(call.at.stmt)?.node;
    let around = crate::uses::expressions_around(statement, call.node.range());
    if let Some(Expr::Subscript(subscript)) = around.first() {
        return is_number(&subscript.slice, 0).then(|| subscript.slice.range());
    }
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], true) = (assign.targets.as_slice(), assign.value.range() == call.node.range()) else {
        return None;
    };
    match targets.elts.as_slice() {
        [_, Expr::Name(weights)] => {
            let unread = uses_in(facts.body_around(&call.at), weights.id.as_str()).is_empty();
            unread.then(|| weights.range())
        }
        _ => None,
    }
}
