//! `deepcopy-of-model-on-gpu`: the best weights so far are kept as a second model on the GPU.

use crate::analysis::events::{BlockKind, Call, LoopKind, Store, StoreKind};
use crate::analysis::value::{Device, Kind};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::finding::{Edit, Safety};
use crate::python::ast::ExprAttribute;
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, string_of};

pub(super) static RULE: Rule = Rule {
    name: "deepcopy-of-model-on-gpu",
    group: Group::Optimizer,
    size: Size::per_epoch(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A training loop keeps the best weights as a deep copy, where the model is: on the GPU.",
    why: "`deepcopy` puts every copied tensor on the device of the original. The copy lies there for the rest of the \
          training, and while a new one is made the old one is still alive.",
    cost: "The parameters once more for as long as training runs, twice more while a better copy is made.",
    instead: "Copy to main memory: `{k: v.detach().to(\"cpu\", copy=True) for k, v in model.state_dict().items()}`, or \
              save to a file.",
    when_not: "The copy is used on the GPU, as averaged or target networks are, or the model lives on the CPU.",
    programs: include_str!("deepcopy_of_model_on_gpu.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("copy.deepcopy") {
        let Some(copied) = call.arg(0) else { continue };
        kept_by_object(facts, report, call, copied);
        let Some((module, is_state)) = module_copied(facts, call, copied) else { continue };
        let edits = copy_to_cpu(call, copied, facts.written(module), is_state);
        kept_by_loop(facts, report, &Copied { call, whole: call.node.range(), module, is_state }, edits);
    }
    // The same by hand: `{k: v.clone() for k, v in model.state_dict().items()}`.
    for call in facts.calls_named("state_dict") {
        let around = facts.around(call);
        let Some(whole) = around.iter().find(|outer| clones(facts, outer)).map(Ranged::range) else { continue };
        let Some((module, true)) = module_of_state(facts, call) else { continue };
        kept_by_loop(facts, report, &Copied { call, whole, module, is_state: true }, Vec::new());
    }
}

/// A copy of a model's weights.
struct Copied<'f, 'a> {
    /// The call that copies, or that gives what is copied.
    call: &'f Call<'a>,
    /// The whole expression that is the copy.
    whole: TextRange,
    module: &'a Expr,
    is_state: bool,
}

/// A copy that a loop makes and keeps while it trains on.
fn kept_by_loop<'a>(facts: &Facts<'a>, report: &mut Report, copied: &Copied<'_, 'a>, edits: Vec<Edit>) {
    let call = copied.call;
    let trains = |turns: &Loop<'_>| facts.effects_in(Effect::Step, turns.block).next().is_some();
    let epochs = facts.loops(&call.at).find(|turns| turns.kind == LoopKind::Epochs || trains(turns));
    let Some(turns) = epochs.or_else(|| facts.batch_loop(&call.at)) else { return };
    let Some(target) = only_kept(facts, copied, &turns).or_else(|| gathered(facts, copied, &turns)) else { return };
    let moved = moves_to_gpu(facts, copied.module);
    if moved.is_none() && !is_on_gpu(facts, call) {
        return;
    }
    let (name, text) = (facts.written(target), facts.written(copied.module));
    report
        .add(
            &copied.whole,
            format!("`{name}` is a second copy of `{text}` on the GPU, kept through the rest of the training"),
        )
        .because(&turns.head(), "this loop trains on, with the copy beside it")
        .because_if(moved, "the model is moved to the GPU")
        .unsafe_fix("Copy to main memory", edits);
}

/// Whether what is copied is on the GPU, as far as its value tells: another file of the project may have moved it.
fn is_on_gpu(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let state = call.arg(0).and_then(|copied| facts.call_at(copied)).filter(|state| state.name == "state_dict");
    let value = match state.or_else(|| (call.name == "state_dict").then_some(call)) {
        Some(state) => state.receiver.as_ref(),
        None => call.args.first(),
    };
    value.is_some_and(|value| value.device == Device::Cuda)
}

/// Whether a comprehension clones every value where it is.
fn clones(facts: &Facts<'_>, outer: &Expr) -> bool {
    let Expr::DictComp(dict) = outer else { return false };
    let text = facts.written(&*dict.value);
    text.ends_with(".clone()") && !text.contains("cpu")
}

/// The list that collects a copy on every turn of a loop that trains.
fn gathered<'a>(facts: &Facts<'a>, copied: &Copied<'_, 'a>, turns: &Loop<'a>) -> Option<&'a Expr> {
    let store = facts.stores().iter().find(|store| {
        let adds = match store.kind {
            StoreKind::Append => true,
            // Another key on every turn: `snapshots[epoch] = deepcopy(...)`.
            StoreKind::Item => key_of(facts, store).is_some_and(|key| facts.varies_in(key, turns.block)),
            _ => false,
        };
        adds && store.value_expr.range() == copied.whole && store.via.is_none()
    })?;
    let trains = facts.effects_in(Effect::Step, turns.block).next().is_some();
    // A list that a round around the loop makes anew is dropped with that round: `FedAvg` collects its clients so.
    let lasts = facts.loops(&copied.call.at).all(|around| facts.outlives(&store.holder, &around));
    let stays = lasts && !facts.is_emptied_in(store.target, turns.block, store.at.stmt);
    (trains && stays).then_some(store.target)
}

