//! Finds what makes a job fit: remedies tried on paper first, then in hollow runs of the job itself.
//!
//! Savings are never added up: a remedy pays only at the instant of the peak, and the next peak is elsewhere. So every
//! set that looks good on paper is run, and what was measured is where the next look begins.

mod cards;
mod clock;
mod sketch;
mod spans;
mod work;

pub use cards::{Cards, find};
pub use clock::{Clock, Stretch};
pub use sketch::{Sketch, recomputed};
pub use spans::{Span, Spans};
pub use work::Work;

use oomph_card::Card;

use crate::allocator::{self, Room};
use crate::error::PlanError;
use crate::fit::Judge;
use crate::follow::Progress;
use crate::growth::Growth;
use crate::numbers::whole;
use crate::plan::{Peaks, Question, Trial};
use crate::remedies::{Mathematics, REMEDIES, RemedyChoice, Situation, remedy};
use crate::survey::Survey;

/// What stays free on the card, in hundredths of it: a plan that was exact to 1 % has room left.
pub const MARGIN_PERCENT: u64 = 2;
/// Sets that are run at most before the search gives up.
const RUNS_MAX: usize = 12;
/// Sets that one search looks at on paper, at most.
const SKETCHES_MAX: usize = 4000;
/// A set that should take so much more than there is, in hundredths, is worth a run all the same: paper is not exact.
const PAPER_PERCENT: u64 = 10;
/// What is kept free for every set that did not fit although it should have, in hundredths of the card.
const DISAPPOINTED_PERCENT: u64 = 2;
/// A remedy that saves less than this part of what is too much is not worth having.
const WORTHWHILE_PARTS: u64 = 50;

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

/// A candidate with what its run showed.
#[derive(Clone)]
struct Measured {
    candidate: Candidate,
    spans: Spans,
    work: Work,
    survey: Survey,
    /// What each iteration of a loop leaves behind, where that fills the card before the loop's end.
    growth_bytes: u64,
}

/// A search for one job, on one kind and number of cards.
struct Search<'a> {
    question: &'a Question,
    card: &'a Card,
    allowed: Allowed,
    /// What every set has, and what that alone does to the time of a step.
    base: Base,
    candidates: Vec<Candidate>,
    runs: usize,
    has_started_again: bool,
    /// Remedies that brought nothing on top of the best so far.
    useless: Vec<String>,
    /// Remedies that this job does not take.
    refused: Vec<String>,
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

struct Costs {
    spans: Spans,
    work: Work,
    survey: Survey,
}

impl Costs {
    fn of(measured: &Measured) -> Self {
        Self { spans: measured.spans.clone(), work: measured.work.clone(), survey: measured.survey.clone() }
    }

