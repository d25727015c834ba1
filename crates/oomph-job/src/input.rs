//! Our own standard input, for scripts that read it.

use std::fs::File;
use std::io::{IsTerminal as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::process::Stdio;

/// What a job reads from standard input.
#[derive(Debug)]
pub(crate) enum Input {
    /// A terminal, at which nobody sees what the script asks, or nothing.
    None,
    /// A pipe: what one run reads, the next does not get.
    Once,
    /// A file, and where it stood: every run reads the same.
    File(File, u64),
}

impl Input {
    pub(crate) fn own() -> Self {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Self::None;
        }
        let Ok(descriptor) = stdin.as_fd().try_clone_to_owned() else { return Self::None };
        let mut file = File::from(descriptor);
        match file.stream_position() {
            Ok(position) => Self::File(file, position),
            Err(_) => Self::Once,
        }
    }

    pub(crate) fn for_child(&self) -> Stdio {
        if matches!(self, Self::None) { Stdio::null() } else { Stdio::inherit() }
    }

    pub(crate) fn rewind(&self) {
        if let Self::File(file, position) = self {
            // A device that cannot be set back has nothing to lose.
            let _ = (&*file).seek(SeekFrom::Start(*position));
        }
    }
}
