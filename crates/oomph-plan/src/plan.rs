//! Everything there is to ask about a job: does it fit the cards by name, what does it take where there is room, the
//! least it runs in, and which other cards it fits.

use oomph_card::{CATALOGUE, Card};

use crate::error::PlanError;
use crate::fit::{Fit, Judge, Verdict};
use crate::follow::Progress;
use crate::growth::{Growth, ToCome};
use crate::host::HostPlan;
use crate::job::{Job, Launch};
use crate::remedies::RemedyChoice;
use crate::run::{Process, Run};

/// More memory than any job has: what addresses of 47 bits leave room for.
const ENDLESS_BYTES: u64 = 1 << 45;

/// PyTorch takes memory for small blocks from the driver in segments of this size.
const SEGMENT_BYTES: u64 = 2 << 20;

/// Which processes of a distributed job are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// The one of this number.
    One(u32),
    /// Each in turn.
    All,
}

/// What is to be planned.
#[derive(Debug)]
pub struct Question {
    /// The job.
    pub job: Job,
    /// The cards it is run on, at least one; the answer is about the first.
    pub cards: Vec<Card>,
    /// How many cards the machine has; one a process where nobody says.
    pub card_count: Option<u32>,
    /// Which of its processes.
    pub ranks: Ranks,
}

/// The peaks of one process on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peaks {
    /// Held by tensors.
    pub allocated_bytes: u64,
    /// Taken from the driver by PyTorch.
    pub reserved_bytes: u64,
    /// With the CUDA context and libraries.
    pub device_bytes: u64,
}

impl Peaks {
    /// What the context and libraries take of the card beside PyTorch's allocator.
    #[must_use]
    pub fn outside_bytes(self) -> u64 {
        self.device_bytes.saturating_sub(self.reserved_bytes)
    }

    /// The same with so much more held by tensors, and taken from the driver for them in whole segments.
    #[must_use]
    pub fn raised_by(self, bytes: u64) -> Self {
        let segments_bytes = bytes.next_multiple_of(SEGMENT_BYTES);
        Self {
            allocated_bytes: self.allocated_bytes + bytes,
            reserved_bytes: self.reserved_bytes + segments_bytes,
            device_bytes: self.device_bytes + segments_bytes,
        }
    }
}

/// The job on one kind of card.
#[derive(Debug)]
pub struct Trial {
    /// The card.
    pub card: Card,
    /// Every process that used a card, with its number in a distributed job.
    pub processes: Vec<(u32, Process)>,
    /// The host's memory of the process that takes most of it, and of all like it on a machine.
    pub host: Option<HostPlan>,
}

/// The answer.
#[derive(Debug)]
pub struct Plan {
    /// The job on each card by name, in the order asked for.
    pub trials: Vec<Trial>,
    /// The job where there is room, if that is none of the trials.
    pub roomy: Option<Trial>,
    /// The least memory of a card on which the job runs, by replay; none where it could not be found out.
    pub least_bytes: Option<u64>,
    /// The whole catalogue; empty where nobody knows what the job takes.
    pub catalogue: Vec<Fit>,
}

impl Trial {
    /// Whether the card was too small.
    #[must_use]
    pub fn ran_out(&self) -> bool {
        self.processes.iter().any(|(_, process)| process.ran_out())
    }

    /// Whether the whole job fits: nothing ran out, and nothing is certain to later.
    #[must_use]
    pub fn fits(&self) -> bool {
        !self.ran_out() && !self.grows_beyond(&self.card)
    }

    /// Whether a loop leaves so much behind that it is certain to fill such a card before its end.
    pub(crate) fn grows_beyond(&self, card: &Card) -> bool {
        let growths = self.processes.iter().filter_map(|(_, process)| Growth::of(process, card));
        growths.into_iter().any(|growth| growth.is_certain())
    }

    /// The process that decides: the one that ran out, else the one that takes most.
    ///
    /// # Panics
    /// Never: a trial has at least one process.
    #[must_use]
    pub fn decisive(&self) -> (u32, &Process) {
        let weight = |process: &Process| (process.ran_out(), fullest(process).map_or(0, |(_, bytes)| bytes));
        let chosen = self.processes.iter().rev().max_by_key(|(_, process)| weight(process));
        let (rank, process) = chosen.expect("a run without a process that used a card is an error");
        (*rank, process)
    }

    /// The peaks of every process, by its number.
    #[must_use]
    pub fn peaks_by_rank(&self) -> Vec<(u32, Peaks)> {
        let peaks = |process: &Process| {
            let all = peaks_by_device(process, &self.card).into_iter();
            all.map(|(_, peaks)| peaks).max_by_key(|peaks| peaks.device_bytes)
        };
        self.processes.iter().filter_map(|(rank, process)| Some((*rank, peaks(process)?))).collect()
    }

