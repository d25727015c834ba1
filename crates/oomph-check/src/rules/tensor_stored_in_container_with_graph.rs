//! `tensor-stored-in-container-with-graph`: a list collects outputs with their graphs.

use crate::analysis::events::{At, BlockKind, Call, Root, Store, StoreKind};
use crate::analysis::tables::ClassKind;
use crate::analysis::value::{Flags, Kind};
use crate::detaching::{Read, detached_by, reads_in};
use crate::facts::{Effect, Facts, FunctionKind, Turn};
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::reads_of;

pub(super) static RULE: Rule = Rule {
    name: "tensor-stored-in-container-with-graph",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A list or dict collects tensors that still have their graph.",
    why: "Each tensor refers to its graph, and a graph that no `backward()` has freed to all activations of its \
          forward pass.",
    cost: "All saved activations of every batch so far where no `backward()` runs; every stored tensor always.",
    instead: "Store `x.detach().cpu()`, or the number itself.",
    when_not: "What is collected is back-propagated later as a whole.",
    programs: include_str!("tensor_stored_in_container_with_graph.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let in_forward = facts.kind_at(&store.at) == FunctionKind::Forward;
        if !store.value.holds_graph() || in_forward && !stays_on_module(facts, store) {
            continue;
        }
        if store.value.has(Flags::MIXED) && is_one_of_several(store.value_expr) {
            continue;
        }
        if !facts.surely_keeps_graph(store)
            || facts.goes_to_numpy(&store.value, &store.at)
            || facts.comes_from_reference(&store.value, &store.at)
        {
            continue;
        }
        let Some((turn, late)) = turn(facts, store) else { continue };
        // A recurrent pass keeps the graph of all its turns, stored or not; so does one that ran before the loop.
        let is_one_graph = || facts.feeds_itself(&store.value, &store.at) || !passes_each_turn(facts, store, &turn);
        if late.is_some() && is_one_graph() {
            continue;
        }
        if !grows(facts, store, &turn) || !facts.is_carried(store, &turn) || facts.keeper_goes_back(store) {
            continue;
        }
        if late.is_none() && belongs_to_one_step(facts, store, &turn) {
            continue;
        }
        let backward = facts.effects_in(Effect::Backward, turn.block).next();
        if backward.is_some() && facts.is_dropped_with_step(store, &turn)
            || backward.is_none() && is_left_on_object(facts, store, &turn)
        {
            continue;
        }
        let wanted = || late.is_none() && may_be_wanted(facts, store);
        if backward.is_none() && (wanted() || facts.comes_from_unrecorded(&store.value, &store.at)) {
            continue;
        }
        let later = |call: &Call<'_>| {
            !facts.is_inside(call.at.block, turn.block)
                && facts.backward_sources(call).overlap(store.value.sources.sites())
        };
        if late.is_none() && facts.effects_of(Effect::Backward, store.at.function).any(later) {
            continue;
        }
        let target = match store.kind {
            StoreKind::Collect => "This comprehension".to_owned(),
            _ => format!("`{}`", facts.source.slice(facts.keeper(store).range())),
        };
        let goes_back = backward.is_some() || store.value.is_freed_elsewhere();
        let freeing = facts.effects_in(Effect::Backward, turn.block).find(|back| !facts.may_retain_graph(back));
        let freed = freeing.is_some() || backward.is_none() && goes_back;
        let counted = facts.counted_loop_of(&store.value, &store.at).is_some();
        let each = if counted {
            "turn"
        } else if facts.batch_loop(&store.at).is_none() && (late.is_some() || facts.is_called_per_step(&store.at)) {
            "step"
        } else {
            "batch"
        };
        let message = if freed {
            format!("{target} collects tensors with their graph: one tensor and its graph's nodes a {each}")
        } else {
            format!("{target} collects tensors with their graph: the activations of every {each} stay alive")
        };
        report
            .add(store, message)
            .size(if freed { Size::per_batch(Amount::Small).growing() } else { RULE.size })
            .doubtful_if(is_doubtful(facts, store, goes_back))
            .made_by_if(facts.forward_pass(&store.value, &store.at), "this forward pass makes the graph")
            .because(&turn.head, format!("once a {each}, and the holder outlives it"))
            .because_if(late, late_words(facts, late))
            .because_if(
                freeing.map(Ranged::range),
                "the backward pass frees activations, but not the nodes of the graph",
            )
            .because_if(
                backward.filter(|_| !freed).map(Ranged::range),
                "this backward pass retains the graph: it frees nothing",
            )
            .unsafe_fix("Detach what is stored", detached(facts, store));
    }
}

