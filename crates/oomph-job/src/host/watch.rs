//! Looks at the job now and then, and remembers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oomph_trace::host::{HostEnd, HostHistory, HostMachine, HostPoint, HostProcess, HostRole, HostSample, HostTold};

use super::cgroup::Cgroup;
use super::family::Family;
use super::machine;
use super::reading::{resident, role, rollup};
use crate::stat::Stat;

/// How often the job is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often what is dear is read at least.
const ROLLUP: Duration = Duration::from_secs(10);
/// What is dear may take this part of the time, where memory rises and it is wanted sooner.
const ROLLUP_SHARE: u32 = 100;
/// Memory rises, if by so many hundredths since what is dear was read.
const RISE_PERCENT: u64 = 10;
/// Looks after which a process has become what it will be: a forked worker gets its name, a shell starts its program.
const SETTLED_LOOKS: u32 = 10;
/// How often the history is written down while all is well.
const SAVE: Duration = Duration::from_secs(10);
/// Less than this part of the memory left, and every look is written down: it may be the last.
const TIGHT_SHARE: u64 = 10;

/// Watches the host memory of one job.
#[derive(Debug)]
pub struct HostWatch {
    family: Family,
    cgroup: Option<Cgroup>,
    history: HostHistory,
    /// By pid, the processes that run.
    running: BTreeMap<u32, Running>,
    told: BTreeMap<u32, HostTold>,
    began: Instant,
    looked: Option<Instant>,
    rolled_up: Option<Instant>,
    /// How long what is dear took the last time.
    rollup_cost: Duration,
    /// Resident bytes of all when it was read, and what the cgroup or the machine held.
    rollup_held_bytes: (u64, u64),
    next_number: u32,
    file: Option<PathBuf>,
    saved: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    number: u32,
    looks: u32,
    role: HostRole,
}

impl HostWatch {
    /// Watches a job from its first process on. Its cgroup is that of this process now, so a job that is to be moved
    /// into another must be there already.
    #[must_use]
    pub fn new(root_pid: u32) -> Self {
        let cgroup = Cgroup::of(root_pid).or_else(|| Cgroup::of(std::process::id()));
        let history = HostHistory::new(machine::limits(cgroup.as_ref()), machine::now(cgroup.as_ref()));
        Self {
            family: Family::new(root_pid),
            cgroup,
            history,
            running: BTreeMap::new(),
            told: BTreeMap::new(),
            began: Instant::now(),
            looked: None,
            rolled_up: None,
            rollup_cost: Duration::ZERO,
            rollup_held_bytes: (0, 0),
            next_number: 0,
            file: None,
            saved: None,
        }
    }

    /// Counts every child of this process as one of the job: it supervises nothing else, and gets those whose parents
    /// have ended.
    #[must_use]
    pub fn adopting_orphans(mut self) -> Self {
        self.family.adopt(std::process::id());
        self
    }

    /// Keeps the history in a file, so that it can be read when everything is killed.
    #[must_use]
    pub fn saving_to(mut self, path: &Path) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    /// What a process says of itself, for the samples from now on.
    pub fn tell(&mut self, pid: u32, told: HostTold) {
        self.told.insert(pid, told);
    }

    /// How a process ended, from whoever waited for it.
    pub fn ended(&mut self, pid: u32, end: HostEnd) {
        if let Some(process) = self.history.by_pid(pid) {
            let number = process.number;
            self.history.end_process(number, self.time_ms(Instant::now()), Some(end));
        }
    }

    /// What was seen so far.
    #[must_use]
    pub fn history(&self) -> &HostHistory {
        &self.history
    }

