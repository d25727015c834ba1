//! What grows although it fits: a loop that leaves memory behind in every iteration runs out sooner or later.

use std::path::Path;

use oomph_card::Card;
use oomph_job::facts::{LoopFacts, LoopKind};
use oomph_trace::EventIndex;

use crate::plan::fullest;
use crate::run::Process;
use crate::search::{Clock, Spans};

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

/// What a loop will have kept at its end beyond the peak of the iterations that were run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToCome {
    /// The file of the loop.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The device that it is kept on.
    pub device: u32,
    /// What each iteration keeps.
    pub bytes_per_iteration: u64,
    /// Iterations that the loop has.
    pub total_iterations: u64,
    /// By how much the peak rises until the last of them.
    pub bytes: u64,
}

impl ToCome {
    /// Of the loops whose length is known, the one that raises the peak of a process most.
    #[must_use]
    pub fn of(process: &Process) -> Option<Self> {
        let loops = process.facts.end.loops.iter();
        let is_growing = |part: &&LoopFacts| {
            part.kind != LoopKind::Epochs && part.is_ended_early() && part.growth_bytes_per_iteration > 0
        };
        let mut growing = loops.filter(is_growing).filter(|part| part.total.is_some()).peekable();
        growing.peek()?;
        let (device, _) = fullest(process)?;
        let trace = process.trace.device(device)?;
        let spans = Spans::of(&process.trace, trace, &Clock::of(&process.facts.watched), &process.facts.end.workspaces);
        let event = |time_us: u64| trace.events.partition_point(|event| event.time_us < time_us) as EventIndex;
        let peak_bytes = spans.peak().0;
        let found = growing.filter_map(|part| {
            let (first_us, last_us) = iterations(part, process)?;
            let level_bytes = spans.peak_within(event(first_us)..event(last_us)).0;
            let total_iterations = part.total?;
            // The last that was run began where the stretch ends.
            let to_come = total_iterations.saturating_sub(part.longest_visit.max(1) - 1);
            let end_bytes = level_bytes + to_come.saturating_mul(part.growth_bytes_per_iteration);
            Some(Self {
                file: part.file.clone(),
                line: part.line,
                device,
                bytes_per_iteration: part.growth_bytes_per_iteration,
                total_iterations,
                bytes: end_bytes.saturating_sub(peak_bytes),
            })
        });
        found.filter(|found| found.bytes > 0).max_by_key(|found| found.bytes)
    }
}

/// When the first and the last iteration of a loop began.
fn iterations(part: &LoopFacts, process: &Process) -> Option<(u64, u64)> {
    let file = Path::new(&part.file).file_name()?.to_string_lossy();
    let name = format!("iteration {file}:{} ", part.line);
    let marks = process.facts.watched.marks.iter().filter(|mark| mark.2.starts_with(&name) && mark.3 == "START");
    let times = || marks.clone().map(|mark| mark.0);
    Some((times().min()?, times().max()?))
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
