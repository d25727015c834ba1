//! `no-sync-with-sharding`: accumulation without communication undoes sharding.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "no-sync-with-sharding",
    group: Group::Distributed,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "`no_sync()` is used with FSDP.",
    why: "Without the reduce-scatter at the end of each backward pass every rank keeps whole gradients, not its shard of \
          them.",
    cost: "The full gradients on every GPU: the number of ranks times what sharding needs.",
    instead: "Leave `no_sync()` out and accept one reduce-scatter a micro-batch.",
    when_not: "Under DDP, where gradients are whole anyway, or when there is room and the network is slow.",
    programs: include_str!("no_sync_with_sharding.py"),
    check,
};

const DDP: &str = "torch.nn.parallel.DistributedDataParallel";
const FSDP: &str = "torch.distributed.fsdp.FullyShardedDataParallel";

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("no_sync") {
        let Some(name) = call.receiver_expr().and_then(last_name) else { continue };
        let bound = |wrap: &&Call<'_>| {
            facts.binds_of(name).any(|bind| bind.value_expr.is_some_and(|value| value.range() == wrap.node.range()))
        };
        // Wrapped in another function of the file, where nothing else is wrapped.
        let only_way = || facts.calls_to(FSDP).next().filter(|_| facts.calls_to(DDP).next().is_none());
        let Some(wrap) = facts.calls_to(FSDP).find(bound).or_else(only_way) else { continue };
        report
            .add(call, format!("`{name}` keeps whole gradients on every GPU while `no_sync()` is on"))
            .because(wrap, "its parameters and gradients are sharded here");
    }
}
