//! `global-or-class-level-tensor-store`: tensors collected where nothing ever dies.

use crate::analysis::events::{At, Bind, BlockKind, LoopKind, Root, Store, StoreKind};
use crate::analysis::value::{Device, Flags, Kind, Value};
use crate::facts::{Facts, FunctionKind, Loop};
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "global-or-class-level-tensor-store",
    group: Group::Graph,
    size: Size::per_batch(Amount::Batch).growing(),
    is_opportunity: false,
    fix: None,
    summary: "A function adds a tensor per batch to a list or dict of the module, which nothing empties.",
    why: "A global lives as long as the process. Each batch adds a tensor that no later code can free, on the GPU or with \
          its graph.",
    cost: "One tensor a batch, for ever; with its graph, the saved activations of every batch as well.",
    instead: "Keep it in the function that needs it, cap it (`deque(maxlen=...)`), and store `x.detach().cpu()`.",
    when_not: "A bank of fixed size, as in MoCo, or one that is emptied each epoch.",
    programs: include_str!("global_or_class_level_tensor_store.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let Some((name, made)) = lasting_holder(facts, store) else { continue };
        if !grows(store) || !is_costly(facts, store) || is_bounded(facts, store, name) {
            continue;
        }
        let Some((place, text)) = repeated(facts, store) else { continue };
        let target = facts.source.slice(store.target.range());
        let kept = if store.value.holds_graph() { "a tensor with its graph" } else { "a GPU tensor" };
        report
            .add(
                store,
                format!("`{target}` gets {kept} each time and is never emptied: it lives as long as the process"),
            )
            .because(&made, "it belongs to the module or the class, not to a call")
            .because(&place, text);
    }
}

/// The name of a module-level or class-level holder that a function adds to, and where it is made.
fn lasting_holder<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<(&'a str, TextRange)> {
    store.at.function?;
    // `HISTORY[name].append(v)` adds to one of the lists that the dict holds.
    let target = match store.target {
        Expr::Subscript(item) if store.kind != StoreKind::Item => &*item.value,
        target => target,
    };
    let name = match (store.root, target) {
        (Root::Outer(name), Expr::Name(_)) => name,
        // A list in the class's body is one for all instances.
        (Root::SelfAttribute(name), Expr::Attribute(_)) if is_of_class(facts, name) => name,
        (_, Expr::Attribute(node)) if is_cls(&node.value) => node.attr.as_str(),
        (_, Expr::Attribute(node)) if matches!(&*node.value, Expr::Name(base) if facts.outline().top_classes.contains_key(base.id.as_str())) => {
            node.attr.as_str()
        }
        _ => return None,
    };
    let makes = facts.binds_of(name).find(|bind| bind.at.function.is_none() && matches!(bind.target, Expr::Name(_)))?;
    let empty =
        matches!(makes.value.kind, Kind::List | Kind::Dict | Kind::Set) && facts.loops(&makes.at).next().is_none();
    empty.then(|| (name, makes.target.range()))
}

/// `cls`, `type(self)`, `self.__class__`.
fn is_cls(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => name.id.as_str() == "cls",
        Expr::Attribute(node) => node.attr.as_str() == "__class__",
        Expr::Call(call) => matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "type"),
        _ => false,
    }
}

/// Whether an attribute is made in the body of a class, and nowhere else.
fn is_of_class(facts: &Facts<'_>, name: &str) -> bool {
    let mut binds = facts.binds_of(name);
    let (first, more) = (binds.next(), binds.next());
    let in_class =
        |bind: &Bind<'_>| bind.at.function.is_none() && matches!(facts.block(bind.at.block).kind, BlockKind::Class(_));
    more.is_none() && first.is_some_and(in_class)
}

fn grows(store: &Store<'_>) -> bool {
    match store.kind {
        StoreKind::Append | StoreKind::Extend => true,
        StoreKind::Item => !matches!(store.holder.kind, Kind::Ring | Kind::Tensor),
        _ => false,
    }
}

/// Whether the value is a tensor with a graph, or one on the GPU: where the module runs.
fn is_costly(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let value: &Value = &store.value;
    let in_forward = facts.kind_at(&store.at) == FunctionKind::Forward && value.device == Device::Unknown;
    let on_gpu = value.device == Device::Cuda || in_forward && value.has(Flags::DETACHED);
    value.holds_graph() || value.is_tensor() && on_gpu && !value.has(Flags::SCALAR)
}

/// Whether the file ever takes something out of the holder, makes it anew, or looks at its size.
fn is_bounded(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    let is_it = |expr: &Expr| {
        facts.source.slice(expr.range()).trim_end_matches(']').ends_with(name)
            || facts.source.slice(expr.range()).contains(&format!("{name}["))
    };
    let emptied =
        ["clear", "pop", "popleft", "popitem", "remove"].into_iter().flat_map(|method| facts.calls_named(method));
    let literal_key = store.kind == StoreKind::Item && has_literal_key(facts, store);
    // A `deque` has a bound, if a high one.
    facts.name_of(&store.holder) == Some("collections.deque")
        || emptied.into_iter().any(|call| call.receiver_expr().is_some_and(is_it))
        || facts.deletes().iter().any(|delete| is_it(delete.target))
        || facts.binds_of(name).count() > 1
        || facts.calls_named("len").any(|call| call.arg(0).is_some_and(is_it) && call.at.stmt != store.at.stmt)
        || literal_key
        || is_memo(facts, store, name)
            && facts.request_handler(&store.at).is_none()
            && !store.value.surely_holds_graph()
}

