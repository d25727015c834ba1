//! What took the machine's memory: each cause says how many bytes it accounts for, and the most wins.

mod growing;
mod loading;
mod pools;
mod workers;

use oomph_trace::host::{HostProcess, HostRole};

use super::facts::HostFacts;
use super::moment::Moment;
use crate::bytes::show;
use crate::source::file_name;

/// What took the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCause {
    /// Every worker has come to hold its own copy of what it shared with its parent.
    WorkerCopies,
    /// Workers keep something from batch to batch, or each built up data of its own.
    WorkersGrow,
    /// Batches that workers prepared ahead, and other shared memory.
    Prefetch,
    /// Pinned memory.
    Pinned,
    /// Every rank loads the same file whole.
    RanksLoad,
    /// One process grows.
    ProcessGrows,
    /// One request is more than there is.
    RequestTooLarge,
    /// `/dev/shm` is smaller than what is handed over through it.
    SharedMemoryFull,
    /// Nothing of these: the process that holds most is named.
    Largest,
}

impl HostCause {
    /// Its name, as in `--json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkerCopies => "worker_copies",
            Self::WorkersGrow => "workers_grow",
            Self::Prefetch => "prefetch",
            Self::Pinned => "pinned",
            Self::RanksLoad => "ranks_load",
            Self::ProcessGrows => "process_grows",
            Self::RequestTooLarge => "request_too_large",
            Self::SharedMemoryFull => "shared_memory_full",
            Self::Largest => "largest",
        }
    }
}

/// One cause, as far as it accounts for the memory.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) cause: HostCause,
    pub(super) bytes: u64,
    /// The process to name, where there is one.
    pub(super) pid: Option<u32>,
    pub(super) sentence: String,
    pub(super) place: Option<(String, u32)>,
    pub(super) advice: Vec<String>,
}

/// A cause that accounts for less than this part of what is held is not named before who holds most.
const SHARE_MIN: u64 = 4;

/// The cause that accounts for most.
pub(super) fn heaviest(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let found = [
        workers::find(moment, facts),
        pools::prefetch(moment, facts),
        pools::pinned(moment, facts),
        loading::find(moment, facts),
        growing::find(moment, facts),
    ];
    let heaviest = found.into_iter().flatten().max_by_key(|finding| finding.bytes);
    heaviest.filter(|finding| finding.bytes >= moment.held_bytes() / SHARE_MIN).or_else(|| largest(moment))
}

fn largest(moment: &Moment) -> Option<Finding> {
    let holder = moment.largest()?;
    Some(Finding {
        cause: HostCause::Largest,
        bytes: holder.own_bytes,
        pid: Some(holder.process.pid),
        sentence: format!(
            "{} held most of it, {} of {}.",
            capitalised(&who(holder.process)),
            show(holder.own_bytes),
            show(moment.held_bytes())
        ),
        place: None,
        advice: vec![
            "Load less of the data at once: memory-mapped files (numpy.memmap, torch.load with mmap=True) are read as \
             they are needed."
                .to_owned(),
        ],
    })
}

/// A process in a sentence.
pub(super) fn who(process: &HostProcess) -> String {
    let pid = process.pid;
    match process.role {
        HostRole::Main => format!("the main process (pid {pid})"),
        HostRole::Rank(rank) => format!("rank {rank} (pid {pid})"),
        HostRole::Worker => format!("a DataLoader worker (pid {pid})"),
        HostRole::Forked => format!("a forked process (pid {pid})"),
        HostRole::Other => format!("{} (pid {pid})", process.name),
    }
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `train.py:12`.
pub(super) fn short(place: &(String, u32)) -> String {
    format!("{}:{}", file_name(&place.0), place.1)
}

/// A file and a line, where both are known.
pub(super) fn place(file: Option<&String>, line: Option<u32>) -> Option<(String, u32)> {
    Some((file.cloned()?, line?))
}

/// The one in the middle.
pub(super) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
