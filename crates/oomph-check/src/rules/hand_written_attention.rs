//! `hand-written-attention`: the table of scores is written out and kept.

use crate::analysis::events::{At, Bind, Call, Callee, StmtId, StoreKind};
use crate::facts::Facts;
use crate::python::ast::Operator;
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, is_number, last_name, string_of, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "hand-written-attention",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "Attention is written as two matrix products with a softmax between them.",
    why: "The scores and their softmax are tables of length x length for every head, and backward keeps both. \
          `scaled_dot_product_attention` computes the same result in blocks and never makes them.",
    cost: "About 2 x batch x heads x length^2 numbers a layer: at batch 8, 16 heads and 4,096 tokens, 17 GB in float32.",
    instead: "`F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p, is_causal=...)`.",
    when_not: "The weights are returned or shown, or the scores are changed in ways it does not know.",
    programs: include_str!("hand_written_attention.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    // A file that has the fused way too knows what it does.
    let fused = ["scaled_dot_product_attention", "memory_efficient_attention", "flash_attn"];
    let is_fused = fused.iter().any(|name| facts.source.text.contains(name));
    if is_fused || facts.is_test_file() || facts.is_for_serving() || facts.only_infers() {
        return;
    }
    for call in facts.calls() {
        let Some(scores) = softmax_of(facts, call) else { continue };
        if call.at.function.is_none() {
            continue;
        }
        let Some(product) = product_of(facts, call, scores, 6) else { continue };
        let Some(Multiplied { place: second, also_kept }) = only_multiplied(facts, call) else { continue };
        if chooses_from_scores(facts, call, scores, product) {
            continue;
        }
        if is_over_channels(facts, call) || asks_once(facts, call, product) || is_over_heads(facts, call, product) {
            continue;
        }
        // Weights that are also put on the module may be looked at from elsewhere.
        report
            .add(call, "The table of attention weights is written out and kept for backward")
            .doubtful_if(also_kept)
            .because(&product, "scores of every query against every key")
            .because(&second, "the weights go into this product and nowhere else");
    }
}

/// What a softmax over the last dimension is taken of: by function, by method, or by a module of that kind.
fn softmax_of<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    if call.name == "softmax" && call.callee != Callee::Module {
        let by_function =
            facts.full_name(call).is_some_and(|name| matches!(name, "torch.softmax" | "torch.nn.functional.softmax"));
        let scores = if by_function { call.arg(0) } else { call.receiver_expr() };
        let dimension = call.keyword("dim").or_else(|| call.node.arguments.args.last());
        return scores.filter(|_| dimension.is_some_and(|dim| is_number(dim, -1) || is_number(dim, 3)));
    }
    if call.callee != Callee::Module || facts.calls_to("torch.nn.Softmax").next().is_none() {
        return None;
    }
    let over_last = |made: &Expr| {
        let Some(made) = facts.call_at(made) else { return false };
        let dimension = made.keyword("dim").or_else(|| made.arg(0));
        facts.full_name(made) == Some("torch.nn.Softmax")
            && dimension.is_some_and(|dim| is_number(dim, -1) || is_number(dim, 3))
    };
    let values = facts.binds_seen(&call.node.func, &call.at);
    let by_module = !values.is_empty() && values.iter().all(|bind| bind.value_expr.is_some_and(over_last));
    call.arg(0).filter(|_| by_module && call.args.len() == 1)
}

/// Whether `topk` chooses from the scores which keys are attended to: it needs the table.
fn chooses_from_scores(facts: &Facts<'_>, call: &Call<'_>, scores: &Expr, product: TextRange) -> bool {
    let is_score = |name: &str| {
        let mut binds = facts.binds_of(name).filter(|bind| bind.at.function == call.at.function);
        binds.any(|bind| bind.value_expr.is_some_and(|value| value.range().contains_range(product)))
            || root_name(scores) == Some(name)
    };
    let mut choices = facts.calls_named("topk").chain(facts.calls_named("kthvalue"));
    choices.any(|choice| {
        let mut of = choice.receiver_expr().into_iter().chain(choice.arg(0));
        choice.at.function == call.at.function && of.any(|expr| root_name(expr).is_some_and(is_score))
    })
}

/// Whether channels attend to channels, by the temperature such layers learn: that table is small.
fn is_over_channels(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.body_around(&call.at).iter().any(|stmt| facts.written(stmt).contains("temperature"))
}

