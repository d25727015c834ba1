//! The stable JSON: fields may be added, never changed.

use serde::Serialize;

use super::{Results, Span, span};
use crate::finding::{Level, Safety};
use crate::size::Size;

/// Everything, as `--output-format json` prints it.
#[derive(Debug, Serialize)]
pub struct Json<'a> {
    findings: Vec<FindingJson<'a>>,
    files: usize,
    lines: usize,
    ignored: usize,
    fixed: usize,
    errors: Vec<ErrorJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FindingJson<'a> {
    rule: &'a str,
    level: Level,
    file: &'a str,
    #[serde(flatten)]
    place: PlaceJson,
    message: &'a str,
    bytes: Option<u64>,
    fix: Option<FixJson<'a>>,
    evidence: Vec<EvidenceJson<'a>>,
    group: Option<&'static str>,
    size: Size,
    doubtful: bool,
}

/// From 1; the end is the first column after.
#[derive(Debug, Serialize)]
struct PlaceJson {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    cell: Option<usize>,
}

#[derive(Debug, Serialize)]
struct FixJson<'a> {
    safety: Safety,
    title: &'a str,
    edits: Vec<EditJson<'a>>,
}

#[derive(Debug, Serialize)]
struct EditJson<'a> {
    #[serde(flatten)]
    place: PlaceJson,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct EvidenceJson<'a> {
    #[serde(flatten)]
    place: PlaceJson,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct ErrorJson<'a> {
    file: &'a str,
    message: &'a str,
}

/// The results as an object to serialise.
#[must_use]
pub fn render<'a>(results: &Results<'a>) -> Json<'a> {
    let rules = crate::catalogue();
    let finding = |entry: super::Entry<'a>| {
        let (source, finding) = (entry.source, entry.finding);
        let at = |range| PlaceJson::of(span(source, range));
        FindingJson {
            rule: finding.rule,
            level: finding.level,
            file: &source.name,
            place: at(finding.range),
            message: &finding.message,
            bytes: entry.bytes,
            fix: finding.fix.as_ref().map(|fix| FixJson {
                safety: fix.safety,
                title: &fix.title,
                edits: fix.edits.iter().map(|edit| EditJson { place: at(edit.range), text: &edit.text }).collect(),
            }),
            evidence: finding
                .evidence
                .iter()
                .map(|fact| EvidenceJson { place: at(fact.range), text: &fact.text })
                .collect(),
            group: rules.iter().find(|rule| rule.name == finding.rule).map(|rule| rule.group.name()),
            size: finding.size,
            doubtful: finding.is_doubtful,
        }
    };
    Json {
        findings: results.entries().map(finding).collect(),
        files: results.files.len(),
        lines: results.lines(),
        ignored: results.silenced,
        fixed: results.fixed,
        errors: results
            .failures
            .iter()
            .map(|failure| ErrorJson { file: &failure.file, message: &failure.message })
            .collect(),
    }
}

impl PlaceJson {
    fn of(span: Span) -> Self {
        Self {
            line: span.start.line,
            column: span.start.column,
            end_line: span.end.line,
            end_column: span.end.column,
            cell: span.start.cell,
        }
    }
}
