//! `deprecated-memory-api`: memory functions under names that will go.

use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "deprecated-memory-api",
    group: Group::Allocator,
    size: Size::once(Amount::Small),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "A memory function is called by a deprecated name.",
    why: "`memory_cached` counts everything the allocator has reserved from the device, live tensors included. The old \
          name makes readers add it to `memory_allocated` or take it for memory that can be had back, and the name \
          will be removed. `reset_max_memory_allocated` and `reset_max_memory_cached` reset every peak, not only the \
          one they name.",
    cost: "None by itself; wrong conclusions from the figures, and an `AttributeError` once the names are gone.",
    instead: "`memory_reserved`, `max_memory_reserved`, `reset_peak_memory_stats`.",
    when_not: "The code has to run on torch before 1.4.",
    programs: include_str!("deprecated_memory_api.py"),
    check,
};

/// Old name, new name, and whether the two do the same.
const RENAMED: &[(&str, &str, Safety)] = &[
    ("memory_cached", "memory_reserved", Safety::Safe),
    ("max_memory_cached", "max_memory_reserved", Safety::Safe),
    ("reset_max_memory_allocated", "reset_peak_memory_stats", Safety::Unsafe),
    ("reset_max_memory_cached", "reset_peak_memory_stats", Safety::Unsafe),
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (old, new, safety) in RENAMED {
        for call in facts.calls_to(&format!("torch.cuda.{old}")) {
            if facts.is_guarded(&call.at) {
                continue;
            }
            let message = format!("`torch.cuda.{old}` is deprecated: the function is called `{new}`");
            let meaning = match safety {
                Safety::Safe => "it counts all that the allocator has reserved, not what is cached beside live tensors",
                Safety::Unsafe => "it resets all peaks, not only the one it names",
            };
            let finding = report.add(&*call.node.func, message);
            finding.because(&*call.node.func, meaning);
            let Expr::Attribute(attribute) = &*call.node.func else { continue };
            let edits = vec![Edit::replace(attribute.attr.range(), *new)];
            match safety {
                Safety::Safe => finding.safe_fix("Use the new name", edits),
                Safety::Unsafe => finding.unsafe_fix("Use the new name, which says what is reset", edits),
            };
        }
    }
}