/// Whether there is one query only, and so one row of weights: `query.unsqueeze(1)`, `x[:, :1]`.
fn asks_once(facts: &Facts<'_>, call: &Call<'_>, product: TextRange) -> bool {
    const ONE: &[&str] = &[".unsqueeze(1)", ".unsqueeze(-2)", "[:, :1]", "[:, 0:1]", "[:, -1:]", "[:, None]"];
    // `self.q(x[:, 0]).reshape(B, 1, heads, size)`: the class token alone asks.
    const TOKEN: &[&str] = &["[:,0])", "[:,:1])", "[:,0:1])", "[:,-1:])", ":self.num_classes])", "(B,1,"];
    let text = facts.source.slice(product);
    let first = text.split_once('(').filter(|(before, _)| !before.contains('@')).map_or(text, |(_, after)| after);
    // A few queries that the module has learnt: `self.queries @ x.transpose(-2, -1)`.
    let left = first.split([',', '@']).next().unwrap_or_default().trim();
    if left.starts_with("self.") && left.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
        return true;
    }
    let name = first.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty());
    let Some(name) = name else { return false };
    let made = last_bound(facts, &call.at, name).map_or("", |expr| facts.written(expr));
    let of_class_token = facts.binds_of(name).filter(|bind| bind.at.function == call.at.function).any(|bind| {
        let text: String = bind.value_expr.map_or("", |expr| facts.written(expr)).split_whitespace().collect();
        TOKEN.iter().any(|way| text.contains(way))
    });
    of_class_token || ONE.iter().any(|way| made.ends_with(way))
}

/// Whether heads attend to heads, position by position: queries were split as `view(batch, length, heads, size)`, and
/// nothing brought the heads before the length. That table is small.
fn is_over_heads(facts: &Facts<'_>, call: &Call<'_>, product: TextRange) -> bool {
    let text = facts.source.slice(product);
    let inner = text.split_once('(').filter(|(before, _)| !before.contains('@')).map_or(text, |(_, after)| after);
    let first = inner.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty());
    let Some(mut name) = first else { return false };
    for _ in 0..4 {
        let before = |bind: &&Bind<'_>| bind.at.function == call.at.function && bind.at.order < call.at.order;
        let Some(bind) = facts.binds_of(name).filter(before).max_by_key(|bind| bind.at.order) else { return false };
        let Some(Stmt::Assign(assign)) = facts.statement(bind.at.stmt).map(|found| found.node) else { return false };
        let made = facts.written(&*assign.value);
        if ["transpose", "permute", "swapaxes", "movedim", "rearrange", "einsum"].iter().any(|way| made.contains(way)) {
            return false;
        }
        if splits_heads_last(facts, &assign.value) {
            return true;
        }
        // `q, k, v = qkv.unbind(2)`, `q = qkv[0]`, `q = q / scale`: look at what it is taken from.
        match root_name(&assign.value) {
            Some(from) if from != "self" && from != "torch" => name = from,
            _ => return false,
        }
    }
    false
}

/// Whether an expression ends in a view whose last axis but one is the heads: `x.view(b, n, self.heads, size)`.
fn splits_heads_last(facts: &Facts<'_>, made: &Expr) -> bool {
    let Expr::Call(call) = made else { return false };
    let Expr::Attribute(method) = &*call.func else { return false };
    let sizes = match &*call.arguments.args {
        [Expr::Tuple(sizes)] => &sizes.elts[..],
        sizes => sizes,
    };
    let of_heads = |size: &Expr| {
        let text = facts.written(size).to_ascii_lowercase();
        (text.contains("head") && !text.contains("dim") && !text.contains("size") && !text.contains("//"))
            || text == "h"
    };
    matches!(method.attr.as_str(), "view" | "reshape") && matches!(sizes, [_, _, .., heads, _] if of_heads(heads))
}

/// What scores are, seen through scaling and masking.
enum Origin<'e> {
    /// The product of queries and transposed keys.
    Product(TextRange),
    /// A name.
    Name(&'e str),
}

