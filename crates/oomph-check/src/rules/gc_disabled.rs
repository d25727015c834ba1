//! `gc-disabled`: reference cycles with tensors in them are never freed.

use crate::analysis::events::BlockKind;
use crate::facts::{Effect, Facts};
use crate::python::Ranged;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "gc-disabled",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: None,
    summary: "Training switches Python's cycle collector off and never collects.",
    why: "Most tensors die with their last reference. Those in a reference cycle, such as a module that refers to itself \
          through a bound method or a graph kept by a hook, wait for the collector, which now never comes.",
    cost: "Every tensor in a cycle since the start: without bound.",
    instead: "Leave it on, or call `gc.collect()` every few hundred steps at the same time on all ranks.",
    when_not: "The process collects on a schedule of its own.",
    programs: include_str!("gc_disabled.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let collects =
        ["gc.collect", "gc.enable", "gc.callbacks.append"].iter().any(|name| facts.calls_to(name).next().is_some());
    for call in facts.calls_to("gc.disable") {
        let backward = facts.effects(Effect::Backward).next();
        let loops =
            facts.blocks().any(|(_, block)| matches!(block.kind, BlockKind::Loop(..) | BlockKind::Comprehension(..)));
        let trains = backward.map(|backward| (backward.range(), "this file trains"));
        let moved = || facts.calls().iter().find(|call| facts.moves_to_gpu(call));
        let work = trains.or_else(|| moved().map(|call| (call.range(), "this file works on the GPU")));
        // A method works again and again in a program that serves.
        let serves = || moved().is_some_and(|call| facts.class_at(&call.at).is_some());
        let Some((place, does)) = work.filter(|_| (loops || serves()) && !collects && !facts.is_test_file()) else {
            continue;
        };
        report
            .add(call, "With the collector off, tensors in reference cycles are never freed")
            .because(&place, does)
            .because(call, "and nothing in it collects or switches the collector on again");
    }
}
