//! `frozen-or-teacher-forward-with-grad`: a teacher's forward pass is recorded for a backward pass nobody wants.

use crate::analysis::events::{At, Call, Callee, GradMode};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::{Flags, Graph, Kind, Value};
use crate::facts::{Effect, Facts, FunctionKind, is_reference_name};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{Use, last_name, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "frozen-or-teacher-forward-with-grad",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A teacher or reference model, which no optimizer trains, runs with gradients recorded.",
    why: "Its parameters require gradients like any others, so its forward pass saves all activations, the backward pass \
          walks through it, and its parameters get gradients that no step uses.",
    cost: "The saved activations of the teacher on top of the student's, and one gradient per teacher parameter.",
    instead: "Call it under `with torch.no_grad():` (or `inference_mode`), and freeze it with `requires_grad_(False)`.",
    when_not: "Gradients must flow through it to its input: prompt tuning, adapters, perceptual losses.",
    programs: include_str!("frozen_or_teacher_forward_with_grad.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut told = Vec::new();
    for call in facts.calls() {
        let Some(module) = recorded_pass(facts, call) else { continue };
        let Some(training) = trained_around(facts, call) else { continue };
        let inputs = call.values().filter(|value| !value.is_module());
        if inputs.into_iter().any(takes_gradient) || takes_generated(facts, call) || is_handled(facts, call, module) {
            continue;
        }
        if has_loss_of_its_own(facts, call)
            || module.rsplit('.').next().is_some_and(|last| facts.is_frozen_by_callers(last))
        {
            continue;
        }
        let eval = facts.switched_to_eval(module);
        let known_apart = || eval.is_some() && others_are_trained(facts, module) && !is_parameter(facts, call);
        let reference = is_reference_name(module) || is_called_reference(module);
        if !reference && !known_apart() || facts.records_nothing(call) {
            continue;
        }
        told.push(call.range());
        report
            .add(call, format!("`{module}` runs with gradients recorded, though nothing trains it: its activations are kept through the backward pass"))
            .doubtful_if(may_be_given_frozen(facts, call))
            .because_if(eval, format!("`{module}` is switched to evaluation, which does not switch gradients off"))
            .because(&training, "what is trained here is another model: no optimizer has the parameters of this one")
            .unsafe_fix("Run it under `no_grad`", under_no_grad(facts, call));
    }
    targets_of_training(facts, report);
    networks_beside(facts, report, &told);
}

/// A copy of the network that is trained, or a ready-made one, that runs beside it: a target, an average, an encoder.
fn networks_beside(facts: &Facts<'_>, report: &mut Report, told: &[TextRange]) {
    for call in facts.calls() {
        let Some(text) = recorded_pass(facts, call) else { continue };
        let module = if call.callee == Callee::Module { Some(&*call.node.func) } else { call.receiver_expr() };
        let Some((module, apart)) = module.and_then(|module| Some((module, facts.stands_by(module)?))) else {
            continue;
        };
        if last_name(module).is_some_and(|last| facts.is_frozen_by_callers(last)) {
            continue;
        }
        let inputs = call.values().filter(|value| !value.is_module());
        if inputs.into_iter().any(takes_gradient) || is_cut_off(facts, call) || facts.records_nothing(call) {
            continue;
        }
        if told.contains(&call.range()) || is_reference_name(text) || is_called_reference(text) {
            continue;
        }
        // What is in evaluation mode may be there to judge what a generator made.
        if facts.switched_to_eval(text).is_some() && (takes_generated(facts, call) || has_loss_of_its_own(facts, call))
        {
            continue;
        }
        let own = trained_around(facts, call);
        let in_forward =
            || facts.effects(Effect::Backward).next().filter(|_| facts.kind_at(&call.at) == FunctionKind::Forward);
        let Some(training) = own.or_else(|| in_forward().map(Ranged::range)) else { continue };
        let until = if own.is_some() { "through the backward pass" } else { "until this function returns" };
        report
            .add(
                call,
                format!(
                    "`{text}` runs with gradients recorded, though nothing trains it: its activations are kept {until}"
                ),
            )
            .because(&apart, format!("`{}` is made here, and nothing freezes it", facts.written(module)))
            .because(&training, "what is trained here is another model: no optimizer has the parameters of this one")
            .unsafe_fix("Run it under `no_grad`", under_no_grad(facts, call));
    }
}

/// Whether the graph of a pass ends in its own statement, or its name is bound to something without it right after.
fn is_cut_off(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(statement) = facts.statement(call.at.stmt) else { return true };
    let end = statement.node.end().max(call.range().end());
    let text = facts.source.slice(TextRange::new(call.range().end(), end));
    let here = [".detach()", ".data", "argmax", ".item()", ".cpu()", ".numpy()"].iter().any(|word| text.contains(word));
    let rebound = |name: &str| {
        facts.binds_of(name).any(|bind| {
            let after = bind.at.function == call.at.function && bind.at.order > call.at.order;
            let cuts = bind.value_expr.is_some_and(|value| facts.written(value).contains("detach"));
            after && cuts && bind.at.stmt != call.at.stmt
        })
    };
    here || bound_names(statement.node).into_iter().any(rebound)
}

/// Targets that a model gave once, before a loop that trains something else and reads them detached alone: style
/// transfer. Their graph lives as long as their name.
fn targets_of_training(facts: &Facts<'_>, report: &mut Report) {
    if facts.calls_named("eval").next().is_none() {
        return;
    }
    for bind in facts.binds().iter().filter(|bind| bind.at.grad == GradMode::On && bind.target.is_name_expr()) {
        if !bind.value.surely_holds_graph() || facts.loops(&bind.at).next().is_some() {
            continue;
        }
        let Some(pass) = facts.forward_pass(&bind.value, &bind.at) else { continue };
        let mut backwards = facts.effects_of(Effect::Backward, bind.at.function);
        let trains = backwards.find(|call| call.at.order > bind.at.order && call.at.function == bind.at.function);
        let Some(turns) = trains.and_then(|call| facts.loops(&call.at).last()) else { continue };
        let uses = uses_in(facts.body_around(&bind.at), bind.name);
        let mut read = uses.iter().filter(|found| facts.is_text_of(found.name.range(), turns.block)).peekable();
        let detached = |found: &Use<'_>| matches!(found.around.first(), Some(Expr::Attribute(method)) if method.attr.as_str() == "detach");
        if read.peek().is_some() && read.all(detached) && facts.binds_of(bind.name).count() == 1 {
            let name = bind.name;
            report
                .add(&pass, format!("`{name}` keeps the graph of this pass through the whole training, which reads it detached alone"))
                .because(&turns.head(), format!("this loop trains, with the activations behind `{name}` beside it"));
        }
    }
}

/// The module that runs with its graph: what is called, or a reference model that a function of the project is given.
fn recorded_pass<'f>(facts: &'f Facts<'_>, call: &Call<'_>) -> Option<&'f str> {
    if call.at.grad != GradMode::On {
        return None;
    }
    if call.callee == Callee::Module {
        return module_text(facts, call).filter(|_| call.result.graph >= Graph::Likely);
    }
    // `clip.encode_image(x)`: a method that runs a part of the model.
    if call.callee == Callee::Other && call.receiver.as_ref().is_some_and(|value| value.has(Flags::PRETRAINED)) {
        let module = call.receiver_expr().filter(|expr| matches!(expr, Expr::Name(_) | Expr::Attribute(_)));
        return module.map(|expr| facts.source.slice(expr.range())).filter(|_| !call.site.is_empty());
    }
    let runs = facts.callee_summary(call).is_some_and(|summary| summary.forwards && !summary.calls_backward);
    let given = call
        .node
        .arguments
        .args
        .iter()
        .zip(&call.args)
        .filter(|(_, value)| matches!(value.kind, Kind::Module | Kind::Unknown));
    let given = given.filter(|(expr, value)| {
        let text = facts.source.slice(expr.range());
        is_reference_name(text) || value.is_module() && is_called_reference(text)
    });
    let mut given = given.map(|(expr, _)| facts.source.slice(expr.range()));
    match (given.next(), given.next()) {
        (Some(only), None) => {
            let holds = call.result.holds_graph() || call.result.graph >= Graph::Possible;
            Some(only).filter(|_| runs && holds)
        }
        _ => None,
    }
}

