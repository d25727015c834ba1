//! `retain-graph-true`: a graph kept after the last backward pass over it.

use crate::analysis::events::{At, Bind, BlockKind, Call, Callee, LoopKind, Root, Store, StoreKind};
use crate::analysis::value::{BlockId, Kind, Value};
use crate::facts::{Effect, Facts, FunctionKind, Loop, Turn};
use crate::finding::{Edit, Safety};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "retain-graph-true",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`backward(retain_graph=True)` is the last backward pass over its graph.",
    why: "The flag keeps every saved activation for a second backward pass. None comes, so they live until the loss is \
          bound anew, in the middle of the next forward pass. Where something carries the graph from step to step, the \
          flag hides the error that would have said so, and the graph grows.",
    cost: "The saved activations of two forward passes at the peak instead of one; of all steps so far where a hidden \
           state or a running value carries the graph on.",
    instead: "Drop the flag. If torch then says \"backward through the graph a second time\", detach what crosses steps: \
              `h = h.detach()`.",
    when_not: "Several losses share one forward pass and go back one after another: all but the last need the flag.",
    programs: include_str!("retain_graph_true.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let methods = ["backward", "manual_backward"].into_iter().flat_map(|name| facts.calls_named(name));
    for call in methods.filter(|call| !call.keyword_is("create_graph", true)) {
        let Some(flag) = flag(facts, call) else { continue };
        if let Some(given) = given_by_callers(facts, call) {
            report
                .add(
                    call,
                    format!(
                        "`retain_graph=True` on the last backward pass over this graph: its activations stay alive {}",
                        given.until
                    ),
                )
                .because(&given.forward, "the graph is made here, anew on every turn, and given to this function")
                .because(flag, "no later backward pass goes over it")
                .unsafe_fix("Drop `retain_graph=True`", without_flag(facts, call, flag));
            continue;
        }
        let sources = facts.backward_sources(call);
        let hooked = kept_by_hook(facts, call);
        let by_hook = || facts.function_turn(&call.at).filter(|_| hooked.is_some());
        let Some(turn) = turn(facts, call).or_else(by_hook) else { continue };
        if sources.is_empty() || facts.kind_at(&call.at) == FunctionKind::Hook || !is_unshared(facts, call) {
            continue;
        }
        let Some(forward) = made_within(facts, call, turn.block, hooked.is_some()) else { continue };
        if feeds_a_later_pass(facts, call, turn.block) {
            continue;
        }
        let others = facts.effects_of(Effect::Backward, call.at.function).filter(|other| other.range() != call.range());
        let mut others = others.filter(|other| {
            let theirs = facts.backward_sources(other);
            // Data that both were given is no graph.
            let given = || theirs.parameters().any(|index| !is_data(facts, call, index));
            theirs.is_empty() && !is_made_after(facts, call, other)
                || theirs.sites().overlap(sources)
                || theirs.overlap(sources) && given()
        });
        if others.any(|other| other.at.order > call.at.order || !facts.is_inside(other.at.block, turn.block)) {
            continue;
        }
        // What only names of a function hold is gone when it returns.
        let dies = hooked.is_none() && facts.loops(&call.at).next().is_none() && !outlasts_function(facts, call);
        let steps = facts.effects_of(Effect::Step, call.at.function).any(|step| step.at.order > call.at.order);
        let until = match (dies, steps) {
            (false, _) => "into the next forward pass",
            (true, true) => "through the step, until the function returns",
            (true, false) => "until the function returns",
        };
        report
            .add(
                call,
                format!(
                    "`retain_graph=True` on the last backward pass over this graph: its activations stay alive {until}"
                ),
            )
            .doubtful_if(dies && !steps || may_share(facts, call, turn.block))
            .because(&forward, "the graph is made here, anew on every turn")
            .because(flag, "no later backward pass goes over it")
            .because_if(hooked, "the hook keeps this output until the next pass, and the graph before it")
            .unsafe_fix("Drop `retain_graph=True`", without_flag(facts, call, flag));
    }
}

/// The `True` that keeps the graph: `backward(retain_graph=True)`, `backward(None, True)`.
fn flag<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let by_place = call.arg(1).filter(|_| call.receiver.as_ref().is_some_and(Value::is_tensor));
    let given = call.keyword("retain_graph").or(by_place)?;
    let is_true = |expr: &Expr| matches!(expr, Expr::BooleanLiteral(literal) if literal.value);
    // A name of the file that is only ever true.
    let always = || {
        let binds = if given.is_name_expr() { facts.binds_seen(given, &call.at) } else { Vec::new() };
        !binds.is_empty() && binds.iter().all(|bind| bind.value_expr.is_some_and(is_true))
    };
    (is_true(given) || always()).then_some(given)
}