/// The key of an item that is put into a dict or list.
fn key_of<'a>(facts: &Facts<'a>, store: &Store<'a>) -> Option<&'a Expr> {
    let assign = facts.statement(store.at.stmt)?.node.as_assign_stmt()?;
    assign.targets.iter().find_map(Expr::as_subscript_expr).map(|item| &*item.slice)
}

/// A copy of the weights in an attribute of a helper that training calls: early stopping, the best model so far.
fn kept_by_object<'a>(facts: &Facts<'a>, report: &mut Report, call: &Call<'a>, copied: &'a Expr) {
    let in_loop = facts.loops(&call.at).next().is_some();
    let first = matches!(facts.kind_at(&call.at), FunctionKind::Init | FunctionKind::Forward);
    if in_loop || first || call.at.function.is_none() {
        return;
    }
    let Some((module, is_state)) = module_copied(facts, call, copied) else { return };
    let Some(Stmt::Assign(assign)) = facts.statement(call.at.stmt).map(|statement| statement.node) else { return };
    let ([target], true) = (assign.targets.as_slice(), assign.value.range() == call.node.range()) else { return };
    let conditional =
        !facts.is_unconditional_in(&call.at, facts.function_block(&call.at)) || returns_before(facts, call);
    let moved = moves_to_gpu(facts, module);
    if !conditional || !is_on_gpu(facts, call) && moved.is_none() {
        return;
    }
    // A whole model may be a target network, which has to run beside the other one.
    let (lasts, best) = match target {
        Expr::Attribute(target) => (root_name(&target.value) == Some("self"), is_best_so_far(facts, call, target)),
        _ => (is_kept_around(facts, call), false),
    };
    if !lasts || !is_state && !best {
        return;
    }
    let (name, text) = (facts.written(target), facts.written(module));
    report
        .add(call, format!("`{name}` is a second copy of `{text}` on the GPU, kept through the rest of the training"))
        .because(
            target,
            if target.is_name_expr() { "kept by the function around" } else { "kept as long as this object lives" },
        )
        .because_if(moved, "the model is moved to the GPU")
        .unsafe_fix("Copy to main memory", copy_to_cpu(call, copied, text, is_state));
}

/// Whether a copy goes into a name of the function around, `nonlocal best`, which calls this one in a loop that trains.
fn is_kept_around(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let mut stores = facts.stores().iter().filter(|store| store.value_expr.range() == call.node.range());
    let outer = stores.any(|store| store.kind == StoreKind::Global);
    let trains = |caller: &Call<'_>| {
        let turns = facts.loops(&caller.at).last();
        turns.is_some_and(|turns| facts.effects_in(Effect::Step, turns.block).next().is_some())
    };
    outer && facts.callers_of(&call.at).any(trains)
}

/// Whether the function leaves before where the score is no better: `if loss >= self.best: return`.
fn returns_before(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(statement) = facts.statement(call.at.stmt) else { return false };
    statement.suite[..statement.index].iter().any(|stmt| match stmt {
        Stmt::If(node) => {
            facts.written(&*node.test).contains(['<', '>']) && node.body.last().is_some_and(Stmt::is_return_stmt)
        }
        _ => false,
    })
}

/// Whether a copy is made where a score is better than the best so far, and is not run.
fn is_best_so_far(facts: &Facts<'_>, call: &Call<'_>, target: &ExprAttribute) -> bool {
    let better = |test: &Expr| {
        let text = facts.written(test);
        let compares = text.contains(['<', '>']) || text.contains("best") || text.contains("improve");
        compares && !text.contains('%') && !text.contains("step")
    };
    let name = target.attr.as_str();
    let of_best = is_named_best(name);
    let mut tests = facts.blocks_around(&call.at).filter_map(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => Some(test),
        _ => None,
    });
    let runs = facts.calls_named(name).next().is_some();
    of_best && !runs && tests.any(better)
}

/// Whether the name says that a copy is put by to go back to.
fn is_named_best(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["best", "snapshot", "backup", "checkpoint"].iter().any(|word| name.contains(word))
}

/// The module whose weights are copied, and whether it is its `state_dict()`.
fn module_copied<'a>(facts: &Facts<'a>, call: &Call<'a>, copied: &'a Expr) -> Option<(&'a Expr, bool)> {
    let state = facts.call_at(copied).filter(|state| state.name == "state_dict");
    if let Some(state) = state {
        return module_of_state(facts, state);
    }
    // What is only handed on is a model by its name.
    let named = || {
        let name = last_name(copied).unwrap_or_default().to_ascii_lowercase();
        name == "model" || name == "net" || name.ends_with("_model") || name.ends_with("_net")
    };
    let module = call.args.first().is_some_and(|value| value.is_module() || value.kind == Kind::Unknown && named());
    (module && matches!(copied, Expr::Name(_) | Expr::Attribute(_))).then_some((copied, false))
}

