//! Which set of remedies to run next: decided from what sets are drawn as and what runs showed, and from nothing else.
//!
//! All sets that can be drawn on top of anything that was run are alternatives: a stronger form of a remedy that is there
//! already as much as another remedy, and what was left for something better as much as what comes on top of that. The
//! cheapest that should fit is run. What runs showed corrects what is expected of the others.

use std::collections::HashMap;

use super::sets::{key, names};
use crate::numbers::whole;
use crate::remedies::RemedyChoice;

/// Sets that are run at most before a search gives up.
pub(super) const RUNS_MAX: usize = 12;
/// Sets that are run at most where one fits: with the job as it is and the proof, six runs.
pub(super) const RUNS_USUAL: usize = 4;
/// Sets that are drawn at most for one decision.
const DRAWN_MAX: usize = 8000;
/// What should stay free on top of the margin, in hundredths of the room, for a set to be preferred to larger ones.
const COMFORT_PERCENT: u64 = 3;
/// A set that should take so much more than there is, in hundredths, may fit all the same: paper is not exact.
const DOUBT_PERCENT: u64 = 5;
/// A step must get shorter by so much, in thousandths, for another run once something fits.
const SHORTER_PERMILLE: u64 = 10;
/// The same where the set should rather not fit.
const MUCH_SHORTER_PERMILLE: u64 = 50;
/// A run brings another closer if it takes at most so much of what that one took, in hundredths.
const CLOSER_PERCENT: u64 = 99;
/// Runs in a row that bring nothing closer, after which paper is believed only where it promises to stay so much below the
/// room, in hundredths: what should just fit did not.
const STALLED_RUNS: usize = 3;
const BEYOND_DOUBT_PERCENT: u64 = 10;
/// Runs in a row that bring nothing closer, after which a search gives up: paper promises what does not come.
const GIVEN_UP_RUNS: usize = 5;

/// A set that could be run: what it adds to one that was.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The run that it is drawn on.
    pub(super) origin: usize,
    /// What it adds, or takes more of.
    pub(super) added: Vec<RemedyChoice>,
    /// All that would be in the job.
    pub(super) whole: Vec<RemedyChoice>,
    /// By what the time of a step would be multiplied.
    pub(super) slowdown: f64,
}

/// What a run showed.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// What was in the job.
    pub(super) choices: Vec<RemedyChoice>,
    /// By what that multiplies the time of a step.
    pub(super) slowdown: f64,
    /// The most that was live at once.
    pub(super) peak_bytes: u64,
    /// What PyTorch's allocator must have for it.
    pub(super) needed_bytes: u64,
    /// Whether every iteration of a loop leaves something behind, which fills any card.
    pub(super) grows: bool,
    /// Whether it fits.
    pub(super) fits: bool,
}

impl Shown {
    /// Whether what is live has room, and only what lies idle between blocks has not.
    fn is_scattered(&self) -> bool {
        self.needed_bytes > self.peak_bytes
    }

    /// Whether this is nearer to fitting than another.
    fn is_closer_than(&self, before: &Self) -> bool {
        let is_smaller = self.needed_bytes < before.needed_bytes / 100 * CLOSER_PERCENT;
        // Where what is live has no room yet, nobody has counted what lies idle: the two figures are of different things.
        let is_nearer = match (self.is_scattered(), before.is_scattered()) {
            (true, false) => true,
            (false, true) => false,
            _ => is_smaller,
        };
        self.fits || before.grows && !self.grows || is_nearer
    }
}

/// A run, and what it was expected to be.
struct Entry {
    shown: Shown,
    /// The set that was asked for, on which run it was drawn, and what was to be needed.
    drawn: Option<(Draft, u64)>,
}

/// A draft, and what is live with it once that was drawn.
struct Drawn {
    draft: Draft,
    /// What the whole set is known by.
    key: String,
    time_permille: u64,
    peak_bytes: Option<u64>,
}

/// What was run and what could be.
#[derive(Default)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    drafts: Vec<Drawn>,
    /// Sets that were asked for, by their keys: none is run twice.
    asked: Vec<String>,
    /// Remedies that this job does not take.
    refused: Vec<String>,
    runs: usize,
}

impl Ledger {
    /// Notes a run; of all but the first, the draft that was asked for. Returns its place.
    pub(super) fn note(&mut self, shown: Shown, asked: Option<&Draft>) -> usize {
        let drawn = asked.map(|draft| (draft.clone(), self.expected_of(draft)));
        self.asked.push(key(&shown.choices));
        if let Some(draft) = asked {
            self.asked(draft);
        }
        self.entries.push(Entry { shown, drawn });
        self.entries.len() - 1
    }

    /// Notes that a set was asked for, whatever came of it.
    pub(super) fn asked(&mut self, draft: &Draft) {
        let asked = key(&draft.whole);
        self.drafts.retain(|known| known.key != asked);
        self.asked.push(asked);
        self.runs += 1;
    }

