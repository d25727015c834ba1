//! `full-state-dict-on-gpu`: saving puts the whole model on every card.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "full-state-dict-on-gpu",
    group: Group::Distributed,
    size: Size::per_epoch(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A sharded model's full state dict is gathered on the GPU.",
    why: "A full state dict gathers every shard. Unless it is offloaded as it is gathered, the whole model is on every \
          GPU at the moment of saving, beside shards, gradients and optimizer state.",
    cost: "All parameters on each GPU: 28 GB for 7 billion parameters in float32, at every save.",
    instead: "`FullStateDictConfig(offload_to_cpu=True, rank0_only=True)`, `StateDictOptions(full_state_dict=True, \
              cpu_offload=True)`, or the sharded `torch.distributed.checkpoint`.",
    when_not: "The model is small.",
    programs: include_str!("full_state_dict_on_gpu.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_named("state_dict_type") {
        let kind = call.keyword("state_dict_type").or_else(|| call.arg(1)).map_or("", |kind| facts.written(kind));
        let configured = call.args.len() > 2 || call.keyword("state_dict_config").is_some() || call.has_star();
        if configured || !kind.ends_with("FULL_STATE_DICT") {
            continue;
        }
        let Some(gather) = gathered_within(facts, call) else { continue };
        report
            .add(call, "The whole model is gathered on every GPU: there is no word of offloading it")
            .because(gather, "the state dict is made here");
    }
    for call in facts.calls_named("FullStateDictConfig") {
        let off = call.keyword("offload_to_cpu").is_none() && call.args.is_empty();
        let refused = call.keyword_is("offload_to_cpu", false);
        if !off && !refused || call.has_star() || !saves(facts) {
            continue;
        }
        let place = if call.keyword_is("rank0_only", true) { "the GPU of rank 0" } else { "every GPU" };
        let why = if refused { "and `offload_to_cpu` is off" } else { "`offload_to_cpu` is off unless asked for" };
        let finding = report.add(call, format!("The whole model is gathered on {place}: {why}"));
        finding
            .because(&call.node.arguments, if refused { "as it says here" } else { "`offload_to_cpu` is not given" });
        if off {
            finding.unsafe_fix("Offload while gathering", facts.add_argument(call, "offload_to_cpu=True"));
        }
    }
    for call in facts.calls_named("summon_full_params") {
        let offloads = call.keyword("offload_to_cpu").is_some() || call.has_star();
        let Some(gather) = gathered_within(facts, call).filter(|_| !offloads) else { continue };
        report
            .add(call, "The whole model is gathered on every GPU: there is no word of offloading it")
            .because(gather, "the state dict is made here");
    }
    for call in facts.calls_named("set_state_dict_type") {
        let kind = call.keyword("state_dict_type").or_else(|| call.arg(1)).map_or("", |kind| facts.written(kind));
        let configured = call.args.len() > 2 || call.keyword("state_dict_config").is_some() || call.has_star();
        let after = |found: &&Call<'_>| found.at.function == call.at.function && found.at.order > call.at.order;
        let Some(gather) = facts.calls_named("state_dict").find(after) else { continue };
        if !configured && kind.ends_with("FULL_STATE_DICT") {
            report
                .add(call, "The whole model is gathered on every GPU: there is no word of offloading it")
                .because(gather, "the state dict is made here");
        }
    }
    for call in facts.calls_named("StateDictOptions") {
        let loads = facts.around(call).iter().any(|expr| facts.written(*expr).starts_with("set_"));
        let bound_for_load =
            facts.calls().iter().any(|other| other.name.starts_with("set_") && other.name.ends_with("state_dict"));
        let on_gpu = call.keyword_is("full_state_dict", true)
            && !call.has_star()
            && (call.keyword("cpu_offload").is_none() || call.keyword_is("cpu_offload", false));
        if on_gpu && !loads && !bound_for_load {
            let finding = report.add(call, "The whole model is gathered on every GPU: `cpu_offload` is off");
            finding.because(&call.node.arguments, "`full_state_dict=True` without `cpu_offload=True`");
            if call.keyword("cpu_offload").is_none() {
                finding.unsafe_fix("Offload while gathering", facts.add_argument(call, "cpu_offload=True"));
            }
        }
    }
}

/// The `state_dict()` within the `with` a call opens.
fn gathered_within<'f, 'a>(facts: &'f Facts<'a>, call: &Call<'a>) -> Option<&'f Call<'a>> {
    let item = facts.withs().iter().find(|item| item.expr.range() == call.node.range())?;
    facts.calls_named("state_dict").find(|inner| facts.is_inside(inner.at.block, item.body))
}

fn saves(facts: &Facts<'_>) -> bool {
    facts.calls_named("state_dict").next().is_some()
}