/// A loss that a helper goes back over, and how long its graph lives on.
struct Given {
    forward: TextRange,
    until: &'static str,
}

/// The pass behind a loss that every caller in view gives the function of a backward pass, makes anew on every turn and
/// goes back over there alone.
fn given_by_callers(facts: &Facts<'_>, call: &Call<'_>) -> Option<Given> {
    let Some(Expr::Name(loss)) = call.receiver_expr() else { return None };
    let function = facts.function(&call.at)?;
    let place =
        function.node.parameters.iter_non_variadic_params().position(|own| own.name().as_str() == loss.id.as_str())?;
    let place = place.checked_sub(usize::from(function.is_bound()))?;
    let own = |bind: &Bind<'_>| bind.at.function == call.at.function && bind.target.is_name_expr();
    let alone = facts.effects_of(Effect::Backward, call.at.function).count() == 1;
    if facts.binds_of(loss.id.as_str()).any(own) || !alone || facts.loops(&call.at).next().is_some() {
        return None;
    }
    let mut found = None;
    for caller in facts.callers_of(&call.at) {
        let value = caller.keyword_value(loss.id.as_str()).or_else(|| caller.args.get(place))?;
        let turns = facts.loops(&caller.at).next().filter(|turns| facts.is_per_batch(turns))?;
        let shares = |other: &Call<'_>| {
            let theirs = facts.backward_sources(other);
            other.range() != caller.range() && (theirs.is_empty() || theirs.overlap(value.sources))
        };
        if facts.effects_of(Effect::Backward, caller.at.function).any(shares) || !value.holds_graph() {
            return None;
        }
        let passes: Vec<TextRange> = facts.forward_passes(value, &caller.at).collect();
        let anew = passes.iter().all(|pass| turns.range.contains_range(*pass));
        if !anew
            || facts.feeds_itself(value, &caller.at)
            || value.sources.parameters().any(|index| !is_data(facts, caller, index))
        {
            return None;
        }
        let named = facts.argument_of(caller, loss.id.as_str()).is_some_and(Expr::is_name_expr);
        let until = if named { "into the next forward pass" } else { "until the function returns" };
        found = Some(Given { forward: *passes.first()?, until });
    }
    found
}

/// The innermost loop around a backward pass if it runs once a batch, or the function that takes one step.
fn turn<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<Turn> {
    match facts.loops(&call.at).next() {
        Some(turns) => {
            // What steps on every turn, whatever it goes over, has a graph of its own on every turn.
            let steps = || facts.effects_in(Effect::Step, turns.block).any(|step| step.at.order > call.at.order);
            (facts.is_per_batch(&turns) || is_over_segments(facts, call, &turns) || steps()).then(|| turns.turn())
        }
        None => facts.is_training_step(&call.at).then(|| facts.turn(&call.at)).flatten(),
    }
}

/// Whether the graph is still there at a later forward pass: one of the same function, or because the object keeps what
/// hangs on it. What only names of the function hold is gone when it returns.
fn outlasts_function(facts: &Facts<'_>, backward: &Call<'_>) -> bool {
    let sources = facts.backward_sources(backward);
    let is_after = |at: &At| at.function == backward.at.function && at.order > backward.at.order;
    let runs = |call: &Call<'_>| call.callee == Callee::Module && !call.at.grad.is_off() && is_after(&call.at);
    let keeps = |store: &Store<'_>| {
        let lasting = matches!(store.root, Root::SelfAttribute(_) | Root::Outer(_));
        let held = store.value.holds_graph() && store.value.sources.overlap(sources);
        store.at.function == backward.at.function && lasting && held
    };
    backward.at.function.is_none() || facts.calls().iter().any(runs) || facts.stores().iter().any(keeps)
}

/// Whether a loop takes one part after the other of something long through a model, and goes back over each: the turns
/// share no graph that is in view.
fn is_over_segments(facts: &Facts<'_>, backward: &Call<'_>, turns: &Loop<'_>) -> bool {
    let Some(loss) = backward.receiver.as_ref().filter(|value| value.is_tensor()) else { return false };
    let passes: Vec<TextRange> = facts.forward_passes(loss, &backward.at).collect();
    let takes_part = |pass: &TextRange| {
        let made = facts.calls().iter().find(|call| call.range() == *pass);
        made.is_some_and(|call| call.node.arguments.args.iter().any(|arg| facts.varies_in(arg, turns.block)))
    };
    matches!(turns.kind, LoopKind::Items | LoopKind::Chunks)
        && !matches!(turns.node, BlockKind::Comprehension(..))
        && !passes.is_empty()
        && passes.iter().all(takes_part)
        && !facts.feeds_itself(loss, &backward.at)
}

