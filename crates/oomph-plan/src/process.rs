//! The interpreter's process: its standard input, its end, and ours if somebody wants it sooner.

use std::fs::File;
use std::io::{IsTerminal as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::personality::{self, Persona};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::PlanError;

/// How often the process is looked at: short beside any plan, and no work to speak of.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a command to its end. A signal that would end this process ends the command instead, so that whoever called
/// still cleans up.
pub(crate) fn run(command: &mut Command, python: &Path) -> Result<ExitStatus, PlanError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers: Vec<_> = [SIGHUP, SIGINT, SIGTERM]
        .into_iter()
        .filter_map(|signal| signal_hook::flag::register(signal, Arc::clone(&interrupted)).ok())
        .collect();
    keep_addresses();
    let input = Input::own();
    let result = command
        .stdin(input.for_child())
        .spawn()
        .map_err(|source| PlanError::NoPython { path: python.to_owned(), source })
        .and_then(|mut child| {
            loop {
                if let Some(status) = child.try_wait()? {
                    break Ok(status);
                }
                if interrupted.load(Ordering::Relaxed) {
                    child.kill()?;
                    child.wait()?;
                    break Err(PlanError::Interrupted);
                }
                std::thread::sleep(LOOK);
            }
        });
    for handler in handlers {
        signal_hook::low_level::unregister(handler);
    }
    input.rewind();
    if interrupted.load(Ordering::Relaxed) { Err(PlanError::Interrupted) } else { result }
}

/// Gives the commands that are started from now on the same addresses in every run: where PyTorch's allocator chooses
/// between equal blocks by address, the same plan comes out each time.
fn keep_addresses() {
    // A container may forbid it. The plan is no worse for it: a card's run differs from the next in this too.
    if let Ok(persona) = personality::get() {
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}

/// Our own standard input, for scripts that read it.
enum Input {
    /// A terminal, at which nobody sees what the script asks, or nothing.
    None,
    /// A pipe: what one run reads, the next does not get.
    Once,
    /// A file, and where it stood: every run reads the same.
    File(File, u64),
}

impl Input {
    fn own() -> Self {
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

    fn for_child(&self) -> Stdio {
        if matches!(self, Self::None) { Stdio::null() } else { Stdio::inherit() }
    }

    fn rewind(self) {
        if let Self::File(mut file, position) = self {
            // A device that cannot be set back has nothing to lose.
            let _ = file.seek(SeekFrom::Start(position));
        }
    }
}
