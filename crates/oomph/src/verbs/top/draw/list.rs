//! Jobs and processes, one line each.

use oomph_explain::bytes::show;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget as _;

use super::columns::{self, Column, cut, left, right, wide};
use super::style::Look;
use crate::numbers::{about, grouped};
use crate::verbs::top::layout::first_line;
use crate::verbs::top::listing::{self, ListLine};
use crate::verbs::top::scene::{CardUse, Job, Process, Status};
use crate::verbs::top::state::State;

/// What a job is about. A note makes room for itself; where no job has one, the column has no place.
const fn job_columns(has_notes: bool) -> [Column; 9] {
    [
        wide("JOB", 12, 20),
        left("STATUS", 13, 10),
        right("STEP", 9, 8),
        left("PHASE", 10, 4),
        right("ALLOCATED", 10, 11),
        right("RESERVED", 10, 5),
        right("LEFT", 10, 7),
        right("HOST", 10, 3),
        left("NOTE", if has_notes { 21 } else { 0 }, 9),
    ]
}

const PROCESS_COLUMNS: [Column; 6] = [
    right("PID", 8, 20),
    left("USER", 10, 3),
    left("CARD", 6, 8),
    right("DEVICE", 10, 10),
    right("HOST", 10, 5),
    wide("COMMAND", 12, 9),
];

pub(super) fn render(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let width = usize::from(area.width);
    let lines = listing::lines(state);
    let has_note = |line: &ListLine| matches!(line, ListLine::Job(job) if !note(job).is_empty());
    let job_columns = job_columns(lines.iter().any(has_note));
    let (jobs, processes) = (columns::fit(&job_columns, width), columns::fit(&PROCESS_COLUMNS, width));
    let shown = lines.iter().skip(first_line(state, area)).zip(area.rows());
    for (line, row) in shown {
        let (text, style) = match line {
            ListLine::JobHeading => (columns::heading(&job_columns, &jobs), look.title()),
            ListLine::ProcessHeading => (columns::heading(&PROCESS_COLUMNS, &processes), look.title()),
            ListLine::Job(job) => (columns::line(&job_columns, &jobs, &job_cells(job)), job_style(job, look)),
            ListLine::Process(process, depth) => {
                (columns::line(&PROCESS_COLUMNS, &processes, &process_cells(process, *depth)), Style::new())
            }
            ListLine::Note(text) => (cut(text, width), look.dim()),
            ListLine::Empty => continue,
        };
        let is_chosen = line.row().is_some() && line.row() == state.selected;
        let style = if is_chosen { style.patch(Look::chosen()) } else { style };
        Line::styled(text, style).render(row, buffer);
    }
}

fn job_style(job: &Job, look: Look) -> Style {
    match job.status {
        Status::OutOfMemory | Status::Killed | Status::Failed => look.bad(),
        Status::Finished => look.dim(),
        Status::Running if job.forecast().is_some() => look.warning(),
        Status::Running => Style::new(),
    }
}

fn job_cells(job: &Job) -> Vec<String> {
    let is_running = job.status == Status::Running;
    let tightest = job.tightest();
    let left_bytes = tightest.and_then(|(_, device)| device.left_bytes).filter(|_| is_running);
    let phase = tightest.map(|(process, _)| process.phase.clone()).filter(|_| is_running);
    let bytes = |bytes: Option<u64>| bytes.map(show).unwrap_or_default();
    let has_device = tightest.is_some();
    vec![
        job.name.clone(),
        job.status.words().to_owned(),
        grouped(job.step()),
        phase.unwrap_or_default(),
        bytes(has_device.then(|| job.allocated_bytes())),
        bytes(has_device.then(|| job.reserved_bytes())),
        bytes(left_bytes),
        bytes(job.host.resident_bytes),
        note(job),
    ]
}

/// What the user should know first.
fn note(job: &Job) -> String {
    let devices = || job.processes.iter().flat_map(|process| &process.devices);
    let (retries, ooms) = devices().fold((0, 0), |sum, device| (sum.0 + device.retries, sum.1 + device.ooms));
    if let Some(forecast) = job.forecast().filter(|_| job.status == Status::Running) {
        return format!("full in ~{} steps", grouped(about(forecast.steps_left)));
    }
    match (ooms, retries) {
        (0, 0) => String::new(),
        (0, retries) => format!("{} retries", grouped(retries)),
        (ooms, _) => format!("{} requests failed", grouped(ooms)),
    }
}

fn process_cells(process: &Process, depth: usize) -> Vec<String> {
    let indent = "  ".repeat(depth.min(8));
    let command = if process.start_ticks.is_none() { "not visible from here" } else { process.command.as_str() };
    let has_bytes = process.cards.iter().any(|used| used.used_bytes.is_some());
    let is_own_account = process.cards.iter().all(|used| used.is_own_account);
    let device = match (has_bytes, is_own_account) {
        (false, _) => String::new(),
        // What a process knows of itself leaves out its context and libraries.
        (true, true) => format!(">{}", show(process.card_bytes())),
        (true, false) => show(process.card_bytes()),
    };
    vec![
        process.pid.to_string(),
        process.user.clone().unwrap_or_default(),
        card_numbers(&process.cards),
        device,
        process.resident_bytes.map(show).unwrap_or_default(),
        format!("{indent}{command}"),
    ]
}

fn card_numbers(cards: &[CardUse]) -> String {
    let number = |used: &CardUse| match used.instance {
        Some(instance) => format!("{}:{instance}", used.index),
        None => used.index.to_string(),
    };
    cards.iter().map(number).collect::<Vec<_>>().join(",")
}
