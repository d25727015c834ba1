//! What can be wrong with a box.

use std::io;
use std::path::PathBuf;

/// Why a box cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum BoxError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// It is no box, or one of another version of oomph.
    #[error("{name}: {problem}: give a file that `oomph run` of this version wrote")]
    NotABox {
        /// The file, or what its bytes are called.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A box has to be larger.
    #[error("a black box has at least {min_bytes} bytes, not {bytes}")]
    TooSmall {
        /// What was asked for.
        bytes: u64,
        /// What is possible.
        min_bytes: u64,
    },
}
