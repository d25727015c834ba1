//! The report for people: the sentence first, then the evidence, then what to do.
//!
//! Styled with ANSI sequences throughout; whoever prints it takes them out where they are not wanted.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use oomph_trace::BlockState;

use super::json::category_name;
use super::table::{Align, table, wrap};
use crate::analyses::lines::{self, LineRow, Role};
use crate::analyses::modules::ModuleHeld;
use crate::analyses::retention::Kind;
use crate::analyses::shortage::{Refusal, Shortage};
use crate::bytes::{percent, show};
use crate::report::Report;
use crate::steps::StepSource;

/// Segments drawn at most; the rest is counted.
const SEGMENTS_SHOWN: usize = 8;
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// How much to say.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Columns of the terminal.
    pub width: usize,
    /// Rows of each table.
    pub top: usize,
}

/// The report as text.
#[must_use]
pub fn render(report: &Report, settings: Settings) -> String {
    let mut out = String::new();
    verdict(&mut out, report, settings);
    failure(&mut out, report, settings);
    holders(&mut out, report, settings);
    modules(&mut out, report, settings);
    stacks(&mut out, report, settings);
    kept(&mut out, report, settings);
    fragmentation(&mut out, report, settings);
    advice(&mut out, report, settings);
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

fn verdict(out: &mut String, report: &Report, settings: Settings) {
    let accusation = &report.verdict.accusation;
    let colour = if accusation.class == "none" { AnsiColor::Green } else { AnsiColor::Red };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let text = wrap(&format!("{}: {}", accusation.class, accusation.summary), "", settings.width);
    // The class is the first word: style it alone, after the lines were broken.
    let rest = text.strip_prefix(accusation.class).unwrap_or(&text);
    let _ = write!(out, "{style}{}{style:#}{rest}", accusation.class);
    if let Some(line) = accusation.line {
        let (file, number) = report.case.sources.place(line);
        let function = report.case.sources.function(line);
        let _ = writeln!(out, "  {DIM}at{DIM:#} {file}:{number} {DIM}in {function}{DIM:#}");
    }
    if let Some(proof) = &report.verdict.proof {
        out.push_str(&wrap(&proof.text, "  ", settings.width));
    }
    if report.case.trace.truncated.is_some() {
        out.push_str(&wrap(
            "The file ends in the middle of a write, so the job was probably killed; everything before that was read.",
            "  ",
            settings.width,
        ));
    }
}

fn failure(out: &mut String, report: &Report, settings: Settings) {
    let Some(shortage) = &report.shortage else { return };
    heading(out, "The request that failed");
    let by = match shortage.refusal {
        Refusal::Limit => "by the limit",
        Refusal::Driver => "by the driver",
    };
    let as_segment = if shortage.segment_bytes == shortage.request_bytes {
        String::new()
    } else {
        format!(", as a segment of {}", show(shortage.segment_bytes))
    };
    let mut rows = vec![
        ("requested", show(shortage.request_bytes), format!("refused {by}{as_segment}")),
        ("allocated", show(shortage.allocated_bytes), "held by live tensors".to_owned()),
    ];
    if shortage.waiting_bytes() > 0 {
        rows.push(("waiting", show(shortage.waiting_bytes()), "freed, but still in use by a stream".to_owned()));
    }
    rows.push(("not allocated", show(shortage.holes_bytes()), "reserved, but free inside segments".to_owned()));
    rows.push(("reserved", show(shortage.reserved_bytes), limit_note(shortage)));
    rows.push(("free on the card", show(shortage.device_free_bytes), "according to the driver".to_owned()));
    if shortage.outside_bytes > 0 {
        rows.push(("outside PyTorch", show(shortage.outside_bytes), "at least, worked out from the rest".to_owned()));
    }
    let width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    for (name, bytes, note) in rows {
        let line = format!("{name:<16}  {bytes:>width$}  {note}");
        out.push_str(&wrap_row(&line, settings.width));
    }
}

/// How much PyTorch may reserve, as exactly as it is known.
fn limit_note(shortage: &Shortage) -> String {
    let least = show(shortage.limit_bytes_min);
    let most = show(shortage.limit_bytes_max);
    if least == most { format!("the limit is {least}") } else { format!("the limit is {least} to {most}") }
}

fn wrap_row(line: &str, width: usize) -> String {
    format!("  {}\n", super::table::shorten(line, width.saturating_sub(2), false))
}

fn holders(out: &mut String, report: &Report, settings: Settings) {
    let holders = &report.holders;
    let moment = if report.shortage.is_some() {
        "when memory ran out"
    } else if holders.at == report.case.timeline.peak_allocated.event {
        "at the peak"
    } else if holders.at as usize + 1 >= report.case.device.events.len() {
        "at the end"
    } else {
        "at that moment"
    };
    let total = show(holders.allocated_bytes);
    heading(out, &format!("Live {moment} (event {} of {}): {total}", holders.at, report.case.device.events.len()));
    let rows: Vec<Vec<String>> = holders
        .categories
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|&(category, bytes)| {
            vec![show(bytes), percent(bytes, holders.allocated_bytes), category_name(category).to_owned()]
        })
        .collect();
    out.push_str(&table(
        &[("BYTES", Align::Right), ("SHARE", Align::Right), ("CATEGORY", Align::Left)],
        &rows,
        settings.width,
    ));
    out.push('\n');
    out.push_str(&lines_table(report, settings));
    more(out, report.lines.len(), settings.top, "line");
}

