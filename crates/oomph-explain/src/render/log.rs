//! The verdict on a log, for people and for programs.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::table::{Align, table, wrap};
use crate::bytes::show;
use crate::log::{Call, Failure, FailureKind, Figures, Log, RECIPE};
use crate::source::file_name;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The verdict as text; `top` bounds the calls that are shown.
#[must_use]
pub fn text(log: &Log, width: usize, top: usize) -> String {
    let mut out = String::new();
    verdict(&mut out, log, width);
    if let FailureKind::Allocator(figures) = &log.first().kind {
        out.push_str(&figures_table(figures, width));
    }
    others(&mut out, log, width);
    traceback(&mut out, &log.first().calls, width, top);
    rest(&mut out, log, width);
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

fn verdict(out: &mut String, log: &Log, width: usize) {
    let verdict = log.verdict();
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let whole = wrap(&format!("{}: {}", verdict.class, verdict.summary), "", width);
    let rest = whole.strip_prefix(verdict.class).unwrap_or(&whole);
    let _ = write!(out, "{style}{}{style:#}{rest}", verdict.class);
    if let Some((file, line, function)) = &verdict.asked_at {
        let _ = writeln!(out, "  {DIM}asked for at{DIM:#} {file}:{line} {DIM}in {function}{DIM:#}");
    }
    let writer = log.first().writer.as_ref().map_or_else(String::new, |writer| format!(" by {writer}"));
    let note = format!(
        "From the message on line {} of the log{writer} alone: a first verdict, without a proof.",
        log.first().log_line
    );
    out.push_str(&wrap(&note, "  ", width));
}

fn figures_table(figures: &Figures, width: usize) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, bytes: Option<u64>| {
        rows.extend(bytes.map(|bytes| vec![show(bytes), name.to_owned()]));
    };
    row("requested", figures.request_bytes);
    row("allocated to live tensors", figures.allocated_bytes);
    row("  of these in private pools", figures.private_pool_bytes);
    row("reserved by PyTorch but not allocated", figures.unallocated_bytes);
    row("held by this process in all", figures.process_bytes);
    for (pid, bytes) in &figures.other_processes {
        row(&format!("held by process {pid}"), Some(*bytes));
    }
    row("held by other allocations", figures.outside_bytes);
    row("free on the card", figures.free_bytes);
    row("the most this process may take", figures.limit_bytes);
    row("the card's memory", figures.total_bytes);
    let mut out = String::new();
    heading(&mut out, "What the message says");
    out.push_str(&table(&[("BYTES", Align::Right), ("WHAT", Align::Left)], &rows, width));
    out
}

/// The other processes that ran out, in the order of the log.
fn others(out: &mut String, log: &Log, width: usize) {
    if log.failures().len() < 2 {
        return;
    }
    heading(out, "Who ran out, in the order of the log");
    let row = |failure: &Failure| {
        let request = match &failure.kind {
            FailureKind::Allocator(figures) => figures.request_bytes,
            FailureKind::Driver | FailureKind::Host(_) => None,
        };
        let place =
            failure.calls.first().map_or_else(String::new, |call| format!("{}:{}", file_name(&call.file), call.line));
        vec![
            failure.writer.clone().unwrap_or_else(|| "-".to_owned()),
            request.map_or_else(|| "-".to_owned(), show),
            failure.log_line.to_string(),
            place,
        ]
    };
    let rows: Vec<Vec<String>> = log.failures().iter().map(row).collect();
    let columns = [
        ("WHO", Align::Left),
        ("REQUESTED", Align::Right),
        ("LOG LINE", Align::Right),
        ("INNERMOST CALL", Align::LeftKeepEnd),
    ];
    out.push_str(&table(&columns, &rows, width));
}

fn traceback(out: &mut String, calls: &[Call], width: usize, top: usize) {
    if calls.is_empty() {
        return;
    }
    heading(out, "The calls that led there, innermost first");
    for call in calls.iter().take(top) {
        let line = format!("{}:{} {}", call.file, call.line, call.function);
        let _ = writeln!(out, "  {}", super::table::shorten(&line, width.saturating_sub(2), true));
    }
    if calls.len() > top {
        let _ = writeln!(out, "  {DIM}and {} more (--top {} shows all){DIM:#}", calls.len() - top, calls.len());
    }
}

