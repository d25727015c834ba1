//! The samples of a whole job, in bounded space.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::process::{HostEnd, HostPeaks, HostProcess};
use super::sample::{HostLimits, HostMachine, HostSample};

/// Points, one for each process in each sample, that are kept: some two megabytes as text. A job of one process has four
/// hours of seconds, one with 64 workers four minutes, before its resolution is halved.
const POINTS_MAX: usize = 1 << 14;

/// What each process of a job held, from its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostHistory {
    limits: HostLimits,
    before: HostMachine,
    after: Option<HostMachine>,
    processes: BTreeMap<u32, HostProcess>,
    samples: Vec<HostSample>,
    /// The newest sample, while it is not its turn to be kept.
    latest: Option<HostSample>,
    points: usize,
    points_max: usize,
    /// Of so many samples one is kept.
    stride: u64,
    taken: u64,
    peaks: HostPeaks,
}

/// One line of the text form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Limits(HostLimits),
    Before(HostMachine),
    After(HostMachine),
    Process(HostProcess),
    Sample(HostSample),
    Peaks(HostPeaks),
}

/// A line of a history that is none.
#[derive(Debug, thiserror::Error)]
#[error("line {number} is no line of a history of host memory: {source}")]
pub struct Unreadable {
    /// The line, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub source: serde_json::Error,
}

impl HostHistory {
    /// A history without samples, and the machine before the job began.
    #[must_use]
    pub fn new(limits: HostLimits, before: HostMachine) -> Self {
        Self {
            limits,
            before,
            after: None,
            processes: BTreeMap::new(),
            samples: Vec::new(),
            latest: None,
            points: 0,
            points_max: POINTS_MAX,
            stride: 1,
            taken: 0,
            peaks: HostPeaks::default(),
        }
    }

    /// Knows a process from now on, or knows it better.
    pub fn add_process(&mut self, process: HostProcess) {
        let peaks = self.processes.get(&process.number).map_or(process.peaks, |known| known.peaks);
        self.processes.insert(process.number, HostProcess { peaks, ..process });
        // A job may start thousands of short-lived ones between two samples that are kept.
        if self.processes.len().is_multiple_of(self.points_max) {
            self.forget_the_forgotten();
        }
    }

    /// Notes when a process was first missed, and how it ended where that is known.
    pub fn end_process(&mut self, number: u32, time_ms: u64, end: Option<HostEnd>) {
        if let Some(process) = self.processes.get_mut(&number) {
            process.gone_ms = process.gone_ms.or(Some(time_ms));
            process.end = process.end.or(end);
        }
    }

    /// Notes how the machine was when the job had ended.
    pub fn close(&mut self, after: HostMachine) {
        self.after = Some(after);
    }

    /// Adds a sample. Its points must be of processes that were added.
    pub fn push(&mut self, mut sample: HostSample) {
        self.take_peaks(&sample);
        if let Some(earlier) = self.latest.take() {
            sample.inherit(&earlier);
        }
        if self.taken.is_multiple_of(self.stride) {
            self.points += sample.points.len();
            self.samples.push(sample);
        } else {
            self.latest = Some(sample);
        }
        self.taken += 1;
        while self.points > self.points_max && self.samples.len() > 2 {
            self.halve();
        }
    }

    fn take_peaks(&mut self, sample: &HostSample) {
        let mut all = super::HostPoint::default();
        let has_rollups = sample.points.iter().all(|point| point.rollup.is_some());
        let mut sums = super::HostRollup::default();
        let mut pinned_bytes = 0;
        for point in &sample.points {
            all.resident_bytes += point.resident_bytes;
            pinned_bytes += point.told.map_or(0, |told| told.pinned_bytes);
            let rollup = point.rollup.unwrap_or_default();
            sums.proportional_bytes += rollup.proportional_bytes;
            sums.private_bytes += rollup.private_bytes;
            if let Some(process) = self.processes.get_mut(&point.process) {
                process.peaks.take(point, sample.time_ms);
            }
        }
        all.rollup = has_rollups.then_some(sums);
        self.peaks.take(&all, sample.time_ms);
        self.peaks.pinned_bytes = self.peaks.pinned_bytes.max(pinned_bytes);
    }

