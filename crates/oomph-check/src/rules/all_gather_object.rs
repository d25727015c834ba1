//! `all-gather-object`: every rank gets everybody's predictions.

use crate::analysis::events::{Bind, Call, LoopKind, StoreKind};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::{Device, Flags, Kind, Value};
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "all-gather-object",
    group: Group::Distributed,
    size: Size::per_epoch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "Outputs of a model are gathered whole to every rank.",
    why: "Gathering gives each rank a copy of what all ranks have. As objects, tensors are pickled through a byte tensor \
          on the GPU as well, and come back on the device they came from: everybody's on everybody's.",
    cost: "The number of ranks times the output on every GPU, twice while it is unpickled.",
    instead: "Reduce on each rank and gather the few numbers that are left (`dist.all_reduce`), or gather to the CPU of one \
              rank.",
    when_not: "A contrastive loss needs the other ranks' outputs.",
    programs: include_str!("all_gather_object.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_under("torch.distributed.") {
        let (Some(value), Some(expr)) = (call.args.get(1), call.arg(1)) else { continue };
        let gathered = match call.name {
            "all_gather_object" => holds_tensors(value) || has_joined_outputs(facts, call, expr),
            "all_gather" | "all_gather_into_tensor" => is_output(value) && in_evaluation(facts, call),
            _ => false,
        };
        let tensors = matches!(call.name, "all_gather" | "all_gather_into_tensor");
        let elsewhere = || given_by_caller(facts, call, expr).or_else(|| joined_outputs(facts, call, expr));
        // What a function of another file made has no place in this one.
        let made_here = Some(value.made_at).filter(|range| !range.is_empty());
        let (place, why) = match (gathered, tensors) {
            (true, _) => {
                let why = if is_output(value) { "the output of a model" } else { "tensors on the GPU" };
                (made_here.unwrap_or_else(|| expr.range()), why)
            }
            (false, true) => match elsewhere() {
                Some(found) => found,
                None => continue,
            },
            _ => continue,
        };
        let name = facts.written(expr);
        report.add(call, format!("Every GPU gets every rank's `{name}`: one copy a rank")).because(&place, why);
    }
    check_frameworks(facts, report);
}

/// The same by the methods that frameworks have for it: `self.all_gather(logits)` of Lightning, and `gather` of accelerate
/// where each rank then keeps what all ranks gave.
fn check_frameworks(facts: &Facts<'_>, report: &mut Report) {
    let calls = ["all_gather", "gather", "gather_for_metrics"].into_iter().flat_map(|name| facts.calls_named(name));
    for call in calls {
        let (Some(value), Some(expr)) = (call.args.first(), call.arg(0)) else { continue };
        let of_lightning = call.name == "all_gather"
            && facts.class_kind(&call.at) == ClassKind::Lightning
            && call.receiver_expr().is_some_and(|own| facts.written(own) == "self")
            && facts.kind_at(&call.at) == FunctionKind::EvaluationStep;
        let of_engine = call.receiver.as_ref().is_some_and(|value| value.kind == Kind::Engine)
            && over_loader(facts, call)
            && is_kept(facts, call);
        // A loss is one number, and what a model writes are token ids.
        let small = facts.written(expr).contains("loss") || facts.source.slice(value.made_at).contains("generate(");
        if is_output(value) && !small && (of_lightning || of_engine) {
            let name = facts.written(expr);
            report
                .add(call, format!("Every GPU gets every rank's `{name}`: one copy a rank"))
                .because(expr, "the output of a model");
        }
    }
}

/// Whether what a call gives is appended to something as it is, on the GPU.
fn is_kept(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let bound = facts.bound_name(call);
    facts.stores().iter().any(|store| {
        let itself = store.value_expr.range() == call.range();
        let by_name = matches!(store.value_expr, Expr::Name(name) if Some(name.id.as_str()) == bound);
        store.kind == StoreKind::Append && store.at.function == call.at.function && (itself || by_name)
    })
}

