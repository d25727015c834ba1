//! Follows a job while it runs: reads its boxes, answers what its processes ask, and shows how it is doing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oomph_box::{Answers, DeviceState, HOST};
use oomph_explain::render::json::category_name;
use oomph_explain::{Options, explain};
use oomph_job::host::{HostEnd, HostHistory, HostTold, HostWatch};
use oomph_job::real::Follower;
use oomph_job::{Recorded, category_of};

use super::account::{CardPeak, End};
use super::cards::{Cards, others_bytes};
use super::metrics::{Metrics, Shared};
use super::status::{DeviceStatus, HostStatus, Status};
use super::terminal::Terminal;
use super::watched::Watched;
use super::{Args, server};
use crate::output;
use crate::source::HOST_HISTORY;

/// How often the status is renewed.
const LOOK: Duration = Duration::from_secs(1);

/// The newest events that a process is judged by which waits for the answer: more would make it wait too long.
const EVENTS_FOR_ANSWER: u64 = 150_000;

/// A card in a process: the place of its box among the others, and the card's ordinal.
pub(super) type Place = (usize, u8);

/// Whoever looks after a running job.
pub(super) struct Following {
    keeps_events: bool,
    terminal: Option<Terminal>,
    metrics: Option<Shared>,
    cards: Cards,
    host: HostWatch,
    processes: Vec<Watched>,
    card_peaks: BTreeMap<Place, CardPeak>,
    looked: Option<Instant>,
}

/// What was seen of a job.
pub(super) struct Seen {
    pub(super) end: End,
    pub(super) seconds: u64,
    pub(super) processes: Vec<Watched>,
    pub(super) card_peaks: BTreeMap<Place, CardPeak>,
    pub(super) host: HostHistory,
}

impl Following {
    pub(super) fn new(args: &Args, job: &str, pid: u32, folder: Option<&Path>) -> Self {
        let mut host = HostWatch::new(pid);
        if let Some(folder) = folder {
            host = host.saving_to(&folder.join(HOST_HISTORY));
        }
        Self {
            keeps_events: args.record.is_some() || args.html.is_some(),
            terminal: Terminal::open(),
            metrics: args.metrics.and_then(|port| serve(port, job)),
            cards: Cards::open(),
            host,
            processes: Vec::new(),
            card_peaks: BTreeMap::new(),
            looked: None,
        }
    }

    /// Looks a last time, and hands over what was seen.
    pub(super) fn finish(mut self, end: End, lasted: Duration) -> Seen {
        self.terminal = None;
        self.processes.iter_mut().for_each(Watched::read);
        self.host.close(Some(match end {
            End::Code(code) => HostEnd::Exit(code),
            End::Signal(signal) => HostEnd::Signal(signal),
        }));
        let (processes, card_peaks) = (self.processes, self.card_peaks);
        Seen { end, seconds: lasted.as_secs(), processes, card_peaks, host: self.host.history().clone() }
    }

    fn find_new(&mut self, boxes: &[PathBuf]) {
        for path in boxes {
            let is_known = self.processes.iter().any(|process| process.path == *path);
            if !is_known {
                self.processes.extend(Watched::open(path, self.keeps_events));
            }
        }
    }

    /// A process that was refused memory asks why; it waits for the answer before it goes on.
    fn answer(&mut self) {
        let is_asking = |process: &Watched| process.the_box.question().is_some();
        if !self.processes.iter().any(is_asking) {
            return;
        }
        self.cards.look_now(Instant::now());
        self.note_card_peaks();
        for process in &self.processes {
            let Some(question) = process.the_box.question() else { continue };
            let sentence = why(process, &self.cards).unwrap_or_default();
            if let Ok(answers) = Answers::open(&process.path) {
                answers.answer(question, &sentence);
            }
        }
    }

    fn renew(&mut self) {
        self.processes.iter_mut().for_each(Watched::read);
        self.note_card_peaks();
        let status = self.status();
        if let Some(terminal) = &mut self.terminal {
            terminal.show(&status);
        }
        if let Some(metrics) = &self.metrics {
            metrics.set(status);
        }
    }

    fn note_card_peaks(&mut self) {
        for (at, process) in self.processes.iter().enumerate() {
            let pid = process.the_box.process().pid;
            for device in process.the_box.devices() {
                let Some(used_bytes) = used_bytes(&device, &self.cards) else { continue };
                let peak = self.card_peaks.entry((at, device.ordinal)).or_default();
                if used_bytes > peak.used_bytes {
                    let others_bytes = self.cards.card(&device.uuid).and_then(|card| others_bytes(card, pid));
                    *peak = CardPeak { used_bytes, reserved_bytes: device.reserved_bytes, others_bytes };
                }
            }
        }
    }

    fn status(&self) -> Status {
        let mut status = Status { processes: self.processes.len(), ..Status::default() };
        for process in &self.processes {
            let progress = process.progress();
            if progress > (status.steps, status.batches) {
                (status.steps, status.batches) = progress;
            }
            for device in process.the_box.devices() {
                self.add_device(&mut status, process, &device);
            }
            let host = process.the_box.host();
            status.host.pinned_bytes += host.pinned_bytes;
            status.host.cpu_tensor_bytes += host.cpu_tensor_bytes;
        }
        add_host(&mut status.host, self.host.history());
        status.forecast = self.forecasts(&status).min_by_key(|forecast| forecast.steps_left);
        status
    }

