//! One hollow run: the user's own interpreter and script, on cards that are not there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use oomph_trace::Trace;
use serde::Serialize;
use tempfile::TempDir;

use crate::cards::Card;
use crate::error::PlanError;
use crate::facts::{Facts, Outcome, OutcomeKind};
use crate::{bootstrap, library, process, trace, undo};

/// Host tensors of at least this size are memory maps of their own: they read as zeros and take no memory until they
/// are written. The Python side counts on it.
const MMAP_THRESHOLD_BYTES: &str = "1048576";
/// How much of what a dead process printed is worth showing.
const PRINTED_BYTES: u64 = 4096;

/// What the interpreter is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file.
    Script(PathBuf),
    /// A module, as `python -m` takes it.
    Module(String),
}

/// How many processes the job has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Processes on this machine; `None` if the job is not distributed.
    pub processes_per_node: Option<u32>,
    /// Machines.
    pub nodes: u32,
    /// Which process of this machine is planned.
    pub rank: u32,
}

impl Launch {
    /// Processes of the whole job; 0 if it is not distributed.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.processes_per_node.unwrap_or(0) * self.nodes.max(1)
    }
}

/// A script with its interpreter.
#[derive(Clone, Debug)]
pub struct Job {
    /// The interpreter.
    pub python: PathBuf,
    /// What it runs.
    pub target: Target,
    /// The script's own arguments.
    pub arguments: Vec<OsString>,
    /// Optimizer steps after which the run is over; 0 for all.
    pub steps: u32,
    /// Batches after which the run is over; 0 for all.
    pub batches: u32,
    /// Its processes.
    pub launch: Launch,
    /// Whether what the script prints is passed on to stderr.
    pub show_output: bool,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    /// The process's own account.
    pub facts: Facts,
    /// The allocator's history, with categories and marks.
    pub trace: Trace,
}

/// What the Python side is told.
#[derive(Serialize)]
struct Settings<'a> {
    folder: &'a Path,
    target: String,
    is_module: bool,
    steps: u32,
    batches: u32,
}

impl Job {
    /// The interpreter a job most likely runs with: the active environment's, the one oomph is installed beside, or the
    /// first on the path.
    #[must_use]
    pub fn default_python() -> PathBuf {
        if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
            let python = Path::new(&environment).join("bin/python");
            if python.is_file() {
                return python;
            }
        }
        let command = std::env::current_exe().ok();
        let beside = command.as_deref().and_then(Path::parent).map(|folder| folder.join("python"));
        beside.filter(|python| python.is_file()).unwrap_or_else(|| PathBuf::from("python3"))
    }

    /// Runs the script on these cards, one entry a device.
    ///
    /// # Errors
    /// If it cannot be started, fails for a reason of its own, or never uses CUDA. Running out of memory is a result.
    pub fn run(&self, cards: &[Card]) -> Result<Run, PlanError> {
        if let Target::Script(path) = &self.target {
            check_script(path)?;
        }
        let folder = tempfile::Builder::new().prefix("oomph-plan-").tempdir()?;
        let mut printed = tempfile::tempfile()?;
        let status = self.start(cards, &folder, &printed);
        undo::undo(folder.path());
        let status = status?;
        let facts = read_facts(folder.path(), status, &mut printed)?;
        check(&facts.outcome, &mut printed)?;
        if !facts.used_cuda {
            return Err(PlanError::NoCuda);
        }
        if self.expects_steps() && facts.outcome.kind == OutcomeKind::End && facts.steps == 0 && facts.optimizers > 0 {
            return Err(PlanError::NeverStepped);
        }
        let mut trace = Trace::open(folder.path().join("snapshot.pickle"))?;
        trace::complete(&mut trace, &facts, cards);
        Ok(Run { facts, trace })
    }

    /// Whether the end of the run is counted in optimizer steps.
    fn expects_steps(&self) -> bool {
        self.steps > 0 && self.batches == 0
    }

    fn start(&self, cards: &[Card], folder: &TempDir, printed: &File) -> Result<ExitStatus, PlanError> {
        // A path is looked at first: what the user wrote is named before anything of ours that may be amiss.
        if self.python.components().count() > 1 {
            std::fs::metadata(&self.python)
                .map_err(|source| PlanError::NoPython { path: self.python.clone(), source })?;
        }
        let package = bootstrap::write(folder.path())?;
        let links = link_libraries(folder.path(), &library::hollow_library()?)?;
        let commands = bootstrap::write_nvidia_smi(folder.path(), &package, &self.python)?;
        let mut command = Command::new(&self.python);
        command.arg(&package).args(&self.arguments).env("PATH", before(commands, "PATH", ":"));
        self.set_environment(&mut command, cards, folder.path(), &package, &links)?;
        if self.show_output {
            command.stdout(Stdio::from(std::io::stderr())).stderr(Stdio::inherit());
        } else {
            command.stdout(printed.try_clone()?).stderr(printed.try_clone()?);
        }
        process::run(&mut command, &self.python)
    }

    fn set_environment(
        &self,
        command: &mut Command,
        cards: &[Card],
        folder: &Path,
        package: &Path,
        links: &Path,
    ) -> Result<(), PlanError> {
        let settings = Settings {
            folder,
            target: match &self.target {
                Target::Script(path) => path.to_string_lossy().into_owned(),
                Target::Module(name) => name.clone(),
            },
            is_module: matches!(self.target, Target::Module(_)),
            steps: self.steps,
            batches: self.batches,
        };
        command
            .env("OOMPH_PLAN", serde_json::to_string(&settings)?)
            .env("OOMPH_HOLLOW_CARDS", serde_json::to_string(cards)?)
            .env("OOMPH_HOLLOW_REPORT", folder.join("hollow.jsonl"))
            .env("LD_PRELOAD", before(links.join(HOLLOW_LINK), "LD_PRELOAD", ":"))
            .env("LD_LIBRARY_PATH", before(links, "LD_LIBRARY_PATH", ":"))
            .env("PYTHONPATH", before(package, "PYTHONPATH", ":"))
            // The user's tree stays as it is.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // A process that dies without an exception says where.
            .env("PYTHONFAULTHANDLER", "1")
            .env("MALLOC_MMAP_THRESHOLD_", MMAP_THRESHOLD_BYTES)
            .env("TRITON_LIBCUDA_PATH", links)
            // What was compiled and timed on a card that is not there is of no use to a real run.
            .env("TRITON_CACHE_DIR", folder.join("triton"))
            .env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor"))
            // Workers that compile kernels would need the hollow card too, and cost more than they save here.
            .env("TORCHINDUCTOR_COMPILE_THREADS", "1")
            // A plan is no experiment that anybody wants in their records.
            .env("WANDB_MODE", "disabled");
        if let Some(processes) = self.launch.processes_per_node {
            command
                .env("RANK", self.launch.rank.to_string())
                .env("LOCAL_RANK", self.launch.rank.to_string())
                .env("GROUP_RANK", "0")
                .env("ROLE_RANK", self.launch.rank.to_string())
                .env("WORLD_SIZE", self.launch.world_size().to_string())
                .env("LOCAL_WORLD_SIZE", processes.to_string())
                .env("MASTER_ADDR", "127.0.0.1")
                .env("MASTER_PORT", "29500");
        }
        Ok(())
    }
}

