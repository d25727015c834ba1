//! How long steps take.

use std::collections::VecDeque;

/// Steps that a median is made of: the last ones.
const STEPS_MAX: usize = 1000;
/// A median of fewer says nothing: the first steps of a job take longer than the others.
const STEPS_MIN: usize = 5;

/// The times of the last steps of a process.
#[derive(Debug, Default)]
pub(super) struct StepTimes {
    began_us: Option<u64>,
    lasted_us: VecDeque<u64>,
}

impl StepTimes {
    /// A step begins, and with it the one before has ended.
    pub(super) fn begin(&mut self, now_us: u64) {
        if let Some(began_us) = self.began_us.replace(now_us) {
            if self.lasted_us.len() == STEPS_MAX {
                self.lasted_us.pop_front();
            }
            self.lasted_us.push_back(now_us.saturating_sub(began_us));
        }
    }

    /// Something was missed: nobody knows how long the step took that is running.
    pub(super) fn lose_track(&mut self) {
        self.began_us = None;
    }

    /// The median; none where there are too few.
    pub(super) fn median_us(&self) -> Option<u64> {
        let mut lasted_us: Vec<u64> = self.lasted_us.iter().copied().collect();
        lasted_us.sort_unstable();
        lasted_us.get(lasted_us.len() / 2).copied().filter(|_| lasted_us.len() >= STEPS_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_steps_that_were_seen_from_beginning_to_end() {
        let mut times = StepTimes::default();
        let mut now_us = 0;
        for lasted_us in [900, 10, 12, 11] {
            times.begin(now_us);
            now_us += lasted_us;
        }
        times.begin(now_us);
        assert_eq!(times.median_us(), None, "four steps are too few");
        times.lose_track();
        times.begin(now_us + 5000);
        times.begin(now_us + 5011);
        assert_eq!(times.median_us(), Some(11));
    }
}
