//! `eval-mistaken-for-no-grad`: inference after `eval()`, with gradients recorded.

use crate::analysis::events::{At, Call, Callee, GradMode, LoopKind};
use crate::analysis::guesses::is_half_of_pass;
use crate::analysis::known::has_no_parameters;
use crate::analysis::value::{Flags, Graph, Kind, Value};
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "eval-mistaken-for-no-grad",
    group: Group::GradMode,
    size: Size::once(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "A model is switched to `eval()` and then used for inference with gradients recorded.",
    why: "`eval()` switches dropout and batch normalisation, nothing else. Without `no_grad` the forward pass saves every \
          activation for a backward pass that never comes.",
    cost: "All saved activations of the forward pass, where `no_grad` keeps none: often many times the output.",
    instead: "`with torch.inference_mode():` (or `no_grad`) around the forward pass.",
    when_not: "Gradients are wanted in evaluation mode: saliency, attacks, training with frozen batch norm.",
    programs: include_str!("eval_mistaken_for_no_grad.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    let mut seen = Vec::new();
    for call in facts.calls() {
        if !is_recorded_forward(facts, call) || seen.contains(&call.at.function) {
            continue;
        }
        let in_loader = facts.loops(&call.at).any(|found| found.kind == LoopKind::Loader);
        if in_loader || needs_gradients(facts, call) || facts.function_name(&call.at).starts_with("test") {
            continue;
        }
        let eval = switched(facts, call).or_else(|| facts.lasting_eval(call).filter(|_| facts.takes_data_out(call)));
        // Switched elsewhere: before it was put where this function finds it.
        let by_mode = || runs_switched(facts, call) && facts.takes_data_out(call) && !facts.is_near_training();
        let given = given_switched(facts, call).filter(|_| facts.takes_data_out(call) && !facts.is_near_training());
        let told = eval.is_some() || given.is_some() || by_mode();
        if !told || facts.fails_with_gradients(call) {
            continue;
        }
        if facts.records_nothing(call)
            || facts.is_called_without_gradients(&call.at, true)
            || is_one_layer(facts, call)
            || eval.is_some_and(|eval| is_another_since(facts, eval, call))
            || facts.is_fed_volatile()
            || facts.differentiates_in_pass(call)
            || facts.is_explained_by_gradients(call)
        {
            continue;
        }
        seen.push(call.at.function);
        let module = facts.source.slice(call.runs().range());
        report
            .add(call, format!("`{module}` is in evaluation mode, but this forward pass still keeps all its activations for a backward pass"))
            .doubtful_if(is_made_step(facts, call) || facts.is_out_of_view(call))
            .because_if(
                Some(eval.map(Ranged::range).or(given).unwrap_or_else(|| call.runs().range())),
                "`eval()` switches dropout and batch normalisation, not gradients",
            )
            .caused_by(call, "no `no_grad` or `inference_mode` is around");
    }
}

/// Where the first of the callers gives a function the module it runs, when all of them in view give it in evaluation mode
/// and with gradients recorded.
fn given_switched(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let Expr::Name(name) = call.runs() else { return None };
    let name = name.id.as_str();
    let function = facts.function(&call.at)?;
    let place = function.node.parameters.iter_non_variadic_params().position(|own| own.name().as_str() == name)?;
    let place = place.checked_sub(usize::from(function.is_bound()))?;
    if facts.binds_of(name).any(|bind| bind.at.function == call.at.function && bind.target.is_name_expr()) {
        return None;
    }
    let mut first = None;
    for caller in facts.callers_of(&call.at) {
        let value = caller.keyword_value(name).or_else(|| caller.args.get(place))?;
        if caller.at.grad != GradMode::On || !value.is_module() || !value.has(Flags::EVAL) {
            return None;
        }
        first = first.or_else(|| facts.argument_of(caller, name).map(Ranged::range));
    }
    first
}

/// Whether the function a pass is in is made and given back by another one: who calls it, and under what, is not in view.
fn is_made_step(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(function) = facts.function(&call.at) else { return false };
    let name = function.node.name.as_str();
    facts.returns().iter().any(|found| {
        let by_maker = found.at.function == function.parent && function.parent.is_some();
        by_maker && matches!(found.expr, Expr::Name(given) if given.id.as_str() == name)
    })
}

fn is_recorded_forward(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    // `model.head(x)` runs a part of the model, or a method of it nobody wrote here.
    let of_module = call.callee == Callee::Other && call.receiver.as_ref().is_some_and(Value::is_module);
    (call.callee == Callee::Module || of_module)
        && call.at.grad == GradMode::On
        && !call.site.is_empty()
        && call.result.graph >= Graph::Likely
        && matches!(&*call.node.func, Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) | Expr::Call(_))
        && matches!(facts.kind_at(&call.at), FunctionKind::Plain)
}

