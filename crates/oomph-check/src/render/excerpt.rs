//! Lines of source with the place to blame, and the facts that blame it, marked under them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::Entry;
use super::text::{layout, level_style};
use crate::finding::Fix;
use crate::fixes;
use crate::python::{TextRange, TextSize};
use crate::source::Source;

const GUTTER: Style = AnsiColor::Blue.on_default().bold();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const TAB: &str = "    ";
/// Characters shown before the mark where a line is too long to show from its beginning.
const LEAD: usize = 12;

/// A part of one line, underlined.
struct Mark<'a> {
    line: usize,
    range: TextRange,
    /// What it is underlined with.
    symbol: &'static str,
    label: Option<&'a str>,
    style: Style,
}

/// Writes the excerpt and returns how many columns line numbers take.
pub(super) fn write(text: &mut String, entry: Entry, width: usize) -> usize {
    let source = entry.source;
    let mut facts: Vec<_> = entry.finding.evidence.iter().collect();
    // A fact about the place to blame itself is its label.
    let own = facts.iter().position(|fact| fact.range == entry.finding.range).map(|index| facts.remove(index));
    let mut marks = vec![Mark {
        line: source.line_of(entry.finding.range.start()),
        range: entry.finding.range,
        symbol: "^",
        label: own.map(|fact| fact.text.as_str()),
        style: level_style(entry.finding.level),
    }];
    marks.extend(facts.into_iter().map(|fact| Mark {
        line: source.line_of(fact.range.start()),
        range: fact.range,
        symbol: "-",
        label: Some(&fact.text),
        style: GUTTER,
    }));
    // A stable sort: on one line the place to blame comes first, the facts in the order to read them.
    marks.sort_by_key(|mark| mark.line);
    let number = |mark: &Mark| source.position(mark.range.start()).line.to_string();
    let gutter = marks.iter().map(|mark| number(mark).len()).max().unwrap_or(1) + 1;
    let blank = " ".repeat(gutter);
    let _ = writeln!(text, "{blank} {GUTTER}|{GUTTER:#}");
    let mut shown: Option<(usize, Option<usize>)> = None;
    for group in marks.chunk_by(|a, b| a.line == b.line) {
        let first = &group[0];
        let cell = source.position(first.range.start()).cell;
        if let Some((line, cell_before)) = shown {
            if cell != cell_before {
                let _ = writeln!(text, "{blank} {GUTTER}| cell {}{GUTTER:#}", cell.unwrap_or(0));
            } else if line + 1 < first.line {
                let _ = writeln!(text, "{:>gutter$}", "...");
            }
        }
        write_line(text, source, group, &number(first), gutter, width);
        shown = Some((first.line, cell));
    }
    let _ = writeln!(text, "{blank} {GUTTER}|{GUTTER:#}");
    gutter
}

fn write_line(text: &mut String, source: &Source, marks: &[Mark], number: &str, gutter: usize, width: usize) {
    let room = width.saturating_sub(gutter + 3).max(20);
    let line = source.line_range(marks[0].line);
    let written = source.slice(line).trim_end_matches(['\n', '\r']);
    let column = |offset: TextSize| {
        let bytes = offset.clamp(line.start(), line.end()) - line.start();
        columns(&expand(written.get(..bytes.to_usize()).unwrap_or(written)))
    };
    let expanded = expand(written);
    let spans: Vec<(usize, usize)> = marks
        .iter()
        .map(|mark| {
            let start = column(mark.range.start());
            (start, column(mark.range.end()).max(start + 1))
        })
        .collect();
    let window = Window::around(&expanded, spans.first().copied().unwrap_or((0, 1)), room);
    let shown = window.cut(&expanded);
    let _ = writeln!(text, "{}", format!("{GUTTER}{number:>gutter$} |{GUTTER:#} {shown}").trim_end());
    for (mark, &(start, end)) in marks.iter().zip(&spans) {
        let (start, end) = window.place(start, end);
        let underline = format!("{}{}", " ".repeat(start), mark.symbol.repeat(end - start));
        write_underline(text, mark, &underline, start, gutter, room);
    }
}

/// The underline with its label beside it, or below it where there is no room.
fn write_underline(text: &mut String, mark: &Mark, underline: &str, start: usize, gutter: usize, room: usize) {
    let blank = " ".repeat(gutter);
    let style = mark.style;
    let label = mark.label.unwrap_or_default();
    let fits = underline.width() + 1 + label.width() <= room;
    let beside = if fits && !label.is_empty() { format!(" {label}") } else { String::new() };
    let _ = writeln!(text, "{blank} {GUTTER}|{GUTTER:#} {style}{underline}{beside}{style:#}");
    if !fits {
        // Leave at least half of the width for words.
        let indent = " ".repeat(start.min(room / 2));
        let options = layout(room).initial_indent(&indent).subsequent_indent(&indent);
        for line in textwrap::wrap(label, options) {
            let _ = writeln!(text, "{blank} {GUTTER}|{GUTTER:#} {style}{line}{style:#}");
        }
    }
}

/// The columns of a line that are shown.
struct Window {
    from: usize,
    to: usize,
    total: usize,
}

const DOTS: &str = "...";

impl Window {
    /// The whole line where it fits, else a part with the beginning of the mark in it.
    fn around(line: &str, (start, end): (usize, usize), room: usize) -> Self {
        let total = columns(line);
        if total <= room {
            return Self { from: 0, to: total, total };
        }
        let inner = room - 2 * DOTS.len();
        let from = if end <= inner { 0 } else { start.saturating_sub(LEAD) };
        Self { from, to: (from + inner).min(total), total }
    }