/// What is seen of a store tells how sure it is: where nothing goes back, the network that makes the graph has to be seen.
fn is_doubtful<'a>(facts: &Facts<'a>, store: &Store<'a>, goes_back: bool) -> bool {
    if goes_back { facts.is_unseen_part(store) } else { !facts.is_seen_to_record(&store.value, &store.at) }
}

/// Whether all forward passes that a stored value comes from run on every turn.
fn passes_each_turn(facts: &Facts<'_>, store: &Store<'_>, turn: &Turn) -> bool {
    facts.forward_passes(&store.value, &store.at).all(|pass| facts.is_text_of(pass, turn.block))
}

/// Whether other things go by the same expression: another method computes the attribute without a graph as well, the
/// other entries of a dict have none. Which one this is is not to be seen.
fn is_one_of_several(expr: &Expr) -> bool {
    expr.is_attribute_expr() || matches!(expr, Expr::Subscript(node) if node.slice.is_string_literal_expr())
}

/// Whether what is collected where nothing goes back may have no graph, or one that somebody needs.
fn may_be_wanted<'a>(facts: &Facts<'a>, store: &Store<'a>) -> bool {
    // A module's own method collects the outputs of its layers, or of pieces of one batch.
    let own = !facts.is_kept_beyond_call(store);
    let evaluated = || facts.evaluating_loop_of(&store.value, &store.at).is_some();
    own && !evaluated() && (facts.class_kind(&store.at).is_module() || facts.may_be_used_later(store))
        || facts.may_have_no_graph(&store.value, &store.at)
}

/// What adds something on every turn, and where the whole is detached if that is what shows that no graph is wanted.
fn turn<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<(Turn, Option<TextRange>)> {
    if let Some(batches) = facts.batch_loop(&store.at) {
        return Some((batches.turn(), None));
    }
    let innermost = facts.loops(&store.at).next().filter(|turns| !facts.is_on_few_turns(&store.at, turns));
    if let (Some(turns), Some(late)) = (innermost, detached_late(facts, store)) {
        return Some((turns.turn(), Some(late)));
    }
    if let Some(turns) = facts.evaluating_loop_of(&store.value, &store.at) {
        return Some((turns.turn(), None));
    }
    if let Some(turns) = facts.counted_loop_of(&store.value, &store.at) {
        return Some((turns.turn(), None));
    }
    let played = store.via.is_none() && facts.is_called_per_step(&store.at) && !facts.class_kind(&store.at).is_module();
    if let (true, Root::SelfAttribute(_) | Root::Outer(_), Some(turn)) =
        (played, store.root, facts.function_turn(&store.at))
        && let Some(late) = detached_late(facts, store)
    {
        return Some((turn, Some(late)));
    }
    let calls = facts.kind_at(&store.at) == FunctionKind::Forward
        || facts.class_kind(&store.at) == ClassKind::Framework && facts.runs_per_batch(&store.at);
    if let (true, Root::SelfAttribute(_), Some(turn)) = (calls, store.root, facts.function_turn(&store.at)) {
        let kept = !facts.is_back_propagated_elsewhere(store) && !is_emptied_elsewhere(facts, store);
        return kept.then_some((turn, None));
    }
    if let (Some(turn), Some(drawn)) = (facts.function_turn(&store.at), replayed(facts, store)) {
        return Some((turn, Some(drawn)));
    }
    // A module, Lightning's or a plain one, has rules of its own.
    let own = facts.is_kept_beyond_call(store) && !facts.class_kind(&store.at).is_module();
    let kept = own && !facts.is_back_propagated_elsewhere(store) && !is_emptied_elsewhere(facts, store);
    let turn = facts.turn(&store.at).or_else(|| played_turn(facts, store));
    Some((turn.filter(|_| kept)?, None))
}

/// A function that is called on every step of an environment, and adds to what nothing else reads.
fn played_turn<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<Turn> {
    let Root::SelfAttribute(name) = store.root else { return None };
    let only_filled = facts.attribute_reads(name) == 1 && facts.loops(&store.at).next().is_none();
    (only_filled && store.via.is_none() && facts.is_called_per_step(&store.at))
        .then(|| facts.function_turn(&store.at))?
}

