//! The largest value of an option with which a job fits: a batch size, a length, a width. Found by hollow runs, each
//! placed where the ones before say that the limit should be.

use std::ffi::OsString;

use oomph_card::Card;

use crate::error::PlanError;
use crate::fit::Judge;
use crate::follow::Progress;
use crate::numbers::whole;
use crate::plan::{Peaks, Question, Trial};
use crate::remedies::RemedyChoice;
use crate::search::with_margin;

/// Runs of one search, at most.
const RUNS_MAX: usize = 10;
/// Values that lie so close are the same to whoever asks, in parts of the value.
const CLOSE_PARTS: u64 = 100;
/// The next value is at most so many times the largest that fits.
const FARTHEST: u64 = 64;
/// No batch is larger.
const VALUE_MAX: u64 = 1 << 24;

/// What is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Knob {
    /// An option of the script: the word that holds its value, and what stands before the value in that word.
    Option {
        /// Which of the script's arguments.
        word: usize,
        /// `--batch=`, or nothing where the value is a word of its own.
        prefix: String,
    },
    /// The batch size of the script's data loaders.
    LoaderBatch,
}

/// A value that fits, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The value.
    pub value: u64,
    /// The least that is known not to fit; none where nothing that was tried is too much.
    pub too_much: Option<u64>,
    /// What it takes where there is room.
    pub peaks: Option<Peaks>,
    /// How many runs it took.
    pub runs: usize,
}

impl Knob {
    /// Finds an option among the script's arguments, and the value it has now. `-` and `_` are the same.
    #[must_use]
    pub fn find(name: &str, arguments: &[OsString]) -> Option<(Self, u64)> {
        let wanted = plain(name);
        let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
        words.iter().enumerate().find_map(|(at, word)| {
            let option = word.strip_prefix('-').map(|rest| rest.trim_start_matches('-'))?;
            if let Some((key, value)) = option.split_once('=') {
                let prefix = word[..word.len() - value.len()].to_owned();
                return (plain(key) == wanted)
                    .then(|| Some((Self::Option { word: at, prefix }, value.parse().ok()?)))?;
            }
            let value = words.get(at + 1)?.parse().ok()?;
            (plain(option) == wanted).then(|| (Self::Option { word: at + 1, prefix: String::new() }, value))
        })
    }

    /// The same job with another value.
    #[must_use]
    pub fn turned(&self, question: &Question, value: u64) -> Question {
        let mut question = question.with_remedies(&[], None);
        match self {
            Self::Option { word, prefix } => {
                question.job.command.arguments[*word] = format!("{prefix}{value}").into();
            }
            Self::LoaderBatch => {
                question.job.remedies.push(RemedyChoice::new("loader_batch").with("size", value));
            }
        }
        question
    }
}

fn plain(name: &str) -> String {
    name.trim_start_matches('-').replace('_', "-").to_lowercase()
}

/// Finds the largest value that fits the first card with the margin, from the one the job has now. None where even the
/// smallest does not.
///
/// # Errors
/// If the job cannot be run with its own value.
pub fn find(question: &Question, knob: &Knob, now: u64, progress: Progress) -> Result<Option<Largest>, PlanError> {
    let card = &question.cards[0];
    let mut bracket = Bracket::new(with_margin(card.usable_bytes()));
    let mut fitting: Option<(u64, Option<Peaks>)> = None;
    let mut value = now.max(1);
    let mut runs = 0;
    while runs < RUNS_MAX {
        runs += 1;
        let run = knob.turned(question, value).run_roomy(&mut |stage| progress(&format!("{value}: {stage}")));
        let fits = match run {
            Ok(trial) => {
                let fits = fits(&trial, card) && !trial.grows_beyond(card);
                if fits {
                    fitting = Some((value, trial.peaks()));
                }
                bracket.note(value, trial.peaks().map_or(0, |peaks| peaks.allocated_bytes));
                fits
            }
            // A value that the script itself does not take is too much, unless it is its own.
            Err(problem) if problem.is_of_script() && value != now => false,
            Err(problem) => return Err(problem),
        };
        bracket.narrow(value, fits);
        match bracket.next() {
            Some(next) => value = next,
            None => break,
        }
    }
    Ok(fitting.map(|(value, peaks)| Largest { value, too_much: bracket.too_much, peaks, runs }))
}

/// Whether a job that ran where there was room fits a card with the margin, beside what libraries take of it.
fn fits(trial: &Trial, card: &Card) -> bool {
    let outside_bytes = trial.peaks().map_or(card.context_bytes, Peaks::outside_bytes);
    let usable_bytes = with_margin(card.memory_bytes.saturating_sub(outside_bytes));
    trial.processes.iter().all(|(_, process)| Judge::of(&process.trace).fits(usable_bytes))
}