/// What a function that gathers its parameter is given by an evaluation of this file: the outputs of a model.
fn given_by_caller(facts: &Facts<'_>, call: &Call<'_>, expr: &Expr) -> Option<(TextRange, &'static str)> {
    let name = root_name(expr).filter(|_| expr.is_name_expr() || is_copy(expr))?;
    let copied =
        |bind: &Bind<'_>| bind.value_expr.is_some_and(|value| is_copy(value) && root_name(value) == Some(name));
    let mut own = facts.binds_of(name).filter(|bind| bind.at.function == call.at.function);
    if !facts.function(&call.at)?.node.parameters.includes(name) || !own.all(copied) {
        return None;
    }
    facts.callers_of(&call.at).find_map(|caller| {
        let given = facts.argument_of(caller, name)?;
        let index = caller.node.arguments.args.iter().position(|arg| arg.range() == given.range())?;
        let output = caller.args.get(index).is_some_and(is_output) && in_evaluation(facts, caller);
        output.then(|| (given.range(), "the output of a model, given here"))
    })
}

/// `x.contiguous()`, `x.detach()`: as large as `x`.
fn is_copy(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    let Expr::Attribute(method) = &*call.func else { return false };
    matches!(method.attr.as_str(), "contiguous" | "detach" | "clone")
        && (method.value.is_name_expr() || is_copy(&method.value))
}

/// The outputs of a whole evaluation, made one tensor before they are gathered: `torch.cat(outputs)`.
fn joined_outputs(facts: &Facts<'_>, call: &Call<'_>, expr: &Expr) -> Option<(TextRange, &'static str)> {
    let bound = || {
        let own = facts.binds_of(root_name(expr)?).filter(|bind| bind.at.function == call.at.function);
        own.filter(|bind| bind.at.order < call.at.order).last()?.value_expr
    };
    let joined = facts.call_at(expr).filter(|made| joins(made));
    let joined = joined.or_else(|| facts.call_at(bound()?).filter(|made| joins(made)))?;
    // `torch.cat((first, second))` puts parts of one batch together.
    let list = joined.args.first().filter(|list| list.kind == Kind::List && joined.arg(0).is_some_and(is_named))?;
    let of_outputs = list.parts.as_ref()?.iter().any(is_output);
    of_outputs.then(|| (joined.range(), "the outputs of a whole evaluation"))
}

/// Whether a record that is gathered has the outputs of a whole evaluation in it: `{"scores": torch.cat(scores)}`.
fn has_joined_outputs(facts: &Facts<'_>, call: &Call<'_>, expr: &Expr) -> bool {
    let on_cpu = |item: &Expr| facts.written(item).contains(".cpu()") || facts.written(item).contains(".numpy()");
    let joined = |item: &Expr| !on_cpu(item) && joined_outputs(facts, call, item).is_some();
    match expr {
        Expr::Dict(record) => record.items.iter().any(|item| item.value.is_name_expr() && joined(&item.value)),
        Expr::Tuple(record) => record.elts.iter().any(|item| item.is_name_expr() && joined(item)),
        Expr::Name(_) => joined(expr),
        _ => false,
    }
}

fn is_named(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(_) | Expr::Attribute(_))
}

fn joins(call: &Call<'_>) -> bool {
    matches!(call.name, "cat" | "concat" | "vstack" | "stack")
}

/// Whether it is an output or a tensor on the GPU, or a holder or record with some: `[(name, logits)]`.
fn holds_tensors(value: &Value) -> bool {
    let inside = |parts: &[Value]| parts.iter().any(holds_tensors);
    is_output(value) || is_on_gpu(value) || value.parts.as_deref().is_some_and(inside)
}

/// Whether it is a tensor on the GPU, and more than one number.
fn is_on_gpu(value: &Value) -> bool {
    let tensor = matches!(value.kind, Kind::Tensor | Kind::Unknown);
    tensor && value.device == Device::Cuda && !value.has(Flags::SCALAR) && !value.has(Flags::LOSS)
}

/// Whether it is what a model gave, as it came, with no graph: nothing is trained on it.
fn is_output(value: &Value) -> bool {
    let one_number = value.has(Flags::SCALAR) || value.has(Flags::LOSS);
    value.is_tensor() && value.has(Flags::RAW.with(Flags::NO_GRAD)) && !value.has(Flags::DATA) && !one_number
}

fn in_evaluation(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    call.at.grad.is_off() && over_loader(facts, call)
}

fn over_loader(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.loops(&call.at).any(|turns| turns.kind == LoopKind::Loader)
}
