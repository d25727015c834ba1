//! A program that waits where its own work begins, and forks one run after another from there: what comes before, such
//! as importing libraries, is done once.
//!
//! The two sides speak by files in a folder: `ready` says that the program waits, or why it cannot; `order-1` asks for
//! the first run, and `served-1` says how that ended.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use crate::error::JobError;
use crate::family;
use crate::input::Input;
use crate::layer::Layer;
use crate::process::{Ended, LOOK, Program, Signals, Watch, follow, has_room, keep_addresses};

/// A program that waits.
#[derive(Debug)]
pub struct Standing {
    child: Child,
    folder: PathBuf,
    input: Input,
    runs: u32,
}

impl Program {
    /// Starts the program and waits until it stands; `None` where it cannot. Nothing may have been written by then: every
    /// run must find what the first one finds.
    ///
    /// # Errors
    /// If it cannot be started, or somebody wants us gone.
    pub fn stand(&self, layer: &Layer, folder: &Path, watch: &mut dyn Watch) -> Result<Option<Standing>, JobError> {
        let signals = Signals::catch();
        family::adopt_orphans();
        keep_addresses();
        let input = Input::own();
        let child = self.start(layer, &input)?;
        let mut standing = Standing { child, folder: folder.to_owned(), input, runs: 0 };
        loop {
            if let Ok(problem) = fs::read_to_string(folder.join("ready")) {
                return Ok((problem.is_empty() && layer.is_untouched()).then_some(standing));
            }
            if signals.wants_us_gone() || signals.interrupts() > 0 {
                return Err(JobError::Interrupted);
            }
            if !standing.is_alive() {
                return Ok(None);
            }
            watch.look();
            std::thread::sleep(LOOK);
        }
    }
}

impl Standing {
    fn is_alive(&mut self) -> bool {
        // Another job of ours that has ended took every process along.
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Forks a run, which is told `order`, and follows it to its end; `None` where the program is gone.
    ///
    /// # Errors
    /// If the run is interrupted for good, or outgrows its layer.
    pub fn run(&mut self, order: &str, layer: &Layer, watch: &mut dyn Watch) -> Result<Option<Ended>, JobError> {
        if !self.is_alive() {
            return Ok(None);
        }
        let signals = Signals::catch();
        layer.clear()?;
        self.input.rewind();
        self.runs += 1;
        let named = |word: &str| self.folder.join(format!("{word}-{}", self.runs));
        let served = named("served");
        fs::write(named("new-order"), order)?;
        fs::rename(named("new-order"), named("order"))?;
        let kept = self.child.id();
        let mut ended = || status(&served, &mut self.child);
        let result = follow(&mut ended, layer, watch, &signals);
        family::end_all_but(Some(kept));
        self.input.rewind();
        has_room(layer).and(result).map(Some)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        family::end_all();
        let _ = self.child.wait();
        self.input.rewind();
    }
}

/// How a run ended, as the program says; or with the program itself.
fn status(served: &Path, child: &mut Child) -> Result<Option<ExitStatus>, JobError> {
    let told = fs::read_to_string(served).ok().and_then(|text| text.trim().parse().ok());
    if let Some(status) = told {
        return Ok(Some(ExitStatus::from_raw(status)));
    }
    Ok(child.try_wait()?)
}
