//! `memory-history-unbounded`: the allocator's history grows as long as the job runs.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "memory-history-unbounded",
    group: Group::Allocator,
    size: Size::per_batch(Amount::Small).growing(),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "The allocator's history is recorded without a limit on its entries.",
    why: "`_record_memory_history()` keeps an entry with its stack for every allocation and every free, and its default \
          limit is `sys.maxsize`. A training step makes thousands of them, so host memory grows until the job ends, \
          and the dump of such a history takes minutes and cannot be opened.",
    cost: "Host memory: a few kilobytes an event, thousands of events a step.",
    instead: "Pass `max_entries=100_000`; the newest entries are kept, which are those before an out-of-memory error.",
    when_not: "A short script records a handful of operations and ends.",
    programs: include_str!("memory_history_unbounded.py"),
    check,
};

const RECORD: &str = "torch.cuda.memory._record_memory_history";

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to(RECORD) {
        let limited = ["max_entries", "trace_alloc_max_entries"].iter().any(|name| call.keyword(name).is_some());
        if limited || call.has_star() || call.node.arguments.args.len() > 3 || !switches_on(call) {
            continue;
        }
        let ends = facts
            .calls_to(RECORD)
            .find(|end| end.at.function == call.at.function && end.at.order > call.at.order && switches_off(end));
        if ends.is_some_and(|end| !loops_between(facts, call, end)) {
            continue;
        }
        report
            .add(call, "This history has no limit: host memory grows with every allocation until the job ends")
            .because(call, "`max_entries` is not given, and its default is `sys.maxsize`")
            .safe_fix("Keep the newest 100,000 entries", facts.add_argument(call, "max_entries=100_000"));
    }
}

fn enabled<'a>(call: &Call<'a>) -> Option<&'a Expr> {
    call.arg(0).or_else(|| call.keyword("enabled"))
}

/// Whether it begins a history: `True` and `False` select the old signature, which keeps one entry.
fn switches_on(call: &Call<'_>) -> bool {
    matches!(enabled(call), None | Some(Expr::StringLiteral(_)))
}

fn switches_off(call: &Call<'_>) -> bool {
    matches!(enabled(call), Some(Expr::NoneLiteral(_) | Expr::BooleanLiteral(_)))
}

/// Whether some loop runs between the two.
fn loops_between(facts: &Facts<'_>, begin: &Call<'_>, end: &Call<'_>) -> bool {
    let within = facts.blocks().any(|(_, block)| {
        matches!(block.kind, BlockKind::Loop(..))
            && !is_few_turns(facts, &block.kind)
            && block.range.start() > begin.range().end()
            && block.range.start() < end.range().start()
    });
    within || facts.loops(&begin.at).next().is_some()
}

/// Whether a loop runs a number of times that stands there and is small: `for _ in range(5)`.
fn is_few_turns(facts: &Facts<'_>, kind: &BlockKind<'_>) -> bool {
    let BlockKind::Loop(_, Stmt::For(node)) = kind else { return false };
    let Expr::Call(call) = &*node.iter else { return false };
    let counts = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "range");
    let turns = call.arguments.args.last().and_then(|last| facts.written(last).parse::<u32>().ok());
    counts && call.arguments.args.len() <= 2 && turns.is_some_and(|turns| turns <= 100)
}