    /// Looks at the job if a second has passed since the last time; returns whether it did.
    pub fn sample(&mut self, now: Instant) -> bool {
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
            return false;
        }
        self.looked = Some(now);
        let time_ms = self.time_ms(now);
        let look = self.family.look();
        for (pid, last) in look.ended {
            self.note_end(pid, last, time_ms);
        }
        let mut points: Vec<(u32, HostPoint)> = Vec::with_capacity(look.running.len());
        for (stat, is_new) in look.running {
            let process = self.know(&stat, is_new, time_ms);
            let Some((resident_bytes, shared_bytes)) = resident(stat.pid) else { continue };
            let told = self.told.get(&stat.pid).copied();
            // A new process is read at once: of a copy of another process only this says what is its own.
            let rollup = if is_new { rollup(stat.pid) } else { None };
            points.push((stat.pid, HostPoint { process, resident_bytes, shared_bytes, rollup, told }));
        }
        let machine = machine::now(self.cgroup.as_ref());
        self.roll_up(&mut points, &machine, now);
        if !points.is_empty() {
            let points = points.into_iter().map(|(_, point)| point).collect();
            self.history.push(HostSample { time_ms, machine, points });
        }
        self.save_if_due(now);
        true
    }

    /// Looks a last time at what the kernel has counted, after the first process has ended as said.
    pub fn close(&mut self, end: Option<HostEnd>) {
        let time_ms = self.time_ms(Instant::now());
        for (pid, last) in self.family.look().ended {
            self.note_end(pid, last, time_ms);
        }
        if let Some(end) = end {
            self.ended(self.family.root(), end);
        }
        self.history.close(machine::now(self.cgroup.as_ref()));
        self.save();
    }

    fn time_ms(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_millis() as u64
    }

    fn note_end(&mut self, pid: u32, last: Option<Stat>, time_ms: u64) {
        self.told.remove(&pid);
        if let Some(gone) = self.running.remove(&pid) {
            self.history.end_process(gone.number, time_ms, last.and_then(|stat| stat.end));
        }
    }

    /// The number of a process that runs; says what it is, while that may still change.
    fn know(&mut self, stat: &Stat, is_new: bool, time_ms: u64) -> u32 {
        let known = self.running.get(&stat.pid).copied().filter(|_| !is_new);
        let looks = known.map_or(0, |known| known.looks + 1);
        let number = known.map_or(self.next_number, |known| known.number);
        let mut process_role = known.map_or(HostRole::Other, |known| known.role);
        if known.is_none() {
            self.next_number += 1;
        }
        if looks <= SETTLED_LOOKS && process_role != HostRole::Worker {
            let before = self.history.process(number);
            let from_ms = before.map_or(time_ms, |process| process.from_ms);
            // Orphans get another parent.
            let parent = before.map_or(stat.parent, |process| process.parent);
            let is_root = self.family.root() == stat.pid;
            process_role = if is_root { HostRole::Main } else { role(stat, parent).unwrap_or(process_role) };
            self.history.add_process(HostProcess {
                number,
                pid: stat.pid,
                parent,
                name: stat.name.clone(),
                role: process_role,
                from_ms,
                ..HostProcess::default()
            });
        }
        self.running.insert(stat.pid, Running { number, looks, role: process_role });
        number
    }

    /// Reads what is dear for all processes, if it is time.
    fn roll_up(&mut self, points: &mut [(u32, HostPoint)], machine: &HostMachine, now: Instant) {
        let resident_bytes: u64 = points.iter().map(|(_, point)| point.resident_bytes).sum();
        let used_bytes = self.history.limits().total_bytes.saturating_sub(machine.available_bytes);
        // A worker that copies what it shared holds no more resident bytes, but its cgroup does.
        let held_bytes = (resident_bytes, machine.cgroup_bytes.unwrap_or(used_bytes));
        let passed = self.rolled_up.map(|at| now.saturating_duration_since(at));
        let rises = |now: u64, then: u64| now.saturating_mul(100) > then.saturating_mul(100 + RISE_PERCENT);
        let has_risen = rises(held_bytes.0, self.rollup_held_bytes.0) || rises(held_bytes.1, self.rollup_held_bytes.1);
        let is_due = passed.is_none_or(|passed| {
            let is_affordable = passed >= self.rollup_cost * ROLLUP_SHARE;
            is_affordable && (passed >= ROLLUP || has_risen || self.is_tight())
        });
        if !is_due {
            return;
        }
        let started = Instant::now();
        for (pid, point) in points.iter_mut().filter(|(_, point)| point.rollup.is_none()) {
            point.rollup = rollup(*pid);
        }
        self.rollup_cost = started.elapsed();
        self.rolled_up = Some(now);
        self.rollup_held_bytes = held_bytes;
    }

    /// Whether little memory is left.
    fn is_tight(&self) -> bool {
        let (limits, machine) = (self.history.limits(), self.history.after());
        let is_machine_full = machine.available_bytes < limits.total_bytes / TIGHT_SHARE;
        let cgroup = limits.cgroup_limit_bytes.zip(machine.cgroup_bytes);
        is_machine_full || cgroup.is_some_and(|(limit, held)| limit.saturating_sub(held) < limit / TIGHT_SHARE)
    }

    fn save_if_due(&mut self, now: Instant) {
        let is_due = self.saved.is_none_or(|saved| now.saturating_duration_since(saved) >= SAVE);
        if is_due || self.is_tight() {
            self.saved = Some(now);
            self.save();
        }
    }

    /// Writes the history down, whole or not at all. A full disk is no reason to disturb the job: the history is still
    /// in memory, and what is missing is the copy for the case that this process is killed too.
    fn save(&self) {
        let Some(path) = &self.file else { return };
        let folder = path.parent().unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(self.history.lines().as_bytes())?;
            file.persist(path)?;
            Ok(())
        };
        let _ = write();
    }
}
