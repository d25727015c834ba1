//! The report for people: what is wrong, where, why, how to mend it, and where to read more.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{Entry, Results, counted, excerpt, level_name, place};
use crate::finding::{Level, Safety};

const BOLD: Style = Style::new().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Every finding with its lines, and a closing sentence, laid out for so many columns.
#[must_use]
pub fn render(results: &Results, width: usize) -> String {
    let mut text = String::new();
    for entry in results.entries() {
        write_entry(&mut text, results, entry, width);
        text.push('\n');
    }
    text.push_str(&closing(results, width));
    text
}

fn write_entry(text: &mut String, results: &Results, entry: Entry, width: usize) {
    let finding = entry.finding;
    let style = level_style(finding.level);
    let at = place(entry.source, entry.span().start);
    let level = level_name(finding.level);
    // Laid out first and coloured afterwards: colour has no width.
    let sentence = textwrap::fill(&format!("{at} {level} {}: {}", finding.rule, finding.message), layout(width));
    let coloured = sentence.replacen(&at, &format!("{BOLD}{at}{BOLD:#}"), 1).replacen(
        &format!(" {level} "),
        &format!(" {style}{level}{style:#} "),
        1,
    );
    let _ = writeln!(text, "{coloured}");
    let gutter = excerpt::write(text, entry, width);
    let known = finding.size.bytes.map(|bytes| format!(" ({} each)", (results.show_bytes)(bytes)));
    write_note(text, gutter, "size", &(finding.size.words() + &known.unwrap_or_default()), width);
    if let Some(bytes) = entry.bytes {
        let cost = format!("{} of the peak were allocated here", (results.show_bytes)(bytes));
        write_note(text, gutter, "trace", &cost, width);
    }
    if let Some(fix) = &finding.fix {
        let offered = entry.offered(results.unsafe_fixes).is_some();
        let label = if fix.safety == Safety::Safe { "fix" } else { "unsafe fix" };
        write_note(text, gutter, label, &fix.title, width);
        if offered {
            excerpt::write_fix(text, entry.source, fix, gutter, width);
        }
    }
    write_note(text, gutter, "more", &format!("oomph doc {}", finding.rule), width);
}

/// Words stay whole: a path or an option that is broken cannot be copied.
pub(super) fn layout<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation).break_words(false)
}

/// `  = label: text`, in line with the excerpt above it.
fn write_note(text: &mut String, gutter: usize, label: &str, note: &str, width: usize) {
    let blank = " ".repeat(gutter);
    let first = format!("{blank} = {label}: ");
    let hang = " ".repeat(first.len());
    let options = layout(width).initial_indent(&first).subsequent_indent(&hang);
    let filled = textwrap::fill(note, options);
    let _ = writeln!(text, "{}", filled.replacen(&format!("{label}:"), &format!("{NOTE}{label}{NOTE:#}:"), 1));
}

pub(super) fn level_style(level: Level) -> Style {
    match level {
        Level::Error => AnsiColor::Red.on_default().bold(),
        Level::Warning => AnsiColor::Yellow.on_default().bold(),
        Level::Info => AnsiColor::Blue.on_default().bold(),
    }
}

/// How much there was, and what can be done about it.
pub(super) fn closing(results: &Results, width: usize) -> String {
    let scope = format!("{}, {}", counted(results.files.len(), "file"), counted(results.lines(), "line"));
    let fixed = match results.fixed {
        0 => String::new(),
        count => format!("Fixed {}. ", counted(count, "problem")),
    };
    let silenced = match results.silenced {
        0 => String::new(),
        count => format!(" Comments ignore {count} more."),
    };
    let sentence = if results.count() == 0 {
        let none = if results.fixed == 0 { "No problems found" } else { "None left" };
        format!("{fixed}{none} in {scope}.{silenced}")
    } else {
        let found = if results.fixed == 0 { "Found" } else { "Left:" };
        format!("{fixed}{found} {} in {scope}.{}{silenced}", kinds(results), remedies(results))
    };
    if width == usize::MAX { sentence + "\n" } else { textwrap::fill(&sentence, layout(width)) + "\n" }
}

/// "3 problems (2 errors, 1 warning)".
fn kinds(results: &Results) -> String {
    let count = |level| results.entries().filter(|entry| entry.finding.level == level).count();
    let parts = [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "info")]
        .into_iter()
        .map(|(level, noun)| (count(level), noun))
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun));
    format!("{} ({})", counted(results.count(), "problem"), parts.collect::<Vec<_>>().join(", "))
}

fn remedies(results: &Results) -> String {
    let (safe, risky) = (results.fixable(Safety::Safe), results.fixable(Safety::Unsafe));
    match (safe, risky) {
        (0, 0) => String::new(),
        (safe, 0) => format!(" --fix mends {safe}."),
        (0, risky) => format!(" --fix --unsafe-fixes mends {risky}."),
        (safe, risky) => format!(" --fix mends {safe}, with --unsafe-fixes {}.", safe + risky),
    }
}

/// How often each rule spoke, the most frequent first.
#[must_use]
pub fn statistics(results: &Results) -> String {
    let mut counts: Vec<(usize, &str, Level, usize)> = Vec::new();
    for entry in results.entries() {
        let finding = entry.finding;
        let fixable = usize::from(entry.offered(results.unsafe_fixes).is_some());
        match counts.iter_mut().find(|row| row.1 == finding.rule) {
            Some(row) => {
                row.0 += 1;
                row.2 = row.2.max(finding.level);
                row.3 += fixable;
            }
            None => counts.push((1, finding.rule, finding.level, fixable)),
        }
    }
    counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let name_width = counts.iter().map(|row| row.1.len()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    if !counts.is_empty() {
        let _ = writeln!(text, "{BOLD}{:>5}  {:name_width$}  {:7}  FIXABLE{BOLD:#}", "COUNT", "RULE", "LEVEL");
    }
    for (count, rule, level, fixable) in counts {
        let _ = writeln!(text, "{count:>5}  {rule:name_width$}  {:7}  {fixable:>7}", level_name(level));
    }
    text
}