/// Whether a module's name says that others are compared with it; of data it says nothing.
fn is_called_reference(module: &str) -> bool {
    let mut words = module.rsplit(['.', '[', ']', '"', '\'']).filter(|word| !word.is_empty());
    let last = words.next().unwrap_or(module).to_ascii_lowercase();
    matches!(
        last.as_str(),
        "reference" | "ref" | "ref_net" | "reference_net" | "reference_policy" | "policy_ref" | "ref_lm"
    )
}

/// What trains after this forward pass: a backward pass in the same turn, or a framework that runs one.
fn trained_around<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<TextRange> {
    let after = |block| {
        let mut backwards = facts.effects_in(Effect::Backward, block);
        backwards.find(|found| found.at.order > call.at.order).map(Ranged::range)
    };
    if let Some(batches) = facts.batch_loop(&call.at) {
        return after(batches.block);
    }
    // Whatever the loop goes over, it trains.
    if let Some(found) = facts.loops(&call.at).find_map(|turns| after(turns.block)) {
        return Some(found);
    }
    let name = facts.function(&call.at)?.node.name.range();
    if facts.is_training_step(&call.at) {
        return after(facts.function_block(&call.at));
    }
    let by_framework = facts.kind_at(&call.at) == FunctionKind::TrainingStep
        || facts.class_kind(&call.at) == ClassKind::Framework && facts.function_name(&call.at) == "compute_loss";
    let by_callers = || facts.backward_by_callers(&call.result, &call.at).map(Ranged::range);
    by_framework.then_some(name).or_else(by_callers)
}

