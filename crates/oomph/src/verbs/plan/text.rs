//! The answer for people: the sentence first, then what was seen and what memory is made of, then what nobody can know.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use oomph_explain::bytes::{percent, show};
use oomph_explain::render::table::{Align, table, wrap};
use oomph_explain::render::text::{Settings, lines_table, modules_table};
use oomph_plan::fit::Verdict;
use oomph_plan::{Card, Peaks, cards};

use super::answer::{Answer, name};
use super::{device_parts, host, unknown, words};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The answer as text.
pub(super) fn render(answer: &Answer, top: usize, width: usize, machine_bytes: Option<u64>) -> String {
    let mut out = String::new();
    sentence(&mut out, answer, width);
    peaks(&mut out, answer, width);
    device_parts::section(&mut out, answer, width);
    remedies(&mut out, answer, width);
    trials(&mut out, answer, width);
    several(&mut out, "Every device", "cuda:", &answer.devices, width);
    several(&mut out, "Every process", "rank ", &answer.trial.peaks_by_rank(), width);
    categories(&mut out, answer, width);
    modules(&mut out, answer, top, width);
    lines(&mut out, answer, top, width);
    catalogue_fits(&mut out, answer, width);
    if let Some(plan) = &answer.trial.host {
        host::section(&mut out, plan, machine_bytes, width);
    }
    unknowns(&mut out, answer, top, width);
    advice(&mut out, answer, width);
    out
}

/// The cards that `--gpu` knows, the smallest first.
pub(super) fn catalogue(width: usize) -> String {
    let mut known: Vec<&Card> = cards::CATALOGUE.iter().collect();
    known.sort_by_key(|card| (card.memory_bytes, card.name.as_str()));
    let row = |card: &&Card| vec![card.name.clone(), show(card.memory_bytes), card.short_title().to_owned()];
    let columns = [("NAME", Align::Left), ("MEMORY", Align::Right), ("CARD", Align::Left)];
    table(&columns, &known.iter().map(row).collect::<Vec<_>>(), width)
}

pub(super) fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

fn sentence(out: &mut String, answer: &Answer, width: usize) {
    let ran_out = answer.trial.ran_out();
    let mut text = words::sentence(answer);
    let verdict = &answer.report.verdict;
    if ran_out {
        let _ = write!(text, " {}: {}", verdict.accusation.class, verdict.accusation.summary);
    }
    let (word, colour) = match (ran_out, answer.growth.is_some()) {
        (true, _) => ("does not fit", AnsiColor::Red),
        (false, true) => ("fits, but", AnsiColor::Yellow),
        (false, false) => ("fits", AnsiColor::Green),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    // Styled alone, after the lines were broken.
    out.push_str(&wrap(&text, "", width).replacen(word, &format!("{style}{word}{style:#}"), 1));
    if !ran_out {
        return;
    }
    if let Some(line) = verdict.accusation.line {
        let (file, number) = answer.report.case.sources.place(line);
        let function = answer.report.case.sources.function(line);
        let _ = writeln!(out, "  {DIM}at{DIM:#} {file}:{number} {DIM}in {function}{DIM:#}");
    }
    if let Some(proof) = &verdict.proof {
        out.push_str(&wrap(&proof.text, "  ", width));
    }
}

fn peaks(out: &mut String, answer: &Answer, width: usize) {
    let mut title = "Peak".to_owned();
    if answer.trial.processes.len() > 1 {
        let _ = write!(title, " of rank {}, the largest", answer.rank);
    } else if answer.devices.len() > 1 {
        let _ = write!(title, " of cuda:{}, the largest", answer.device);
    }
    heading(out, &title);
    let text = wrap(&words::seen_text(answer), "             ", width);
    let _ = write!(out, "  {:<10} {}", "seen", text.trim_start());
    let rows = [
        ("allocated", Some(answer.peaks.allocated_bytes), "held by tensors"),
        ("reserved", Some(answer.peaks.reserved_bytes), "taken from the driver by PyTorch"),
        ("device", Some(answer.peaks.device_bytes), "with the CUDA context"),
        ("least", answer.plan.least_bytes, "the smallest card it runs on, by replay"),
    ];
    for (name, bytes, note) in rows {
        if let Some(bytes) = bytes {
            let _ = writeln!(out, "  {name:<10} {:>10}  {DIM}{note}{DIM:#}", show(bytes));
        }
    }
}

/// What became of each remedy that was put into the job.
fn remedies(out: &mut String, answer: &Answer, width: usize) {
    let found = answer.remedies();
    if found.is_empty() {
        return;
    }
    heading(out, "Remedies in the job");
    for remedy in found {
        let text = wrap(&format!("{}: {}", remedy.name, remedy.sentence()), "    ", width);
        let _ = write!(out, "  - {}", text.trim_start());
    }
}

/// The cards by name, where they are several.
fn trials(out: &mut String, answer: &Answer, width: usize) {
    if answer.plan.trials.len() < 2 {
        return;
    }
    heading(out, "Each card");
    let row = |trial: &oomph_plan::Trial| {
        let device = trial.peaks().map_or_else(String::new, |peaks| show(peaks.device_bytes));
        let word = if trial.fits() { "fits" } else { "does not fit" };
        vec![trial.card.name.clone(), show(trial.card.memory_bytes), device, word.to_owned()]
    };
    let columns = [("CARD", Align::Left), ("HAS", Align::Right), ("PEAK", Align::Right), ("", Align::Left)];
    out.push_str(&table(&columns, &answer.plan.trials.iter().map(row).collect::<Vec<_>>(), width));
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
    if answer.is_card_idle() {
        return;
    }
    let total = answer.moment_bytes();
    heading(out, &format!("Live {}: {}", words::moment(answer), show(total)));
    let rows: Vec<Vec<String>> = answer
        .categories
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|&(category, bytes)| vec![show(bytes), percent(bytes, total), name(category).to_owned()])
        .collect();
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("CATEGORY", Align::Left)];
    out.push_str(&table(&columns, &rows, width));
}