/// `HOLDER["last"] = v`: the same again replaces what is there.
fn has_literal_key(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) else {
        return false;
    };
    let mut keys = assign.targets.iter().filter_map(Expr::as_subscript_expr).map(|target| &*target.slice);
    keys.any(|key| key.is_string_literal_expr() || key.is_number_literal_expr())
}

/// Whether the store is under `if key not in holder`: a memo.
fn is_memo(facts: &Facts<'_>, store: &Store<'_>, name: &str) -> bool {
    facts.blocks_around(&store.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => facts.source.slice(test.range()).contains(name),
        _ => false,
    })
}

/// Why it happens many times.
fn repeated(facts: &Facts<'_>, store: &Store<'_>) -> Option<(TextRange, &'static str)> {
    if let Some(batches) = facts.batch_loop(&store.at) {
        return Some((batches.head(), "once a batch"));
    }
    if let Some(route) = facts.request_handler(&store.at) {
        return Some((route, "called once a request"));
    }
    if let Some(turns) = put_per_item(facts, store) {
        return Some((turns.head(), "once a turn of this loop, each time another item"));
    }
    let function = facts.function(&store.at)?;
    match facts.kind_at(&store.at) {
        FunctionKind::Forward => Some((function.node.name.range(), "once a forward pass")),
        FunctionKind::TrainingStep => Some((function.node.name.range(), "once a training step")),
        _ if facts.is_called_per_batch(&store.at) => Some((function.node.name.range(), "called once a batch")),
        _ => called_per_item(facts, store)
            .map(|turns| (turns.head(), "called in this loop, each time with another item"))
            .or_else(|| facts.comes_again(&store.at).filter(|_| store.kind != StoreKind::Item)),
    }
}

/// The loop around a store that puts another item in on every turn.
fn put_per_item<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<Loop<'a>> {
    let mut around = facts.loops(&store.at);
    let turns = around.next().filter(|turns| around.next().is_none() && goes_on(turns))?;
    let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) else {
        return (store.kind == StoreKind::Append).then_some(turns);
    };
    let mut keys = assign.targets.iter().filter_map(Expr::as_subscript_expr).map(|target| &*target.slice);
    keys.any(|key| facts.varies_in(key, turns.block)).then_some(turns)
}

/// Whether a loop goes over things that come one after the other, with no end in view.
fn goes_on(turns: &Loop<'_>) -> bool {
    match turns.node {
        BlockKind::Loop(LoopKind::Items, Stmt::For(node)) => {
            !matches!(&*node.iter, Expr::List(_) | Expr::Tuple(_) | Expr::Dict(_))
        }
        BlockKind::Loop(LoopKind::Forever | LoopKind::While | LoopKind::Loader, _) => true,
        _ => false,
    }
}

/// The loop of a caller in this file that gives the function another item on every turn: frames, files, jobs of a queue.
fn called_per_item<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<Loop<'a>> {
    // The same key again replaces what is there.
    if store.kind == StoreKind::Item && !has_given_key(facts, store) {
        return None;
    }
    looped_caller(facts, &store.at, 3)
}

fn looped_caller<'a>(facts: &Facts<'a>, at: &At, hops: u32) -> Option<Loop<'a>> {
    let hops = hops.checked_sub(1)?;
    facts.callers_of(at).find_map(|call| {
        let args = &call.node.arguments.args;
        let Some(turns) = facts.loops(&call.at).next() else {
            // What it was given itself it hands on: `def safely(self, page): return self.detect(page)`.
            let parameters = facts.function(&call.at).map(|function| &function.node.parameters)?;
            let given = |arg: &Expr| root_name(arg).is_some_and(|name| parameters.includes(name));
            return (!args.is_empty() && args.iter().all(given)).then(|| looped_caller(facts, &call.at, hops))?;
        };
        let another = !args.is_empty() && args.iter().all(|arg| facts.varies_in(arg, turns.block));
        (goes_on(&turns) && another && facts.loops(&call.at).count() == 1).then_some(turns)
    })
}

/// Whether the key of a stored item is what the function was given.
fn has_given_key(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|statement| statement.node) else {
        return false;
    };
    let Some(function) = facts.function(&store.at) else { return false };
    let given = |key: &Expr| function.node.parameters.iter().any(|own| count_reads_in(key, own.name().as_str()) > 0);
    assign.targets.iter().filter_map(Expr::as_subscript_expr).any(|target| given(&target.slice))
}
