//! Over how many cards a job is divided: FSDP2 gives each a part of the model and of the batch, and one process runs on
//! each. The first of them is run, and told that the others are there.

use oomph_job::Target;

use super::measured::{Costs, Measured};
use super::sets::is_compatible;
use super::{Allowed, Base, Candidate, Found, Search};
use crate::error::PlanError;
use crate::follow::Progress;
use crate::plan::{Question, Trial, peaks_by_device};
use crate::remedies::RemedyChoice;

/// What divides a job.
const DIVIDES: &str = "fsdp";
/// No more cards than this are tried.
const CARDS_MAX: u32 = 64;
/// Twice as many cards that save less of what each must have, in hundredths, will not do either.
const WORTHWHILE_PERCENT: u64 = 5;

/// Why nothing is divided for inference.
const NO_OPTIMIZER: &str = "The script makes no optimizer, which is when a model is divided; for inference, transformers \
                            divides models that bring a plan by tp_plan=\"auto\" under torchrun.";

/// Over how many cards a job may be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cards {
    /// It stays on one.
    One,
    /// It stays on one, and where nothing fits, how many would do is found out.
    HowMany,
    /// Over so many where nothing fits one.
    IfNeeded(u32),
    /// Over so many.
    All(u32),
}

/// Looks for the cheapest set of remedies with which a job fits its first card, or several of the kind. `plain` is the
/// job as it is, run where there is room and with a survey.
///
/// # Errors
/// If the job cannot be run.
pub fn find(question: &Question, allowed: Allowed, plain: &Trial, progress: Progress) -> Result<Found, PlanError> {
    let (mut alone, first) = Search::from(question, allowed, Base::one_card(), plain);
    let job = Divisible { question, allowed, plain, costs: Costs::of(&first) };
    let mut tried = 1;
    let mut is_divisible = !matches!(allowed.cards, Cards::One);
    if let Cards::All(count) = allowed.cards {
        match job.divided(count, &[], progress)? {
            Ok(divided) => {
                let found = divided.find(allowed, &job.costs, progress)?;
                let found = followed_by(vec![first.candidate], found);
                return job.with_how_many(found, count, first.growth_bytes, progress);
            }
            Err(why) => alone.candidates[0].refusals.push(why),
        }
        is_divisible = false;
    }
    let growth_bytes = first.growth_bytes;
    let mut found = alone.find(first, progress)?;
    if found.chosen.is_some() || !is_divisible {
        return Ok(found);
    }
    if let Cards::IfNeeded(count) = allowed.cards {
        match job.divided(count, &[], progress)? {
            Ok(divided) => {
                let wide = divided.find(allowed, &job.costs, progress)?;
                found = followed_by(found.candidates, wide);
                tried = count;
            }
            Err(why) => {
                found.candidates[0].refusals.push(why);
                return Ok(found);
            }
        }
    }
    job.with_how_many(found, tried, growth_bytes, progress)
}

/// What was tried before, and then a search.
fn followed_by(mut before: Vec<Candidate>, found: Found) -> Found {
    let chosen = found.chosen.map(|at| at + before.len());
    before.extend(found.candidates);
    Found { candidates: before, chosen, ..found }
}

/// A job that one card may be too small for.
struct Divisible<'a> {
    question: &'a Question,
    allowed: Allowed,
    plain: &'a Trial,
    costs: Costs,
}

/// A job divided over several cards, and the run of its first process where there is room.
struct Divided {
    question: Question,
    base: Base,
    trial: Trial,
}

