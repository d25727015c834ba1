//! Jobs of `oomph run`, from their folders and boxes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oomph_box::{BlackBox, DeviceState, EndedHow, Phase};
use oomph_device::{Card, uuid_matches};
use oomph_job::jobs::{self, JobFolder, JobRecord};
use oomph_plan::promise::{Promise, PromisedPeaks};

use super::{Detail, Follower, host};
use crate::verbs::top::scene::{DeviceUse, HostMemory, Job, JobProcess, Promised, Status};

/// Remembers jobs from look to look.
#[derive(Default)]
pub(super) struct Jobs {
    followers: BTreeMap<PathBuf, Follower>,
    /// Jobs that have ended do not change any more.
    ended: BTreeMap<String, Job>,
    peaks: BTreeMap<String, Option<u64>>,
}

impl Jobs {
    /// Every job that is known, newest first.
    pub(super) fn look(&mut self, at_us: u64, cards: &[Card], detail: Detail) -> Vec<Job> {
        let found: Vec<Job> =
            jobs::all().iter().map(|(folder, record)| self.one(folder, record, at_us, cards, detail)).collect();
        let is_there = |id: &str| found.iter().any(|job| job.id == id);
        self.ended.retain(|id, _| is_there(id));
        self.peaks.retain(|id, _| is_there(id));
        self.followers.retain(|path, _| path.exists());
        found
    }

    fn one(&mut self, folder: &JobFolder, record: &JobRecord, at_us: u64, cards: &[Card], detail: Detail) -> Job {
        let id = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_detailed = detail.includes(&id);
        let is_complete = |job: &&Job| !is_detailed || job.processes.iter().all(|process| process.inside.is_some());
        if let Some(job) = self.ended.get(&id).filter(is_complete) {
            return job.clone();
        }
        let processes = self.processes(folder, at_us, cards, is_detailed);
        let mut job = describe(id, record, processes);
        let is_running = job.status == Status::Running;
        job.host = if is_running {
            self.host_of_running(&job, folder.path(), is_detailed)
        } else {
            host::last_words(folder.path())
        };
        job.host.cpu_tensor_bytes = job.processes.iter().map(|process| process.cpu_tensor_bytes).sum();
        job.host.pinned_bytes = job.processes.iter().map(|process| process.pinned_bytes).sum();
        if !is_running {
            self.followers.retain(|path, _| !path.starts_with(folder.path()));
            self.ended.insert(job.id.clone(), job.clone());
        }
        job
    }

    /// What is added up later, and what the supervisor wrote about it where somebody looks.
    fn host_of_running(&mut self, job: &Job, folder: &Path, is_detailed: bool) -> HostMemory {
        let mut found = if is_detailed { host::last_words(folder) } else { HostMemory::default() };
        let peak = self.peaks.entry(job.id.clone()).or_default();
        *peak = (*peak).max(found.resident_peak_bytes);
        found.resident_peak_bytes = *peak;
        found
    }

    fn processes(&mut self, folder: &JobFolder, at_us: u64, cards: &[Card], is_detailed: bool) -> Vec<JobProcess> {
        let paths = folder.boxes();
        // A box that cannot be read, or is being made, is left out: the next look may find it.
        let boxes = paths.into_iter().filter_map(|path| BlackBox::open(&path).ok().map(|found| (path, found)));
        boxes
            .map(|(path, the_box)| {
                let follower = self.followers.entry(path).or_default();
                process(&the_box, follower, at_us, cards, is_detailed)
            })
            .collect()
    }
}

fn describe(id: String, record: &JobRecord, processes: Vec<JobProcess>) -> Job {
    let is_running = record.is_running() || processes.iter().any(|process| process.status == Status::Running);
    let ran_out = processes.iter().any(|process| process.status == Status::OutOfMemory);
    let status = match (is_running, record.exit_code, record.signal) {
        (true, ..) => Status::Running,
        (false, Some(0), None) => Status::Finished,
        (false, ..) if ran_out => Status::OutOfMemory,
        (false, Some(_), None) => Status::Failed,
        (false, ..) => Status::Killed,
    };
    let total_bytes = processes.iter().flat_map(|process| &process.devices).map(|device| device.total_bytes).max();
    Job {
        id,
        name: record.name.clone(),
        command: record.command.clone(),
        cwd: record.cwd.clone(),
        pid: record.pid,
        start_ticks: record.start_ticks,
        status,
        exit_code: record.exit_code,
        signal: record.signal,
        started_us: record.started_us,
        ended_us: record.ended_us,
        allocator: record.allocator.clone(),
        promised: promised(record, total_bytes.unwrap_or(0)),
        host: HostMemory::default(),
        processes,
    }
}

