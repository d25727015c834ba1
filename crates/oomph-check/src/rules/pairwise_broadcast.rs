//! `pairwise-broadcast`: all differences are written out to sum them up.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, count_reads, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "pairwise-broadcast",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "Distances between all pairs are computed through a tensor of all differences.",
    why: "Subtracting with two new axes makes N x M x D numbers to get N x M distances, and squaring them makes as many \
          again, which backward keeps.",
    cost: "4 x N x M x D bytes, twice or three times over: 10,000 by 10,000 points of 64 numbers are 26 GB each.",
    instead: "`torch.cdist(a, b)`, or `|a|^2 + |b|^2 - 2ab` by matrix product, or chunks of rows.",
    when_not: "N and M are small, or the gradient at distance zero matters (`cdist` gives zero there).",
    programs: include_str!("pairwise_broadcast.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.torch_name().is_none() || facts.is_test_file() {
        return;
    }
    for call in facts.calls() {
        let by_torch =
            facts.full_name(call).is_some_and(|name| matches!(name, "torch.sum" | "torch.norm" | "torch.linalg.norm"));
        let reduced = match call.name {
            "sum" | "norm" if by_torch => call.arg(0),
            "sum" | "norm" if facts.full_name(call).is_none() => call.receiver_expr(),
            _ => continue,
        };
        let dimension =
            call.keyword("dim").or_else(|| call.keyword("axis")).or_else(|| call.node.arguments.args.last());
        let (Some(reduced), Some(dimension)) = (reduced, dimension) else { continue };
        let last = is_number(dimension, -1) || is_number(dimension, 2) || is_number(dimension, 3);
        let differences = match call.name {
            "sum" => squared(reduced),
            _ => Some(reduced),
        };
        let named = differences.and_then(|expr| only_reduced(facts, call, expr));
        let Some(pair) = named.or(differences).and_then(all_pairs) else { continue };
        if !last || is_small(facts, pair) || is_numpy(facts, call) || is_of_few_rows(facts, pair, call) {
            continue;
        }
        if is_of_few_things(facts, pair, call) {
            continue;
        }
        report
            .add(call, "All pairs are subtracted into one N x M x D tensor to get N x M distances")
            .doubtful_if(prepares_samples(facts, call))
            .because(pair, "this has every pair and every coordinate");
    }
}