/// Whether a backward pass goes over this forward pass alone: it is meant to learn, whoever steps.
fn has_loss_of_its_own(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.effects_of(Effect::Backward, call.at.function).any(|backward| {
        let sites = facts.backward_sources(backward).sites();
        !call.site.is_empty() && sites == call.site
    })
}

/// Whether the module is handed to the function: what is trained beside it may be a part of it.
fn is_parameter(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let (Some(root), Some(function)) = (root_name(&call.node.func), facts.function(&call.at)) else { return false };
    root != "self" && function.node.parameters.iter().any(|parameter| parameter.name().as_str() == root)
}

/// Whether the model is handed in by callers that are not in view, in a program that takes parameters out of training:
/// they may have done so with this one.
fn may_be_given_frozen(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let unseen = || call.at.function.is_some_and(|index| !facts.is_called(index));
    let freezes = || facts.outlines_of_process().iter().any(|file| file.attribute_writes.contains_key("requires_grad"));
    is_parameter(facts, call) && unseen() && freezes()
}

/// Whether the file's optimizers are all given the parameters of other modules by name.
fn others_are_trained(facts: &Facts<'_>, module: &str) -> bool {
    let mut optimizers =
        facts.calls().iter().filter(|call| call.result.kind == Kind::Optimizer && call.arg(0).is_some()).peekable();
    let named = |call: &Call<'_>| {
        let given = call.arg(0).map_or_else(Vec::new, |given| facts.networks_in(given, &call.at));
        let another = |given: &&str| *given != module && *given != "self" && !is_part_of(facts, module, given);
        !given.is_empty() && given.iter().all(another)
    };
    optimizers.peek().is_some() && optimizers.all(named)
}

/// Whether what an optimizer has the parameters of was made with the module in it: `fit = Fit(start, model)`.
fn is_part_of(facts: &Facts<'_>, module: &str, given: &str) -> bool {
    let whole = given.split(['.', '(', '[']).next().unwrap_or(given);
    facts.binds_of(whole).any(|bind| {
        let made = bind.value_expr.and_then(Expr::as_call_expr);
        made.is_some_and(|made| made.arguments.args.iter().any(|arg| facts.source.slice(arg.range()) == module))
    })
}

fn module_text<'f>(facts: &'f Facts<'_>, call: &Call<'_>) -> Option<&'f str> {
    match &*call.node.func {
        Expr::Name(_) | Expr::Attribute(_) => Some(facts.source.slice(call.node.func.range())),
        // `models["teacher"](x)`.
        Expr::Subscript(item) if item.slice.is_string_literal_expr() => {
            Some(facts.source.slice(call.node.func.range()))
        }
        _ => None,
    }
}

/// Whether what goes in may be what a generator made, which is trained through the reference: it is no plain data, and
/// the function speaks of such things or another call made it.
fn takes_generated(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    const WORDS: &[&str] = &["generator", "pseudo", "fake", "synth", "adversar", "x_adv", "perturb", "dream"];
    const MOVES: &[&str] = &["to", "cuda", "float", "half", "long", "view", "reshape", "squeeze", "unsqueeze", "cpu"];
    let unknown = |value: &Value| value.kind == Kind::Unknown && !value.has(Flags::DATA);
    let body = facts.function(&call.at).map(|function| facts.source.slice(function.node.range()).to_ascii_lowercase());
    let speaks = body.is_some_and(|text| WORDS.iter().any(|word| text.contains(word)));
    let made = |expr: &Expr| {
        root_name(expr).is_some_and(|name| {
            let binds = facts.binds_of(name).filter(|bind| bind.at.function == call.at.function);
            let mut calls = binds.filter_map(|bind| facts.call_at(bind.value_expr?));
            calls.any(|maker| !MOVES.contains(&maker.name) && !maker.result.has(Flags::DATA))
        })
    };
    let given = call.node.arguments.args.iter().zip(&call.args);
    let mut given = given.filter(|(_, value)| !value.has(Flags::DATA) && !value.is_module());
    given.any(|(expr, value)| speaks || unknown(value) && made(expr))
}

fn takes_gradient(value: &Value) -> bool {
    value.graph >= Graph::Possible || value.has(Flags::LEAF) || value.holds_graph()
}

