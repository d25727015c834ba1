//! Why a job cannot be run, each with the way out.

use std::path::{Path, PathBuf};

/// What stands in the way of a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The script is not there.
    #[error("there is no script {}", path.display())]
    NoScript {
        /// Where it should be.
        path: PathBuf,
    },
    /// The script is there and cannot be read.
    #[error("cannot read the script {}: {source}", path.display())]
    ScriptFile {
        /// The script.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The script is a folder that Python cannot run.
    #[error("the folder {} has no __main__.py to run", path.display())]
    NoMain {
        /// The folder.
        path: PathBuf,
    },
    /// The interpreter is not there.
    #[error("cannot start the Python interpreter {}: {source}", path.display())]
    NoPython {
        /// The interpreter.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What the processes of the job told cannot be read.
    #[error("cannot understand what the run left behind: {0}")]
    Facts(#[from] serde_json::Error),
    /// The program does not start.
    #[error("cannot start {}: {source}", path.display())]
    NoProgram {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A library that every process of the job needs is not where it should be.
    #[error("{name} is not beside the oomph command")]
    NoLibrary {
        /// Its file name.
        name: &'static str,
    },
    /// What the job wrote does not fit into its private layer.
    #[error("what the job writes takes more than {}, the most that its private copy of the disk may take{}", gib(*limit_bytes), at(path.as_deref(), *bytes))]
    LayerFull {
        /// The limit.
        limit_bytes: u64,
        /// What it wrote, or wanted to write, when the limit was reached.
        path: Option<PathBuf>,
        /// How large that is.
        bytes: u64,
    },
    /// Somebody wants the job to end.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// The temporary folder cannot be used.
    #[error("cannot use the temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

impl JobError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoScript { .. } => "options of oomph stand before the script, those of the script after it".into(),
            Self::ScriptFile { .. } => "the script is run as you: you must be able to read it".into(),
            Self::NoMain { .. } => "name the script itself, or a module: -m PACKAGE.train".into(),
            Self::NoPython { .. } | Self::NoProgram { .. } => {
                "name the interpreter your job runs with: --python PATH".into()
            }
            Self::Facts(_) => "this is a defect of oomph: please report it with the script".into(),
            Self::NoLibrary { .. } => "install oomph from its wheel, or build the whole workspace: cargo build --release".into(),
            Self::LayerFull { .. } => {
                "nothing was written to your files; allow more with --disk-limit SIZE, or download and prepare data before \
                 the plan"
                    .into()
            }
            Self::Interrupted => "nothing was written".into(),
            Self::Folder(_) => "is the disk full? TMPDIR names another folder".into(),
        }
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1}GiB", bytes as f64 / f64::from(1 << 30))
}

fn at(path: Option<&Path>, bytes: u64) -> String {
    path.map_or_else(String::new, |path| format!(": {} alone has {}", path.display(), gib(bytes)))
}