/// What is squared or made absolute: `x.pow(2)`, `x ** 2`, `x.square()`, `x.abs()`, `torch.abs(x)`.
fn squared(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::BinOp(node) if node.op == Operator::Pow && is_number(&node.right, 2) => Some(&node.left),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => match (method.attr.as_str(), &*call.arguments.args) {
                ("pow", [two]) if is_number(two, 2) => Some(&method.value),
                ("pow", [inner, two]) if is_number(two, 2) => Some(inner),
                ("square" | "abs", []) => Some(&method.value),
                ("square" | "abs", [inner]) => Some(inner),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// What a name was bound to in the same function, when nothing but this reduction reads it.
fn only_reduced<'a>(facts: &Facts<'a>, call: &Call<'a>, expr: &Expr) -> Option<&'a Expr> {
    let Expr::Name(name) = expr else { return None };
    let mut binds = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == call.at.function);
    let (Some(only), None) = (binds.next(), binds.next()) else { return None };
    let reads = count_reads(facts.body_around(&call.at), name.id.as_str());
    only.value_expr.filter(|_| reads == 1)
}

/// The subtraction of two tensors with a new axis each, at different places.
fn all_pairs(expr: &Expr) -> Option<&Expr> {
    let Expr::BinOp(node) = expr else { return None };
    let (left, right) = (new_axis(&node.left)?, new_axis(&node.right)?);
    (node.op == Operator::Sub && left != right).then_some(expr)
}

/// The place of the axis that `x[:, None]` or `x.unsqueeze(1)` adds.
fn new_axis(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Subscript(node) => match &*node.slice {
            Expr::NoneLiteral(_) => Some(0),
            Expr::Tuple(tuple) => {
                let plain = tuple.elts.iter().all(|item| match item {
                    Expr::NoneLiteral(_) | Expr::EllipsisLiteral(_) => true,
                    Expr::Slice(slice) => slice.lower.is_none() && slice.upper.is_none(),
                    _ => false,
                });
                let mut nones = tuple.elts.iter().enumerate().filter(|(_, item)| item.is_none_literal_expr());
                let (first, more) = (nones.next(), nones.next());
                if plain && more.is_none() { first.map(|(at, _)| at as u64) } else { None }
            }
            _ => None,
        },
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Attribute(method), [axis]) if method.attr.as_str() == "unsqueeze" => {
                if is_number(axis, -1) {
                    None
                } else {
                    crate::uses::whole_number(axis)
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// Few rows by name: centres, anchors, corners, cameras and joints come in dozens; coordinates of boxes have two.
fn is_small(facts: &Facts<'_>, pair: &Expr) -> bool {
    let text = facts.written(&pair.range()).to_ascii_lowercase();
    ["xy", "[:2]", ":2]", "box", "cent", "anchor", "corner", "offset"].iter().any(|word| text.contains(word))
        || is_of_few_views(pair)
}

/// `cams[:, None] - cams[None]`.
fn is_of_few_views(pair: &Expr) -> bool {
    let Expr::BinOp(node) = pair else { return false };
    [&node.left, &node.right].into_iter().filter_map(|side| root_name(side)).any(|name| {
        let name = name.to_ascii_lowercase();
        ["cam", "view", "joint"].iter().any(|word| name.contains(word))
    })
}

/// Whether one side is made with a few rows in plain sight: `torch.rand((20, 2))`.
fn is_of_few_rows(facts: &Facts<'_>, pair: &Expr, call: &Call<'_>) -> bool {
    const FEW: u64 = 128;
    let Expr::BinOp(node) = pair else { return false };
    [&node.left, &node.right].into_iter().filter_map(|side| root_name(side)).any(|name| {
        facts.binds_of(name).filter(|bind| bind.at.function == call.at.function).any(|bind| {
            let Some(value) = bind.value_expr else { return false };
            facts.calls_under("torch.").filter(|made| value.range().contains_range(made.range())).any(|made| {
                let rows = match made.arg(0) {
                    Some(Expr::Tuple(sizes)) => sizes.elts.first().and_then(whole_number),
                    Some(first) if made.node.arguments.args.len() > 1 => whole_number(first),
                    _ => None,
                };
                matches!(made.name, "rand" | "randn" | "zeros" | "ones" | "empty" | "randint")
                    && rows.is_some_and(|rows| rows <= FEW)
            })
        })
    })
}

/// Whether a side comes from what is few by its nature, or has two coordinates, a few names back: players, agents,
/// joints, `nodes[index, :2]`.
fn is_of_few_things(facts: &Facts<'_>, pair: &Expr, call: &Call<'_>) -> bool {
    const FEW: &[&str] =
        &["player", "agent", "joint", "keypoint", "landmark", "pedestrian", "robot", "vehicle", ":2]", "0:2]", "xy"];
    const STEPS: usize = 3;
    let is_few = |text: &str| {
        let lower = text.to_ascii_lowercase();
        FEW.iter().any(|word| lower.contains(word))
    };
    let Expr::BinOp(node) = pair else { return false };
    let mut names: Vec<&str> = [&node.left, &node.right].into_iter().filter_map(|side| root_name(side)).collect();
    for _ in 0..STEPS {
        if names.iter().any(|name| is_few(name)) {
            return true;
        }
        let made: Vec<&Expr> = names
            .iter()
            .flat_map(|name| facts.binds_of(name))
            .filter(|bind| bind.at.function == call.at.function)
            .filter_map(|bind| bind.value_expr)
            .collect();
        if made.iter().any(|value| is_few(facts.written(*value))) {
            return true;
        }
        names = made.iter().filter_map(|value| source_of(value)).collect();
    }
    false
}

/// The name a value is computed from: `x` of `x[index]`, `x.float()`, `scale(x)`.
fn source_of(value: &Expr) -> Option<&str> {
    match value {
        Expr::Call(call) if call.func.is_name_expr() => call.arguments.args.first().and_then(root_name),
        other => root_name(other),
    }
}

/// Whether this prepares one sample at a time, on the CPU: a handful of candidates, not a cloud of points.
fn prepares_samples(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let class = facts.class_around(&call.at).map(|class| &facts.outline().classes[class.index as usize]);
    class.is_some_and(|class| class.node.name.ends_with("Processing"))
}

fn is_numpy(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let array = |value: &crate::analysis::value::Value| value.kind == crate::analysis::value::Kind::Array;
    let numpy_only = facts.written(call).contains("np.");
    numpy_only || call.receiver.as_ref().is_some_and(array) || call.args.first().is_some_and(array)
}
