//! One hollow run: the user's own interpreter and script, on cards that are not there.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use oomph_card::Card;
use oomph_job::facts::{LoopFacts, OutcomeKind, Place};
use oomph_job::host::{PeakWatch, Seen};
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
    /// What was seen of all of the job's processes.
    pub seen: Seen,
}

/// What a run without a card left behind.
#[derive(Debug)]
pub struct HostRun {
    /// The account of the process that took most.
    pub facts: Facts,
    /// What was seen of all of the job's processes.
    pub seen: Seen,
}

/// A job that has ended, and what it left behind for as long as this value lives.
struct Done {
    ended: Ended,
    seen: Seen,
    /// What it printed, where that was not passed on.
    printed: File,
    environment: Environment,
    _workspace: Workspace,
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
        if values.is_none()
            && let Some(run) = self.forks.run(self, cards, progress)?
        {
            return Ok(run);
        }
        let mut done = self.run_to_end(cards, values, progress)?;
        let (results, package) = (&done.environment.results, &done.environment.package);
        let run = left_behind(results, package, cards, &done.ended, &mut done.printed)?;
        Ok(Run { seen: done.seen, ..run })
    }

    /// Starts the job in a workspace of its own and waits for its end.
    fn run_to_end(&self, cards: &[Card], values: Option<Bounds>, progress: Progress) -> Result<Done, PlanError> {
        let workspace = Workspace::create()?;
        let environment = Environment::prepare(self, cards, workspace.folder(), values)?;
        let printed = tempfile::tempfile()?;
        let (path, arguments) = self.command.words();
        let output = if self.show_output { None } else { Some(printed.try_clone()?) };
        let variables = environment.variables.clone();
        let program = Program { path, arguments, environment: variables, output };
        progress("starting Python");
        let watch = PeakWatch::start();
        let ended = program.run(&environment.layer, &mut Follow::new(&environment.results, progress));
        let seen = watch.end();
        Ok(Done { ended: ended?, seen, printed, environment, _workspace: workspace })
    }

    /// Runs a job that uses no card, as it is, for the host's memory alone.
    ///
    /// # Errors
    /// If it cannot be started, or fails for a reason of its own.
    pub fn run_on_host(&self, cards: &[Card], progress: Progress) -> Result<HostRun, PlanError> {
        let job = Self { is_host_only: true, ..self.clone() };
        let mut done = job.run_to_end(cards, None, progress)?;
        let told = collect(&done.environment.results)?;
        match judge(&told, &done.ended, &mut done.printed) {
            Ok(()) | Err(PlanError::NoCuda) => {}
            Err(error) => return Err(error),
        }
        let held = |facts: &Facts| facts.end.host.as_ref().map_or(0, |host| host.most_resident_bytes);
        let fullest = told.into_iter().map(|(_, facts)| facts).max_by_key(held);
        Ok(HostRun { facts: fullest.ok_or(PlanError::NoCuda)?, seen: done.seen })
    }

    /// Runs such a job once more, to find the line that keeps its memory growing; none where that cannot be found out.
    /// The search takes memory itself, so the run that measures cannot do it.
    pub fn line_of_host_growth(&self, cards: &[Card], progress: Progress) -> Option<Place> {
        let job = Self { seeks_growth: true, ..self.clone() };
        job.run_on_host(cards, progress).ok()?.facts.end.kept_at
    }
}

/// Reads what the processes of a run left in its folder of results.
pub(crate) fn left_behind(
    results: &Path,
    package: &Path,
    cards: &[Card],
    ended: &Ended,
    printed: &mut File,
) -> Result<Run, Failure> {
    let told = collect(results)?;
    let has_guessed = told.iter().any(|(_, facts)| values::has_guessed(facts));
    judge(&told, ended, printed).map_err(|error| Failure { error, has_guessed })?;
    let mut processes = Vec::new();
    for (folder, facts) in told.into_iter().filter(|(_, facts)| facts.end.used_cuda) {
        let mut trace = Trace::open(folder.join("snapshot.pickle"))?;
        trace.origin = Origin::HollowRun;
        for device in &mut trace.devices {
            device.total_bytes = cards.get(device.ordinal as usize).map(|card| card.memory_bytes);
        }
        oomph_job::complete(&mut trace, &facts.watched, package);
        processes.push(Process { facts, trace });
    }
    Ok(Run { processes, seen: Seen::default() })
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
    let is_given_up = |kind: OutcomeKind| told.iter().any(|(_, facts)| facts.end.outcome.kind == kind);
    if is_given_up(OutcomeKind::Card) {
        return Err(PlanError::UsesCard);
    }
    if is_given_up(OutcomeKind::NoCard) && !has_result {
        return Err(PlanError::NoCuda);
    }
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

/// Whether a loop of the script was ended before its time, which may be why it failed later: a loop of each process that
/// used a card and failed. Others fail when one of those does.
fn was_ended_early(told: &[(PathBuf, Facts)]) -> bool {
    let is_early = |facts: &Facts| facts.end.loops.iter().any(LoopFacts::is_ended_early);
    let failed = |facts: &Facts| facts.end.used_cuda && is_failure(facts.end.outcome.kind);
    told.iter().any(|(_, facts)| is_early(facts)) && told.iter().all(|(_, facts)| !failed(facts) || is_early(facts))
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
