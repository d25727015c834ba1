//! Host memory, for people and for programs.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use oomph_trace::host::HostRole;
use serde_json::{Value, json};

use super::table::{Align, shorten, table, wrap};
use crate::bytes::show;
use crate::host::{HOST_OUT_OF_MEMORY, HostAccount, HostGrowth, HostRow, HostVerdict};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The verdict as text; `top` bounds the calls that are shown.
#[must_use]
pub fn text(verdict: &HostVerdict, width: usize, top: usize) -> String {
    let mut out = String::new();
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let whole = wrap(&format!("{HOST_OUT_OF_MEMORY}: {}", verdict.summary), "", width);
    let rest = whole.strip_prefix(HOST_OUT_OF_MEMORY).unwrap_or(&whole);
    let _ = write!(out, "{style}{HOST_OUT_OF_MEMORY}{style:#}{rest}");
    if let Some((file, line)) = &verdict.place {
        let _ = writeln!(out, "  {DIM}at{DIM:#} {file}:{line}");
    }
    out.push_str(&wrap(&verdict.evidence, "  ", width));
    heading(&mut out, "Host memory by process");
    out.push_str(&account_text(&verdict.account, width));
    calls(&mut out, verdict, width, top);
    if !verdict.advice.is_empty() {
        heading(&mut out, "What to do");
    }
    for advice in &verdict.advice {
        let _ = write!(out, "  - {}", wrap(advice, "    ", width).trim_start());
    }
    let _ = writeln!(out, "  {DIM}more: oomph doc {HOST_OUT_OF_MEMORY}{DIM:#}");
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

fn calls(out: &mut String, verdict: &HostVerdict, width: usize, top: usize) {
    if verdict.calls.is_empty() {
        return;
    }
    heading(out, "The calls that led there, innermost first");
    for call in verdict.calls.iter().take(top) {
        let line = format!("{}:{} {}", call.file, call.line, call.function);
        let _ = writeln!(out, "  {}", shorten(&line, width.saturating_sub(2), true));
    }
}

/// One line for the account at a job's end.
#[must_use]
pub fn account_line(account: &HostAccount) -> String {
    let mut line = format!("host memory: {} at the peak", show(account.peak_bytes));
    let together = |role: HostRole| account.rows.iter().find(|row| row.role == role);
    if let Some(workers) = together(HostRole::Worker) {
        let ending = if workers.count == 1 { "" } else { "s" };
        let _ = write!(line, ", {} in {} DataLoader worker{ending}", show(workers.peak_private_bytes), workers.count);
    }
    if account.pinned_bytes > 0 {
        let _ = write!(line, ", {} pinned", show(account.pinned_bytes));
    }
    if let Some(row) = account.rows.iter().filter(|row| row.growth.is_steady()).max_by_key(|row| row.growth.risen_bytes)
    {
        let _ = write!(line, "; {} grows by {}", name(row), rate(&row.growth));
    }
    line
}

/// The processes as a table.
#[must_use]
pub fn account_text(account: &HostAccount, width: usize) -> String {
    let row = |row: &HostRow| {
        vec![
            show(row.peak_resident_bytes),
            show(row.peak_proportional_bytes),
            show(row.peak_private_bytes),
            if row.growth.is_steady() { rate(&row.growth) } else { "-".to_owned() },
            name(row),
        ]
    };
    let rows: Vec<Vec<String>> = account.rows.iter().map(row).collect();
    let columns = [
        ("RSS", Align::Right),
        ("PSS", Align::Right),
        ("PRIVATE", Align::Right),
        ("GROWS BY", Align::Right),
        ("PROCESS", Align::Left),
    ];
    let mut out = table(&columns, &rows, width);
    let allowed = account.limits.cgroup_limit_bytes.filter(|&bytes| bytes < account.limits.total_bytes);
    let allowed = allowed.map_or_else(String::new, |bytes| format!(", {} allowed by the cgroup", show(bytes)));
    let pinned =
        if account.pinned_bytes > 0 { format!(", {} pinned", show(account.pinned_bytes)) } else { String::new() };
    let note = format!(
        "{} at the peak{pinned}; the machine has {}{allowed}.",
        show(account.peak_bytes),
        show(account.limits.total_bytes)
    );
    out.push_str(&wrap(&note, "  ", width));
    out
}

fn rate(growth: &HostGrowth) -> String {
    match (growth.bytes_per_step, growth.bytes_per_second) {
        (Some(bytes), _) => format!("{} a step", show(bytes)),
        (None, bytes) => format!("{} a second", show(bytes.unwrap_or(0))),
    }
}

fn name(row: &HostRow) -> String {
    let pid = row.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let several = |one: &str, many: &str| match row.count {
        1 => format!("1 {one}{pid}"),
        count => format!("{count} {many}"),
    };
    match row.role {
        HostRole::Main => format!("main process{pid}"),
        HostRole::Rank(rank) => format!("rank {rank}{pid}"),
        HostRole::Worker => several("DataLoader worker", "DataLoader workers"),
        HostRole::Forked => several("forked process", "forked processes"),
        HostRole::Other => match &row.name {
            Some(name) => format!("{name}{pid}"),
            None => several("other process", "other processes"),
        },
    }
}

/// The verdict as JSON: the fields of every other report, `null` where host memory does not know.
#[must_use]
pub fn json(verdict: &HostVerdict) -> Value {
    let (file, line) = verdict.place.as_ref().map_or((None, None), |(file, line)| (Some(file), Some(line)));
    let frame = |call: &crate::log::Call| json!({ "name": call.function, "filename": call.file, "line": call.line });
    json!({
        "verdict": {
            "class": HOST_OUT_OF_MEMORY,
            "summary": verdict.summary,
            "bytes": verdict.bytes,
            "proof": null,
            "stack": verdict.calls.iter().map(frame).collect::<Vec<_>>(),
            "file": file,
            "line": line,
            "cause": verdict.cause.name(),
            "pid": verdict.pid,
            "evidence": verdict.evidence,
        },
        "peak_allocated_bytes": null,
        "peak_reserved_bytes": null,
        "categories": null,
        "leaks": [],
        "fragmentation": null,
        "source": "host",
        "host": account_json(&verdict.account),
        "advice": verdict.advice,
    })
}

/// The account as JSON.
#[must_use]
pub fn account_json(account: &HostAccount) -> Value {
    let row = |row: &HostRow| {
        let (role, rank) = match row.role {
            HostRole::Main => ("main", None),
            HostRole::Rank(rank) => ("rank", Some(rank)),
            HostRole::Worker => ("worker", None),
            HostRole::Forked => ("forked", None),
            HostRole::Other => ("other", None),
        };
        json!({
            "role": role,
            "rank": rank,
            "pid": row.pid,
            "name": row.name,
            "count": row.count,
            "peak_resident_bytes": row.peak_resident_bytes,
            "peak_proportional_bytes": row.peak_proportional_bytes,
            "peak_private_bytes": row.peak_private_bytes,
            "risen_bytes": row.growth.risen_bytes,
            "growth_bytes_per_second": row.growth.bytes_per_second,
            "growth_bytes_per_step": row.growth.bytes_per_step,
        })
    };
    json!({
        "peak_bytes": account.peak_bytes,
        "peak_ms": account.peak_ms,
        "pinned_bytes": account.pinned_bytes,
        "total_bytes": account.limits.total_bytes,
        "cgroup_limit_bytes": account.limits.cgroup_limit_bytes,
        "shm_total_bytes": account.limits.shm_total_bytes,
        "oom_kills": account.oom_kills,
        "processes": account.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
