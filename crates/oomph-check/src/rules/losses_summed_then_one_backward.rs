//! `losses-summed-then-one-backward`: many forward passes wait for one backward pass.

use crate::analysis::events::{At, BlockKind, Call, Store, StoreKind};
use crate::analysis::value::{BlockId, Flags, Graph, Kind, Value};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::rules::zero_grad_inside_accumulation::turns_once;
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "losses-summed-then-one-backward",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "The losses of several forward passes are summed, then back-propagated at once.",
    why: "No graph can be freed before the one backward pass, so the activations of all forward passes are alive at the \
          same time.",
    cost: "As many times the saved activations as there are passes, where one would do.",
    instead: "Call `(loss / n).backward()` inside the loop: gradients add up by themselves.",
    when_not: "The loss couples the passes (contrastive losses, sequences), or they share one forward pass.",
    programs: include_str!("losses_summed_then_one_backward.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let sums = matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind | StoreKind::Append | StoreKind::Item);
        if !sums || !is_loss(facts, store) || facts.kind_at(&store.at) == FunctionKind::Forward {
            continue;
        }
        let Some(turns) = facts.loops(&store.at).next() else { continue };
        if store.kind == StoreKind::Item && !has_new_key(facts, store, &turns) {
            continue;
        }
        let rebound = facts.is_rebound_in(store.target, turns.block, store.at.stmt);
        if rebound && backward_now_and_then(facts, store, &turns).is_none() {
            continue;
        }
        let Some(backward) = one_backward(facts, store, &turns) else { continue };
        // A graph that is kept is gone over again: as a whole, so it is needed as a whole.
        if backward.keyword_is("retain_graph", true) || is_stateful(facts, store, &turns) {
            continue;
        }
        let inside = facts.is_inside(backward.at.block, turns.block);
        let here =
            if inside { "on most turns of this loop no backward pass runs" } else { "no backward pass in this loop" };
        if !passes_are_apart(facts, &store.value, store, &turns) || is_used_as_a_whole(facts, store) {
            continue;
        }
        report
            .add(
                store,
                "All these losses wait for one backward pass: the activations of every forward pass are alive at once",
            )
            .doubtful_if(turns_once(facts, &turns, &store.at))
            .because_if(facts.forward_pass(&store.value, &store.at), "a forward pass each turn")
            .because(&turns.head(), here)
            .because(backward, "the one backward pass over all of them");
    }
    let mut seen = Vec::new();
    for backward in facts.effects(Effect::Backward) {
        check_comprehensions(facts, backward, &mut seen, report);
    }
}

/// Whether an item gets another key on every turn of a loop: `losses[name] = loss`.
fn has_new_key(facts: &Facts<'_>, store: &Store<'_>, turns: &Loop<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|found| found.node) else { return false };
    let mut items = assign.targets.iter().filter_map(Expr::as_subscript_expr);
    items.any(|item| facts.varies_in(&item.slice, turns.block))
}

/// Whether what is added is a loss: made by a criterion, one number, or called so.
fn is_loss(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let named = || {
        let target = facts.source.slice(store.target.range()).to_ascii_lowercase();
        target.contains("loss") || target.contains("cost")
    };
    // What a function out of view made of a module has a graph where the callers go back over it.
    let shown = || {
        let run = store.value.is_tensor() && !store.value.sources.sites().is_empty();
        run && store.value.graph == Graph::Unknown && backward_by_callers(facts, store).is_some()
    };
    (store.value.keeps_graph() || shown())
        && (store.value.has(Flags::LOSS) || store.value.has(Flags::SCALAR) || named())
}

/// The backward pass outside the loop over what is summed up in it, if there is none inside.
fn one_backward<'f, 'a>(facts: &'f Facts<'a>, store: &Store<'_>, turns: &Loop<'_>) -> Option<&'f Call<'a>> {
    if facts.effects_in(Effect::Backward, turns.block).next().is_some() {
        return backward_now_and_then(facts, store, turns);
    }
    // A function nested in this one runs when it is called, not where it stands.
    let follows = |call: &&Call<'_>| call.at.function == store.at.function && call.at.order > store.at.order;
    let mut after = facts.effects(Effect::Backward).filter(follows);
    let own = after.find(|call| facts.backward_sources(call).overlap(store.value.sources));
    own.or_else(|| backward_by_callers(facts, store))
}

/// The backward pass that the callers run over the sum; a module's own method makes a part of one pass.
fn backward_by_callers<'f, 'a>(facts: &'f Facts<'a>, store: &Store<'_>) -> Option<&'f Call<'a>> {
    facts.backward_by_callers(&store.value, &store.at).filter(|_| !facts.class_kind(&store.at).is_module())
}

