//! One process of a job, followed through its black box.

use std::path::{Path, PathBuf};

use oomph_box::{Action, BlackBox, Events, What};
use oomph_explain::forecast::Forecast;

use super::step_times::StepTimes;
use crate::levels::Levels;

/// Events that are kept of a process at most: about a gigabyte.
const KEPT_EVENTS_MAX: usize = 16 << 20;

/// A process and what was seen of it.
pub(super) struct Watched {
    pub(super) path: PathBuf,
    pub(super) the_box: BlackBox,
    /// Its whole history, where that was asked for.
    pub(super) kept: Option<Events>,
    next_event: u64,
    levels: Levels,
    steps: StepTimes,
    /// The step and the batches done when the last event came.
    reached: (u64, u32),
    /// The same when a request was last refused.
    refused_at: Option<(u64, u32)>,
}

impl Watched {
    /// Opens a box, if it is one by now.
    pub(super) fn open(path: &Path, keeps_events: bool) -> Option<Self> {
        let the_box = BlackBox::open(path).ok()?;
        let kept = keeps_events.then(Events::default);
        let path = path.to_owned();
        let (levels, steps) = (Levels::default(), StepTimes::default());
        Some(Self { path, the_box, kept, next_event: 0, levels, steps, reached: (0, 0), refused_at: None })
    }

    /// Reads what has happened since the last time.
    pub(super) fn read(&mut self) {
        let news = self.the_box.events_since(self.next_event);
        self.next_event = news.next;
        if news.lost > 0 {
            self.levels.anchor(&self.the_box.devices(), &news);
            self.steps.lose_track();
        }
        for (_, event) in &news.events {
            if self.levels.take(event).is_some() {
                self.steps.begin(event.time_us);
            }
            self.note_refusals(&event.what);
        }
        if let Some(kept) = &mut self.kept {
            keep(kept, news);
        }
    }

    fn note_refusals(&mut self, what: &What) {
        match *what {
            What::State { step, batches, .. } => self.reached = (step, batches),
            What::Memory(event) if event.action == Action::Oom => self.refused_at = Some(self.reached),
            _ => {}
        }
    }

    /// Whether a request was refused, and no step or batch was done since.
    pub(super) fn was_short_at_last(&self) -> bool {
        self.refused_at == Some(self.reached)
    }

    /// Steps and batches that are done: a box tells the step that runs.
    pub(super) fn progress(&self) -> (u64, u64) {
        let state = self.the_box.state();
        (state.step.saturating_sub(1), state.batches)
    }

    /// What a step takes, the median.
    pub(super) fn step_us(&self) -> Option<u64> {
        self.steps.median_us()
    }

    /// When a card runs out, where tensors can take `room_bytes` of it.
    pub(super) fn forecast(&self, device: u8, room_bytes: u64) -> Option<Forecast> {
        self.levels.forecast(device, room_bytes)
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
