//! What is run: a script, a module or a program, and the interpreter it is run with.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::JobError;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Python file, a folder with a `__main__.py`, or a notebook.
    Script(PathBuf),
    /// A module, as `python -m` takes it.
    Module(String),
    /// Any other program: a shell script, a launcher. Every Python process that it starts belongs to the job.
    Program(PathBuf),
}

/// A target with its interpreter and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The interpreter.
    pub python: PathBuf,
    /// Whether the user named the interpreter.
    pub is_python_named: bool,
    /// What is run.
    pub target: Target,
    /// The target's own arguments.
    pub arguments: Vec<OsString>,
}

impl Command {
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
    #[must_use]
    pub fn words(&self) -> (PathBuf, Vec<OsString>) {
        let mut words: Vec<OsString> = match &self.target {
            Target::Program(path) => return (path.clone(), self.arguments.clone()),
            Target::Script(path) => vec![path.into()],
            Target::Module(name) => vec!["-m".into(), name.into()],
        };
        words.extend(self.arguments.iter().cloned());
        (self.python.clone(), words)
    }

    /// The same in so many processes of one machine, started by PyTorch's launcher; none where it is neither a script nor
    /// a module.
    #[must_use]
    pub fn in_processes(&self, count: u32) -> Option<Self> {
        let mut arguments: Vec<OsString> = ["--standalone", "--nproc-per-node"].map(OsString::from).to_vec();
        arguments.push(count.to_string().into());
        match &self.target {
            Target::Program(_) => return None,
            Target::Script(path) => arguments.push(path.into()),
            Target::Module(name) => arguments.extend(["--module".into(), name.into()]),
        }
        arguments.extend(self.arguments.iter().cloned());
        Some(Self { target: Target::Module("torch.distributed.run".to_owned()), arguments, ..self.clone() })
    }

    /// What the system itself would say of an interpreter or a script it cannot open, before anything is prepared.
    ///
    /// # Errors
    /// If there is nothing to run, or nothing to run it with.
    pub fn check(&self) -> Result<(), JobError> {
        if self.python.components().count() > 1 {
            let no_python = |source| JobError::NoPython { path: self.python.clone(), source };
            std::fs::metadata(&self.python).map_err(no_python)?;
        }
        let Target::Script(path) = &self.target else { return Ok(()) };
        if path.is_dir() {
            let has_main = path.join("__main__.py").is_file();
            return if has_main { Ok(()) } else { Err(JobError::NoMain { path: path.clone() }) };
        }
        match File::open(path) {
            Ok(_) => Ok(()),
            Err(problem) if problem.kind() == ErrorKind::NotFound => Err(JobError::NoScript { path: path.clone() }),
            Err(source) => Err(JobError::ScriptFile { path: path.clone(), source }),
        }
    }
}