/// The module a `state_dict()` is of.
fn module_of_state<'a>(facts: &Facts<'a>, state: &Call<'a>) -> Option<(&'a Expr, bool)> {
    let text = facts.written(state).to_ascii_lowercase();
    let other = ["opt", "sched", "scaler", "ema"].iter().any(|word| text.contains(word));
    let module = state.receiver.as_ref().is_some_and(|value| matches!(value.kind, Kind::Module | Kind::Unknown));
    let plain = module && !other && state.node.arguments.is_empty();
    state.receiver_expr().filter(|_| plain).map(|expr| (expr, true))
}

/// What the copy is bound to, if the loop only keeps it there.
fn only_kept<'a>(facts: &Facts<'a>, copied: &Copied<'_, 'a>, turns: &Loop<'a>) -> Option<&'a Expr> {
    let at = &copied.call.at;
    let Some(Stmt::Assign(assign)) = facts.statement(at.stmt).map(|statement| statement.node) else { return None };
    let target = match (assign.targets.first()?, &*assign.value) {
        (target, value) if value.range() == copied.whole => target,
        // `best, weights = accuracy, deepcopy(...)`.
        (Expr::Tuple(targets), Expr::Tuple(values)) => {
            let index = values.elts.iter().position(|value| value.range() == copied.whole)?;
            targets.elts.get(index)?
        }
        // `best = {"loss": loss, "state": deepcopy(...)}`, `best = (loss, deepcopy(...))`.
        (target, record) if is_part_of(record, copied.whole) => target,
        _ => return None,
    };
    let name = match target {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Subscript(item) => last_name(&item.value).filter(|name| name.contains("best"))?,
        _ => return None,
    };
    let body = facts.body_of(turns);
    let used = match target {
        // Weights read back on every turn are part of the algorithm; after an epoch they are the best so far.
        Expr::Name(_) if is_part_of(&assign.value, copied.whole) && !assign.targets[0].is_tuple_expr() => false,
        Expr::Name(_) => count_reads(body, name) > usize::from(copied.is_state && turns.kind == LoopKind::Epochs),
        // A network that runs is there to run: an average of the weights, a target.
        _ => !copied.is_state && !is_named_best(name) && facts.calls_named(name).next().is_some(),
    };
    // `else: backup = None`: a turn's own, not the best so far.
    let dropped = facts.binds_of(name).any(|bind| {
        bind.value_expr.is_some_and(Expr::is_none_literal_expr) && facts.is_inside(bind.at.block, turns.block)
    });
    let conditional = !facts.is_unconditional_in(at, turns.block);
    (!used && conditional && !dropped).then_some(target)
}

/// Whether a dict, tuple or list has the copy among its values.
fn is_part_of(record: &Expr, copy: TextRange) -> bool {
    match record {
        Expr::Dict(dict) => dict.items.iter().any(|item| item.value.range() == copy),
        Expr::Tuple(tuple) => tuple.elts.iter().any(|item| item.range() == copy),
        Expr::List(list) => list.elts.iter().any(|item| item.range() == copy),
        Expr::Call(call) => {
            // `dict(state=...)`, or a record: `Best(score, deepcopy(...))`.
            let keeps = |name: &str| name == "dict" || name.starts_with(char::is_uppercase);
            let mut given =
                call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
            last_name(&call.func).is_some_and(keeps) && given.any(|value| value.range() == copy)
        }
        _ => false,
    }
}

/// Where the file moves a module to the GPU, or to a device that may be one.
fn moves_to_gpu(facts: &Facts<'_>, copied: &Expr) -> Option<TextRange> {
    let text = facts.source.slice(copied.range());
    let module = |call: &&Call<'_>| {
        let same = call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()) == text);
        same || call.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module)
    };
    let to_cuda = facts.calls_named("cuda").find(module);
    let to_device = facts.calls_named("to").filter(module).find(|call| {
        let text = facts.source.slice(call.node.arguments.range()).to_ascii_lowercase();
        // `device = 'cpu'`, and nothing else, in the file.
        let mut places =
            call.arg(0).and_then(last_name).map(|name| facts.binds_of(name)).into_iter().flatten().peekable();
        if places.peek().is_some() && places.all(|place| place.value_expr.and_then(string_of) == Some("cpu")) {
            return false;
        }
        text.contains("cuda") || text.contains("device") || text.contains("rank")
    });
    to_cuda.or(to_device).map(Ranged::range)
}

fn copy_to_cpu(call: &Call<'_>, copied: &Expr, module: &str, is_state: bool) -> Vec<Edit> {
    if !is_state || !matches!(copied, Expr::Call(_)) {
        return Vec::new();
    }
    let copy = format!("{{k: v.detach().to(\"cpu\", copy=True) for k, v in {module}.state_dict().items()}}");
    vec![Edit::replace(call.node.range(), copy)]
}