    fn cut(&self, line: &str) -> String {
        let mut shown = String::from(if self.from > 0 { DOTS } else { "" });
        let mut column = 0;
        for letter in line.chars() {
            let next = column + letter.width().unwrap_or(0);
            if column >= self.from && column < self.to {
                shown.push(letter);
            } else if column < self.from {
                // Half of a wide letter is a blank.
                shown.push_str(&" ".repeat(next.saturating_sub(self.from)));
            }
            column = next;
        }
        if self.to < self.total {
            shown.push_str(DOTS);
        }
        shown
    }

    /// Where columns of the line are within what is shown.
    fn place(&self, start: usize, end: usize) -> (usize, usize) {
        let lead = if self.from > 0 { DOTS.len() } else { 0 };
        let at = |column: usize| column.clamp(self.from, self.to) - self.from + lead;
        (at(start), at(end).max(at(start) + 1))
    }
}

/// Tabs are as wide as the terminal likes: spaces are not. Control characters would move the cursor.
fn expand(line: &str) -> String {
    line.chars()
        .flat_map(|letter| match letter {
            '\t' => TAB.chars().collect::<Vec<_>>(),
            letter if letter.is_control() => vec!['\u{fffd}'],
            letter => vec![letter],
        })
        .collect()
}

fn columns(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// More changed lines than this are for `--diff` to show.
const CHANGES_MAX: usize = 8;

/// The lines a fix touches, before and after.
pub(super) fn write_fix(text: &mut String, source: &Source, fix: &Fix, gutter: usize, width: usize) {
    let starts = fix.edits.iter().map(|edit| edit.range.start());
    let (Some(first), Some(last)) = (starts.min(), fix.edits.iter().map(|edit| edit.range.end()).max()) else { return };
    let last_line = source.line_range(source.line_of(last));
    let window = TextRange::new(source.line_range(source.line_of(first)).start(), last_line.end().max(last));
    let before = source.slice(window);
    let after = fixes::edited(before, window.start(), fix.edits.iter());
    let diff = TextDiff::from_lines(before, after.as_str());
    let changes: Vec<_> = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
    let blank = " ".repeat(gutter);
    if changes.len() > CHANGES_MAX {
        let _ = writeln!(text, "{blank}   {} lines change: --diff shows them", changes.len());
        return;
    }
    // Where a line is too long to show whole, what matters is where it begins to differ.
    let shared =
        changes.first().zip(changes.last()).map_or(0, |(first, last)| common_start(first.value(), last.value()));
    let room = width.saturating_sub(gutter + 3).max(20);
    for change in changes {
        let (sign, style) = if change.tag() == ChangeTag::Delete { ('-', REMOVED) } else { ('+', ADDED) };
        let line = expand(change.value().trim_end_matches(['\n', '\r']));
        let line = Window::around(&line, (shared, shared + LEAD), room).cut(&line);
        let _ = writeln!(text, "{blank} {style}{}{style:#}", format!("{sign} {line}").trim_end());
    }
}

/// How many columns two lines have in common at their beginning.
fn common_start(a: &str, b: &str) -> usize {
    let (a, b) = (expand(a), expand(b));
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Edit, Evidence, Finding, Level, Safety};
    use crate::size::Size;

    /// The excerpt of a finding on `^`-marked words: the first is to blame, the second a fact.
    fn shown(code: &str, blamed: &str, fact: &str) -> String {
        let source = Source::parse("a.py", code.to_owned());
        let at = |words: &str| {
            let offset = code.find(words).expect("it is there");
            TextRange::at(TextSize::of(&code[..offset]), TextSize::of(words))
        };
        let finding = Finding {
            rule: "syntax-error",
            level: Level::Error,
            size: Size::failure(),
            is_doubtful: false,
            cause: None,
            made_by: None,
            range: at(blamed),
            message: String::new(),
            evidence: vec![Evidence { range: at(fact), text: "a fact that takes some words to tell".into() }],
            fix: Some(Fix {
                title: String::new(),
                safety: Safety::Safe,
                edits: vec![Edit::replace(at(blamed), "better")],
            }),
        };
        let entry = Entry { source: &source, finding: &finding, bytes: None };
        let mut text = String::new();
        let gutter = write(&mut text, entry, 60);
        write_fix(&mut text, &source, finding.fix.as_ref().expect("a fix"), gutter, 60);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| columns(line) <= 60), "{plain}");
        format!("\n{plain}")
    }

    #[test]
    fn facts_and_blame_on_one_line_and_on_two() {
        let code = "x = f(worse)\n\n\ny = worst\n";
        assert_eq!(
            shown(code, "worse", "f("),
            r"
   |
 1 | x = f(worse)
   |       ^^^^^
   |     -- a fact that takes some words to tell
   |
   - x = f(worse)
   + x = f(better)
"
        );
        assert_eq!(
            shown(code, "worst", "x"),
            r"
   |
 1 | x = f(worse)
   | - a fact that takes some words to tell
...
 4 | y = worst
   |     ^^^^^
   |
   - y = worst
   + y = better
"
        );
        assert_eq!(
            shown(code, "worse", "worse"),
            r"
   |
 1 | x = f(worse)
   |       ^^^^^ a fact that takes some words to tell
   |
   - x = f(worse)
   + x = f(better)
"
        );
    }

    #[test]
    fn long_lines_tabs_and_wide_letters() {
        let long = format!("\t\tx = '{}', '語', worse, '{}'\n", "日本".repeat(20), "z".repeat(40));
        assert_eq!(
            shown(&long, "worse", "'語'"),
            r"
   |
 1 | ... 本', '語', worse, 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzz...
   |                ^^^^^
   |          ---- a fact that takes some words to tell
   |
   - ... 本', '語', worse, 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzz...
   + ... 本', '語', better, 'zzzzzzzzzzzzzzzzzzzzzzzzzzzz...
"
        );
    }
}
