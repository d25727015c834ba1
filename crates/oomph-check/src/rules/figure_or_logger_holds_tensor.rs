//! `figure-or-logger-holds-tensor`: a plot or a log is given tensors with their graph.

use crate::analysis::events::Call;
use crate::analysis::value::{Flags, Kind, Value};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "figure-or-logger-holds-tensor",
    group: Group::Graph,
    size: Size::per_batch(Amount::Small),
    is_opportunity: true,
    fix: None,
    summary: "A figure, an experiment logger or a TensorBoard writer is given a tensor with its graph.",
    why: "What is drawn or logged is kept by the figure, or waits in the logger's queue. A tensor with its graph keeps the \
          activations behind it for as long.",
    cost: "Whatever the record refers to, until it is written or the figure is closed; for most scalars next to nothing.",
    instead: "Give it `x.detach().cpu()`, for one number `x.item()`.",
    when_not: "The logger turns the value into a number at once, as `add_scalar` does.",
    programs: include_str!("figure_or_logger_holds_tensor.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls() {
        let Some(keeps) = keeper(facts, call) else { continue };
        let Some((place, value)) = given(facts, call).into_iter().find(|(_, value)| is_costly(value)) else { continue };
        let text = facts.source.slice(place);
        let finding = report.add(&place, format!("{keeps} gets `{text}` with its graph and may hold on to it"));
        finding
            .because(call, "what is drawn or logged is kept until it is written or closed")
            .because_if(facts.forward_pass(value, &call.at), "this forward pass makes the graph");
    }
}

/// What takes the values of a call and keeps them for a while.
fn keeper(facts: &Facts<'_>, call: &Call<'_>) -> Option<&'static str> {
    let on = call.receiver_expr().and_then(last_name).unwrap_or_default().to_ascii_lowercase();
    let full = facts.full_name(call).unwrap_or_default();
    match call.name {
        "log" if full.starts_with("wandb.") || matches!(on.as_str(), "wandb" | "run" | "neptune" | "swanlab") => {
            Some("The experiment log")
        }
        "add_histogram" | "add_embedding" | "add_image" | "add_images" | "add_video" => Some("The writer"),
        "plot" | "scatter" | "imshow" | "hist" | "bar" | "semilogy" => {
            (full.starts_with("matplotlib.") || matches!(on.as_str(), "plt" | "ax" | "axes")).then_some("The figure")
        }
        _ => None,
    }
}

/// What a call is given: its arguments, and the values of a dict written out in it.
fn given<'f>(facts: &'f Facts<'_>, call: &'f Call<'_>) -> Vec<(TextRange, &'f Value)> {
    let arguments = &call.node.arguments;
    let exprs = arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
    let mut found = Vec::new();
    for (expr, value) in exprs.zip(call.values()) {
        let Expr::Dict(dict) = expr else {
            found.push((expr.range(), value));
            continue;
        };
        // The walk knows the dict as a whole; a name or a call in it is known by itself.
        for item in &dict.items {
            let known = match &item.value {
                Expr::Call(_) => facts.call_at(&item.value).map(|call| &call.result),
                other => named(facts, other, call),
            };
            found.extend(known.map(|value| (item.value.range(), value)));
        }
    }
    found
}

/// What a name, or an item of what a name holds, was last bound to before a call.
fn named<'f>(facts: &'f Facts<'_>, expr: &Expr, call: &Call<'_>) -> Option<&'f Value> {
    let name = match expr {
        Expr::Name(name) => name.id.as_str(),
        Expr::Subscript(item) => return named(facts, &item.value, call),
        _ => return None,
    };
    let before =
        facts.binds_of(name).filter(|bind| bind.at.function == call.at.function && bind.at.order < call.at.order);
    before.last().map(|bind| &bind.value)
}

/// Whether a value has a graph and is more than one number.
fn is_costly(value: &Value) -> bool {
    let number = value.has(Flags::LOSS) || value.has(Flags::SCALAR);
    value.keeps_graph() && !number || value.kind == Kind::List && value.element().keeps_graph()
}
