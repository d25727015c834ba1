//! What a job was doing when, from the marks and calls that its process told.

use oomph_job::Watched;

/// What the job was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stretch {
    /// Before the first step, or between things.
    Setup,
    /// A forward pass whose graph is kept, or the loss.
    Forward,
    /// A forward pass in evaluation mode.
    Evaluation,
    /// A backward pass.
    Backward,
    /// An optimizer's step.
    Optimizer,
}

/// When what was going on, in the process's own time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    backwards: Vec<(u64, u64)>,
    optimizers: Vec<(u64, u64)>,
    evaluations: Vec<(u64, u64)>,
    /// Calls of models that no other module makes.
    calls: Vec<(u64, u64)>,
    /// Step numbers by their beginnings, in order.
    steps: Vec<(u64, u32)>,
}

impl Clock {
    /// Reads it from what was told.
    #[must_use]
    pub fn of(watched: &Watched) -> Self {
        let mut clock = Self {
            backwards: stretches(watched, "backward"),
            optimizers: stretches(watched, "optimizer"),
            evaluations: stretches(watched, "evaluation"),
            calls: outermost_calls(watched),
            steps: steps(watched),
        };
        if clock.steps.is_empty() {
            // A script that updates its weights by hand: every backward pass ends a step.
            let ends = clock.backwards.iter().map(|(_, until)| *until);
            let starts = clock.calls.first().map(|(from, _)| *from).into_iter().chain(ends);
            clock.steps = starts.zip(1..).filter(|_| !clock.backwards.is_empty()).collect();
        }
        clock
    }

    /// When backward passes ran.
    #[must_use]
    pub fn backwards(&self) -> &[(u64, u64)] {
        &self.backwards
    }

    /// The last step that was seen whole: its number, when it began and when it ended.
    #[must_use]
    pub fn last_whole_step(&self) -> Option<(u32, u64, u64)> {
        let [.., (from_us, step), (until_us, _)] = self.steps[..] else { return None };
        Some((step, from_us, until_us))
    }

    /// What was going on at a moment, and in which step; 0 before the first.
    #[must_use]
    pub fn at(&self, time_us: u64) -> (Stretch, u32) {
        let after = self.steps.partition_point(|(from, _)| *from <= time_us);
        let step = after.checked_sub(1).map_or(0, |at| self.steps[at].1);
        let stretch = if within(&self.backwards, time_us) {
            Stretch::Backward
        } else if within(&self.evaluations, time_us) {
            Stretch::Evaluation
        } else if step > 0 && within(&self.calls, time_us) {
            // Also inside a step of an optimizer that calls the model itself.
            Stretch::Forward
        } else if within(&self.optimizers, time_us) {
            Stretch::Optimizer
        } else if step > 0 {
            Stretch::Forward
        } else {
            Stretch::Setup
        };
        (stretch, step)
    }
}

fn within(stretches: &[(u64, u64)], time_us: u64) -> bool {
    let after = stretches.partition_point(|(from, _)| *from <= time_us);
    after > 0 && time_us <= stretches[after - 1].1
}

fn steps(watched: &Watched) -> Vec<(u64, u32)> {
    let number = |name: &str| name.strip_prefix("step ")?.parse().ok();
    let starts = watched.marks.iter().filter(|mark| mark.3 == "START");
    let mut steps: Vec<(u64, u32)> = starts.filter_map(|mark| Some((mark.0, number(&mark.2)?))).collect();
    steps.sort_unstable();
    steps
}

fn outermost_calls(watched: &Watched) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let (mut depth, mut from_us) = (0_usize, 0);
    for &(time_us, called) in &watched.calls {
        if called.is_some() {
            if depth == 0 {
                from_us = time_us;
            }
            depth += 1;
        } else {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                found.push((from_us, time_us));
            }
        }
    }
    found
}

/// The stretches of one name, each from its start to its end, in order.
fn stretches(watched: &Watched, name: &str) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut start = None;
    for (time_us, _, _, stage) in watched.marks.iter().filter(|mark| mark.2 == name) {
        match (stage.as_str(), start) {
            ("START", None) => start = Some(*time_us),
            ("END", Some(from)) => {
                found.push((from, *time_us));
                start = None;
            }
            _ => {}
        }
    }
    // Whatever was interrupted went on until the end.
    found.extend(start.map(|from| (from, u64::MAX)));
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(time_us: u64, name: &str, stage: &str) -> (u64, u32, String, String) {
        (time_us, 0, name.to_owned(), stage.to_owned())
    }

    fn two_ends(from: u64, until: u64, name: &str) -> [(u64, u32, String, String); 2] {
        [mark(from, name, "START"), mark(until, name, "END")]
    }

    #[test]
    fn what_happens_inside_an_optimizer_step_is_told_apart() {
        let marks = [two_ends(10, 40, "optimizer"), two_ends(22, 30, "backward")].concat();
        let marks = [vec![mark(1, "step 1", "START")], marks].concat();
        let calls = vec![(12, Some(0)), (13, Some(1)), (14, None), (20, None)];
        let clock = Clock::of(&Watched { marks, calls, ..Watched::default() });
        let found = [0, 5, 15, 25, 35].map(|time_us| clock.at(time_us));
        let expected =
            [Stretch::Setup, Stretch::Forward, Stretch::Forward, Stretch::Backward, Stretch::Optimizer].into_iter();
        assert_eq!(found.to_vec(), expected.zip([0, 1, 1, 1, 1]).collect::<Vec<_>>());
    }

    #[test]
    fn without_an_optimizer_backward_passes_end_steps() {
        let marks = [two_ends(20, 30, "backward"), two_ends(50, 60, "backward")].concat();
        let calls = vec![(10, Some(0)), (15, None), (40, Some(0)), (45, None)];
        let clock = Clock::of(&Watched { marks, calls, ..Watched::default() });
        let steps = [5, 12, 25, 42, 70].map(|time_us| clock.at(time_us).1);
        assert_eq!(steps, [0, 1, 1, 2, 3]);
        assert_eq!(clock.last_whole_step(), Some((2, 30, 60)));
        let inference = Clock::of(&Watched { calls: vec![(10, Some(0)), (15, None)], ..Watched::default() });
        assert_eq!(inference.at(12), (Stretch::Setup, 0));
    }
}
