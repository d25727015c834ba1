//! From the black box of a process to a trace.
//!
//! The box holds the newest part of the history, and every block and segment that is live. What was live when that part
//! begins is worked out by going back from what is live now; it stands in the trace as if it had been allocated at the
//! beginning, with the stacks and categories it really had.

mod before;
mod builder;
#[cfg(test)]
mod tests;

use oomph_box::{BlackBox, Events};
use oomph_trace::Trace;

use crate::error::JobError;
use crate::facts::{End, Watched};
use builder::Builder;
pub use builder::category_of;

/// What a box tells.
#[derive(Debug)]
pub struct Recorded {
    /// The memory of the cards.
    pub trace: Trace,
    /// Tensors in host memory, as if the host were a card.
    pub host: Trace,
    /// What only Python knew.
    pub watched: Watched,
    /// What the process told at its end, if it came to that.
    pub end: Option<End>,
    /// Events that were overwritten or not written whole.
    pub lost_events: u64,
    /// Whether the history reaches back to the process's first allocation.
    pub is_whole: bool,
}

impl Recorded {
    /// Reads a box, of a process that lives or not.
    ///
    /// # Errors
    /// If its facts say what no version of oomph says.
    pub fn of(the_box: &BlackBox) -> Result<Self, JobError> {
        Self::with_events(the_box, &the_box.events_since(0))
    }

    /// Reads a box together with a history that somebody kept beside it, which may reach further back.
    ///
    /// # Errors
    /// If its facts say what no version of oomph says.
    pub fn with_events(the_box: &BlackBox, history: &Events) -> Result<Self, JobError> {
        let lines = the_box.facts();
        // A line that says what no version of oomph says costs no more than itself: boxes outlive versions.
        let is_ours = |line: &&str| Watched::of_lines(std::iter::once(*line)).is_ok();
        let (watched, end) = Watched::of_lines(lines.iter().map(String::as_str).filter(is_ours))?;
        let is_whole = history.events.first().is_none_or(|(number, _)| *number == 0) && history.lost == 0;
        let mut builder = Builder::new(the_box, watched);
        builder.begin(&before::start(the_box, history));
        for (_, event) in &history.events {
            builder.take(event);
        }
        let (trace, host, watched) = builder.finish();
        Ok(Self { trace, host, watched, end, lost_events: history.lost, is_whole })
    }
}