    fn add_device(&self, status: &mut Status, process: &Watched, device: &DeviceState) {
        let ordinal = self.ordinal(device);
        let at = status.devices.iter().position(|known| known.ordinal == ordinal).unwrap_or_else(|| {
            status.devices.push(DeviceStatus { ordinal, ..DeviceStatus::default() });
            status.devices.len() - 1
        });
        let known = &mut status.devices[at];
        known.allocated_bytes += device.requested_bytes;
        known.allocated_peak_bytes += device.requested_peak_bytes.max(device.stats.allocated_peak_bytes);
        known.reserved_bytes += device.reserved_bytes;
        known.reserved_peak_bytes += device.reserved_peak_bytes.max(device.stats.reserved_peak_bytes);
        known.used_bytes = used_bytes(device, &self.cards);
        known.total_bytes = device.total_bytes;
        known.limit_bytes = Some(device.limit_bytes).filter(|bytes| *bytes > 0);
        known.retries += device.stats.retries;
        known.ooms += device.stats.ooms;
        // Only metrics show what the bytes are for, and it takes a look at every block.
        if self.metrics.is_some() {
            add_categories(&mut known.categories, process, device.ordinal);
        }
    }

    /// What the driver calls a card: processes that each see one card all call it 0.
    fn ordinal(&self, device: &DeviceState) -> u32 {
        self.cards.card(&device.uuid).map_or(u32::from(device.ordinal), |card| card.index)
    }

    fn forecasts<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = oomph_explain::forecast::Forecast> + 'a {
        self.processes.iter().filter(|process| process.the_box.is_alive()).flat_map(move |process| {
            process.the_box.devices().into_iter().filter_map(move |device| {
                let ordinal = self.ordinal(&device);
                let known = status.devices.iter().find(|known| known.ordinal == ordinal)?;
                process.forecast(device.ordinal, device.reserved_bytes + known.left_bytes())
            })
        })
    }
}

impl Follower for Following {
    fn look(&mut self, boxes: &[PathBuf]) {
        let now = Instant::now();
        self.find_new(boxes);
        self.answer();
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
            return;
        }
        self.looked = Some(now);
        self.cards.look(now);
        for process in &self.processes {
            let ((step, _), host) = (process.progress(), process.the_box.host());
            let told = HostTold { step, cpu_tensor_bytes: host.cpu_tensor_bytes, pinned_bytes: host.pinned_bytes };
            self.host.tell(process.the_box.process().pid, told);
        }
        self.host.sample(now);
        self.renew();
    }
}

/// Starts to serve metrics; where that fails the job runs without.
fn serve(port: u16, job: &str) -> Option<Shared> {
    let status = Shared::default();
    match server::serve(port, Metrics::new(job, status.clone())) {
        Ok(address) => {
            output::note(&format!("oomph: metrics are served at http://{address}/metrics"));
            Some(status)
        }
        Err(problem) => {
            output::warning(&format!("metrics cannot be served on port {port}: {problem}"));
            None
        }
    }
}

/// Used on a card by everything: the driver's word, unless it has not heard of this process's memory yet; else what the
/// process itself last asked.
fn used_bytes(device: &DeviceState, cards: &Cards) -> Option<u64> {
    let told = cards.card(&device.uuid).and_then(|card| card.memory.used_bytes());
    let heard = (device.stats.free_bytes > 0).then(|| device.total_bytes.saturating_sub(device.stats.free_bytes));
    [told, heard].into_iter().flatten().find(|bytes| *bytes >= device.reserved_bytes)
}

fn add_host(host: &mut HostStatus, history: &HostHistory) {
    let Some(sample) = history.last() else { return };
    host.resident_bytes = sample.points.iter().map(|point| point.resident_bytes).sum();
    let rollups: Option<Vec<u64>> = sample.points.iter().map(|point| Some(point.rollup?.proportional_bytes)).collect();
    host.proportional_bytes = rollups.map(|parts| parts.iter().sum());
}

fn add_categories(categories: &mut Vec<(&'static str, u64)>, process: &Watched, device: u8) {
    let blocks = process.the_box.live_blocks();
    for block in blocks.iter().filter(|block| block.device == device && block.device != HOST) {
        let name = category_name(category_of(block.category));
        match categories.iter_mut().find(|(known, _)| *known == name) {
            Some((_, bytes)) => *bytes += block.bytes,
            None => categories.push((name, block.bytes)),
        }
    }
}

/// The first sentence of the verdict on what a process was refused just now.
fn why(process: &Watched, cards: &Cards) -> Option<String> {
    let newest = process.the_box.events_since(u64::MAX).next;
    let events = process.the_box.events_since(newest.saturating_sub(EVENTS_FOR_ANSWER));
    let mut recorded = Recorded::with_events(&process.the_box, &events).ok()?;
    let pid = process.the_box.process().pid;
    for device in process.the_box.devices() {
        let others = cards.card(&device.uuid).and_then(|card| others_bytes(card, pid));
        let trace = recorded.trace.devices.iter_mut().find(|trace| trace.ordinal == u32::from(device.ordinal));
        if let Some(trace) = trace {
            trace.other_process_bytes = others;
        }
    }
    let report = explain(&recorded.trace, &Options::default()).ok()?;
    let accusation = &report.verdict.accusation;
    (accusation.class != "none").then(|| format!("{}: {}", accusation.class, accusation.summary))
}
