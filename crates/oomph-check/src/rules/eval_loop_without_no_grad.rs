//! `eval-loop-without-no-grad`: evaluation records graphs nobody uses.

use crate::analysis::events::{BlockKind, Call, Callee, GradMode};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::finding::{Edit, Safety};
use crate::python::ast::CmpOp;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "eval-loop-without-no-grad",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Activations).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "An evaluation loop runs forward passes with gradients recorded.",
    why: "Every forward pass keeps its activations for a backward pass that never comes. `model.eval()` does not change \
          that: it only switches dropout and batch normalisation.",
    cost: "The saved activations of two forward passes at the peak, where `no_grad` keeps none.",
    instead: "Put the loop under `with torch.no_grad():`, or the function under `@torch.inference_mode()`.",
    when_not: "Gradients of the input are wanted: adversarial attacks, saliency maps.",
    programs: include_str!("eval_loop_without_no_grad.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut seen = Vec::new();
    for call in facts.calls() {
        if !facts.is_forward_with_graph(call) || facts.kind_at(&call.at) == FunctionKind::Forward {
            continue;
        }
        let Some(batches) = facts.evaluation_loop(call) else { continue };
        let is_idle = || facts.is_unit_test(&call.at) || facts.never_runs(&call.at);
        if seen.contains(&batches.block) || is_idle() || facts.is_called_from_elsewhere(&call.at) {
            continue;
        }
        // Without torch a network may be one of another kind; before 0.4 inputs said that nothing is recorded.
        if !stands_on_torch(facts) || facts.is_fed_volatile() {
            return;
        }
        if let Some(phase) = training_phase(facts, &batches) {
            if knows_phases(facts, call, &batches) || facts.is_called_without_gradients(&call.at, false) {
                continue;
            }
            seen.push(batches.block);
            report
                .add(
                    call,
                    "Every phase of this loop records gradients, and only one uses them: the other keeps activations",
                )
                .doubtful_if(is_handed_over(facts, call))
                .because(&phase, "the backward pass runs in this phase only")
                .because(&batches.head(), "all phases run this loop, and nothing switches gradients off");
            continue;
        }
        let held_out = || facts.holds_out(call, &batches).then_some(Sign::HeldOut);
        let Some(eval) = evaluation(facts, call).or_else(held_out) else { continue };
        if facts.needs_gradients(call, &batches)
            || facts.fails_with_gradients(call)
            || facts.switches_in_loop(call, &batches)
            || facts.is_called_without_gradients(&call.at, true)
            || facts.records_nothing(call)
            || facts.gives_no_tensor(call)
            || facts.differentiates_in_pass(call)
            || facts.is_explained_by_gradients(call)
        {
            continue;
        }
        seen.push(batches.block);
        let name = facts.function_name(&call.at);
        let finding = report
            .add(&batches.head(), "This evaluation loop records gradients: every forward pass keeps its activations");
        finding.caused_by(call, "this forward pass runs with gradients recorded");
        match eval {
            Sign::Eval(eval) => {
                finding.because(eval, "the module is switched to evaluation, which does not switch gradients off")
            }
            Sign::Mode => finding.because(
                &*call.node.func,
                "what runs here was switched to evaluation before, which does not switch gradients off",
            ),
            Sign::HeldOut => finding.because(
                &batches.head(),
                "this goes over data held out from training, and nothing in the loop goes back",
            ),
            Sign::Name => finding.because_if(
                facts.function(&call.at).map(|function| function.node.name.range()),
                format!("`{name}` is evaluation by its name, and no backward pass runs in it"),
            ),
        };
        // A name says little: the pass and its network have to be seen as well.
        let unseen = || match eval {
            Sign::Name => matches!(call.callee, Callee::Project(_)) || !facts.records_in_sight(call),
            _ => facts.is_out_of_view(call) || facts.may_switch_itself_off(call),
        };
        finding.doubtful_if(unseen() || facts.ends_at_once(&batches));
        finding.safe_fix("Run the loop under `no_grad`", wrapped(facts, &batches));
    }
}

/// What says that a loop evaluates.
enum Sign<'f, 'a> {
    /// The module is switched to `eval()`.
    Eval(&'f Call<'a>),
    /// All modules that run are in evaluation mode, wherever that was done.
    Mode,
    /// The function is called so.
    Name,
    /// The loop goes over data held out from the training around it.
    HeldOut,
}

fn evaluation<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>) -> Option<Sign<'f, 'a>> {
    let by_name = facts.is_called_evaluation(&call.at);
    let of_network = facts.class_kind(&call.at).is_module();
    let told = match facts.eval_before(call).or_else(|| facts.lasting_eval(call)) {
        // A frozen part in evaluation mode says nothing of what else runs there.
        Some(eval) if call.callee == Callee::Module && !by_name && !facts.is_eval_of(eval, call) => None,
        Some(eval) => Some(Sign::Eval(eval)),
        // `predict_boxes` of a network is a part of its pass.
        None => (by_name && !of_network).then_some(Sign::Name),
    };
    match told {
        Some(Sign::Name) | None if call.evaluates && !of_network && !may_be_called_off(facts, call) => Some(Sign::Mode),
        other => other,
    }
}

