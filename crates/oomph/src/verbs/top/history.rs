//! What a job held over the time in which it was looked at: the timeline of its page.

use std::collections::VecDeque;

use super::scene::Job;

/// Looks that are kept: an hour of seconds.
const POINTS: usize = 3600;

/// A job at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) at_us: u64,
    pub(super) allocated_bytes: u64,
    pub(super) reserved_bytes: u64,
}

/// The last looks at a job, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<Point>);

impl History {
    /// Adds what is seen now.
    pub(super) fn add(&mut self, at_us: u64, job: &Job) {
        if self.0.len() == POINTS {
            self.0.pop_front();
        }
        let (allocated_bytes, reserved_bytes) = (job.allocated_bytes(), job.reserved_bytes());
        self.0.push_back(Point { at_us, allocated_bytes, reserved_bytes });
    }

    /// The looks as so many columns, the newest last: of several in one column the most counts.
    pub(super) fn columns(&self, count: usize) -> Vec<Point> {
        let per_column = self.0.len().div_ceil(count.max(1)).max(1);
        let points: Vec<Point> = self.0.iter().copied().collect();
        // From the newest: the oldest column may be a part of one, the newest never moves.
        let mut columns: Vec<Point> = points
            .rchunks(per_column)
            .map(|chunk| Point {
                at_us: chunk.first().map_or(0, |point| point.at_us),
                allocated_bytes: chunk.iter().map(|point| point.allocated_bytes).max().unwrap_or(0),
                reserved_bytes: chunk.iter().map(|point| point.reserved_bytes).max().unwrap_or(0),
            })
            .collect();
        columns.reverse();
        columns
    }

    /// The time it covers.
    pub(super) fn seconds(&self) -> u64 {
        let ends = self.0.front().zip(self.0.back());
        ends.map_or(0, |(first, last)| last.at_us.saturating_sub(first.at_us) / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{DeviceUse, JobProcess};
    use super::*;

    fn job(allocated_bytes: u64) -> Job {
        let device = DeviceUse { allocated_bytes, reserved_bytes: 2 * allocated_bytes, ..DeviceUse::default() };
        Job { processes: vec![JobProcess { devices: vec![device], ..JobProcess::default() }], ..Job::default() }
    }

    #[test]
    fn many_looks_share_columns_and_none_is_forgotten() {
        let mut history = History::default();
        for second in 0..10 {
            history.add(second * 1_000_000, &job(if second == 3 { 99 } else { second }));
        }
        assert_eq!(history.columns(20).len(), 10);
        let columns = history.columns(3);
        let allocated: Vec<u64> = columns.iter().map(|point| point.allocated_bytes).collect();
        assert_eq!(allocated, [1, 99, 9], "the oldest column is a part of one");
        assert_eq!((history.seconds(), columns[2].reserved_bytes), (9, 18));
        assert!(History::default().columns(5).is_empty() && history.columns(0).len() == 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut history = History::default();
        for second in 0..5000 {
            history.add(second * 1_000_000, &job(second));
        }
        assert_eq!((history.columns(POINTS).len(), history.seconds()), (3600, 3599));
    }
}
