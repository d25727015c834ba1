//! The page of one job.

use oomph_explain::bytes::{percent, show};
use oomph_explain::source::file_name;
use ratatui::text::{Line, Span};

use super::chart;
use super::columns::{self, Column, cell, cut, left, right, width_of};
use super::style::Look;
use crate::numbers::{about, grouped};
use crate::verbs::top::scene::{Inside, Job, JobProcess, Promised, Status};
use crate::verbs::top::state::State;

const DEVICE_COLUMNS: [Column; 9] = [
    left("DEVICE", 15, 10),
    right("ALLOCATED", 10, 9),
    right("AT MOST", 10, 7),
    right("RESERVED", 10, 8),
    right("AT MOST", 10, 4),
    right("ON CARD", 10, 5),
    right("LEFT", 10, 6),
    right("RETRIES", 8, 3),
    right("FAILED", 7, 2),
];

/// From this width on the tables stand side by side.
const WIDE: usize = 110;

/// All of it, whichever part is seen.
pub(super) fn lines(state: &State, look: Look) -> Vec<Line<'static>> {
    let Some(job) = state.open_job().and_then(|id| state.scene.job(id)) else { return Vec::new() };
    let width = usize::from(state.area.width);
    let process = job.processes.get(state.process).or(job.processes.first());
    let mut lines = vec![heading(job, width, look)];
    lines.push(Line::styled(cut(&job.command.join(" "), width), look.dim()));
    lines.extend(texts(progress(state.scene.at_us, job, process, state.process), width, look));
    lines.extend(warnings(job, process, width, look));
    if let Some(process) = process {
        lines.extend(devices(process, width, look));
        lines.extend(promises(job, process, state.process, width, look));
    }
    lines.extend(texts(host(job), width, look));
    if let Some(history) = state.histories.get(&job.id) {
        let height = usize::from(state.area.height).saturating_sub(16) / 3;
        lines.push(Line::default());
        lines.extend(chart::lines(history, width, height.clamp(3, 12), look));
    }
    if let Some(inside) = process.and_then(|process| process.inside.as_ref()) {
        lines.push(Line::default());
        lines.extend(tables(inside, width, look));
    }
    lines
}

fn heading(job: &Job, width: usize, look: Look) -> Line<'static> {
    let style = match job.status {
        Status::Running => look.good(),
        Status::Finished => look.dim(),
        _ => look.bad(),
    };
    let status = job.status.words();
    let status = match (job.signal, job.exit_code) {
        (Some(signal), _) => format!("{status} by signal {signal}"),
        (None, Some(code)) if code != 0 => format!("{status}, exit code {code}"),
        _ => status.to_owned(),
    };
    let name = cut(&job.name, width.saturating_sub(width_of(&status) + 2));
    Line::from(vec![Span::styled(name, look.title()), Span::raw("  "), Span::styled(status, style)])
}

/// A label and what is to be said, over as many lines as it needs.
fn texts(parts: Vec<String>, width: usize, look: Look) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match lines.last_mut() {
            Some(line) if width_of(line) + 3 + width_of(&part) <= width => {
                line.push_str(" · ");
                line.push_str(&part);
            }
            _ => lines.push(cut(&part, width)),
        }
    }
    lines.into_iter().map(|line| Line::styled(line, look.dim())).collect()
}

fn progress(at_us: u64, job: &Job, process: Option<&JobProcess>, number: usize) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(process) = process {
        parts.push(format!("step {}", grouped(process.step)));
        if process.status == Status::Running {
            parts.push(process.phase.clone());
        }
        parts.extend(process.steps_per_minute.map(|speed| format!("{speed:.0} steps/min")));
        if job.processes.len() > 1 {
            let number = (number + 1).min(job.processes.len());
            parts.push(format!("process {number} of {} (PID {})", job.processes.len(), process.pid));
        }
    } else {
        parts.push("no process of it uses PyTorch yet".to_owned());
    }
    let seconds = job.ended_us.unwrap_or(at_us).saturating_sub(job.started_us) / 1_000_000;
    parts.push(format!("{} {}", if job.ended_us.is_some() { "ran" } else { "for" }, chart::span(seconds)));
    parts.extend(job.allocator.as_ref().map(|settings| format!("allocator {settings}")));
    parts
}

fn warnings(job: &Job, process: Option<&JobProcess>, width: usize, look: Look) -> Vec<Line<'static>> {
    let mut found = Vec::new();
    for device in process.into_iter().flat_map(|process| &process.devices) {
        let name = format!("cuda:{}", device.ordinal);
        if let Some(forecast) = device.forecast.filter(|_| job.status == Status::Running) {
            found.push(format!(
                "{name}: out of memory in about {} steps: every step keeps {}",
                grouped(about(forecast.steps_left)),
                show(forecast.bytes_per_step)
            ));
        }
        if device.ooms > 0 {
            found.push(format!("{name}: {} requests failed", grouped(device.ooms)));
        }
    }
    found.into_iter().map(|text| Line::styled(cut(&text, width), look.warning())).collect()
}

