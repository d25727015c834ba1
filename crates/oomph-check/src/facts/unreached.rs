//! What no run gets to: lines after a `return`, and lines after one that raises whenever it runs, because a name on it
//! is bound nowhere, an attribute is never set, an option is not defined, or a result has another length; functions that
//! others of the same name replace; and files that no interpreter takes. An import of what is not there is no proof: such files are mended in a minute, and what stands in
//! them then runs.
//!
//! A finding there is about code that costs nothing: no rule has to ask, [`crate::project`] asks for all of them.

mod callees;
mod flow;
mod imports;
mod members;
mod names;
mod options;
mod replaced;
#[cfg(test)]
mod tests;

use super::Facts;
use crate::file_rules::never_compiled;
use crate::python::{Ranged, SyntaxError, TextRange};

/// Why a line is never reached.
#[derive(Debug, Clone)]
pub struct Cause {
    /// Where the run ends.
    pub range: TextRange,
    /// What is seen there.
    pub text: String,
}

/// A part of a file that no run gets to, or that no run gets to twice.
#[derive(Debug)]
struct Part {
    range: TextRange,
    cause: Cause,
    /// Whether it does run, but only the first turn of its loop.
    runs_once: bool,
}

/// The parts of a file that no run gets to.
#[derive(Debug, Default)]
pub struct Unreached {
    parts: Vec<Part>,
}

impl Unreached {
    /// Why no run gets to a place, if none does; `twice` asks only for what happens in turn after turn of a loop.
    #[must_use]
    pub fn why(&self, place: &impl Ranged, twice: bool) -> Option<&Cause> {
        let start = place.range().start();
        let mut parts = self.parts.iter().filter(|part| twice || !part.runs_once);
        parts.find(|part| part.range.contains(start)).map(|part| &part.cause)
    }
}

impl Facts<'_> {
    /// The parts of the file that no run gets to.
    #[must_use]
    pub fn unreached(&self) -> Unreached {
        if !self.source.is_whole() {
            let broken = |(range, error): (TextRange, SyntaxError)| {
                let cause = Cause { range: error.range, text: "the syntax is wrong, so nothing here runs".to_owned() };
                Part { range, cause, runs_once: false }
            };
            return Unreached { parts: never_compiled(self.source).into_iter().map(broken).collect() };
        }
        Unreached { parts: flow::parts(self).into_iter().chain(replaced::parts(self)).collect() }
    }
}
