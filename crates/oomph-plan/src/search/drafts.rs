//! What could be run next, drawn on paper: sets of remedies on top of what runs showed, and what they would cost.

use std::collections::HashMap;

use super::ledger::Draft;
use super::measured::Measured;
use super::sets::{is_compatible, joined, key, sets};
use super::{Search, sketch};
use crate::remedies::{REMEDIES, RemedyChoice, Situation};

impl Search<'_> {
    /// The job as a run showed it.
    pub(super) fn situation<'m>(&'m self, measured: &'m Measured) -> Situation<'m> {
        let growth_bytes = measured.growth_bytes;
        Situation::new(&measured.survey, &measured.spans, &measured.work, self.card, growth_bytes)
            .on_cards(self.base.cards)
    }

    /// The set to run next.
    pub(super) fn next(&mut self) -> Option<Draft> {
        let room_bytes = self.usable_bytes();
        let mut ledger = std::mem::take(&mut self.ledger);
        let situations: Vec<Situation> = self.measured.iter().map(|measured| self.situation(measured)).collect();
        let draft = ledger.next(room_bytes, &|draft| sketch::peak_bytes(&draft.added, &situations[draft.origin]));
        drop(situations);
        self.ledger = ledger;
        draft
    }

    /// Offers what can come on top of a run.
    pub(super) fn draw_on(&mut self, at: usize) {
        let drafts = self.drafts_on(at);
        self.ledger.offer(drafts);
    }

    fn drafts_on(&self, origin: usize) -> Vec<Draft> {
        let measured = &self.measured[origin];
        let (before, survey) = (&measured.candidate.choices, &measured.survey);
        let job = self.situation(measured);
        let is_new = |choice: &RemedyChoice| joined(before, std::slice::from_ref(choice)) != *before;
        let options: Vec<Vec<RemedyChoice>> = REMEDIES
            .iter()
            .filter(|remedy| remedy.mathematics() <= self.allowed.mathematics)
            // What grows fills any card: that comes first.
            .filter(|remedy| measured.growth_bytes == 0 || remedy.stops_growth())
            .filter(|remedy| !self.ledger.refused().iter().any(|name| name == remedy.name()))
            .map(|remedy| remedy.choices(&job).into_iter().filter(is_new).collect())
            .filter(|choices: &Vec<RemedyChoice>| !choices.is_empty())
            .collect();
        let mut factors = HashMap::new();
        let wholes = sets(&options).into_iter().map(|added| (joined(before, &added), added));
        let sound = wholes.filter(|(whole, _)| is_compatible(whole) && survey.has_parts(whole));
        sound
            .map(|(whole, added)| {
                let slowdown = self.slowdown_of(&whole, &mut factors);
                Draft { origin, added, whole, slowdown }
            })
            .collect()
    }

    /// By what the time of a step is multiplied with a set, about.
    pub(super) fn slowdown(&self, choices: &[RemedyChoice]) -> f64 {
        self.slowdown_of(choices, &mut HashMap::new())
    }

    /// The same, with what is known of single remedies.
    fn slowdown_of(&self, choices: &[RemedyChoice], factors: &mut HashMap<String, f64>) -> f64 {
        let Some(costs) = &self.costs else { return self.base.slowdown };
        let job = costs.situation(self.card, self.base.cards);
        let each: Vec<f64> = choices
            .iter()
            .map(|choice| {
                let known = factors.entry(key(std::slice::from_ref(choice)));
                *known.or_insert_with(|| sketch::slowdown(choice, &job))
            })
            .collect();
        self.base.slowdown + self.base.computing * (sketch::together(&each) - 1.0)
    }
}
