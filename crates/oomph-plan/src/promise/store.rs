//! Promises on disk.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use oomph_trace::{Trace, write_oomph_trace};
use serde::{Deserialize, Serialize};

use super::{Identity, Promise};

/// Promises that are kept, the newest.
const COUNT_MAX: usize = 20;
/// What they may take together.
const TOTAL_BYTES_MAX: u64 = 200 << 20;

/// The promises of a user.
#[derive(Clone, Debug)]
pub struct Promises {
    folder: Option<PathBuf>,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The job, to tell it from one whose file has the same name.
    job: Identity,
    #[serde(flatten)]
    promise: Promise,
}

impl Promises {
    /// Those of whoever runs oomph: in `$XDG_STATE_HOME/oomph`, or `~/.local/state/oomph`.
    #[must_use]
    pub fn of_user() -> Self {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        Self { folder: state.map(|state| state.join("oomph/promises")) }
    }

    /// Those in a folder, which need not be there.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// Keeps what a plan promised of a job in place of what an earlier one did, and the run it was seen in.
    ///
    /// # Errors
    /// If it could not be written: there is no promise then, or the earlier one.
    pub fn keep(&self, job: &Identity, promise: &Promise, trace: &Trace) -> io::Result<()> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let key = job.key();
        let kept = Kept { job: job.clone(), promise: promise.clone() };
        write_whole(&folder.join(format!("{key}.oomph")), |file| {
            write_oomph_trace(trace, file).map_err(io::Error::other)
        })?;
        write_whole(&folder.join(format!("{key}.json")), |file| {
            serde_json::to_writer(&mut *file, &kept)?;
            Ok(())
        })?;
        sweep(folder)
    }

    /// What the last plan of a job promised, if it was kept.
    #[must_use]
    pub fn find(&self, job: &Identity) -> Option<Promise> {
        let text = fs::read(self.file(job, "json")?).ok()?;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        (kept.job == *job).then_some(kept.promise)
    }

    /// The run that the last plan of a job saw, if it was kept.
    #[must_use]
    pub fn trace(&self, job: &Identity) -> Option<Trace> {
        self.find(job)?;
        Trace::open(self.file(job, "oomph")?).ok()
    }

    fn file(&self, job: &Identity, ending: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.{ending}", job.key())))
    }
}

