//! `forward-hook-stores-output`: a hook collects activations for ever.

use crate::analysis::events::{Bind, BlockKind, Call, Callee, LoopKind, Store, StoreKind};
use crate::analysis::value::Kind;
use crate::callbacks::Callback;
use crate::facts::{Facts, FunctionKind};
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "forward-hook-stores-output",
    group: Group::Graph,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A forward hook appends what passes through it to a list that nobody empties.",
    why: "The hook runs on every forward pass. Each appended tensor stays as long as the list, and with gradients recorded \
          so does the graph behind it.",
    cost: "One activation per forward pass for the rest of the run; with its graph, all saved activations of that pass.",
    instead: "Store `output.detach()`, empty the list each step, keep the handle and `remove()` it when done.",
    when_not: "The hook overwrites one slot, or the model runs once.",
    programs: include_str!("forward_hook_stores_output.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let hooks =
        ["register_forward_hook", "register_forward_pre_hook"].into_iter().flat_map(|name| facts.calls_named(name));
    for call in hooks {
        let Some((hook, value)) = call.arg(0).zip(call.args.first()) else { continue };
        let Some(callback) = facts.callback(hook, value) else { continue };
        let mut passed: Vec<&str> = callback.parameters.iter().skip(1).copied().collect();
        passed.extend(parts_passed(facts, &callback, &passed));
        for store in facts.stores_of(&callback) {
            let Some((run, hooked)) = repeated_forward(facts, call, made_in(facts, store)) else { continue };
            let Some(name) = appended(store, &passed) else { continue };
            if is_emptied_somewhere(facts, store) || is_made_by_turn(facts, call, store) {
                continue;
            }
            if is_converted(facts, store, name) && is_joined_here(facts, store) {
                continue;
            }
            let target = facts.source.slice(store.target.range());
            let text = facts.written(store.value_expr);
            let text = if text.len() > 40 || text.contains('\n') { name } else { text };
            let finding = report.add(
                store,
                format!("The hook appends `{text}` to `{target}` on every forward pass, and nothing empties it"),
            );
            finding.doubtful_if(!hooked);
            finding.because(call, "the hook is registered here");
            finding.because(&run, "forward passes run once a batch");
            if matches!(store.value_expr, Expr::Name(_)) {
                finding.unsafe_fix("Detach what is stored", facts.call_method_on(store.value_expr, "detach"));
            }
        }
    }
}

/// Names that a hook gives parts of what it is passed: `hidden, _ = output`, `first = output[0]`.
fn parts_passed<'a>(facts: &Facts<'a>, callback: &Callback<'a>, passed: &[&str]) -> Vec<&'a str> {
    let part = |value: &Expr| match value {
        Expr::Subscript(item) => root_name(&item.value).is_some_and(|name| passed.contains(&name)),
        Expr::Name(name) => passed.contains(&name.id.as_str()),
        _ => false,
    };
    let given = |bind: &&Bind<'a>| match facts.statement(bind.at.stmt).map(|found| found.node) {
        Some(Stmt::Assign(assign)) => part(&assign.value),
        _ => false,
    };
    facts.binds_by(callback).filter(given).map(|bind| bind.name).collect()
}

/// The hook's own argument, or an item of it, when that is what is appended.
fn appended<'e>(store: &Store<'e>, passed: &[&str]) -> Option<&'e str> {
    if store.kind != StoreKind::Append || !matches!(store.holder.kind, Kind::List | Kind::Unknown) {
        return None;
    }
    let mut kept = store.value_expr;
    loop {
        kept = match kept {
            Expr::Name(name) => return passed.contains(&name.id.as_str()).then_some(name.id.as_str()),
            Expr::Subscript(node) => &node.value,
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if stays_large(method.attr.as_str(), call.arguments.is_empty()) => {
                    &method.value
                }
                _ => return None,
            },
            Expr::BinOp(node) if node.right.is_number_literal_expr() => &node.left,
            _ => return None,
        };
    }
}

/// Whether a method of a tensor gives another one, no number and no copy in main memory.
fn stays_large(method: &str, plain: bool) -> bool {
    const SMALL: &[&str] = &["mean", "sum", "max", "min", "norm", "std", "var", "any", "all", "amax", "amin"];
    const LEAVES: &[&str] =
        &["cpu", "numpy", "item", "tolist", "to", "size", "numel", "dim", "argmax", "argmin", "type", "get", "keys"];
    !(LEAVES.contains(&method) || plain && SMALL.contains(&method))
}

/// Whether the list is cleared, popped from, deleted or made anew a second time anywhere in the file.
fn is_emptied_somewhere(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let holder = holder_of(store);
    let name = match holder {
        Expr::Name(node) => node.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return true,
    };
    let is_it = |expr: &Expr| match expr {
        Expr::Name(node) => node.id.as_str() == name,
        Expr::Attribute(node) => node.attr.as_str() == name,
        Expr::Subscript(node) => facts.source.slice(node.value.range()).ends_with(name),
        _ => false,
    };
    let emptied = ["clear", "pop", "popleft", "remove"].into_iter().flat_map(|method| facts.calls_named(method));
    emptied.into_iter().any(|call| call.receiver_expr().is_some_and(is_it))
        || facts.deletes().iter().any(|delete| is_it(delete.target))
        || facts.binds_of(name).count() > 1
}