fn rest(out: &mut String, log: &Log, width: usize) {
    let verdict = log.verdict();
    heading(out, "What the log cannot tell");
    list(out, verdict.cannot_tell.iter().copied(), width);
    heading(out, "What to do");
    list(out, verdict.advice.iter().map(String::as_str), width);
    let _ = writeln!(out, "  {DIM}more: oomph doc {}{DIM:#}", verdict.class);
    if verdict.class == "host_out_of_memory" {
        return;
    }
    heading(out, "For the line to blame, and a proof, record a snapshot");
    for line in RECIPE.lines() {
        let _ = writeln!(out, "    {line}");
    }
    out.push_str(&wrap("and give the files to oomph explain, all ranks at once.", "  ", width));
}

fn list<'a>(out: &mut String, items: impl Iterator<Item = &'a str>, width: usize) {
    for item in items {
        let _ = write!(out, "  - {}", wrap(item, "    ", width).trim_start());
    }
}

/// The verdict as JSON: the fields of every other report, `null` where a log does not know.
#[must_use]
pub fn json(log: &Log) -> Value {
    let verdict = log.verdict();
    let failure = log.first();
    let figures = match &failure.kind {
        FailureKind::Allocator(figures) => figures.clone(),
        FailureKind::Driver | FailureKind::Host(_) => Figures::default(),
    };
    let (file, line) = verdict.asked_at.as_ref().map_or((None, None), |(file, line, _)| (Some(file), Some(line)));
    json!({
        "verdict": {
            "class": verdict.class,
            "summary": verdict.summary,
            "bytes": verdict.bytes,
            "proof": null,
            "stack": stack(&failure.calls),
            "file": file,
            "line": line,
        },
        "peak_allocated_bytes": null,
        "peak_reserved_bytes": null,
        "categories": null,
        "leaks": [],
        "fragmentation": {
            "reserved_bytes": figures.reserved_bytes(),
            "allocated_bytes": figures.allocated_bytes,
            "free_bytes": figures.unallocated_bytes,
        },
        "source": "log",
        "device": figures.device,
        "allocated_bytes": figures.allocated_bytes,
        "lines": [],
        "stacks": [],
        "modules": [],
        "oom": oom(&figures),
        "steps": null,
        "advice": verdict.advice,
        "cannot_tell": verdict.cannot_tell,
        "failures": log.failures().iter().map(failure_row).collect::<Vec<_>>(),
        "ranks": null,
    })
}

fn oom(figures: &Figures) -> Value {
    json!({
        "request_bytes": figures.request_bytes,
        "allocated_bytes": figures.allocated_bytes,
        "reserved_bytes": figures.reserved_bytes(),
        "device_free_bytes": figures.free_bytes,
        "limit_bytes_max": figures.limit_bytes,
        "total_bytes": figures.total_bytes,
        "process_bytes": figures.process_bytes,
        "private_pool_bytes": figures.private_pool_bytes,
        "outside_bytes": figures.outside_bytes,
        "other_processes": figures
            .other_processes
            .iter()
            .map(|(pid, bytes)| json!({ "pid": pid, "bytes": bytes }))
            .collect::<Vec<_>>(),
    })
}

fn failure_row(failure: &Failure) -> Value {
    let request = match &failure.kind {
        FailureKind::Allocator(figures) => figures.request_bytes,
        FailureKind::Driver => None,
        FailureKind::Host(host) => host.request_bytes,
    };
    json!({
        "writer": failure.writer,
        "log_line": failure.log_line,
        "request_bytes": request,
        "stack": stack(&failure.calls),
    })
}

/// Innermost first, as PyTorch writes them.
fn stack(calls: &[Call]) -> Vec<Value> {
    let frame = |call: &Call| json!({ "name": call.function, "filename": call.file, "line": call.line });
    calls.iter().map(frame).collect()
}
