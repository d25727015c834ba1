//! Why a plan cannot be made, each with the way out.

use oomph_card::CardError;
use oomph_job::JobError;

/// What stands in the way of a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// There is no such card.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The interpreter is too old, has no torch, or one that a plan cannot be made with.
    #[error("{message}")]
    Unusable {
        /// A word for what is wrong: `old_python`, `no_torch`, `cpu_torch`, `torch_version`.
        reason: String,
        /// The sentence.
        message: String,
    },
    /// The script never used CUDA.
    #[error("the script ran to its end without using CUDA, so there is nothing to plan")]
    NoCuda,
    /// The script was run without a card, and uses one.
    #[error("the script uses a card, but only after it has trained without one")]
    UsesCard,
    /// The script failed for a reason of its own.
    #[error("the script failed: {message}")]
    Script {
        /// The exception in one line.
        message: String,
        /// The script's own traceback, or the end of what it printed.
        traceback: String,
    },
    /// The script ended itself with an exit code.
    #[error("the script ended itself: {message}")]
    Exited {
        /// What it gave to `sys.exit`.
        message: String,
        /// The end of what it printed.
        printed: String,
    },
    /// The script waits in a loop for a value that never comes.
    #[error("the script never ends here: {message}")]
    Endless {
        /// Where it waits.
        message: String,
    },
    /// The interpreter died without a word.
    #[error("the Python process ended before its time ({status})")]
    Died {
        /// How it ended.
        status: String,
        /// The end of what it printed.
        printed: String,
    },
    /// The job cannot be started or has to be ended.
    #[error(transparent)]
    Job(#[from] JobError),
    /// What the run left behind cannot be read.
    #[error("cannot read what the run left behind: {0}")]
    Trace(#[from] oomph_trace::TraceError),
    /// The temporary folder cannot be used.
    #[error("cannot use the temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

impl PlanError {
    /// Whether the script, not oomph or the user, came to an end that was not foreseen.
    #[must_use]
    pub fn is_of_script(&self) -> bool {
        matches!(self, Self::Script { .. } | Self::Exited { .. } | Self::Endless { .. } | Self::Died { .. })
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Card(problem) => problem.hint(),
            Self::Job(problem) => problem.hint(),
            Self::Unusable { reason, .. } => match reason.as_str() {
                "old_python" => {
                    "Python 3.10 to 3.14 is needed: name the interpreter your job runs with (--python PATH)"
                }
                "no_torch" => "name the interpreter your job runs with (--python PATH), or install torch for CUDA",
                "cpu_torch" => "install a CUDA build of torch; no GPU is needed for it",
                _ => "oomph plans with torch 2.6 to 2.15",
            }
            .into(),
            Self::NoCuda if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some_and(|devices| devices.is_empty()) => {
                "CUDA_VISIBLE_DEVICES is set and empty, which hides every card: unset it".into()
            }
            Self::UsesCard => "plan it without --host-memory, or let it use the card from its first step on".into(),
            Self::NoCuda => {
                "does it choose its device by an option? everything after the script's name is passed to it".into()
            }
            Self::Exited { printed, .. } if printed.is_empty() => {
                "everything after the script's name is passed to it".into()
            }
            Self::Exited { .. } => {
                "the end of what it printed is above; everything after the script's name is passed to it".into()
            }
            Self::Script { message, .. } if message.starts_with("EOFError") => {
                "the script asks for input, and a plan has none: give it options instead, or pipe the answers in".into()
            }
            Self::Script { message, .. } if message.starts_with("ModuleNotFoundError") => {
                "install it for the interpreter that the plan ran with, or name the one your job runs with (--python \
                 PATH)"
                    .into()
            }
            Self::Script { message, .. } if message.starts_with("NobodyThere") => {
                "a plan runs one process and those it exchanges objects with: let each find out by itself what it waits \
                 for, or plan the one that others wait for (--ranks N)"
                    .into()
            }
            Self::Script { message, .. } if needs_launcher(message) => {
                "the script expects a launcher: oomph plan torchrun --nproc-per-node N SCRIPT, or --nproc-per-node N"
                    .into()
            }
            Self::Script { .. } => "its own traceback is above; does it run this far on a real card?".into(),
            Self::Endless { .. } => "give the loop a limit, or end the plan after a few batches: --batches N".into(),
            Self::Died { .. } => "run it again with --show-output to see everything it prints".into(),
            Self::Trace(_) => "this is a defect of oomph: please report it with the script".into(),
            Self::Folder(_) => "is the disk full? TMPDIR names another folder".into(),
        }
    }
}

/// Whether a script failed because nobody told it which of several processes it is.
fn needs_launcher(message: &str) -> bool {
    let variables = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"];
    message.contains("environment variable") && variables.iter().any(|name| message.contains(name))
        || variables.iter().any(|name| message == format!("KeyError: '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_without_its_launcher_is_told_so() {
        assert!(needs_launcher("KeyError: 'LOCAL_RANK'"));
        assert!(needs_launcher(
            "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, \
             but not set"
        ));
        assert!(!needs_launcher("KeyError: 'weights'"));
    }
}
