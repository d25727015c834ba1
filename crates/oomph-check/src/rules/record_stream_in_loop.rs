//! `record-stream-in-loop`: freed blocks wait for another stream.

use crate::facts::Facts;
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "record-stream-in-loop",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "`record_stream` is called on every batch.",
    why: "A tensor recorded on another stream is not free when its last reference goes: its block waits until that stream \
          has passed this point, which the allocator learns only at a later allocation. A host that runs ahead of the \
          device piles such blocks up.",
    cost: "A few batches more than are in use, as many as the host runs ahead.",
    instead: "Keep a reference until an event of the stream has passed, or reuse one buffer.",
    when_not: "The reference cannot be kept: then it is needed for right results.",
    programs: include_str!("record_stream_in_loop.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("record_stream") {
        let batches = facts.batch_loop(&call.at).map(|turns| turns.head());
        let function = facts.function(&call.at).map(|function| &function.node.name);
        let next = function.filter(|name| matches!(name.as_str(), "next" | "__next__")).map(Ranged::range);
        let Some(often) = batches.or(next) else { continue };
        let tensor = call.receiver_expr().map_or("", |expr| facts.source.slice(expr.range()));
        report
            .add(
                call,
                format!("The block of `{tensor}` is free only when the other stream has passed: batches pile up"),
            )
            .because(&often, "this runs once a batch");
    }
}