    /// Makes one sample of every two, the later of them.
    fn halve(&mut self) {
        let mut kept = Vec::with_capacity(self.samples.len() / 2 + 1);
        let mut samples = std::mem::take(&mut self.samples).into_iter();
        // The first sample stays: growth is measured from it.
        kept.extend(samples.next());
        while let Some(earlier) = samples.next() {
            match samples.next() {
                Some(mut later) => {
                    later.inherit(&earlier);
                    kept.push(later);
                }
                None => kept.push(earlier),
            }
        }
        self.points = kept.iter().map(|sample| sample.points.len()).sum();
        self.samples = kept;
        self.stride *= 2;
        self.taken = 1;
        self.forget_the_forgotten();
    }

    /// Forgets processes that are gone and in no sample that is left, but for those that were killed.
    fn forget_the_forgotten(&mut self) {
        let mut shown: Vec<u32> =
            self.samples().flat_map(|sample| sample.points.iter().map(|point| point.process)).collect();
        shown.sort_unstable();
        self.processes.retain(|number, process| {
            process.gone_ms.is_none() || process.was_killed() || shown.binary_search(number).is_ok()
        });
    }

    /// What does not change while the job runs.
    #[must_use]
    pub fn limits(&self) -> &HostLimits {
        &self.limits
    }

    /// The machine before the job began.
    #[must_use]
    pub fn before(&self) -> &HostMachine {
        &self.before
    }

    /// The machine when it was last looked at: after the job's end, where that was seen.
    #[must_use]
    pub fn after(&self) -> &HostMachine {
        self.after.as_ref().or_else(|| Some(&self.last()?.machine)).unwrap_or(&self.before)
    }

    /// Every process that is known, in the order in which they were first seen.
    pub fn processes(&self) -> impl Iterator<Item = &HostProcess> {
        self.processes.values()
    }

    /// A process by its number.
    #[must_use]
    pub fn process(&self, number: u32) -> Option<&HostProcess> {
        self.processes.get(&number)
    }

    /// The process that last had a pid.
    #[must_use]
    pub fn by_pid(&self, pid: u32) -> Option<&HostProcess> {
        self.processes.values().rev().find(|process| process.pid == pid)
    }

    /// The samples that are kept, oldest first; the newest sample is always among them.
    #[must_use]
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &HostSample> {
        self.samples.iter().chain(&self.latest)
    }

    /// The newest sample.
    #[must_use]
    pub fn last(&self) -> Option<&HostSample> {
        self.samples().next_back()
    }

    /// The most that all processes held together. Resident bytes count pages that processes share once for each.
    #[must_use]
    pub fn peaks(&self) -> HostPeaks {
        self.peaks
    }

    /// The whole history as JSON lines.
    #[must_use]
    pub fn lines(&self) -> String {
        let limits = [Line::Limits(self.limits.clone()), Line::Before(self.before.clone())].into_iter();
        let processes = self.processes.values().cloned().map(Line::Process);
        let samples = self.samples().cloned().map(Line::Sample);
        let after = self.after.clone().map(Line::After);
        let peaks = std::iter::once(Line::Peaks(self.peaks)).chain(after);
        limits.chain(processes).chain(samples).chain(peaks).filter_map(|line| text(&line)).collect()
    }

    /// Reads the JSON lines of a history. A last line that was being written when its writer was killed is left out.
    ///
    /// # Errors
    /// If any other line is none of a history.
    pub fn from_lines(lines: &str) -> Result<Self, Unreadable> {
        let mut history = Self::new(HostLimits::default(), HostMachine::default());
        for (at, line) in lines.split_inclusive('\n').enumerate() {
            match serde_json::from_str(line) {
                Ok(Line::Limits(limits)) => history.limits = limits,
                Ok(Line::Before(machine)) => history.before = machine,
                Ok(Line::After(machine)) => history.after = Some(machine),
                Ok(Line::Process(process)) => history.add_process(process),
                Ok(Line::Sample(sample)) => history.push(sample),
                Ok(Line::Peaks(peaks)) => history.peaks = peaks,
                Err(_) if !line.ends_with('\n') => break,
                Err(source) => return Err(Unreadable { number: at + 1, source }),
            }
        }
        Ok(history)
    }
}

