//! The verdict on a job that the machine had no memory for.

use oomph_trace::host::{HostHistory, HostLimits};

use super::account::HostAccount;
use super::causes::{Finding, HostCause, heaviest, short, who};
use super::facts::HostFacts;
use super::moment::Moment;
use super::recognition::{Counter, Recognition, recognise};
use crate::bytes::show;
use crate::log::{Call, HostFailure, Log, SHARED_MEMORY_ADVICE};

/// The class's name.
pub const HOST_OUT_OF_MEMORY: &str = "host_out_of_memory";

/// Why the machine, not the card, ran out of memory.
#[derive(Clone, Debug)]
pub struct HostVerdict {
    /// What happened, and what took the memory.
    pub summary: String,
    /// What took it.
    pub cause: HostCause,
    /// The bytes it accounts for.
    pub bytes: u64,
    /// The user's line, where it is known: the one that keeps, or the one that asked.
    pub place: Option<(String, u32)>,
    /// The calls that led to the exception, innermost first; empty where there was none.
    pub calls: Vec<Call>,
    /// The process it is about.
    pub pid: Option<u32>,
    /// How it is known.
    pub recognition: Recognition,
    /// How it is known, in a sentence.
    pub evidence: String,
    /// What the user can do, most useful first.
    pub advice: Vec<String>,
    /// Who held what.
    pub account: HostAccount,
}

/// Why the job ended, if it ended because the machine's memory ran out.
#[must_use]
pub fn host_verdict(history: &HostHistory, facts: &HostFacts) -> Option<HostVerdict> {
    let (recognition, log) = recognise(history, facts)?;
    let moment = Moment::of(history, Some(recognition.pid()));
    let happened = happened(&recognition, &moment, log.as_ref());
    let finding = special(&recognition, history.limits(), &moment, facts).or_else(|| heaviest(&moment, facts));
    let sentence = finding.as_ref().map_or_else(String::new, |finding| format!(" {}", finding.sentence));
    let asked_at = log.as_ref().and_then(|log| log.verdict().asked_at).map(|(file, line, _)| (file, line));
    Some(HostVerdict {
        summary: happened + &sentence,
        cause: finding.as_ref().map_or(HostCause::Largest, |finding| finding.cause),
        bytes: finding.as_ref().map_or(0, |finding| finding.bytes),
        pid: finding.as_ref().and_then(|finding| finding.pid).or(Some(recognition.pid())),
        place: finding.as_ref().and_then(|finding| finding.place.clone()).or(asked_at),
        calls: log.map(|log| log.first().calls.clone()).unwrap_or_default(),
        evidence: evidence(&recognition, history),
        advice: finding.map(|finding| finding.advice).unwrap_or_default(),
        recognition,
        account: HostAccount::of(history),
    })
}

impl Recognition {
    fn pid(&self) -> u32 {
        match self {
            Self::Killed { pid, .. } | Self::Refused { pid, .. } | Self::SharedMemoryFull { pid } => *pid,
        }
    }
}

/// What is known to have happened.
fn happened(recognition: &Recognition, moment: &Moment, log: Option<&Log>) -> String {
    let known = moment.history.by_pid(recognition.pid());
    let process = known.map_or_else(|| format!("process {}", recognition.pid()), who);
    let limits = moment.history.limits();
    match recognition {
        Recognition::Killed { .. } => format!("The kernel killed {process}: {} was used up.", limit(limits)),
        Recognition::Refused { failure, .. } => {
            let asked_at = log.and_then(|log| log.verdict().asked_at);
            let asker = asked_at.map_or(process, |(file, line, _)| short(&(file, line)));
            let what = failure.request_bytes.map_or_else(|| "memory".to_owned(), show);
            format!("{asker} asked for {what} on the host and was refused; {} is all there is.", limit(limits))
        }
        Recognition::SharedMemoryFull { .. } => {
            let size = limits.shm_total_bytes.map_or_else(String::new, |bytes| format!(" ({})", show(bytes)));
            format!("/dev/shm{size} was full.")
        }
    }
}

fn limit(limits: &HostLimits) -> String {
    match limits.cgroup_limit_bytes {
        Some(bytes) if bytes < limits.total_bytes => format!("the {} that its cgroup allows", show(bytes)),
        _ => format!("the machine's memory of {}", show(limits.total_bytes)),
    }
}

/// Causes that the failure itself names.
fn special(recognition: &Recognition, limits: &HostLimits, moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    match recognition {
        Recognition::SharedMemoryFull { pid } => {
            let prepared = heaviest(moment, facts).filter(|finding| finding.cause == HostCause::Prefetch);
            let sentence = prepared.as_ref().map_or_else(
                || "DataLoader workers hand their batches over through it.".to_owned(),
                |finding| finding.sentence.clone(),
            );
            Some(Finding {
                cause: HostCause::SharedMemoryFull,
                bytes: limits.shm_total_bytes.unwrap_or(0),
                pid: Some(*pid),
                sentence,
                place: prepared.and_then(|finding| finding.place),
                advice: vec![SHARED_MEMORY_ADVICE.to_owned()],
            })
        }
        Recognition::Refused { pid, failure: HostFailure { request_bytes: Some(bytes), .. } }
            if *bytes > limits.capacity_bytes() && limits.capacity_bytes() > 0 =>
        {
            Some(Finding {
                cause: HostCause::RequestTooLarge,
                bytes: *bytes,
                pid: Some(*pid),
                sentence: "The one request is more than that.".to_owned(),
                place: None,
                advice: vec![
                    "Check the shape first; then compute it in chunks, or use a memory-mapped file.".to_owned(),
                ],
            })
        }
        _ => None,
    }
}

fn evidence(recognition: &Recognition, history: &HostHistory) -> String {
    let (before, after) = (history.before(), history.after());
    let rose = |what: &str, before: Option<u64>, after: Option<u64>| {
        format!("oom_kill of {what} rose from {} to {}", before.unwrap_or(0), after.unwrap_or(0))
    };
    match recognition {
        Recognition::Killed { pid, counter: Counter::Cgroup } => format!(
            "Process {pid} died of SIGKILL, and {}.",
            rose("the job's cgroup", before.cgroup_oom_kills, after.cgroup_oom_kills)
        ),
        Recognition::Killed { pid, counter: Counter::Machine } => {
            format!("Process {pid} died of SIGKILL, and {}.", rose("the machine", before.oom_kills, after.oom_kills))
        }
        Recognition::Killed { pid, counter: Counter::Unknown } => {
            format!("PyTorch says that process {pid} was killed; the kernel's counters cannot be read here.")
        }
        Recognition::Refused { .. } | Recognition::SharedMemoryFull { .. } => {
            "The exception's message says so.".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
