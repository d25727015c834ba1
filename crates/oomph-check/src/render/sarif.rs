//! SARIF 2.1.0, for code scanning services: results with their facts, rules with their pages, fixes as replacements.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Entry, Results, Span, span};
use crate::catalogue;
use crate::finding::{Fix, Level};
use crate::rule::Rule;
use crate::source::Source;

/// The whole log.
#[must_use]
pub fn render(results: &Results, version: &str) -> Value {
    let entries: Vec<Entry> = results.entries().collect();
    let mut rules: Vec<&'static Rule> = catalogue();
    rules.retain(|rule| entries.iter().any(|entry| entry.finding.rule == rule.name));
    let notifications: Vec<Value> = results
        .failures
        .iter()
        .map(|failure| {
            let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&failure.file) } } });
            json!({ "level": "error", "message": { "text": failure.message }, "locations": [place] })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "oomph",
                "semanticVersion": version,
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": results.failures.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": entries.iter().map(|entry| result(*entry, &rules)).collect::<Vec<_>>(),
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    let page = rule.page();
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.why },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(rule.level()), "enabled": rule.level() != Level::Info },
        "properties": { "tags": ["memory", rule.group.name()] },
    })
}

fn result(entry: Entry, rules: &[&'static Rule]) -> Value {
    let (source, finding) = (entry.source, entry.finding);
    let mut result = Map::new();
    result.insert("ruleId".into(), finding.rule.into());
    if let Some(index) = rules.iter().position(|rule| rule.name == finding.rule) {
        result.insert("ruleIndex".into(), index.into());
    }
    result.insert("level".into(), level(finding.level).into());
    result.insert("message".into(), json!({ "text": finding.message }));
    result.insert("locations".into(), json!([location(source, entry.span())]));
    if !finding.evidence.is_empty() {
        let related = finding.evidence.iter().enumerate().map(|(index, fact)| {
            let mut place = location(source, span(source, fact.range));
            place["id"] = (index + 1).into();
            place["message"] = json!({ "text": fact.text });
            place
        });
        result.insert("relatedLocations".into(), related.collect());
    }
    // A replacement of code within a notebook would have to speak JSON.
    if let Some(fix) = &finding.fix
        && source.cells.is_empty()
    {
        result.insert("fixes".into(), json!([replacement(source, fix)]));
    }
    let mut properties = json!({ "size": finding.size, "doubtful": finding.is_doubtful });
    if let Some(bytes) = entry.bytes {
        properties["bytes"] = bytes.into();
    }
    result.insert("properties".into(), properties);
    Value::Object(result)
}

fn replacement(source: &Source, fix: &Fix) -> Value {
    let replacements: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({ "deletedRegion": region(span(source, edit.range)), "insertedContent": { "text": edit.text } })
        })
        .collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&source.name) },
            "replacements": replacements,
        }],
    })
}

fn location(source: &Source, span: Span) -> Value {
    let mut place = json!({
        "physicalLocation": { "artifactLocation": { "uri": uri(&source.name) }, "region": shown(source, span) },
    });
    if let Some(cell) = span.start.cell {
        let name = format!("cell {cell}, line {}", span.start.line);
        place["logicalLocations"] = json!([{ "name": name, "kind": "cell" }]);
    }
    place
}

/// Where services show it. Of a notebook they show the JSON: there a region is whole lines of that file, as columns
/// would count quotes and escapes.
fn shown(source: &Source, span: Span) -> Value {
    if span.start.cell.is_none() {
        return region(span);
    }
    json!({ "startLine": source.line_in_file(span.start), "endLine": source.line_in_file(span.end) })
}

fn region(span: Span) -> Value {
    json!({
        "startLine": span.start.line,
        "startColumn": span.start.column,
        "endLine": span.end.line,
        "endColumn": span.end.column,
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    }
}

/// A path as a URI: relative ones stay so, for the service to resolve against the repository.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte as char),
            b'\\' => uri.push('/'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
