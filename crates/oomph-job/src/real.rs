//! A real run: the user's command started as a shell would start it, and looked after until it ends.
//!
//! The job lives in our process group and with our terminal, streams and working directory. Signals that the terminal
//! sends reach it by themselves; those that somebody sends to us are passed on. If we are killed, the job goes on.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::command::Command;
use crate::error::JobError;
use crate::jobs::{JobFolder, JobRecord};
use crate::library::Library;
use crate::variables::Variables;
use crate::{family, package};

/// How often the watch is asked.
const ROUND: Duration = Duration::from_millis(50);
/// Boxes in our own memory, where there is no folder for them.
const SPARE_BOXES: usize = 8;
const SPARE_BOX_BYTES: u64 = 4 << 20;

/// What the user wants of the allocator.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// What PyTorch may take of a card.
    pub limit_bytes: Option<u64>,
    /// Settings of PyTorch's allocator, as its environment variable takes them.
    pub allocator: Option<String>,
    /// Remedies that are put into the job, each an object with its name and its options.
    pub remedies: Vec<serde_json::Value>,
}

/// Whoever follows a run.
pub trait Follower {
    /// Called about every 50 ms while the job runs, with the boxes of its processes so far.
    fn look(&mut self, boxes: &[PathBuf]);
}

/// How a run ended.
#[derive(Debug)]
pub struct RealEnd {
    /// The first process's own end.
    pub status: ExitStatus,
    /// The boxes of all processes.
    pub boxes: Vec<PathBuf>,
}

impl RealEnd {
    /// The signal that ended it, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// What the Python side is told.
#[derive(Serialize)]
struct Settings<'a> {
    kind: &'static str,
    folder: &'a Path,
    spare_boxes: Vec<PathBuf>,
    box_bytes: u64,
    library: PathBuf,
    supervisor: u32,
    limit_bytes: u64,
    allocator: &'a str,
    remedies: &'a [serde_json::Value],
    hidden: std::collections::BTreeMap<&'static str, Option<String>>,
}

/// A run that was started.
pub struct RealRun {
    child: Child,
    folder: Option<JobFolder>,
    spare: Vec<std::os::fd::OwnedFd>,
    /// Where the Python side lies.
    package: Option<PathBuf>,
}

impl RealRun {
    /// A description of the run, for the folder of the job.
    #[must_use]
    pub fn describe(command: &Command, wishes: &Wishes) -> JobRecord {
        let (program, arguments) = command.words();
        let words = std::iter::once(program.into_os_string()).chain(arguments);
        let pid = std::process::id();
        JobRecord {
            format: 1,
            pid,
            start_ticks: family::start_ticks(pid).unwrap_or(0),
            command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
            name: command.name(),
            cwd: std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
            started_us: crate::jobs::now_us(),
            limit_bytes: wishes.limit_bytes,
            allocator: wishes.allocator.clone(),
            remedies: wishes.remedies.iter().filter_map(|choice| Some(choice["name"].as_str()?.to_owned())).collect(),
            ..JobRecord::default()
        }
    }

    /// Starts the command. Where it cannot be watched it runs all the same, and `problem` hears why.
    ///
    /// # Errors
    /// If there is nothing to start.
    pub fn start(
        command: &Command,
        wishes: &Wishes,
        folder: Option<(JobFolder, u64)>,
        problem: &mut dyn FnMut(String),
    ) -> Result<Self, JobError> {
        command.check()?;
        let (path, arguments) = command.words();
        let mut start = std::process::Command::new(&path);
        start.args(arguments);
        let mut run = Prepared::default();
        match run.prepare(wishes, folder) {
            Ok(variables) => {
                start.envs(variables.into_pairs());
            }
            Err(found) => problem(format!("the job runs without oomph: {found}")),
        }
        pass_signals_on();
        let child = start.spawn().map_err(|source| JobError::NoProgram { path, source })?;
        CHILD.store(child.id().cast_signed(), Ordering::Relaxed);
        Ok(Self { child, folder: run.folder, spare: run.spare, package: run.package })
    }

    /// The folder of the job, where there is one.
    #[must_use]
    pub fn folder(&self) -> Option<&JobFolder> {
        self.folder.as_ref()
    }

    /// The job's first process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The boxes of its processes so far.
    #[must_use]
    pub fn boxes(&self) -> Vec<PathBuf> {
        match &self.folder {
            Some(folder) => folder.boxes(),
            None => spare_paths(&self.spare),
        }
    }

