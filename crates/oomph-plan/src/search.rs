//! Finds what makes a job fit: remedies tried on paper first, then in hollow runs of the job itself.
//!
//! Savings are never added up: a remedy pays only at the instant of the peak, and the next peak is elsewhere. So every
//! set that looks good on paper is run, and what was measured is where further sets are drawn on.

mod cards;
mod clock;
mod drafts;
mod ledger;
mod measured;
mod sets;
mod sketch;
mod spans;
mod work;

pub use cards::{Cards, find};
pub use clock::{Clock, Stretch};
pub use sketch::recomputed;
pub use spans::{Span, Spans};
pub use work::Work;

use oomph_card::Card;

use self::ledger::{Draft, Ledger};
use self::measured::{Costs, Measured};
use self::sets::names;
use crate::error::PlanError;
use crate::follow::Progress;
use crate::plan::{Peaks, Question, Trial};
use crate::remedies::{Mathematics, RemedyChoice};

/// What stays free on the card, in hundredths of it: a plan that was exact to 1 % has room left.
pub const MARGIN_PERCENT: u64 = 2;
/// What may be used of so much.
pub(crate) fn with_margin(bytes: u64) -> u64 {
    bytes / 100 * (100 - MARGIN_PERCENT)
}

/// A run that takes so much more than was drawn, in hundredths, shows that a remedy which refused something is no help.
const DISAPPOINTING_PERCENT: u64 = 10;
/// What is kept free for every set that did not fit although it should have, in hundredths of the card.
const DISAPPOINTED_PERCENT: u64 = 2;

/// What the user allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The most that may happen to the numbers.
    pub mathematics: Mathematics,
    /// Over how many cards the job may be divided.
    pub cards: Cards,
}

/// A set of remedies that was run.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The set; empty for the job as it is.
    pub choices: Vec<RemedyChoice>,
    /// How many cards it runs on, a process on each; its figures are those of one.
    pub cards: u32,
    /// Settings of PyTorch's allocator, where others than the user's are needed.
    pub allocator: Option<String>,
    /// Its peaks where there is room.
    pub peaks: Option<Peaks>,
    /// The least memory that a card must have for it.
    pub least_bytes: Option<u64>,
    /// By what the time of a step is multiplied, about.
    pub slowdown: f64,
    /// Whether it fits the card with the margin.
    pub fits: bool,
    /// Why it could not be run, or what its remedies refused.
    pub refusals: Vec<String>,
}

impl Candidate {
    /// Whether a remedy refused something.
    fn has_refused(&self, name: &str) -> bool {
        self.refusals.iter().any(|refusal| refusal.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    }
}

/// What a search came to.
#[derive(Debug)]
pub struct Found {
    /// Everything that was run, in order; the first is the job as it is.
    pub candidates: Vec<Candidate>,
    /// The one chosen, by its place among them; none where nothing fits.
    pub chosen: Option<usize>,
    /// The chosen one run from scratch on the card itself.
    pub proof: Option<Trial>,
    /// Over how many cards it was looked for.
    pub cards: u32,
    /// Where nothing was chosen: the set that fits the smallest number of such cards, by its place among them.
    pub on_more_cards: Option<usize>,
}

impl Found {
    /// The chosen set.
    #[must_use]
    pub fn chosen(&self) -> Option<&Candidate> {
        self.chosen.map(|at| &self.candidates[at])
    }

    /// The set that fits the smallest number of such cards, where nothing fits as many as there are.
    #[must_use]
    pub fn on_more_cards(&self) -> Option<&Candidate> {
        self.on_more_cards.map(|at| &self.candidates[at])
    }
}

/// A search for one job, on one kind and number of cards.
struct Search<'a> {
    question: &'a Question,
    card: &'a Card,
    allowed: Allowed,
    /// What every set has, and what that alone does to the time of a step.
    base: Base,
    candidates: Vec<Candidate>,
    /// What decides.
    ledger: Ledger,
    /// What runs showed, in the ledger's order.
    measured: Vec<Measured>,
    /// What the context and libraries take of the card.
    outside_bytes: u64,
    /// What is kept free beyond the margin.
    kept_free_bytes: u64,
    /// The job as it is, by which the time of every set is predicted.
    costs: Option<Costs>,
}

/// Where a search begins.
#[derive(Clone)]
struct Base {
    /// How many cards the job runs on.
    cards: u32,
    /// What divides it over them; nothing on one card.
    choices: Vec<RemedyChoice>,
    /// By what that multiplies the time of a step.
    slowdown: f64,
    /// By what it multiplies the time that one process computes in a step, of which other remedies add a part.
    computing: f64,
}

impl Base {
    /// The job as it is.
    fn one_card() -> Self {
        Self { cards: 1, choices: Vec::new(), slowdown: 1.0, computing: 1.0 }
    }
}

impl<'a> Search<'a> {
    /// A search that begins with what a run where there is room showed, and what it begins with.
    fn from(question: &'a Question, allowed: Allowed, base: Base, first: &Trial) -> (Self, Measured) {
        let card = &question.cards[0];
        let mut search = Self {
            question,
            card,
            allowed,
            base,
            candidates: Vec::new(),
            ledger: Ledger::default(),
            measured: Vec::new(),
            outside_bytes: first.peaks().map_or(card.context_bytes, Peaks::outside_bytes),
            kept_free_bytes: 0,
            costs: None,
        };
        let first = search.measured(search.base.choices.clone(), first);
        search.candidates.push(first.candidate.clone());
        search.costs = Some(Costs::of(&first));
        (search, first)
    }