/// What a forward hook keeps of the pass with its graph, where the function runs a model once and goes back once: the
/// output of a layer, in an attribute of the same object, or in a name of the function whose hook is never removed.
fn kept_by_hook(facts: &Facts<'_>, backward: &Call<'_>) -> Option<TextRange> {
    if backward.at.function.is_none() || facts.loops(&backward.at).next().is_some() {
        return None;
    }
    facts.calls_named("register_forward_hook").find_map(|call| {
        let callback = facts.callback(call.arg(0)?, call.args.first()?)?;
        let dropped =
            matches!(facts.statement(call.at.stmt)?.node, Stmt::Expr(node) if node.value.range() == call.range());
        let own = dropped && call.at.function == backward.at.function;
        let class = facts.class_at(&backward.at);
        let mut stores = facts.stores_of(&callback);
        let kept = stores.find(|store| {
            let raw = matches!(store.value_expr, Expr::Name(name) if callback.parameters.contains(&name.id.as_str()));
            let lasting = match store.root {
                Root::SelfAttribute(_) => class.is_some() && facts.class_around(&store.at) == class,
                Root::Outer(_) => own,
                _ => false,
            };
            raw && lasting && matches!(store.kind, StoreKind::Attribute | StoreKind::Item)
        })?;
        Some(kept.range)
    })
}

/// A forward pass the loss comes from, when all of them run in this very turn. What a function is given to show has no
/// graph of its own.
fn made_within(facts: &Facts<'_>, call: &Call<'_>, block: BlockId, shows: bool) -> Option<TextRange> {
    let loss = call.receiver.as_ref().filter(|value| value.is_tensor()).or_else(|| call.args.first())?;
    let mut passes = facts.forward_passes(loss, &call.at).peekable();
    let first = *passes.peek()?;
    let from_parameters = !shows && loss.sources.parameters().any(|index| !is_data(facts, call, index));
    (!from_parameters && passes.all(|range| facts.is_text_of(range, block))).then_some(first)
}

/// Whether all that another backward pass goes over is made after this one, of what shares no graph with it.
fn is_made_after(facts: &Facts<'_>, call: &Call<'_>, other: &Call<'_>) -> bool {
    let sources = facts.backward_sources(call);
    let Some(Expr::Name(loss)) = other.receiver_expr() else { return false };
    let (mut names, mut next) = (vec![loss.id.as_str()], 0);
    while let Some(name) = names.get(next).copied() {
        next += 1;
        let own = |bind: &&Bind<'_>| bind.at.function == call.at.function && bind.at.order < other.at.order;
        let binds: Vec<&Bind<'_>> = facts.binds_of(name).filter(own).collect();
        // The last before the other pass is what it reads.
        let Some(bind) = binds.last() else { continue };
        if bind.at.order < call.at.order {
            if next == 1 || bind.value.sources.sites().overlap(sources) {
                return false;
            }
            continue;
        }
        let stmt = facts.statement(bind.at.stmt).map(|found| found.node);
        let Some(Stmt::Assign(assign)) = stmt else { return false };
        let reads = names_read(&assign.value).into_iter().filter(|read| !names.contains(read)).collect::<Vec<_>>();
        names.extend(reads);
        if names.len() > 40 {
            return false;
        }
    }
    next > 1
}

/// The names an expression reads.
fn names_read(expr: &Expr) -> Vec<&str> {
    struct Search<'n>(Vec<&'n str>);
    impl<'n> SourceOrderVisitor<'n> for Search<'n> {
        fn visit_expr(&mut self, expr: &'n Expr) {
            if let Expr::Name(name) = expr {
                self.0.push(name.id.as_str());
            }
            walk_expr(self, expr);
        }
    }
    let mut search = Search(Vec::new());
    search.visit_expr(expr);
    search.0
}