fn modules(out: &mut String, answer: &Answer, top: usize, width: usize) {
    let held = &answer.report.modules;
    if held.is_empty() {
        return;
    }
    heading(out, "Modules that hold it");
    out.push_str(&modules_table(held, answer.moment_bytes(), Settings { width, top }));
    more(out, held.len().saturating_sub(top), "modules");
}

fn lines(out: &mut String, answer: &Answer, top: usize, width: usize) {
    if answer.report.lines.is_empty() {
        return;
    }
    heading(out, "Lines that hold it");
    out.push_str(&lines_table(answer.report, Settings { width, top }));
    more(out, answer.report.lines.len().saturating_sub(top), "lines");
}

fn more(out: &mut String, count: usize, what: &str) {
    if count > 0 {
        let _ = writeln!(out, "  {DIM}and {count} more {what}{DIM:#}");
    }
}

fn catalogue_fits(out: &mut String, answer: &Answer, width: usize) {
    if answer.plan.catalogue.is_empty() {
        return;
    }
    let names = |verdict: Verdict| -> Vec<&str> {
        let mut found: Vec<_> = answer.plan.catalogue.iter().filter(|fit| fit.verdict == verdict).collect();
        found.sort_by_key(|fit| (fit.memory_bytes, fit.name.as_str()));
        found.into_iter().map(|fit| fit.name.as_str()).collect()
    };
    heading(out, "Cards, the smallest first");
    let kinds =
        [("fits", names(Verdict::Fits)), ("close", names(Verdict::Close)), ("too small", names(Verdict::DoesNotFit))];
    for (word, names) in kinds {
        if !names.is_empty() {
            let indent = format!("  {word:<10} ");
            let hint = if word == "close" { " (plan it with --gpu)" } else { "" };
            let text = wrap(&format!("{}{hint}", names.join(", ")), &" ".repeat(indent.len()), width);
            let _ = write!(out, "{indent}{}", text.trim_start());
        }
    }
}

/// What a run without values cannot know is always said, also when there is nothing of it.
fn unknowns(out: &mut String, answer: &Answer, top: usize, width: usize) {
    heading(out, "What a plan cannot know");
    let said = unknown::sentences(answer, top);
    if said.is_empty() {
        let _ = writeln!(out, "  nothing: no value was read back, and every call was modelled");
    }
    for sentence in said {
        let text = wrap(&sentence, "    ", width);
        let _ = write!(out, "  - {}", text.trim_start());
    }
}

fn advice(out: &mut String, answer: &Answer, width: usize) {
    if answer.advice().is_empty() {
        return;
    }
    heading(out, "What to do");
    for advice in answer.advice() {
        let text = wrap(advice, "    ", width);
        let _ = write!(out, "  - {}", text.trim_start());
    }
    let _ = writeln!(out, "  {DIM}oomph doc {} tells more{DIM:#}", answer.report.verdict.accusation.class);
}

/// The way out that needs no edits, where nobody has asked for it yet.
pub(super) fn way_to_fit(answer: &Answer, cards: &[String], memory_bytes: Option<u64>) -> String {
    if !(answer.trial.ran_out() && answer.report.verdict.accusation.is_helped_by_remedies()) {
        return String::new();
    }
    let mut out = format!("\n{BOLD}To make it fit, without edits{BOLD:#}\n  oomph plan --fit");
    for card in cards {
        let _ = write!(out, " --gpu {card}");
    }
    if let Some(bytes) = memory_bytes {
        let _ = write!(out, " --memory {}", show(bytes));
    }
    let _ = writeln!(out, " {} ...", answer.question.job.command.name());
    out
}
