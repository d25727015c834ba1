//! `unknown-memory-api`: a function of torch that does not exist.

use crate::analysis::events::{BlockKind, Call};
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::Size;

pub(super) static RULE: Rule = Rule {
    name: "unknown-memory-api",
    group: Group::Allocator,
    size: Size::failure(),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "The code calls a memory function that torch does not have.",
    why: "The call raises `AttributeError`. It usually stands in a handler for running out of memory, so it hides the \
          error it was meant to cure.",
    cost: "The job ends, with the wrong error.",
    instead: "`torch.cuda.empty_cache()`, `torch.cuda.set_per_process_memory_fraction()`.",
    when_not: "`torch` is not PyTorch but a stand-in of your own that has the function.",
    programs: include_str!("unknown_memory_api.py"),
    check,
};

/// Functions about memory that `torch.cuda` has, in torch 2.11.
const KNOWN: &[&str] = &[
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_enable",
    "change_current_allocator",
    "device_memory_used",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
];

/// What some names that do not exist are meant to be.
const MEANT: &[(&str, &str)] = &[
    ("clear_cache", "empty_cache"),
    ("clear_memory", "empty_cache"),
    ("clear_memory_cache", "empty_cache"),
    ("free_cache", "empty_cache"),
    ("free_memory", "empty_cache"),
    ("release_memory", "empty_cache"),
    ("release_cache", "empty_cache"),
    ("flush_cache", "empty_cache"),
    ("set_memory_fraction", "set_per_process_memory_fraction"),
    ("get_memory_info", "mem_get_info"),
    ("memory_info", "mem_get_info"),
    ("reset_memory_stats", "reset_peak_memory_stats"),
    ("reset_max_memory", "reset_peak_memory_stats"),
    ("reset_peak_memory", "reset_peak_memory_stats"),
    ("memory_used", "memory_allocated"),
    ("max_memory_used", "max_memory_allocated"),
    ("peak_memory_allocated", "max_memory_allocated"),
    ("get_free_memory", "mem_get_info"),
    ("get_available_memory", "mem_get_info"),
];

/// Whether a name says that the cache is to be emptied: `clear_gpu_memory`, `empty_memory`, `purge_cache`.
fn asks_to_empty(name: &str) -> bool {
    const VERBS: &[&str] = &["clear", "empty", "free", "release", "flush", "purge", "clean", "drop"];
    const NOUNS: &[&str] = &["cache", "caches", "cached", "memory", "mem", "gpu", "cuda", "all", "unused", "vram"];
    let mut words = name.split('_');
    let verb = words.next().is_some_and(|word| VERBS.contains(&word));
    let nouns: Vec<&str> = words.collect();
    verb && !nouns.is_empty() && nouns.iter().all(|word| NOUNS.contains(word))
}

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_under("torch.") {
        let Some(full) = facts.full_name(call) else { continue };
        let (Some(meant), false) = (meant(full), is_guarded(facts, call)) else { continue };
        let finding =
            report.add(&*call.node.func, format!("`{full}` does not exist: the call raises `AttributeError`"));
        finding.because(&*call.node.func, format!("what is meant is `torch.cuda.{meant}`"));
        let Expr::Attribute(attribute) = &*call.node.func else { continue };
        let name = if full.starts_with("torch.cuda.") { meant.to_owned() } else { format!("cuda.{meant}") };
        let same_arguments = meant != "empty_cache" || call.node.arguments.is_empty();
        if same_arguments && (meant == "empty_cache" || full == format!("torch.{meant}")) {
            finding.safe_fix("Use the function that exists", vec![Edit::replace(attribute.attr.range(), name)]);
        }
    }
}

/// The function of `torch.cuda` that a name which does not exist stands for.
fn meant(full: &str) -> Option<&'static str> {
    let rest = full.strip_prefix("torch.")?;
    let (name, on_cuda) = match rest.strip_prefix("cuda.") {
        Some(name) => (name.strip_prefix("memory.").unwrap_or(name), true),
        None => (rest, false),
    };
    if name.contains('.') || name.starts_with('_') || on_cuda && KNOWN.contains(&name) {
        return None;
    }
    let exact = MEANT.iter().find(|(wrong, _)| *wrong == name).map(|(_, meant)| *meant);
    if !on_cuda {
        // `torch.empty_cache()`: a function of `torch.cuda` looked for one level too high.
        return exact.or_else(|| KNOWN.iter().find(|known| **known == name).copied());
    }
    let words = name.to_ascii_lowercase();
    let about_memory = ["memory", "cache", "mem_"].iter().any(|word| words.contains(word)) && name == words;
    let close = || KNOWN.iter().copied().find(|known| strsim::levenshtein(known, name) <= 3);
    let getter = || KNOWN.iter().copied().find(|known| name.strip_prefix("get_") == Some(known));
    let emptied = asks_to_empty(name).then_some("empty_cache");
    exact.or(emptied).or_else(getter).or_else(|| about_memory.then(close).flatten())
}

/// Whether an `if hasattr(...)` looks before it leaps.
fn is_guarded(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    facts.blocks_around(&call.at).any(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) => facts.source.slice(test.range()).contains("hasattr"),
        _ => false,
    })
}
