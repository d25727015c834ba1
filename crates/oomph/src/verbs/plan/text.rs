//! The answer for people: the sentence first, then what the peak is made of, then what nobody can know.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use oomph_explain::Report;
use oomph_explain::bytes::{percent, show};
use oomph_explain::render::json::category_name;
use oomph_explain::render::table::{Align, table, wrap};
use oomph_explain::source::file_name;
use oomph_plan::facts::Assumed;

use super::answer::{Answer, Peaks};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The answer as text.
pub(super) fn render(answer: &Answer, report: &Report, top: usize, width: usize) -> String {
    let mut out = String::new();
    sentence(&mut out, answer, report, width);
    peaks(&mut out, answer);
    several(&mut out, "Every card", "cuda:", &answer.devices, width);
    several(&mut out, "Every process", "rank ", &answer.experiment.ranks, width);
    categories(&mut out, answer, width);
    lines(&mut out, answer, report, top, width);
    cards(&mut out, answer, width);
    unknown(&mut out, answer, top, width);
    advice(&mut out, answer, report, width);
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

fn sentence(out: &mut String, answer: &Answer, report: &Report, width: usize) {
    let card = answer.card.short_title();
    let total = show(answer.card.memory_bytes);
    let text = if answer.fits {
        format!("needs {} of the {card}'s {total}: fits.", show(answer.peaks.device_bytes))
    } else {
        let needs = answer.needed.map(|needed| format!(", needs {}", show(needed.device_bytes)));
        let verdict = &report.verdict.accusation;
        let why = format!("{}: {}", verdict.class, verdict.summary);
        format!("does not fit the {card} (has {total}{}). {why}", needs.unwrap_or_default())
    };
    let (word, colour) = if answer.fits { ("fits.", AnsiColor::Green) } else { ("does not fit", AnsiColor::Red) };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    // Styled alone, after the lines were broken.
    out.push_str(&wrap(&text, "", width).replacen(word, &format!("{style}{word}{style:#}"), 1));
    if answer.fits {
        return;
    }
    if let Some(line) = report.verdict.accusation.line {
        let (file, number) = report.case.sources.place(line);
        let function = report.case.sources.function(line);
        let _ = writeln!(out, "  {DIM}at{DIM:#} {file}:{number} {DIM}in {function}{DIM:#}");
    }
    if let Some(proof) = &report.verdict.proof {
        out.push_str(&wrap(&proof.text, "  ", width));
    }
}

fn peaks(out: &mut String, answer: &Answer) {
    let mut title = "Peak".to_owned();
    if answer.experiment.ranks.len() > 1 {
        let _ = write!(title, " of rank {}, which needs most", answer.experiment.rank);
    } else if answer.devices.len() > 1 {
        let _ = write!(title, " of cuda:{}, which needs most", answer.device);
    }
    heading(out, &title);
    let rows = [
        ("allocated", answer.peaks.allocated_bytes, "held by tensors"),
        ("reserved", answer.peaks.reserved_bytes, "taken from the driver by PyTorch"),
        ("device", answer.peaks.device_bytes, "with the CUDA context"),
    ];
    for (name, bytes, note) in rows {
        let _ = writeln!(out, "  {name:<10} {:>10}  {DIM}{note}{DIM:#}", show(bytes));
    }
}

/// The peaks of each of several devices or processes; the rest of the answer is about the fullest.
fn several(out: &mut String, title: &str, prefix: &str, parts: &[(u32, Peaks)], width: usize) {
    if parts.len() < 2 {
        return;
    }
    heading(out, title);
    let row = |(number, peaks): &(u32, Peaks)| {
        let bytes = [peaks.allocated_bytes, peaks.reserved_bytes, peaks.device_bytes];
        let mut row: Vec<String> = bytes.into_iter().map(show).collect();
        row.push(format!("{prefix}{number}"));
        row
    };
    let columns =
        [("ALLOCATED", Align::Right), ("RESERVED", Align::Right), ("DEVICE", Align::Right), ("", Align::Left)];
    out.push_str(&table(&columns, &parts.iter().map(row).collect::<Vec<_>>(), width));
}

fn categories(out: &mut String, answer: &Answer, width: usize) {
    let phase = &answer.phase;
    let moment = match (phase.step, phase.name) {
        (0, _) => "before the first step".to_owned(),
        (step, name) => format!("in step {step}, {name}"),
    };
    heading(out, &format!("What it is made of at the allocated peak ({moment})"));
    let total = answer.peaks.allocated_bytes;
    let rows: Vec<Vec<String>> = answer
        .categories
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|&(category, bytes)| vec![show(bytes), percent(bytes, total), category_name(category).to_owned()])
        .collect();
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("CATEGORY", Align::Left)];
    out.push_str(&table(&columns, &rows, width));
}