fn promised(record: &JobRecord, card_bytes: u64) -> Vec<Promised> {
    let promise = record.promise.clone().and_then(|value| serde_json::from_value::<Promise>(value).ok());
    let Some(promise) = promise else { return Vec::new() };
    let peaks = promise.on_card_of(card_bytes).map(|trial| trial.peaks.as_slice()).unwrap_or_default();
    let one = |peaks: &PromisedPeaks| Promised {
        rank: peaks.rank,
        device: peaks.device,
        allocated_bytes: peaks.allocated_bytes,
        reserved_bytes: peaks.reserved_bytes,
    };
    peaks.iter().map(one).collect()
}

fn process(the_box: &BlackBox, follower: &mut Follower, at_us: u64, cards: &[Card], is_detailed: bool) -> JobProcess {
    let (about, state, devices) = (the_box.process(), the_box.state(), the_box.devices());
    let is_alive = the_box.is_alive() && state.ended.is_none();
    if is_alive {
        follower.follow(the_box, &devices);
    }
    let status = match state.ended.map(|ended| (ended.how, ended.exit_code)) {
        None if is_alive => Status::Running,
        None => Status::Killed,
        Some((Some(EndedHow::OutOfMemory), _)) => Status::OutOfMemory,
        Some((Some(EndedHow::Exception), _)) => Status::Failed,
        Some((Some(EndedHow::Exit), code)) if code != 0 => Status::Failed,
        Some(_) => Status::Finished,
    };
    JobProcess {
        pid: about.pid,
        start_ticks: about.start_ticks,
        status,
        step: state.step,
        batches: state.batches,
        phase: phase(state.phase).to_owned(),
        steps_per_minute: if is_alive { follower.steps_per_minute(at_us) } else { None },
        devices: devices
            .iter()
            .filter(|device| is_used(device))
            .map(|device| device_use(device, follower, cards, is_alive))
            .collect(),
        cpu_tensor_bytes: the_box.host().cpu_tensor_bytes,
        pinned_bytes: the_box.host().pinned_bytes,
        inside: is_detailed.then(|| follower.places.inside(the_box)),
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Setup => "setup",
        Phase::Forward => "forward",
        Phase::Backward => "backward",
        Phase::Optimizer => "optimizer",
        Phase::Evaluation => "evaluation",
    }
}

/// Whether PyTorch ever took memory of a device; a process knows of all that it may use.
fn is_used(device: &DeviceState) -> bool {
    device.reserved_peak_bytes.max(device.stats.reserved_peak_bytes).max(device.peak_bytes()) > 0
}

fn device_use(device: &DeviceState, follower: &Follower, cards: &[Card], is_alive: bool) -> DeviceUse {
    let is_it = |card: &&Card| card.uuid.as_ref().is_some_and(|uuid| uuid_matches(uuid, &device.uuid));
    let card = cards.iter().find(is_it);
    let (stats, limit_bytes) = (&device.stats, (device.limit_bytes > 0).then_some(device.limit_bytes));
    // What the allocator reports is of this moment; PyTorch's statistics are of the last step.
    let allocated_bytes = if device.requested_peak_bytes > 0 { device.requested_bytes } else { stats.allocated_bytes };
    let reserved_bytes = if device.reserved_peak_bytes > 0 { device.reserved_bytes } else { stats.reserved_bytes };
    let told_free = (stats.free_bytes > 0).then_some(stats.free_bytes);
    let free_bytes = card.and_then(|card| card.memory.free_bytes()).or(told_free);
    let to_limit = limit_bytes.map(|limit| limit.saturating_sub(reserved_bytes));
    let left_bytes = match (free_bytes, to_limit) {
        (Some(free), Some(limit)) => Some(free.min(limit)),
        (free, limit) => free.or(limit),
    };
    let left_bytes = left_bytes.filter(|_| is_alive);
    let room_bytes = left_bytes.map(|left| left + reserved_bytes);
    DeviceUse {
        ordinal: u32::from(device.ordinal),
        card: card.map(|card| card.index),
        total_bytes: device.total_bytes,
        limit_bytes,
        allocated_bytes,
        allocated_peak_bytes: device.peak_bytes(),
        reserved_bytes,
        reserved_peak_bytes: device.reserved_peak_bytes.max(stats.reserved_peak_bytes),
        used_bytes: card.and_then(|card| card.memory.used_bytes()).filter(|_| is_alive),
        left_bytes,
        retries: stats.retries,
        ooms: stats.ooms,
        forecast: room_bytes.and_then(|room| follower.forecast(device.ordinal, room)),
    }
}

/// The most that tensors held, from whoever saw more.
trait Peak {
    fn peak_bytes(&self) -> u64;
}

impl Peak for DeviceState {
    fn peak_bytes(&self) -> u64 {
        self.requested_peak_bytes.max(self.stats.allocated_peak_bytes)
    }
}
