//! `gc-collect-every-step`: the collector runs on every batch to hide a cycle.

use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "gc-collect-every-step",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Small),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "`gc.collect()` runs once a batch.",
    why: "It frees reference cycles only. If it helps, some cycle holds tensors, and between two collections the peak is \
          as high as ever; if there is no cycle it does nothing.",
    cost: "Tens of milliseconds a step, which the GPU waits for.",
    instead: "Find the cycle: a module that stores a bound method, an exception that is kept, a hook over its own output.",
    when_not: "A library's cycle cannot be mended, or the collector is off and this is its schedule.",
    programs: include_str!("gc_collect_every_step.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let scheduled = facts.calls_to("gc.disable").next().is_some();
    for call in facts.calls_to("gc.collect").filter(|_| !scheduled) {
        let by_loop = facts.batch_loop(&call.at).map(|batches| (batches.block, batches.head()));
        let by_framework = || {
            let function = facts.function(&call.at).filter(|_| facts.runs_per_batch(&call.at))?;
            Some((facts.function_block(&call.at), function.node.name.range()))
        };
        let Some((outer, place)) = by_loop.or_else(by_framework) else { continue };
        if facts.handler(&call.at).is_some() || !facts.is_unconditional_in(&call.at, outer) {
            continue;
        }
        report
            .add(call, "The collector runs once a batch: the GPU waits, and a cycle that holds tensors stays hidden")
            .because(&place, "this runs once a batch")
            .unsafe_fix("Remove the call", facts.delete_statement(call.at.stmt));
    }
}
