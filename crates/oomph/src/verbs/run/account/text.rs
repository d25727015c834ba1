//! The account for people: the answer first, then what memory was made of. It goes to stderr: stdout is the script's.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use oomph_explain::bytes::{percent, show};
use oomph_explain::host::HostKept;
use oomph_explain::render::host;
use oomph_explain::render::json::category_name;
use oomph_explain::render::table::{Align, table, wrap};
use oomph_explain::render::text::{Settings, lines_table, modules_table};

use super::{Account, Explained, Share, words};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Rows of each table: the account is short, `oomph explain` of the record shows more.
const TOP: usize = 5;

/// The account as text; empty where there is nothing to tell.
pub(in super::super) fn render(account: &Account, width: usize) -> String {
    let mut out = String::new();
    if !account.is_telling() {
        return out;
    }
    out.push('\n');
    if let Some(verdict) = &account.host_verdict {
        out.push_str(&host::text(verdict, width, TOP));
    } else {
        verdict(&mut out, account, width);
    }
    summary(&mut out, account, width);
    processes(&mut out, account, width);
    if let Some(explained) = &account.explained {
        holders(&mut out, account, explained, width);
        advice(&mut out, account, explained, width);
    }
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
}

/// What went wrong, or will: the class is the first word, then the line and the proof.
fn verdict(out: &mut String, account: &Account, width: usize) {
    let Some(explained) = &account.explained else { return };
    let verdict = &explained.report.verdict;
    let accusation = &verdict.accusation;
    if accusation.class == "none" {
        return;
    }
    let colour = if account.ran_out() { AnsiColor::Red } else { AnsiColor::Yellow };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let text = wrap(&format!("{}: {}", accusation.class, accusation.summary), "", width);
    // Styled alone, after the lines were broken.
    out.push_str(&text.replacen(accusation.class, &format!("{style}{}{style:#}", accusation.class), 1));
    let sources = &explained.report.case.sources;
    if let Some(line) = accusation.line {
        let (file, number) = sources.place(line);
        let _ = writeln!(out, "  {DIM}at{DIM:#} {file}:{number} {DIM}in {}{DIM:#}", sources.function(line));
    }
    if let Some(proof) = &verdict.proof {
        out.push_str(&wrap(&proof.text, "  ", width));
    }
    out.push('\n');
}

/// One paragraph and the figures that add up to what the card reports.
fn summary(out: &mut String, account: &Account, width: usize) {
    let text = wrap(&format!("oomph: {}", words::summary(account)), "", width);
    out.push_str(&text.replacen("oomph", &format!("{BOLD}oomph{BOLD:#}"), 1));
    let Some(share) = account.main_share() else { return };
    figures(out, share);
    let said = [
        words::trouble(share),
        account.promise.as_ref().map(|promise| words::compared(promise, share)),
        account.step.as_ref().and_then(words::step_time),
        account.host.as_ref().filter(|_| account.host_verdict.is_none()).map(host::account_line),
    ];
    let kept = account.host_kept.iter().map(HostKept::sentence);
    for sentence in said.into_iter().flatten().chain(kept).chain(account.notes.iter().cloned()) {
        let _ = write!(out, "  - {}", wrap(&sentence, "    ", width).trim_start());
    }
}

fn figures(out: &mut String, share: &Share) {
    let spare_bytes = share.reserved_bytes.saturating_sub(share.allocated_bytes);
    let note = format!("taken from the driver by PyTorch, {} spare", percent(spare_bytes, share.reserved_bytes));
    let mut rows = vec![
        ("allocated", share.allocated_bytes, "held by tensors".to_owned()),
        ("reserved", share.reserved_bytes, note),
    ];
    if let Some(card) = &share.card {
        let outside = if card.others_bytes.is_some() {
            "the CUDA context, NCCL and libraries"
        } else {
            "outside PyTorch, other processes included"
        };
        rows.push(("outside", card.outside_bytes(), outside.to_owned()));
        rows.extend(card.others_bytes.map(|bytes| ("others", bytes, "other processes".to_owned())));
        rows.push(("device", card.used_bytes, format!("of {} at the fullest moment", show(share.total_bytes))));
    }
    for (name, bytes, note) in rows {
        let _ = writeln!(out, "  {name:<10} {:>10}  {DIM}{note}{DIM:#}", show(bytes));
    }
}

fn processes(out: &mut String, account: &Account, width: usize) {
    if account.shares.len() < 2 {
        return;
    }
    heading(out, "Every process");
    let row = |share: &Share| {
        let end = if share.ran_out { "out of memory" } else { "" };
        vec![
            show(share.allocated_bytes),
            show(share.reserved_bytes),
            share.retries.to_string(),
            share.ooms.to_string(),
            format!("{} {end}", words::name(share)).trim_end().to_owned(),
        ]
    };
    let columns = [
        ("ALLOCATED", Align::Right),
        ("RESERVED", Align::Right),
        ("RETRIES", Align::Right),
        ("OOMS", Align::Right),
        ("PROCESS", Align::Left),
    ];
    out.push_str(&table(&columns, &account.shares.iter().map(row).collect::<Vec<_>>(), width));
}

fn holders(out: &mut String, account: &Account, explained: &Explained, width: usize) {
    let report = explained.report;
    let total_bytes = account.moment_bytes();
    let what = if report.shortage.is_some() { "when memory ran out" } else { "at the peak" };
    let of = if account.shares.len() > 1 {
        account.shares.get(explained.share).map_or_else(String::new, |share| format!(" in {}", words::name(share)))
    } else {
        String::new()
    };
    heading(out, &format!("Live {what}{of}: {}", show(total_bytes)));
    let held = report.holders.categories.iter().filter(|(_, bytes)| *bytes > 0);
    let row =
        |&(category, bytes): &_| vec![show(bytes), percent(bytes, total_bytes), category_name(category).to_owned()];
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("CATEGORY", Align::Left)];
    out.push_str(&table(&columns, &held.map(row).collect::<Vec<_>>(), width));
    let settings = Settings { width, top: TOP };
    if !report.modules.is_empty() {
        out.push('\n');
        out.push_str(&modules_table(&report.modules, total_bytes, settings));
    }
    if !report.lines.is_empty() {
        out.push('\n');
        out.push_str(&lines_table(report, settings));
    }
}

fn advice(out: &mut String, account: &Account, explained: &Explained, width: usize) {
    let accusation = &explained.report.verdict.accusation;
    if !account.ran_out() || accusation.advice.is_empty() {
        return;
    }
    heading(out, "What to do");
    for advice in &accusation.advice {
        let _ = write!(out, "  - {}", wrap(advice, "    ", width).trim_start());
    }
    let _ = writeln!(out, "  {DIM}oomph doc {} tells more{DIM:#}", accusation.class);
    if accusation.is_helped_by_remedies() && !account.has_remedies {
        let _ = writeln!(out, "\n{BOLD}To make it fit, without edits{BOLD:#}\n  oomph run --fit {} ...", account.job);
    }
}
