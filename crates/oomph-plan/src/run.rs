//! One hollow run: the user's own interpreter and script, on cards that are not there.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use oomph_card::Card;
use oomph_job::facts::{LoopFacts, OutcomeKind};
use oomph_job::{Ended, Facts, Program, Workspace};
use oomph_trace::{Origin, Trace};

use crate::environment::Environment;
use crate::error::PlanError;
use crate::follow::{self, Follow, Progress};
use crate::job::Job;
use crate::values::{self, Bounds};

/// How much of what a dead process printed is worth showing.
const PRINTED_BYTES: u64 = 4096;

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    /// The processes that used a card, in the order in which they began.
    pub processes: Vec<Process>,
}

/// One process that used a card.
#[derive(Debug)]
pub struct Process {
    /// Its own account.
    pub facts: Facts,
    /// The allocator's history, with categories, modules and marks.
    pub trace: Trace,
}

impl Process {
    /// Whether the card was too small.
    #[must_use]
    pub fn ran_out(&self) -> bool {
        self.facts.end.outcome.kind == OutcomeKind::Oom
    }
}

impl Run {
    /// Whether a card was too small for one of the processes.
    #[must_use]
    pub fn ran_out(&self) -> bool {
        self.processes.iter().any(Process::ran_out)
    }
}

/// Why a run has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What is told about it.
    pub(crate) error: PlanError,
    /// Whether the script had been given values that may be others on a card.
    pub(crate) has_guessed: bool,
}

impl<E: Into<PlanError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), has_guessed: false }
    }
}

impl Job {
    /// Runs the job once, with values worked out within bounds or without.
    pub(crate) fn run_once(&self, cards: &[Card], values: Option<Bounds>, progress: Progress) -> Result<Run, Failure> {
        self.command.check()?;
        let workspace = Workspace::create()?;
        let environment = Environment::prepare(self, cards, workspace.folder(), values)?;
        let mut printed = tempfile::tempfile()?;
        let (path, arguments) = self.command.words();
        let output = if self.show_output { None } else { Some(printed.try_clone()?) };
        let program = Program { path, arguments, environment: environment.variables, output };
        progress("starting Python");
        let ended = program.run(&environment.layer, &mut Follow::new(&environment.results, progress))?;
        let told = collect(&environment.results)?;
        let has_guessed = told.iter().any(|(_, facts)| values::has_guessed(facts));
        judge(&told, &ended, &mut printed).map_err(|error| Failure { error, has_guessed })?;
        let mut processes = Vec::new();
        for (folder, facts) in told.into_iter().filter(|(_, facts)| facts.end.used_cuda) {
            let mut trace = Trace::open(folder.join("snapshot.pickle"))?;
            trace.origin = Origin::HollowRun;
            for device in &mut trace.devices {
                device.total_bytes = cards.get(device.ordinal as usize).map(|card| card.memory_bytes);
            }
            oomph_job::complete(&mut trace, &facts.watched, &environment.package);
            processes.push(Process { facts, trace });
        }
        Ok(Run { processes })
    }
}

/// What every process told that told its end.
fn collect(results: &Path) -> Result<Vec<(PathBuf, Facts)>, PlanError> {
    let mut told = Vec::new();
    for folder in follow::processes(results) {
        if let Some(facts) = Facts::read(&folder.join("facts.jsonl"))? {
            told.push((folder, facts));
        }
    }
    Ok(told)
}

/// Whether there is something to report, and if not, why.
fn judge(told: &[(PathBuf, Facts)], ended: &Ended, printed: &mut File) -> Result<(), PlanError> {
    let has_result = told.iter().any(|(_, facts)| facts.end.used_cuda);
    let ran_out = told.iter().any(|(_, facts)| facts.end.outcome.kind == OutcomeKind::Oom);
    if has_result && (ran_out || ended.is_interrupted || was_ended_early(told)) {
        return Ok(());
    }
    if ended.is_interrupted {
        return Err(oomph_job::JobError::Interrupted.into());
    }
    // The process that did the work knows better why it failed than the one that waited for it.
    let mut failed = told.iter().map(|(_, facts)| &facts.end.outcome).filter(|outcome| is_failure(outcome.kind));
    if let Some(outcome) = failed.next_back() {
        let message = outcome.message.clone().unwrap_or_default();
        return Err(match outcome.kind {
            OutcomeKind::Unusable => {
                PlanError::Unusable { reason: outcome.reason.clone().unwrap_or_default(), message }
            }
            OutcomeKind::Endless => PlanError::Endless { message },
            OutcomeKind::Exit => PlanError::Exited { message, printed: String::new() },
            _ => PlanError::Script { message, traceback: outcome.traceback.clone().unwrap_or_default() },
        });
    }
    let has_told = told.iter().any(|(_, facts)| facts.end.is_first);
    match ended.status {
        Some(status) if !status.success() => Err(failure(status, has_told, tail(printed))),
        _ if has_result => Ok(()),
        _ => Err(PlanError::NoCuda),
    }
}

fn is_failure(kind: OutcomeKind) -> bool {
    matches!(kind, OutcomeKind::Error | OutcomeKind::Exit | OutcomeKind::Unusable | OutcomeKind::Endless)
}

/// Whether a loop of the script was ended before its time, which may be why it failed later.
fn was_ended_early(told: &[(PathBuf, Facts)]) -> bool {
    told.iter().any(|(_, facts)| facts.end.loops.iter().any(LoopFacts::is_ended_early))
}

fn failure(status: ExitStatus, has_told: bool, printed: String) -> PlanError {
    match status.code() {
        Some(code) if has_told => PlanError::Exited { message: format!("exit code {code}"), printed },
        _ => PlanError::Died { status: status.to_string(), printed },
    }
}

/// The end of what was printed, from the beginning of a line.
fn tail(printed: &mut File) -> String {
    let length = printed.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut text = Vec::new();
    let _ = printed.seek(SeekFrom::Start(length.saturating_sub(PRINTED_BYTES)));
    let _ = printed.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    if length <= PRINTED_BYTES {
        return text;
    }
    text.split_once('\n').map_or(text.clone(), |(_, rest)| rest.to_owned())
}
