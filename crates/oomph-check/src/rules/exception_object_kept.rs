//! `exception-object-kept`: a stored exception keeps the failed step's tensors.

use crate::analysis::events::{At, BlockKind, Call, Callee, StoreKind};
use crate::analysis::value::{BlockId, ClassId, FunctionId, Kind, Value};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::ExceptHandlerExceptHandler;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "exception-object-kept",
    group: Group::Recovery,
    size: Size::per_batch(Amount::Activations).growing(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "An exception from a training or inference step is kept as an object.",
    why: "An exception refers to its traceback, the traceback to every frame of the failed step, and a frame to all its \
          local variables. Python drops the name at the end of `except` to break exactly this chain; storing the object \
          elsewhere ties it again.",
    cost: "Every tensor that was local to the failed step: its activations, for as long as the exception is kept.",
    instead: "Keep `str(error)`, or `error.with_traceback(None)`.",
    when_not: "No frame between `try` and the place of the error holds a tensor.",
    programs: include_str!("exception_object_kept.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (block, handler) in facts.handlers() {
        let Some(source) = keeps_tensors(facts, block, handler) else { continue };
        if is_stripped(facts, handler) {
            continue;
        }
        for (place, target, expr) in kept(facts, block, handler) {
            let holder = facts.source.slice(target.range());
            report
                .add(&place, format!("`{holder}` keeps the exception, and with it every tensor of the failed step"))
                .because(&source, "the frames of this step hang on the exception's traceback")
                .because(&place, "the exception itself is kept, not its text")
                .unsafe_fix("Keep it without its traceback", without_traceback(expr));
        }
    }
}

/// What in the `try` has tensors in its frames; the caught class when that is running out of memory.
fn keeps_tensors(facts: &Facts<'_>, block: BlockId, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
    if let Some(caught) = facts.oom_caught(handler) {
        return Some(caught);
    }
    let kind = handler.type_.as_deref().map_or("", |kind| facts.source.slice(kind.range()));
    let general = ["RuntimeError", "Exception", "BaseException"].contains(&kind);
    let tried = facts.tried(block).filter(|_| general)?;
    let mut inside = facts.calls().iter().filter(|call| facts.is_inside(call.at.block, tried));
    inside.find(|call| facts.is_heavy(call) || is_training_handed_in(facts, call)).map(Ranged::range)
}

/// Whether a function that came from outside trains, by its name: `train(config)`, `fit_fold(k)`.
fn is_training_handed_in(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    const TRAINS: &[&str] = &["train", "fit", "finetune"];
    let first = call.name.trim_start_matches('_').split('_').next().unwrap_or_default();
    let unknown = call.callee == Callee::Other && call.receiver.is_none();
    let minds_memory = || facts.calls_to("torch.cuda.empty_cache").any(|other| other.at.function == call.at.function);
    unknown && TRAINS.contains(&first) && minds_memory()
}

/// Whether the handler cuts the traceback off itself.
fn is_stripped(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> bool {
    let text = facts.source.slice(handler.range());
    ["__traceback__ = None", "__traceback__=None", "with_traceback(None)", "clear_frames"]
        .iter()
        .any(|way| text.contains(way))
}

/// Places in a handler that keep its exception beyond it: where, in what, by which expression.
fn kept<'a>(
    facts: &Facts<'a>,
    block: BlockId,
    handler: &'a ExceptHandlerExceptHandler,
) -> Vec<(TextRange, &'a Expr, &'a Expr)> {
    let mut found = Vec::new();
    for store in facts.stores() {
        let lasting = !matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind);
        let of_exception = matches!(store.target, Expr::Attribute(target) if is_caught(&target.value, handler));
        if lasting
            && !of_exception
            && is_in(facts, &store.at, block)
            && (holds_exception(facts, &store.value, store.value_expr)
                || is_in_record(facts, store.value_expr, handler))
        {
            found.push((store.range, store.target, store.value_expr));
        }
    }
    for bind in facts.binds() {
        let Some(expr) = bind.value_expr.filter(|expr| is_caught(expr, handler)) else { continue };
        let local = matches!(bind.target, Expr::Name(_)) && is_in(facts, &bind.at, block);
        if local && work_follows(facts, &bind.at, block, bind.name) {
            found.push((bind.target.range(), bind.target, expr));
        }
    }
    for ret in facts.returns().iter().filter(|ret| !ret.is_yield && is_in(facts, &ret.at, block)) {
        let whole = is_caught(ret.expr, handler) || is_in_record(facts, ret.expr, handler);
        if whole && facts.callers_of(&ret.at).any(|call| is_collected(facts, call)) {
            found.push((ret.expr.range(), ret.expr, ret.expr));
        }
    }
    found.sort_by_key(|(place, ..)| place.start());
    found.dedup_by_key(|(place, ..)| place.start());
    found
}

/// Whether a list or dict gets what a call gives, one turn after the other: `[attempt(x) for x in inputs]`.
fn is_collected(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let listed = facts.loops(&call.at).next().is_some_and(|turns| match turns.node {
        BlockKind::Comprehension(_, Expr::ListComp(node)) => node.elt.range() == call.range(),
        BlockKind::Comprehension(_, Expr::DictComp(node)) => node.value.range() == call.range(),
        _ => false,
    });
    let bound = facts.bound_name(call);
    let looped = facts.loops(&call.at).next().is_some();
    let added = facts.stores().iter().any(|store| {
        let itself = store.value_expr.range() == call.range();
        let by_name = matches!(store.value_expr, Expr::Name(name) if Some(name.id.as_str()) == bound);
        let adds = matches!(store.kind, StoreKind::Append | StoreKind::Item);
        adds && store.at.function == call.at.function && (itself || by_name)
    });
    listed || looped && added
}

