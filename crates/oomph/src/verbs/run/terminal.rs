//! The terminal that stderr is, if it is one that a line can be shown on.

use std::io::{Stderr, stderr};
use std::time::{Duration, Instant};

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use super::line;
use super::row::{Row, Size};
use super::status::Status;

/// Jobs that end sooner need no line.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows how a job is doing in the last row of the terminal.
pub(super) struct Terminal {
    row: Row<Stderr>,
    started: Instant,
}

impl Terminal {
    /// The terminal, where stderr is one that understands cursor movement.
    pub(super) fn open() -> Option<Self> {
        let kind = std::env::var("TERM").unwrap_or_default();
        (size().is_some() && !kind.is_empty() && kind != "dumb")
            .then(|| Self { row: Row::new(stderr()), started: Instant::now() })
    }

    /// Shows the newest status, unless another job has the terminal.
    pub(super) fn show(&mut self, status: &Status) {
        let Some(size) = size() else { return };
        let is_ours = tcgetpgrp(stderr()).is_ok_and(|group| group == getpgrp());
        if is_ours
            && self.started.elapsed() >= PATIENCE
            // The last column stays empty: some terminals begin a new row once it is written to.
            && let Some(text) = line::text(status, usize::from(size.0).saturating_sub(1))
        {
            self.row.show(&text, size);
        }
    }
}

fn size() -> Option<Size> {
    terminal_size::terminal_size_of(stderr()).map(|(columns, rows)| (columns.0, rows.0))
}
