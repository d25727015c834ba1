//! The list of jobs and processes: what stands in it, in which order.

use super::scene::{Job, Process, Status};
use super::state::{Sort, State};

/// Jobs that ended so long ago are listed only when asked for.
const RECENT_US: u64 = 3600 * 1_000_000;

/// A line that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A job, by its name.
    Job(String),
    /// A process.
    Process(u32),
}

/// A line of the list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListLine<'a> {
    /// The heading of the jobs.
    JobHeading,
    Job(&'a Job),
    /// The heading of the processes.
    ProcessHeading,
    /// A process, and how deep it stands in the tree.
    Process(&'a Process, usize),
    /// Why there is nothing.
    Note(&'static str),
    Empty,
}

impl ListLine<'_> {
    pub(super) fn row(&self) -> Option<Row> {
        match self {
            Self::Job(job) => Some(Row::Job(job.id.clone())),
            Self::Process(process, _) => Some(Row::Process(process.pid)),
            _ => None,
        }
    }
}

/// Every line of the list.
pub(super) fn lines(state: &State) -> Vec<ListLine<'_>> {
    let mut lines = vec![ListLine::JobHeading];
    let jobs: Vec<_> = jobs(state).collect();
    if jobs.is_empty() {
        let is_hidden = !state.scene.jobs.is_empty();
        lines.push(ListLine::Note(match (is_hidden, state.filter.is_empty()) {
            (true, false) => "no job matches the filter",
            (true, true) => "no job runs; e lists those that have ended",
            (false, _) => "no job: start one with 'oomph run train.py'",
        }));
    }
    lines.extend(jobs.into_iter().map(ListLine::Job));
    lines.extend([ListLine::Empty, ListLine::ProcessHeading]);
    let processes = processes(state);
    if processes.is_empty() {
        lines.push(ListLine::Note("no process uses a card"));
    }
    lines.extend(processes.into_iter().map(|(process, depth)| ListLine::Process(process, depth)));
    lines
}

/// The lines that can be chosen.
pub(super) fn rows(state: &State) -> Vec<Row> {
    lines(state).iter().filter_map(ListLine::row).collect()
}

fn jobs(state: &State) -> impl Iterator<Item = &Job> {
    let is_recent = |job: &&Job| {
        let since_us = state.scene.at_us.saturating_sub(job.ended_us.unwrap_or(state.scene.at_us));
        state.shows_all_jobs || job.status == Status::Running || (job.ended_us.is_some() && since_us < RECENT_US)
    };
    let matches = |job: &&Job| state.filter.is_empty() || contains(&job.command.join(" "), &state.filter);
    state.scene.jobs.iter().filter(is_recent).filter(matches)
}

fn contains(text: &str, filter: &str) -> bool {
    text.to_lowercase().contains(&filter.to_lowercase())
}

fn processes(state: &State) -> Vec<(&Process, usize)> {
    let matches = |process: &&Process| {
        let user = process.user.as_deref().unwrap_or_default();
        state.filter.is_empty()
            || contains(&process.command, &state.filter)
            || contains(user, &state.filter)
            || process.pid.to_string() == state.filter
    };
    // Workers of a job hold nothing on a card: only the tree has room for them.
    let is_wanted = |process: &&Process| state.is_tree || !process.cards.is_empty();
    let mut found: Vec<&Process> = state.scene.processes.iter().filter(is_wanted).filter(matches).collect();
    found.sort_by(|a, b| match state.sort {
        Sort::Device => b.card_bytes().cmp(&a.card_bytes()).then(a.pid.cmp(&b.pid)),
        Sort::Host => b.resident_bytes.cmp(&a.resident_bytes).then(a.pid.cmp(&b.pid)),
        Sort::Pid => a.pid.cmp(&b.pid),
        Sort::Command => a.command.cmp(&b.command).then(a.pid.cmp(&b.pid)),
    });
    if state.is_tree { as_tree(&found) } else { found.into_iter().map(|process| (process, 0)).collect() }
}

/// Processes below the ones that started them, otherwise in the order given.
fn as_tree<'a>(processes: &[&'a Process]) -> Vec<(&'a Process, usize)> {
    let is_here = |pid: u32| processes.iter().any(|process| process.pid == pid);
    let is_root = |process: &&&Process| !process.parent.is_some_and(is_here);
    let mut pending: Vec<(&Process, usize)> = processes.iter().filter(is_root).map(|&root| (root, 0)).collect();
    pending.reverse();
    let mut found = Vec::with_capacity(processes.len());
    while let Some((process, depth)) = pending.pop() {
        // One number may stand for two, a container's and the host's: their children are met twice.
        if found.len() >= 2 * processes.len() {
            break;
        }
        found.push((process, depth));
        let children = processes.iter().rev().filter(|child| child.parent == Some(process.pid));
        pending.extend(children.map(|&child| (child, depth + 1)));
    }
    found
}
