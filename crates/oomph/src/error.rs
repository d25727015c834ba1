//! Everything that can go wrong on the command line, each with the way out.

use std::io::ErrorKind;
use std::path::PathBuf;

use oomph_plan::{CardError, PlanError};
use oomph_trace::TraceError;

/// Why oomph stops with exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The input file is not what it should be.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A black box that cannot be read.
    #[error("{0}")]
    Box(#[from] oomph_box::BoxError),
    /// A job cannot be run, or what it left behind not be understood.
    #[error("{0}")]
    Job(#[from] oomph_job::JobError),
    /// The file has no such device, or none with a history.
    #[error("{}: there is no {wanted} with a history in it; it has {known}", path.display())]
    NoDevice {
        /// The file.
        path: PathBuf,
        /// What was asked for, in words.
        wanted: String,
        /// What there is, in words.
        known: String,
    },
    /// Nothing to explain, or asked for what the file does not have.
    #[error("{0}")]
    Explain(#[from] oomph_explain::ExplainError),
    /// A page or a trace asked for of a log.
    #[error("cannot write {}: {} is a log, which has no history to show", path.display(), log.display())]
    NoHistory {
        /// What was to be written.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// Settings or a file that cannot be checked.
    #[error("{0}")]
    Check(#[from] oomph_check::Error),
    /// A path that is not there, or that may not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path the user named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Changes of files cannot be noticed.
    #[error("cannot watch files: {0}")]
    Watch(#[from] notify::Error),
    /// `--gpu` names no card.
    #[error("{0}")]
    Card(#[from] CardError),
    /// A script cannot be planned.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// Nothing stands after the options.
    #[error("there is no script to {verb}")]
    NothingToRun {
        /// What was to be done.
        verb: &'static str,
    },
    /// An option in the script's place.
    #[error("oomph {verb} has no option '{option}'")]
    UnknownOption {
        /// The verb it was meant for.
        verb: &'static str,
        /// What the user typed.
        option: String,
        /// One like it.
        similar: Option<String>,
    },
    /// `--memory` of less than nothing.
    #[error("--memory {given} leaves nothing: the CUDA context alone takes {context} of the {card}")]
    NoMemoryLeft {
        /// What the user asked for.
        given: String,
        /// What the context takes.
        context: String,
        /// The card.
        card: String,
    },
    /// What `oomph run --plan` was given is no plan.
    #[error("{} is no plan of oomph's: {problem}", path.display())]
    NoPlanFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: serde_json::Error,
    },
    /// The script was not given the option whose largest value is wanted.
    #[error("the script's arguments have no --{option} with a number")]
    UnknownKnob {
        /// What the user asked for.
        option: String,
    },
    /// There is no card to fit the job to.
    #[error("no card of this machine could be asked for its memory")]
    NoCard,
    /// Nothing that was tried makes the job fit.
    #[error("nothing that was tried makes the job fit the {card}, so it was not started")]
    NothingFits {
        /// The card.
        card: String,
    },
    /// Several cards asked for of a job that starts another number of processes.
    #[error("{gpus} cards do not go with {processes} processes: each process has a card of its own")]
    CardsContradict {
        /// Cards.
        gpus: u32,
        /// Processes that are started.
        processes: u32,
    },
    /// A plan for several cards, of a command that is itself a launcher or no script.
    #[error(
        "the plan starts a process on each of {gpus} cards itself, with torchrun, which starts scripts and modules alone"
    )]
    NotForLauncher {
        /// Cards.
        gpus: u32,
    },
    /// A plan for more cards than there are.
    #[error("the plan is for {gpus} cards, and this machine has {found}")]
    TooFewCards {
        /// Cards of the plan.
        gpus: u32,
        /// Cards that there are.
        found: usize,
    },
    /// `--ranks` of a process the job does not have.
    #[error("--ranks {rank}: {}", processes.map_or("the job is a single process".to_owned(), |count| format!("the job has the processes 0 to {}", count - 1)))]
    UnknownRank {
        /// What the user asked for.
        rank: u32,
        /// How many processes there are on a machine.
        processes: Option<u32>,
    },
    /// An option about a card, for a script that uses none.
    #[error("{option} is about a card, and the script uses none")]
    NeedsCard {
        /// The option.
        option: &'static str,
    },
    /// `--conf` or a policy that PyTorch would refuse.
    #[error("{0}")]
    Heap(#[from] oomph_heap::HeapError),
    /// `--conf backend:cudaMallocAsync`.
    #[error("allocator settings: the cudaMallocAsync backend belongs to the driver and cannot be replayed")]
    AsyncBackend,
    /// `--validate` found fault with a replay: a defect of oomph.
    #[error("{policy}: the independent checker objects to {count} things in this replay, the first: {first}")]
    Invalid {
        /// The policy.
        policy: &'static str,
        /// How many objections.
        count: usize,
        /// The first of them.
        first: String,
    },
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
    /// `oomph top --replay` of another kind of file.
    #[error("cannot show {}: {problem}", path.display())]
    Recording {
        /// The file the user named.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
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

    /// What speaks for itself and is shown first: a script's own traceback, or its last words.
    pub(crate) fn evidence(&self) -> Option<&str> {
        let text = match self {
            Self::Plan(PlanError::Script { traceback, .. }) => traceback,
            Self::Plan(PlanError::Died { printed, .. } | PlanError::Exited { printed, .. }) => printed,
            _ => return None,
        };
        Some(text.trim_end()).filter(|text| !text.is_empty())
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::ClosedPipe => None,
            Self::NoDevice { .. } => Some(
                "leave out --device, or record again: torch.cuda.memory._record_memory_history() must come before the \
                 first tensor"
                    .into(),
            ),
            Self::NoHistory { .. } => Some("record a snapshot of the job; oomph explain of the log shows how".into()),
            Self::Explain(error) => Some(error.hint().into()),
            Self::Card(error) => Some(error.hint()),
            Self::Plan(error) => Some(error.hint()),
            Self::Job(error) => Some(error.hint()),
            Self::Box(_) => Some("oomph explain reads what oomph run of the same version wrote".into()),
            Self::Check(error) => error.hint().map(Into::into),
            Self::Read { source, .. } if source.kind() == ErrorKind::NotFound => {
                Some("check the path; it is looked up from the current folder".into())
            }
            Self::Read { .. } => Some("check its permissions".into()),
            Self::Watch(_) => Some("watch fewer folders, or raise fs.inotify.max_user_watches".into()),
            Self::NothingToRun { verb } => Some(format!("name it after the options: oomph {verb} [OPTIONS] train.py")),
            Self::UnknownOption { similar: Some(similar), .. } => Some(format!("did you mean {similar}?")),
            Self::UnknownOption { verb, .. } => {
                Some(format!("'oomph {verb} --help' lists them; options of the script stand after the script"))
            }
            Self::NoMemoryLeft { .. } => Some("write it like 24GiB; a plain number counts bytes".into()),
            Self::NoPlanFile { .. } => Some("oomph plan --fit --save-plan FILE ... writes one".into()),
            Self::UnknownKnob { .. } => {
                Some("give the script a value to begin with: oomph plan --max batch train.py --batch 8".into())
            }
            Self::NoCard => Some("oomph plan --fit --gpu CARD ... needs none".into()),
            Self::NothingFits { .. } => {
                Some("oomph plan --fit shows what was tried; --allow numerics tries more".into())
            }
            Self::CardsContradict { .. } => {
                Some("leave --gpus out, or let the launcher start as many processes".into())
            }
            Self::NotForLauncher { .. } => Some("name the script itself, without a launcher in front".into()),
            Self::TooFewCards { .. } => Some("oomph plan --fit --gpus N makes one for N cards".into()),
            Self::UnknownRank { .. } => {
                Some("say how many there are: oomph plan torchrun --nproc-per-node 8 train.py".into())
            }
            Self::NeedsCard { .. } => Some(
                "without it the plan says what the job takes of the host's memory; does the script choose its device by an \
                 option? everything after its name is passed to it"
                    .into(),
            ),
            Self::Heap(_) => Some("--conf takes what PYTORCH_CUDA_ALLOC_CONF takes (PyTorch 2.11)".into()),
            Self::Invalid { .. } => Some("this is a defect of oomph: please report it with the file".into()),
            Self::AsyncBackend => Some("leave the key 'backend' out".into()),
            Self::Trace(error) => file_hint(error).map(Into::into),
            Self::Stdout(_) => Some("is the disk full? redirect the output somewhere else".into()),
            Self::Write { .. } => Some("name a file in a folder that exists and that you may write to".into()),
            Self::Recording { .. } => Some("name a file that 'oomph top --record FILE' wrote".into()),
            Self::UnknownPage { similar, .. } if similar.is_empty() => Some("'oomph doc' lists all pages".into()),
            Self::UnknownPage { similar, .. } => Some(format!("did you mean {}?", similar.join(" or "))),
        }
    }
}

/// The way out of trouble with an input file, where the error itself does not say it.
fn file_hint(error: &TraceError) -> Option<&'static str> {
    let problem = if let TraceError::InFile { problem, .. } = error { problem } else { error };
    Some(match problem {
        TraceError::Io(error) if error.kind() == ErrorKind::NotFound => {
            "check the path; it is looked up from the current folder"
        }
        TraceError::Io(error) if error.kind() == ErrorKind::PermissionDenied => "check its permissions",
        TraceError::Io(_) => "copy the file again, or take a new snapshot",
        TraceError::Foreign { found, .. } if found.starts_with("a text file") => {
            "oomph explain also reads the log of a job that died, where PyTorch's message with its figures is in it"
        }
        TraceError::Foreign { .. }
        | TraceError::Empty
        | TraceError::Directory
        | TraceError::TooLarge { .. }
        | TraceError::NewerFormat { .. } => return None,
        _ => "oomph reads what torch.cuda.memory._dump_snapshot(FILE) writes, plain, gzip or zstd, and its own traces",
    })
}
