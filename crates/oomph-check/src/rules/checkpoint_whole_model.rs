//! `checkpoint-whole-model`: one checkpoint around everything saves nothing.

use crate::analysis::events::{At, Call, Callee, LoopKind};
use crate::analysis::value::{ClassId, Flags, Kind, Value};
use crate::facts::{Effect, Facts, FunctionKind};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "checkpoint-whole-model",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "A whole model is one activation checkpoint.",
    why: "Backward runs the checkpointed part again with its graph. When that is the whole model, all its activations are \
          there at once, as they would have been without the checkpoint.",
    cost: "The peak stays what it was, and every step pays a second forward pass.",
    instead: "Checkpoint each block: the peak is then the inputs of all blocks and the activations of one.",
    when_not: "The model is one of several that run one after another.",
    programs: include_str!("checkpoint_whole_model.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.utils.checkpoint.checkpoint_sequential") {
        let (Some(model), Some(segments)) = (call.arg(0), call.arg(1)) else { continue };
        // In the `forward` of a part it is one checkpoint of many.
        if facts.is_always(segments, 1) && goes_back_after(facts, call) {
            let name = facts.written(model);
            report
                .add(
                    call,
                    format!("All activations of `{name}` come back at once in backward: the peak stays the same"),
                )
                .because(segments, "one segment: the whole model is one checkpoint");
        }
    }
    for call in facts.calls_to("torch.utils.checkpoint.checkpoint") {
        let Some((model, value)) = network_run(facts, call) else { continue };
        let named = matches!(model, Expr::Name(_) | Expr::Attribute(_))
            && matches!(last_name(model), Some("model" | "net" | "network" | "full_model"));
        let looped = facts
            .loops(&call.at)
            .any(|turns| !matches!(turns.kind, LoopKind::Loader | LoopKind::Steps | LoopKind::Epochs));
        // Other parts beside it in the same forward: then it is one of many.
        let beside = facts.kind_at(&call.at) == FunctionKind::Forward
            && facts.calls().iter().any(|other| {
                other.at.function == call.at.function
                    && other.callee == Callee::Module
                    && other.node.func.as_ref() != model
                    && !call.range().contains_range(other.range())
            });
        if looped {
            continue;
        }
        let but_head = is_all_but_head(facts, call, model, value);
        let alone = is_network(model) && is_only_module(facts, call);
        if !but_head && !alone && (!named || beside) {
            continue;
        }
        let name = facts.written(model);
        let proven = but_head || is_the_only_pass(facts, call, model);
        report
            .add(call, format!("All activations of `{name}` come back at once in backward: the peak stays the same"))
            .doubtful_if(!proven)
            .because(model, "the whole model is one checkpoint");
    }
}

/// Whether a name is that of a whole network.
fn is_network(model: &Expr) -> bool {
    matches!(model, Expr::Name(_) | Expr::Attribute(_))
        && last_name(model).is_some_and(|name| NETWORKS.contains(&name.trim_start_matches('_')))
}

/// Whether the function of a call goes back and runs no other module but what gives its loss.
fn is_only_module(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let own = |other: &&Call<'_>| other.at.function == call.at.function && !call.range().contains_range(other.range());
    let runs = |other: &Call<'_>| other.callee == Callee::Module && !other.result.has(Flags::LOSS);
    goes_back_after(facts, call) && !facts.calls().iter().filter(own).any(runs)
}

/// Whether a backward pass follows in the same function, or what it returns goes back: a step of Lightning.
fn goes_back_after(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let own = |other: &&Call<'_>| other.at.function == call.at.function;
    facts.kind_at(&call.at) == FunctionKind::TrainingStep
        || facts.effects(Effect::Backward).filter(own).any(|back| back.at.order > call.at.order)
}

/// The network that a checkpoint runs: itself, or all that a lambda or function of this file does.
fn network_run<'f, 'a>(facts: &'f Facts<'a>, call: &'f Call<'a>) -> Option<(&'a Expr, &'f Value)> {
    let (given, value) = (call.arg(0)?, call.args.first()?);
    if let Expr::Attribute(method) = given
        && method.attr.as_str() == "forward"
        && !matches!(&*method.value, Expr::Name(own) if own.id.as_str() == "self")
    {
        return Some((&method.value, value));
    }
    let within = |other: &&Call<'a>| match (given, value.kind) {
        (Expr::Lambda(lambda), _) => lambda.range().contains_range(other.range()),
        (_, Kind::Function(id)) => facts.is_own(id) && other.at.function == Some(id.index),
        _ => false,
    };
    if !given.is_lambda_expr() && !matches!(value.kind, Kind::Function(_)) {
        return Some((given, value));
    }
    let mut runs = facts.calls().iter().filter(within).filter(|other| other.callee == Callee::Module);
    let (only, more) = (runs.next()?, runs.next());
    // The layers of a network go by its other methods.
    let whole = matches!(&*only.node.func, Expr::Name(_) | Expr::Attribute(_)) && more.is_none();
    let once = facts.loops(&only.at).all(|turns| turns.range.contains_range(given.range()));
    if whole && !once && given.is_attribute_expr() {
        // One layer after the other, in a method of the model.
        return Some((given, value));
    }
    (whole && once).then_some((&*only.node.func, value))
}