/// Whether nothing in view calls the function a pass is in, in a file that switches recording off elsewhere: who calls
/// it may do so too.
fn may_be_called_off(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let unseen = call.at.function.is_some_and(|index| !facts.is_called(index));
    unseen && facts.calls().iter().any(|other| other.at.grad.is_off())
}

/// Whether nothing in view calls the function a pass is in by its name, in a project that switches recording off: a
/// trainer that is given the function may do so around one phase. Where the function itself goes from phase to phase,
/// it would have to.
fn is_handed_over(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let unseen = call.at.function.is_some_and(|index| !facts.is_called(index));
    let mut functions = facts.tables().outlines.iter().flat_map(|outline| &outline.functions);
    let own = |name: &str| facts.calls_named(name).any(|found| found.at.function == call.at.function);
    unseen && !own("train") && !own("eval") && functions.any(|function| function.switches)
}

/// Whether the file imports torch or a library that brings it along, or runs with a file that does.
fn stands_on_torch(facts: &Facts<'_>) -> bool {
    const LIBRARIES: &[&str] = &["fastai", "monai", "d2l", "fairseq", "speechbrain", "mmcv", "mmengine", "ignite"];
    let outline = facts.outline();
    let mut roots = outline.imports.values().chain(&outline.stars).filter_map(|full| full.split('.').next());
    outline.imports_torch
        || roots.any(|root| LIBRARIES.contains(&root))
        || facts.outlines_of_process().iter().any(|other| other.imports_torch)
}

/// Where a loop for several phases runs its only backward passes: the test in `if phase == "train"`.
fn training_phase(facts: &Facts<'_>, batches: &Loop<'_>) -> Option<TextRange> {
    let phase = |call: &Call<'_>| {
        let mut inside = facts.blocks_around(&call.at).take_while(|(id, _)| *id != batches.block);
        inside.find_map(|(_, block)| match block.kind {
            BlockKind::If(Some(test)) => {
                let asks = asks_for_phase(facts.source.slice(test.range())) || asks_for_optimizer(facts, test, call);
                asks.then(|| test.range())
            }
            _ => None,
        })
    };
    let mut found = None;
    for call in facts.effects_in(Effect::Backward, batches.block) {
        found = Some(phase(call)?);
    }
    found
}

/// Whether a test asks for an optimizer that some call in view does not give: `if optimizer is not None`.
fn asks_for_optimizer(facts: &Facts<'_>, test: &Expr, within: &Call<'_>) -> bool {
    let asked = match test {
        Expr::Compare(compare) if matches!(compare.ops[..], [CmpOp::IsNot]) => &*compare.left,
        other => other,
    };
    let (Expr::Name(name), Some(function)) = (asked, facts.function(&within.at)) else { return false };
    let name = name.id.as_str();
    // A method is called without its `self`.
    let parameters = function.node.parameters.iter_non_variadic_params().map(|found| found.name().as_str());
    let place = parameters.filter(|parameter| *parameter != "self").position(|parameter| parameter == name);
    let own = |call: &Call<'_>| call.at.function == within.at.function;
    let on_it = |call: &Call<'_>| call.receiver_expr().is_some_and(|on| facts.written(on) == name);
    let steps = facts.calls_named("step").any(|call| own(call) && on_it(call));
    let lacks = |call: &Call<'_>| {
        let given = call.keyword(name).or_else(|| call.node.arguments.args.get(place?));
        given.is_none_or(Expr::is_none_literal_expr)
    };
    place.is_some() && steps && facts.callers_of(&within.at).any(lacks)
}

/// Whether a forward pass belongs to one phase, or another one of the loop runs without gradients.
fn knows_phases(facts: &Facts<'_>, call: &Call<'_>, batches: &Loop<'_>) -> bool {
    let asks = |test: &Expr| {
        let text = facts.source.slice(test.range()).to_ascii_lowercase();
        ["train", "phase", "eval", "valid", "test"].iter().any(|word| text.contains(word))
    };
    let mut around = facts.blocks_around(&call.at).take_while(|(id, _)| *id != batches.block);
    let in_phase = around.any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => asks(test),
        _ => false,
    });
    let switched = |other: &Call<'_>| {
        other.callee == Callee::Module
            && other.at.grad != GradMode::On
            && facts.is_inside(other.at.block, batches.block)
    };
    in_phase || facts.calls().iter().any(switched)
}

/// Whether a test asks which phase this is, not how far training has come.
fn asks_for_phase(test: &str) -> bool {
    let lower = test.to_ascii_lowercase();
    let counts = ["%", "<", ">", "step", "iter", "epoch", "batch", "freeze", "pretrain"];
    // `train_dis` is a part of a GAN, trained in turn with another.
    let phase = |word: &str| {
        let bare = word.trim_start_matches("is").trim_matches('_');
        matches!(bare, "train" | "training" | "train_mode" | "trainmode" | "do_train" | "train_phase" | "trainable")
    };
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(phase) && !counts.iter().any(|word| lower.contains(word))
}

fn wrapped(facts: &Facts<'_>, batches: &Loop<'_>) -> Vec<Edit> {
    let (BlockKind::Loop(_, node @ Stmt::For(_)), Some(torch)) = (batches.node, facts.torch_name()) else {
        return Vec::new();
    };
    let Some(stmt) = facts.statement_id(node) else { return Vec::new() };
    facts.wrap_in_with(stmt, node.range(), &format!("{torch}.no_grad()"))
}