/// The library under the name `LD_PRELOAD` gets: a path without spaces or colons, whatever the install path holds.
const HOLLOW_LINK: &str = "liboomph_hollow.so";

/// Puts the hollow library into a folder under every name by which libraries are opened at run time.
fn link_libraries(folder: &Path, library: &Path) -> Result<PathBuf, PlanError> {
    let links = folder.join("lib");
    std::fs::create_dir(&links)?;
    for name in [HOLLOW_LINK, "libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"] {
        std::os::unix::fs::symlink(library, links.join(name))?;
    }
    Ok(links)
}

/// A path put before what an environment variable holds already.
fn before(first: impl AsRef<OsStr>, variable: &str, separator: &str) -> OsString {
    let mut value = first.as_ref().to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        value.push(separator);
        value.push(rest);
    }
    value
}

fn read_facts(folder: &Path, status: ExitStatus, printed: &mut File) -> Result<Facts, PlanError> {
    match std::fs::read(folder.join("facts.json")) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(_) => Err(PlanError::Died { status: status.to_string(), printed: tail(printed) }),
    }
}

/// The end of what was printed, from the beginning of a line.
fn tail(printed: &mut File) -> String {
    let length = printed.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut text = Vec::new();
    let _ = printed.seek(SeekFrom::Start(length.saturating_sub(PRINTED_BYTES)));
    let _ = printed.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    if length <= PRINTED_BYTES {
        return text;
    }
    text.split_once('\n').map_or(text.clone(), |(_, rest)| rest.to_owned())
}

/// What `python` itself would say of a script it cannot open, before anything is prepared.
fn check_script(path: &Path) -> Result<(), PlanError> {
    if path.is_dir() {
        return if path.join("__main__.py").is_file() {
            Ok(())
        } else {
            Err(PlanError::NoMain { path: path.to_owned() })
        };
    }
    match File::open(path) {
        Ok(_) => Ok(()),
        Err(problem) if problem.kind() == ErrorKind::NotFound => Err(PlanError::NoScript { path: path.to_owned() }),
        Err(source) => Err(PlanError::ScriptFile { path: path.to_owned(), source }),
    }
}

fn check(outcome: &Outcome, printed: &mut File) -> Result<(), PlanError> {
    let message = outcome.message.clone().unwrap_or_default();
    match outcome.kind {
        OutcomeKind::End | OutcomeKind::Stopped | OutcomeKind::Oom => Ok(()),
        OutcomeKind::Unusable => {
            Err(PlanError::Unusable { reason: outcome.reason.clone().unwrap_or_default(), message })
        }
        OutcomeKind::Exit => Err(PlanError::Exited { message, printed: tail(printed) }),
        OutcomeKind::Endless => Err(PlanError::Endless { message }),
        OutcomeKind::Error => {
            Err(PlanError::Script { message, traceback: outcome.traceback.clone().unwrap_or_default() })
        }
    }
}