fn devices(process: &JobProcess, width: usize, look: Look) -> Vec<Line<'static>> {
    let widths = columns::fit(&DEVICE_COLUMNS, width);
    let mut lines = vec![Line::styled(columns::heading(&DEVICE_COLUMNS, &widths), look.title())];
    for device in &process.devices {
        let card = device.card.map_or(String::new(), |card| format!(" (card {card})"));
        let bytes = |bytes: Option<u64>| bytes.map(show).unwrap_or_default();
        let cells = [
            format!("cuda:{}{card}", device.ordinal),
            show(device.allocated_bytes),
            show(device.allocated_peak_bytes),
            show(device.reserved_bytes),
            show(device.reserved_peak_bytes),
            bytes(device.used_bytes),
            bytes(device.left_bytes),
            grouped(device.retries),
            grouped(device.ooms),
        ];
        let limit = device.limit_bytes.unwrap_or(device.total_bytes);
        let style = look.fullness(device.reserved_bytes, limit);
        lines.push(Line::styled(columns::line(&DEVICE_COLUMNS, &widths, &cells), style));
    }
    if process.devices.is_empty() {
        lines.push(Line::styled("it has not used a card yet", look.dim()));
    }
    lines
}

/// What the plan had said, and how it turns out.
fn promises(job: &Job, process: &JobProcess, rank: usize, width: usize, look: Look) -> Vec<Line<'static>> {
    let promised = |ordinal: u32| {
        let is_it = |one: &&Promised| one.rank as usize == rank && one.device == ordinal;
        job.promised.iter().find(is_it).or(job.promised.iter().find(|one| one.device == ordinal))
    };
    let text = |device: &crate::verbs::top::scene::DeviceUse| {
        let plan = promised(device.ordinal)?;
        let (planned, real) = (plan.allocated_bytes, device.allocated_peak_bytes);
        let difference = match real.cmp(&planned) {
            std::cmp::Ordering::Less => format!("{} below", percent(planned - real, planned)),
            std::cmp::Ordering::Equal => "as planned".to_owned(),
            std::cmp::Ordering::Greater => format!("{} above", percent(real - planned, planned)),
        };
        let name = format!("plan: cuda:{} allocates", device.ordinal);
        Some(format!("{name} {} at most; so far {}, {difference}", show(planned), show(real)))
    };
    let lines = process.devices.iter().filter_map(text);
    lines.map(|line| Line::styled(cut(&line, width), look.dim())).collect()
}

fn host(job: &Job) -> Vec<String> {
    let host = &job.host;
    let some = |label: &str, bytes: Option<u64>| bytes.map(|bytes| format!("{label} {}", show(bytes)));
    let told = |label: &str, bytes: u64| (bytes > 0).then(|| format!("{label} {}", show(bytes)));
    let count = host.process_count;
    let parts = [
        some("host: resident", host.resident_bytes),
        some("at most", host.resident_peak_bytes),
        some("PSS", host.proportional_bytes),
        told("CPU tensors", host.cpu_tensor_bytes),
        told("pinned", host.pinned_bytes),
        (count > 1).then(|| format!("{count} processes")),
    ];
    parts.into_iter().flatten().collect()
}

fn tables(inside: &Inside, width: usize, look: Look) -> Vec<Line<'static>> {
    let total: u64 = inside.categories.iter().map(|share| share.bytes).sum();
    let row = |name: &str, bytes: u64, width: usize| {
        let numbers = format!(" {:>10} {:>4}", show(bytes), percent(bytes, total));
        cell(name, width.saturating_sub(numbers.len()), false) + &numbers
    };
    let categories = |width| inside.categories.iter().map(|one| row(&one.name, one.bytes, width)).collect();
    let place = |line: &crate::verbs::top::scene::LineShare| {
        format!("{}:{} {}", file_name(&line.file), line.line, line.function)
    };
    let by_line = |width| inside.lines.iter().map(|line| row(&place(line), line.bytes, width)).collect();
    let modules = |width| inside.modules.iter().map(|one| row(&one.name, one.bytes, width)).collect();
    if width < WIDE {
        return ["CATEGORIES", "LINES", "MODULES"]
            .into_iter()
            .zip([categories(width), by_line(width), modules(width)])
            .filter(|(_, rows): &(&str, Vec<String>)| !rows.is_empty())
            .flat_map(|(title, rows)| table(title, rows, look))
            .collect();
    }
    let narrow = 34;
    let module_width = (width - narrow - 4) * 2 / 5;
    let line_width = width - narrow - module_width - 4;
    let columns: [(&str, usize, Vec<String>); 3] = [
        ("CATEGORIES", narrow, categories(narrow)),
        ("LINES", line_width, by_line(line_width)),
        ("MODULES", module_width, modules(module_width)),
    ];
    side_by_side(&columns, look)
}

fn table(title: &str, rows: Vec<String>, look: Look) -> Vec<Line<'static>> {
    let title = Line::styled(title.to_owned(), look.title());
    std::iter::once(title).chain(rows.into_iter().map(Line::raw)).collect()
}

fn side_by_side(columns: &[(&str, usize, Vec<String>)], look: Look) -> Vec<Line<'static>> {
    let joined = |texts: Vec<String>| texts.join("  ");
    let titles = columns.iter().map(|(title, width, _)| cell(title, *width, false)).collect();
    let mut lines = vec![Line::styled(joined(titles), look.title())];
    let longest = columns.iter().map(|(_, _, rows)| rows.len()).max().unwrap_or(0);
    for at in 0..longest {
        let row =
            |(_, width, rows): &(&str, usize, Vec<String>)| rows.get(at).cloned().unwrap_or_else(|| " ".repeat(*width));
        lines.push(Line::raw(joined(columns.iter().map(row).collect())));
    }
    lines
}
