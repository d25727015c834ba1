//! Real processes that the kernel kills for memory, in a cgroup of their own, and others that are killed for no memory.
//!
//! Needs the right to make a cgroup, and a Python: `OOMPH_TEST_PYTHON`, or the repository's `.venv`. Without them the
//! tests say so and pass; verdicts on counters that were written down are tested beside the code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot be tried here says so")]

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oomph_explain::host::{Counter, HostAccount, HostCause, HostFacts, HostVerdict, Recognition, host_verdict};
use oomph_job::host::{HostEnd, HostHistory, HostProcess, HostRole, HostWatch};

const MIB: u64 = 1 << 20;

/// A cgroup below that of this process, removed at the end.
struct Cgroup(PathBuf);

impl Cgroup {
    /// None where this process may not make one.
    fn new(name: &str, limit_bytes: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let place = |line: &str| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let mount = match controllers {
                "" => "/sys/fs/cgroup",
                _ if controllers.split(',').any(|controller| controller == "memory") => "/sys/fs/cgroup/memory",
                _ => return None,
            };
            let folder = Path::new(mount).join(path.trim_start_matches('/'));
            let folder = folder.join(format!("oomph-test-{name}-{}", std::process::id()));
            std::fs::create_dir(&folder).ok()?;
            let cgroup = Self(folder);
            let is_limited = ["memory.max", "memory.limit_in_bytes"].iter().any(|file| {
                let file = cgroup.0.join(file);
                file.exists() && std::fs::write(file, limit_bytes.to_string()).is_ok()
            });
            is_limited.then_some(cgroup)
        };
        own.lines().find_map(place)
    }

    /// Ends whoever is still in it.
    fn end_all(&self) {
        let left = std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for pid in left.lines() {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.end_all();
        // What was killed takes a moment to be gone.
        let is_gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            std::fs::remove_dir(&self.0).is_ok()
        });
        assert!(is_gone || std::thread::panicking(), "{} is left", self.0.display());
    }
}

fn python() -> Option<PathBuf> {
    let named = std::env::var_os("OOMPH_TEST_PYTHON").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    named.or(Some(own)).filter(|path| path.exists())
}

/// A job in a cgroup, watched to its end.
struct Ran {
    history: HostHistory,
    facts: HostFacts,
    _cgroup: Cgroup,
}

impl Ran {
    fn verdict(&self) -> Option<HostVerdict> {
        host_verdict(&self.history, &self.facts)
    }
}

