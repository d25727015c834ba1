//! Everything that can go wrong with a trace file, each with its place and the way out.

use std::io;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Which file the trouble is in.
    #[error("{file}: {problem}")]
    InFile {
        /// The file, as the caller named it.
        file: String,
        /// What is wrong with it.
        #[source]
        problem: Box<TraceError>,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A directory was given.
    #[error("is a directory: give the snapshot or trace file inside it")]
    Directory,
    /// Nothing in it.
    #[error(
        "is empty: its writer died before it wrote the first byte, or has not begun; wait for the job, or take a new snapshot"
    )]
    Empty,
    /// A well-formed file of another kind.
    #[error("this is {found}, not a memory snapshot; {way_out}")]
    Foreign {
        /// What it is.
        found: String,
        /// What to give instead.
        way_out: &'static str,
    },
    /// A pickle opcode that could run code or reach outside the file.
    #[error(
        "byte {offset}: opcode {opcode} refused: it {reason}, and no memory snapshot needs it; do not load this file with Python either unless you trust its source"
    )]
    Refused {
        /// Python's name of the opcode.
        opcode: &'static str,
        /// Where it stands.
        offset: u64,
        /// What it could do.
        reason: &'static str,
    },
    /// The bytes do not follow the format.
    #[error("byte {offset}: {problem}")]
    Malformed {
        /// Where.
        offset: u64,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The format is right but the content is not that of a memory snapshot.
    #[error("{place}: {problem}")]
    Shape {
        /// Where in the snapshot, e.g. `segment 3`.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// More than oomph agrees to hold.
    #[error("holds more than {limit} {what}; {way_out}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: u64,
        /// What to do.
        way_out: &'static str,
    },
    /// Written by a newer oomph.
    #[error("is an oomph trace of format {found}, and this oomph reads formats up to {known}: update oomph")]
    NewerFormat {
        /// The file's major version.
        found: u16,
        /// The newest this code reads.
        known: u16,
    },
}

impl TraceError {
    /// Adds the file's name.
    #[must_use]
    pub(crate) fn in_file(self, file: &str) -> Self {
        Self::InFile { file: file.to_owned(), problem: Box::new(self) }
    }

    pub(crate) fn malformed(offset: usize, problem: impl Into<String>) -> Self {
        Self::Malformed { offset: offset as u64, problem: problem.into() }
    }

    pub(crate) fn shape(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Shape { place: place.into(), problem: problem.into() }
    }
}
