//! `cudagraph-without-shared-pool`: every graph keeps a pool of its own.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "cudagraph-without-shared-pool",
    group: Group::Allocator,
    size: Size::once(Amount::Activations),
    is_opportunity: true,
    fix: None,
    summary: "Several CUDA graphs are captured, each with a private memory pool.",
    why: "A captured graph needs its memory at the same addresses for ever, so capture takes it from a pool that nothing \
          else may use. Without `pool=` each graph gets its own.",
    cost: "One pool a graph, as large as the most it ever held.",
    instead: "Pass `pool=` the handle of the first graph, or `torch.cuda.graph_pool_handle()`.",
    when_not: "The graphs may run at the same time, or the output of one is read after another has run.",
    programs: include_str!("cudagraph_without_shared_pool.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let captures: Vec<&Call<'_>> = facts.calls_to("torch.cuda.graph").collect();
    let alone = |call: &Call<'_>| call.keyword("pool").is_none() && call.arg(1).is_none() && !call.has_star();
    for call in captures.iter().copied().filter(|call| alone(call)) {
        let turns = facts.loops(&call.at).next();
        let other =
            captures.iter().find(|other| other.range() != call.range() && other.at.function == call.at.function);
        let Some(several) = turns.map(|turns| turns.head()).or_else(|| other.map(Ranged::range)) else {
            continue;
        };
        report
            .add(call, "This graph gets a memory pool of its own: share one with `pool=`")
            .because(&several, "more than one graph is captured");
    }
}
