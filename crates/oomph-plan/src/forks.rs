//! Runs that are forked from one process that has imported the script's libraries: most of the time that a small job
//! takes is theirs.
//!
//! A fork sees what a process of its own would see at that point of the script, but for remedies, which are put in there
//! and not right after torch. So what a search promises is never taken from a fork: the proof is a run from scratch.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use oomph_card::Card;
use oomph_job::{Command, Program, Standing, Target, Workspace};

use crate::environment::{self, Environment};
use crate::error::PlanError;
use crate::follow::{Follow, Progress};
use crate::job::Job;
use crate::run::{self, Failure, Run};

/// The process that a job's runs are forked from, shared by all copies of the job.
#[derive(Clone, Debug, Default)]
pub struct Forks(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    /// Every run is a process of its own.
    #[default]
    Off,
    /// The next run starts it.
    Wanted,
    /// It waits.
    Ready(Box<Warm>),
}

#[derive(Debug)]
struct Warm {
    /// Ended before the folder is removed.
    standing: Standing,
    key: Key,
    environment: Environment,
    printed: File,
    runs: usize,
    _workspace: Workspace,
}

/// What runs of one process must have in common.
#[derive(Debug, PartialEq)]
struct Key {
    command: Command,
    steps: Option<u32>,
    batches: Option<u32>,
    is_surveyed: bool,
    show_output: bool,
    allocator: Option<String>,
}

impl Key {
    fn of(job: &Job) -> Self {
        Self {
            command: job.command.clone(),
            steps: job.steps,
            batches: job.batches,
            is_surveyed: job.is_surveyed,
            show_output: job.show_output,
            allocator: job.allocator.clone(),
        }
    }
}

impl Forks {
    /// Forks runs from now on, where that is possible.
    #[must_use]
    pub fn wanted() -> Self {
        Self(Arc::new(Mutex::new(State::Wanted)))
    }

    /// Every run is a process of its own from now on.
    pub fn stop(&self) {
        *self.state() = State::Off;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the job as a fork; `None` where it has to be a process of its own.
    pub(crate) fn run(&self, job: &Job, cards: &[Card], progress: Progress) -> Result<Option<Run>, Failure> {
        let mut state = self.state();
        if matches!(*state, State::Wanted) {
            *state = Warm::start(job, cards, progress)?.map_or(State::Off, |warm| State::Ready(Box::new(warm)));
        }
        let State::Ready(warm) = &mut *state else { return Ok(None) };
        if warm.key != Key::of(job) {
            return Ok(None);
        }
        let run = warm.run(job, cards, progress)?;
        if run.is_none() {
            *state = State::Off;
        }
        Ok(run)
    }
}

impl Warm {
    /// Starts a process and waits until it stands where the script's own work begins.
    fn start(job: &Job, cards: &[Card], progress: Progress) -> Result<Option<Self>, PlanError> {
        let is_script = matches!(&job.command.target, Target::Script(path) if !path.is_dir());
        if !is_script || job.launch.processes_per_node.is_some() {
            return Ok(None);
        }
        let workspace = Workspace::create()?;
        let environment = Environment::prepare_standing(job, cards, workspace.folder())?;
        let printed = tempfile::tempfile()?;
        let (path, arguments) = job.command.words();
        let output = if job.show_output { None } else { Some(printed.try_clone()?) };
        let program = Program { path, arguments, environment: environment.variables.clone(), output };
        progress("starting Python");
        let mut follow = Follow::new(&environment.results, progress);
        let standing = program.stand(&environment.layer, &environment.results, &mut follow)?;
        let key = Key::of(job);
        Ok(standing.map(|standing| Self { standing, key, environment, printed, runs: 0, _workspace: workspace }))
    }

    fn run(&mut self, job: &Job, cards: &[Card], progress: Progress) -> Result<Option<Run>, Failure> {
        self.runs += 1;
        let results: PathBuf = self.environment.results.join(format!("run-{}", self.runs));
        std::fs::create_dir(&results)?;
        // The file and its place are shared with the process.
        self.printed.set_len(0)?;
        std::io::Seek::rewind(&mut self.printed)?;
        let order = environment::order(job, cards, &results)?;
        let follow = &mut Follow::new(&results, progress);
        let Some(ended) = self.standing.run(&order, &self.environment.layer, follow)? else { return Ok(None) };
        let left = run::left_behind(&results, &self.environment.package, cards, &ended, &mut self.printed);
        let _ = std::fs::remove_dir_all(&results);
        match left {
            // Whether that comes from the fork, a process of its own will show.
            Err(failure) if failure.error.is_of_script() => Ok(None),
            left => left.map(Some),
        }
    }
}
