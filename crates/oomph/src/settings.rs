//! Where the settings of `oomph check` come from: the nearest `pyproject.toml` that speaks of it, and the command line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use oomph_check::Rule;
use oomph_check::settings::{Options, Settings, find_table, read};

use crate::error::Error;

/// The file with the `[tool.oomph.check]` table.
pub(crate) const FILE_NAME: &str = "pyproject.toml";

/// Which files are asked.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// The nearest above each file.
    Nearest,
    /// This one for all.
    File(PathBuf),
    /// None.
    Nowhere,
}

/// Finds the settings of any folder; each file is read once.
pub(crate) struct Resolver {
    rules: Vec<&'static Rule>,
    command_line: Options,
    fallback: Arc<Settings>,
    nearest: bool,
    known: Mutex<HashMap<PathBuf, Arc<Settings>>>,
    fault: Mutex<Option<Error>>,
}

impl Resolver {
    /// Settings from `origin`, on which the command line has the last word.
    pub(crate) fn new(origin: &Origin, command_line: Options) -> Result<Self, Error> {
        let rules = oomph_check::catalogue();
        let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
        let fallback = match origin {
            Origin::File(path) => {
                let text = read_text(path)?;
                let options = read(path, &text, &rules)?;
                let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
                Settings::new(folder.unwrap_or(here), &[&options, &command_line], &rules)
            }
            Origin::Nearest | Origin::Nowhere => Settings::new(here, &[&command_line], &rules),
        };
        Ok(Self {
            rules,
            command_line,
            fallback: Arc::new(fallback),
            nearest: matches!(origin, Origin::Nearest),
            known: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// What holds for the files in an absolute folder. A faulty file is noted and passed over: see [`Self::fault`].
    pub(crate) fn of(&self, folder: &Path) -> Arc<Settings> {
        if !self.nearest {
            return Arc::clone(&self.fallback);
        }
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Arc::clone(known);
        }
        let own = self.read_own(folder).unwrap_or_else(|error| {
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            None
        });
        let settings = own.map(Arc::new).or_else(|| folder.parent().map(|parent| self.of(parent)));
        let settings = settings.unwrap_or_else(|| Arc::clone(&self.fallback));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(folder.to_owned()).or_insert(settings))
    }

    /// The first thing that was wrong with a settings file, if anything was.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn read_own(&self, folder: &Path) -> Result<Option<Settings>, Error> {
        let path = folder.join(FILE_NAME);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
        if !find_table(&text) {
            return Ok(None);
        }
        let options = read(&shown(&path), &text, &self.rules)?;
        Ok(Some(Settings::new(folder.to_owned(), &[&options, &self.command_line], &self.rules)))
    }
}

/// A path as the user would write it from here.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
    path.strip_prefix(here).map_or_else(|_| path.to_owned(), Path::to_owned)
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}