/// `if (i + 1) % n == 0: loss.backward(); loss = 0`: the sum of several turns goes back on some of them only.
fn backward_now_and_then<'f, 'a>(facts: &'f Facts<'a>, store: &Store<'_>, turns: &Loop<'_>) -> Option<&'f Call<'a>> {
    let target = facts.source.slice(store.target.range());
    let mut backwards = facts.effects_in(Effect::Backward, turns.block);
    let backward = backwards.next().filter(|_| backwards.next().is_none())?;
    let counted = facts.tests_within(&backward.at, turns.block).any(|test| {
        test.is_some_and(|test| {
            let text = facts.source.slice(test.range()).to_ascii_lowercase();
            text.contains('%')
                || text.contains("accum")
                || text.contains(&format!("len({})", target.to_ascii_lowercase()))
                || is_counter(facts, test, turns)
        })
    });
    let mut on = backward.receiver_expr().into_iter().chain(&backward.node.arguments.args);
    // `loss = torch.stack(losses).mean()` right before.
    let made_of_it = |expr: &Expr| match expr {
        Expr::Name(name) => facts.binds_of(name.id.as_str()).any(|bind| {
            let near = bind.at.function == backward.at.function && bind.at.block == backward.at.block;
            near && bind.value_expr.is_some_and(|value| facts.mentions_word(value.range(), target))
        }),
        _ => false,
    };
    let on_it = on.any(|expr| facts.mentions_word(expr.range(), target) || made_of_it(expr));
    let back_to_zero = facts.binds().iter().any(|bind| {
        let zero = bind.value_expr.is_some_and(|value| match value {
            Expr::List(list) => list.elts.is_empty(),
            other => other.is_number_literal_expr(),
        });
        zero && bind.at.block == backward.at.block && facts.source.slice(bind.target.range()) == target
    });
    let emptied = facts.calls_named("clear").any(|call| {
        call.at.block == backward.at.block
            && call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == target)
    });
    let back_to_zero = back_to_zero || emptied;
    // Back-propagation through time, cut off every few steps: the steps between belong together.
    let cuts_off = facts.calls().iter().any(|call| {
        let on_loss = call.receiver_expr().is_some_and(|expr| facts.mentions_word(expr.range(), target));
        call.name.starts_with("detach") && call.at.block == backward.at.block && !on_loss
    });
    (!cuts_off && counted && on_it && back_to_zero && facts.is_unconditional_in(&store.at, turns.block))
        .then_some(backward)
}

/// Whether a test compares a number that the loop counts: `n == 8` with `n += 1`.
fn is_counter(facts: &Facts<'_>, test: &Expr, turns: &Loop<'_>) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let Expr::Name(name) = &*compare.left else { return false };
    facts.statements_in(turns.block).any(|found| match found.node {
        Stmt::AugAssign(node) => {
            let counts = matches!(&*node.target, Expr::Name(target) if target.id == name.id);
            counts && crate::uses::is_number(&node.value, 1)
        }
        _ => false,
    })
}

/// Whether the module has a state that is set back before the loop: every pass in it goes on from the one before.
fn is_stateful(facts: &Facts<'_>, store: &Store<'_>, turns: &Loop<'_>) -> bool {
    let passes: Vec<TextRange> = facts.forward_passes(&store.value, &store.at).collect();
    let run = |call: &&Call<'_>| passes.contains(&call.node.range());
    let modules: Vec<&str> =
        facts.calls().iter().filter(run).map(|call| facts.source.slice(call.node.func.range())).collect();
    facts.calls().iter().any(|call| {
        let name = call.name.to_ascii_lowercase();
        let sets_back = name.starts_with("reset")
            || ["init_hidden", "inithidden", "init_state", "zero_state"].contains(&name.as_str());
        let mut on = call.receiver_expr().into_iter().chain(&call.node.arguments.args);
        sets_back
            && call.at.function == store.at.function
            && call.at.order < store.at.order
            && !facts.is_inside(call.at.block, turns.block)
            && on.any(|expr| modules.contains(&facts.source.slice(expr.range())))
    })
}

/// Whether a pass takes what the turn before left: a name that is bound in its own statement or after it, in the same
/// loop. `logits, h = model(x, h=h)`, `out = net(state)` and then `state = step(state, out)`.
fn is_fed_by_last_turn(facts: &Facts<'_>, passes: &[TextRange], turns: &Loop<'_>) -> bool {
    facts.calls().iter().filter(|call| passes.contains(&call.node.range())).any(|call| {
        let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value);
        let mut given = call.node.arguments.args.iter().chain(keywords).filter_map(Expr::as_name_expr);
        given.any(|name| {
            let mut binds = facts.binds_of(name.id.as_str()).filter(|bind| facts.is_inside(bind.at.block, turns.block));
            binds.any(|bind| {
                bind.at.stmt == call.at.stmt || bind.at.order > call.at.order && bind.value.kind != Kind::Number
            })
        })
    })
}