impl Divisible<'_> {
    /// Runs the job over so many cards; or why it cannot be divided, in a sentence.
    fn divided(
        &self,
        cards: u32,
        beside: &[RemedyChoice],
        progress: Progress,
    ) -> Result<Result<Divided, String>, PlanError> {
        if let Some(why) = self.why_not() {
            return Ok(Err(format!("{DIVIDES}: {why}")));
        }
        let mut choices = vec![RemedyChoice::new(DIVIDES)];
        choices.extend_from_slice(beside);
        let question = self.question.over_cards(cards);
        let run = question
            .with_remedies(&choices, None)
            .run_roomy(&mut |stage| progress(&format!("{DIVIDES} on {cards} cards: {stage}")));
        let trial = match run {
            Ok(trial) => trial,
            Err(problem) if problem.is_of_script() => return Ok(Err(sentence_of(&problem))),
            Err(problem) => return Err(problem),
        };
        if let Some(why) = was_left_whole(&trial) {
            return Ok(Err(format!("{DIVIDES}: {why}")));
        }
        Ok(Ok(Divided { question, base: Base { cards, choices, slowdown: 1.0, computing: 1.0 }, trial }))
    }

    /// What is known of the job as it is that stands against dividing it.
    fn why_not(&self) -> Option<String> {
        let job = &self.question.job;
        let script = match &job.command.target {
            Target::Script(path) => Some(path),
            Target::Module(_) | Target::Program(_) => None,
        };
        let is_notebook = script.is_some_and(|path| path.extension().is_some_and(|ending| ending == "ipynb"));
        if job.launch.processes_per_node.is_some() {
            let why = "The job is started as several processes already: give them the cards by its own options.";
            return Some(why.to_owned());
        }
        if is_notebook || matches!(job.command.target, Target::Program(_)) {
            return Some("torchrun starts scripts and modules alone, and this is neither.".to_owned());
        }
        let (_, process) = self.plain.decisive();
        let devices = peaks_by_device(process, &self.plain.card).len();
        if devices > 1 {
            return Some(format!(
                "The script itself uses {devices} cards in one process (DataParallel, a device map): one or the other."
            ));
        }
        if self.costs.survey.optimizers.is_empty() {
            return Some(NO_OPTIMIZER.to_owned());
        }
        why_too_large(self.costs.parameter_bytes(), self.question.cards[0].usable_bytes())
    }

    /// Where nothing was found: how many cards would do, with what came nearest.
    fn with_how_many(
        &self,
        mut found: Found,
        tried: u32,
        growth_bytes: u64,
        progress: Progress,
    ) -> Result<Found, PlanError> {
        // What grows fills any number of cards.
        if found.chosen.is_some() || growth_bytes > 0 {
            return Ok(found);
        }
        let nearest = found.candidates.iter().filter(|known| known.least_bytes.is_some());
        let nearest = nearest.min_by_key(|known| known.least_bytes).map(|known| known.choices.clone());
        let fsdp = RemedyChoice::new(DIVIDES);
        let goes_with =
            |choice: &RemedyChoice| choice.name != DIVIDES && is_compatible(&[fsdp.clone(), choice.clone()]);
        let beside: Vec<RemedyChoice> = nearest.unwrap_or_default().into_iter().filter(goes_with).collect();
        let mut before_bytes = None;
        let mut cards = tried;
        while cards < CARDS_MAX {
            cards = (cards * 2).next_power_of_two();
            let divided = match self.divided(cards, &beside, progress)? {
                Ok(divided) => divided,
                Err(why) => {
                    found.candidates[0].refusals.push(why);
                    break;
                }
            };
            let (_, measured) = divided.measured(self.allowed, &self.costs);
            let (fits, least_bytes) = (measured.candidate.fits, measured.candidate.least_bytes);
            found.candidates.push(measured.candidate);
            if fits {
                found.on_more_cards = Some(found.candidates.len() - 1);
                break;
            }
            let is_worthwhile =
                |before: u64| least_bytes.is_some_and(|least| least < before / 100 * (100 - WORTHWHILE_PERCENT));
            if before_bytes.is_some_and(|before| !is_worthwhile(before)) {
                break;
            }
            before_bytes = least_bytes;
        }
        Ok(found)
    }
}

impl Divided {
    /// Looks for what else it takes.
    fn find(&self, allowed: Allowed, plain: &Costs, progress: Progress) -> Result<Found, PlanError> {
        let (search, first) = self.measured(allowed, plain);
        search.find(first, progress)
    }

    /// What its run says, with the time of a step against that of the job as it is.
    fn measured<'a>(&'a self, allowed: Allowed, plain: &Costs) -> (Search<'a>, Measured) {
        let (mut search, mut first) = Search::from(&self.question, allowed, self.base.clone(), &self.trial);
        let seconds = first.work.seconds_among_cards(search.card, plain.parameter_bytes(), self.base.cards);
        let plain_seconds = plain.work.step_seconds(search.card);
        let slowdown = seconds / plain_seconds;
        search.base.slowdown = slowdown;
        search.base.computing = first.work.step_seconds(search.card) / plain_seconds;
        first.candidate.slowdown = slowdown;
        search.candidates[0].slowdown = slowdown;
        (search, first)
    }
}

/// Why a model cannot be divided that no card holds as a whole, where that is so.
fn why_too_large(parameter_bytes: u64, usable_bytes: u64) -> Option<String> {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    (parameter_bytes > usable_bytes).then(|| {
        format!(
            "The parameters alone take {:.1} GiB of a card's {:.1}, and the whole model lies on each card until its \
             optimizer is made, which is when it is divided: no number of such cards will do.",
            gib(parameter_bytes),
            gib(usable_bytes)
        )
    })
}

/// Why nothing was divided in a run that should have been, where that is so.
fn was_left_whole(trial: &Trial) -> Option<String> {
    let told = &trial.decisive().1.facts.watched.remedies;
    let mut ours = told.iter().filter(|told| told.name == DIVIDES);
    if ours.clone().any(|told| told.kind == "applied") {
        return None;
    }
    let refused = ours.find(|told| told.kind == "refused");
    Some(refused.map_or_else(|| "No model was found that could be divided.".to_owned(), |told| told.text().to_owned()))
}

/// The sentence of a remedy that ended the script, or else how the script failed with it.
fn sentence_of(problem: &PlanError) -> String {
    let text = problem.to_string();
    let own = format!("oomph: {DIVIDES}: ");
    match text.split_once(&own) {
        Some((_, sentence)) => format!("{DIVIDES}: {sentence}"),
        None => format!("{DIVIDES}: with it, {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_no_card_holds_is_not_divided() {
        assert_eq!(why_too_large(20 << 30, 20 << 30), None);
        let why = why_too_large(26 << 30, 23 << 30).expect("too large");
        assert!(why.starts_with("The parameters alone take 26.0 GiB of a card's 23.0,"), "{why}");
    }

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        let failed = |message: &str| PlanError::Script { message: message.to_owned(), traceback: String::new() };
        let refused = failed("NotForSeveralCards: oomph: fsdp: Net.scale has no dimensions.");
        assert_eq!(sentence_of(&refused), "fsdp: Net.scale has no dimensions.");
        assert_eq!(sentence_of(&failed("KeyError: 3")), "fsdp: with it, the script failed: KeyError: 3");
    }
}
