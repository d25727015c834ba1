//! What can go wrong before anything is checked.

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
}
