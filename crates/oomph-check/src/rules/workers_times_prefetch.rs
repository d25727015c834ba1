//! `workers-times-prefetch`: hundreds of batches wait in main memory.

use crate::facts::Facts;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::whole_number;

pub(super) static RULE: Rule = Rule {
    name: "workers-times-prefetch",
    group: Group::Data,
    size: Size::once(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "A loader keeps a great many batches ready.",
    why: "Each worker prepares `prefetch_factor` batches ahead (2 unless told otherwise), and pinning makes a second copy.",
    cost: "`num_workers x prefetch_factor` batches in main memory: 256 batches of 256 images at 224 x 224 are 39 GB.",
    instead: "Lower either; a loader that keeps up needs only a few batches ahead.",
    when_not: "Samples are small.",
    programs: include_str!("workers_times_prefetch.py"),
    check,
};

const MANY_BATCHES: u64 = 64;
const DEFAULT_PREFETCH: u64 = 2;

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.utils.data.DataLoader") {
        let Some(workers) = call.keyword("num_workers").or_else(|| call.arg(5)) else { continue };
        let Some(count) = whole_number(workers) else { continue };
        let prefetch = call.keyword("prefetch_factor").map_or(Some(DEFAULT_PREFETCH), whole_number);
        let Some(waiting) = prefetch.and_then(|prefetch| count.checked_mul(prefetch)) else { continue };
        if waiting < MANY_BATCHES {
            continue;
        }
        report
            .add(call, format!("{waiting} batches wait in main memory at any time"))
            .because(workers, format!("{count} workers, {} batches each", waiting / count.max(1)));
    }
}
