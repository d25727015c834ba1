//! `jit-trace-in-loop`: code is compiled anew for every batch or request.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, uses_in};

pub(super) static RULE: Rule = Rule {
    name: "jit-trace-in-loop",
    group: Group::Operations,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: None,
    summary: "A model is compiled, traced or scripted again and again.",
    why: "Each `torch.jit.trace` or `torch.jit.script` makes graphs, code and copies of constants, and caches keep them. \
          `torch.compile` finds its work again where the code and the options are the same; where they are not, compiled \
          code with CUDA graphs also has a memory pool of its own. That case is told when the rule is selected.",
    cost: "Compiled code, constants and graph pools once a call, and the time to compile.",
    instead: "Compile once, at start-up, and call the result.",
    when_not: "Each turn compiles another model.",
    programs: include_str!("jit_trace_in_loop.py"),
    check,
};

const COMPILERS: &[&str] = &["torch.compile", "torch.jit.trace", "torch.jit.script"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in COMPILERS.iter().flat_map(|name| facts.calls_to(name)) {
        if call.args.is_empty() || is_guarded(facts, call) || is_decorator(facts, call) {
            continue;
        }
        let again = how_often(facts, call);
        let Some((often, place, why)) = again else { continue };
        let model = call.arg(0).map_or("", |model| facts.written(model));
        let plain = !model.is_empty() && !model.contains('\n') && model.len() <= 40;
        let model = if plain { format!("`{model}`") } else { "The model".to_owned() };
        // `torch.compile` finds what it compiled before by the code it is given: measured, one compilation in five turns.
        let cached = call.name == "compile";
        let message = if cached {
            format!(
                "{model} is wrapped to be compiled {often}: that is compiled anew whenever its cache does not hold it"
            )
        } else {
            format!("{model} is compiled anew {often}, and each result stays in caches")
        };
        report.add(call, message).doubtful_if(cached).because(&place, why);
    }
}

/// How often a model is compiled, where that is more than once, and the place that shows it.
fn how_often(facts: &Facts<'_>, call: &Call<'_>) -> Option<(&'static str, TextRange, &'static str)> {
    if let Some(turns) = facts.loops(&call.at).find(|turns| turns.kind == LoopKind::Loader) {
        let always = facts.is_unconditional_in(&call.at, turns.block);
        return always.then(|| ("for every batch", turns.head(), "once a batch"));
    }
    let by_loop = compiled_again(facts, call)
        .map(|turns| ("on every turn", turns, "the model is the same on every turn of this loop"));
    // What a node does for each message it does for the life of the robot.
    let by_message = || {
        let always = facts.is_unconditional_in(&call.at, facts.function_block(&call.at));
        let model = call.arg(0).and_then(last_name)?;
        let made_here = facts.binds_of(model).any(|bind| bind.at.function == call.at.function);
        let handled = facts.message_handler(&call.at).filter(|_| always && !made_here)?;
        Some(("for every message", handled, "this is called once a message"))
    };
    by_loop.or_else(by_message).or_else(|| by_calls(facts, call)).or_else(|| {
        let used = used_once(facts, call)?;
        Some(("at every call", used, "the compiled model is called here, once, and dropped"))
    })
}

/// The same where a function that is called for every batch or request traces a model that is there before it.
fn by_calls(facts: &Facts<'_>, call: &Call<'_>) -> Option<(&'static str, TextRange, &'static str)> {
    let model = call.arg(0).filter(|model| matches!(model, Expr::Name(_) | Expr::Attribute(_)))?;
    let made_here = facts.binds_of(last_name(model)?).any(|bind| bind.at.function == call.at.function);
    let looped = facts.loops(&call.at).next().is_some();
    let (place, why) = facts.comes_again(&call.at).filter(|_| !made_here && !looped && call.name != "compile")?;
    Some(("at every call", place, why))
}

/// The innermost loop, when it compiles one and the same model on every turn, and not to compare options.
fn compiled_again(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let turns = facts.loops(&call.at).next()?;
    let model = call.arg(0).filter(|model| matches!(model, Expr::Name(_) | Expr::Attribute(_)))?;
    let varies = |expr: &Expr| facts.varies_in(expr, turns.block);
    let options = call.node.arguments.keywords.iter().any(|keyword| varies(&keyword.value));
    let bound_anew = facts
        .binds_of(last_name(model)?)
        .any(|bind| facts.is_inside(bind.at.block, turns.block) && bind.at.stmt != call.at.stmt);
    let benchmark = facts.function_name(&call.at).contains("bench");
    (!varies(model) && !bound_anew && !options && !benchmark).then(|| turns.head())
}

/// Whether a test stands around it: compiled when it has not been yet.
fn is_guarded(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.blocks_around(&call.at).any(|(_, block)| {
        matches!(
            block.kind,
            BlockKind::If(_) | BlockKind::Else(_) | BlockKind::Handler(_) | BlockKind::Case | BlockKind::Main
        )
    })
}

fn is_decorator(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.decorators().iter().any(|found| found.expr.range() == call.node.range())
}

/// The one call of the compiled model, where a function compiles what it was given, calls it and returns that.
fn used_once(facts: &Facts<'_>, call: &Call<'_>) -> Option<TextRange> {
    let in_function = call.at.function.is_some() && facts.loops(&call.at).next().is_none();
    let name = facts.function_name(&call.at);
    let once = [
        "main", "test", "bench", "export", "init", "build", "demo", "example", "run", "setup", "load", "profile",
        "script",
    ];
    if !in_function || once.iter().any(|word| name.contains(word)) || facts.kind_at(&call.at) == FunctionKind::Init {
        return None;
    }
    // What is compiled comes from outside: a parameter, an attribute, a global.
    let model = call.arg(0).and_then(last_name)?;
    let made_here = facts.binds_of(model).any(|bind| bind.at.function == call.at.function);
    let bound = facts.bound_name(call)?;
    let uses = uses_in(facts.body_around(&call.at), bound);
    let [only] = uses.as_slice() else { return None };
    let called = facts.calls().iter().find(|other| other.node.func.range() == only.name.range())?;
    let in_return =
        |name: &str| uses_in(facts.body_around(&call.at), name).iter().any(|found| found.stmt.is_return_stmt());
    let returned = matches!(only.stmt, Stmt::Return(_)) || facts.bound_name(called).is_some_and(in_return);
    let in_loop = facts.loops(&called.at).next().is_some();
    (!made_here && returned && !in_loop).then(|| called.range())
}
