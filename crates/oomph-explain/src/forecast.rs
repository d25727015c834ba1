//! When memory will run out, from what a job holds between its steps.
//!
//! What a healthy job holds at its lowest point of a step stays about where it is, however ragged its batches are. What
//! is kept from every step raises that point again and again. An alarm is raised only where the rise is beyond chance
//! and goes on at one rate; a step up (optimizer state, a cache that fills) and noise are neither.

pub(crate) mod trend;

use std::collections::VecDeque;

use self::trend::rise_per_point;

/// Steps that are looked at one by one.
const RECENT_STEPS: usize = 48;
/// Points that the whole history is kept in; when they are used up, each two become one.
const HISTORY_POINTS: usize = 128;
/// Nobody can say what happens after more than so many times the steps that were looked at.
const REACH: u64 = 50;

/// What a job held at the lowest point of each of its steps.
#[derive(Clone, Debug)]
pub struct Lows {
    /// The step that is running, and the least that was held in it so far.
    running: Option<(u64, u64)>,
    recent_bytes: VecDeque<u64>,
    history_bytes: Vec<u64>,
    /// Steps behind each point of the history, and how many of the next point were seen.
    steps_per_point: u64,
    steps_in_last_point: u64,
}

impl Default for Lows {
    fn default() -> Self {
        Self {
            running: None,
            recent_bytes: VecDeque::with_capacity(RECENT_STEPS),
            history_bytes: Vec::with_capacity(HISTORY_POINTS),
            steps_per_point: 1,
            steps_in_last_point: 1,
        }
    }
}

/// A job that runs out of memory if it goes on as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Steps until then, about.
    pub steps_left: u64,
    /// What every step keeps.
    pub bytes_per_step: u64,
}

impl Lows {
    /// Notes what is held in a step; of any number of notes in one step the least counts.
    pub fn note(&mut self, step: u64, held_bytes: u64) {
        match &mut self.running {
            Some((running, low_bytes)) if *running == step => *low_bytes = held_bytes.min(*low_bytes),
            running => {
                if let Some((_, low_bytes)) = running.replace((step, held_bytes)) {
                    self.end_step(low_bytes);
                }
            }
        }
    }

    /// When memory runs out, where `room_bytes` more than now can be held; none where nothing rises steadily.
    #[must_use]
    pub fn forecast(&self, room_bytes: u64) -> Option<Forecast> {
        let recent_bytes: Vec<u64> = self.recent_bytes.iter().copied().collect();
        let history = &self.history_bytes;
        let later_half = &history[history.len() / 2..];
        // The latest steps know the rate best; a slow rise among ragged batches shows only in a longer view.
        let windows =
            [(recent_bytes.as_slice(), 1), (later_half, self.steps_per_point), (history, self.steps_per_point)];
        windows.into_iter().find_map(|(points, steps_per_point)| {
            let bytes_per_step = rise_per_point(points)? / steps_per_point;
            let steps_left = room_bytes.checked_div(bytes_per_step)?;
            let reach_steps = REACH * points.len() as u64 * steps_per_point;
            (steps_left <= reach_steps).then_some(Forecast { steps_left, bytes_per_step })
        })
    }

    fn end_step(&mut self, low_bytes: u64) {
        if self.recent_bytes.len() == RECENT_STEPS {
            self.recent_bytes.pop_front();
        }
        self.recent_bytes.push_back(low_bytes);
        if let Some(last) = self.history_bytes.last_mut()
            && self.steps_in_last_point < self.steps_per_point
        {
            *last = low_bytes.min(*last);
            self.steps_in_last_point += 1;
            return;
        }
        if self.history_bytes.len() == HISTORY_POINTS {
            self.history_bytes = self.history_bytes.chunks(2).filter_map(|pair| pair.iter().min().copied()).collect();
            self.steps_per_point *= 2;
        }
        self.history_bytes.push(low_bytes);
        self.steps_in_last_point = 1;
    }
}

#[cfg(test)]
mod tests;