/// The largest of the lines that hold what was live, with the verdict's line among them.
#[must_use]
pub fn lines_table(report: &Report, settings: Settings) -> String {
    let sources = &report.case.sources;
    let row = |row: &LineRow| {
        let indent = if row.role == Role::Called { "  " } else { "" };
        let place = row.line.map_or_else(
            || "(no line recorded)".to_owned(),
            |line| {
                let (file, number) = sources.place(line);
                format!("{indent}{file}:{number} {}", sources.function(line))
            },
        );
        let note = match row.role {
            Role::Holds | Role::Called => "",
            Role::KeepsAlive => " (keeps it alive)",
            Role::AskedFor => " (asked for it)",
            Role::Waits => " (freed, waiting)",
        };
        // What was not granted is no part of what is live.
        let is_live = row.role != Role::AskedFor && row.role != Role::Waits;
        let share = if is_live { percent(row.bytes, report.holders.allocated_bytes) } else { "-".to_owned() };
        vec![show(row.bytes), share, row.blocks.to_string(), place + note]
    };
    let shown = lines::first_rows(&report.lines, report.verdict.accusation.line, settings.top);
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let columns =
        [("BYTES", Align::Right), ("SHARE", Align::Right), ("BLOCKS", Align::Right), ("LINE", Align::LeftKeepEnd)];
    table(&columns, &rows, settings.width)
}

fn more(out: &mut String, count: usize, shown: usize, what: &str) {
    if count > shown {
        let ending = if count - shown == 1 { "" } else { "s" };
        let _ = writeln!(out, "  {DIM}and {} more {what}{ending} (--top {count} shows all){DIM:#}", count - shown);
    }
}

fn modules(out: &mut String, report: &Report, settings: Settings) {
    if report.modules.is_empty() {
        return;
    }
    heading(out, "Modules that hold it");
    out.push_str(&modules_table(&report.modules, report.holders.allocated_bytes, settings));
    more(out, report.modules.len(), settings.top, "module");
}

/// The largest of the modules, with their shares of `allocated_bytes`.
#[must_use]
pub fn modules_table(modules: &[ModuleHeld], allocated_bytes: u64, settings: Settings) -> String {
    let row = |held: &ModuleHeld| {
        let times = if held.count > 1 { format!(" x {}", held.count) } else { String::new() };
        vec![show(held.bytes), percent(held.bytes, allocated_bytes), format!("{}{times}", held.module)]
    };
    let rows: Vec<Vec<String>> = modules.iter().take(settings.top).map(row).collect();
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("MODULE", Align::LeftKeepEnd)];
    table(&columns, &rows, settings.width)
}

/// The stack behind the blamed line, or behind the largest holder, as the user's own calls.
fn stacks(out: &mut String, report: &Report, settings: Settings) {
    let largest = report.holders.stacks.first().and_then(|held| held.what);
    let stack = report.verdict.accusation.stack;
    let table = report.case.sources.table();
    let stack = if table.stack(stack).is_empty() { largest } else { Some(stack) };
    let Some(stack) = stack else { return };
    heading(out, "The calls that led there, innermost first");
    for &frame in table.stack(stack).iter().take(settings.top) {
        let frame = table.frame(frame);
        let line = format!("{}:{} {}", table.string(frame.file), frame.line, table.string(frame.name));
        let _ = writeln!(out, "  {}", super::table::shorten(&line, settings.width.saturating_sub(2), true));
    }
    more(out, table.stack(stack).len(), settings.top, "call");
}

