//! Which modules of the model hold the bytes at a moment, by their path; layers that repeat are one row.

use std::collections::BTreeMap;

use oomph_trace::{EventIndex, StringId};

use crate::case::Case;

/// What one module holds, or all the modules whose paths differ in one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleHeld {
    /// Its path as `named_modules()` gives it; `*` stands for the number that differs: `model.layers.*.mlp`.
    pub module: String,
    /// How many modules the row stands for.
    pub count: usize,
    /// Bytes of their live blocks.
    pub bytes: u64,
}

/// Bytes of the live blocks after an event by module path, most first; empty where the trace knows no modules.
#[must_use]
pub fn modules_at(case: &Case, at: EventIndex) -> Vec<ModuleHeld> {
    let mut by_id: BTreeMap<StringId, u64> = BTreeMap::new();
    for block in case.timeline.live_at(at) {
        let module = block.alloc.map_or(StringId::MISSING, |alloc| case.device.events[alloc as usize].module);
        if module != StringId::MISSING {
            *by_id.entry(module).or_default() += block.bytes;
        }
    }
    let table = case.sources.table();
    // Two handles may stand for one text.
    let mut by_path: BTreeMap<&str, u64> = BTreeMap::new();
    for (module, bytes) in by_id {
        let path = table.string(module);
        if !path.is_empty() {
            *by_path.entry(path).or_default() += bytes;
        }
    }
    fold(&by_path)
}

/// Joins paths that are equal but for one numeric component. Where a path has several (`blocks.3.experts.7`), the one
/// that joins most is taken first, and what is joined is looked at again for the next.
fn fold(by_path: &BTreeMap<&str, u64>) -> Vec<ModuleHeld> {
    let row = |(&path, &bytes): (&&str, &u64)| ModuleHeld { module: path.to_owned(), count: 1, bytes };
    let mut rows: Vec<ModuleHeld> = by_path.iter().map(row).collect();
    while let Some(pattern) = widest_pattern(&rows) {
        let (joined, others): (Vec<ModuleHeld>, Vec<ModuleHeld>) =
            rows.into_iter().partition(|row| patterns(&row.module).any(|one| one == pattern));
        rows = others;
        let count = joined.iter().map(|row| row.count).sum();
        rows.push(ModuleHeld { module: pattern, count, bytes: joined.iter().map(|row| row.bytes).sum() });
    }
    rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.module.cmp(&b.module)));
    rows
}

/// The pattern that the most rows follow, if at least two follow one.
fn widest_pattern(rows: &[ModuleHeld]) -> Option<String> {
    let mut followers: BTreeMap<String, usize> = BTreeMap::new();
    for pattern in rows.iter().flat_map(|row| patterns(&row.module)) {
        *followers.entry(pattern).or_default() += 1;
    }
    // The first of the widest, as `max_by_key` would take the last.
    let widest = followers.into_iter().filter(|&(_, count)| count > 1).rev().max_by_key(|&(_, count)| count);
    widest.map(|(pattern, _)| pattern)
}

/// A path with each of its numeric components in turn replaced by `*`. A number alone is a layer of a `Sequential`, and
/// its neighbours are other layers, not the same again.
fn patterns(path: &str) -> impl Iterator<Item = String> + '_ {
    let parts: Vec<&str> = path.split('.').collect();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let candidates = if parts.len() == 1 { 0 } else { parts.len() };
    (0..candidates).filter(move |&at| is_number(path.split('.').nth(at).unwrap_or_default())).map(move |at| {
        let mut parts = parts.clone();
        parts[at] = "*";
        parts.join(".")
    })
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::{ModuleHeld, fold};
    use crate::{Options, explain};

    fn folded(paths: &[(&str, u64)]) -> Vec<(String, usize, u64)> {
        let rows = fold(&paths.iter().copied().collect());
        rows.into_iter().map(|ModuleHeld { module, count, bytes }| (module, count, bytes)).collect()
    }

    #[test]
    fn layers_of_a_plain_sequence_stay_apart() {
        assert_eq!(folded(&[("0", 3), ("1", 2)]), [("0".to_owned(), 1, 3), ("1".to_owned(), 1, 2)]);
    }

    #[test]
    fn layers_that_repeat_are_one_row() {
        let found = folded(&[
            ("model.layers.0.mlp", 10),
            ("model.layers.1.mlp", 20),
            ("model.layers.1.attn", 1),
            ("model.layers.0.attn", 1),
            ("head", 25),
        ]);
        let row = |module: &str, count, bytes| (module.to_owned(), count, bytes);
        assert_eq!(found, [row("model.layers.*.mlp", 2, 30), row("head", 1, 25), row("model.layers.*.attn", 2, 2)]);
    }

    #[test]
    fn experts_inside_layers_fold_twice_and_a_lone_number_stays() {
        let experts = [("blocks.0.experts.0", 1), ("blocks.0.experts.1", 1), ("blocks.1.experts.0", 1)];
        assert_eq!(folded(&experts)[0].1, 2, "three of four: the rest is no full grid, and is not claimed to be one");
        let grid = [experts[0], experts[1], experts[2], ("blocks.1.experts.1", 1)];
        assert_eq!(folded(&grid), [("blocks.*.experts.*".to_owned(), 4, 4)]);
        assert_eq!(folded(&[("net.4", 1), ("layer4", 1)]).len(), 2);
    }

    #[test]
    fn only_live_blocks_of_known_modules_count() {
        let mut job = TraceBuilder::new(Origin::HollowRun);
        job.alloc(0x1000, 512, &[]).module("encoder").alloc(0x2000, 1024, &[]).alloc(0x3000, 512, &[]);
        job.free(0x3000, 512, &[]).module("head").alloc(0x4000, 512, &[]);
        let trace = job.finish();
        let report = explain(&trace, &Options { at: Some(5), ..Options::default() }).unwrap();
        let row = |module: &str, bytes| ModuleHeld { module: module.to_owned(), count: 1, bytes };
        assert_eq!(report.modules, [row("encoder", 1024), row("head", 512)]);
    }
}
