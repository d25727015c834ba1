//! `hook-handle-dropped`: hooks pile up, one more a step.

use crate::analysis::events::{At, BlockKind, Call, Callee, LoopKind};
use crate::analysis::value::{BlockId, Kind};
use crate::facts::{Facts, FunctionKind, Loop, has_few_turns};
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "hook-handle-dropped",
    group: Group::Graph,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: None,
    summary: "A hook is registered again and again, and its handle thrown away.",
    why: "A module keeps every hook it is given until the handle's `remove()` is called. Registered once a step, hooks and \
          all they close over pile up, and each forward pass runs all of them.",
    cost: "One closure a step with everything it holds (often tensors), and time that grows with the steps.",
    instead: "Register once, before the loop; or keep the handle and call `remove()` in a `finally`.",
    when_not: "The hook is registered once, in a constructor or at the start.",
    programs: include_str!("hook_handle_dropped.py"),
    check,
};

const REGISTERS: &[&str] = &[
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
];

/// Said of a method that looks as if it were called often: nobody is seen to do so.
const ONCE_A_CALL: &str = "once a call, before the model runs";

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in REGISTERS.iter().flat_map(|name| facts.calls_named(name)) {
        if !is_dropped(facts, call) || !is_on_lasting_module(facts, call) {
            continue;
        }
        let Some((place, text)) = repeated(facts, call) else { continue };
        let module = call.receiver_expr().map(|expr| facts.source.slice(expr.range())).unwrap_or_default();
        report
            .add(call, format!("`{module}` gets one more hook each time this runs, and none is ever removed"))
            .doubtful_if(text == ONCE_A_CALL)
            .because(&place, text)
            .because(call, "the handle that could remove it is dropped");
    }
}

/// Whether the handle goes nowhere: the call is a statement of its own, or is bound to a name that is never read.
fn is_dropped(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(statement) = facts.statement(call.at.stmt) else { return false };
    match statement.node {
        Stmt::Expr(node) => node.value.range() == call.range(),
        Stmt::Assign(node) => {
            let names: Vec<&Expr> = node.targets.iter().collect();
            let [Expr::Name(name)] = names[..] else { return false };
            let body = facts.function(&call.at).map_or_else(|| facts.source.body(), |function| &function.node.body);
            node.value.range() == call.range() && crate::python::count_reads(body, name.id.as_str()) == 0
        }
        _ => false,
    }
}

/// Whether what gets the hook was there before this turn or call.
fn is_on_lasting_module(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(receiver) = &call.receiver else { return false };
    if receiver.kind == Kind::Tensor {
        return false;
    }
    let born_here = receiver.born != BlockId::ELSEWHERE
        && facts.loops(&call.at).any(|turn| facts.is_inside(receiver.born, turn.block));
    let own_name =
        call.receiver_expr().and_then(root_name).is_some_and(|root| is_made_in_function(facts, &call.at, root));
    !born_here && !own_name && !is_layer_of_own(facts, &call.at)
}

/// `for name, layer in net.named_modules()` where the net is made in the same function or turn.
fn is_layer_of_own(facts: &Facts<'_>, at: &At) -> bool {
    facts.loops(at).any(|found| match found.node {
        BlockKind::Loop(_, Stmt::For(node)) if !is_repeating(facts, &found) => {
            let walked = match &*node.iter {
                Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
                    (Expr::Attribute(method), _) => Some(&*method.value),
                    (_, first) => first,
                },
                other => Some(other),
            };
            walked.and_then(root_name).is_some_and(|root| root != "self" && is_called_for(facts, at, root))
        }
        _ => false,
    })
}

/// Whether a call's result is bound to a name in the function, or in the turn of the loop around.
fn is_called_for(facts: &Facts<'_>, at: &At, name: &str) -> bool {
    let turn = facts.loops(at).filter(|found| is_repeating(facts, found)).last().map(|found| found.block);
    facts.binds_of(name).any(|bind| {
        bind.at.function == at.function
            && bind.value_expr.is_some_and(Expr::is_call_expr)
            && turn.is_none_or(|block| facts.is_inside(bind.at.block, block))
    })
}

