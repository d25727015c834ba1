//! Everything that can go wrong on the command line, each with the way out.

use std::path::PathBuf;

/// Why oomph stops with exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The reader of stdout has gone (`oomph explain ... | head`): not a failure, there is just nobody to write for.
    #[error("the reader of the output has gone")]
    ClosedPipe,
    /// Stdout cannot take the result.
    #[error("cannot write to stdout: {0}")]
    Stdout(std::io::Error),
    /// An output file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file the user named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `oomph doc` of a name nobody knows.
    #[error("there is no page named '{name}'")]
    UnknownPage {
        /// What the user typed.
        name: String,
        /// Names like it.
        similar: Vec<&'static str>,
    },
}

impl Error {
    /// The error for a failed write to stdout.
    pub(crate) fn stdout(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe { Self::ClosedPipe } else { Self::Stdout(error) }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::ClosedPipe => None,
            Self::Stdout(_) => Some("is the disk full? redirect the output somewhere else".into()),
            Self::Write { .. } => Some("name a file in a folder that exists and that you may write to".into()),
            Self::UnknownPage { similar, .. } if similar.is_empty() => Some("'oomph doc' lists all pages".into()),
            Self::UnknownPage { similar, .. } => Some(format!("did you mean {}?", similar.join(" or "))),
        }
    }
}
