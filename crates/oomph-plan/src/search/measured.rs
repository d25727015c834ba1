//! What a run where there is room says about a card.

use oomph_card::Card;
use oomph_trace::Category;

use super::ledger::Shown;
use super::{Candidate, Clock, Search, Spans, Work};
use crate::allocator::{self, Room};
use crate::fit::Judge;
use crate::growth::Growth;
use crate::plan::{Peaks, Trial};
use crate::remedies::{RemedyChoice, Situation};
use crate::survey::Survey;

/// A candidate with what its run showed.
pub(super) struct Measured {
    pub(super) candidate: Candidate,
    pub(super) spans: Spans,
    pub(super) work: Work,
    pub(super) survey: Survey,
    /// What each iteration of a loop leaves behind, where that fills the card before the loop's end.
    pub(super) growth_bytes: u64,
    /// What PyTorch's allocator could have of the card when this was judged.
    usable_bytes: u64,
    /// What the context and libraries took of the card.
    outside_bytes: u64,
    /// Whether it was run on the card itself, too.
    is_seen_on_card: bool,
}

impl Measured {
    /// What decisions are made from.
    pub(super) fn shown(&self) -> Shown {
        let peak_bytes = self.spans.peak().0;
        let served_bytes = self.candidate.least_bytes.map(|least| least.saturating_sub(self.outside_bytes));
        // Where blocks themselves have no room, what lies idle between them does not matter yet: settings of the
        // allocator do away with most of it.
        let is_scattered = !self.candidate.fits && self.growth_bytes == 0 && peak_bytes <= self.usable_bytes;
        // What is known of a run that was out of memory on the card itself is that it needs more than that.
        let served_bytes = if self.is_seen_on_card { 0 } else { served_bytes.unwrap_or(0) };
        let needed_bytes = if is_scattered { served_bytes.max(self.usable_bytes + 1) } else { peak_bytes };
        Shown {
            choices: self.candidate.choices.clone(),
            slowdown: self.candidate.slowdown,
            peak_bytes,
            needed_bytes,
            grows: self.growth_bytes > 0,
            fits: self.candidate.fits,
        }
    }
}

impl Measured {
    /// Whether only a run on the card itself can tell that it fits: its requests cannot be served again by replay, or
    /// they would be but for the scratch of libraries, which take less of it where there is less.
    pub(super) fn is_open(&self) -> bool {
        let has_room_but_for_scratch = self.growth_bytes == 0 && self.spans.peak().0 <= self.usable_bytes;
        let has_scratch = self.candidate.peaks.is_some_and(|peaks| peaks.allocated_bytes > self.usable_bytes);
        !self.candidate.fits && (self.candidate.least_bytes.is_none() || has_scratch && has_room_but_for_scratch)
    }

    /// Takes what a run on the card itself showed.
    pub(super) fn seen_on_card(&mut self, fits: bool) {
        self.candidate.fits = fits;
        self.is_seen_on_card = true;
    }
}

/// What the time of a step is predicted from.
pub(super) struct Costs {
    pub(super) spans: Spans,
    pub(super) work: Work,
    pub(super) survey: Survey,
}

impl Costs {
    pub(super) fn of(measured: &Measured) -> Self {
        Self { spans: measured.spans.clone(), work: measured.work.clone(), survey: measured.survey.clone() }
    }

    /// What the model's parameters take on the card.
    pub(super) fn parameter_bytes(&self) -> u64 {
        let live = self.spans.live_at(self.spans.peak().1);
        live.filter(|span| span.category == Category::Parameter).map(|span| span.bytes).sum()
    }

    pub(super) fn situation<'a>(&'a self, card: &'a Card, cards: u32) -> Situation<'a> {
        Situation::new(&self.survey, &self.spans, &self.work, card, 0).on_cards(cards)
    }
}

/// The least card with settings of the allocator: one that has just what is reserved with them is enough.
fn least_with(settings: &allocator::Tried, least_bytes: Option<u64>, outside_bytes: u64) -> Option<u64> {
    least_bytes.map(|least_bytes| least_bytes.min(settings.reserved_bytes + outside_bytes))
}