    /// Does without some remedies from now on.
    pub(super) fn refuse(&mut self, refused: impl IntoIterator<Item = String>) {
        self.refused.extend(refused);
        let refused = &self.refused;
        self.drafts.retain(|known| !names(&known.draft.added).any(|name| refused.iter().any(|other| other == name)));
    }

    /// Remedies that this job does not take.
    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Adds what can be drawn on a run. What can be drawn on several is drawn on the one that it adds least to.
    pub(super) fn offer(&mut self, drafts: Vec<Draft>) {
        let mut known: HashMap<String, usize> =
            self.drafts.iter().enumerate().map(|(at, drawn)| (drawn.key.clone(), at)).collect();
        for draft in drafts {
            let key = key(&draft.whole);
            if self.asked.contains(&key) {
                continue;
            }
            let time_permille = whole(draft.slowdown * 1000.0);
            let drawn = Drawn { draft, key: key.clone(), time_permille, peak_bytes: None };
            match known.get(&key) {
                Some(&at) if self.drafts[at].draft.added.len() < drawn.draft.added.len() => {}
                Some(&at) => self.drafts[at] = drawn,
                None => {
                    known.insert(key, self.drafts.len());
                    self.drafts.push(drawn);
                }
            }
        }
        self.drafts.sort_by_key(|drawn| (drawn.time_permille, drawn.draft.whole.len()));
    }

    /// Whether a run is a better place to go on from than the one that it was drawn on.
    pub(super) fn is_closer(&self, at: usize) -> bool {
        let Some((draft, _)) = &self.entries[at].drawn else { return true };
        self.entries[at].shown.is_closer_than(&self.entries[draft.origin].shown)
    }

    /// How many of the last runs brought nothing closer than those before them.
    fn stalled_runs(&self) -> usize {
        let mut nearest = 0;
        for at in 1..self.entries.len() {
            if self.entries[at].shown.is_closer_than(&self.entries[nearest].shown) {
                nearest = at;
            }
        }
        self.entries.len().saturating_sub(nearest + 1)
    }

    /// The cheapest run that fits, by its place.
    pub(super) fn cheapest_fitting(&self) -> Option<usize> {
        let fitting = (0..self.entries.len()).filter(|&at| self.entries[at].shown.fits);
        fitting.min_by_key(|&at| self.rank_of(at))
    }

    fn rank_of(&self, at: usize) -> (u64, usize) {
        let shown = &self.entries[at].shown;
        (whole(shown.slowdown * 1000.0), shown.choices.len())
    }

    /// Notes that a run which was to fit does not: it needs more than there was.
    pub(super) fn does_not_fit(&mut self, at: usize, room_bytes: u64) {
        let shown = &mut self.entries[at].shown;
        shown.fits = false;
        shown.needed_bytes = shown.needed_bytes.max(room_bytes + 1);
    }

    /// The set to run next, where a card has this room: the cheapest that should fit, else the one that comes nearest.
    /// `draw` says what would be live with a draft.
    pub(super) fn next(&mut self, room_bytes: u64, draw: &dyn Fn(&Draft) -> u64) -> Option<Draft> {
        let goal = self.cheapest_fitting().map(|at| self.rank_of(at));
        let stalled_runs = if goal.is_some() { 0 } else { self.stalled_runs() };
        let is_over = self.runs >= if goal.is_some() { RUNS_USUAL } else { RUNS_MAX };
        if is_over || stalled_runs >= GIVEN_UP_RUNS {
            return None;
        }
        let is_stalled = stalled_runs >= STALLED_RUNS;
        let believed_bytes = if is_stalled { room_bytes / 100 * (100 - BEYOND_DOUBT_PERCENT) } else { room_bytes };
        let mut best: Option<((u64, bool, usize, u64), usize)> = None;
        let mut doubtful: Option<usize> = None;
        let mut nearest: Option<((u64, u64), usize)> = None;
        for at in 0..self.drafts.len().min(DRAWN_MAX) {
            let (time, count) = (self.drafts[at].time_permille, self.drafts[at].draft.whole.len());
            let is_late = best.as_ref().is_some_and(|(rank, _)| rank.0 < time);
            if is_late || goal.is_some_and(|(goal, _)| goal < time) {
                break;
            }
            let expected = self.expected(at, draw);
            let is_comfortable = expected <= room_bytes / 100 * (100 - COMFORT_PERCENT);
            if expected <= believed_bytes {
                let is_shorter = goal.is_none_or(|(goal, _)| time + SHORTER_PERMILLE <= goal);
                let is_simpler = is_comfortable && goal.is_some_and(|goal| count < goal.1);
                let rank = (time, !is_comfortable, count, expected);
                if (is_shorter || is_simpler) && best.as_ref().is_none_or(|(best, _)| rank < *best) {
                    best = Some((rank, at));
                }
            } else if goal.is_some_and(|(goal, _)| time + MUCH_SHORTER_PERMILLE <= goal) {
                let is_close = expected <= room_bytes / 100 * (100 + DOUBT_PERCENT);
                doubtful = doubtful.or(is_close.then_some(at));
            } else if goal.is_none() && !is_stalled && self.is_worthwhile(expected, room_bytes) {
                let rank = (expected, time);
                if nearest.is_none_or(|(nearest, _)| rank < nearest) {
                    nearest = Some((rank, at));
                }
            }
        }
        let chosen = best.map(|(_, at)| at).or(doubtful).or(nearest.map(|(_, at)| at))?;
        Some(self.drafts[chosen].draft.clone())
    }