    /// Looks for the cheapest set of remedies with which the job fits, from its first run on.
    fn find(mut self, first: Measured, progress: Progress) -> Result<Found, PlanError> {
        self.take(first, None);
        loop {
            while let Some(draft) = self.next() {
                match self.run_set(draft.whole.clone(), progress) {
                    Ok(tried) => self.judge(tried, &draft),
                    Err(problem) if problem.is_of_script() => self.blame(&draft, &problem),
                    Err(problem) => return Err(problem),
                }
            }
            let Some(best) = self.ledger.cheapest_fitting() else { return Ok(self.found(None, None)) };
            let proof = self.prove(&self.measured[best].candidate, progress)?;
            if proof.fits() {
                let chosen = &self.measured[best].candidate.choices;
                let chosen = self.candidates.iter().position(|known| known.choices == *chosen);
                return Ok(self.found(chosen, Some(proof)));
            }
            self.disappointed(best);
        }
    }

    fn found(self, chosen: Option<usize>, proof: Option<Trial>) -> Found {
        Found { candidates: self.candidates, chosen, proof, cards: self.base.cards, on_more_cards: None }
    }
}

impl Search<'_> {
    /// What PyTorch's allocator can have of the card, with the margin.
    fn usable_bytes(&self) -> u64 {
        self.usable_beside(self.outside_bytes)
    }

    /// The same, beside what the context and libraries take.
    fn usable_beside(&self, outside_bytes: u64) -> u64 {
        let room_bytes = self.card.memory_bytes.saturating_sub(outside_bytes + self.kept_free_bytes);
        with_margin(room_bytes)
    }

    /// Keeps what a run showed, and draws on it if it is a step ahead that does not fit yet.
    fn take(&mut self, measured: Measured, draft: Option<&Draft>) {
        let at = self.ledger.note(measured.shown(), draft);
        let goes_on = !measured.candidate.fits && self.ledger.is_closer(at);
        self.measured.push(measured);
        if goes_on {
            self.draw_on(at);
        }
    }

    fn run_set(&self, choices: Vec<RemedyChoice>, progress: Progress) -> Result<Measured, PlanError> {
        let tried = names(&choices).collect::<Vec<&str>>().join(" + ");
        let trial = self
            .question
            .with_remedies(&choices, None)
            .run_roomy(&mut |stage| progress(&format!("{tried}: {stage}")))?;
        let mut measured = self.measured(choices, &trial);
        if measured.is_open() {
            let question = self.question.with_remedies(&measured.candidate.choices, None);
            let on_card =
                question.run_on(self.card, &mut |stage| progress(&format!("{tried}, on the card: {stage}")))?;
            measured.seen_on_card(on_card.fits());
        }
        Ok(measured)
    }

    /// Learns from a run: what refused need not be tried again, and what does not fit is drawn on.
    fn judge(&mut self, tried: Measured, draft: &Draft) {
        self.note(&tried.candidate);
        let is_without = |name: &&str| names(&tried.candidate.choices).all(|kept| kept != *name);
        let mut refused: Vec<String> = names(&draft.added).filter(is_without).map(str::to_owned).collect();
        // Much more than on paper, and something was refused in part: the next look is better off without that.
        let origin = self.situation(&self.measured[draft.origin]);
        let drawn_bytes = sketch::peak_bytes(&draft.added, &origin);
        let is_disappointing = tried.spans.peak().0 > drawn_bytes / 100 * (100 + DISAPPOINTING_PERCENT);
        if is_disappointing && !tried.candidate.fits {
            let partly = names(&draft.added).filter(|name| tried.candidate.has_refused(name));
            refused.extend(partly.map(str::to_owned));
        }
        self.ledger.refuse(refused);
        self.take(tried, Some(draft));
    }

    /// Adds a set to those that were run; of one that came to the same as another, what it refused.
    fn note(&mut self, candidate: &Candidate) {
        match self.candidates.iter_mut().find(|known| known.choices == candidate.choices) {
            Some(known) => known.refusals.extend_from_slice(&candidate.refusals),
            None => self.candidates.push(candidate.clone()),
        }
    }

    /// Notes a set with which the script failed. The dearest of what was new is not tried again: without it, another
    /// run shows whether that was it.
    fn blame(&mut self, draft: &Draft, problem: &PlanError) {
        self.ledger.asked(draft);
        let cost = |choice: &&RemedyChoice| self.slowdown(std::slice::from_ref(*choice));
        let culprit = draft.added.iter().max_by(|left, right| cost(left).total_cmp(&cost(right)));
        self.ledger.refuse(culprit.map(|choice| choice.name.clone()));
        self.note(&Candidate {
            choices: draft.whole.clone(),
            cards: self.base.cards,
            allocator: None,
            peaks: None,
            least_bytes: None,
            slowdown: draft.slowdown,
            fits: false,
            refusals: vec![format!("with them, {problem}")],
        });
    }

    /// Runs what was chosen from scratch, on the card itself.
    fn prove(&self, chosen: &Candidate, progress: Progress) -> Result<Trial, PlanError> {
        self.question.job.forks.stop();
        let question = self.question.with_remedies(&chosen.choices, chosen.allocator.as_deref());
        question.run_on(self.card, &mut |stage| progress(&format!("on the card: {stage}")))
    }

    /// A set that was to fit and does not: the card has less room than replays say, so more is kept free from now on.
    fn disappointed(&mut self, best: usize) {
        self.ledger.does_not_fit(best, self.usable_bytes());
        self.kept_free_bytes += self.card.memory_bytes / 100 * DISAPPOINTED_PERCENT;
        let candidate = &mut self.measured[best].candidate;
        candidate.fits = false;
        for known in self.candidates.iter_mut().filter(|known| known.choices == candidate.choices) {
            known.fits = false;
        }
        self.draw_on(best);
    }
}