/// Runs a script in a cgroup of its own and watches it; none where that cannot be done here.
fn run(name: &str, limit_bytes: u64, script: &str, during: impl Fn(&Child, &HostWatch)) -> Option<Ran> {
    let (Some(python), Some(cgroup)) = (python(), Cgroup::new(name, limit_bytes)) else {
        eprintln!("there is no Python here, or no cgroup can be made: not tried");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let (job, file) = (folder.path().join("job.py"), folder.path().join("host.jsonl"));
    std::fs::write(&job, script).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", r#"echo $$ > "$0/cgroup.procs" && echo && exec "$1" -W ignore "$2""#])
        .args([&cgroup.0, &python, &job])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line says that it is where it belongs.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let mut watch = HostWatch::new(child.id()).saving_to(&file);
    let started = Instant::now();
    let status = loop {
        watch.sample(Instant::now());
        during(&child, &watch);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < Duration::from_mins(4), "it goes on for ever");
        std::thread::sleep(Duration::from_millis(20));
    };
    let end = status.signal().map_or_else(|| HostEnd::Exit(status.code().unwrap_or(0)), HostEnd::Signal);
    watch.close(Some(end));
    // Whoever is left holds the other end of the pipe.
    cgroup.end_all();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    let saved = HostHistory::from_lines(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(saved.peaks(), watch.history().peaks(), "what is saved is what was seen");
    let facts = HostFacts { messages: vec![(child.id(), message)], ..HostFacts::default() };
    Some(Ran { history: saved, facts, _cgroup: cgroup })
}

#[test]
fn a_list_that_fills_the_cgroup_is_found_and_its_process_named() {
    let script = "\
import time
kept = []
while True:
    kept.append(bytes(range(256)) * 40_000)
    time.sleep(0.15)
";
    let Some(ran) = run("grows", 300 * MIB, script, |_, _| {}) else { return };
    let verdict = ran.verdict().expect("the kernel killed it");
    assert!(matches!(verdict.recognition, Recognition::Killed { counter: Counter::Cgroup, .. }), "{verdict:?}");
    assert_eq!(verdict.cause, HostCause::ProcessGrows, "{}", verdict.summary);
    let main = ran.history.processes().find(|process| process.role == HostRole::Main).expect("it was seen");
    assert_eq!(verdict.pid, Some(main.pid));
    assert!(verdict.summary.contains("the 300.00MiB that its cgroup allows was used up"), "{}", verdict.summary);
    assert!((150 * MIB..300 * MIB).contains(&verdict.bytes), "{}", verdict.summary);
    assert_eq!(verdict.account.oom_kills, 1);
}

#[test]
fn processes_that_copy_what_they_share_are_found() {
    let script = "\
import os, time
rows = [{'id': i, 'score': i / 7, 'text': f'row number {i}'} for i in range(500_000)]
for child in range(4):
    if os.fork() == 0:
        for first in range(0, 500_000, 10_000):
            sum(row['id'] + row['score'] + len(row['text']) for row in rows[first : first + 10_000])
            time.sleep(0.15)
        time.sleep(10)
        os._exit(0)
time.sleep(15)
";
    let Some(ran) = run("copies", 550 * MIB, script, |_, _| {}) else { return };
    let verdict = ran.verdict().expect("the kernel killed one of them");
    assert_eq!(verdict.cause, HostCause::WorkerCopies, "{}\n{:?}", verdict.summary, verdict.account);
    assert!(verdict.summary.contains("4 forked processes held"), "{}", verdict.summary);
    let copies = verdict.account.rows.iter().find(|row| row.role == HostRole::Forked).expect("they were seen");
    assert!(copies.growth.risen_bytes < copies.peak_private_bytes / 10, "resident from the start: {copies:?}");
}

#[test]
fn workers_of_a_loader_are_known_and_what_they_copy_is_their_own() {
    // The workers go on for longer than the time after which what is private is read again, however fast they copy.
    let script = "\
import time
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.rows = [{'id': i, 'score': i / 7, 'text': f'row number {i}'} for i in range(200_000)]
    def __len__(self):
        return 2000
    def __getitem__(self, index):
        first = index * 5000 % 195_000
        time.sleep(0.025)
        return sum(row['id'] + row['score'] + len(row['text']) for row in self.rows[first : first + 5000])

for batch in DataLoader(Rows(), batch_size=8, num_workers=4):
    pass
";
    let Some(ran) = run("loader", 4000 * MIB, script, |_, _| {}) else { return };
    assert!(ran.verdict().is_none(), "nothing ran out");
    let account = HostAccount::of(&ran.history);
    let workers = account.rows.iter().find(|row| row.role == HostRole::Worker).expect("they have a name of their own");
    assert_eq!(workers.count, 4);
    assert!(workers.peak_private_bytes > 4 * 20 * MIB, "{account:?}");
    assert!(workers.growth.risen_bytes < workers.peak_private_bytes / 4, "resident from the start: {account:?}");
}

#[test]
fn a_kill_that_memory_did_not_ask_for_is_none_of_it() {
    let script = "import time\nkept = bytes(range(256)) * 400_000\ntime.sleep(60)\n";
    let kill_when_seen = |child: &Child, watch: &HostWatch| {
        let is_large = watch.history().peaks().resident_bytes > 100 * MIB;
        if is_large {
            let _ = Command::new("kill").args(["-9", &child.id().to_string()]).status();
        }
    };
    let Some(ran) = run("killed", 400 * MIB, script, kill_when_seen) else { return };
    assert!(ran.history.processes().any(HostProcess::was_killed));
    assert!(ran.verdict().is_none());
}

#[test]
fn memory_that_is_refused_is_told_with_its_line() {
    let script = "\
import torch

def build():
    return torch.empty(10 ** 13)

build()
";
    let Some(ran) = run("refused", 2000 * MIB, script, |_, _| {}) else { return };
    let verdict = ran.verdict().expect("the allocator was refused");
    assert_eq!(verdict.cause, HostCause::RequestTooLarge, "{}", verdict.summary);
    let (file, line) = verdict.place.expect("the traceback says it");
    assert!(file.ends_with("job.py") && line == 4, "{file}:{line}");
    assert_eq!(verdict.bytes, 40_000_000_000_000);
}
