//! What grows although it fits: a loop that leaves memory behind in every iteration runs out sooner or later.

use oomph_card::Card;

use crate::run::Process;
use oomph_job::facts::{LoopFacts, LoopKind};

/// A loop whose length nobody knows is told of if it runs out within so many iterations: more than any epoch has.
const ITERATIONS_MAX: u64 = 1_000_000;

/// A loop that leaves memory behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The file of the loop.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// What each iteration leaves behind.
    pub bytes_per_iteration: u64,
    /// Iterations until the card is full.
    pub runs_out_after_iterations: u64,
    /// Iterations that the loop has, where that is known.
    pub total_iterations: Option<u64>,
}

impl Growth {
    /// The loop of a process that runs out first on this card, if one does.
    #[must_use]
    pub fn of(process: &Process, card: &Card) -> Option<Self> {
        let loops = process.facts.end.loops.iter().filter(|part| part.growth_bytes_per_iteration > 0);
        let found = loops.filter_map(|part| Self::of_loop(part, process, card));
        found.min_by_key(|growth| growth.runs_out_after_iterations)
    }

    /// Whether the loop is known to be long enough to run out.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.total_iterations.is_some_and(|total| total > self.runs_out_after_iterations)
    }

    /// What the loop leaves behind after it has filled the card, where its length is known.
    #[must_use]
    pub fn still_to_come_bytes(&self) -> u64 {
        let iterations = self.total_iterations.unwrap_or(0).saturating_sub(self.runs_out_after_iterations);
        iterations.saturating_mul(self.bytes_per_iteration)
    }

    fn of_loop(part: &LoopFacts, process: &Process, card: &Card) -> Option<Self> {
        // What a loop over loops keeps is what they keep.
        if part.kind == LoopKind::Epochs || !part.is_ended_early() {
            return None;
        }
        let peak_bytes = process.facts.end.devices.iter().map(|device| device.peak_reserved_bytes).max()?;
        let room_bytes = card.usable_bytes().saturating_sub(peak_bytes);
        let runs_out_after = part.seen + room_bytes / part.growth_bytes_per_iteration;
        (runs_out_after < part.total.unwrap_or(ITERATIONS_MAX)).then(|| Self {
            file: part.file.clone(),
            line: part.line,
            bytes_per_iteration: part.growth_bytes_per_iteration,
            runs_out_after_iterations: runs_out_after,
            total_iterations: part.total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_to_come_is_known_where_the_length_is() {
        let growth = |total: Option<u64>| Growth {
            file: String::new(),
            line: 1,
            bytes_per_iteration: 10,
            runs_out_after_iterations: 4,
            total_iterations: total,
        };
        assert_eq!([Some(10), Some(4), None].map(|total| growth(total).still_to_come_bytes()), [60, 0, 0]);
    }
}