    /// The peaks of the decisive process, on the device that it filled most.
    #[must_use]
    pub fn peaks(&self) -> Option<Peaks> {
        let (_, process) = self.decisive();
        let (device, _) = fullest(process)?;
        peaks_by_device(process, &self.card).into_iter().find(|(index, _)| *index == device).map(|(_, peaks)| peaks)
    }

    /// What a loop of the decisive process will have kept at its end beyond the peak that was seen.
    #[must_use]
    pub fn to_come(&self) -> Option<ToCome> {
        ToCome::of(self.decisive().1)
    }

    /// The peaks of the decisive process at the end of all loops whose length is known.
    #[must_use]
    pub fn peaks_at_end(&self) -> Option<Peaks> {
        let peaks = self.peaks()?;
        Some(self.to_come().map_or(peaks, |to_come| peaks.raised_by(to_come.bytes)))
    }

    /// Whether the allocator had to give its cache back to the driver to serve a request.
    fn was_short(&self) -> bool {
        let devices = self.processes.iter().flat_map(|(_, process)| &process.facts.end.devices);
        devices.into_iter().any(|device| device.retries > 0)
    }
}

/// The device that a process filled most, and how far.
#[must_use]
pub fn fullest(process: &Process) -> Option<(u32, u64)> {
    let devices = process.facts.end.devices.iter();
    let used = devices.filter(|device| process.trace.device(device.index).is_some());
    used.max_by_key(|device| (device.peak_reserved_bytes, std::cmp::Reverse(device.index)))
        .map(|device| (device.index, device.peak_reserved_bytes))
}

/// The peaks on every device that a process used, by its ordinal.
#[must_use]
pub fn peaks_by_device(process: &Process, card: &Card) -> Vec<(u32, Peaks)> {
    let used = process.facts.end.devices.iter().filter(|device| device.peak_reserved_bytes > 0);
    used.map(|device| {
        let reserved_bytes = device.peak_reserved_bytes;
        // What the card counted, or else the allocator's share and an ordinary context.
        let device_bytes = device.peak_device_bytes.unwrap_or(0).max(reserved_bytes + card.context_bytes);
        (device.index, Peaks { allocated_bytes: device.peak_allocated_bytes, reserved_bytes, device_bytes })
    })
    .collect()
}

impl Plan {
    /// Runs the job as often as it takes to know.
    ///
    /// # Errors
    /// If the job cannot be run, or fails for a reason of its own.
    pub fn make(question: &Question, progress: Progress) -> Result<Self, PlanError> {
        let mut trials = Vec::new();
        for card in &question.cards {
            trials.push(question.run_on(card, progress)?);
        }
        let fits_with_room = trials.iter().any(|trial| !trial.ran_out() && !trial.was_short());
        // What it takes is worth knowing, but not at any price: a script may fail later for a reason of its own.
        let roomy = if fits_with_room { None } else { question.run_with_room(progress) };
        let mut plan = Self { trials, roomy, least_bytes: None, catalogue: Vec::new() };
        plan.judge_other_cards();
        Ok(plan)
    }

    /// The trial the answer is about.
    #[must_use]
    pub fn first(&self) -> &Trial {
        &self.trials[0]
    }

    /// Whether the job fits every card by name.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.trials.iter().all(Trial::fits)
    }

    /// The job where nothing was short, if it was seen so.
    #[must_use]
    pub fn with_room(&self) -> Option<&Trial> {
        let roomy = self.roomy.as_ref();
        roomy.or_else(|| self.trials.iter().find(|trial| !trial.ran_out() && !trial.was_short()))
    }

    fn judge_other_cards(&mut self) {
        let Some(trial) = self.with_room() else { return };
        let judges: Vec<Judge> = trial.processes.iter().map(|(_, process)| Judge::of(&process.trace)).collect();
        let outside_bytes = trial.peaks().map_or(trial.card.context_bytes, Peaks::outside_bytes);
        let libraries_bytes = outside_bytes.saturating_sub(trial.card.context_bytes);
        let least_bytes = judges.iter().filter_map(|judge| judge.least_bytes(outside_bytes)).max();
        let planned = |card: &Card| {
            let trial = self.trials.iter().find(|trial| trial.card == *card)?;
            Some(if trial.fits() { Verdict::Fits } else { Verdict::DoesNotFit })
        };
        let replayed = |card: &Card| {
            let replays = judges.iter().map(|judge| judge.judge(card, libraries_bytes));
            if trial.grows_beyond(card) { Verdict::DoesNotFit } else { replays.max().unwrap_or(Verdict::Fits) }
        };
        let verdict = |card: &Card| planned(card).unwrap_or_else(|| replayed(card));
        self.catalogue = CATALOGUE
            .iter()
            .map(|card| Fit { name: card.name.clone(), memory_bytes: card.memory_bytes, verdict: verdict(card) })
            .collect();
        self.least_bytes = least_bytes.filter(|least| self.agrees(*least));
    }

    /// Whether no run contradicts that so much is enough, and that less is not.
    fn agrees(&self, least_bytes: u64) -> bool {
        self.trials.iter().all(|trial| trial.ran_out() == (trial.card.memory_bytes < least_bytes))
    }
}

