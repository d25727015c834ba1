//! The private folder of one job: what `oomph` gives its processes, what they leave behind, and the layer of files.
//!
//! It is removed when the job is over. Where `oomph` itself was killed, the next one removes it: a folder whose lock
//! nobody holds belongs to nobody.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{family, layer};

/// Folders of jobs are called so.
const PREFIX: &str = "oomph-job-";
/// Folders that are being prepared.
const DRAFT_PREFIX: &str = ".oomph-draft-";
const LOCK: &str = "lock";
/// Nobody prepares a folder for this long.
const DRAFT_AGE_MAX: Duration = Duration::from_hours(1);

/// Processes that were just ended may still write for a moment. What cannot be removed then is removed by a later plan.
const REMOVALS: u32 = 5;
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);

/// A folder that belongs to one job, for as long as this value lives.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    /// Held until the folder is gone.
    _lock: File,
}

impl Workspace {
    /// Makes a folder in the temporary folder of the system, and removes those that were left behind.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create() -> io::Result<Self> {
        Self::create_in(&std::path::absolute(std::env::temp_dir())?)
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        // Locked before anybody can take it for one that was left behind.
        let draft = tempfile::Builder::new().prefix(DRAFT_PREFIX).tempdir_in(parent)?;
        let lock = File::create(draft.path().join(LOCK))?;
        lock.lock()?;
        let name = draft.path().file_name().unwrap_or_default().to_string_lossy().replacen(DRAFT_PREFIX, PREFIX, 1);
        let folder = parent.join(name);
        fs::rename(draft.keep(), &folder)?;
        // Where the system's folder for temporary files is a link, processes see the place behind it.
        Ok(Self { folder: fs::canonicalize(folder)?, _lock: lock })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes the folders of jobs whose `oomph` was killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(PREFIX) && is_abandoned(&entry.path()) {
            // Grandchildren of an `oomph` that was killed may still be at work in there.
            family::end_strangers(&layer::variable(&entry.path()));
            remove(&entry.path());
        } else if name.starts_with(DRAFT_PREFIX) && is_old(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Whether nobody holds the lock. A folder without one was being removed by somebody who was killed at it: it had one
/// before it got its name.
fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(problem) => problem.kind() == io::ErrorKind::NotFound,
    }
}

fn is_old(folder: &Path) -> bool {
    let modified = folder.symlink_metadata().and_then(|found| found.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > DRAFT_AGE_MAX))
}

/// Removes a folder of ours, whatever a job did to the permissions in it.
fn remove(folder: &Path) {
    layer::release_shared_memory(folder);
    for _ in 0..REMOVALS {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        open_up(folder);
        std::thread::sleep(REMOVAL_PAUSE);
    }
}

/// Makes every folder below one that the owner can change.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(parent: &Path) -> usize {
        fs::read_dir(parent).expect("a folder").count()
    }

    #[test]
    fn it_is_gone_when_the_job_is_over() {
        let parent = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::create_in(parent.path()).expect("made");
        let closed = workspace.folder().join("closed");
        fs::create_dir(&closed).expect("made");
        fs::write(closed.join("file"), "text").expect("written");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("set");
        drop(workspace);
        assert_eq!(jobs(parent.path()), 0);
    }

    #[test]
    fn what_was_left_behind_is_removed_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().expect("a folder");
        let used = Workspace::create_in(parent.path()).expect("made");
        let killed = parent.path().join(format!("{PREFIX}killed"));
        fs::create_dir(&killed).expect("made");
        fs::write(killed.join(LOCK), "").expect("written");
        let other = Workspace::create_in(parent.path()).expect("made");
        assert!(used.folder().is_dir() && other.folder().is_dir() && !killed.exists());
        fs::create_dir_all(killed.join("layer/root")).expect("made");
        let third = Workspace::create_in(parent.path()).expect("made");
        assert!(!killed.exists(), "whoever removed it was killed after the lock had gone");
        drop(third);
        fs::create_dir(parent.path().join(format!("{DRAFT_PREFIX}young"))).expect("made");
        drop((used, other));
        assert_eq!(jobs(parent.path()), 1, "a folder that is being prepared is somebody's");
    }
}
