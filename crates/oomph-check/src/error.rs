//! What can go wrong before anything is checked.

use std::path::PathBuf;

use thiserror::Error;

/// Why a file cannot be checked at all.
#[derive(Debug, Error)]
pub enum Error {
    /// The JSON of a notebook cannot be read.
    #[error("{name} is not a notebook oomph can read: {reason}; open it in Jupyter and save it again")]
    Notebook {
        /// The file.
        name: String,
        /// What the reader said.
        reason: String,
    },
    /// The text of a file is not UTF-8.
    #[error("{name}: line {line} is not UTF-8; save the file as UTF-8, or leave it out with 'exclude'")]
    NotUtf8 {
        /// The file.
        name: String,
        /// The line with the first byte that is none, from 1.
        line: usize,
    },
    /// More text than can be checked.
    #[error("{name}: {bytes} bytes are more than oomph checks; leave the file out with 'exclude'")]
    TooLarge {
        /// The file.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// A settings file says something it should not.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
        /// The way out.
        hint: String,
    },
}

impl Error {
    /// What the user can do about it, where the error itself does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Notebook { .. } | Self::NotUtf8 { .. } | Self::TooLarge { .. } => None,
            Self::Settings { hint, .. } => Some(hint),
        }
    }
}
