//! `model-cuda-before-fsdp`: the whole model is on every card before it is sharded.

use crate::analysis::events::Call;
use crate::analysis::value::Device;
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "model-cuda-before-fsdp",
    group: Group::Distributed,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: None,
    summary: "A model is moved to the GPU whole and sharded afterwards.",
    why: "FSDP is there for models that do not fit on one card. Moved first, the full model has to fit on every card \
          before anything is sharded.",
    cost: "All parameters on every GPU at start-up: 28 GB for 7 billion parameters in float32.",
    instead: "Build on the CPU or on `meta` and let FSDP move the shards, one wrapped layer at a time: `FSDP(model, \
              auto_wrap_policy=policy, device_id=local_rank)` (without a policy the whole model is one unit); with \
              `fully_shard`, shard on `meta`, then `to_empty(device=\"cuda\")` and load.",
    when_not: "The model fits easily and start-up time matters more.",
    programs: include_str!("model_cuda_before_fsdp.py"),
    check,
};

const SHARDS: &[&str] = &[
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in SHARDS.iter().flat_map(|name| facts.calls_to(name)) {
        let (Some(model), Some(value)) = (call.arg(0), call.args.first()) else { continue };
        let Some(moved) = moved_before(facts, call, model) else { continue };
        if value.device == Device::Cpu || call.name == "fully_shard" && shards_parts_first(facts, call, moved) {
            continue;
        }
        let name = facts.written(model);
        let name = if name.len() > 40 || name.contains('\n') { "the model" } else { name };
        report
            .add(call, format!("`{name}` has to fit on every GPU whole before it is sharded"))
            .because(&moved, "the whole model is moved here");
    }
}

/// Where the model goes to the GPU before it is wrapped: in the argument itself or in a statement before.
fn moved_before(facts: &Facts<'_>, call: &Call<'_>, model: &Expr) -> Option<TextRange> {
    if let Expr::Call(_) = model {
        let inner = facts.call_at(model)?;
        return facts.goes_to_gpu(inner).then(|| inner.range());
    }
    let name = last_name(model)?;
    let text = facts.written(model);
    if let Some(made) = made_there(facts, call, text) {
        return Some(made);
    }
    let mut earlier = facts.calls().iter().filter(|other| {
        other.at.function == call.at.function
            && other.at.order < call.at.order
            && facts.goes_to_gpu(other)
            && other.receiver_expr().is_some_and(|expr| facts.written(expr) == text)
            && facts.is_always_before(&other.at, &call.at)
    });
    let moved = earlier.next_back()?;
    // Bound anew in between: another model.
    let rebound = facts.binds_of(name).any(|bind| {
        (moved.at.order..call.at.order).contains(&bind.at.order)
            && bind.at.function == call.at.function
            && bind.at.stmt != moved.at.stmt
    });
    (!rebound).then(|| moved.range())
}

/// Where the model was bound to something on the GPU: `model = Net().cuda()`.
fn made_there(facts: &Facts<'_>, call: &Call<'_>, text: &str) -> Option<TextRange> {
    let name = text.rsplit('.').next()?;
    let before = facts.binds_of(name).filter(|bind| {
        bind.at.function == call.at.function && bind.at.order < call.at.order && facts.written(bind.target) == text
    });
    let last = before.last().filter(|bind| facts.is_always_before(&bind.at, &call.at))?;
    let value = last.value_expr?;
    // The outermost call of the chain counts, or one whose result only changes its mode.
    let mut now = facts.call_at(value)?;
    while matches!(now.name, "train" | "eval" | "half" | "bfloat16" | "float" | "requires_grad_") {
        now = facts.call_at(now.receiver_expr()?)?;
    }
    facts.goes_to_gpu(now).then(|| now.range())
}

/// Whether layers are moved and sharded one by one, so that the whole is never on the GPU: `fully_shard` nests.
fn shards_parts_first(facts: &Facts<'_>, call: &Call<'_>, moved: TextRange) -> bool {
    let is_model = call.arg(0).and_then(last_name).is_some_and(|name| name.contains("model") || name.contains("net"));
    !is_model || facts.calls_named("fully_shard").any(|other| other.range().start() < moved.start())
}
