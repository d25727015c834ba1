//! Where real runs keep what they know: one folder a job, found again by `oomph top` and `oomph explain`.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::family;

/// The file that describes a job.
const RECORD: &str = "job.json";
/// How many jobs that have ended are kept.
const KEPT_JOBS: usize = 20;
/// What they may take together.
const KEPT_BYTES: u64 = 2 << 30;
/// A box of this size holds some hundred steps. All of it is in memory as long as the job runs.
const BOX_BYTES: u64 = oomph_box::DEFAULT_BYTES;
/// Sizes that are tried where there is little room.
const SMALLER_BOXES: [u64; 3] = [16 << 20, 4 << 20, 1 << 20];
/// Processes of a job for which there should be room.
const PROCESSES: u64 = 4;

/// One job, as the others see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRecord {
    /// The version of this description.
    pub format: u32,
    /// The process of `oomph run`.
    pub pid: u32,
    /// When that process was started, in the kernel's ticks.
    pub start_ticks: u64,
    /// The command line of the job.
    pub command: Vec<String>,
    /// What people call it.
    pub name: String,
    /// Where it was started.
    pub cwd: String,
    /// When, in microseconds since 1970.
    pub started_us: u64,
    /// When it ended.
    pub ended_us: Option<u64>,
    /// With which code.
    pub exit_code: Option<i32>,
    /// By which signal.
    pub signal: Option<i32>,
    /// What a plan of the same job had promised.
    pub promise: Option<serde_json::Value>,
    /// What PyTorch may take of a card.
    pub limit_bytes: Option<u64>,
    /// Settings of PyTorch's allocator that `oomph` chose.
    pub allocator: Option<String>,
    /// The names of what was put into the job to make it take less.
    pub remedies: Vec<String>,
    /// What a step took, the median, in microseconds; told when the job has ended.
    pub step_us: Option<u64>,
    /// What other processes held on each card when the job last ran out of memory, by UUID.
    pub other_process_bytes: std::collections::BTreeMap<String, u64>,
}

impl JobRecord {
    /// Whether its `oomph` is still there.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.ended_us.is_none() && family::start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// The folder of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// Makes a folder for a new job where there is room for boxes, and removes what is old; says how large boxes may be.
    #[must_use]
    pub fn create(record: &JobRecord) -> Option<(Self, u64)> {
        let roomy =
            |bytes: u64| places().into_iter().find(|place| is_usable(place) && room(place) >= bytes * PROCESSES);
        // For whoever has many processes and little disk.
        let wanted = std::env::var("OOMPH_BOX_BYTES").ok().and_then(|text| text.parse().ok());
        let (place, box_bytes) = std::iter::once(wanted.unwrap_or(BOX_BYTES))
            .chain(SMALLER_BOXES)
            .find_map(|bytes| Some((roomy(bytes)?, bytes)))?;
        sweep(&place);
        let folder = Self { path: place.join(name_of(record)) };
        DirBuilder::new().mode(0o700).create(&folder.path).ok()?;
        folder.write(record).ok()?;
        Some((folder, box_bytes))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes the job anew.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, record: &JobRecord) -> io::Result<()> {
        let draft = self.path.join(".job.json.part");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(serde_json::to_string_pretty(record)?.as_bytes())?;
        fs::rename(draft, self.path.join(RECORD))
    }

    /// The description.
    ///
    /// # Errors
    /// If there is none, or none that can be understood.
    pub fn read(&self) -> io::Result<JobRecord> {
        Ok(serde_json::from_str(&fs::read_to_string(self.path.join(RECORD))?)?)
    }

    /// The boxes of its processes, oldest first.
    #[must_use]
    pub fn boxes(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.path) else { return Vec::new() };
        let is_box = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "box");
        let mut boxes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_box).collect();
        boxes.sort_by_key(|path| (fs::metadata(path).and_then(|found| found.created()).ok(), path.clone()));
        boxes
    }
}

/// The folder in which a file lies, if it is that of a job.
#[must_use]
pub fn folder_of(file: &Path) -> Option<JobFolder> {
    let path = file.parent()?.to_path_buf();
    path.join(RECORD).is_file().then_some(JobFolder { path })
}

/// Every job of this user that is still known, newest first.
#[must_use]
pub fn all() -> Vec<(JobFolder, JobRecord)> {
    let mut found: Vec<(JobFolder, JobRecord)> =
        places().iter().filter(|place| is_ours(place)).flat_map(|place| jobs_in(place)).collect();
    found.sort_by_key(|(_, record)| std::cmp::Reverse(record.started_us));
    found
}

/// Microseconds since 1970.
#[must_use]
pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_micros() as u64)
}

fn jobs_in(place: &Path) -> Vec<(JobFolder, JobRecord)> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let folders = entries.flatten().map(|entry| JobFolder { path: entry.path() });
    folders.filter_map(|folder| folder.read().ok().map(|record| (folder, record))).collect()
}

/// Folders where jobs may be kept, best first.
fn places() -> Vec<PathBuf> {
    let user = nix::unistd::Uid::current();
    let own = format!("oomph-{user}");
    let named = std::env::var_os("OOMPH_BOXES").filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut places: Vec<PathBuf> = named.into_iter().collect();
    places.push(std::env::temp_dir().join(&own));
    places.extend(["/tmp", "/var/tmp"].map(|folder| Path::new(folder).join(&own)));
    places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(|folder| Path::new(&folder).join("oomph")));
    places.push(Path::new("/dev/shm").join(&own));
    let mut known = std::collections::BTreeSet::new();
    places.retain(|place| known.insert(place.clone()));
    places
}

/// Whether a folder is there, or can be made, and nobody else can reach into it.
fn is_usable(place: &Path) -> bool {
    let _ = DirBuilder::new().mode(0o700).create(place);
    is_ours(place) && tempfile::tempfile_in(place).is_ok()
}

fn is_ours(place: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(place) else { return false };
    found.is_dir() && found.uid() == nix::unistd::Uid::current().as_raw() && found.permissions().mode() & 0o022 == 0
}

/// What can still be written there.
fn room(place: &Path) -> u64 {
    nix::sys::statvfs::statvfs(place).map_or(0, |found| found.blocks_available() * found.fragment_size())
}

/// Sorted by name, jobs are sorted by time.
fn name_of(record: &JobRecord) -> String {
    format!("{:020}-{}", record.started_us, record.pid)
}

/// Removes the oldest jobs that have ended.
fn sweep(place: &Path) {
    let mut ended: Vec<(JobFolder, JobRecord)> =
        jobs_in(place).into_iter().filter(|(_, record)| !record.is_running()).collect();
    ended.sort_by_key(|(_, record)| std::cmp::Reverse(record.started_us));
    let mut kept_bytes = 0;
    for (at, (folder, _)) in ended.iter().enumerate() {
        kept_bytes += size_of(folder.path());
        // Processes that outlived their `oomph` still write to their boxes.
        let is_in_use =
            folder.boxes().iter().any(|path| oomph_box::BlackBox::open(path).is_ok_and(|found| found.is_alive()));
        if (at + 1 >= KEPT_JOBS || kept_bytes > KEPT_BYTES) && !is_in_use {
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}
