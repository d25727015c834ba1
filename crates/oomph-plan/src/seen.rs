//! How much of the job a plan has seen, in the words of its loops.

use oomph_job::facts::{End, LoopFacts, LoopKind};

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
        match found.iter_mut().find(|known| known.kind == part.kind) {
            Some(known) if known.total.unwrap_or(known.seen) >= part.total.unwrap_or(part.longest_visit) => {}
            Some(known) => *known = of(part),
            None => found.push(of(part)),
        }
    }
    found.sort_by_key(|part| part.kind);
    found
}

fn of(part: &LoopFacts) -> Seen {
    let seen = part.longest_visit;
    Seen { kind: part.kind, file: part.file.clone(), line: part.line, seen, total: part.total }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_loop_of_a_kind_speaks_for_it() {
        let part = |line: u32, kind: &str, longest: u64, total: u64| {
            json!({ "file": "train.py", "line": line, "kind": kind, "seen": 2 * longest, "longest_visit": longest,
                    "total": total, "visits": 2, "ended": "repeats" })
        };
        let loops = [
            part(5, "epochs", 2, 10),
            part(6, "training", 3, 1250),
            part(9, "evaluation", 3, 40),
            part(20, "evaluation", 3, 4),
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
