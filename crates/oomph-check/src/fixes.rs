//! Applies fixes: as many as do not get in each other's way, none that would break the file.

use crate::envelope::Envelope;
use crate::finding::{Edit, Finding, Fix, Safety};
use crate::python::{TextRange, TextSize};
use crate::source::Source;

/// A file after a round of fixes.
#[derive(Debug)]
pub struct Fixed {
    /// What it is now.
    pub source: Source,
    /// What is around it on disk.
    pub envelope: Envelope,
    /// The rules whose findings were mended, one entry a finding.
    pub rules: Vec<&'static str>,
}

/// What a round of fixes came to.
#[derive(Debug, Default)]
pub struct Round {
    /// The file after it, if anything changed.
    pub fixed: Option<Fixed>,
    /// Rules whose fixes would have left no Python behind: a defect of the rule.
    pub refused: Vec<&'static str>,
}

/// Applies the fixes of `findings` that may be applied together; `risky` lets in those that may change behaviour.
/// A file that does not parse is left alone: what its parts mean is a guess.
#[must_use]
pub fn round<'a>(
    source: &Source,
    envelope: &Envelope,
    findings: impl Iterator<Item = &'a Finding>,
    risky: bool,
) -> Round {
    if !source.syntax_errors().is_empty() {
        return Round::default();
    }
    let wanted: Vec<(&'static str, &Fix)> = findings
        .filter_map(|finding| finding.fix.as_ref().map(|fix| (finding.rule, fix)))
        .filter(|(_, fix)| risky || fix.safety == Safety::Safe)
        .collect();
    let chosen = compatible(source, &wanted);
    let Some(fixed) = apply(source, envelope, &chosen) else { return Round::default() };
    if fixed.source.syntax_errors().is_empty() {
        return Round { fixed: Some(fixed), refused: Vec::new() };
    }
    one_by_one(source, envelope, &chosen)
}

/// Together they break the file: keeps those that do not break it alone, and then only if they do not together.
fn one_by_one(source: &Source, envelope: &Envelope, chosen: &[(&'static str, &Fix)]) -> Round {
    let is_sound = |fix: &[(&'static str, &Fix)]| {
        apply(source, envelope, fix).is_some_and(|fixed| fixed.source.syntax_errors().is_empty())
    };
    let (sound, broken): (Vec<_>, Vec<_>) = chosen.iter().copied().partition(|fix| is_sound(&[*fix]));
    let mut refused: Vec<&'static str> = broken.iter().map(|(rule, _)| *rule).collect();
    // Sound fixes that break the file together take turns: the rest waits for the next round.
    let kept = if is_sound(&sound) { &sound[..] } else { &sound[..sound.len().min(1)] };
    refused.dedup();
    let fixed = if kept.is_empty() { None } else { apply(source, envelope, kept) };
    Round { fixed, refused }
}

/// Fixes in the order of the text, less those that touch what an earlier one touches.
fn compatible<'a>(source: &Source, wanted: &[(&'static str, &'a Fix)]) -> Vec<(&'static str, &'a Fix)> {
    let mut ordered: Vec<_> = wanted.to_vec();
    ordered.sort_by_key(|(_, fix)| fix.edits.iter().map(|edit| edit.range.start()).min());
    let mut taken: Vec<&Edit> = Vec::new();
    let mut chosen = Vec::new();
    for (rule, fix) in ordered {
        let clashes = |edit: &Edit| taken.iter().any(|other| *other != edit && touch(other.range, edit.range));
        let fits = |edit: &Edit| cell_of(source, edit.range).is_some();
        if fix.edits.is_empty() || fix.edits.iter().any(clashes) || !fix.edits.iter().all(fits) {
            continue;
        }
        taken.extend(&fix.edits);
        chosen.push((rule, fix));
    }
    chosen
}

fn touch(a: TextRange, b: TextRange) -> bool {
    a.intersect(b).is_some_and(|common| !common.is_empty() || a.is_empty() || b.is_empty())
}

/// The part of the text that an edit may touch: the cell it lies in, or all of it. `None` where it crosses cells.
fn cell_of(source: &Source, range: TextRange) -> Option<TextRange> {
    if source.cells.is_empty() {
        return Some(TextRange::up_to(TextSize::of(&source.text))).filter(|whole| whole.contains_range(range));
    }
    // The line break after a cell's last line stands between cells, and is not part of either.
    let reach = |cell: TextRange| TextRange::new(cell.start(), cell.end() + TextSize::from(1));
    let cells = source.cells.iter().map(|cell| cell.range);
    cells.filter(|cell| cell.contains_inclusive(range.start())).find(|cell| reach(*cell).contains_range(range))
}

fn apply(source: &Source, envelope: &Envelope, chosen: &[(&'static str, &Fix)]) -> Option<Fixed> {
    let mut edits: Vec<&Edit> = Vec::new();
    for edit in chosen.iter().flat_map(|(_, fix)| &fix.edits) {
        // Two fixes may need the same import.
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    if edits.is_empty() {
        return None;
    }
    let newline = if source.text.contains("\r\n") { "\r\n" } else { "\n" };
    let edits: Vec<Edit> = edits.into_iter().map(|edit| with_newlines(edit, newline)).collect();
    let rules = chosen.iter().map(|(rule, _)| *rule).collect();
    if source.cells.is_empty() {
        let text = edited(&source.text, TextSize::from(0), edits.iter());
        let fixed = Source::parse(&source.name, text);
        return Some(Fixed { source: fixed, envelope: envelope.clone(), rules });
    }
    let mut cells = Vec::new();
    for cell in &source.cells {
        let inside: Vec<Edit> = edits
            .iter()
            .filter(|edit| cell_of(source, edit.range) == Some(cell.range))
            .map(|edit| within(edit, cell.range))
            .collect();
        if !inside.is_empty() {
            cells.push((cell.number, edited(source.slice(cell.range), cell.range.start(), inside.iter())));
        }
    }
    let (envelope, source) = envelope.with_cells(&source.name, &cells)?;
    Some(Fixed { source, envelope, rules })
}

fn with_newlines(edit: &Edit, newline: &str) -> Edit {
    Edit { range: edit.range, text: edit.text.replace("\r\n", "\n").replace('\n', newline) }
}

/// An edit that reaches past the end of its cell, to the line break that is not there, ends with the cell.
fn within(edit: &Edit, cell: TextRange) -> Edit {
    if edit.range.end() <= cell.end() {
        return edit.clone();
    }
    let text = edit.text.strip_suffix('\n').unwrap_or(&edit.text);
    Edit { range: TextRange::new(edit.range.start(), cell.end()), text: text.to_owned() }
}

/// `text`, which begins at `start` of its source, after the edits.
pub(crate) fn edited<'a>(text: &str, start: TextSize, edits: impl Iterator<Item = &'a Edit>) -> String {
    let mut ordered: Vec<&Edit> = edits.collect();
    ordered.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for edit in ordered {
        let at = |place: TextSize| place.checked_sub(start).map_or(0, |place| place.to_usize()).min(text.len());
        let (from, to) = (at(edit.range.start()), at(edit.range.end()));
        result.push_str(text.get(done..from).unwrap_or_default());
        result.push_str(&edit.text);
        done = to.max(done);
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

#[cfg(test)]
mod tests;
