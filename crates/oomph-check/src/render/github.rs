//! Annotations that GitHub shows beside the lines of a pull request.

use std::fmt::Write as _;

use super::{Results, level_name};
use crate::finding::Level;

/// One workflow command a finding.
#[must_use]
pub fn render(results: &Results) -> String {
    let mut text = String::new();
    for entry in results.entries() {
        let (finding, span) = (entry.finding, entry.span());
        let command = if finding.level == Level::Info { "notice" } else { level_name(finding.level) };
        let file = property(&entry.source.name);
        let at = match span.start.cell {
            // GitHub shows the notebook's JSON.
            Some(_) => {
                let line = |position| entry.source.line_in_file(position);
                format!(",line={},endLine={}", line(span.start), line(span.end))
            }
            None if span.start.line == span.end.line => format!(
                ",line={},endLine={},col={},endColumn={}",
                span.start.line, span.end.line, span.start.column, span.end.column
            ),
            None => format!(",line={},endLine={}", span.start.line, span.end.line),
        };
        let cell = span.start.cell.map_or(String::new(), |cell| format!("cell {cell}, line {}: ", span.start.line));
        let size = finding.size.words();
        let message = data(&format!("{cell}{} ({size}; oomph doc {})", finding.message, finding.rule));
        let _ = writeln!(text, "::{command} title=oomph {},file={file}{at}::{message}", property(finding.rule));
    }
    for failure in results.failures {
        let _ = writeln!(text, "::error title=oomph,file={}::{}", property(&failure.file), data(&failure.message));
    }
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
