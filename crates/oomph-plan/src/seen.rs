//! How much of the job a plan has seen, in the words of its loops.

use crate::facts::{End, LoopFacts, LoopKind};

/// The loops of one kind, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What happens in them.
    pub kind: LoopKind,
    /// Where the one lies that has most iterations.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Iterations of it that were run, in one visit at most.
    pub seen: u64,
    /// Iterations that it has, where that is known.
    pub total: Option<u64>,
}

/// What was seen of each kind of loop: training first, then evaluation, then what holds them.
#[must_use]
pub fn seen(end: &End) -> Vec<Seen> {
    let mut found: Vec<Seen> = Vec::new();
    for part in &end.loops {
        if part.kind == LoopKind::Other && !part.is_ended_early() {
            continue;
        }
        let seen = per_visit(part);
        match found.iter_mut().find(|known| known.kind == part.kind) {
            Some(known) if known.total.unwrap_or(known.seen) >= part.total.unwrap_or(seen) => {}
            Some(known) => *known = of(part, seen),
            None => found.push(of(part, seen)),
        }
    }
    found.sort_by_key(|part| part.kind);
    found
}

fn of(part: &LoopFacts, seen: u64) -> Seen {
    Seen { kind: part.kind, file: part.file.clone(), line: part.line, seen, total: part.total }
}

/// Iterations in the longest visit: later ones are shorter, since nothing is new in them.
fn per_visit(part: &LoopFacts) -> u64 {
    let seen = if part.visits > 1 && part.is_ended_early() { part.seen.div_ceil(part.visits) } else { part.seen };
    part.total.map_or(seen, |total| seen.min(total))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_loop_of_a_kind_speaks_for_it() {
        let part = |line: u32, kind: &str, seen: u64, total: u64, visits: u64| {
            json!({ "file": "train.py", "line": line, "kind": kind, "seen": seen, "total": total, "visits": visits,
                    "ended": "repeats" })
        };
        let loops = [
            part(5, "epochs", 2, 10, 1),
            part(6, "training", 6, 1250, 2),
            part(9, "evaluation", 5, 40, 2),
            part(20, "evaluation", 3, 4, 1),
        ];
        let end = serde_json::from_value(json!({ "outcome": { "kind": "end" }, "loops": loops })).expect("facts");
        let told: Vec<(LoopKind, u64, Option<u64>)> =
            seen(&end).into_iter().map(|part| (part.kind, part.seen, part.total)).collect();
        assert_eq!(
            told,
            [(LoopKind::Training, 3, Some(1250)), (LoopKind::Evaluation, 3, Some(40)), (LoopKind::Epochs, 2, Some(10)),]
        );
    }
}
