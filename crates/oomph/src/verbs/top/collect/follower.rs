//! Follows one box from look to look: how fast it goes, and whether what it holds between steps rises.

use std::collections::VecDeque;

use oomph_box::{BlackBox, DeviceState};

use super::inside::Places;
use crate::levels::Levels;
use crate::verbs::top::scene::Forecast;

/// Events before the first look that are read: tens of steps, and a few megabytes for a moment.
const LOOK_BACK_EVENTS: u64 = 100_000;
/// The speed is that of so many microseconds.
const SPEED_US: u64 = 30_000_000;

/// What is remembered of a box.
#[derive(Default)]
pub(super) struct Follower {
    /// The event to read on from; `None` before the first look.
    next: Option<u64>,
    levels: Levels,
    /// When which step was reached, oldest first.
    reached: VecDeque<(u64, u64)>,
    pub(super) places: Places,
}

impl Follower {
    /// Reads on.
    pub(super) fn follow(&mut self, the_box: &BlackBox, devices: &[DeviceState]) {
        let end = the_box.events_since(u64::MAX).next;
        let oldest = end.saturating_sub(LOOK_BACK_EVENTS);
        let events = the_box.events_since(self.next.unwrap_or(0).max(oldest));
        if self.next.is_none_or(|next| next < oldest) || events.lost > 0 {
            self.levels.anchor(devices, &events);
        }
        for (_, event) in &events.events {
            if let Some(step) = self.levels.take(event) {
                self.note_speed(event.time_us, step);
            }
        }
        self.next = Some(events.next);
    }

    fn note_speed(&mut self, at_us: u64, step: u64) {
        let is_long_ago = |&(then_us, _): &(u64, u64)| at_us.saturating_sub(then_us) > SPEED_US;
        while self.reached.len() > 1 && self.reached.front().is_some_and(is_long_ago) {
            self.reached.pop_front();
        }
        self.reached.push_back((at_us, step));
    }

    /// Steps a minute, once two were seen; none where the next one does not come.
    pub(super) fn steps_per_minute(&self, at_us: u64) -> Option<f64> {
        let (&(from_us, from), &(to_us, to)) = self.reached.front().zip(self.reached.back())?;
        let passed_us = to_us.checked_sub(from_us).filter(|&passed| passed > 0)?;
        let steps = to.checked_sub(from).filter(|&steps| steps > 0)?;
        if at_us.saturating_sub(to_us) > SPEED_US.max(3 * passed_us / steps) {
            return None;
        }
        let speed = steps as f64 * 60e6 / passed_us as f64;
        Some((speed * 10.0).round() / 10.0)
    }

    /// When a device is full, where tensors can take `room_bytes` of it, if it goes on as it does.
    pub(super) fn forecast(&self, device: u8, room_bytes: u64) -> Option<Forecast> {
        let found = self.levels.forecast(device, room_bytes)?;
        Some(Forecast { steps_left: found.steps_left, bytes_per_step: found.bytes_per_step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_that_of_the_last_half_minute() {
        let mut follower = Follower::default();
        follower.note_speed(0, 5);
        assert_eq!(follower.steps_per_minute(0), None);
        for second in 1..100 {
            follower.note_speed(second * 1_000_000, 5 + 2 * second);
        }
        assert_eq!(follower.steps_per_minute(99_000_000), Some(120.0));
        assert_eq!(follower.steps_per_minute(140_000_000), None, "it stands still");
        assert!(follower.reached.len() < 40);
        let mut slow = Follower::default();
        for step in 0..4 {
            slow.note_speed(step * 60_000_000, step);
        }
        assert_eq!(slow.steps_per_minute(230_000_000), Some(1.0), "steps longer than that count all the same");
    }
}
