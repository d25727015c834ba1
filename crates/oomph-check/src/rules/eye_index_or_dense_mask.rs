//! `eye-index-or-dense-mask`: a mask of length x length is made on every forward pass.

use crate::analysis::events::Call;
use crate::facts::{Facts, FunctionKind};
use crate::python::ast::ExprSubscript;
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, reads_of, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "eye-index-or-dense-mask",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A causal mask of 32-bit floats is made anew on every forward pass.",
    why: "A mask of length x length numbers, and the triangle cut from it, exist beside the scores on every call, though \
          they never change and fused attention needs no mask at all to be causal.",
    cost: "4 bytes x length^2, twice: 8 GB at 32,768 tokens; 1 GB as truth values.",
    instead: "`scaled_dot_product_attention(..., is_causal=True)`, or a boolean buffer registered once.",
    when_not: "The length is small.",
    programs: include_str!("eye_index_or_dense_mask.py"),
    check,
};

/// Fewer rows than this are no matter.
const MANY: u64 = 4096;

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
            .doubtful_if(true)
            .because(square, "32 bits or more each, and as many as there are scores")
            .because(&call.node.func.range(), "the same at every call");
    }
}

/// `torch.eye(n)[index]` with a large `n`: a table of n x n to pick rows of zeros from.
fn indexed_eye(facts: &Facts<'_>, report: &mut Report) {
    for call in ["torch.eye", "numpy.eye", "numpy.identity"].into_iter().flat_map(|name| facts.calls_to(name)) {
        let (Some(size), Some(index)) = (call.arg(0), picks_rows(facts, call)) else { continue };
        let text = facts.written(size);
        if is_many(facts, call, size) {
            report
                .add(call, format!("A table of {text} x {text} numbers is made to pick rows of zeros from"))
                .size(table_bytes(facts, call, size).map_or(RULE.size, |bytes| RULE.size.of_bytes(bytes)))
                .because(&index, "each index takes one row");
            continue;
        }
        if let Some(found) = facts.neighbours_spread(index, size, &call.at) {
            report
                .add(call, format!("Every neighbour becomes a row of {text} numbers, and nearly all of them are zero"))
                .because(&found, "that many indices for every sample");
            continue;
        }
        let around = facts.around(call);
        let picked = around.iter().find_map(|outer| outer.as_subscript_expr());
        let some = |value: &Expr| whole_number(value).is_some_and(|number| number >= 64);
        let classes = || {
            some(size)
                || last_name(size).is_some_and(|name| {
                    facts.given_at(name, &call.at).into_iter().all(some) && facts.given_to(name).next().is_some()
                })
        };
        if picked.is_some_and(|picked| picks_for_pixels(facts, call, picked)) && classes() {
            let index = facts.written(index);
            report
                .add(
                    call,
                    format!(
                        "Every element of `{index}` becomes a row of {text} numbers: {text} times the memory and more"
                    ),
                )
                .because(&index_range(picked), "one index for each pixel, voxel or token");
        }
    }
}

/// The bytes of a square table of 32-bit numbers, by the least number in view that its size may be.
fn table_bytes(facts: &Facts<'_>, call: &Call<'_>, size: &Expr) -> Option<u64> {
    let rows = whole_number(size).or_else(|| facts.numbers_given(size, &call.at).into_iter().min())?;
    rows.checked_mul(rows)?.checked_mul(4)
}

fn index_range(picked: Option<&ExprSubscript>) -> TextRange {
    picked.map_or_else(TextRange::default, |picked| picked.slice.range())
}

/// Whether the size is that of a vocabulary: a large number, or a name that is given one.
fn is_many(facts: &Facts<'_>, call: &Call<'_>, size: &Expr) -> bool {
    let large = |value: &Expr| whole_number(value).is_some_and(|number| number >= MANY);
    let numbers = facts.numbers_given(size, &call.at);
    let handed_on = !numbers.is_empty() && numbers.iter().all(|number| *number >= MANY);
    // A lesson's vocabulary is counted from a few sentences.
    let counted = |name: &str| facts.given_to(name).any(|given| facts.written(given).contains("len("));
    let named =
        |name: &str| name == "vocab_size" && !counted(name) || facts.given_at(name, &call.at).into_iter().any(large);
    large(size) || handed_on || last_name(size).is_some_and(named)
}

/// What picks rows of the table: `eye[index]`, `eye.index_select(0, index)`, in place or by the name it is given.
fn picks_rows<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let pick = |table: TextRange, outer: &'a Expr| match outer {
        Expr::Subscript(node) if node.value.range().contains_range(table) => Some(&*node.slice),
        Expr::Call(node) => match &*node.func {
            Expr::Attribute(method)
                if method.attr.as_str() == "index_select" && method.range().contains_range(table) =>
            {
                node.arguments.args.get(1)
            }
            _ => None,
        },
        _ => None,
    };
    let in_place = facts.around(call).into_iter().find_map(|outer| pick(call.node.range(), outer));
    in_place.or_else(|| {
        let statement = facts.statement(call.at.stmt)?.node.as_assign_stmt()?;
        let ([target], true) =
            (statement.targets.as_slice(), statement.value.range().contains_range(call.node.range()))
        else {
            return None;
        };
        let name = last_name(target)?;
        let body = if target.is_attribute_expr() { facts.source.body() } else { facts.body_around(&call.at) };
        reads_of(body, name)
            .into_iter()
            .find_map(|(table, around)| around.into_iter().find_map(|outer| pick(table, outer)))
    })
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
