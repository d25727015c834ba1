//! On how many cards a wrapper runs a model, as far as the program says so.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::python::ast::{BoolOp, CmpOp};
use crate::python::{Expr, Stmt, root_name};
use crate::uses::{is_number, last_name, string_of, whole_number};

/// Whether the devices come from a setting that names one: with that, the model is called as it is.
pub(crate) fn is_single_unless_told(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let devices = call.keyword("device_ids").or_else(|| call.arg(1));
    // `os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu`, where the option is `"0"` unless told otherwise.
    let mut shown = shown_devices(facts).into_iter().peekable();
    let shows_one = |value: &Expr| {
        let one = |default: &Expr| is_one_card(default) || whole_number(default).is_some();
        option_shown(value).is_some_and(|name| facts.settings_of(name).into_iter().any(one))
    };
    // `if n_gpu > 1:` asks first, so that the line runs with several.
    let asks = facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(Expr::BoolOp(all))) if all.op == BoolOp::And => {
            all.values.iter().any(|part| counts_devices(facts, part, CmpOp::Gt))
        }
        BlockKind::If(Some(test)) => counts_devices(facts, test, CmpOp::Gt),
        _ => false,
    });
    let pinned = !asks && shown.peek().is_some() && shown.all(shows_one);
    !asks && devices.is_some_and(|devices| comes_from_one_card(facts, devices, 3)) || pinned
}

/// Whether an expression is made from a setting that names one card: `cfg.gpus`, `config["gpus"]`, `split(args.gpus)[i]`.
fn comes_from_one_card(facts: &Facts<'_>, devices: &Expr, hops: u32) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return false };
    // `list(range(args.n_gpu))`, where that is one.
    if let Expr::Call(call) = devices
        && last_name(&call.func) == Some("range")
    {
        let count = call.arguments.args.first().and_then(last_name);
        return count.is_some_and(|name| facts.settings_of(name).into_iter().any(|value| is_number(value, 1)));
    }
    settings_in(devices).into_iter().any(|name| {
        let made_of = |value: &Expr| comes_from_one_card(facts, value, hops);
        facts.settings_of(name).into_iter().any(is_one_card)
            || facts.assigned_to(name).into_iter().any(|value| is_one_card(value) || made_of(value))
    })
}

/// The names that an expression reads, the last part of each, and the keys of what it picks.
fn settings_in(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Subscript(node) => string_of(&node.slice).map_or_else(|| settings_in(&node.value), |key| vec![key]),
        Expr::Call(call) => {
            let method = match &*call.func {
                Expr::Attribute(method) if root_name(&method.value) != Some("torch") => settings_in(&method.value),
                _ => Vec::new(),
            };
            method.into_iter().chain(call.arguments.args.iter().flat_map(settings_in)).collect()
        }
        Expr::ListComp(node) => node.generators.first().map_or_else(Vec::new, |first| settings_in(&first.iter)),
        other => last_name(other).into_iter().collect(),
    }
}

/// `[0]`, `"0"`, `((0,),)`: one card for each model.
fn is_one_card(value: &Expr) -> bool {
    let all_one = |parts: &[Expr]| match parts {
        [] => false,
        [only] => only.is_number_literal_expr() || only.is_string_literal_expr() || is_one_card(only),
        many => many.iter().all(|part| (part.is_list_expr() || part.is_tuple_expr()) && is_one_card(part)),
    };
    match value {
        Expr::List(list) => all_one(&list.elts),
        Expr::Tuple(tuple) => all_one(&tuple.elts),
        other => string_of(other).is_some_and(|text| text.trim().parse::<u32>().is_ok()),
    }
}

/// The option that names the cards: `gpu` of `args.gpu`, `str(args.gpu)`.
fn option_shown(value: &Expr) -> Option<&str> {
    match value {
        Expr::Call(call) if last_name(&call.func) == Some("str") => call.arguments.args.first().and_then(last_name),
        other => last_name(other),
    }
}

/// Whether there is one device: told so, the only one in sight, or the branch for one.
pub(crate) fn is_single(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let one =
        |expr: &Expr| matches!(expr, Expr::List(list) if matches!(&*list.elts, [only] if !only.is_starred_expr()));
    let devices = call.keyword("device_ids").or_else(|| call.arg(1));
    let told = devices.is_some_and(|devices| {
        let bound = last_name(devices).map(|name| facts.given_at(name, &call.at)).unwrap_or_default();
        one(devices) || !bound.is_empty() && bound.into_iter().all(one)
    });
    let branch = facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) => counts_devices(facts, test, CmpOp::Eq),
        BlockKind::Else(test) => counts_devices(facts, test, CmpOp::Gt),
        _ => false,
    });
    told || branch || sees_one_device(facts)
}

/// `n_gpu == 1`, `len(devices) > 1`.
fn counts_devices(facts: &Facts<'_>, test: &Expr, by: CmpOp) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return false };
    let counted = facts.written(&*compare.left).to_ascii_lowercase();
    *op == by && is_number(right, 1) && ["gpu", "device", "cuda"].iter().any(|word| counted.contains(word))
}

/// Whether the file shows itself one card: `os.environ["CUDA_VISIBLE_DEVICES"] = "0"`.
fn sees_one_device(facts: &Facts<'_>) -> bool {
    let mut shown = shown_devices(facts).into_iter().peekable();
    shown.peek().is_some() && shown.all(|value| string_of(value).is_some_and(|text| text.trim().parse::<u32>().is_ok()))
}

/// What the file shows itself of the cards: `os.environ["CUDA_VISIBLE_DEVICES"] = ...`.
fn shown_devices<'a>(facts: &Facts<'a>) -> Vec<&'a Expr> {
    let shown = facts.statements().iter().filter_map(|found| match found.node {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [Expr::Subscript(item)] if string_of(&item.slice) == Some("CUDA_VISIBLE_DEVICES") => Some(&*assign.value),
            _ => None,
        },
        _ => None,
    });
    shown.collect()
}