/// Whether a name is bound in the function, or in the loop around, to something made there.
fn is_made_in_function(facts: &Facts<'_>, at: &At, name: &str) -> bool {
    let turn = facts.loops(at).filter(|found| is_repeating(facts, found)).last().map(|found| found.block);
    facts.binds_of(name).any(|bind| {
        let makes = bind.value_expr.is_none_or(|expr| matches!(expr, Expr::Call(_)));
        let here = bind.at.function == at.function && matches!(bind.target, Expr::Name(_));
        here && makes
            && match turn {
                Some(block) => facts.is_inside(bind.at.block, block) && !is_walk_over_modules(facts, &bind.at),
                None => !is_walk_over_modules(facts, &bind.at),
            }
    })
}

/// Whether a binding is the target of `for m in model.modules()`.
fn is_walk_over_modules(facts: &Facts<'_>, at: &At) -> bool {
    facts.loops(at).next().is_some_and(|found| !is_repeating(facts, &found))
}

fn is_repeating(facts: &Facts<'_>, found: &Loop<'_>) -> bool {
    facts.is_per_batch(found) || found.kind == LoopKind::Epochs
}

/// Whether a method of what is computed again and again puts a hook on the object's model and then runs it.
fn is_run_here(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    const AGAIN: &[&str] =
        &["extract", "feature", "embed", "predict", "encode", "infer", "saliency", "cam", "heatmap", "activation"];
    let name = facts.function_name(&call.at).to_ascii_lowercase();
    let again = name == "__call__" || AGAIN.iter().any(|word| name.contains(word));
    let walked = facts.loops(&call.at).filter_map(|turns| match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => match &*node.iter {
            Expr::Call(made) => root_name(&made.func),
            iter => root_name(iter),
        },
        _ => None,
    });
    let kept = call.receiver_expr().and_then(root_name).into_iter().chain(walked).any(|root| root == "self");
    let runs = |other: &Call<'_>| {
        other.at.function == call.at.function && other.at.order > call.at.order && other.callee == Callee::Module
    };
    let registers =
        ["register", "add", "attach", "init", "setup"].iter().any(|word| name.contains(word) && name != "__call__");
    again && kept && !registers && facts.calls().iter().any(runs)
}

/// Whether a function that puts a hook on a module and then runs a model is called with the same module on every turn of
/// a loop over many things: `for path in paths: grad_cam(model, model.layer4, read(path))`.
fn hooks_same_module<'a>(facts: &Facts<'a>, hooked: &Call<'a>, caller: &Call<'a>, turns: &Loop<'a>) -> bool {
    if !goes_on_and_on(facts, turns) {
        return false;
    }
    let runs = runs_after(facts, hooked);
    let (Some(root), Some(function)) = (hooked.receiver_expr().and_then(root_name), facts.function(&hooked.at)) else {
        return false;
    };
    let given = match function.node.parameters.iter_non_variadic_params().position(|own| own.name().as_str() == root) {
        Some(0) if root == "self" => caller.receiver_expr().or(Some(&*caller.node.func)),
        Some(index) => {
            let bound = usize::from(function.class.is_some() && caller.receiver_expr().is_some());
            index.checked_sub(bound).and_then(|index| caller.arg(index)).or_else(|| caller.keyword(root))
        }
        None => Some(&*hooked.node.func),
    };
    runs && given.is_some_and(|given| !facts.varies_in(given, turns.block)) && !clears_hooks(facts)
}

/// Whether a loop has many turns: it has no end in view, or goes over many things that are no parts of a network.
fn goes_on_and_on(facts: &Facts<'_>, turns: &Loop<'_>) -> bool {
    match turns.node {
        BlockKind::Loop(LoopKind::Parameters, _) => false,
        BlockKind::Loop(_, Stmt::For(node)) => !has_few_turns(&node.iter) && !goes_over_parts(facts, &node.iter),
        BlockKind::Loop(LoopKind::Forever, _) => true,
        BlockKind::Comprehension(_, whole) => {
            comprehended(whole).is_some_and(|iter| !has_few_turns(iter) && !goes_over_parts(facts, iter))
        }
        _ => false,
    }
}

/// What a comprehension goes over first.
fn comprehended(whole: &Expr) -> Option<&Expr> {
    let generators = match whole {
        Expr::ListComp(node) => &node.generators,
        Expr::SetComp(node) => &node.generators,
        Expr::DictComp(node) => &node.generators,
        Expr::Generator(node) => &node.generators,
        _ => return None,
    };
    generators.first().map(|first| &first.iter)
}

