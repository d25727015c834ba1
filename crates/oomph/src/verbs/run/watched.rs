//! One process of a job, followed through its black box.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oomph_box::{Action, BlackBox, BoxEvent, Events, HOST, What};
use oomph_explain::forecast::{Forecast, Lows};

/// Events that are kept of a process at most: about a gigabyte.
const KEPT_EVENTS_MAX: usize = 16 << 20;

/// A process and what was seen of it.
pub(super) struct Watched {
    pub(super) path: PathBuf,
    pub(super) the_box: BlackBox,
    /// Its whole history, where that was asked for.
    pub(super) kept: Option<Events>,
    next_event: u64,
    step: u64,
    levels: BTreeMap<u8, Level>,
}

/// What the process holds on one card.
#[derive(Default)]
struct Level {
    held_bytes: i64,
    lows: Lows,
    /// The step that is running and the most that was held in it, and the same of the one before.
    high: (u64, u64),
    last_high_bytes: u64,
}

impl Level {
    fn note(&mut self, step: u64) {
        let held_bytes = u64::try_from(self.held_bytes).unwrap_or(0);
        self.lows.note(step, held_bytes);
        if self.high.0 != step {
            self.last_high_bytes = self.high.1;
            self.high = (step, held_bytes);
        }
        self.high.1 = self.high.1.max(held_bytes);
    }
}

impl Watched {
    /// Opens a box, if it is one by now.
    pub(super) fn open(path: &Path, keeps_events: bool) -> Option<Self> {
        let the_box = BlackBox::open(path).ok()?;
        let kept = keeps_events.then(Events::default);
        let path = path.to_owned();
        Some(Self { path, the_box, kept, next_event: 0, step: 0, levels: BTreeMap::new() })
    }

    /// Reads what has happened since the last time.
    pub(super) fn read(&mut self) {
        let news = self.the_box.events_since(self.next_event);
        self.next_event = news.next;
        if news.lost > 0 {
            self.find_level(&news);
        }
        for (_, event) in &news.events {
            self.take(event);
        }
        if let Some(kept) = &mut self.kept {
            keep(kept, news);
        }
    }

    /// Steps and batches that are done: a box tells the step that runs.
    pub(super) fn progress(&self) -> (u64, u64) {
        let state = self.the_box.state();
        (state.step.saturating_sub(1), state.batches)
    }

    /// After a gap, what is held can only be told from where it ended up.
    fn find_level(&mut self, news: &Events) {
        for device in self.the_box.devices() {
            let changes = news.events.iter().filter_map(|(_, event)| change(event));
            let change: i64 = changes.filter(|(of, _)| *of == device.ordinal).map(|(_, bytes)| bytes).sum();
            self.levels.entry(device.ordinal).or_default().held_bytes = device.requested_bytes.cast_signed() - change;
        }
    }

    fn take(&mut self, event: &BoxEvent) {
        if let What::State { step, .. } = event.what {
            self.step = step;
        }
        if let Some((device, bytes)) = change(event) {
            let level = self.levels.entry(device).or_default();
            level.held_bytes += bytes;
            level.note(self.step);
        }
    }

    /// When a card runs out, where tensors can take `room_bytes` of it.
    pub(super) fn forecast(&self, device: u8, room_bytes: u64) -> Option<Forecast> {
        let level = self.levels.get(&device)?;
        // What counts is the fullest moment of a step.
        level.lows.forecast(room_bytes.saturating_sub(level.last_high_bytes.max(level.high.1)))
    }
}

/// By how many bytes an event changes what is held on which card.
fn change(event: &BoxEvent) -> Option<(u8, i64)> {
    let What::Memory(memory) = event.what else { return None };
    let bytes = memory.bytes.min(1 << 50).cast_signed();
    match memory.action {
        _ if memory.device == HOST => None,
        Action::Alloc => Some((memory.device, bytes)),
        Action::FreeRequested => Some((memory.device, -bytes)),
        _ => None,
    }
}

/// Adds to a history; of one that grows too long the beginning is lost.
fn keep(kept: &mut Events, mut news: Events) {
    kept.events.append(&mut news.events);
    kept.lost += news.lost;
    kept.next = news.next;
    if kept.events.len() > KEPT_EVENTS_MAX {
        let surplus = kept.events.len() - KEPT_EVENTS_MAX / 4 * 3;
        kept.events.drain(..surplus);
        kept.lost += surplus as u64;
    }
}

#[cfg(test)]
mod tests {
    use oomph_box::MemoryEvent;

    use super::*;

    fn event(action: Action, device: u8, bytes: u64) -> BoxEvent {
        let memory = MemoryEvent { action, device, address: 1, bytes, stack: oomph_box::StackNumber(0), lane: 0 };
        BoxEvent { time_us: 0, what: What::Memory(memory) }
    }

    #[test]
    fn what_is_held_changes_with_what_the_client_does() {
        assert_eq!(change(&event(Action::Alloc, 1, 5)), Some((1, 5)));
        assert_eq!(change(&event(Action::FreeRequested, 1, 5)), Some((1, -5)));
        for other in
            [event(Action::FreeCompleted, 1, 5), event(Action::SegmentAlloc, 1, 5), event(Action::Alloc, HOST, 5)]
        {
            assert_eq!(change(&other), None);
        }
        assert!(change(&event(Action::Alloc, 0, u64::MAX)).is_some_and(|(_, bytes)| bytes > 0), "a box may be hostile");
    }

    #[test]
    fn a_step_has_its_low_and_its_high() {
        let mut level = Level::default();
        for step in 0..60 {
            for bytes in [100, 50, -140] {
                level.held_bytes += bytes;
                level.note(step);
            }
        }
        assert_eq!((level.held_bytes, level.last_high_bytes), (600, 730), "10 are kept from every step");
        let forecast = level.lows.forecast(1000).expect("a steady rise");
        assert_eq!((forecast.bytes_per_step, forecast.steps_left), (10, 100));
    }
}
