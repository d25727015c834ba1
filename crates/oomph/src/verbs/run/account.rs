//! What a run came to, worked out once for text and JSON.

pub(super) mod json;
pub(super) mod text;
mod words;

use oomph_explain::Report;
use oomph_explain::host::{HostAccount, HostKept, HostVerdict};
use oomph_job::Phase;
use oomph_plan::promise::PromisedPeaks;

/// A run that has ended.
pub(super) struct Account<'a> {
    /// What people call the job.
    pub(super) job: &'a str,
    /// How its first process ended.
    pub(super) end: End,
    /// How long it took.
    pub(super) seconds: u64,
    /// What each process took of each card, in the order in which they began.
    pub(super) shares: Vec<Share>,
    /// The share that is explained: the one that ran out of memory, else the largest.
    pub(super) explained: Option<Explained<'a>>,
    /// Memory on the host.
    pub(super) host: Option<HostAccount>,
    /// Lines that keep host memory from step to step.
    pub(super) host_kept: Vec<HostKept>,
    /// Why the machine's memory ran out, if it did.
    pub(super) host_verdict: Option<HostVerdict>,
    /// What a plan of the same job had promised of the share that is explained.
    pub(super) promise: Option<Promised>,
    /// What a step took, where that is known.
    pub(super) step: Option<StepTime>,
    /// Which allocator settings oomph chose, and why.
    pub(super) allocator: Option<&'a str>,
    /// Whether somebody asked for remedies in the job.
    pub(super) has_remedies: bool,
    /// What else the reader should know.
    pub(super) notes: &'a [String],
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What one process took of one card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) pid: u32,
    /// Its number in a distributed job.
    pub(super) rank: Option<u32>,
    /// The card's ordinal.
    pub(super) device: u32,
    pub(super) steps: u64,
    pub(super) batches: u64,
    /// Peaks.
    pub(super) allocated_bytes: u64,
    pub(super) reserved_bytes: u64,
    /// How often PyTorch gave its cache back to serve a request.
    pub(super) retries: u64,
    /// How often a request failed, caught or not.
    pub(super) ooms: u64,
    /// Whether the last of these ended the process.
    pub(super) ran_out: bool,
    /// What the card has.
    pub(super) total_bytes: u64,
    /// What the card reported when most of it was used.
    pub(super) card: Option<CardPeak>,
}

/// A card when most of it was used.
#[expect(clippy::struct_field_names, reason = "units are named")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CardPeak {
    /// Used by everything.
    pub(super) used_bytes: u64,
    /// Reserved then by this process's PyTorch.
    pub(super) reserved_bytes: u64,
    /// Used by other processes, where the driver tells.
    pub(super) others_bytes: Option<u64>,
}

impl CardPeak {
    /// What the process itself used beside PyTorch's allocator (the CUDA context, NCCL, libraries); with what others
    /// used where the driver does not tell them apart.
    pub(super) fn outside_bytes(&self) -> u64 {
        self.used_bytes.saturating_sub(self.reserved_bytes + self.others_bytes.unwrap_or(0))
    }
}

/// The share that decides, explained.
pub(super) struct Explained<'a> {
    /// Which of the shares it is.
    pub(super) share: usize,
    pub(super) report: &'a Report<'a>,
    /// Where in the job the moment lies that the report describes.
    pub(super) phase: Phase,
}

/// What a plan had promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promised {
    /// The card it was made for.
    pub(super) card: String,
    /// Whether the job was to fit it.
    pub(super) fits: bool,
    pub(super) peaks: PromisedPeaks,
}

/// What a step took, the median, and what is known about what it would take without the remedies in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepTime {
    pub(super) median_us: u64,
    /// By what the plan said it would be multiplied, in hundredths; none where nothing was put into the job.
    pub(super) promised_percent: Option<u32>,
    /// What it took in an earlier run without remedies.
    pub(super) plain_us: Option<u64>,
}

impl StepTime {
    /// By what the time of a plain step was really multiplied.
    pub(super) fn slowdown(&self) -> Option<f64> {
        self.plain_us.filter(|&plain_us| plain_us > 0).map(|plain_us| self.median_us as f64 / plain_us as f64)
    }
}

impl Account<'_> {
    /// The share that is explained, else the largest.
    pub(super) fn main_share(&self) -> Option<&Share> {
        match &self.explained {
            Some(explained) => self.shares.get(explained.share),
            None => self.shares.iter().max_by_key(|share| (share.ran_out, share.reserved_bytes)),
        }
    }

    /// Whether a card's memory ran out and that ended a process.
    pub(super) fn ran_out(&self) -> bool {
        self.shares.iter().any(|share| share.ran_out)
    }

    /// Whether there is anything to tell: a job that never used PyTorch on a card is none of oomph's business.
    pub(super) fn is_telling(&self) -> bool {
        !self.shares.is_empty() || self.host_verdict.is_some()
    }

    /// Bytes live at the moment that the tables describe.
    fn moment_bytes(&self) -> u64 {
        self.explained.as_ref().map_or(0, |explained| explained.report.holders.allocated_bytes)
    }
}

#[cfg(test)]
mod tests;