/// Whether the file freezes the module, trains it, or drops the graph at once.
fn is_handled(facts: &Facts<'_>, call: &Call<'_>, module: &str) -> bool {
    let last = module.rsplit('.').next().unwrap_or(module);
    let mentions = |expr: &Expr| facts.source.slice(expr.range()).contains(last);
    let frozen_or_trained = facts.calls().iter().any(|other| {
        let on_it = other.receiver_expr().is_some_and(mentions);
        let given = || other.node.arguments.args.iter().any(mentions);
        let statement = facts
            .statement(other.at.stmt)
            .map(|statement| facts.source.slice(statement.node.range()))
            .unwrap_or_default();
        on_it && matches!(other.name, "requires_grad_" | "train")
            || on_it && matches!(other.name, "parameters" | "named_parameters") && !statement.contains("numel")
            || (other.name.contains("freeze") || other.name.contains("requires_grad") || other.name.contains("param"))
                && given()
    });
    frozen_or_trained || is_dropped(facts, call)
}

/// Whether the result's graph ends where it begins: `teacher(x).detach()`, `teacher(x).argmax(1)`.
fn is_dropped(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(statement) = facts.statement(call.at.stmt) else { return true };
    let end = statement.node.end().max(call.range().end());
    let text = facts.source.slice(TextRange::new(call.range().end(), end));
    // The values that `max` gives keep the graph, the places do not.
    let picks = [".max(", ".topk("].iter().any(|word| text.contains(word)) && !binds_graph(facts, call);
    picks
        || [".detach()", ".data", "argmax", ".item()", ".cpu()", ".numpy()"].iter().any(|word| text.contains(word))
        || bound_names(statement.node).into_iter().any(|name| is_detached_later(facts, call, name))
}

/// Whether the statement of a pass binds a name, and what that holds keeps the graph of the pass.
fn binds_graph(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let mut binds = facts.binds().iter().filter(|bind| bind.at.stmt == call.at.stmt && bind.name != "_");
    binds.any(|bind| bind.value.holds_graph() && bind.value.sources.overlap(call.site))
}

fn bound_names(stmt: &Stmt) -> Vec<&str> {
    let Stmt::Assign(assign) = stmt else { return Vec::new() };
    let names = assign.targets.iter().flat_map(|target| match target {
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        other => vec![other],
    });
    names
        .filter_map(|target| match target {
            Expr::Name(name) => Some(name.id.as_str()),
            _ => None,
        })
        .collect()
}

fn is_detached_later(facts: &Facts<'_>, call: &Call<'_>, name: &str) -> bool {
    let detaches = |other: &&Call<'_>| other.at.function == call.at.function && other.at.order > call.at.order;
    let methods = ["detach", "detach_", "argmax", "cpu", "numpy", "item", "max"].into_iter();
    methods.flat_map(|method| facts.calls_named(method)).filter(detaches).any(|other| {
        let of_it = other.receiver_expr().is_some_and(|expr| {
            let text = facts.source.slice(expr.range());
            text == name || text.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '[']))
        });
        of_it && !outlives_backward(facts, name, other)
    })
}

/// Whether a name goes on holding the graph when a backward pass follows: what was taken from it has another name.
fn outlives_backward(facts: &Facts<'_>, name: &str, taken: &Call<'_>) -> bool {
    let mut backwards = facts.effects_of(Effect::Backward, taken.at.function);
    let Some(backward) = backwards.find(|back| back.at.order > taken.at.order) else { return false };
    let until = |at: &At| at.function == taken.at.function && at.order > taken.at.order && at.order < backward.at.order;
    let same_turn =
        facts.is_inside(backward.at.block, taken.at.block) || facts.is_inside(taken.at.block, backward.at.block);
    let rebound = facts.binds_of(name).any(|bind| until(&bind.at) || bind.at.stmt == taken.at.stmt);
    let deleted =
        facts.deletes().iter().any(|delete| until(&delete.at) && facts.mentions_word(delete.target.range(), name));
    same_turn && !rebound && !deleted
}

fn under_no_grad(facts: &Facts<'_>, call: &Call<'_>) -> Vec<Edit> {
    let (Some(statement), Some(torch)) = (facts.statement(call.at.stmt), facts.torch_name()) else { return Vec::new() };
    let whole = matches!(statement.node, Stmt::Assign(assign) if assign.value.range().contains_range(call.range()));
    let alone =
        facts.calls().iter().filter(|other| other.at.stmt == call.at.stmt && !other.site.is_empty()).count() == 1;
    if !whole || !alone {
        return Vec::new();
    }
    facts.wrap_in_with(call.at.stmt, statement.node.range(), &format!("{torch}.no_grad()"))
}
