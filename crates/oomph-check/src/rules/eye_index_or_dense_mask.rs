//! `eye-index-or-dense-mask`: a mask of length x length is made on every forward pass.

use crate::analysis::events::Call;
use crate::facts::{Facts, FunctionKind};
use crate::finding::Level;
use crate::python::ast::ExprSubscript;
use crate::python::{Expr, Ranged, Stmt, count_reads_in};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{last_name, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "eye-index-or-dense-mask",
    group: Group::Operations,
    level: Level::Warning,
    fix: None,
    summary: "A causal mask of 32-bit floats is made anew on every forward pass.",
    why: "A mask of length x length numbers, and the triangle cut from it, exist beside the scores on every call, though \
          they never change and fused attention needs no mask at all to be causal.",
    cost: "4 bytes x length^2, twice: 8 GB at 32,768 tokens; 1 GB as truth values.",
    instead: "`scaled_dot_product_attention(..., is_causal=True)`, or a boolean buffer registered once.",
    when_not: "The length is small.",
    examples: &[
        Example {
            bad: "\
import torch

VOCABULARY = 50_257

def one_hot(tokens):
    return torch.eye(VOCABULARY)[tokens]
",
            good: "\
import torch

table = torch.nn.Embedding(50_257, 64)

def embed(tokens):
    return table(tokens)
",
        },
        Example {
            bad: "\
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        n = q.size(-2)
        mask = torch.tril(torch.ones(n, n, device=q.device))
        scores = (q @ k.transpose(-2, -1)).masked_fill(mask == 0, float('-inf'))
        return scores.softmax(-1), v
",
            good: "\
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True), v
",
        },
    ],
    silent_on: &[
        "\
import torch

def one_hot(labels, classes=10):
    return torch.eye(classes)[labels]
",
        "\
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer('mask', torch.tril(torch.ones(n, n)))
",
        "\
import torch
from torch import nn

class Small(nn.Module):
    def forward(self, x):
        return x * torch.tril(torch.ones(8, 8))
",
        "\
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        n = x.size(1)
        return torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    indexed_eye(facts, report);
    for call in ["tril", "triu"].iter().flat_map(|name| facts.calls_named(name)) {
        let by_torch = facts.full_name(call).is_some_and(|name| matches!(name, "torch.tril" | "torch.triu"));
        let inner = if by_torch { call.arg(0) } else { call.receiver_expr() };
        let Some(square) = inner.and_then(|inner| facts.call_at(inner)).filter(|inner| is_square(facts, inner)) else {
            continue;
        };
        if facts.kind_at(&call.at) != FunctionKind::Forward || is_guarded(facts, call) || goes_small(facts, call) {
            continue;
        }
        let size = square.arg(0).map_or("n", |size| facts.written(size));
        report
            .add(
                call,
                format!(
                    "A mask of {size} x {size} numbers is made on every forward pass, and a second one for its triangle"
                ),
            )
            .level(Level::Info)
            .because(square, "32 bits or more each, and as many as there are scores")
            .because(&call.node.func.range(), "the same at every call");
    }
}

/// `torch.eye(n)[index]` with a large `n`: a table of n x n to pick rows of zeros from.
fn indexed_eye(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.eye") {
        let Some(size) = call.arg(0) else { continue };
        let large = |value: &Expr| whole_number(value).is_some_and(|number| number >= 4096);
        let many = large(size)
            || last_name(size)
                .is_some_and(|name| name == "vocab_size" || facts.given_at(name, &call.at).into_iter().any(large));
        let around = facts.around(call);
        let picked = around.iter().find(|outer| !matches!(outer, Expr::Attribute(_) | Expr::Call(_)));
        let Some(Expr::Subscript(picked)) = picked else { continue };
        if !picked.value.range().contains_range(call.node.range()) {
            continue;
        }
        let some = |value: &Expr| whole_number(value).is_some_and(|number| number >= 64);
        let classes = || {
            some(size)
                || last_name(size).is_some_and(|name| {
                    facts.given_at(name, &call.at).into_iter().all(some) && facts.given_to(name).next().is_some()
                })
        };
        if !many && classes() && picks_for_pixels(facts, call, picked) {
            let (size, index) = (facts.written(size), facts.written(&*picked.slice));
            report
                .add(
                    call,
                    format!(
                        "Every element of `{index}` becomes a row of {size} numbers: {size} times the memory and more"
                    ),
                )
                .because(&picked.slice.range(), "one index for each pixel, voxel or token");
        }
        if many {
            let size = facts.written(size);
            report
                .add(call, format!("A table of {size} x {size} numbers is made to pick rows of zeros from"))
                .because(&picked.slice.range(), "each index takes one row");
        }
    }
}

/// Whether the index has three dimensions or more, by what is done with the rows: `.permute(0, 3, 1, 2)`, `.flatten(0, 2)`.
fn picks_for_pixels(facts: &Facts<'_>, call: &Call<'_>, picked: &ExprSubscript) -> bool {
    let bound = match facts.statement(call.at.stmt).map(|found| found.node) {
        Some(Stmt::Assign(assign)) if assign.value.range() == picked.range() => {
            assign.targets.first().and_then(|target| target.as_name_expr())
        }
        _ => None,
    };
    let of_rows = |other: &&Call<'_>| {
        let reads = |receiver: &Expr| {
            receiver.range().contains_range(picked.range())
                || bound.is_some_and(|name| count_reads_in(receiver, name.id.as_str()) > 0)
        };
        other.at.function == call.at.function && other.receiver_expr().is_some_and(reads)
    };
    let many = |count: usize| move |other: &Call<'_>| other.node.arguments.args.len() >= count;
    let from_third = |other: &Call<'_>| other.arg(1).and_then(whole_number).is_some_and(|last| last >= 2);
    facts.calls_named("permute").filter(of_rows).any(many(4))
        || facts.calls_named("flatten").filter(of_rows).any(from_third)
}

/// `torch.ones(n, n)` in floats, with `n` not a small number.
fn is_square(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let made = facts.full_name(call).is_some_and(|name| matches!(name, "torch.ones" | "torch.full"));
    let sizes: Vec<&str> = match (&*call.node.arguments.args, call.arg(0)) {
        ([Expr::Tuple(shape), ..], _) => shape.elts.iter().map(|size| facts.written(size)).collect(),
        (args, _) => args.iter().take(2).map(|size| facts.written(size)).collect(),
    };
    let small = call.arg(0).and_then(whole_number).is_some_and(|size| size < 1024);
    let narrow = call
        .keyword("dtype")
        .is_some_and(|dtype| ["bool", "int8", "16"].iter().any(|word| facts.written(dtype).contains(word)));
    made && sizes.len() == 2 && sizes[0] == sizes[1] && !small && !narrow
}

/// Whether it is made when the one at hand is too small, and kept.
fn is_guarded(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    use crate::analysis::events::BlockKind;
    let tested =
        facts.blocks_around(&call.at).any(|(_, block)| matches!(block.kind, BlockKind::If(_) | BlockKind::Else(_)));
    let statement = facts.statement(call.at.stmt).map_or("", |found| facts.written(found.node));
    tested || statement.contains("self.") && statement.split('=').next().is_some_and(|target| target.contains("self."))
}

/// Whether the result is made narrow at once.
fn goes_small(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts
        .around(call)
        .iter()
        .filter_map(|outer| facts.call_at(outer))
        .any(|outer| matches!(outer.name, "bool" | "to" | "type"))
}
