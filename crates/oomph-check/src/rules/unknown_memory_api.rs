//! `unknown-memory-api`: a function of torch that does not exist.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::finding::{Edit, Level, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "unknown-memory-api",
    group: Group::Allocator,
    level: Level::Error,
    fix: Some(Safety::Safe),
    summary: "The code calls a memory function that torch does not have.",
    why: "The call raises `AttributeError`. It usually stands in a handler for running out of memory, so it hides the \
          error it was meant to cure.",
    cost: "The job ends, with the wrong error.",
    instead: "`torch.cuda.empty_cache()`, `torch.cuda.set_per_process_memory_fraction()`.",
    when_not: "`torch` is not PyTorch but a stand-in of your own that has the function.",
    examples: &[Example {
        bad: "\
import torch

def release():
    torch.empty_cache()
",
        good: "\
import torch

def release():
    torch.cuda.empty_cache()
",
    }],
    silent_on: &[
        "\
import torch

if hasattr(torch.cuda, 'clear_cache'):
    torch.cuda.clear_cache()
",
        "\
from my_shims import torch

torch.empty_cache()
",
    ],
    check,
};

/// What does not exist, and what people mean by it: the part of the name that changes.
const UNKNOWN: &[(&str, &str)] = &[
    ("torch.empty_cache", "cuda.empty_cache"),
    ("torch.clear_cache", "cuda.empty_cache"),
    ("torch.cuda.clear_cache", "empty_cache"),
    ("torch.cuda.clear_memory", "empty_cache"),
    ("torch.cuda.clear", "empty_cache"),
    ("torch.cuda.free_cache", "empty_cache"),
    ("torch.cuda.emptyCache", "empty_cache"),
    ("torch.cuda.empty_caches", "empty_cache"),
    ("torch.cuda.set_memory_fraction", "set_per_process_memory_fraction"),
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (unknown, meant) in UNKNOWN {
        for call in facts.calls_to(unknown) {
            if is_guarded(facts, call) {
                continue;
            }
            let message = format!("`{unknown}` does not exist: the call raises `AttributeError`");
            let finding = report.add(&*call.node.func, message);
            finding.because(
                &*call.node.func,
                format!("what is meant is `torch.cuda.{}`", meant.trim_start_matches("cuda.")),
            );
            if let (Expr::Attribute(attribute), true) = (&*call.node.func, call.node.arguments.is_empty()) {
                finding.safe_fix("Use the function that exists", vec![Edit::replace(attribute.attr.range(), *meant)]);
            }
        }
    }
}

/// Whether an `if hasattr(...)` looks before it leaps.
fn is_guarded(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) => facts.source.slice(test.range()).contains("hasattr"),
        _ => false,
    })
}
