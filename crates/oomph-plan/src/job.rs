//! A script with its interpreter, and everything about how it is to be run.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::PlanError;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Python file, a folder with a `__main__.py`, or a notebook.
    Script(PathBuf),
    /// A module, as `python -m` takes it.
    Module(String),
    /// Any other program: a shell script, a launcher. The hollow card is in every process that it starts.
    Program(PathBuf),
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
    /// Whether the user named the interpreter.
    pub is_python_named: bool,
    /// What is run.
    pub target: Target,
    /// The script's own arguments.
    pub arguments: Vec<OsString>,
    /// Optimizer steps after which the run is over, 0 for all; without, loops end once memory repeats.
    pub steps: Option<u32>,
    /// Batches after which the run is over, likewise.
    pub batches: Option<u32>,
    /// Its processes.
    pub launch: Launch,
    /// Whether every process that a launcher starts is planned, not the first alone.
    pub has_all_ranks: bool,
    /// Whether what the script prints is passed on to stderr.
    pub show_output: bool,
    /// What the job may write, at most.
    pub disk_limit_bytes: u64,
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

    /// What people call it: the script's file name, or the module.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.target {
            Target::Script(path) | Target::Program(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Target::Module(name) => name.clone(),
        }
    }

    /// What to start, and with which arguments.
    pub(crate) fn command(&self) -> (PathBuf, Vec<OsString>) {
        let mut words: Vec<OsString> = match &self.target {
            Target::Program(path) => return (path.clone(), self.arguments.clone()),
            Target::Script(path) => vec![path.into()],
            Target::Module(name) => vec!["-m".into(), name.into()],
        };
        words.extend(self.arguments.iter().cloned());
        (self.python.clone(), words)
    }

    /// What the system itself would say of an interpreter or a script it cannot open, before anything is prepared.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.python.components().count() > 1 {
            let no_python = |source| PlanError::NoPython { path: self.python.clone(), source };
            std::fs::metadata(&self.python).map_err(no_python)?;
        }
        let Target::Script(path) = &self.target else { return Ok(()) };
        if path.is_dir() {
            let has_main = path.join("__main__.py").is_file();
            return if has_main { Ok(()) } else { Err(PlanError::NoMain { path: path.clone() }) };
        }
        match File::open(path) {
            Ok(_) => Ok(()),
            Err(problem) if problem.kind() == ErrorKind::NotFound => Err(PlanError::NoScript { path: path.clone() }),
            Err(source) => Err(PlanError::ScriptFile { path: path.clone(), source }),
        }
    }
}