fn text(line: &Line) -> Option<String> {
    let text = serde_json::to_string(line).ok()?;
    Some(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::{HostPoint, HostRollup};
    use super::*;

    fn point(process: u32, resident_bytes: u64) -> HostPoint {
        HostPoint { process, resident_bytes, ..HostPoint::default() }
    }

    fn sample(time_ms: u64, points: Vec<HostPoint>) -> HostSample {
        HostSample { time_ms, machine: HostMachine::default(), points }
    }

    fn bounded(points_max: usize) -> HostHistory {
        let history = HostHistory::new(HostLimits::default(), HostMachine::default());
        HostHistory { points_max, ..history }
    }

    fn two_processes(points_max: usize) -> HostHistory {
        let mut history = bounded(points_max);
        for number in [1, 2] {
            history.add_process(HostProcess { number, pid: 100 + number, ..HostProcess::default() });
        }
        history
    }

    #[test]
    fn a_long_job_keeps_its_beginning_its_end_and_its_peak_in_bounded_space() {
        let mut history = two_processes(64);
        for second in 0..10_000 {
            let bytes = if second == 4_321 { 1 << 40 } else { 1 << 20 };
            history.push(sample(second * 1000, vec![point(1, bytes), point(2, 7)]));
        }
        let times: Vec<u64> = history.samples().map(|sample| sample.time_ms).collect();
        assert!(times.len() <= 33 && times.is_sorted(), "{times:?}");
        assert_eq!((times[0], times.last()), (0, Some(&9_999_000)));
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().max() < Some(&2_000_000), "no part of the job is without samples: {gaps:?}");
        assert_eq!((history.peaks().resident_bytes, history.peaks().time_ms), ((1 << 40) + 7, 4_321_000));
        assert_eq!(history.process(1).expect("known").peaks.resident_bytes, 1 << 40);
    }

    #[test]
    fn what_is_read_less_often_survives_halving() {
        let mut history = two_processes(16);
        for second in 0..500 {
            let rollup = (second % 10 == 0).then_some(HostRollup { private_bytes: second, ..HostRollup::default() });
            history.push(sample(second * 1000, vec![HostPoint { rollup, ..point(1, 1) }]));
        }
        let without = history.samples().filter(|sample| sample.points[0].rollup.is_none()).count();
        assert!(history.samples().count() > 4 && without <= 1, "{without} have none");
    }

    #[test]
    fn processes_that_left_no_trace_are_forgotten_but_not_those_that_were_killed() {
        let mut history = bounded(64);
        for number in 0..1_000 {
            history.add_process(HostProcess { number, ..HostProcess::default() });
            history.push(sample(u64::from(number), vec![point(number, 1)]));
            history.end_process(number, u64::from(number), (number == 5).then_some(HostEnd::Signal(9)));
        }
        assert!(history.processes().count() < 200, "{}", history.processes().count());
        assert!(history.process(5).is_some_and(HostProcess::was_killed));
    }

    #[test]
    fn a_history_is_read_back_as_it_was_written() {
        let mut history = two_processes(POINTS_MAX);
        history.limits = HostLimits { total_bytes: 5, cgroup_limit_bytes: Some(4), shm_total_bytes: None };
        for second in 0..20 {
            history.push(sample(second * 1000, vec![point(1, 10 * second), point(2, 3)]));
        }
        history.end_process(2, 20_000, Some(HostEnd::Exit(3)));
        history.close(HostMachine { oom_kills: Some(7), ..HostMachine::default() });
        let text = history.lines();
        assert_eq!(HostHistory::from_lines(&text).expect("readable"), history);
        let torn = &text[..text.len() - 5];
        assert_eq!(HostHistory::from_lines(torn).expect("all but the torn line").samples().count(), 20);
        let broken = text.replacen("time_ms", "time", 1);
        assert!(HostHistory::from_lines(&broken).is_err());
    }
}