fn origin<'e>(facts: &Facts<'_>, at: &At, scores: &'e Expr) -> Option<Origin<'e>> {
    match scores {
        Expr::Name(name) => Some(Origin::Name(name.id.as_str())),
        Expr::BinOp(node) if node.op == Operator::MatMult => {
            is_transposed(facts, at, &node.right).then(|| Origin::Product(node.range()))
        }
        Expr::BinOp(node) if matches!(node.op, Operator::Mult | Operator::Div) => match origin(facts, at, &node.left) {
            Some(Origin::Name(_)) | None if node.op == Operator::Mult && node.right.is_bin_op_expr() => {
                origin(facts, at, &node.right)
            }
            found => found,
        },
        // Masks are added; other biases are a reason to write it out.
        Expr::BinOp(node) if node.op == Operator::Add && is_mask(facts, &node.right) => origin(facts, at, &node.left),
        Expr::Call(call) => {
            let args = &call.arguments.args;
            let name = last_name(&call.func)?;
            match name {
                "matmul" | "bmm" => args
                    .last()
                    .is_some_and(|right| is_transposed(facts, at, right))
                    .then(|| Origin::Product(call.range())),
                "masked_fill" | "masked_fill_" | "float" | "mul" | "div" | "type_as" => match &*call.func {
                    Expr::Attribute(method) => origin(facts, at, &method.value),
                    _ => None,
                },
                "baddbmm" => args
                    .get(2)
                    .is_some_and(|right| is_transposed(facts, at, right))
                    .then(|| Origin::Product(call.range())),
                "where" => origin(facts, at, args.get(1)?),
                "einsum" => is_score_einsum(args).then(|| Origin::Product(call.range())),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether an `einsum` multiplies queries with keys: `bhid,bhjd->bhij`.
fn is_score_einsum(args: &[Expr]) -> bool {
    let [equation, _, _] = args else { return false };
    let Some((inputs, output)) = string_of(equation).and_then(|text| text.split_once("->")) else { return false };
    let Some((left, right)) = inputs.split_once(',') else { return false };
    let letters = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).collect::<Vec<_>>();
    let (left, right, output) = (letters(left), letters(right), letters(output));
    let [.., query, key] = output.as_slice() else { return false };
    let summed = left.iter().filter(|letter| right.contains(letter) && !output.contains(letter)).count();
    let apart = left.contains(query) && !right.contains(query) && right.contains(key) && !left.contains(key);
    summed == 1 && apart && (3..=4).contains(&left.len()) && left.len() == right.len() && left.len() == output.len()
}

/// Whether a statement scales or masks scores in place: `scores *= scale`, `scores += mask`, `scores[mask] = -1e9`.
fn scales_or_masks(facts: &Facts<'_>, stmt: StmtId) -> bool {
    match facts.statement(stmt).map(|statement| statement.node) {
        Some(Stmt::AugAssign(node)) => match node.op {
            Operator::Mult | Operator::Div => true,
            Operator::Add => is_mask(facts, &node.value),
            _ => false,
        },
        Some(Stmt::Assign(node)) => match node.targets.as_slice() {
            [Expr::Subscript(item)] => is_mask(facts, &item.slice),
            _ => false,
        },
        _ => false,
    }
}

fn is_mask(facts: &Facts<'_>, added: &Expr) -> bool {
    let text = facts.written(added);
    text.contains("mask") || text.contains("causal")
}

/// The product that scores come from, when every step between it and the softmax is a scaling or a mask.
fn product_of(facts: &Facts<'_>, call: &Call<'_>, scores: &Expr, hops: u32) -> Option<TextRange> {
    let name = match origin(facts, &call.at, scores)? {
        Origin::Product(range) => return Some(range),
        Origin::Name(name) => name,
    };
    let next = hops.checked_sub(1)?;
    let changed = facts.stores().iter().any(|store| {
        let target = facts.written(store.target);
        let own = target == name || target.starts_with(&format!("{name}["));
        let changes = || store.kind != StoreKind::Rebind && !scales_or_masks(facts, store.at.stmt);
        own && store.at.function == call.at.function && changes()
    });
    if changed {
        return None;
    }
    let steps = facts.binds_of(name).filter(|bind| {
        bind.at.function == call.at.function
            && bind.at.order <= call.at.order
            && bind.at.stmt != call.at.stmt
            && !facts.are_exclusive(bind.at.block, call.at.block)
    });
    let mut product = None;
    for step in steps.filter(|step| !scales_or_masks(facts, step.at.stmt)) {
        let value = step.value_expr?;
        match origin(facts, &call.at, value)? {
            Origin::Product(range) => product = Some(range),
            Origin::Name(other) if other == name => {}
            Origin::Name(_) => product = product_of(facts, call, value, next).or(product),
        }
    }
    product
}

/// Whether an operand has its last two axes swapped: `k.transpose(-2, -1)`, `k.mT`, a name bound to such.
fn is_transposed(facts: &Facts<'_>, at: &At, operand: &Expr) -> bool {
    match operand {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => match (method.attr.as_str(), &*call.arguments.args) {
                ("transpose" | "swapaxes", [a, b]) => {
                    let pair =
                        |x: i64, y: i64| is_number(a, x) && is_number(b, y) || is_number(a, y) && is_number(b, x);
                    pair(-2, -1) || pair(2, 3) || pair(1, 2)
                }
                ("permute", [.., a, b]) => is_number(a, 3) && is_number(b, 2) || is_number(a, 3) && is_number(b, 1),
                _ => false,
            },
            _ => false,
        },
        Expr::Attribute(node) => matches!(node.attr.as_str(), "mT"),
        Expr::Name(name) => {
            let text = name.id.as_str().to_ascii_lowercase();
            text.starts_with("k_t")
                || text.starts_with("key_t")
                || text == "kt"
                || last_bound(facts, at, name.id.as_str())
                    .is_some_and(|expr| matches!(expr, Expr::Call(_)) && is_transposed(facts, at, expr))
        }
        _ => false,
    }
}

/// What a name was bound to last before a point of its function, or anywhere in the file if only once.
fn last_bound<'a>(facts: &Facts<'a>, at: &At, name: &str) -> Option<&'a Expr> {
    let here = facts.binds_of(name).filter(|bind| bind.at.function == at.function && bind.at.order < at.order);
    if let Some(last) = here.max_by_key(|bind| bind.at.order) {
        return last.value_expr;
    }
    let mut anywhere = facts.binds_of(name);
    match (anywhere.next(), anywhere.next()) {
        (Some(only), None) => only.value_expr,
        _ => None,
    }
}

