//! `stream-created-in-loop`: every stream has a cache of its own.

use crate::analysis::events::Callee;
use crate::analysis::value::Value;
use crate::facts::Facts;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "stream-created-in-loop",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A CUDA stream is made on every batch.",
    why: "The allocator keeps freed blocks for the stream they were used on. PyTorch hands out 32 streams of a priority in \
          turn, so each of 32 batches fills a cache that the next batch may not take from.",
    cost: "Up to 32 times the memory of what runs on the stream, held as cached blocks.",
    instead: "Make the stream once, before the loop.",
    when_not: "A fixed set of streams is made on the first turns and kept.",
    programs: include_str!("stream_created_in_loop.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.cuda.Stream").chain(facts.calls_to("torch.cuda.streams.Stream")) {
        // Numbers that are only read on it take no memory of it.
        let works = facts.calls().iter().any(|other| {
            let of_module = other.receiver.as_ref().is_some_and(Value::is_module);
            let runs = other.callee == Callee::Module || of_module || matches!(other.callee, Callee::Project(_));
            let fills = matches!(other.name, "to" | "cuda" | "copy_" | "backward" | "generate");
            other.at.function == call.at.function && (runs || fills)
        });
        let hands_over = facts.returns().iter().any(|found| found.is_yield && found.at.function == call.at.function);
        let Some((place, why)) = facts.comes_again(&call.at).filter(|_| works || hands_over) else { continue };
        let often = if why.ends_with("batch") { "on every batch" } else { "each time" };
        report
            .add(call, format!("A new stream {often} cannot use the blocks freed on the last one: cached memory grows"))
            .because(&place, why);
    }
}