/// The list, or the dict of lists, that a store goes into: `acts` of `acts[name].append`.
fn holder_of<'a>(store: &Store<'a>) -> &'a Expr {
    match store.target {
        Expr::Subscript(item) => &item.value,
        other => other,
    }
}

/// Whether the list is made in the same loop as the hook is registered in: it lives one turn.
fn is_made_by_turn(facts: &Facts<'_>, call: &Call<'_>, store: &Store<'_>) -> bool {
    facts.batch_loop(&call.at).is_some()
        || facts.function(&store.at).is_some_and(|function| function.parent.is_some())
            && facts.loops(&store.at).next().is_some()
}

/// Whether the hook brings its argument to main memory first: `output = output.detach().cpu()`.
fn is_converted(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    facts.binds_of(name).filter(|bind| bind.at.function == store.at.function).any(|bind| {
        let text = bind.value_expr.map_or("", |value| facts.written(value));
        text.contains(".numpy()") || text.contains(".cpu()")
    })
}

/// Whether the list is a function's own, which joins all of it once the passes are over: it is wanted whole.
fn is_joined_here(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    const JOIN: &[&str] = &["concatenate", "vstack", "hstack", "stack", "cat", "array", "concat"];
    let (Expr::Name(list), Some(function)) = (store.target, made_in(facts, store)) else { return false };
    JOIN.iter()
        .flat_map(|name| facts.calls_named(name))
        .any(|call| call.at.function == Some(function) && call.arg(0).and_then(last_name) == Some(list.id.as_str()))
}

/// The function whose local the list is: it lives as long as one call of that.
fn made_in(facts: &Facts<'_>, store: &Store<'_>) -> Option<u32> {
    let Expr::Name(name) = holder_of(store) else { return None };
    facts.binds_of(name.id.as_str()).next().and_then(|bind| bind.at.function)
}

/// A forward pass in a loop over batches, once the hook is there and within the life of the list; and whether it is seen
/// to be one of the module with the hook.
fn repeated_forward(facts: &Facts<'_>, registered: &Call<'_>, within: Option<u32>) -> Option<(TextRange, bool)> {
    // A notebook runs from top to bottom: training is over when a later cell looks into the model.
    let is_over = |call: &Call<'_>| {
        !facts.source.cells.is_empty()
            && registered.at.function.is_none()
            && call.range().end() < registered.range().start()
    };
    let lives = |call: &&Call<'_>| within.is_none() || call.at.function == within;
    let calls = facts.calls().iter().filter(|call| call.callee == Callee::Module && !is_over(call)).filter(lives);
    let repeated: Vec<&Call<'_>> =
        calls.filter(|call| facts.batch_loop(&call.at).is_some() || goes_on(facts, call, registered)).collect();
    let own = repeated.iter().find(|call| is_hooked(facts, call, registered));
    own.or(repeated.first()).map(|call| (call.range(), own.is_some()))
}

/// Whether a loop over many things runs the same model on every turn: `for path in paths: net(read(path))`.
fn goes_on<'a>(facts: &Facts<'a>, call: &Call<'a>, registered: &Call<'a>) -> bool {
    let Some(turns) = facts.loops(&call.at).next() else { return false };
    let BlockKind::Loop(kind, Stmt::For(node)) = turns.node else { return false };
    let many = match kind {
        LoopKind::Items => !node.iter.is_list_expr() && !node.iter.is_tuple_expr() && !node.iter.is_dict_expr(),
        LoopKind::Steps | LoopKind::Chunks => true,
        _ => false,
    };
    // Layers, heads and time steps are gone over within one pass.
    let within_pass =
        matches!(facts.kind_at(&call.at), FunctionKind::Forward | FunctionKind::Init | FunctionKind::Hook);
    let mut given = call.node.arguments.args.iter();
    let takes_item = given.any(|arg| facts.varies_in(arg, turns.block));
    let same = !facts.varies_in(&call.node.func, turns.block);
    many && !within_pass && same && takes_item && is_hooked(facts, call, registered)
}

/// Whether the module that a call runs is the one with the hook, by its name: the hook is put on a part of it here, on
/// what is gone over of it, or on what the function or class that does so is given.
fn is_hooked<'a>(facts: &Facts<'a>, call: &Call<'a>, registered: &Call<'a>) -> bool {
    let walked = facts.loops(&registered.at).filter_map(|turns| match turns.node {
        BlockKind::Loop(_, Stmt::For(node)) => Some(&*node.iter),
        BlockKind::Comprehension(_, whole) => Some(whole),
        _ => None,
    });
    let callers = facts.callers_of(&registered.at).flat_map(|caller| {
        let keywords = caller.node.arguments.keywords.iter().map(|keyword| &keyword.value);
        caller.node.arguments.args.iter().chain(keywords)
    });
    let hooked = registered.receiver_expr().into_iter().chain(walked).chain(callers);
    let run = last_name(&call.node.func);
    hooked.into_iter().any(|expr| run.is_some_and(|run| facts.mentions_word(expr.range(), run)))
}
