//! `hidden-state-carried-across-batches`: a state drags the graphs of all past batches along.

use crate::analysis::events::{Bind, Call, Callee, LoopKind};
use crate::analysis::value::{BlockId, Kind, Value};
use crate::facts::{Effect, Facts, FunctionKind};
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "hidden-state-carried-across-batches",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A module's output is fed into its next call, batch after batch, with its graph.",
    why: "The graph of each batch hangs on the one before. Nothing of it can be freed, and the second `backward()` fails \
          unless `retain_graph=True` keeps all of it.",
    cost: "The saved activations of every batch so far.",
    instead: "Detach the state at the top of the loop: `h = h.detach()`, for a tuple each part.",
    when_not: "The loop goes over the time steps of one sequence.",
    programs: include_str!("hidden_state_carried_across_batches.py"),
    check,
};

/// What a backward pass that keeps its graph says.
const KEEPS: &str = "this backward pass keeps the graph for the next one";

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls() {
        // `net.gru(x, h)` runs a part of a module.
        let of_module = call.receiver.as_ref().is_some_and(Value::is_module);
        let forward =
            (matches!(call.callee, Callee::Module | Callee::Project(_)) || of_module) && !call.site.is_empty();
        if forward && facts.kind_at(&call.at) == FunctionKind::Forward {
            // A plain function may hand its arguments back as they are.
            if !matches!(call.callee, Callee::Project(_)) {
                check_module(facts, call, report);
            }
            continue;
        }
        if !forward {
            continue;
        }
        let Some(batches) = facts.loops(&call.at).find(|found| found.kind == LoopKind::Loader) else { continue };
        // Steps of a decoder are turns of another loop; what they carry ends with the sample, unless all goes back.
        let own = facts.loops(&call.at).next().is_some_and(|found| found.block == batches.block);
        if !own && facts.effects_in(Effect::Backward, batches.block).next().is_none() {
            continue;
        }
        for (expr, value) in arguments(call) {
            let states = parts(expr);
            let named = states.iter().all(|state| matches!(state, Expr::Name(_) | Expr::Attribute(_)));
            let other = |state: &&Expr| is_set_otherwise(facts, facts.source.slice(state.range()), call, batches.block);
            let carried = |state: &&Expr| is_bound_in(facts, state, batches.block);
            let holds =
                |state: &&Expr| holds_graph_of(value, call) || comes_back(facts, state, value, call, batches.block);
            if !named || states.iter().any(other) || !states.iter().any(carried) || !states.iter().any(holds) {
                continue;
            }
            let state = facts.source.slice(expr.range());
            let back = gone_through_in(facts, call, batches.block);
            let sets = || states.iter().all(|state| is_set_by_pass(facts, state, call, batches.block));
            let proven = match back {
                // A network out of view may detach its state itself, and then nothing raises.
                Some(back) => back.keyword_is("retain_graph", true) || own && sets() && is_recurrent(facts, call),
                None => own && sets() && is_only_evaluated(facts, call, batches.block),
            };
            let finding = report.add(expr, format!("`{state}` carries the graph of every past batch into this one"));
            finding
                .doubtful_if(!proven)
                .because(call, format!("`{state}` goes in, and what comes out is the next batch's `{state}`"))
                .because(&batches.head(), "this loop goes over batches, and nothing detaches the state in it")
                .because_if(back.map(Ranged::range), back.map_or("", goes_back));
            if let [Expr::Name(_) | Expr::Attribute(_)] = states[..] {
                finding.unsafe_fix("Detach the state before the call", detach_before(facts, call, state));
            }
        }
    }
}

/// The backward pass of each turn that goes through a forward pass, the one that keeps its graph first.
fn gone_through_in<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'_>, block: BlockId) -> Option<&'f Call<'a>> {
    let through = |back: &&Call<'_>| facts.backward_sources(back).overlap(call.site);
    let passes = || facts.effects_in(Effect::Backward, block).filter(through);
    passes().find(|back| back.keyword_is("retain_graph", true)).or_else(|| passes().next())
}