/// The product that reads the weights.
struct Multiplied {
    place: TextRange,
    /// They are also put on an object, where the program does not look.
    also_kept: bool,
}

/// The product that alone reads the weights; dropout and casts in between are read through.
fn only_multiplied<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<Multiplied> {
    let around = facts.around(call);
    if let Some(place) = multiplied(call.node.range(), &around) {
        return Some(Multiplied { place, also_kept: false });
    }
    let statement = facts.statement(call.at.stmt)?.node;
    let Stmt::Assign(assign) = statement else { return None };
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    // Between the softmax and the name: casts and dropout only.
    if !around.iter().all(|outer| is_pass_through(outer)) {
        return None;
    }
    let end = statement.end();
    let body = facts.body_around(&call.at);
    let uses: Vec<Use<'a>> =
        uses_in(body, name.id.as_str()).into_iter().filter(|found| found.name.start() >= end).collect();
    let mut place = None;
    let also_kept = uses.iter().any(|found| is_dead_store(facts, found));
    for found in &uses {
        let rebinds = matches!(found.stmt, Stmt::Assign(next) if matches!(next.targets.as_slice(), [Expr::Name(other)] if other.id == name.id));
        if rebinds && found.around.iter().all(|outer| is_pass_through(outer)) || is_dead_store(facts, found) {
            continue;
        }
        place = Some(multiplied(found.name.range(), &found.around)?);
    }
    place.map(|place| Multiplied { place, also_kept })
}

/// Whether a read only puts the weights where the program never looks: `self.last_attention = weights`.
fn is_dead_store(facts: &Facts<'_>, found: &Use<'_>) -> bool {
    match found.stmt {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [Expr::Attribute(target)] => {
                let plain = found.around.iter().all(|outer| matches!(outer, Expr::Attribute(_) | Expr::Call(_)));
                plain && facts.attribute_reads(target.attr.as_str()) == 0
            }
            _ => false,
        },
        _ => false,
    }
}

/// The product whose left side is an expression, seen through dropout and casts.
fn multiplied(inner: TextRange, around: &[&Expr]) -> Option<TextRange> {
    for outer in around {
        match outer {
            Expr::BinOp(node) if node.op == Operator::MatMult => {
                return node.left.range().contains_range(inner).then(|| node.range());
            }
            Expr::Call(call) => {
                let name = last_name(&call.func)?;
                if name == "einsum" {
                    let second = call.arguments.args.get(1)?;
                    return (second.range().contains_range(inner) && call.arguments.args.len() == 3)
                        .then(|| call.range());
                }
                if matches!(name, "matmul" | "bmm") {
                    let (left, receiver) = (call.arguments.args.first()?, call.func.range());
                    let first = left.range().contains_range(inner) && call.arguments.args.len() == 2;
                    let method = receiver.contains_range(inner);
                    return (first || method).then(|| call.range());
                }
                if !is_pass_through(outer) {
                    return None;
                }
            }
            Expr::Attribute(_) => {}
            _ => return None,
        }
    }
    None
}

/// Whether a call gives its input back, thinned out or in another type.
fn is_pass_through(outer: &Expr) -> bool {
    match outer {
        Expr::Call(call) => last_name(&call.func)
            .is_some_and(|name| name.contains("drop") || matches!(name, "to" | "type_as" | "type" | "float" | "half")),
        Expr::Attribute(_) => true,
        _ => false,
    }
}