    fn situation<'a>(&'a self, card: &'a Card, cards: u32) -> Situation<'a> {
        Situation::new(&self.survey, &self.spans, &self.work, card, 0).on_cards(cards)
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
            runs: 0,
            has_started_again: false,
            useless: Vec::new(),
            refused: Vec::new(),
            outside_bytes: first.peaks().map_or(card.context_bytes, outside_bytes),
            kept_free_bytes: 0,
            costs: None,
        };
        let first = search.measured(search.base.choices.clone(), first);
        search.candidates.push(first.candidate.clone());
        search.costs = Some(Costs::of(&first));
        (search, first)
    }

    /// Looks for the cheapest set of remedies with which the job fits, from its first run on.
    fn find(mut self, first: &Measured, progress: Progress) -> Result<Found, PlanError> {
        let mut best = first.clone();
        loop {
            best = self.improved(best, progress)?;
            if !best.candidate.fits && self.starts_again(&best) {
                best = first.clone();
                continue;
            }
            if !best.candidate.fits {
                return Ok(self.found(None, None));
            }
            best = self.without_the_superfluous(best, progress)?;
            let proof = self.prove(&best, progress)?;
            if proof.fits() {
                let chosen = self.candidates.iter().position(|known| known.choices == best.candidate.choices);
                return Ok(self.found(chosen, Some(proof)));
            }
            self.disappointed(&mut best);
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
        room_bytes / 100 * (100 - MARGIN_PERCENT)
    }

    /// The cheapest set on paper that should fit, else the one that comes nearest.
    fn next(&self, best: &Measured) -> Option<Sketch> {
        let growth_bytes = best.growth_bytes;
        let job = Situation::new(&best.survey, &best.spans, &best.work, self.card, growth_bytes);
        let job = job.on_cards(self.base.cards);
        let now = best.spans.peak().0;
        let worth_bytes = now.saturating_sub(self.usable_bytes()) / WORTHWHILE_PARTS;
        let options: Vec<Vec<RemedyChoice>> = REMEDIES
            .iter()
            .filter(|remedy| remedy.mathematics() <= self.allowed.mathematics)
            // What grows fills any card: that comes first.
            .filter(|remedy| growth_bytes == 0 || remedy.stops_growth())
            .filter(|remedy| !self.refused.iter().any(|name| name == remedy.name()))
            .map(|remedy| {
                let mut choices = remedy.choices(&job);
                choices.retain(|choice| {
                    let is_new =
                        joined(&best.candidate.choices, std::slice::from_ref(choice)) != best.candidate.choices;
                    is_new && !self.useless.contains(&choice.name)
                });
                choices
            })
            .filter(|choices| !choices.is_empty())
            .collect();
        let is_sound = |set: &Vec<RemedyChoice>| {
            let whole = joined(&best.candidate.choices, set);
            is_compatible(&whole) && best.survey.has_parts(&whole)
        };
        let mut sketches =
            sets(&options).into_iter().filter(is_sound).take(SKETCHES_MAX).map(|set| Sketch::of(&set, &job));
        let is_worthwhile = |sketch: &Sketch| growth_bytes > 0 || sketch.peak_bytes + worth_bytes < now;
        let mut found: Option<Sketch> = None;
        for sketch in sketches.by_ref().filter(is_worthwhile) {
            let is_better = found.as_ref().is_none_or(|found| self.rank(&sketch) < self.rank(found));
            if is_better {
                found = Some(sketch);
            }
        }
        found
    }

    /// Smaller is better: what fits before what does not, then by time, then by bytes.
    fn rank(&self, sketch: &Sketch) -> (bool, u64, u64) {
        let is_over = sketch.peak_bytes > self.usable_bytes();
        let time = whole(sketch.slowdown * 1000.0);
        if is_over { (true, sketch.peak_bytes, time) } else { (false, time, sketch.peak_bytes) }
    }

    /// Runs the job with what a sketch adds to the best so far.
    fn run(&self, sketch: &Sketch, best: &Measured, progress: Progress) -> Result<Measured, PlanError> {
        self.run_set(joined(&best.candidate.choices, &sketch.choices), progress)
    }

    /// By what the time of a step is multiplied with a set, about.
    fn slowdown(&self, choices: &[RemedyChoice]) -> f64 {
        let added = self.costs.as_ref().map(|costs| {
            let job = costs.situation(self.card, self.base.cards);
            sketch::slowdown(choices, &job)
        });
        self.base.slowdown + self.base.computing * (added.unwrap_or(1.0) - 1.0)
    }

    fn run_set(&self, choices: Vec<RemedyChoice>, progress: Progress) -> Result<Measured, PlanError> {
        let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
        let tried = names.join(" + ");
        let trial = self
            .question
            .with_remedies(&choices, None)
            .run_roomy(&mut |stage| progress(&format!("{tried}: {stage}")))?;
        let mut measured = self.measured(choices, &trial);
        // A run whose requests cannot be served again by replay says nothing about smaller cards.
        if !measured.candidate.fits && measured.candidate.least_bytes.is_none() {
            let question = self.question.with_remedies(&measured.candidate.choices, None);
            let on_card =
                question.run_on(self.card, &mut |stage| progress(&format!("{tried}, on the card: {stage}")))?;
            measured.candidate.fits = on_card.fits();
        }
        Ok(measured)
    }

    /// What a run where there is room says about this card.
    fn measured(&self, mut choices: Vec<RemedyChoice>, trial: &Trial) -> Measured {
        let (_, process) = trial.decisive();
        let index = crate::plan::fullest(process).map_or(0, |(device, _)| device);
        let device = process.trace.device(index).unwrap_or(&process.trace.devices[0]);
        let clock = Clock::of(&process.facts.watched);
        let spans = Spans::of(&process.trace, device, &clock);
        let judges: Vec<Judge> = trial.processes.iter().map(|(_, process)| Judge::of(&process.trace)).collect();
        // Remedies have streams of their own, for which libraries take memory besides PyTorch.
        let outside_bytes = trial.peaks().map_or(self.outside_bytes, outside_bytes).max(self.outside_bytes);
        let with_libraries = Card { context_bytes: outside_bytes, ..trial.card.clone() };
        let usable_bytes = self.usable_beside(outside_bytes);
        let (mut fits, mut conf) = (judges.iter().all(|judge| judge.fits(usable_bytes)), None);
        if !fits && trial.peaks().is_some_and(|peaks| peaks.allocated_bytes < usable_bytes) {
            conf = Self::allocator_that_fits(trial, usable_bytes);
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
            least_bytes: judges.iter().filter_map(|judge| judge.least_bytes(&with_libraries)).max(),
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
        Measured { candidate, spans, work, survey, growth_bytes: growth_bytes.unwrap_or(0) }
    }

    /// Settings of the allocator with which every process fits.
    fn allocator_that_fits(trial: &Trial, usable_bytes: u64) -> Option<String> {
        let room = Room { card_bytes: Some(usable_bytes), limit_bytes: None };
        let (_, process) = trial.decisive();
        let torch = process.facts.end.torch.as_deref().and_then(allocator::version).unwrap_or((2, 6));
        let choice = allocator::Choice::make(&process.trace, room, torch, &allocator::conf_of_user())?;
        choice.chosen.fits.then_some(choice.chosen.conf)
    }

    /// The better of two, and what is learnt from the one that was tried: what refused need not be tried again, nor
    /// what brought nothing.
    fn judge(&mut self, sketch: &Sketch, tried: Measured, best: Measured) -> Measured {
        let is_without = |choice: &&RemedyChoice| tried.candidate.choices.iter().all(|kept| kept.name != choice.name);
        self.refused.extend(sketch.choices.iter().filter(is_without).map(|choice| choice.name.clone()));
        self.note(&tried.candidate);
        // Much more than on paper, and something was refused in part: the next look is better off without that.
        let is_disappointing = tried.spans.peak().0 > sketch.peak_bytes / 100 * (100 + PAPER_PERCENT);
        let partly: Vec<String> = sketch.choices.iter().map(|choice| choice.name.clone()).collect();
        let partly = partly.into_iter().filter(|name| tried.candidate.has_refused(name));
        let blamed: Vec<String> = partly.filter(|_| is_disappointing && !tried.candidate.fits).collect();
        if !blamed.is_empty() {
            self.refused.extend(blamed);
            return best;
        }
        let is_better = tried.candidate.fits
            || tried.growth_bytes < best.growth_bytes
            || tried.growth_bytes == best.growth_bytes && tried.spans.peak().0 < best.spans.peak().0 / 100 * 99;
        if is_better {
            // What brought nothing before may bring something now: the peak is elsewhere.
            self.useless.clear();
            return tried;
        }
        self.useless.extend(sketch.choices.iter().map(|choice| choice.name.clone()));
        best
    }

    /// Adds a set to those that were run; of one that came to the same as another, what it refused.
    fn note(&mut self, candidate: &Candidate) {
        match self.candidates.iter_mut().find(|known| known.choices == candidate.choices) {
            Some(known) => known.refusals.extend_from_slice(&candidate.refusals),
            None => self.candidates.push(candidate.clone()),
        }
        self.runs += 1;
    }

    /// Notes a set with which the script failed. The dearest of what was new is not tried again: without it, another
    /// run shows whether that was it.
    fn blame(&mut self, sketch: &Sketch, best: &Measured, problem: &PlanError) {
        let choices = joined(&best.candidate.choices, &sketch.choices);
        let slowdown = self.slowdown(&choices);
        let culprit = sketch.choices.iter().map(|choice| self.cost_of(choice)).max();
        self.refused.extend(culprit.map(|(_, name)| name));
        let refusals = vec![format!("with them, {problem}")];
        self.note(&Candidate {
            choices,
            cards: self.base.cards,
            allocator: None,
            peaks: None,
            least_bytes: None,
            slowdown,
            fits: false,
            refusals,
        });
    }

    /// Tries to do without each remedy of a set that fits, the dearest first, where that may work on paper.
    fn without_the_superfluous(&mut self, fitting: Measured, progress: Progress) -> Result<Measured, PlanError> {
        let mut best = fitting;
        let is_of_base = |choice: &&RemedyChoice| self.base.choices.iter().any(|kept| kept.name == choice.name);
        let added = best.candidate.choices.iter().filter(|choice| !is_of_base(choice));
        let mut names: Vec<(u64, String)> = added.map(|choice| self.cost_of(choice)).collect();
        names.sort_unstable_by(|left, right| right.cmp(left));
        for (_, name) in names {
            let rest: Vec<RemedyChoice> =
                best.candidate.choices.iter().filter(|choice| choice.name != name).cloned().collect();
            let is_known = self.candidates.iter().any(|candidate| candidate.choices == rest);
            if is_known || self.runs >= RUNS_MAX || !self.may_fit(&rest) {
                continue;
            }
            let tried = self.run_set(rest, progress)?;
            self.note(&tried.candidate);
            if tried.candidate.fits {
                best = tried;
            }
        }
        Ok(best)
    }

    fn cost_of(&self, choice: &RemedyChoice) -> (u64, String) {
        (whole(self.slowdown(std::slice::from_ref(choice)) * 1000.0), choice.name.clone())
    }

    /// Whether a set should fit on paper, or nearly.
    fn may_fit(&self, choices: &[RemedyChoice]) -> bool {
        let Some(costs) = &self.costs else { return false };
        let job = costs.situation(self.card, self.base.cards);
        Sketch::of(choices, &job).peak_bytes < self.usable_bytes() / 100 * (100 + PAPER_PERCENT)
    }

    /// Looks for better sets until one fits or nothing helps.
    fn improved(&mut self, mut best: Measured, progress: Progress) -> Result<Measured, PlanError> {
        while !best.candidate.fits && self.runs < RUNS_MAX {
            let Some(sketch) = self.next(&best) else { break };
            match self.run(&sketch, &best, progress) {
                Ok(tried) => best = self.judge(&sketch, tried, best),
                Err(problem) if problem.is_of_script() => self.blame(&sketch, &best, &problem),
                Err(problem) => return Err(problem),
            }
        }
        Ok(best)
    }

    /// A remedy that was taken may exclude others, which together may do more: without it everything looks different.
    /// Says whether that is worth a second look, which there is one of.
    fn starts_again(&mut self, best: &Measured) -> bool {
        let excludes = |choice: &&RemedyChoice| {
            let is_of_base = self.base.choices.iter().any(|kept| kept.name == choice.name);
            !is_of_base && remedy(&choice.name).is_some_and(|remedy| !remedy.excludes().is_empty())
        };
        let excluding: Vec<String> =
            best.candidate.choices.iter().filter(excludes).map(|choice| choice.name.clone()).collect();
        if self.has_started_again || excluding.is_empty() {
            return false;
        }
        self.has_started_again = true;
        self.useless.clear();
        self.refused.extend(excluding);
        self.runs < RUNS_MAX
    }

    /// Runs what was chosen from scratch, on the card itself.
    fn prove(&self, chosen: &Measured, progress: Progress) -> Result<Trial, PlanError> {
        self.question.job.forks.stop();
        let question = self.question.with_remedies(&chosen.candidate.choices, chosen.candidate.allocator.as_deref());
        question.run_on(self.card, &mut |stage| progress(&format!("on the card: {stage}")))
    }

    /// A set that was to fit and does not: the card has less room than replays say, so more is kept free from now on.
    fn disappointed(&mut self, best: &mut Measured) {
        self.kept_free_bytes += self.card.memory_bytes / 100 * DISAPPOINTED_PERCENT;
        best.candidate.fits = false;
        for candidate in self.candidates.iter_mut().filter(|known| known.choices == best.candidate.choices) {
            candidate.fits = false;
        }
    }
}

/// What the context and libraries take of the card beside PyTorch's allocator.
fn outside_bytes(peaks: Peaks) -> u64 {
    peaks.device_bytes.saturating_sub(peaks.reserved_bytes)
}

/// Whether no remedy of a set excludes another.
fn is_compatible(choices: &[RemedyChoice]) -> bool {
    let excluded = choices.iter().filter_map(|choice| Some(remedy(&choice.name)?.excludes())).flatten();
    excluded.into_iter().all(|name| choices.iter().all(|choice| choice.name != *name))
}

/// One set with another on top.
fn joined(first: &[RemedyChoice], second: &[RemedyChoice]) -> Vec<RemedyChoice> {
    let mut all = first.to_vec();
    for choice in second {
        match all.iter_mut().find(|before| before.name == choice.name) {
            Some(before) => {
                *before =
                    remedy(&choice.name).map_or_else(|| choice.clone(), |remedy| remedy.on_top_of(before, choice));
            }
            None => all.push(choice.clone()),
        }
    }
    all
}

/// Every set with at most one choice of each remedy, the smallest sets first.
fn sets(options: &[Vec<RemedyChoice>]) -> Vec<Vec<RemedyChoice>> {
    let mut all: Vec<Vec<RemedyChoice>> = vec![Vec::new()];
    for choices in options {
        let with: Vec<Vec<RemedyChoice>> = all
            .iter()
            .filter(|set| set.len() < 4)
            .flat_map(|set| choices.iter().map(move |choice| [set.as_slice(), std::slice::from_ref(choice)].concat()))
            .collect();
        all.extend(with);
    }
    all.sort_by_key(Vec::len);
    all.remove(0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str, parts: u64) -> RemedyChoice {
        RemedyChoice::new(name).with("parts", parts)
    }

    fn blocks(paths: &[&str]) -> RemedyChoice {
        RemedyChoice::new("checkpoint_blocks").with("blocks", paths.to_vec())
    }

    #[test]
    fn sets_hold_each_remedy_once_and_the_smallest_come_first() {
        let options =
            [vec![parts("micro_batches", 2), parts("micro_batches", 4)], vec![RemedyChoice::new("lazy_logits")]];
        let found = sets(&options);
        let names: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(names, [1, 1, 1, 2, 2]);
        assert!(sets(&[]).is_empty());
    }

    #[test]
    fn what_comes_on_top_builds_on_what_is_there() {
        let before = [parts("micro_batches", 2), blocks(&["a", "b"])];
        let after =
            joined(&before, &[parts("micro_batches", 4), blocks(&["b", "c"]), RemedyChoice::new("lazy_logits")]);
        assert_eq!(after, [parts("micro_batches", 8), blocks(&["a", "b", "c"]), RemedyChoice::new("lazy_logits")]);
        assert_eq!(joined(&before, &[]), before);
    }

    #[test]
    fn what_excludes_one_another_is_never_in_one_set() {
        let step = RemedyChoice::new("step_in_backward");
        assert!(!is_compatible(&[step.clone(), parts("micro_batches", 2)]));
        assert!(!is_compatible(&[parts("micro_batches", 2), step.clone()]));
        assert!(is_compatible(&[step, RemedyChoice::new("lazy_logits")]));
    }
}
