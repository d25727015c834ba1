//! Looks at the machine: the driver, `/proc`, and the boxes of jobs. Here is all that is not pure.

mod follower;
mod host;
mod inside;
mod jobs;
mod processes;

use std::collections::BTreeMap;

use oomph_device::{DeviceError, DriverVersion, Monitor, SystemMemory};
use oomph_job::jobs::now_us;

use self::follower::Follower;
use self::jobs::Jobs;
use self::processes::{Processes, Wanted};
use super::scene::{CardUse, Driver, FORMAT, Job, Scene, Status};

/// How closely jobs are looked at: what holds memory takes reading every live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail<'a> {
    /// No job from inside.
    Few,
    /// This one.
    Job(&'a str),
    /// Every one that runs, and of those that have ended the last.
    All,
}

impl Detail<'_> {
    fn includes(self, id: &str) -> bool {
        match self {
            Self::Few => false,
            Self::Job(wanted) => wanted == id,
            Self::All => true,
        }
    }
}

/// Looks at the machine again and again; what does not change is asked for once.
pub(super) struct Collector {
    monitor: Result<Monitor, DeviceError>,
    version: DriverVersion,
    host_name: Option<String>,
    jobs: Jobs,
    processes: Processes,
}

impl Collector {
    pub(super) fn new() -> Self {
        let monitor = Monitor::open();
        let version = monitor.as_ref().map(Monitor::version).unwrap_or_default();
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        Self {
            monitor,
            version,
            host_name: host_name.map(|name| name.trim().to_owned()),
            jobs: Jobs::default(),
            processes: Processes::new(),
        }
    }

    /// What is there now.
    pub(super) fn look(&mut self, detail: Detail) -> Scene {
        let at_us = now_us();
        let (cards, problem) = match self.monitor.as_ref().map(Monitor::cards) {
            Ok(Ok(cards)) => (cards, None),
            Ok(Err(problem)) => (Vec::new(), Some(problem)),
            Err(problem) => (Vec::new(), Some(problem.clone())),
        };
        let mut jobs = self.jobs.look(at_us, &cards, detail);
        let wanted = wanted(&cards, &jobs);
        let processes = self.processes.look(at_us, &wanted, &jobs);
        host::add(&mut jobs, &processes);
        Scene {
            format: FORMAT,
            at_us,
            host_name: self.host_name.clone(),
            system: SystemMemory::now(),
            driver: Driver {
                version: self.version.driver.clone(),
                cuda: self.version.cuda.clone(),
                problem: problem.as_ref().map(ToString::to_string),
                hint: problem.map(|problem| problem.hint().to_owned()),
            },
            cards,
            processes,
            jobs,
        }
    }
}

/// The processes that somebody names: the driver those on its cards, jobs their own.
fn wanted(cards: &[oomph_device::Card], jobs: &[Job]) -> BTreeMap<u32, Wanted> {
    let mut wanted: BTreeMap<u32, Wanted> = BTreeMap::new();
    // What runs on an instance is listed with its card too.
    let divided = |index: u32| cards.iter().any(|card| card.index == index && card.is_divided);
    for card in cards.iter().filter(|card| card.instance.is_some() || !divided(card.index)) {
        for process in card.processes.iter().flatten() {
            let one = wanted.entry(process.pid).or_default();
            one.is_from_driver = true;
            one.cards.push(CardUse {
                index: card.index,
                instance: card.instance,
                used_bytes: process.used_bytes,
                is_own_account: false,
            });
        }
    }
    for job in jobs.iter().filter(|job| job.status == Status::Running) {
        wanted.entry(job.pid).or_default().job = Some(job.id.clone());
        for process in job.processes.iter().filter(|process| process.status == Status::Running) {
            let one = wanted.entry(process.pid).or_default();
            one.job = Some(job.id.clone());
            one.start_ticks = Some(process.start_ticks);
            for device in &process.devices {
                let Some(index) = device.card else { continue };
                if one.cards.iter().all(|used| used.index != index) {
                    let used_bytes = Some(device.reserved_bytes);
                    one.cards.push(CardUse { index, instance: None, used_bytes, is_own_account: true });
                }
            }
        }
    }
    wanted
}