/// Whether what it gives goes back in the same function, after no other pass: several checkpoints before one backward do
/// save memory.
fn is_the_only_pass(facts: &Facts<'_>, call: &Call<'_>, model: &Expr) -> bool {
    let own = |other: &&Call<'_>| other.at.function == call.at.function;
    let goes_back = goes_back_after(facts, call);
    let is_pass = |other: &&Call<'_>| {
        let again = other.node.func.as_ref() == model || facts.written(&*other.node.func) == facts.written(model);
        let checkpointed = facts.full_name(other).is_some_and(|name| name.starts_with("torch.utils.checkpoint."));
        !call.range().contains_range(other.range()) && (again || checkpointed)
    };
    goes_back && !facts.calls().iter().filter(own).any(|other| is_pass(&other))
}

/// Names of networks that have all the layers of a model but its head.
const NETWORKS: &[&str] = &[
    "backbone",
    "encoder",
    "vit",
    "bert",
    "roberta",
    "body",
    "trunk",
    "model",
    "net",
    "network",
    "base",
    "base_model",
    "transformer",
    "resnet",
    "unet",
    "llm",
    "lm",
    "gpt",
    "wav2vec",
    "swin",
];

/// Layers of a head.
const HEAD: &[&str] = &[
    "torch.nn.Linear",
    "torch.nn.Dropout",
    "torch.nn.LayerNorm",
    "torch.nn.Identity",
    "torch.nn.ReLU",
    "torch.nn.GELU",
    "torch.nn.Tanh",
    "torch.nn.Softmax",
    "torch.nn.Flatten",
    "torch.nn.BatchNorm1d",
    "torch.nn.AdaptiveAvgPool2d",
];

/// Whether a model's `forward` checkpoints a network of many layers as one, and has only layers of a head beside it.
fn is_all_but_head(facts: &Facts<'_>, call: &Call<'_>, model: &Expr, value: &Value) -> bool {
    let Some(class) = facts.class_at(&call.at) else { return false };
    if facts.kind_at(&call.at) != FunctionKind::Forward || !is_whole_model(facts, class) {
        return false;
    }
    let runs = |index: u32| {
        let own = |other: &&Call<'_>| other.at.function == Some(index) && !call.range().contains_range(other.range());
        facts.calls().iter().filter(own).filter(|other| other.callee == Callee::Module).collect::<Vec<_>>()
    };
    let is_head = |other: &&Call<'_>| {
        let Expr::Attribute(layer) = &*other.node.func else { return false };
        let made = facts.tables().attribute(class, layer.attr.as_str());
        made.and_then(|made| facts.name_of(made)).is_some_and(|name| HEAD.contains(&name))
    };
    let checkpoints = facts.calls_named("checkpoint").count();
    let given = call.node.arguments.args.len() > 1;
    given
        && checkpoints == 1
        && is_layered(facts, model, value, &call.at, &runs)
        && call.at.function.is_some_and(|index| runs(index).iter().all(is_head))
}

/// Whether a network has many layers that could be checkpointed one by one: by its own `forward`, or by its name where
/// somebody else wrote it.
fn is_layered<'f, 'a: 'f>(
    facts: &'f Facts<'a>,
    model: &Expr,
    value: &Value,
    at: &At,
    runs: &impl Fn(u32) -> Vec<&'f Call<'a>>,
) -> bool {
    if let Kind::Function(id) = value.kind
        && last_name(model) == Some(facts.function_def(id).node.name.as_str())
    {
        // It runs layers in a loop; a stage of a larger model does so too.
        let class = facts.function_def(id).class.map(|index| ClassId { file: id.file, index });
        let made_here = class.is_some_and(|class| {
            facts.calls_named(facts.outline().classes[class.index as usize].node.name.as_str()).next().is_some()
        });
        return facts.is_own(id) && made_here;
    }
    if let Some(class) = value.class {
        let inner = facts.tables().method(class, "forward").filter(|id| facts.is_own(*id));
        return inner.is_some_and(|inner| {
            let layers = runs(inner.index);
            layers.len() > 2 || layers.iter().any(|layer| facts.loops(&layer.at).next().is_some())
        });
    }
    if facts.name_of(value) == Some("torch.nn.Sequential") {
        let binds = facts.binds_seen(model, at);
        let [only] = binds.as_slice() else { return false };
        let made = only.value_expr.and_then(|expr| facts.call_at(expr)).map(|made| &made.node.arguments.args);
        return made.is_some_and(|layers| layers.len() > 3 || layers.iter().any(Expr::is_starred_expr));
    }
    let layer = facts.name_of(value).is_some_and(|name| name.starts_with("torch.nn."));
    let own = matches!(model, Expr::Attribute(node) if matches!(&*node.value, Expr::Name(name) if name.id.as_str() == "self"));
    own && !layer && last_name(model).is_some_and(|name| NETWORKS.contains(&name.trim_start_matches('_')))
}

/// Whether no module in view makes this one: it is no part of a larger one.
fn is_whole_model(facts: &Facts<'_>, class: ClassId) -> bool {
    let name = facts.outline().classes[class.index as usize].node.name.as_str();
    facts.calls_named(name).all(|call| facts.class_at(&call.at).is_none())
}
