//! Values on demand: a second run, in which what the card would have computed is worked out on the host where something
//! is decided by it.

use std::sync::{Arc, Mutex, PoisonError};

use oomph_card::Card;
use oomph_job::Facts;
use oomph_job::facts::{OutcomeKind, Read};
use serde::Serialize;

use crate::error::PlanError;
use crate::follow::Progress;
use crate::job::Job;
use crate::run::{Failure, Process, Run};

/// Seconds of work on the host, where nobody says.
pub const DEFAULT_SECONDS: u32 = 60;

/// Host memory of a run that works values out, at most; less where the machine has less.
const MOST_HOST_BYTES: u64 = 6 << 30;

/// How much of the job is worked out where a value is asked for, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Nothing: what nobody knows is taken for something.
    Hollow,
    /// The forward pass, with weights as they were drawn.
    Frozen,
    /// Gradients and updates too.
    Updated,
}

/// What may be spent on values, and what is known about the need for them.
#[derive(Clone, Debug)]
pub struct Values {
    /// Seconds of work on the host in one run; 0 for none at all.
    pub seconds: u32,
    /// The tier that earlier runs of the same job needed, as soon as one has shown it.
    needed: Arc<Mutex<Option<Tier>>>,
}

/// What the Python side is told.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Bounds {
    seconds: u32,
    host_bytes: u64,
    updates: bool,
}

impl Default for Values {
    fn default() -> Self {
        Self::within(DEFAULT_SECONDS)
    }
}

impl Values {
    /// So many seconds a run.
    #[must_use]
    pub fn within(seconds: u32) -> Self {
        Self { seconds, needed: Arc::default() }
    }

    fn needed(&self) -> Option<Tier> {
        *self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn need(&self, tier: Tier) {
        *self.needed.lock().unwrap_or_else(PoisonError::into_inner) = Some(tier);
    }

    fn bounds(&self, tier: Tier) -> Option<Bounds> {
        let bounds = Bounds { seconds: self.seconds, host_bytes: host_bytes(), updates: tier == Tier::Updated };
        (tier != Tier::Hollow).then_some(bounds)
    }
}

impl Job {
    /// Runs the job on these cards, one entry a device: hollow, and again with values where something was decided by
    /// one that nobody knew.
    ///
    /// # Errors
    /// If it cannot be started, fails for a reason of its own, or never uses CUDA. Running out of memory is a result.
    pub(crate) fn run_with_values(&self, cards: &[Card], progress: Progress) -> Result<Run, PlanError> {
        let needed = self.values.needed();
        let first = if needed.is_none_or(|tier| tier == Tier::Hollow) {
            let first = self.run_once(cards, None, progress);
            if self.values.seconds == 0 || needed.is_some() || !needs_values(&first) {
                return first.map_err(|failure| failure.error);
            }
            Some(first)
        } else {
            None
        };
        let (mut best, mut last) = (None, None);
        for tier in [Tier::Frozen, Tier::Updated].into_iter().filter(|&tier| Some(tier) >= needed) {
            progress("working values out on the host");
            match self.run_once(cards, self.values.bounds(tier), progress) {
                Ok(run) => {
                    let needs_updates = tier == Tier::Frozen && needs_updates(&run);
                    if best.as_ref().is_none_or(|best| unanswered(&run) < unanswered(best)) {
                        // Further runs need no values where the same memory was taken with and without them.
                        let changes_nothing = matches!(&first, Some(Ok(first)) if memory_of(first).eq(memory_of(&run)));
                        self.values.need(if changes_nothing { Tier::Hollow } else { tier });
                        best = Some(run);
                    }
                    if !needs_updates {
                        break;
                    }
                }
                Err(failure) if !failure.error.is_of_script() => return Err(failure.error),
                // What was true led to the failure: more of it changes nothing.
                Err(failure) if !failure.has_guessed => {
                    last = Some(failure);
                    break;
                }
                Err(failure) => last = Some(failure),
            }
        }
        if let Some(run) = best {
            return Ok(run);
        }
        match (first, last) {
            (Some(Ok(run)), _) => Ok(run),
            (_, Some(failure)) | (Some(Err(failure)), None) => Err(failure.error),
            (None, None) => self.run_once(cards, None, progress).map_err(|failure| failure.error),
        }
    }
}

/// What each process of a run took of each device, and how far it came.
fn memory_of(run: &Run) -> impl Iterator<Item = (OutcomeKind, u32, u32, Vec<(u64, u64)>)> {
    run.processes.iter().map(|process| {
        let end = &process.facts.end;
        let peaks = end.devices.iter().map(|device| (device.peak_allocated_bytes, device.peak_reserved_bytes));
        (end.outcome.kind, end.steps, end.batches, peaks.collect())
    })
}

/// Whether something was decided by a value that nobody knew, or the script failed after one.
fn needs_values(outcome: &Result<Run, Failure>) -> bool {
    match outcome {
        Ok(run) => unanswered(run) > Unanswered::default(),
        Err(failure) => failure.has_guessed && failure.error.is_of_script(),
    }
}

/// Whether something was decided by a value that follows from gradients or updates, which were left out.
fn needs_updates(run: &Run) -> bool {
    let left_out = |process: &Process| process.facts.end.values.as_ref().is_some_and(|values| values.left_out > 0);
    run.processes.iter().any(left_out) && unanswered(run) > Unanswered::default()
}

/// What a run suffered by values that nobody knew; the worst counts first.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Unanswered {
    /// Whether the script failed after one once a loop had been ended early, which is a result all the same.
    has_failed: bool,
    /// How often something was decided by one.
    decisions: u64,
}

fn unanswered(run: &Run) -> Unanswered {
    let ends = || run.processes.iter().map(|process| &process.facts);
    let has_failed = ends().any(|facts| facts.end.outcome.kind == OutcomeKind::Error && has_guessed(facts));
    let deciding = ends().flat_map(|facts| &facts.end.reads).filter(|read| read.decides);
    Unanswered { has_failed, decisions: deciding.map(|read| read.count).sum() }
}

/// Whether a process was given values that may be others on a card.
pub(crate) fn has_guessed(facts: &Facts) -> bool {
    let end = &facts.end;
    // Weights that stay as they were drawn are no longer those of the card after its first step.
    let has_old_weights = end.values.as_ref().is_some_and(|values| !values.updates) && end.steps > 0;
    has_old_weights || end.reads.iter().any(|read: &Read| !read.assumed.is_as_meant())
}

/// Half of what the machine has left, but no more than a few gigabytes.
fn host_bytes() -> u64 {
    oomph_job::host::available_bytes().map_or(MOST_HOST_BYTES, |bytes| MOST_HOST_BYTES.min(bytes / 2))
}
