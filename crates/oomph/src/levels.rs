//! What a process holds on each card, followed through the events of its box: how much, how high a step goes, and whether
//! what is left between steps rises.

use std::collections::BTreeMap;

use oomph_box::{Action, BoxEvent, DeviceState, Events, HOST, MemoryEvent, What};
use oomph_explain::forecast::{Forecast, Lows};

/// The levels of one process.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    devices: BTreeMap<u8, Level>,
    /// The step that is running; none until one was seen from its beginning.
    step: Option<u64>,
}

/// What is held on one card.
#[derive(Debug, Default)]
struct Level {
    held_bytes: u64,
    lows: Lows,
    /// The step that is running and the most that was held in it, and the same of the one before.
    high: (u64, u64),
    last_high_bytes: u64,
}

impl Level {
    fn note(&mut self, step: u64) {
        self.lows.note(step, self.held_bytes);
        if self.high.0 != step {
            self.last_high_bytes = self.high.1;
            self.high = (step, self.held_bytes);
        }
        self.high.1 = self.high.1.max(self.held_bytes);
    }
}

impl Levels {
    /// After a gap: works out what each card held when the events begin, from what it holds now.
    pub(crate) fn anchor(&mut self, devices: &[DeviceState], events: &Events) {
        self.step = None;
        for device in devices {
            let changes = events.events.iter().rev().filter_map(|(_, event)| change(event));
            let own = changes.filter(|(of, ..)| *of == device.ordinal);
            let held_bytes = own.fold(device.requested_bytes, |held, (_, taken, given_back)| {
                held.saturating_add(given_back).saturating_sub(taken)
            });
            self.devices.entry(device.ordinal).or_default().held_bytes = held_bytes;
        }
    }

    /// Takes an event; returns the step that it begins, if it begins one.
    pub(crate) fn take(&mut self, event: &BoxEvent) -> Option<u64> {
        if let What::State { step, batches, .. } = event.what {
            // A job without optimizer steps goes by batches.
            let step = if step > 0 { step } else { u64::from(batches) };
            if self.step == Some(step) {
                return None;
            }
            self.step = Some(step);
            self.devices.values_mut().for_each(|level| level.note(step));
            return Some(step);
        }
        let (device, taken, given_back) = change(event)?;
        let level = self.devices.entry(device).or_default();
        level.held_bytes = level.held_bytes.saturating_add(taken).saturating_sub(given_back);
        if let Some(step) = self.step {
            level.note(step);
        }
        None
    }

    /// When a card runs out, where tensors can take `room_bytes` of it. What counts is the fullest moment of a step.
    pub(crate) fn forecast(&self, device: u8, room_bytes: u64) -> Option<Forecast> {
        let level = self.devices.get(&device)?;
        level.lows.forecast(room_bytes.saturating_sub(level.last_high_bytes.max(level.high.1)))
    }
}

/// The card of an event, the bytes that it takes there, and those that it gives back: when they are, not when somebody
/// asks for it, which is how the box counts too.
fn change(event: &BoxEvent) -> Option<(u8, u64, u64)> {
    let What::Memory(MemoryEvent { action, device, bytes, .. }) = event.what else { return None };
    match action {
        _ if device == HOST => None,
        Action::Alloc => Some((device, bytes, 0)),
        Action::FreeCompleted => Some((device, 0, bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use oomph_box::{Phase, StackNumber};

    use super::*;

    fn memory(action: Action, bytes: u64) -> BoxEvent {
        let memory = MemoryEvent { action, device: 0, address: 1, bytes, stack: StackNumber(0), lane: 0 };
        BoxEvent { time_us: 0, what: What::Memory(memory) }
    }

    fn begins(step: u64) -> BoxEvent {
        BoxEvent { time_us: 0, what: What::State { step, batches: 0, phase: Phase::Forward } }
    }

    #[test]
    fn what_was_held_at_first_follows_from_what_is_held_now() {
        let mut levels = Levels::default();
        let device = DeviceState { requested_bytes: 100, ..DeviceState::default() };
        let seen = [memory(Action::Alloc, 30), memory(Action::FreeRequested, 30), memory(Action::FreeCompleted, 50)];
        let events = Events { events: seen.map(|event| (0, event)).to_vec(), lost: 0, next: 0 };
        levels.anchor(&[device], &events);
        assert_eq!(levels.devices[&0].held_bytes, 120);
    }

    #[test]
    fn a_steady_rise_between_steps_is_foreseen_and_a_level_is_not() {
        for (kept_bytes, is_foreseen) in [(1 << 20, true), (0, false)] {
            let mut levels = Levels::default();
            for step in 1..40 {
                assert_eq!(levels.take(&begins(step)), Some(step));
                levels.take(&memory(Action::Alloc, (64 << 20) + kept_bytes));
                levels.take(&memory(Action::FreeCompleted, 64 << 20));
            }
            // 39 steps are kept, the highest moment is 64 MiB above, 100 are left.
            let room_bytes = (39 * kept_bytes) + (164 << 20);
            let forecast = levels.forecast(0, room_bytes);
            assert_eq!(forecast.is_some(), is_foreseen, "{forecast:?}");
            assert!(forecast.is_none_or(|forecast| (95..=105).contains(&forecast.steps_left)), "{forecast:?}");
        }
    }

    #[test]
    fn a_hostile_box_is_survived() {
        let mut levels = Levels::default();
        for event in [memory(Action::Alloc, u64::MAX), begins(3), memory(Action::Alloc, u64::MAX), begins(2)] {
            levels.take(&event);
        }
        assert_eq!(levels.devices[&0].held_bytes, u64::MAX);
        levels.take(&memory(Action::FreeCompleted, u64::MAX));
        levels.take(&memory(Action::FreeCompleted, 7));
        assert_eq!(levels.devices[&0].held_bytes, 0);
    }
}
