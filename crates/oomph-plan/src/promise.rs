//! What the last plan of a job promised, kept so that a real run can be compared with it.
//!
//! Promises lie in the user's state folder, one file a job and beside it the planned run as a trace. Only the newest are
//! kept. Where there is no such folder, or nothing can be written to it, there are no promises, and nobody is troubled.

mod identity;
mod store;

use oomph_trace::Trace;
use serde::{Deserialize, Serialize};

pub use self::identity::Identity;
pub use self::store::Promises;
use crate::growth::ToCome;
use crate::numbers::whole;
use crate::plan::{Peaks, Plan, Trial, peaks_by_device};
use crate::remedies::RemedyChoice;
use crate::search::Found;

/// What a plan promised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// When it was made, in microseconds since the Unix epoch.
    pub made_us: u64,
    /// The version of torch that it was made with.
    #[serde(default)]
    pub torch: Option<String>,
    /// The job on each card that was asked for, in that order.
    pub trials: Vec<PromisedTrial>,
    /// What is put into the job for this to hold.
    #[serde(default)]
    pub remedies: Vec<RemedyChoice>,
    /// Settings of PyTorch's allocator for this to hold, where the user's own will not do.
    #[serde(default)]
    pub allocator: Option<String>,
    /// How many processes are started for this to hold, one a card, where the job itself knows of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// By what the time of a step is multiplied, in hundredths, about.
    #[serde(default = "unchanged_percent")]
    pub slowdown_percent: u32,
}

fn unchanged_percent() -> u32 {
    100
}

/// The job on one kind of card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromisedTrial {
    /// The card's name, as `--gpu` takes it.
    pub card: String,
    /// Its memory as CUDA reports it.
    pub memory_bytes: u64,
    /// Whether the job was to fit.
    pub fits: bool,
    /// What each process was to take on each device.
    pub peaks: Vec<PromisedPeaks>,
}

/// The peaks of one process on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromisedPeaks {
    /// The process's number in a distributed job, else 0.
    pub rank: u32,
    /// The device's ordinal.
    pub device: u32,
    /// Held by tensors.
    pub allocated_bytes: u64,
    /// Taken from the driver by PyTorch.
    pub reserved_bytes: u64,
    /// With the CUDA context and libraries.
    pub device_bytes: u64,
}

impl Promise {
    /// What a plan made at this time promises.
    #[must_use]
    pub fn of(plan: &Plan, made_us: u64) -> Self {
        let (_, process) = plan.first().decisive();
        let torch = process.facts.end.torch.clone();
        let trials = plan.trials.iter().map(PromisedTrial::of).collect();
        let slowdown_percent = unchanged_percent();
        Self { made_us, torch, trials, remedies: Vec::new(), allocator: None, gpus: None, slowdown_percent }
    }

    /// What a search promises of the set it chose; none where nothing fits.
    #[must_use]
    pub fn of_found(found: &Found, made_us: u64) -> Option<Self> {
        let (chosen, proof) = (found.chosen()?, found.proof.as_ref()?);
        Some(Self {
            made_us,
            torch: proof.decisive().1.facts.end.torch.clone(),
            trials: vec![PromisedTrial::of(proof)],
            remedies: chosen.choices.clone(),
            allocator: chosen.allocator.clone(),
            gpus: (chosen.cards > 1).then_some(chosen.cards),
            slowdown_percent: whole((chosen.slowdown * 100.0).round()) as u32,
        })
    }

    /// The trial on the card that is most like one with so much memory.
    #[must_use]
    pub fn on_card_of(&self, memory_bytes: u64) -> Option<&PromisedTrial> {
        self.trials.iter().min_by_key(|trial| trial.memory_bytes.abs_diff(memory_bytes))
    }
}

impl PromisedTrial {
    fn of(trial: &Trial) -> Self {
        let of_process = |(rank, process): &(u32, crate::run::Process)| {
            let rank = *rank;
            // What does not fit runs out on the way.
            let to_come = if trial.fits() { ToCome::of(process) } else { None };
            let peaks = peaks_by_device(process, &trial.card).into_iter();
            peaks.map(move |(device, peaks)| {
                let kept = to_come.as_ref().filter(|to_come| to_come.device == device);
                let peaks = kept.map_or(peaks, |kept| peaks.raised_by(kept.bytes));
                let Peaks { allocated_bytes, reserved_bytes, device_bytes } = peaks;
                PromisedPeaks { rank, device, allocated_bytes, reserved_bytes, device_bytes }
            })
        };
        Self {
            card: trial.card.name.clone(),
            memory_bytes: trial.card.memory_bytes,
            fits: trial.fits(),
            peaks: trial.processes.iter().flat_map(|process| of_process(process).collect::<Vec<_>>()).collect(),
        }
    }

    /// What was promised of one process on one device.
    #[must_use]
    pub fn peaks_of(&self, rank: u32, device: u32) -> Option<&PromisedPeaks> {
        self.peaks.iter().find(|peaks| (peaks.rank, peaks.device) == (rank, device))
    }
}

/// The run that shows best what the job asks for: one that was never short, of the process that takes most.
#[must_use]
pub fn trace_to_keep(plan: &Plan) -> &Trace {
    let (_, process) = plan.with_room().unwrap_or(plan.first()).decisive();
    &process.trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_most_like_the_real_one_is_compared_with() {
        let trial = |card: &str, gib: u64| PromisedTrial {
            card: card.into(),
            memory_bytes: gib << 30,
            fits: true,
            peaks: vec![],
        };
        let promise = Promise {
            made_us: 0,
            torch: None,
            trials: vec![trial("rtx_4090", 24), trial("h200", 140)],
            remedies: Vec::new(),
            allocator: None,
            gpus: None,
            slowdown_percent: 100,
        };
        let found = |gib: u64| promise.on_card_of(gib << 30).map(|trial| trial.card.as_str());
        assert_eq!([found(139), found(22)], [Some("h200"), Some("rtx_4090")]);
        assert_eq!(Promise { trials: vec![], ..promise }.on_card_of(1), None);
    }
}
