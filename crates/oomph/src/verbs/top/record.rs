//! What was seen, kept in a file: one scene a line, compressed where the file's name ends in `.zst`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::scene::{FORMAT, Scene};
use crate::error::Error;

/// More than a scene of 16 cards and hundreds of processes takes; a longer line is none.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Writes scenes. Each is in the file once [`Recording::add`] returns.
pub(super) struct Recording {
    path: PathBuf,
    file: Box<dyn Write>,
}

impl Recording {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let open = || -> io::Result<Box<dyn Write>> {
            let file = BufWriter::new(File::create(path)?);
            if is_compressed(path) {
                Ok(Box::new(zstd::Encoder::new(file, 3)?.auto_finish()))
            } else {
                Ok(Box::new(file))
            }
        };
        let file = open().map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn add(&mut self, scene: &Scene) -> Result<(), Error> {
        let mut write = || -> io::Result<()> {
            serde_json::to_writer(&mut self.file, scene)?;
            self.file.write_all(b"\n")?;
            self.file.flush()
        };
        write().map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Reads scenes one by one.
pub(super) struct Replay {
    lines: Box<dyn BufRead>,
    number: usize,
}

/// Why a recording cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplayError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is no scene.
    #[error("line {line} is not what 'oomph top --record' writes: {problem}")]
    NotAScene {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing in it.
    #[error("nothing was recorded in it")]
    Empty,
}

impl Replay {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::new(File::open(path)?);
        let lines: Box<dyn BufRead> = if is_compressed(path) {
            Box::new(BufReader::new(zstd::Decoder::with_buffer(file)?))
        } else {
            Box::new(file)
        };
        Ok(Self { lines, number: 0 })
    }

    /// The next scene; none at the end. A last line that was being written when its writer was killed is left out.
    pub(super) fn next(&mut self) -> Result<Option<Scene>, ReplayError> {
        let mut line = Vec::new();
        let found = io::Read::take(&mut self.lines, MAX_LINE_BYTES).read_until(b'\n', &mut line);
        match found {
            // A compressed file whose writer was killed ends in the middle.
            Err(problem) if problem.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            found => found?,
        };
        self.number += 1;
        if line.pop_if(|last| *last == b'\n').is_none() {
            return if line.len() as u64 == MAX_LINE_BYTES { Err(self.wrong("it is too long")) } else { Ok(None) };
        }
        let scene: Scene = serde_json::from_slice(&line).map_err(|problem| self.wrong(&problem.to_string()))?;
        if scene.format != FORMAT {
            return Err(self.wrong(&format!("it has format {}, this version reads {FORMAT}", scene.format)));
        }
        Ok(Some(scene))
    }

    fn wrong(&self, problem: &str) -> ReplayError {
        ReplayError::NotAScene { line: self.number, problem: problem.to_owned() }
    }
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst" || extension == "zstd")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(at_us: u64) -> Scene {
        Scene { format: FORMAT, at_us, host_name: Some("h".to_owned()), ..Scene::default() }
    }

    fn all(path: &Path) -> Result<Vec<Scene>, ReplayError> {
        let mut replay = Replay::open(path)?;
        std::iter::from_fn(|| replay.next().transpose()).collect()
    }

    #[test]
    fn scenes_come_back_plain_and_compressed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["seen.jsonl", "seen.jsonl.zst"] {
            let path = folder.path().join(name);
            let mut recording = Recording::create(&path).unwrap();
            let scenes: Vec<Scene> = (0..5).map(scene).collect();
            for scene in &scenes {
                recording.add(scene).unwrap();
            }
            assert_eq!(all(&path).unwrap(), scenes, "while it is written: {name}");
            drop(recording);
            assert_eq!(all(&path).unwrap(), scenes, "{name}");
        }
    }

    #[test]
    fn a_cut_line_ends_a_recording_and_a_wrong_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.jsonl");
        let line = serde_json::to_string(&scene(1)).unwrap();
        std::fs::write(&path, format!("{line}\n{}", &line[..20])).unwrap();
        assert_eq!(all(&path).unwrap().len(), 1);
        std::fs::write(&path, format!("{line}\nnonsense\n")).unwrap();
        assert!(all(&path).unwrap_err().to_string().starts_with("line 2 "));
        std::fs::write(&path, format!("{}\n", line.replace("\"format\":1", "\"format\":9"))).unwrap();
        assert!(all(&path).unwrap_err().to_string().contains("format 9"));
        assert_eq!(all(&folder.path().join("none")).unwrap_err().to_string(), "No such file or directory (os error 2)");
    }
}
