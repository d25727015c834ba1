//! Where scenes come from: the machine, or a recording.

use std::path::{Path, PathBuf};

use super::collect::{Collector, Detail};
use super::record::{Replay, ReplayError};
use super::scene::Scene;
use crate::error::Error;

/// One scene after the other.
pub(super) enum Source {
    /// The machine as it is.
    Live(Box<Collector>),
    /// What was recorded.
    Recording {
        /// The file.
        path: PathBuf,
        /// What is left of it.
        replay: Replay,
    },
}

impl Source {
    /// The machine, or the recording named.
    pub(super) fn open(recording: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = recording else { return Ok(Self::Live(Box::new(Collector::new()))) };
        let failed = |source| Error::Read { path: path.to_owned(), source };
        Ok(Self::Recording { path: path.to_owned(), replay: Replay::open(path).map_err(failed)? })
    }

    /// The next scene; none after the last of a recording.
    pub(super) fn next(&mut self, detail: Detail) -> Result<Option<Scene>, Error> {
        match self {
            Self::Live(collector) => Ok(Some(collector.look(detail))),
            Self::Recording { path, replay } => replay.next().map_err(|problem| wrong(path, &problem)),
        }
    }

    /// The scene to show where one is all: what is there now, or the end of the recording.
    pub(super) fn last(&mut self) -> Result<Scene, Error> {
        let mut last = None;
        while let Some(scene) = self.next(Detail::All)? {
            last = Some(scene);
            if matches!(self, Self::Live(_)) {
                break;
            }
        }
        match (last, self) {
            (Some(scene), _) => Ok(scene),
            (None, Self::Recording { path, .. }) => Err(wrong(path, &ReplayError::Empty)),
            (None, Self::Live(_)) => Ok(Scene::default()),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }
}

fn wrong(path: &Path, problem: &ReplayError) -> Error {
    Error::Recording { path: path.to_owned(), problem: problem.to_string() }
}
