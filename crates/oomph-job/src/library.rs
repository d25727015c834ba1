//! Where the libraries are found that are loaded into a job's processes.

use std::path::PathBuf;

use crate::error::JobError;

/// A library that is loaded into every process of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// The GPU that is not there.
    Hollow,
    /// The private layer of files.
    Layer,
    /// What hears PyTorch's allocator in a real run.
    Recorder,
}

impl Library {
    /// Its file name.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Hollow => "liboomph_hollow.so",
            Self::Layer => "liboomph_layer.so",
            Self::Recorder => "liboomph_recorder.so",
        }
    }

    /// The environment variable that says where it is, for whoever builds or tests it.
    fn variable(self) -> &'static str {
        match self {
            Self::Hollow => "OOMPH_HOLLOW_LIB",
            Self::Layer => "OOMPH_LAYER_LIB",
            Self::Recorder => "OOMPH_RECORDER_LIB",
        }
    }

    /// Where it lies: named by its variable, beside the command (a build), or in `../lib/oomph` from it (an installed
    /// wheel).
    ///
    /// # Errors
    /// If it is nowhere.
    pub fn find(self) -> Result<PathBuf, JobError> {
        let missing = || JobError::NoLibrary { name: self.file_name() };
        if let Some(named) = std::env::var_os(self.variable()) {
            let path = PathBuf::from(named);
            return if path.is_file() { Ok(std::path::absolute(path)?) } else { Err(missing()) };
        }
        let command = std::env::current_exe()?;
        // The wheel's command may be reached through a link; the library lies beside the file itself.
        let command = command.canonicalize().unwrap_or(command);
        let folder = command.parent().ok_or_else(missing)?;
        let places = [folder.join(self.file_name()), folder.join("../lib/oomph").join(self.file_name())];
        places.into_iter().find(|path| path.is_file()).ok_or_else(missing)
    }
}