fn is_in(facts: &Facts<'_>, at: &At, block: BlockId) -> bool {
    facts.blocks_around(at).any(|(id, _)| id == block)
}

fn is_caught(expr: &Expr, handler: &ExceptHandlerExceptHandler) -> bool {
    matches!((expr, &handler.name), (Expr::Name(name), Some(caught)) if name.id.as_str() == caught.as_str())
}

/// Whether a value is the exception, a tuple or dict with it, or what `sys.exc_info()` gives.
fn holds_exception(facts: &Facts<'_>, value: &Value, expr: &Expr) -> bool {
    let inside = value.parts.iter().flat_map(|parts| parts.iter()).any(|part| part.kind == Kind::Exception);
    let literal = matches!(expr, Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_) | Expr::Name(_));
    let info = facts.call_at(expr).and_then(|call| facts.full_name(call)) == Some("sys.exc_info");
    value.kind == Kind::Exception && matches!(expr, Expr::Name(_)) || inside && literal || info
}

/// Whether the exception stands in a tuple, list or dict as one of its items.
fn is_item(expr: &Expr, handler: &ExceptHandlerExceptHandler) -> bool {
    match expr {
        Expr::Tuple(node) => node.elts.iter().any(|item| is_caught(item, handler)),
        Expr::List(node) => node.elts.iter().any(|item| is_caught(item, handler)),
        Expr::Dict(node) => node.items.iter().any(|item| is_caught(&item.value, handler)),
        _ => false,
    }
}

/// Whether an expression makes a record that keeps the exception as one of its fields: `Outcome(params, error=err)`,
/// `dict(error=err)`, `SimpleNamespace(reason=err)`.
fn is_in_record(facts: &Facts<'_>, expr: &Expr, handler: &ExceptHandlerExceptHandler) -> bool {
    let Some(call) = facts.call_at(expr) else { return is_item(expr, handler) };
    let arguments = &call.node.arguments;
    let given = arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
    let mut given = given.filter(|given| is_caught(given, handler));
    let plain = matches!(call.name, "dict" | "SimpleNamespace");
    let record = match call.result.kind {
        Kind::Instance(class) => keeps_fields(facts, class),
        _ => plain,
    };
    record && given.next().is_some()
}

/// Whether a class keeps what its constructor is given as it is: a dataclass, a named tuple, or one whose constructor
/// does nothing else.
fn keeps_fields(facts: &Facts<'_>, class: ClassId) -> bool {
    let assigns = |stmt: &Stmt| match stmt {
        Stmt::Assign(assign) => assign.value.is_name_expr() || assign.value.is_tuple_expr(),
        _ => false,
    };
    let stores = |id: FunctionId| facts.function_def(id).node.body.iter().all(assigns);
    let by_hand = facts.tables().method(class, "__init__").is_some_and(stores);
    let found = &facts.tables().outlines[class.file as usize].classes[class.index as usize];
    let decorated = found.node.decorator_list.iter().any(|decorator| {
        let name = match &decorator.expression {
            Expr::Call(call) => last_name(&call.func),
            other => last_name(other),
        };
        matches!(name, Some("dataclass" | "define" | "attrs" | "s" | "frozen" | "mutable"))
    });
    by_hand || decorated || found.bases.iter().any(|base| base.ends_with("NamedTuple") || base.ends_with("BaseModel"))
}

/// Whether a step runs again while a local name holds the exception: in a loop, or after the handler.
fn work_follows(facts: &Facts<'_>, at: &At, block: BlockId, name: &str) -> bool {
    let Some(tried) = facts.tried(block) else { return false };
    let again = facts.loops(at).any(|turns| facts.is_inside(tried, turns.block) && stays_in(facts, at, turns.block));
    let deleted =
        facts.deletes().iter().any(|delete| matches!(delete.target, Expr::Name(target) if target.id.as_str() == name));
    let later = facts.calls().iter().any(|call| {
        call.at.function == at.function && call.range().start() > facts.block(block).range.end() && facts.is_heavy(call)
    });
    (again || later) && !deleted
}

/// Whether the loop goes on after this point: no `break`, `return` or `raise` follows in the same suite.
fn stays_in(facts: &Facts<'_>, at: &At, turns: BlockId) -> bool {
    let Some(statement) = facts.statement(at.stmt) else { return false };
    let leaves = |stmt: &Stmt| matches!(stmt, Stmt::Break(_) | Stmt::Return(_) | Stmt::Raise(_));
    let in_handler = facts.blocks_around(at).take_while(|(id, _)| *id != turns);
    let handler_leaves = in_handler.into_iter().any(|(_, block)| match block.kind {
        BlockKind::Handler(handler) => handler.body.iter().any(leaves),
        _ => false,
    });
    !statement.suite.iter().skip(statement.index).any(leaves) && !handler_leaves
}

fn without_traceback(expr: &Expr) -> Vec<Edit> {
    match expr {
        Expr::Name(name) => vec![Edit::insert(name.range().end(), ".with_traceback(None)")],
        _ => Vec::new(),
    }
}