fn kept(out: &mut String, report: &Report, settings: Settings) {
    let Some(steps) = &report.case.steps else { return };
    if report.leaks.is_empty() {
        return;
    }
    let found = match &steps.source {
        StepSource::Marks(name) => format!("marked {name:?}"),
        StepSource::Period => "recognised by allocations that repeat".to_owned(),
    };
    heading(out, &format!("Kept from step to step ({} steps, {found})", steps.starts.len()));
    let rows: Vec<Vec<String>> = report
        .leaks
        .iter()
        .take(settings.top)
        .map(|retention| {
            let kind = match retention.kind {
                Kind::Leak => "keeps",
                Kind::Growth => "grows",
            };
            let place = retention.line.map_or_else(
                || "(no line recorded)".to_owned(),
                |line| {
                    let (file, number) = report.case.sources.place(line);
                    format!("{file}:{number}")
                },
            );
            vec![
                show(retention.bytes),
                show(retention.bytes_per_step),
                retention.steps.to_string(),
                kind.to_owned(),
                place,
            ]
        })
        .collect();
    let columns = [
        ("BYTES", Align::Right),
        ("PER STEP", Align::Right),
        ("STEPS", Align::Right),
        ("HOW", Align::Left),
        ("LINE", Align::LeftKeepEnd),
    ];
    out.push_str(&table(&columns, &rows, settings.width));
    more(out, report.leaks.len(), settings.top, "place");
}

fn fragmentation(out: &mut String, report: &Report, settings: Settings) {
    let found = &report.fragmentation;
    heading(
        out,
        &format!(
            "Fragmentation {:.2}: {} of the {} reserved is free inside segments",
            found.ratio(),
            show(found.free_bytes),
            show(found.reserved_bytes)
        ),
    );
    let mut order: Vec<usize> = (0..found.segments.len()).collect();
    let free = |at: usize| -> u64 {
        let blocks = found.segments[at].blocks.iter();
        blocks.filter(|block| block.state == BlockState::Inactive).map(|block| block.bytes).sum()
    };
    order.sort_by_key(|&at| (std::cmp::Reverse(free(at)), at));
    order.retain(|&at| free(at) > 0);
    if order.is_empty() {
        return;
    }
    let cells = settings.width.saturating_sub(26).clamp(10, 64);
    for &at in order.iter().take(SEGMENTS_SHOWN) {
        let segment = &found.segments[at];
        let _ = writeln!(out, "  {:>10} {} {:>10}", show(segment.bytes), picture(segment, cells), show(free(at)));
    }
    let rest: u64 = order.iter().skip(SEGMENTS_SHOWN).map(|&at| free(at)).sum();
    let others = found.segments.len() - order.len().min(SEGMENTS_SHOWN);
    if others > 0 {
        let _ = writeln!(out, "  {DIM}and {others} more segments with {} free{DIM:#}", show(rest));
    }
    let _ = writeln!(
        out,
        "  {DIM}size, ■ in use ▒ waiting · free, free bytes; largest free block {}{DIM:#}",
        show(found.largest_free_bytes)
    );
}

/// One segment as a row of cells; a cell shows what most of it is, and a hole or a pin never vanishes between two.
fn picture(segment: &oomph_heap::SegmentAt, cells: usize) -> String {
    let mut weights = vec![[0u64; 3]; cells];
    for block in &segment.blocks {
        let kind = match block.state {
            BlockState::Allocated => 0,
            BlockState::PendingFree => 1,
            BlockState::Inactive => 2,
        };
        let offset = block.address.saturating_sub(segment.address);
        let cell_at = |bytes: u64| (u128::from(bytes) * cells as u128 / u128::from(segment.bytes.max(1))) as usize;
        let (from, to) = (cell_at(offset), cell_at(offset + block.bytes.saturating_sub(1)));
        let share = block.bytes / (to - from + 1) as u64;
        for weight in weights.iter_mut().take(to + 1).skip(from) {
            weight[kind] += share.max(1);
        }
    }
    weights
        .iter()
        .map(|weight| match weight {
            [held, waiting, free] if held >= waiting && held >= free => '■',
            [_, waiting, free] if waiting >= free => '▒',
            _ => '·',
        })
        .collect()
}

fn advice(out: &mut String, report: &Report, settings: Settings) {
    let accusation = &report.verdict.accusation;
    if accusation.advice.is_empty() {
        return;
    }
    heading(out, "What to do");
    for advice in &accusation.advice {
        let text = wrap(advice, "    ", settings.width);
        let _ = write!(out, "  - {}", text.trim_start());
    }
    let _ = writeln!(out, "  {DIM}more: oomph doc {}{DIM:#}", accusation.class);
}