    /// Whether a set promises so much less than anything that was run that a run is worth it: with as much from each, the
    /// runs that are left would get there.
    fn is_worthwhile(&self, expected_bytes: u64, room_bytes: u64) -> bool {
        let least_bytes = self.entries.iter().map(|entry| entry.shown.needed_bytes).min().unwrap_or(u64::MAX);
        let runs_left = RUNS_MAX.saturating_sub(self.runs).max(1) as u64;
        expected_bytes + least_bytes.saturating_sub(room_bytes) / runs_left < least_bytes
    }

    /// What a draft should need, drawn if it was not.
    fn expected(&mut self, at: usize, draw: &dyn Fn(&Draft) -> u64) -> u64 {
        let drawn = &mut self.drafts[at];
        let peak_bytes = *drawn.peak_bytes.get_or_insert_with(|| draw(&drawn.draft));
        self.corrected(&self.drafts[at].draft, peak_bytes)
    }

    /// What was expected of a draft that was chosen, before any correction.
    fn expected_of(&self, draft: &Draft) -> u64 {
        let key = key(&draft.whole);
        let known = self.drafts.iter().find(|known| known.key == key);
        let peak_bytes = known.and_then(|known| known.peak_bytes).unwrap_or(0);
        self.beside_idle(draft, peak_bytes)
    }

    /// What is needed where so much is live: as much lies idle between blocks as in the run that it is drawn on.
    fn beside_idle(&self, draft: &Draft, peak_bytes: u64) -> u64 {
        let origin = &self.entries[draft.origin].shown;
        let idle = origin.needed_bytes as f64 / origin.peak_bytes.max(1) as f64;
        whole(peak_bytes as f64 * idle.max(1.0))
    }

    /// What a draft should need by all that runs showed.
    fn corrected(&self, draft: &Draft, peak_bytes: u64) -> u64 {
        let origin = &self.entries[draft.origin].shown;
        if origin.grows {
            // What is left behind is not drawn: whether it stops, only a run tells.
            return peak_bytes;
        }
        let drawn_bytes = self.beside_idle(draft, peak_bytes);
        let saved_bytes = origin.needed_bytes.saturating_sub(drawn_bytes);
        let saved_bytes = whole(saved_bytes as f64 * self.share_that_came(draft));
        // A part of a set saves no more than the whole of it did.
        let covering = self.entries.iter().filter(|entry| is_part(&draft.whole, &entry.shown.choices));
        let least_bytes = covering.map(|entry| entry.shown.needed_bytes).max().unwrap_or(0);
        drawn_bytes.max(origin.needed_bytes).saturating_sub(saved_bytes).max(least_bytes)
    }

    /// How much of what was drawn really came, by the run on the same origin that has most remedies in common.
    fn share_that_came(&self, draft: &Draft) -> f64 {
        let alike = self.entries.iter().filter_map(|entry| {
            let (before, expected_bytes) = entry.drawn.as_ref().filter(|(before, _)| before.origin == draft.origin)?;
            let needed_bytes = self.entries[draft.origin].shown.needed_bytes as f64;
            let promised = needed_bytes - *expected_bytes as f64;
            let came = (needed_bytes - entry.shown.needed_bytes as f64) / promised;
            (promised > 0.0).then(|| (in_common(&draft.added, &before.added), came.clamp(0.0, 2.0)))
        });
        let nearest = alike.fold((0.0, 1.0), |best, next| if next.0 >= best.0 { next } else { best });
        1.0 + nearest.0 * (nearest.1 - 1.0)
    }
}

/// How much two sets have in common, from nothing to one: remedies, in whatever strength.
fn in_common(left: &[RemedyChoice], right: &[RemedyChoice]) -> f64 {
    let shared = names(left).filter(|name| names(right).any(|other| other == *name)).count();
    shared as f64 / left.len().max(right.len()).max(1) as f64
}

/// Whether a set is part of another, and not all of it.
fn is_part(part: &[RemedyChoice], of: &[RemedyChoice]) -> bool {
    part.len() < of.len() && part.iter().all(|choice| of.contains(choice))
}

#[cfg(test)]
mod tests;