/// What a backward pass comes to that goes through the state.
fn goes_back(back: &Call<'_>) -> &'static str {
    if back.keyword_is("retain_graph", true) {
        KEEPS
    } else {
        "from the second batch on, this goes back through a graph that is freed, and raises"
    }
}

/// Whether nothing in the loop but the pass itself sets the state.
fn is_set_by_pass(facts: &Facts<'_>, state: &Expr, call: &Call<'_>, block: BlockId) -> bool {
    let text = facts.source.slice(state.range());
    let mut binds = facts.binds().iter().filter(|bind| facts.source.slice(bind.target.range()) == text);
    binds.all(|bind| bind.at.stmt == call.at.stmt || !facts.is_inside(bind.at.block, block))
}

/// Whether a network that is seen to record runs, and nothing goes back: it is evaluated, or nobody goes back at all.
fn is_only_evaluated(facts: &Facts<'_>, call: &Call<'_>, block: BlockId) -> bool {
    let evaluates = call.evaluates || facts.eval_before(call).is_some_and(|eval| facts.is_eval_of(eval, call));
    let unused = || {
        let mut passes = facts.effects_of(Effect::Backward, call.at.function);
        !passes.any(|back| facts.backward_sources(back).overlap(call.site)) && is_recurrent(facts, call)
    };
    let silent = facts.effects_in(Effect::Backward, block).next().is_none();
    silent && (evaluates || unused()) && facts.records_in_sight(call)
}

/// Whether a call runs a recurrent layer of torch, or a class in view that has one: what it gives back is its state.
fn is_recurrent(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let layer = |kind: &str| matches!(kind, "RNN" | "LSTM" | "GRU" | "RNNCell" | "LSTMCell" | "GRUCell");
    let own = facts.binds_seen(&call.node.func, &call.at).into_iter().map(|bind| &bind.value);
    let mut names = own.filter_map(|value| facts.name_of(value)?.strip_prefix("torch.nn."));
    let made = |stmt: &Stmt| match stmt {
        Stmt::Assign(assign) => {
            matches!(&*assign.value, Expr::Call(maker) if last_name(&maker.func).is_some_and(layer))
        }
        _ => false,
    };
    let init = facts.class_called(call).and_then(|class| facts.tables().method(class, "__init__"));
    names.any(layer) || init.is_some_and(|init| facts.function_def(init).node.body.iter().any(made))
}

/// Whether a statement of the block, other than the call's, sets a state to something else than what the call made.
fn is_set_otherwise(facts: &Facts<'_>, text: &str, call: &Call<'_>, block: BlockId) -> bool {
    facts.binds().iter().any(|bind| {
        bind.at.stmt != call.at.stmt
            && facts.is_inside(bind.at.block, block)
            && facts.source.slice(bind.target.range()) == text
            && !holds_graph_of(&bind.value, call)
    })
}

/// Whether a state of which nothing was known at first is bound to what the call made, on every turn.
fn comes_back(facts: &Facts<'_>, state: &Expr, value: &Value, call: &Call<'_>, block: BlockId) -> bool {
    let text = facts.source.slice(state.range());
    value.kind == Kind::Unknown
        && call.callee == Callee::Module
        && facts.binds().iter().any(|bind| {
            facts.source.slice(bind.target.range()) == text
                && facts.is_unconditional_in(&bind.at, block)
                && bind.at.order > call.at.order
                && holds_graph_of(&bind.value, call)
        })
}

/// Whether a name or attribute gets a new value within a block: what nothing binds carries nothing on.
fn is_bound_in(facts: &Facts<'_>, state: &Expr, block: BlockId) -> bool {
    let text = facts.source.slice(state.range());
    facts
        .binds()
        .iter()
        .any(|bind| facts.is_inside(bind.at.block, block) && facts.source.slice(bind.target.range()) == text)
}

/// `y, self.h = self.rnn(x, self.h)` in `forward`, with nothing in the project that ever sets `h` back or detaches it.
fn check_module(facts: &Facts<'_>, call: &Call<'_>, report: &mut Report) {
    let Some(Stmt::Assign(assign)) = facts.statement(call.at.stmt).map(|statement| statement.node) else { return };
    let bound: Vec<&Expr> = assign.targets.iter().flat_map(parts).flat_map(parts).collect();
    for state in call.node.arguments.args.iter().flat_map(parts) {
        let Expr::Attribute(attribute) = state else { continue };
        let of_self = matches!(&*attribute.value, Expr::Name(name) if name.id.as_str() == "self");
        let text = facts.source.slice(state.range());
        let comes_back = bound.iter().any(|target| facts.source.slice(target.range()) == text);
        if !of_self || !comes_back || facts.loops(&call.at).next().is_some() {
            continue;
        }
        let name = attribute.attr.as_str();
        let own = |bind: &&Bind<'_>| bind.at.stmt == call.at.stmt || facts.function_name(&bind.at) == "__init__";
        let all_own = facts.binds_of(name).filter(own).count();
        let detached = facts.calls_named("detach_").any(|found| facts.mentions_word(found.range(), name));
        if detached || all_own < 2 || facts.tables().attribute_writes(name) as usize > all_own {
            continue;
        }
        let back = facts.calls_named("backward").find(|back| back.keyword_is("retain_graph", true));
        report
            .add(state, format!("`{text}` carries the graph of every past batch into this one"))
            .doubtful_if(back.is_none() && !is_recurrent(facts, call))
            .because(call, format!("`{text}` goes in, and what comes out is the next call's `{text}`"))
            .because(&assign.targets[0], "nothing in the project detaches it or sets it back")
            .because_if(back.map(Ranged::range), KEEPS);
        return;
    }
}

/// The items of a tuple, or the expression itself.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        other => vec![other],
    }
}

fn arguments<'f, 'a>(call: &'f Call<'a>) -> impl Iterator<Item = (&'a Expr, &'f Value)> {
    let positional = call.node.arguments.args.iter().zip(&call.args);
    let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value).zip(&call.keywords);
    positional.chain(keywords)
}

fn holds_graph_of(value: &Value, call: &Call<'_>) -> bool {
    value.holds_graph() && value.sources.overlap(call.site)
}

fn detach_before(facts: &Facts<'_>, call: &Call<'_>, state: &str) -> Vec<crate::finding::Edit> {
    let line = format!(
        "{state} = tuple(part.detach() for part in {state}) if isinstance({state}, tuple) else {state} if {state} is None else {state}.detach()"
    );
    facts.insert_before(call.at.stmt, &line)
}
