//! Loops that are run to their end: a script that fails after one that was ended early may need all of its iterations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oomph_card::Card;
use oomph_job::facts::{Outcome, OutcomeKind, Place};

use crate::error::PlanError;
use crate::follow::Progress;
use crate::job::Job;
use crate::run::Run;

/// Runs that are made again for that, at most.
const AGAIN_MAX: usize = 3;

/// The loops of which a script needs all iterations, shared by all copies of a job.
#[derive(Clone, Debug, Default)]
pub struct WholeLoops(Arc<Mutex<Known>>);

/// What runs have shown.
#[derive(Debug, Default)]
struct Known {
    places: Vec<Place>,
    /// Whether other loops have been tried, so that no further run needs to.
    is_settled: bool,
}

impl WholeLoops {
    /// Where they begin.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        self.known().places.clone()
    }

    fn of(places: Vec<Place>) -> Self {
        Self(Arc::new(Mutex::new(Known { places, is_settled: true })))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    /// Runs the job on these cards, one entry a device: with values where they are needed, and again with loops run to
    /// their end where the script failed after some that were ended early.
    ///
    /// # Errors
    /// If it cannot be started, fails for a reason of its own, or never uses CUDA. Running out of memory is a result.
    pub fn run(&self, cards: &[Card], progress: Progress) -> Result<Run, PlanError> {
        let mut run = self.run_with_values(cards, progress)?;
        if self.whole_loops.known().is_settled {
            return Ok(run);
        }
        let mut tried = vec![self.whole_loops.places()];
        while let Some(failed) = failure(&run).filter(|_| tried.len() <= AGAIN_MAX) {
            let known = self.whole_loops.places();
            let Some(places) = wider(&known, failed.ended_early).into_iter().find(|one| !tried.contains(one)) else {
                break;
            };
            progress("running a loop to its end, which the script may need");
            tried.push(places.clone());
            self.whole_loops.known().is_settled = true;
            let job = Self { whole_loops: WholeLoops::of(places.clone()), ..self.clone() };
            match job.run_with_values(cards, progress) {
                Ok(further) if failure(&further).is_none_or(|other| other.place() != failed.place()) => {
                    self.whole_loops.known().places = places;
                    run = further;
                }
                Err(error) if !error.is_of_script() => return Err(error),
                // These loops did not matter, or nothing was left of the result.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(run)
    }
}

/// A process whose script failed after loops that were ended early.
struct Failed<'a> {
    outcome: &'a Outcome,
    ended_early: &'a [Place],
}

impl Failed<'_> {
    /// The line that raised it; of a script that left with a message, the message.
    fn place(&self) -> Option<&str> {
        let traceback = self.outcome.traceback.as_deref().unwrap_or_default();
        traceback.lines().rfind(|line| line.trim_start().starts_with("File ")).or(self.outcome.message.as_deref())
    }
}

fn failure(run: &Run) -> Option<Failed<'_>> {
    let ends = run.processes.iter().map(|process| &process.facts.end);
    let mut failed = ends.filter(|end| matches!(end.outcome.kind, OutcomeKind::Error | OutcomeKind::Exit));
    failed
        .find(|end| !end.ended_early.is_empty())
        .map(|end| Failed { outcome: &end.outcome, ended_early: &end.ended_early })
}

/// Which loops to run to their end next, the most likely first: the loop that was ended last, then all of them.
fn wider(known: &[Place], ended_early: &[Place]) -> Vec<Vec<Place>> {
    let with = |more: &[Place]| {
        let unknown = more.iter().filter(|place| !known.contains(place));
        known.iter().chain(unknown).cloned().collect::<Vec<_>>()
    };
    vec![with(&ended_early[..ended_early.len().min(1)]), with(ended_early)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32) -> Place {
        Place { file: "train.py".into(), line }
    }

    #[test]
    fn the_loop_that_was_ended_last_comes_first_and_then_all() {
        let early = [place(30), place(20), place(10)];
        assert_eq!(wider(&[], &early), [vec![place(30)], vec![place(30), place(20), place(10)]]);
        assert_eq!(wider(&[place(20)], &early[..1]), [[place(20), place(30)], [place(20), place(30)]]);
    }

    #[test]
    fn a_failure_is_known_by_its_line_and_not_by_its_text() {
        let failed = |size: u32| Outcome {
            kind: OutcomeKind::Error,
            reason: None,
            message: Some(format!("ValueError: {size} values")),
            traceback: Some(format!("Traceback\n  File \"a.py\", line 3\n    go()\nValueError: {size} values\n")),
        };
        let (one, other) = (failed(1), failed(2));
        let place = |outcome| Failed { outcome, ended_early: &[] }.place().map(str::to_owned);
        assert_eq!(place(&one), place(&other));
        assert_eq!(place(&one).as_deref(), Some("  File \"a.py\", line 3"));
    }
}
