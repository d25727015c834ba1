//! Whether the heap of a process grows, and how fast.

use oomph_trace::host::{HostHistory, HostPoint};

use crate::forecast::trend::rise_per_point;

/// How the heap of a process rose: resident bytes without files and shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostGrowth {
    /// By how much, from when the process was first seen until it was last seen.
    pub risen_bytes: u64,
    /// Of these, in the second half of that time: what was built up once does not rise there.
    pub risen_late_bytes: u64,
    /// How fast, where it rises steadily and beyond chance.
    pub bytes_per_second: Option<u64>,
    /// The same for every step, where the process tells its steps.
    pub bytes_per_step: Option<u64>,
}

impl HostGrowth {
    /// Whether it rises steadily and beyond chance.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.bytes_per_second.is_some()
    }
}

/// The growth of one process.
#[must_use]
pub fn growth_of(history: &HostHistory, process: u32) -> HostGrowth {
    let series: Vec<(u64, HostPoint)> =
        history.samples().filter_map(|sample| sample.point(process).map(|&point| (sample.time_ms, point))).collect();
    let (Some(first), Some(last)) = (series.first(), series.last()) else { return HostGrowth::default() };
    let middle = &series[series.len() / 2];
    let risen = |from: &HostPoint| last.1.heap_bytes().saturating_sub(from.heap_bytes());
    // A job begins with imports and its data: whether it grows shows afterwards.
    let later = &series[series.len() / 4..];
    let (bytes_per_second, bytes_per_step) = rates(later);
    HostGrowth { risen_bytes: risen(&first.1), risen_late_bytes: risen(&middle.1), bytes_per_second, bytes_per_step }
}

/// Bytes a second and bytes a step, where a series rises steadily.
fn rates(series: &[(u64, HostPoint)]) -> (Option<u64>, Option<u64>) {
    let bytes: Vec<u64> = series.iter().map(|(_, point)| point.heap_bytes()).collect();
    let (Some(per_point), Some(first), Some(last)) = (rise_per_point(&bytes), series.first(), series.last()) else {
        return (None, None);
    };
    let risen = per_point * (series.len() as u64 - 1);
    let passed_ms = last.0 - first.0;
    let steps = last.1.told.zip(first.1.told).and_then(|(last, first)| last.step.checked_sub(first.step));
    (risen.saturating_mul(1000).checked_div(passed_ms), steps.and_then(|steps| risen.checked_div(steps)))
}

#[cfg(test)]
mod tests {
    use oomph_trace::host::{HostLimits, HostMachine, HostProcess, HostSample, HostTold};

    use super::*;

    fn history(heap_bytes: impl Fn(u64) -> u64) -> HostHistory {
        let mut history = HostHistory::new(HostLimits::default(), HostMachine::default());
        history.add_process(HostProcess::default());
        for second in 0..200 {
            let told = Some(HostTold { step: 5 * second, ..HostTold::default() });
            let shared_bytes = 7_000 * second;
            let resident_bytes = shared_bytes + heap_bytes(second);
            let point = HostPoint { process: 0, resident_bytes, shared_bytes, rollup: None, told };
            history.push(HostSample { time_ms: 1000 * second, machine: HostMachine::default(), points: vec![point] });
        }
        history
    }

    #[test]
    fn a_steady_rise_has_a_rate_by_second_and_by_step() {
        let growth = growth_of(&history(|second| 5_000_000 + 1_000_000 * second), 0);
        assert_eq!(growth.bytes_per_second, Some(1_000_000));
        assert_eq!(growth.bytes_per_step, Some(200_000));
        assert_eq!(growth.risen_bytes, 199_000_000);
    }

    #[test]
    fn data_loaded_at_the_start_and_ragged_batches_are_no_growth() {
        let loads = growth_of(&history(|second| 1_000_000_000 * second.min(20)), 0);
        assert!(!loads.is_steady() && loads.risen_late_bytes == 0, "{loads:?}");
        let ragged = growth_of(&history(|second| 1 << 30 | (second.wrapping_mul(2_654_435_761) % (1 << 28))), 0);
        assert!(!ragged.is_steady(), "{ragged:?}");
    }

    #[test]
    fn a_process_nobody_saw_did_not_grow() {
        assert_eq!(growth_of(&history(|_| 1), 5), HostGrowth::default());
    }
}
