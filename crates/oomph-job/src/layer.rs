//! The private layer of files: what a job writes lies here and nowhere else, and is thrown away with its workspace.
//!
//! `oomph-layer` does the work inside the job's processes; here is what it is told, and what it leaves.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The layer's folder in a workspace.
const FOLDER: &str = "layer";

/// The layer of one job.
#[derive(Debug)]
pub struct Layer {
    folder: PathBuf,
    limit_bytes: u64,
    /// Folders that are written for real.
    open: Vec<PathBuf>,
}

/// What the layer says when it has to end the job.
#[derive(Debug, Deserialize)]
pub struct Stopped {
    /// The file that did not fit.
    pub path: Option<PathBuf>,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
}

impl Layer {
    /// Makes an empty layer in a workspace. What lies below `open` is written for real.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(workspace: &Path, limit_bytes: u64, open: Vec<PathBuf>) -> io::Result<Self> {
        let folder = workspace.join(FOLDER);
        for part in ["root", "work"] {
            fs::create_dir_all(folder.join(part))?;
        }
        File::create(folder.join("state"))?;
        Ok(Self { folder, limit_bytes, open })
    }

    /// How much it may take.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// What every process of the job is told. The variables in `kept` reach every child, however it is started.
    #[must_use]
    pub fn environment(&self, kept: &[&str]) -> Vec<(&'static str, OsString)> {
        let open = self.open.iter().map(|path| path.as_os_str().to_owned()).collect::<Vec<_>>();
        vec![
            ("OOMPH_LAYER", self.folder.clone().into()),
            ("OOMPH_LAYER_LIMIT_BYTES", self.limit_bytes.to_string().into()),
            ("OOMPH_LAYER_OPEN", open.join(OsStr::new(":"))),
            ("OOMPH_LAYER_KEEP", kept.join(":").into()),
        ]
    }

    /// What may be written for real: the layer itself, and what is open.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.folder.as_path()).chain(self.open.iter().map(PathBuf::as_path))
    }

    /// Whether nothing was written to it yet.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        let is_empty =
            |part: &str| fs::read_dir(self.folder.join(part)).map_or(true, |mut found| found.next().is_none());
        ["root", "removed", "work"].into_iter().all(is_empty) && !self.folder.join("shm").exists()
    }

    /// Forgets everything that was written to it. Only while no process that wrote to it runs.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        if let Some(workspace) = self.folder.parent() {
            release_shared_memory(workspace);
        }
        for name in ["shm", "stopped"] {
            match fs::remove_file(self.folder.join(name)) {
                Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
                _ => {}
            }
        }
        for part in ["root", "removed", "work"] {
            let part = self.folder.join(part);
            if part.exists() {
                fs::remove_dir_all(&part)?;
            }
            fs::create_dir(&part)?;
        }
        // In its place: processes that wait have it mapped.
        let state = fs::OpenOptions::new().write(true).open(self.folder.join("state"))?;
        let zeros = vec![0; usize::try_from(state.metadata()?.len()).unwrap_or(0)];
        std::os::unix::fs::FileExt::write_all_at(&state, &zeros, 0)
    }

    /// What it takes on the disk.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        size_bytes(&self.folder)
    }

    /// Why it ended the job, if it did.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        let text = fs::read_to_string(self.folder.join("stopped")).ok()?;
        Some(serde_json::from_str(text.lines().next()?).unwrap_or(Stopped { path: None, bytes: 0 }))
    }
}

/// The variable by which every process of a workspace's job can be known.
pub(crate) fn variable(workspace: &Path) -> OsString {
    let mut text = OsString::from("OOMPH_LAYER=");
    text.push(workspace.join(FOLDER));
    text
}

fn size_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_bytes(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Removes the shared memory that the job of a workspace made and left.
pub(crate) fn release_shared_memory(workspace: &Path) {
    let names = fs::read_to_string(workspace.join(FOLDER).join("shm")).unwrap_or_default();
    for name in names.lines() {
        let name = name.trim_start_matches('/');
        if !name.is_empty() && !name.contains('/') {
            let _ = fs::remove_file(Path::new("/dev/shm").join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_it_takes_and_why_it_stopped() {
        let workspace = tempfile::tempdir().expect("a folder");
        let layer = Layer::create(workspace.path(), 1 << 20, Vec::new()).expect("made");
        assert!(layer.stopped().is_none());
        let before = layer.size_bytes();
        let upper = workspace.path().join("layer").join("root");
        fs::write(upper.join("file"), vec![1; 1 << 16]).expect("written");
        File::create(upper.join("hole")).expect("made").set_len(1 << 30).expect("set");
        assert!((1 << 16..1 << 20).contains(&(layer.size_bytes() - before)), "holes take no room");
        fs::write(workspace.path().join("layer/stopped"), "{\"reason\":\"limit\",\"path\":\"/a\",\"bytes\":5}\n")
            .expect("written");
        let stopped = layer.stopped().expect("told");
        assert_eq!((stopped.path.as_deref(), stopped.bytes), (Some(Path::new("/a")), 5));
    }

    #[test]
    fn it_can_be_as_if_nothing_had_been_written() {
        let workspace = tempfile::tempdir().expect("a folder");
        let layer = Layer::create(workspace.path(), 1 << 20, Vec::new()).expect("made");
        assert!(layer.is_untouched());
        let folder = workspace.path().join("layer");
        fs::create_dir_all(folder.join("root/home/me")).expect("made");
        fs::write(folder.join("root/home/me/file"), "text").expect("written");
        fs::write(folder.join("state"), [1; 64]).expect("written");
        assert!(!layer.is_untouched());
        layer.clear().expect("cleared");
        assert!(layer.is_untouched());
        assert_eq!(fs::read(folder.join("state")).expect("there"), [0; 64], "as long as before: it is mapped");
    }
}