/// Whether a model runs after the hook is there, in the same function.
fn runs_after(facts: &Facts<'_>, hooked: &Call<'_>) -> bool {
    facts.calls().iter().any(|other| {
        other.at.function == hooked.at.function && other.at.order > hooked.at.order && other.callee == Callee::Module
    })
}

/// Whether a loop puts a hook on the same module on every turn and then runs a model there.
fn hooks_in_loop<'a>(facts: &Facts<'a>, hooked: &Call<'a>, turns: &Loop<'a>) -> bool {
    let on = hooked.receiver_expr();
    let same = on.is_some_and(|on| !facts.varies_in(on, turns.block));
    goes_on_and_on(facts, turns) && same && runs_after(facts, hooked) && !clears_hooks(facts)
}

/// Whether a loop goes over the layers of a network or a few settings, by the name of what it goes over.
fn goes_over_parts(facts: &Facts<'_>, iter: &Expr) -> bool {
    const PARTS: &[&str] = &["layer", "module", "model", "block", "children", "config", "method", "class", "arch"];
    let text = facts.written(iter).to_ascii_lowercase();
    PARTS.iter().any(|word| text.contains(word))
}

/// Whether the file takes hooks off without their handles.
fn clears_hooks(facts: &Facts<'_>) -> bool {
    ["_forward_hooks", "_backward_hooks"].iter().any(|dict| facts.source.text.contains(dict))
}

/// Whether a block gets to a point every time it runs; a test may pick the layers that are hooked.
fn is_reached(facts: &Facts<'_>, at: &At, outer: BlockId) -> bool {
    let layers = facts.loops(at).take_while(|found| found.block != outer && !is_repeating(facts, found));
    let names: Vec<&str> = layers.filter_map(|found| walked_names(facts, &found)).flatten().collect();
    let picks = |test: &Expr| names.iter().any(|name| count_reads_in(test, name) > 0);
    let mut blocks = facts.blocks_around(at).take_while(|(id, _)| *id != outer);
    facts.is_unconditional_in(at, outer)
        || blocks.all(|(_, block)| match block.kind {
            BlockKind::If(Some(test)) => picks(test),
            kind => kind.is_unconditional(),
        })
}

/// The names that a loop over the parts of a network binds: `name, layer` of `for name, layer in net.named_modules()`.
fn walked_names<'f>(facts: &'f Facts<'_>, turns: &Loop<'_>) -> Option<Vec<&'f str>> {
    let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return None };
    let walks = goes_over_parts(facts, &node.iter);
    let words = facts.written(&*node.target).split(|c: char| !c.is_alphanumeric() && c != '_');
    walks.then(|| words.filter(|word| word.len() > 1 || *word == "n" || *word == "m").collect())
}

/// Why the registration runs many times: a loop, a `forward`, or a function called once a batch.
fn repeated<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<(TextRange, &'static str)> {
    let repeats = |found: &Loop<'a>| is_repeating(facts, found) || hooks_in_loop(facts, call, found);
    if let Some(turns) = facts.loops(&call.at).find(repeats) {
        return is_reached(facts, &call.at, turns.block).then(|| (turns.head(), "once a turn of this loop"));
    }
    let function = facts.function(&call.at)?;
    if !is_reached(facts, &call.at, facts.function_block(&call.at)) {
        return None;
    }
    if facts.kind_at(&call.at) == FunctionKind::Forward {
        return Some((function.node.name.range(), "once a forward pass"));
    }
    let mut calls = facts.callers_of(&call.at);
    let turns = calls.find_map(|other| {
        facts
            .loops(&other.at)
            .find(|found| is_repeating(facts, found) || hooks_same_module(facts, call, other, found))
            .filter(|turns| facts.is_unconditional_in(&other.at, turns.block))
    });
    match turns {
        Some(turns) if function.node.name.as_str() != "__init__" => {
            Some((turns.head(), "the function is called once a turn of this loop"))
        }
        // What can be called like a function is there to be called again.
        None if is_run_here(facts, call) => {
            let text =
                if function.node.name.as_str() == "__call__" { "once a call of this object" } else { ONCE_A_CALL };
            Some((function.node.name.range(), text))
        }
        _ => None,
    }
}