/// Whether a module was switched before it came here: what methods do that nobody wrote here is not known, and what
/// another class calls a method of a derived one for neither.
fn runs_switched(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let of_derived = facts
        .class_at(&call.at)
        .is_some_and(|class| facts.outline().classes[class.index as usize].bases.iter().any(|base| base != "object"));
    call.evaluates && (call.callee == Callee::Module || is_half_of_pass(call.name)) && !of_derived
}

/// Whether the name has been given another model since `eval()`: that one trains.
fn is_another_since(facts: &Facts<'_>, eval: &Call<'_>, call: &Call<'_>) -> bool {
    let root = root_name(call.runs()).filter(|root| *root != "self");
    let same = |at: &At| at.function == call.at.function && eval.at.function == call.at.function;
    root.is_some_and(|root| {
        facts.binds_of(root).any(|bind| {
            let anew = bind.value_expr.is_some_and(|value| !facts.mentions_word(value.range(), root));
            let between = bind.at.order > eval.at.order && bind.at.order < call.at.order;
            same(&bind.at) && between && anew && bind.at.stmt != eval.at.stmt && bind.target.is_name_expr()
        })
    })
}

/// Whether the module is of a class in view that makes at most one layer with weights: what that saves lives anyway.
fn is_one_layer(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let class = root_name(&call.node.func).and_then(|root| facts.binds_of(root).find_map(|bind| bind.value.class));
    let Some(class) = class.filter(|class| class.file == facts.file_index()) else { return false };
    let definition = &facts.outline().classes[class.index as usize];
    let plain = definition.bases.iter().all(|base| base == "torch.nn.Module");
    let layers = facts.calls().iter().filter(|made| {
        let name = facts.full_name(made).unwrap_or_default();
        definition.node.range().contains_range(made.node.range())
            && made.result.kind == Kind::Module
            && !has_no_parameters(name)
            && !name.ends_with(".Sequential")
    });
    plain && layers.filter(|made| facts.loops(&made.at).next().is_none()).count() == 1
}

/// The `eval()` of this very module, in the same function and always before.
fn switched<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'_>) -> Option<&'f Call<'a>> {
    let module = facts.source.slice(call.runs().range());
    let before =
        |found: &&Call<'a>| found.at.function == call.at.function && facts.is_always_before(&found.at, &call.at);
    let evals = facts.calls_named("eval").chain(facts.calls_named("train").filter(|found| is_switched_off(found)));
    let evals = evals.filter(before).filter(|found| is_of(facts, found, module));
    let eval = evals.max_by_key(|found| found.at.order)?;
    let mut trains = facts.calls_named("train").filter(|found| {
        found.at.function == call.at.function && found.at.order > eval.at.order && !is_switched_off(found)
    });
    (!trains.any(|found| is_of(facts, found, module))).then_some(eval)
}

/// `train(False)`, which is `eval()`.
fn is_switched_off(call: &Call<'_>) -> bool {
    let given = call.arg(0).or_else(|| call.keyword("mode"));
    matches!(given, Some(Expr::BooleanLiteral(mode)) if !mode.value)
}

/// Whether `eval()` is called on a module, or on what is bound to its name in the same statement.
fn is_of(facts: &Facts<'_>, found: &Call<'_>, module: &str) -> bool {
    if found.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == module) {
        return true;
    }
    match facts.statement(found.at.stmt).map(|statement| statement.node) {
        Some(Stmt::Assign(assign)) => {
            let ends = assign.value.range().end() == found.range().end();
            ends && assign.targets.iter().any(|target| facts.source.slice(target.range()) == module)
        }
        _ => false,
    }
}

/// Whether the function uses gradients, or hands the graph on.
fn needs_gradients(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let here = call.at.function;
    let keeps = facts.returns().iter().any(|found| found.at.function == here && found.value.graph >= Graph::Possible);
    let stored = facts
        .stores()
        .iter()
        .any(|store| store.at.function == here && store.value.holds_graph() && store.value.sources.overlap(call.site));
    facts.uses_gradients(here, &["trace", "export", "make_dot", "draw_graph"]) || keeps || stored && here.is_some()
}
