//! `repeat-instead-of-expand`: copies where a view would do.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, last_name, string_of, uses_in, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "repeat-instead-of-expand",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`repeat` copies a tensor that is only read by operations that broadcast or copy anyway.",
    why: "`repeat` writes every copy out. `expand` gives a view of the same shape that needs no memory, and arithmetic and \
          `torch.cat` read it just as well.",
    cost: "As many times the tensor as it is repeated, kept for backward where the operation saves its inputs.",
    instead: "`x.unsqueeze(1).expand(-1, n, -1)`, or no shape change at all where broadcasting does it.",
    when_not: "The result is written in place, or goes to a kernel that wants it contiguous.",
    programs: include_str!("repeat_instead_of_expand.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("repeat") {
        let Some(expanded) = repeated_dimension(facts, call) else { continue };
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

/// The tensor that is repeated, when that is so in one dimension only, and it has one element there.
fn repeated_dimension(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let sizes = match &*call.node.arguments.args {
        [Expr::Tuple(sizes)] => &sizes.elts[..],
        sizes => sizes,
    };
    if sizes.iter().any(Expr::is_starred_expr) || !call.node.arguments.keywords.is_empty() {
        return None;
    }
    let mut repeated = (0..sizes.len()).filter(|at| !is_number(&sizes[*at], 1));
    let (Some(index), None) = (repeated.next(), repeated.next()) else { return None };
    let receiver = call.receiver_expr()?;
    // Tables of indices are small.
    if ["arange(", "linspace("].iter().any(|maker| facts.written(receiver).contains(maker)) {
        return None;
    }
    (sizes.len() > 1 && has_one(facts, receiver, index, sizes.len(), 2)).then(|| receiver.range())
}

/// Whether a tensor of so many dimensions has one element in this one, by the way it was made.
fn has_one(facts: &Facts<'_>, tensor: &Expr, index: usize, rank: usize, hops: u32) -> bool {
    match tensor {
        Expr::Call(made) => match &*made.func {
            Expr::Attribute(method) if method.attr.as_str() == "unsqueeze" => match &*made.arguments.args {
                [dimension] if is_number(dimension, -1) => index + 1 == rank,
                [dimension] => whole_number(dimension) == Some(index as u64),
                _ => false,
            },
            Expr::Attribute(method)
                if matches!(method.attr.as_str(), "to" | "cuda" | "float" | "half" | "type_as" | "detach") =>
            {
                has_one(facts, &method.value, index, rank, hops)
            }
            Expr::Attribute(method) if matches!(method.attr.as_str(), "view" | "reshape") => {
                size_at(&made.arguments.args, index, rank).is_some_and(|size| is_number(size, 1))
            }
            func if last_name(func) == Some("Parameter") => {
                made.arguments.args.first().is_some_and(|data| has_one(facts, data, index, rank, hops))
            }
            func => {
                let maker = last_name(func)
                    .is_some_and(|name| matches!(name, "zeros" | "ones" | "rand" | "randn" | "empty" | "full"));
                maker && size_at(&made.arguments.args, index, rank).is_some_and(|size| is_number(size, 1))
            }
        },
        Expr::BinOp(node) if matches!(&*node.right, Expr::NumberLiteral(_)) => {
            has_one(facts, &node.left, index, rank, hops)
        }
        // `x[None]`, `x[:, None]`.
        Expr::Subscript(node) => {
            let items = match &*node.slice {
                Expr::Tuple(items) => &items.elts[..],
                item => std::slice::from_ref(item),
            };
            let plain = items.iter().all(|item| item.is_none_literal_expr() || is_whole_slice(item));
            // `self.positions[:, :length]` has as many dimensions as before, and one element where there was one.
            let cut = items.iter().all(Expr::is_slice_expr) && items.get(index).is_none_or(is_whole_slice);
            plain && items.get(index).is_some_and(Expr::is_none_literal_expr)
                || cut && has_one(facts, &node.value, index, rank, hops)
        }
        // An attribute or a name that is only ever bound to such: a learnt token, a table of positions.
        Expr::Attribute(_) | Expr::Name(_) => {
            let (Some(name), Some(hops)) = (last_name(tensor), hops.checked_sub(1)) else { return false };
            let one = |value: &Expr| has_one(facts, value, index, rank, hops);
            // `pos = self.pos.repeat(...)` binds a name, not the attribute.
            let same_kind = tensor.is_attribute_expr();
            let mut values =
                facts.binds_of(name).filter(|bind| bind.target.is_attribute_expr() == same_kind).peekable();
            if values.peek().is_none() {
                return registered(facts, name).is_some_and(one);
            }
            values.all(|bind| bind.value_expr.is_some_and(one))
        }
        _ => false,
    }
}

/// What a module registers under a name: `self.register_buffer("grid", torch.zeros(1, n, d))`.
fn registered<'a>(facts: &Facts<'a>, name: &str) -> Option<&'a Expr> {
    let calls = ["register_buffer", "register_parameter"].into_iter().flat_map(|method| facts.calls_named(method));
    let mut own = calls.filter(|call| call.arg(0).and_then(string_of) == Some(name));
    match (own.next(), own.next()) {
        (Some(only), None) => only.arg(1),
        _ => None,
    }
}

/// One of the sizes a tensor is made with: `torch.zeros(1, n, d)`, `torch.zeros((1, n, d))`.
fn size_at(args: &[Expr], index: usize, rank: usize) -> Option<&Expr> {
    let sizes = match args {
        [Expr::Tuple(sizes), ..] => &sizes.elts[..],
        [Expr::List(sizes), ..] => &sizes.elts[..],
        sizes => sizes,
    };
    (sizes.len() == rank && !sizes.iter().any(Expr::is_starred_expr)).then(|| &sizes[index])
}

fn is_whole_slice(item: &Expr) -> bool {
    matches!(item, Expr::Slice(slice) if slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none())
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
    if bound_twice {
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
    let sizes = match &*call.node.arguments.args {
        [Expr::Tuple(sizes)] => &sizes.elts[..],
        sizes => sizes,
    };
    let ones = sizes.iter().filter(|size| is_number(size, 1));
    edits.extend(ones.map(|size| Edit::replace(size.range(), "-1")));
    edits
}