/// Writes a file beside its place and puts it there when it is whole.
fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<&fs::File>) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let draft = tempfile::Builder::new().prefix(".").tempfile_in(folder)?;
    let mut buffer = BufWriter::new(draft.as_file());
    write(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    draft.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

/// Removes the oldest promises beyond what may be kept.
fn sweep(folder: &Path) -> io::Result<()> {
    let mut found = promises_in(folder)?;
    found.sort_by_key(|(kept_at, _)| std::cmp::Reverse(*kept_at));
    let mut total_bytes = 0;
    for (position, (_, path)) in found.iter().enumerate() {
        let files = [path.clone(), path.with_extension("oomph")];
        total_bytes += files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>();
        if position >= COUNT_MAX || total_bytes > TOTAL_BYTES_MAX {
            // The promise first: a trace without one is not found, and goes with the next sweep that reaches it.
            let is_newest = position == 0;
            for file in files.iter().skip(usize::from(is_newest)) {
                let _ = fs::remove_file(file);
            }
        }
    }
    Ok(())
}

/// Every promise, with the time it was kept.
fn promises_in(folder: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let entries = fs::read_dir(folder)?.flatten();
    let promise = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_promise = path.extension() == Some(OsStr::new("json"));
        let kept_at = entry.metadata().ok()?.modified().ok()?;
        is_promise.then_some((kept_at, path))
    };
    Ok(entries.filter_map(promise).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use oomph_trace::{Origin, TraceBuilder};

    use super::super::{PromisedPeaks, PromisedTrial};
    use super::*;

    fn job(number: usize) -> Identity {
        Identity::new(&["pkg.train".into(), number.to_string().into()], &[], Path::new("/"))
    }

    fn promise(made_us: u64) -> Promise {
        let peaks = vec![PromisedPeaks { rank: 0, device: 0, allocated_bytes: 5, reserved_bytes: 6, device_bytes: 7 }];
        let trial = PromisedTrial { card: "h200".into(), memory_bytes: 1 << 37, fits: true, peaks };
        let torch = Some("2.11.0".into());
        let (remedies, allocator, gpus) = (Vec::new(), None, None);
        Promise { made_us, torch, trials: vec![trial], remedies, allocator, gpus, slowdown_percent: 100 }
    }

    fn trace() -> Trace {
        let mut trace = TraceBuilder::new(Origin::HollowRun);
        trace.segment_alloc(1 << 21, 1 << 21, &[]).alloc(1 << 21, 1 << 20, &[]);
        trace.finish()
    }

    #[test]
    fn a_promise_is_found_again_and_the_last_one_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let promises = Promises::in_folder(&folder.path().join("not/there/yet"));
        assert_eq!(promises.find(&job(1)), None);
        promises.keep(&job(1), &promise(1), &trace()).expect("kept");
        promises.keep(&job(1), &promise(2), &trace()).expect("kept");
        assert_eq!(promises.find(&job(1)), Some(promise(2)));
        assert_eq!(promises.trace(&job(1)).map(|trace| trace.event_count()), Some(2));
        assert_eq!(promises.find(&job(2)), None);
        assert!(promises.trace(&job(2)).is_none());
    }

    #[test]
    fn only_the_newest_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let promises = Promises::in_folder(folder.path());
        for number in 0..COUNT_MAX + 3 {
            promises.keep(&job(number), &promise(1), &trace()).expect("kept");
            let kept = folder.path().join(format!("{}.json", job(number).key()));
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + number as u64);
            fs::File::open(kept).and_then(|file| file.set_modified(time)).expect("ours");
        }
        // The last one had today's time while it was swept.
        let found: Vec<usize> = (0..COUNT_MAX + 3).filter(|&number| promises.find(&job(number)).is_some()).collect();
        assert_eq!(found, (3..COUNT_MAX + 3).collect::<Vec<_>>());
        assert_eq!(fs::read_dir(folder.path()).expect("ours").count(), 2 * COUNT_MAX, "their traces are gone too");
    }

    #[test]
    fn what_is_too_large_together_loses_the_oldest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let promises = Promises::in_folder(folder.path());
        promises.keep(&job(1), &promise(1), &trace()).expect("kept");
        let large = fs::File::options().write(true).open(folder.path().join(format!("{}.oomph", job(1).key())));
        large.and_then(|file| file.set_len(TOTAL_BYTES_MAX)).expect("ours");
        promises.keep(&job(2), &promise(2), &trace()).expect("kept");
        assert_eq!((promises.find(&job(1)), promises.find(&job(2))), (None, Some(promise(2))));
    }

    #[test]
    fn where_nothing_can_be_written_there_is_no_promise() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("a file");
        fs::write(&file, "").expect("ours");
        let promises = Promises::in_folder(&file);
        assert!(promises.keep(&job(1), &promise(1), &trace()).is_err());
        assert_eq!(promises.find(&job(1)), None);
        assert!(Promises { folder: None }.keep(&job(1), &promise(1), &trace()).is_err());
    }

    #[test]
    fn damaged_files_and_those_of_other_jobs_are_no_promises() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let promises = Promises::in_folder(folder.path());
        promises.keep(&job(1), &promise(1), &trace()).expect("kept");
        let path = |number| folder.path().join(format!("{}.json", job(number).key()));
        fs::copy(path(1), path(2)).expect("ours");
        assert_eq!(promises.find(&job(2)), None);
        fs::write(path(1), "{").expect("ours");
        assert_eq!(promises.find(&job(1)), None);
    }

    #[test]
    fn others_cannot_read_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("promises");
        Promises::in_folder(&inner).keep(&job(1), &promise(1), &trace()).expect("kept");
        assert_eq!(inner.metadata().expect("there").permissions().mode() & 0o777, 0o700);
    }
}