/// Whether a method that is not in this file gave several things at once, before this backward pass and a later one: the
/// two losses may share a graph that it made.
fn may_share(facts: &Facts<'_>, backward: &Call<'_>, block: BlockId) -> bool {
    let goes_back_later = facts.effects_in(Effect::Backward, block).any(|other| other.at.order > backward.at.order);
    goes_back_later
        && facts.calls().iter().any(|call| {
            let of_self = call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == "self");
            let unseen = match call.callee {
                Callee::Project(id) => !facts.is_own(id),
                Callee::Other => true,
                _ => false,
            };
            let several = || {
                let stmt = facts.statement(call.at.stmt).map(|found| found.node);
                matches!(stmt, Some(Stmt::Assign(assign)) if assign.targets.iter().all(Expr::is_tuple_expr)
                    && assign.value.range() == call.node.range())
            };
            let before = call.at.function == backward.at.function && call.at.order < backward.at.order;
            before && of_self && unseen && !call.at.grad.is_off() && several()
        })
}

/// Whether a later backward pass of the turn goes over passes that were fed something of unknown origin: a hook may
/// have kept parts of this graph.
fn feeds_a_later_pass(facts: &Facts<'_>, backward: &Call<'_>, block: BlockId) -> bool {
    let later = facts.effects_in(Effect::Backward, block).filter(|other| other.at.order > backward.at.order);
    later.into_iter().any(|other| {
        let sources = facts.backward_sources(other);
        facts.calls().iter().any(|call| {
            let between = call.at.order > backward.at.order && call.at.order < other.at.order;
            let unknown = |value: &Value| value.kind == Kind::Unknown && value.sources.is_empty();
            between
                && call.at.function == backward.at.function
                && call.site.overlap(sources)
                && call.args.iter().any(unknown)
        })
    })
}

/// Whether a parameter of the function is plain data: it is moved to a device there.
fn is_data(facts: &Facts<'_>, call: &Call<'_>, index: usize) -> bool {
    let Some(function) = facts.function(&call.at) else { return false };
    let Some(parameter) = function.node.parameters.iter_non_variadic_params().nth(index) else { return false };
    let name = parameter.parameter.name.as_str();
    let mut moves = facts.calls_named("cuda").chain(facts.calls_named("to"));
    moves.any(|moved| moved.at.function == call.at.function && moved.receiver_expr().and_then(root_name) == Some(name))
        || is_data_name(name)
        || is_moved_by_callers(facts, call, index)
}

/// Whether every caller in view moves what it gives to a device as it does so: `self.step(mel.cuda(), wave.cuda())`.
fn is_moved_by_callers(facts: &Facts<'_>, call: &Call<'_>, index: usize) -> bool {
    let bound = usize::from(facts.function(&call.at).is_some_and(|function| function.class.is_some()));
    let moves = |caller: &Call<'_>| {
        let given = index.checked_sub(bound).and_then(|index| caller.arg(index)).and_then(|given| facts.call_at(given));
        given.is_some_and(|moved| matches!(moved.name, "cuda" | "to") && !moved.result.holds_graph())
    };
    let mut callers = facts.callers_of(&call.at).peekable();
    callers.peek().is_some() && callers.all(moves)
}

/// Whether a parameter is data by its name: what a step is given to learn from.
fn is_data_name(name: &str) -> bool {
    const DATA: &[&str] = &[
        "x",
        "y",
        "input",
        "image",
        "img",
        "batch",
        "data",
        "target",
        "label",
        "state",
        "obs",
        "observation",
        "action",
        "reward",
        "done",
        "next_state",
        "input_ids",
        "tokens",
        "s",
        "a",
        "r",
        "real",
        "noise",
        "z",
        "src",
        "tgt",
        "mask",
    ];
    DATA.iter().any(|word| name == *word || name.strip_suffix('s') == Some(*word))
}

/// Whether nothing else of the function holds on to the graph: it is not returned, and no gradient is asked for later.
fn is_unshared(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let sources = facts.backward_sources(call);
    // `optimizer.step(loss)`, `self.update(loss)`: another backward pass may be in there.
    let handed_on = facts.calls().iter().any(|later| {
        let goes_back = ["step", "update", "optim", "backward"].iter().any(|word| later.name.contains(word));
        let takes = later.values().any(|value| value.holds_graph() && value.sources.overlap(sources));
        later.at.function == call.at.function && later.at.order > call.at.order && goes_back && takes
    });
    if handed_on {
        return false;
    }
    let mut returned = facts.returns().iter().filter(|found| found.at.function == call.at.function);
    !returned.any(|found| found.value.holds_graph() && found.value.sources.overlap(sources))
}

fn without_flag(facts: &Facts<'_>, call: &Call<'_>, flag: &Expr) -> Vec<Edit> {
    if call.keyword("retain_graph").is_none() {
        return Vec::new();
    }
    facts.remove_argument(call, flag.range())
}
