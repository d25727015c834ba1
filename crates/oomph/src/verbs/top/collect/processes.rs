//! Processes as `/proc` shows them.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use nix::unistd::{Uid, User};

use crate::verbs::top::scene::{CardUse, Job, Process, Status};

/// Looking for new children reads all of `/proc`: not every second.
const FAMILY_EVERY_US: u64 = 5_000_000;
/// The number of the first namespace of processes, the same in every kernel: there the driver's numbers are ours.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// A process that somebody names.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Whether the driver does, which knows numbers of the host only.
    pub(super) is_from_driver: bool,
    /// When it was started, where that is known.
    pub(super) start_ticks: Option<u64>,
    pub(super) cards: Vec<CardUse>,
    pub(super) job: Option<String>,
}

/// What does not change while a process lives.
#[derive(Clone, Debug)]
struct Known {
    start_ticks: u64,
    user: Option<String>,
    is_own: bool,
    command: String,
    /// Whether it may be one that the driver means.
    may_use_cards: bool,
}

/// What `/proc/PID/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    start_ticks: u64,
    resident_bytes: u64,
}

/// Remembers processes from look to look.
pub(super) struct Processes {
    known: BTreeMap<u32, Known>,
    /// Every process below a running job, and which.
    family: BTreeMap<u32, String>,
    family_read_us: u64,
    is_first_namespace: bool,
    page_bytes: u64,
}

impl Processes {
    pub(super) fn new() -> Self {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let page_bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
        Self {
            known: BTreeMap::new(),
            family: BTreeMap::new(),
            family_read_us: 0,
            is_first_namespace: namespace.to_str() == Some(FIRST_NAMESPACE),
            page_bytes: page_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4096),
        }
    }

    /// Every process that is wanted, and those below running jobs.
    pub(super) fn look(&mut self, at_us: u64, wanted: &BTreeMap<u32, Wanted>, jobs: &[Job]) -> Vec<Process> {
        self.find_family(at_us, jobs);
        let below = self.family.iter().filter(|(pid, _)| !wanted.contains_key(pid));
        let below: Vec<(u32, Wanted)> =
            below.map(|(&pid, job)| (pid, Wanted { job: Some(job.clone()), ..Wanted::default() })).collect();
        let all = wanted.iter().map(|(&pid, one)| (pid, one.clone())).chain(below);
        let found: Vec<Process> = all.filter_map(|(pid, one)| self.describe(pid, one)).collect();
        self.known.retain(|pid, _| found.iter().any(|process| process.pid == *pid));
        found
    }

    fn describe(&mut self, pid: u32, wanted: Wanted) -> Option<Process> {
        let stat = self.stat(pid).filter(|stat| wanted.start_ticks.is_none_or(|ticks| ticks == stat.start_ticks));
        let known = stat.map(|stat| self.know(pid, stat).clone());
        // In a container the driver's numbers are those outside of it: one of ours with that number is another.
        let is_it = |known: &Known| self.is_first_namespace || !wanted.is_from_driver || known.may_use_cards;
        match (stat, known) {
            (Some(stat), Some(known)) if wanted.job.is_some() || is_it(&known) => Some(Process {
                pid,
                start_ticks: Some(stat.start_ticks),
                parent: Some(stat.parent),
                user: known.user,
                is_own: known.is_own,
                command: known.command,
                resident_bytes: Some(stat.resident_bytes),
                cards: wanted.cards,
                job: wanted.job,
            }),
            _ if wanted.is_from_driver => Some(Process { pid, cards: wanted.cards, ..Process::default() }),
            _ => None,
        }
    }

    fn know(&mut self, pid: u32, stat: Stat) -> &Known {
        let is_other = |known: &Known| known.start_ticks != stat.start_ticks;
        if self.known.get(&pid).is_some_and(is_other) {
            self.known.remove(&pid);
        }
        let is_first_namespace = self.is_first_namespace;
        self.known.entry(pid).or_insert_with(|| {
            let uid = std::fs::metadata(format!("/proc/{pid}")).map(|found| Uid::from_raw(found.uid())).ok();
            Known {
                start_ticks: stat.start_ticks,
                user: uid.map(name_of),
                is_own: uid == Some(Uid::current()),
                command: command_of(pid),
                may_use_cards: is_first_namespace || maps_cuda(pid),
            }
        })
    }

    fn stat(&self, pid: u32) -> Option<Stat> {
        parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, self.page_bytes)
    }

    /// Finds everything below running jobs, now and then.
    fn find_family(&mut self, at_us: u64, jobs: &[Job]) {
        let running: BTreeMap<u32, &str> =
            jobs.iter().filter(|job| job.status == Status::Running).map(|job| (job.pid, job.id.as_str())).collect();
        if running.is_empty() {
            self.family.clear();
            return;
        }
        let is_known = running.keys().all(|pid| self.family.contains_key(pid));
        if is_known && at_us.saturating_sub(self.family_read_us) < FAMILY_EVERY_US {
            return;
        }
        self.family_read_us = at_us;
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, self.stat(pid)?.parent))).collect();
        self.family = parents.keys().filter_map(|&pid| Some((pid, job_above(pid, &parents, &running)?))).collect();
    }
}

