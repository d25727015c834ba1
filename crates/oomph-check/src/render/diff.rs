//! What fixes would change, as `patch` and `git apply` read it.

use similar::TextDiff;

use crate::source::{Kind, Source};

/// A unified diff from one state of a file to another; for a notebook, one a cell.
#[must_use]
pub fn render(before: &Source, after: &Source) -> String {
    if before.kind == Kind::Script {
        return unified(&before.name, &before.text, &after.text);
    }
    let cells = before.cells.iter().zip(&after.cells);
    let diffs = cells.map(|(old, new)| {
        let name = format!("{}:cell {}", before.name, old.number);
        // A cell's last line has no line break of its own; a diff without one reads as if it were an accident.
        let text = |source: &Source, range| source.slice(range).to_owned() + "\n";
        unified(&name, &text(before, old.range), &text(after, new.range))
    });
    diffs.collect()
}

fn unified(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(name, name).to_string()
}
