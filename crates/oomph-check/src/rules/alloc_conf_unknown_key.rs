//! `alloc-conf-unknown-key`: an allocator setting that does not exist.

use super::alloc_conf_set_too_late::settings;
use crate::facts::Facts;
use crate::python::Ranged;
use crate::questions::string_literal;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "alloc-conf-unknown-key",
    group: Group::Allocator,
    size: Size::once(Amount::Batch).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "`PYTORCH_CUDA_ALLOC_CONF` is set to an option that the allocator does not know.",
    why: "The allocator takes a list of `option:value` pairs. A misspelt option, or `=` in the place of `:`, makes PyTorch \
          raise an error when CUDA starts, or is ignored by some versions, so that fragmentation goes on.",
    cost: "The job ends at its first use of the GPU, or runs without the setting.",
    instead: "The option's right name, for instance `expandable_segments:True` or `max_split_size_mb:128`.",
    when_not: "A version of torch newer than this list knows the option.",
    programs: include_str!("alloc_conf_unknown_key.py"),
    check,
};

/// Every option that some version of torch knows.
const OPTIONS: &[&str] = &[
    "backend",
    "expandable_segments",
    "garbage_collection_threshold",
    "graph_capture_record_stream_reuse",
    "large_segment_size_mb",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "per_process_memory_fraction",
    "pinned_max_cached_size_mb",
    "pinned_max_power2_size_mb",
    "pinned_max_round_threshold_mb",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "roundup_bypass_threshold_mb",
    "roundup_power2_divisions",
    "throw_on_cudamalloc_oom",
    "use_async_allocator",
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for setting in settings(facts) {
        let Some(text) = string_literal(setting.value) else { continue };
        for (option, has_colon) in options(text) {
            let known = OPTIONS.contains(&option.as_str());
            if known && has_colon {
                continue;
            }
            let name = option.split('=').next().unwrap_or(&option).trim();
            let message = if has_colon {
                format!("The allocator has no option `{name}`: torch fails when CUDA starts, or ignores it")
            } else {
                format!("`{option}` is no `option:value` pair: torch fails when CUDA starts, or ignores it")
            };
            let nearest = nearest(name);
            let why = match nearest {
                Some(nearest) if nearest == name => format!("options are given as `{name}:value`"),
                Some(nearest) => format!("the nearest option there is: `{nearest}`"),
                None => "no option has a name like this".to_owned(),
            };
            report.add(&setting.value.range(), message).because(&setting.value.range(), why);
        }
    }
}

/// The options of a setting, and whether each has a colon after its name; lists in brackets are values.
fn options(text: &str) -> Vec<(String, bool)> {
    let mut depth = 0_i32;
    let mut parts = vec![String::new()];
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        if let (Some(last), true) = (parts.last_mut(), c != ',' || depth > 0) {
            last.push(c);
        }
    }
    let pairs = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    pairs
        .map(|part| part.split_once(':').map_or((part.to_owned(), false), |(name, _)| (name.trim().to_owned(), true)))
        .collect()
}

/// The option most like a name, if one is like it at all.
fn nearest(name: &str) -> Option<&'static str> {
    let best = OPTIONS.iter().map(|option| (distance(name, option), *option)).min()?;
    (best.0 <= 3 + name.len() / 4).then_some(best.1)
}

/// How many letters have to change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