    /// Looks after the job until its first process ends.
    ///
    /// # Errors
    /// If the system does not tell how it ended.
    pub fn follow(&mut self, follower: &mut dyn Follower) -> Result<RealEnd, JobError> {
        let status = loop {
            wait_a_little(self.child.id());
            let ended = self.child.try_wait()?;
            follower.look(&self.boxes());
            if let Some(status) = ended {
                break status;
            }
        };
        CHILD.store(0, Ordering::Relaxed);
        if let Some(package) = &self.package {
            let _ = std::fs::remove_dir_all(package);
        }
        Ok(RealEnd { status, boxes: self.boxes() })
    }
}

/// What was made ready before the start.
#[derive(Default)]
struct Prepared {
    folder: Option<JobFolder>,
    spare: Vec<std::os::fd::OwnedFd>,
    package: Option<PathBuf>,
}

impl Prepared {
    fn prepare(&mut self, wishes: &Wishes, folder: Option<(JobFolder, u64)>) -> Result<Variables, JobError> {
        let library = Library::Recorder.find()?;
        let box_bytes = folder.as_ref().map_or(SPARE_BOX_BYTES, |(_, bytes)| *bytes);
        self.folder = folder.map(|(folder, _)| folder);
        if self.folder.is_none() {
            self.spare = spare_boxes()?;
        }
        let place = self.folder.as_ref().map_or_else(std::env::temp_dir, |folder| folder.path().to_path_buf());
        let package = package::write(&place)?;
        self.package = Some(package.clone());
        let hidden = ["OOMPH_JOB", "PYTHONPATH"].map(|name| (name, std::env::var(name).ok()));
        let settings = Settings {
            kind: "run",
            folder: self.folder.as_ref().map_or(Path::new(""), JobFolder::path),
            spare_boxes: spare_paths(&self.spare),
            box_bytes,
            library,
            supervisor: std::process::id(),
            limit_bytes: wishes.limit_bytes.unwrap_or(0),
            allocator: wishes.allocator.as_deref().unwrap_or(""),
            remedies: &wishes.remedies,
            hidden: hidden.into_iter().collect(),
        };
        let mut variables = Variables::default();
        variables.set("OOMPH_JOB", serde_json::to_string(&settings)?);
        variables.put_before("PYTHONPATH", &package);
        Ok(variables)
    }
}

/// Files in our own memory, which any process of the same user can open as long as we live.
fn spare_boxes() -> Result<Vec<std::os::fd::OwnedFd>, JobError> {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    let one = || -> nix::Result<std::os::fd::OwnedFd> {
        let file = memfd_create(c"oomph-box", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&file, SPARE_BOX_BYTES.cast_signed())?;
        Ok(file)
    };
    let boxes: nix::Result<Vec<_>> = (0..SPARE_BOXES).map(|_| one()).collect();
    boxes.map_err(|problem| JobError::Folder(problem.into()))
}

fn spare_paths(spare: &[std::os::fd::OwnedFd]) -> Vec<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let supervisor = std::process::id();
    spare.iter().map(|file| format!("/proc/{supervisor}/fd/{}", file.as_raw_fd()).into()).collect()
}

/// Until the process ends, or for a round.
fn wait_a_little(pid: u32) {
    // SAFETY: plain system calls on a number and on memory of ours; the file is closed again.
    unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, pid, 0) as i32;
        if file < 0 {
            std::thread::sleep(ROUND);
            return;
        }
        let mut wanted = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
        libc::poll(&raw mut wanted, 1, ROUND.as_millis() as i32);
        libc::close(file);
    }
}

/// The job's first process, for the handler of signals; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Signals that end or steer a program and that people send by hand or by schedulers.
const PASSED_ON: [i32; 7] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Passes signals on that a process sends to us; what the terminal sends, the job gets by itself.
fn pass_signals_on() {
    for signal in PASSED_ON {
        // SAFETY: the handler makes one system call and touches one atomic number, which is allowed in one.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            // Under `nohup` and the like the job is to ignore it too.
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = pass_on as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn pass_on(signal: i32, about: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let child = CHILD.load(Ordering::Relaxed);
    // SAFETY: the kernel gives a valid description; `kill` may be called in a handler.
    unsafe {
        let is_sent_by_process = (*about).si_code <= 0;
        if is_sent_by_process && child > 0 {
            libc::kill(child, signal);
        }
    }
}

/// Ends this process by the signal that ended the job, so that whoever waits for us sees the same.
pub fn die_by(signal: i32) -> ! {
    // SAFETY: plain system calls.
    unsafe {
        // The job has left its own core, if any.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}