impl Search<'_> {
    /// What a run where there is room says about this card.
    pub(super) fn measured(&self, mut choices: Vec<RemedyChoice>, trial: &Trial) -> Measured {
        let (_, process) = trial.decisive();
        let index = crate::plan::fullest(process).map_or(0, |(device, _)| device);
        let device = process.trace.device(index).unwrap_or(&process.trace.devices[0]);
        let clock = Clock::of(&process.facts.watched);
        let spans = Spans::of(&process.trace, device, &clock, &process.facts.end.workspaces);
        let judges: Vec<Judge> = trial.processes.iter().map(|(_, process)| Judge::of(&process.trace)).collect();
        // Remedies have streams of their own, for which libraries take memory besides PyTorch.
        let outside_bytes = trial.peaks().map_or(self.outside_bytes, Peaks::outside_bytes).max(self.outside_bytes);
        let usable_bytes = self.usable_beside(outside_bytes);
        let mut fits = judges.iter().all(|judge| judge.fits(usable_bytes));
        let mut least_bytes = judges.iter().filter_map(|judge| judge.least_bytes(outside_bytes)).max();
        let mut conf = None;
        if !fits && trial.peaks().is_some_and(|peaks| peaks.allocated_bytes < usable_bytes) {
            if let Some(settings) = Self::allocator_that_fits(trial, usable_bytes) {
                least_bytes = least_with(&settings, least_bytes, outside_bytes);
                conf = Some(settings.conf);
            }
            fits = conf.is_some();
        }
        let told = &process.facts.watched.remedies;
        let has_told = |name: &str, kind: &str| told.iter().any(|told| told.name == name && told.kind == kind);
        // What refused and did nothing is in the job for nothing.
        choices.retain(|choice| has_told(&choice.name, "applied") || !has_told(&choice.name, "refused"));
        let refusals = told.iter().filter(|told| told.kind == "refused");
        let candidate = Candidate {
            slowdown: self.slowdown(&choices),
            choices,
            cards: self.base.cards,
            allocator: conf,
            peaks: trial.peaks(),
            least_bytes,
            fits: fits && !trial.grows_beyond(self.card),
            refusals: refusals.map(|told| format!("{}: {}", told.name, told.text())).collect(),
        };
        let work = Work::of(&spans, &clock, &process.facts.watched);
        let growths = trial.processes.iter().filter_map(|(_, process)| Growth::of(process, self.card));
        // Where the card is too small anyway, any growth fills it: one that is small is looked at once there is room.
        let is_over = spans.peak().0 > usable_bytes;
        let is_telling =
            |growth: &Growth| growth.is_certain() && (!is_over || growth.still_to_come_bytes() > usable_bytes);
        let growth_bytes = growths.filter(is_telling).map(|growth| growth.bytes_per_iteration).max();
        let survey = Survey::of(&process.facts.watched);
        let growth_bytes = growth_bytes.unwrap_or(0);
        let is_seen_on_card = false;
        Measured { candidate, spans, work, survey, growth_bytes, usable_bytes, outside_bytes, is_seen_on_card }
    }

    /// Settings of the allocator with which every process fits.
    fn allocator_that_fits(trial: &Trial, usable_bytes: u64) -> Option<allocator::Tried> {
        let room = Room { card_bytes: Some(usable_bytes), limit_bytes: None };
        let (_, process) = trial.decisive();
        let torch = process.facts.end.torch.as_deref().and_then(allocator::version).unwrap_or((2, 6));
        let choice = allocator::Choice::make(&process.trace, room, torch, &allocator::conf_of_user())?;
        choice.chosen.fits.then_some(choice.chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_a_set_fit_make_the_least_card_smaller() {
        let conf = "expandable_segments:True".to_owned();
        let settings = allocator::Tried { conf, reserved_bytes: 70, retries: 0, fits: true };
        assert_eq!(least_with(&settings, Some(94), 8), Some(78), "a set that fits 80 is not told to need 94");
        assert_eq!(least_with(&settings, Some(75), 8), Some(75));
        assert_eq!(least_with(&settings, None, 8), None, "what no replay can size stays unknown");
    }
}