fn lines(out: &mut String, answer: &Answer, report: &Report, top: usize, width: usize) {
    let sources = &report.case.sources;
    let rows: Vec<Vec<String>> = answer
        .lines()
        .take(top)
        .map(|(line, held)| {
            let (file, number) = sources.place(line);
            let place = format!("{file}:{number} {}", sources.function(line));
            vec![show(held.bytes), percent(held.bytes, answer.peaks.allocated_bytes), held.blocks.to_string(), place]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(out, "Lines that hold it");
    let columns =
        [("BYTES", Align::Right), ("SHARE", Align::Right), ("BLOCKS", Align::Right), ("LINE", Align::LeftKeepEnd)];
    out.push_str(&table(&columns, &rows, width));
    let more = answer.lines().count().saturating_sub(top);
    if more > 0 {
        let _ = writeln!(out, "  {DIM}and {more} more lines{DIM:#}");
    }
}

fn cards(out: &mut String, answer: &Answer, width: usize) {
    for fit in &answer.asked {
        let word = if fit.fits { "fits" } else { "does not fit" };
        let _ = writeln!(out, "\n{BOLD}{word}{BOLD:#} {} ({})", fit.name, show(fit.memory_bytes));
    }
    if answer.catalogue.is_empty() {
        return;
    }
    let names = |fits: bool| -> Vec<&str> {
        let mut found: Vec<_> = answer.catalogue.iter().filter(|fit| fit.fits == fits).collect();
        found.sort_by_key(|fit| (fit.memory_bytes, fit.name.as_str()));
        found.into_iter().map(|fit| fit.name.as_str()).collect()
    };
    heading(out, "Cards, the smallest first");
    for (word, names) in [("fits", names(true)), ("too small", names(false))] {
        if !names.is_empty() {
            let indent = format!("  {word:<10} ");
            let text = wrap(&names.join(", "), &" ".repeat(indent.len()), width);
            let _ = write!(out, "{indent}{}", text.trim_start());
        }
    }
}

fn place(file: &str, line: u32) -> String {
    if file.is_empty() { "a library".to_owned() } else { format!("{}:{line}", file_name(file)) }
}

/// What a line did with values that nobody knows, and what the plan took them for.
fn unknown_read(assumed: Assumed, times: &str) -> String {
    match assumed {
        Assumed::Zeros => format!("reads values from the card ({times}); it got zeros"),
        Assumed::All => {
            format!("picks by values of the card ({times}); the plan took every element, the most there can be")
        }
        Assumed::Some => {
            format!("asks whether any or all values of the card are true ({times}); the plan took some for true")
        }
        Assumed::Finite => format!("looks for NaN or infinity ({times}); the plan took every value for finite"),
        Assumed::Drawn => format!("reads random numbers from the card ({times}); the plan drew its own"),
    }
}

/// What a run without values cannot know is always said, also when there is nothing of it.
fn unknown(out: &mut String, answer: &Answer, top: usize, width: usize) {
    let facts = &answer.experiment.run.facts;
    heading(out, "What a plan cannot know");
    let skipped = answer.while_skipped();
    if answer.reads().is_empty() && skipped.is_none() && facts.unmodelled.is_empty() && facts.notes.is_empty() {
        let _ = writeln!(out, "  nothing: no value was read back, every call was modelled");
        return;
    }
    for read in answer.reads().iter().take(top) {
        let place = place(&read.file, read.line);
        let times = if read.count == 1 { "once".to_owned() } else { format!("{} times", read.count) };
        out.push_str(&wrap(&format!("{place} {}", unknown_read(read.assumed, &times)), "  ", width));
    }
    let more = answer.reads().len().saturating_sub(top);
    if more > 0 {
        let _ = writeln!(out, "  {DIM}and {more} more lines read values{DIM:#}");
    }
    if let Some((scaled, peaks)) = skipped {
        let place = place(&scaled.file, scaled.line);
        let (allocated, reserved) = (show(peaks.peak_allocated_bytes), show(peaks.peak_reserved_bytes));
        let text = format!(
            "{place} may skip steps until its scale suits the gradients; the plan took every step, and as long as \
             all are skipped the peak is {allocated} allocated, {reserved} reserved"
        );
        out.push_str(&wrap(&text, "  ", width));
    }
    for (name, count) in &facts.unmodelled {
        out.push_str(&wrap(&format!("{name} was called {count} times and has no model"), "  ", width));
    }
    for note in &facts.notes {
        out.push_str(&wrap(note, "  ", width));
    }
}

fn advice(out: &mut String, answer: &Answer, report: &Report, width: usize) {
    let accusation = &report.verdict.accusation;
    if answer.fits || accusation.advice.is_empty() {
        return;
    }
    heading(out, "What to do");
    for advice in &accusation.advice {
        let text = wrap(advice, "    ", width);
        let _ = write!(out, "  - {}", text.trim_start());
    }
    let _ = writeln!(out, "  {DIM}oomph doc {} tells more{DIM:#}", accusation.class);
}