/// The job that a process, or one of those that started it, belongs to.
fn job_above(pid: u32, parents: &BTreeMap<u32, u32>, running: &BTreeMap<u32, &str>) -> Option<String> {
    let mut at = pid;
    // What was read one after the other may form a circle.
    for _ in 0..64 {
        if let Some(job) = running.get(&at) {
            return Some((*job).to_owned());
        }
        at = *parents.get(&at)?;
    }
    None
}

fn parse(stat: &str, page_bytes: u64) -> Option<Stat> {
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        start_ticks: number(19)?,
        resident_bytes: number(21)?.saturating_mul(page_bytes),
    })
}

fn name_of(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

/// The command line, or where there is none the name that the kernel has.
fn command_of(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|&byte| byte == 0).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim());
    }
    words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a library of CUDA's is mapped into a process.
fn maps_cuda(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.windows(4).any(|part| part == b"cuda"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let rest = "S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1000 25 18446744073709551615";
        let expected = Stat { parent: 7, start_ticks: 4711, resident_bytes: 25 * 4096 };
        assert_eq!(parse(&format!("12 (a) b) {rest}"), 4096), Some(expected));
        assert_eq!(parse(&format!("12 (x) {}", rest.replacen('S', "Z", 1)), 4096), None);
        assert_eq!((parse("", 1), parse("12 (x) S 7", 1)), (None, None));
    }

    #[test]
    fn descendants_belong_to_the_job_above_them() {
        let parents = BTreeMap::from([(5, 1), (6, 5), (7, 6), (8, 1), (9, 10), (10, 9)]);
        let running = BTreeMap::from([(5, "job")]);
        let job = |pid| job_above(pid, &parents, &running);
        assert_eq!((job(5), job(7)), (Some("job".to_owned()), Some("job".to_owned())));
        assert_eq!((job(8), job(9), job(99)), (None, None, None));
    }

    #[test]
    fn this_process_is_found_and_one_with_another_start_is_not() {
        let mut processes = Processes::new();
        let pid = std::process::id();
        let mut wanted = BTreeMap::from([(pid, Wanted { job: Some("job".to_owned()), ..Wanted::default() })]);
        let found = processes.look(1, &wanted, &[]);
        assert!(found[0].is_own && found[0].resident_bytes > Some(0) && !found[0].command.is_empty());
        wanted.insert(pid, Wanted { start_ticks: Some(1), ..Wanted::default() });
        assert!(processes.look(2, &wanted, &[]).is_empty());
        let from_driver = Wanted { is_from_driver: true, start_ticks: Some(1), ..Wanted::default() };
        let found = processes.look(3, &BTreeMap::from([(pid, from_driver)]), &[]);
        assert_eq!((found.len(), found[0].start_ticks), (1, None), "a process that cannot be seen from here");
    }
}
