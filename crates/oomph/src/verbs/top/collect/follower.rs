//! Follows one box from look to look: how fast it goes, and whether what it holds between steps rises.

use std::collections::{BTreeMap, VecDeque};

use oomph_box::{Action, BlackBox, BoxEvent, DeviceState, Events, HOST, MemoryEvent, What};
use oomph_explain::forecast::Lows;

use super::inside::Places;
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
    /// What each device holds at that event.
    held_bytes: BTreeMap<u8, u64>,
    lows: BTreeMap<u8, Lows>,
    /// The step that is running; `None` until one was seen from its beginning.
    step: Option<u64>,
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
            self.anchor(devices, &events);
        }
        for (_, event) in &events.events {
            self.take(event);
        }
        self.next = Some(events.next);
    }

    /// Works out what each device held when the events begin, from what it holds now.
    fn anchor(&mut self, devices: &[DeviceState], events: &Events) {
        self.step = None;
        self.held_bytes = devices.iter().map(|device| (device.ordinal, device.requested_bytes)).collect();
        for (_, event) in events.events.iter().rev() {
            if let What::Memory(memory) = &event.what
                && let Some(held) = self.held_bytes.get_mut(&memory.device)
            {
                let (taken, given_back) = change(memory);
                *held = held.saturating_add(given_back).saturating_sub(taken);
            }
        }
    }

    fn take(&mut self, event: &BoxEvent) {
        match &event.what {
            What::State { step, batches, .. } => {
                // A job without optimizer steps goes by batches.
                let step = if *step > 0 { *step } else { u64::from(*batches) };
                if self.step != Some(step) {
                    self.step = Some(step);
                    self.note_all(step);
                    self.note_speed(event.time_us, step);
                }
            }
            What::Memory(memory) if memory.device != HOST => {
                let (taken, given_back) = change(memory);
                let held = self.held_bytes.entry(memory.device).or_default();
                *held = held.saturating_add(taken).saturating_sub(given_back);
                if let Some(step) = self.step.filter(|_| given_back > 0) {
                    self.lows.entry(memory.device).or_default().note(step, *held);
                }
            }
            _ => {}
        }
    }

    fn note_all(&mut self, step: u64) {
        for (&device, &held) in &self.held_bytes {
            self.lows.entry(device).or_default().note(step, held);
        }
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

    /// When a device is full, if it goes on as it does.
    pub(super) fn forecast(&self, device: u8, room_bytes: u64) -> Option<Forecast> {
        let found = self.lows.get(&device)?.forecast(room_bytes)?;
        Some(Forecast { steps_left: found.steps_left, bytes_per_step: found.bytes_per_step })
    }
}

/// Bytes that an event takes, and that it gives back.
fn change(memory: &MemoryEvent) -> (u64, u64) {
    match memory.action {
        Action::Alloc => (memory.bytes, 0),
        Action::FreeCompleted => (0, memory.bytes),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use oomph_box::{Phase, StackNumber};

    use super::*;

    fn memory(action: Action, bytes: u64) -> What {
        let stack = StackNumber::default();
        What::Memory(MemoryEvent { action, device: 0, address: 1, bytes, stack, lane: 0 })
    }

    fn events(whats: Vec<What>) -> Events {
        let events = whats.into_iter().map(|what| (0, BoxEvent { time_us: 0, what })).collect();
        Events { events, lost: 0, next: 0 }
    }

    #[test]
    fn what_was_held_at_first_follows_from_what_is_held_now() {
        let mut follower = Follower::default();
        let device = DeviceState { requested_bytes: 100, ..DeviceState::default() };
        let seen = [memory(Action::Alloc, 30), memory(Action::FreeRequested, 30), memory(Action::FreeCompleted, 50)];
        follower.anchor(&[device], &events(seen.to_vec()));
        assert_eq!(follower.held_bytes[&0], 120);
    }

    #[test]
    fn a_steady_rise_between_steps_is_foreseen_and_a_level_is_not() {
        for (kept_bytes, is_foreseen) in [(1 << 20, true), (0, false)] {
            let mut follower = Follower::default();
            let mut take = |what| follower.take(&BoxEvent { time_us: 0, what });
            for step in 1..40 {
                take(What::State { step, batches: 0, phase: Phase::Forward });
                take(memory(Action::Alloc, (64 << 20) + kept_bytes));
                take(memory(Action::FreeCompleted, 64 << 20));
            }
            let forecast = follower.forecast(0, 100 << 20);
            assert_eq!(forecast.is_some(), is_foreseen, "{forecast:?}");
            let about_right = |forecast: Forecast| (95..=105).contains(&forecast.steps_left);
            assert!(forecast.is_none_or(about_right), "{forecast:?}");
        }
    }

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