/// Whether every forward pass is made in the loop, and none feeds the next.
fn passes_are_apart(facts: &Facts<'_>, value: &Value, store: &Store<'_>, turns: &Loop<'_>) -> bool {
    let passes: Vec<TextRange> = facts.forward_passes(value, &store.at).collect();
    // What the loop goes over was made once: `for out, y in zip(model(x), targets)`.
    let each_turn = |pass: &TextRange| facts.is_text_of(*pass, turns.block) && !turns.head().contains_range(*pass);
    let inside = !passes.is_empty() && passes.iter().all(each_turn);
    // `for head in heads: loss += head(x)`: each pass is another module's.
    let other_modules = facts
        .calls()
        .iter()
        .any(|call| passes.contains(&call.node.range()) && facts.varies_in(&call.node.func, turns.block));
    let coupled = facts.feeds_itself(value, &store.at) || is_fed_by_last_turn(facts, &passes, turns);
    // What an environment answers depends on the pass before.
    let acts = facts.calls_named("step").any(|call| {
        let on = call.receiver_expr().map(|expr| facts.source.slice(expr.range()).to_ascii_lowercase());
        on.is_some_and(|text| text.contains("env")) && facts.is_inside(call.at.block, turns.block)
    });
    inside && !coupled && !other_modules && !acts
}

/// Calls that take losses apart again, or only show them: their mean goes back one by one as well.
const SEPARABLE: &[&str] = &[
    "append",
    "stack",
    "cat",
    "sum",
    "mean",
    "item",
    "backward",
    "len",
    "print",
    "format",
    "detach",
    "tensor",
    "scale",
    "info",
    "log",
    "add_scalar",
    "extend",
    "float",
    "round",
    "str",
    "cpu",
    "tolist",
    "numpy",
    "clear",
    "range",
    "enumerate",
    "update",
    "manual_backward",
    "grad",
    "zip",
    "list",
    "div",
    "squeeze",
];

/// Whether the losses collected in a list are needed together: for their variance, their worst, a function of all.
fn is_used_as_a_whole(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let target = facts.source.slice(store.target.range());
    store.kind == StoreKind::Append && needs_all(facts, target, &store.at)
}

/// Whether a call after a point does something else with a name than add up what it holds.
fn needs_all(facts: &Facts<'_>, name: &str, at: &At) -> bool {
    facts.calls().iter().any(|call| {
        let mut on = call.receiver_expr().into_iter().chain(&call.node.arguments.args);
        call.at.function == at.function
            && call.at.order > at.order
            && !SEPARABLE.contains(&call.name)
            && on.any(|expr| facts.mentions_word(expr.range(), name))
    })
}

/// The name that the statement around an expression binds.
fn bound_name<'a>(facts: &Facts<'a>, at: &At) -> Option<&'a str> {
    match facts.statement(at.stmt)?.node {
        Stmt::Assign(assign) => match &assign.targets[..] {
            [Expr::Name(name)] => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    }
}

/// `sum(criterion(net(x), y) for x, y in parts)`, then `backward`.
fn check_comprehensions(facts: &Facts<'_>, backward: &Call<'_>, seen: &mut Vec<BlockId>, report: &mut Report) {
    let sources = facts.backward_sources(backward);
    let inside = |call: &&Call<'_>| call.at.function == backward.at.function && call.at.order < backward.at.order;
    for loss in facts.calls().iter().filter(inside) {
        let in_comprehension =
            facts.loops(&loss.at).next().filter(|found| matches!(found.node, BlockKind::Comprehension(..)));
        let Some(turns) = in_comprehension.filter(|turns| !seen.contains(&turns.block)) else { continue };
        let BlockKind::Comprehension(_, whole) = turns.node else { continue };
        let is_loss = loss.result.keeps_graph() && loss.result.has(Flags::LOSS) && loss.result.sources.overlap(sources);
        let passes: Vec<TextRange> = facts.forward_passes(&loss.result, &loss.at).collect();
        let walked = walked_first(whole);
        let own = !passes.is_empty()
            && passes.iter().all(|pass| {
                whole.range().contains_range(*pass) && !walked.is_some_and(|walked| walked.contains_range(*pass))
            });
        if !is_loss || !own || facts.is_inside(backward.at.block, turns.block) {
            continue;
        }
        seen.push(turns.block);
        if bound_name(facts, &loss.at).is_some_and(|name| needs_all(facts, name, &loss.at)) {
            continue;
        }
        report
            .add(
                whole,
                "All these losses wait for one backward pass: the activations of every forward pass are alive at once",
            )
            .because_if(passes.first().copied(), "a forward pass each turn")
            .because(backward, "the one backward pass over all of them");
    }
}

/// What a comprehension goes over, which is made once.
fn walked_first(comprehension: &Expr) -> Option<TextRange> {
    let generators = match comprehension {
        Expr::ListComp(node) => &node.generators,
        Expr::SetComp(node) => &node.generators,
        Expr::Generator(node) => &node.generators,
        Expr::DictComp(node) => &node.generators,
        _ => return None,
    };
    generators.first().map(|first| first.iter.range())
}
