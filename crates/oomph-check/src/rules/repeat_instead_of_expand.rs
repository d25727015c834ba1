//! `repeat-instead-of-expand`: copies where a view would do.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Edit, Level, Safety};
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{is_number, uses_in, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "repeat-instead-of-expand",
    group: Group::Operations,
    level: Level::Warning,
    fix: Some(Safety::Unsafe),
    summary: "`repeat` copies a tensor that is only read by operations that broadcast or copy anyway.",
    why: "`repeat` writes every copy out. `expand` gives a view of the same shape that needs no memory, and arithmetic and \
          `torch.cat` read it just as well.",
    cost: "As many times the tensor as it is repeated, kept for backward where the operation saves its inputs.",
    instead: "`x.unsqueeze(1).expand(-1, n, -1)`, or no shape change at all where broadcasting does it.",
    when_not: "The result is written in place, or goes to a kernel that wants it contiguous.",
    examples: &[
        Example {
            bad: "\
import torch

def attend(hidden, encoder_outputs):
    length = encoder_outputs.shape[1]
    hidden = hidden.unsqueeze(1).repeat(1, length, 1)
    return torch.cat((hidden, encoder_outputs), dim=2)
",
            good: "\
import torch

def attend(hidden, encoder_outputs):
    length = encoder_outputs.shape[1]
    hidden = hidden.unsqueeze(1).expand(-1, length, -1)
    return torch.cat((hidden, encoder_outputs), dim=2)
",
        },
        Example {
            bad: "\
import torch

def embed(x, pos):
    return x + pos.unsqueeze(0).repeat(x.size(0), 1, 1)
",
            good: "\
import torch

def embed(x, pos):
    return x + pos.unsqueeze(0)
",
        },
    ],
    silent_on: &[
        "\
import torch

def tile(x):
    return x.repeat(2, 1) + 1
",
        "\
import torch

def rows(x, n):
    y = x.unsqueeze(0).repeat(n, 1)
    y[0] += 1
    return y + 1
",
        "\
import torch

def beams(x, n):
    return x.unsqueeze(1).repeat(1, n, 1).view(-1, x.size(-1))
",
        "\
words = 'ab' * 3 + 'c'
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("repeat") {
        let Some(expanded) = repeated_dimension(call) else { continue };
        let around = facts.around(call);
        let place = match facts.bound_name(call) {
            Some(name) => only_read(facts, call, name),
            None => around.first().and_then(|outer| reads(facts, &around, outer, call.node.range())),
        };
        let Some(place) = place else { continue };
        let text = facts.written(call);
        let text = if text.contains('\n') || text.len() > 60 { "repeat(...)" } else { text };
        report
            .add(call, format!("`{text}` writes out copies that are only read: `expand` needs no memory"))
            .because(&expanded, "the repeated dimension has one element")
            .because(&place, "this broadcasts or copies anyway")
            .unsafe_fix("Use `expand`", edits(call));
    }
}

/// Where the receiver gets the dimension that is repeated, when only that is: `unsqueeze(d)` and `repeat` at `d`.
fn repeated_dimension(call: &Call<'_>) -> Option<TextRange> {
    let Some(Expr::Call(receiver)) = call.receiver_expr() else { return None };
    let Expr::Attribute(method) = &*receiver.func else { return None };
    let (true, [dimension]) = (method.attr.as_str() == "unsqueeze", &*receiver.arguments.args) else { return None };
    let sizes = &call.node.arguments.args;
    if sizes.iter().any(Expr::is_starred_expr) || !call.node.arguments.keywords.is_empty() {
        return None;
    }
    let index = if is_number(dimension, -1) {
        sizes.len().checked_sub(1)?
    } else {
        usize::try_from(whole_number(dimension)?).ok()?
    };
    let others_stay = sizes.iter().enumerate().all(|(at, size)| (at == index) != is_number(size, 1));
    (others_stay && sizes.len() > 1 && index < sizes.len()).then(|| receiver.range())
}

/// Whether the expression around only reads: arithmetic or a concatenation.
fn reads(facts: &Facts<'_>, around: &[&Expr], outer: &Expr, inner: TextRange) -> Option<TextRange> {
    let is_cat = |call: &crate::python::ExprCall| {
        let name = facts.written(&*call.func);
        matches!(name.rsplit('.').next(), Some("cat" | "concat" | "concatenate")) && name.contains('.')
    };
    match outer {
        Expr::BinOp(node) if matches!(node.op, Operator::Add | Operator::Sub | Operator::Mult | Operator::Div) => {
            // Beside a number nothing broadcasts: the copies are the result.
            let other = if node.left.range() == inner { &node.right } else { &node.left };
            (!matches!(&**other, Expr::NumberLiteral(_) | Expr::UnaryOp(_))).then(|| node.range())
        }
        Expr::List(_) | Expr::Tuple(_) => match around.get(1) {
            Some(Expr::Call(call)) if is_cat(call) => Some(call.range()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether every read of the bound name is such a reading; where the first one is.
fn only_read(facts: &Facts<'_>, call: &Call<'_>, name: &str) -> Option<TextRange> {
    let body = facts.body_around(&call.at);
    let bound_twice = facts.binds_of(name).any(|bind| {
        bind.at.function == call.at.function && bind.at.order > call.at.order && bind.at.stmt != call.at.stmt
    });
    if bound_twice || call.at.function.is_none() {
        return None;
    }
    let after: Vec<_> = uses_in(body, name).into_iter().filter(|found| found.name.start() > call.node.end()).collect();
    let mut first = None;
    for found in &after {
        if found.stmt.is_aug_assign_stmt() {
            return None;
        }
        let outer = found.around.first()?;
        let place = reads(facts, &found.around, outer, found.name.range())?;
        first = first.or(Some(place));
    }
    first
}

fn edits(call: &Call<'_>) -> Vec<Edit> {
    let Expr::Attribute(method) = &*call.node.func else { return Vec::new() };
    let mut edits = vec![Edit::replace(method.attr.range(), "expand")];
    let ones = call.node.arguments.args.iter().filter(|size| is_number(size, 1));
    edits.extend(ones.map(|size| Edit::replace(size.range(), "-1")));
    edits
}
