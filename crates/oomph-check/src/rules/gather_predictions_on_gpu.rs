//! `gather-predictions-on-gpu`: all outputs of an evaluation stay on the GPU.

use crate::analysis::events::{Call, LoopKind, Store, StoreKind};
use crate::analysis::value::{Device, Flags, Value};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "gather-predictions-on-gpu",
    group: Group::Data,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "An evaluation collects every output on the GPU to compute one number.",
    why: "The list grows by one output a batch, and concatenating it makes a second copy of all of them.",
    cost: "The number of samples times one output, twice at the `cat`: 10,000 samples of 512 tokens over 50,000 words are \
           a terabyte; 10,000 rows of 10 classes are nothing.",
    instead: "Reduce each batch (`argmax`, counts, sums), or collect `.cpu()`.",
    when_not: "Outputs are small.",
    programs: include_str!("gather_predictions_on_gpu.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores() {
        let Some(turns) = facts.loops(&store.at).find(|turns| turns.kind == LoopKind::Loader) else { continue };
        let collected =
            store.kind == StoreKind::Append && holds_gpu_output(facts, store) && facts.outlives(&store.holder, &turns);
        if !collected || facts.is_emptied_in(store.target, turns.block, store.at.stmt) {
            continue;
        }
        let name = facts.written(store.target);
        report
            .add(store, format!("`{name}` keeps the outputs of the whole evaluation on the GPU"))
            .because(&turns.head(), "one output a batch")
            .because(store.value_expr, "on the GPU, as the model gave it")
            .unsafe_fix("Collect on the CPU", to_cpu(facts, store));
    }
}

/// Whether an output is kept, alone or in a record: `rows.append((ids, logits))`.
fn holds_gpu_output(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    let record = matches!(store.value_expr, Expr::Tuple(_) | Expr::Dict(_));
    let mut parts = store.value.parts.iter().filter(|_| record).flat_map(|parts| parts.iter());
    is_gpu_output(&store.value) || parts.any(is_gpu_output) || is_made_of_output(facts, store)
}

/// Whether what is kept is as large as an output it is made of: `torch.sigmoid(logits)`, `logits.softmax(1)`.
fn is_made_of_output(facts: &Facts<'_>, store: &Store<'_>) -> bool {
    const SAME_SIZE: &[&str] = &["sigmoid", "softmax", "log_softmax", "tanh", "float", "half", "relu", "exp"];
    let made = |expr: &Expr| facts.call_at(expr).filter(|call| SAME_SIZE.contains(&call.name));
    let bound = || {
        let Expr::Name(name) = store.value_expr else { return None };
        let mut binds = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == store.at.function);
        let (only, more) = (binds.next()?, binds.next());
        made(only.value_expr?).filter(|_| more.is_none())
    };
    let whole = |call: &Call<'_>| {
        let output = call.receiver.iter().filter(|value| value.is_tensor()).chain(&call.args).next();
        output.is_some_and(is_gpu_output)
    };
    made(store.value_expr).or_else(bound).is_some_and(whole)
}

fn is_gpu_output(value: &Value) -> bool {
    let plain = value.has(Flags::NO_GRAD) || value.has(Flags::DETACHED);
    value.is_tensor()
        && value.device == Device::Cuda
        && plain
        && value.has(Flags::RAW)
        && !value.has(Flags::DATA)
        && !value.has(Flags::LOSS)
}

fn to_cpu(facts: &Facts<'_>, store: &Store<'_>) -> Vec<Edit> {
    match store.value_expr {
        Expr::Name(_) | Expr::Call(_) => facts.call_method_on(store.value_expr, "cpu"),
        _ => Vec::new(),
    }
}