/// Where a memory of old steps is drawn from at random: what is drawn is learnt from anew, without its old graph.
fn replayed(facts: &Facts<'_>, store: &Store<'_>) -> Option<TextRange> {
    let Root::SelfAttribute(name) = store.root else { return None };
    let plain = store.via.is_none() && store.kind == StoreKind::Append && facts.loops(&store.at).next().is_none();
    let mut draws = ["random.sample", "random.choices"].into_iter().flat_map(|draw| facts.calls_to(draw));
    let of_it = |call: &Call<'_>| matches!(call.arg(0), Some(Expr::Attribute(held)) if held.attr.as_str() == name);
    draws.find(|call| plain && of_it(call) && call.at.function != store.at.function).map(Ranged::range)
}

/// Whether what was collected is left on the object after the loop, graph and all: another method may go back over it.
fn is_left_on_object(facts: &Facts<'_>, store: &Store<'_>, turn: &Turn) -> bool {
    facts.stores().iter().any(|other| {
        other.kind == StoreKind::Attribute
            && other.at.function == store.at.function
            && !facts.is_inside(other.at.block, turn.block)
            && other.value.holds_graph()
            && other.value.sources.sites().overlap(store.value.sources.sites())
    })
}

/// Whether every `forward` adds to a list of the module that nothing outside this file can empty.
fn stays_on_module(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Root::SelfAttribute(name) = store.root else { return false };
    let made = facts.binds_of(name).filter(|bind| facts.function_name(&bind.at) == "__init__").count();
    let own = facts.outline().attribute_reads.get(name).copied().unwrap_or_default();
    store.kind == StoreKind::Append
        && store.via.is_none()
        && made == 1
        && facts.tables().attribute_writes(name) == 1
        && facts.attribute_reads(name) == own
        && facts.loops(&store.at).next().is_none()
        && facts.is_unconditional_in(&store.at, facts.function_block(&store.at))
        && !facts.source.text.contains(&format!("\"{name}\""))
}

/// Where all that was collected is detached, when every read of the holder does that.
fn detached_late<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<TextRange> {
    match (facts.keeper(store), store.kind) {
        (Expr::Attribute(node), StoreKind::Append) => {
            let reads = reads_of(facts.source.body(), node.attr.as_str());
            let reads = reads.into_iter().map(|(place, around)| Read { place, around, stmt: None });
            detached_by(facts, reads.collect(), &store.at)
        }
        (Expr::Name(node), StoreKind::Append) => {
            let lasting = matches!(store.root, Root::Outer(_));
            let body = if lasting { facts.source.body() } else { facts.body_around(&store.at) };
            detached_by(facts, reads_in(body, node.id.as_str()), &store.at)
        }
        _ => None,
    }
}

/// Whether another function of the file empties what a store adds to, or makes it anew.
fn is_emptied_elsewhere(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let (Root::SelfAttribute(name) | Root::Outer(name)) = store.root else { return true };
    let is_it = |expr: &Expr| facts.mentions_word(expr.range(), name);
    let empties = ["clear", "pop", "popleft", "popitem", "reset"]
        .into_iter()
        .any(|method| facts.calls_named(method).any(|call| call.receiver_expr().is_some_and(is_it)));
    let makes = |function: &str| function == "__init__" || function.is_empty();
    // A function that the storing one is nested in makes the holder before its loops call that.
    let outer = store.at.function.and_then(|index| facts.outline().functions[index as usize].parent);
    let prepares = |at: &At| outer.is_some() && at.function == outer && facts.loops(at).next().is_none();
    empties
        || facts.deletes().iter().any(|delete| is_it(delete.target))
        || facts.binds_of(name).any(|bind| !makes(facts.function_name(&bind.at)) && !prepares(&bind.at))
}