/// Where the limit lies, as far as is known.
struct Bracket {
    limit_bytes: u64,
    fits: u64,
    too_much: Option<u64>,
    /// Values with what they took.
    known: Vec<(u64, u64)>,
    /// How wide the gap was after each run, once there was one.
    gaps: Vec<u64>,
}

impl Bracket {
    fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, fits: 0, too_much: None, known: Vec::new(), gaps: Vec::new() }
    }

    fn note(&mut self, value: u64, bytes: u64) {
        self.known.push((value, bytes));
    }

    fn narrow(&mut self, value: u64, fits: bool) {
        if fits {
            self.fits = self.fits.max(value);
        } else {
            self.too_much = Some(self.too_much.map_or(value, |known| known.min(value)));
        }
        self.gaps.extend(self.too_much.map(|too_much| too_much - self.fits));
    }

    /// The value to try next; none where the limit is known.
    fn next(&self) -> Option<u64> {
        let gap = self.too_much.map(|too_much| too_much - self.fits);
        if gap.is_some_and(|gap| gap <= 1 + self.fits / CLOSE_PARTS) || self.fits >= VALUE_MAX {
            return None;
        }
        let Some(too_much) = self.too_much else {
            // No more than some doublings at a time: a line through small values says little about large ones.
            let guess = self.guess().unwrap_or(self.fits * 2);
            return Some(guess.clamp(self.fits + 1, self.fits.saturating_mul(FARTHEST).min(VALUE_MAX)));
        };
        // Where the line misses the gap, or keeps narrowing it from one side, its geometric middle does better.
        let middle = whole(((self.fits.max(1) as f64) * too_much as f64).sqrt());
        let guess = self.guess().filter(|guess| (self.fits + 1..too_much).contains(guess) && self.is_narrowing());
        Some(guess.unwrap_or(middle).clamp(self.fits + 1, too_much - 1))
    }

    /// Whether the last look at least halved the gap.
    fn is_narrowing(&self) -> bool {
        match self.gaps[..] {
            [.., before, last] => last <= before / 2,
            _ => true,
        }
    }

    /// Where a line through the two values nearest to the limit meets it.
    fn guess(&self) -> Option<u64> {
        let mut near = self.known.clone();
        near.sort_unstable_by_key(|(_, bytes)| bytes.abs_diff(self.limit_bytes));
        near.dedup_by_key(|(value, _)| *value);
        let [(first, first_bytes), (second, second_bytes)] = *near.first_chunk()?;
        let rise = (second_bytes as f64 - first_bytes as f64) / (second as f64 - first as f64);
        let guess = first as f64 + (self.limit_bytes as f64 - first_bytes as f64) / rise;
        (rise > 0.0 && guess.is_finite() && guess > 0.0).then(|| whole(guess))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_are_found_however_they_are_written() {
        let found = |name: &str, text: &str| Knob::find(name, &words(text));
        let own = |word| Knob::Option { word, prefix: String::new() };
        assert_eq!(found("batch", "--lr 1 --batch 8"), Some((own(3), 8)));
        assert_eq!(found("--batch_size", "--batch-size 16 x"), Some((own(1), 16)));
        let joined = Knob::Option { word: 0, prefix: "--batch=".into() };
        assert_eq!(found("batch", "--batch=32"), Some((joined, 32)));
        assert_eq!(found("b", "-b 4"), Some((own(1), 4)));
        assert_eq!(found("batch", "--batch many"), None);
        assert_eq!(found("batch", "--batches 8"), None);
    }

    /// Runs a search against a job that takes so much for each value.
    fn search(limit: u64, takes: impl Fn(u64) -> u64, now: u64) -> (u64, usize) {
        let mut bracket = Bracket::new(limit);
        let (mut value, mut runs) = (now, 0);
        loop {
            runs += 1;
            bracket.note(value, takes(value));
            bracket.narrow(value, takes(value) <= limit);
            match bracket.next() {
                Some(next) if runs < 60 => value = next,
                _ => return (bracket.fits, runs),
            }
        }
    }

    #[test]
    fn a_straight_line_takes_few_runs_and_any_other_is_found_too() {
        assert_eq!(search(1000, |value| 100 + 7 * value, 8), (128, 4));
        assert_eq!(search(1000, |value| 2000 + value, 8).0, 0, "nothing fits");
        let (found, runs) = search(100_000, |value| 10 + value * value, 3);
        assert!((312..=316).contains(&found) && runs < 20, "{found} in {runs}");
        let (found, _) = search(1000, |value| value.div_ceil(64) * 100, 8);
        assert!((634..=640).contains(&found), "{found}");
    }
}
