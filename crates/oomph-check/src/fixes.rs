//! Applies fixes: as many as do not get in each other's way, none that would hurt.
//!
//! What may hurt is decided in [`gate`], by what a fix leaves behind, whichever rule it is from.

mod arguments;
pub mod gate;
mod mentions;
mod names;
mod offer;
mod scopes;
mod suspension;
mod versions;

pub(crate) use offer::offer;

use self::gate::{Gate, Surroundings};
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

/// Applies the fixes of `findings` that may be applied together; `risky` lets in those that may change behaviour.
/// `None` if nothing changes. A file that does not parse is left alone: what its parts mean is a guess.
#[must_use]
pub fn round<'a>(
    source: &Source,
    envelope: &Envelope,
    findings: impl Iterator<Item = &'a Finding>,
    risky: bool,
    surroundings: Surroundings<'_>,
) -> Option<Fixed> {
    let wanted: Vec<(&'static str, &Fix)> = findings
        .filter_map(|finding| finding.fix.as_ref().map(|fix| (finding.rule, fix)))
        .filter(|(_, fix)| risky || fix.safety == Safety::Safe)
        .collect();
    let chosen = compatible(source, &wanted);
    if chosen.is_empty() {
        return None;
    }
    let gate = Gate::new(source, surroundings);
    let passes = |fixes: &[(&'static str, &Fix)]| gate.judge(&result_of(source, &edits_of(fixes))).is_ok();
    if passes(&chosen) {
        return apply(source, envelope, &chosen);
    }
    // Each may be sound, and all together not: the rest waits for the next round.
    let mut kept: Vec<(&'static str, &Fix)> = Vec::new();
    for fix in chosen {
        kept.push(fix);
        if !passes(&kept) {
            kept.pop();
        }
    }
    apply(source, envelope, &kept)
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
    let edits = edits_of(chosen);
    if edits.is_empty() {
        return None;
    }
    let rules = chosen.iter().map(|(rule, _)| *rule).collect();
    if source.cells.is_empty() {
        return Some(Fixed { source: result_of(source, &edits), envelope: envelope.clone(), rules });
    }
    let edits = in_newlines(source, &edits);
    let cells = source.cells.iter().filter_map(|cell| Some((cell.number, edited_cell(source, cell.range, &edits)?)));
    let (envelope, source) = envelope.with_cells(&source.name, &cells.collect::<Vec<_>>())?;
    Some(Fixed { source, envelope, rules })
}

/// The edits of several fixes, each once: two may need the same import.
fn edits_of(chosen: &[(&'static str, &Fix)]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for edit in chosen.iter().flat_map(|(_, fix)| &fix.edits) {
        if !edits.contains(edit) {
            edits.push(edit.clone());
        }
    }
    edits
}

/// A source after edits.
fn result_of(source: &Source, edits: &[Edit]) -> Source {
    let edits = in_newlines(source, edits);
    if source.cells.is_empty() {
        return Source::parse(&source.name, edited(&source.text, TextSize::from(0), edits.iter()));
    }
    source.with_cells(|cell| edited_cell(source, cell, &edits))
}

/// A cell after those of the edits that are in it; `None` if none is.
fn edited_cell(source: &Source, cell: TextRange, edits: &[Edit]) -> Option<String> {
    let inside = edits.iter().filter(|edit| cell_of(source, edit.range) == Some(cell)).map(|edit| within(edit, cell));
    let inside: Vec<Edit> = inside.collect();
    (!inside.is_empty()).then(|| edited(source.slice(cell), cell.start(), inside.iter()))
}

/// Edits whose lines end as those of the source do.
fn in_newlines(source: &Source, edits: &[Edit]) -> Vec<Edit> {
    let newline = if source.text.contains("\r\n") { "\r\n" } else { "\n" };
    edits.iter().map(|edit| with_newlines(edit, newline)).collect()
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