/// Whether each turn adds something: what has the same key each time is overwritten.
fn grows(facts: &Facts<'_>, store: &Store<'_>, turn: &Turn) -> bool {
    let growing = store.holder.is_growing_holder() || store.via.is_some();
    match store.kind {
        StoreKind::Append => growing || store.holder.kind == Kind::Unknown,
        // `logs.update({"loss": loss})` overwrites.
        StoreKind::Extend => {
            (growing || store.holder.kind == Kind::Tuple)
                && !has_constant_keys(store.value_expr)
                && !adds_unknown_list(facts, store)
        }
        StoreKind::Collect => true,
        StoreKind::Item => {
            let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) else {
                return false;
            };
            let keys = assign.targets.iter().filter_map(Expr::as_subscript_expr).map(|target| &*target.slice);
            let varies = |key: &Expr| facts.varies_in(key, turn.block) && !is_of_fixed_set(facts, store, turn, key);
            matches!(store.holder.kind, Kind::Dict | Kind::List)
                && !is_table_of_slots(facts, store)
                && keys.into_iter().any(varies)
        }
        _ => false,
    }
}

/// Whether what items are put into is made with its keys, `{head: None for head in heads}`: each is overwritten.
fn is_table_of_slots(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let has_keys = |expr: &Expr| match expr {
        Expr::Dict(dict) => !dict.items.is_empty(),
        Expr::DictComp(_) => true,
        _ => false,
    };
    let binds = facts.binds_seen(facts.keeper(store), &store.at);
    !binds.is_empty() && binds.iter().all(|bind| bind.value_expr.is_some_and(has_keys))
}

/// Whether a loop within the turn gives the key, over names that are the same on every turn: `for key in metrics`.
fn is_of_fixed_set(facts: &Facts<'_>, store: &Store<'_>, turn: &Turn, key: &Expr) -> bool {
    let Expr::Name(name) = key else { return false };
    facts.loops(&store.at).take_while(|found| found.block != turn.block).any(|found| {
        let BlockKind::Loop(_, Stmt::For(node)) = found.node else { return false };
        let of_keys = matches!(&*node.iter, Expr::Call(call) if matches!(&*call.func, Expr::Attribute(method)
            if matches!(method.attr.as_str(), "items" | "keys")));
        facts.target_binds(&node.target, name.id.as_str()) && (of_keys || !facts.varies_in(&node.iter, turn.block))
    })
}

/// Whether the holder is made anew on every turn of a loop around, in which a backward pass follows.
fn belongs_to_one_step(facts: &Facts<'_>, store: &Store<'_>, turn: &Turn) -> bool {
    let Root::Local(name) = store.root else { return false };
    facts.loops(&store.at).skip_while(|found| found.block != turn.block).skip(1).any(|step| {
        let made = facts.binds_of(name).any(|bind| bind.at.block == step.block && bind.at.order < store.at.order);
        let follows = |call: &Call<'_>| call.at.order > store.at.order && !facts.is_inside(call.at.block, turn.block);
        // What is detached after the loop had its graph kept for nothing.
        let inside = |call: &Call<'_>| facts.is_inside(call.at.block, step.block) && follows(call);
        made && facts.effects_in(Effect::Backward, step.block).any(follows) && !facts.calls_named("detach").any(inside)
    })
}

/// `tags += path[:n]`: what is added to a list so is a list, whatever the model's name promised.
fn adds_unknown_list(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let in_place = matches!(facts.statement(store.at.stmt).map(|statement| statement.node), Some(Stmt::AugAssign(_)));
    in_place && store.value.is_tensor() && matches!(store.value_expr, Expr::Name(_) | Expr::Subscript(_))
}

/// Whether an expression is a dict whose keys are the same each time.
fn has_constant_keys(expr: &Expr) -> bool {
    matches!(expr, Expr::Dict(dict) if dict.items.iter().all(|item| item.key.as_ref().is_some_and(Expr::is_string_literal_expr)))
}

/// What happens where the graphs are of no more use.
fn late_words(facts: &Facts<'_>, late: Option<TextRange>) -> &'static str {
    if late.is_some_and(|late| facts.source.slice(late).contains('(')) {
        "drawn from here, long after the steps they belong to"
    } else {
        "all are detached only here, when every graph has been kept"
    }
}

fn detached(facts: &Facts<'_>, store: &Store<'_>) -> Vec<crate::finding::Edit> {
    let single =
        store.value.keeps_graph() && matches!(store.value_expr, Expr::Name(_) | Expr::Call(_) | Expr::Attribute(_));
    if single && matches!(store.kind, StoreKind::Append | StoreKind::Collect) {
        return facts.call_method_on(store.value_expr, "detach");
    }
    Vec::new()
}