impl Question {
    /// The same, of a job that uses its card only after it has trained without one.
    #[must_use]
    pub fn patient(&self) -> Self {
        let job = Job { needs_card: false, ..self.job.clone() };
        Self { job, cards: self.cards.clone(), card_count: self.card_count, ranks: self.ranks }
    }

    /// The same job with more remedies put into it, which also tells what it is made of.
    #[must_use]
    pub fn with_remedies(&self, remedies: &[RemedyChoice], allocator: Option<&str>) -> Self {
        let mut job = self.job.clone();
        job.remedies.extend_from_slice(remedies);
        job.allocator = allocator.map(str::to_owned).or(job.allocator);
        job.is_surveyed = true;
        Self { job, cards: self.cards.clone(), card_count: self.card_count, ranks: self.ranks }
    }

    /// The same job as so many processes with a card each, of which the first is planned.
    #[must_use]
    pub fn over_cards(&self, cards: u32) -> Self {
        let mut question = self.with_remedies(&[], None);
        question.job.launch = Launch { processes_per_node: Some(cards), nodes: 1, rank: 0 };
        (question.card_count, question.ranks) = (None, Ranks::One(0));
        question
    }

    /// Runs the job on cards of one kind.
    ///
    /// # Errors
    /// If it cannot be run, or fails for a reason of its own.
    pub fn run_on(&self, card: &Card, progress: Progress) -> Result<Trial, PlanError> {
        let mut processes: Vec<(u32, Process)> = Vec::new();
        let mut host: Option<HostPlan> = None;
        let count = self.job.launch.processes_per_node.unwrap_or(1);
        let ranks = match self.ranks {
            Ranks::All => 0..count,
            Ranks::One(rank) => rank..rank + 1,
        };
        for rank in ranks {
            // One that another had started, since it waits for what this one sends.
            if processes.iter().any(|(known, _)| *known == rank) {
                continue;
            }
            let mut job = self.job.clone();
            job.launch.rank = rank;
            let run = job.run(&vec![card.clone(); self.card_count.unwrap_or(count) as usize], progress)?;
            let ran_out = run.ran_out();
            let hosts = run.processes.iter().filter_map(|process| host_plan(process, &run, count)).chain(host.take());
            host = hosts.max_by_key(|host| host.peak_bytes);
            let is_new = |(rank, _): &(u32, Process)| {
                self.ranks != Ranks::All || processes.iter().all(|(known, _)| known != rank)
            };
            processes.extend(numbered(run, rank).filter(is_new).collect::<Vec<_>>());
            if ran_out {
                break;
            }
        }
        processes.sort_by_key(|(rank, _)| *rank);
        Ok(Trial { card: card.clone(), processes, host })
    }

    /// Runs the job on cards like the first that never run out.
    ///
    /// # Errors
    /// If it cannot be run, or fails for a reason of its own.
    pub fn run_roomy(&self, progress: Progress) -> Result<Trial, PlanError> {
        let card = Card { memory_bytes: ENDLESS_BYTES, ..self.cards[0].clone() };
        self.run_on(&card, progress)
    }

    fn run_with_room(&self, progress: Progress) -> Option<Trial> {
        self.run_roomy(progress).ok().filter(|trial| !trial.ran_out())
    }
}

fn host_plan(process: &Process, run: &Run, processes: u32) -> Option<HostPlan> {
    let events = process.trace.devices.iter().map(|device| device.events.len() as u64).sum();
    HostPlan::of(&process.facts, run.seen.beside(process.facts.end.pid), processes, events)
}

/// The processes of a run, each with its number in the job.
fn numbered(run: Run, rank: u32) -> impl Iterator<Item = (u32, Process)> {
    run.processes.into_iter().map(move |process| (process.facts.end.rank.unwrap_or(rank), process))
}
