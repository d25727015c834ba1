//! What no run gets to: lines after a `return`, and lines after one that raises whenever it runs, because a name on it
//! is bound nowhere, an attribute is never set, an option is not defined, a result has another length, or torch has no such
//! thing to call; definitions that another of the same name replaces; and files that no interpreter takes. Beside them,
//! what runs only once: loops that are left on their first turn. An import of what is not there is no proof: such files are
//! mended in a minute, and what stands in them then runs.
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
mod torch;

use super::Facts;
use crate::file_rules::never_compiled;
use crate::python::{Ranged, SyntaxError, TextRange};
use crate::source::Source;

/// Why a line is never reached.
#[derive(Debug, Clone)]
pub struct Cause {
    /// Where the run ends.
    pub range: TextRange,
    /// What is seen there.
    pub text: String,
}

/// How often a run gets to a part of a file at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Often {
    /// Never.
    Never,
    /// Once: the loop around it ends the run on its first turn.
    Once,
    /// Once a turn of a loop further out: the one around it is left on its first turn.
    OnceATurn,
}

/// A part of a file that no run gets to, or that no run gets to often.
#[derive(Debug)]
struct Part {
    range: TextRange,
    cause: Cause,
    often: Often,
}

/// The parts of a file that no run gets to.
#[derive(Debug, Default)]
pub struct Unreached {
    parts: Vec<Part>,
}

impl Unreached {
    /// Why no run gets to a place more often than this, if none does.
    #[must_use]
    pub fn why(&self, place: &impl Ranged, often: Often) -> Option<&Cause> {
        let start = place.range().start();
        let mut parts = self.parts.iter().filter(|part| part.often <= often);
        parts.find(|part| part.range.contains(start)).map(|part| &part.cause)
    }
}

impl Facts<'_> {
    /// The parts of the file that no run gets to.
    #[must_use]
    pub fn unreached(&self) -> Unreached {
        if !self.source.is_whole() && !is_whole_for_older_python(self.source) {
            let broken = |(range, error): (TextRange, SyntaxError)| {
                let cause = Cause { range: error.range, text: "the syntax is wrong, so nothing here runs".to_owned() };
                Part { range, cause, often: Often::Never }
            };
            return Unreached { parts: never_compiled(self.source).into_iter().map(broken).collect() };
        }
        Unreached { parts: flow::parts(self) }
    }
}

/// Whether all that is wrong with a file is `x.cuda(async=True)`, which was right before Python 3.7: the rest is read whole.
fn is_whole_for_older_python(source: &Source) -> bool {
    let says_async =
        |error: &SyntaxError| source.slice(source.line_range(source.line_of(error.range.start()))).contains("async=");
    source.syntax_errors().iter().all(says_async)
}
