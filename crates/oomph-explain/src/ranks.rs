//! The ranks of one job, side by side: who ran out first, and how they differ.

use crate::host::HOST_OUT_OF_MEMORY;
use crate::log::{FailureKind, Log};
use crate::report::Report;

/// What is known about one rank, from its snapshot or its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its file, as the user named it.
    pub name: String,
    /// Whether a request failed.
    pub ran_out: bool,
    /// When it failed, in microseconds since the Unix epoch; a log does not say.
    pub ran_out_at_us: Option<u64>,
    /// Bytes that tensors held when it failed; where nothing failed, at the peak.
    pub allocated_bytes: Option<u64>,
    /// The most bytes that tensors held.
    pub peak_allocated_bytes: Option<u64>,
    /// The most bytes that PyTorch reserved.
    pub peak_reserved_bytes: Option<u64>,
    /// Steps that were seen.
    pub steps: Option<usize>,
    /// The class of its verdict.
    pub class: &'static str,
}

impl Rank {
    /// A rank of which there is a snapshot or a trace.
    #[must_use]
    pub fn of_report(name: String, report: &Report) -> Self {
        let case = &report.case;
        let at = case.oom.as_ref().and_then(|oom| case.device.events.get(oom.event as usize));
        Self {
            name,
            ran_out: case.oom.is_some(),
            ran_out_at_us: at.map(|event| event.time_us),
            allocated_bytes: Some(report.holders.allocated_bytes),
            peak_allocated_bytes: Some(case.timeline.peak_allocated.bytes),
            peak_reserved_bytes: Some(case.timeline.peak_reserved.bytes),
            steps: case.steps.as_ref().map(|steps| steps.starts.len()),
            class: report.verdict.accusation.class,
        }
    }

    /// A rank of which there is a log.
    #[must_use]
    pub fn of_log(name: String, log: &Log) -> Self {
        let figures = match &log.first().kind {
            FailureKind::Allocator(figures) => Some(figures),
            FailureKind::Driver | FailureKind::Host(_) => None,
        };
        Self {
            name,
            ran_out: true,
            ran_out_at_us: None,
            allocated_bytes: figures.and_then(|figures| figures.allocated_bytes),
            peak_allocated_bytes: None,
            peak_reserved_bytes: None,
            steps: None,
            class: log.verdict().class,
        }
    }

    /// A rank whose machine ran out of memory.
    #[must_use]
    pub fn of_host(name: String) -> Self {
        Self {
            name,
            ran_out: true,
            ran_out_at_us: None,
            allocated_bytes: None,
            peak_allocated_bytes: None,
            peak_reserved_bytes: None,
            steps: None,
            class: HOST_OUT_OF_MEMORY,
        }
    }
}

/// All ranks, and which of them to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// In the order given. Never empty.
    pub ranks: Vec<Rank>,
    /// The one that ran out first; where nobody did, the one that held most.
    pub chosen: usize,
}

impl Ranks {
    /// Compares ranks; `None` if there are none.
    #[must_use]
    pub fn compare(ranks: Vec<Rank>) -> Option<Self> {
        // Those that say when they failed come before those that do not, and those before the ones that did not fail.
        let order = |rank: &Rank| {
            let held = std::cmp::Reverse(rank.peak_allocated_bytes);
            (!rank.ran_out, rank.ran_out_at_us.unwrap_or(u64::MAX), if rank.ran_out { None } else { Some(held) })
        };
        let chosen = ranks.iter().enumerate().min_by_key(|(_, rank)| order(rank)).map(|(at, _)| at)?;
        Some(Self { ranks, chosen })
    }

    /// The rank to explain.
    #[must_use]
    pub fn first(&self) -> &Rank {
        &self.ranks[self.chosen]
    }

    /// How many ran out.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.ranks.iter().filter(|rank| rank.ran_out).count()
    }

    /// The least and the most that ranks held at their peaks, where at least two say so.
    #[must_use]
    pub fn peak_range(&self) -> Option<(&Rank, &Rank)> {
        let known = || self.ranks.iter().filter(|rank| rank.peak_allocated_bytes.is_some());
        let least = known().min_by_key(|rank| rank.peak_allocated_bytes)?;
        let most = known().max_by_key(|rank| rank.peak_allocated_bytes)?;
        (known().count() > 1).then_some((least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::{Rank, Ranks};

    fn rank(name: &str, ran_out_at_us: Option<u64>, ran_out: bool, peak: u64) -> Rank {
        Rank {
            name: name.to_owned(),
            ran_out,
            ran_out_at_us,
            allocated_bytes: Some(peak),
            peak_allocated_bytes: Some(peak),
            peak_reserved_bytes: Some(peak),
            steps: None,
            class: if ran_out { "leak" } else { "none" },
        }
    }

    #[test]
    fn the_first_to_fail_is_explained() {
        let ranks = vec![rank("0", Some(900), true, 7), rank("1", None, false, 9), rank("2", Some(400), true, 8)];
        let ranks = Ranks::compare(ranks).expect("ranks");
        assert_eq!((ranks.first().name.as_str(), ranks.failed_count()), ("2", 2));
        let (least, most) = ranks.peak_range().expect("peaks");
        assert_eq!((least.name.as_str(), most.name.as_str()), ("0", "1"));
    }

    #[test]
    fn where_nobody_failed_the_fullest_is_explained_and_a_failure_without_a_time_still_is_one() {
        let ranks = Ranks::compare(vec![rank("0", None, false, 7), rank("1", None, false, 9)]).expect("ranks");
        assert_eq!(ranks.first().name, "1");
        let ranks = Ranks::compare(vec![rank("0", None, false, 7), rank("1", None, true, 1)]).expect("ranks");
        assert_eq!(ranks.first().name, "1");
        assert_eq!(Ranks::compare(Vec::new()), None);
    }
}
