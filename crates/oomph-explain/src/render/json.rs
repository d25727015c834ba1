//! The report for other programs. Fields may be added, never changed.

use oomph_trace::{Category, Origin, StackId};
use serde_json::{Map, Value, json};

use crate::analyses::lines::{self, LineRow};
use crate::analyses::modules::ModuleHeld;
use crate::analyses::retention::Retention;
use crate::report::Report;
use crate::source::Line;
use crate::steps::StepSource;

/// The report as one JSON object, with the `top` largest lines and stacks.
#[must_use]
pub fn render(report: &Report, top: usize) -> Value {
    let timeline = &report.case.timeline;
    json!({
        "verdict": verdict(report),
        "peak_allocated_bytes": timeline.peak_allocated.bytes,
        "peak_reserved_bytes": timeline.peak_reserved.bytes,
        "categories": categories(report),
        "leaks": report.leaks.iter().map(|leak| retention(report, leak)).collect::<Vec<_>>(),
        "fragmentation": fragmentation(report),
        "source": source_name(report.case.trace.origin),
        "device": report.case.device.ordinal,
        "events": report.case.device.events.len(),
        "at": report.holders.at,
        "allocated_bytes": report.holders.allocated_bytes,
        "lines": lines(report, top),
        "stacks": stacks(report, top),
        "modules": modules(report, top),
        "oom": shortage(report),
        "steps": steps(report),
        "advice": report.verdict.accusation.advice,
        "truncated": report.case.trace.truncated.is_some(),
        "ranks": null,
    })
}

/// What the report was made from.
fn source_name(origin: Origin) -> &'static str {
    match origin {
        Origin::TorchSnapshot => "torch_snapshot",
        Origin::HollowRun => "hollow_run",
        Origin::RealRun => "real_run",
    }
}

/// The name of a category in `--json`, as `plan` spells it too.
#[must_use]
pub fn category_name(category: Category) -> &'static str {
    match category {
        Category::Parameter => "parameters",
        Category::Gradient => "gradients",
        Category::Optimizer => "optimizer",
        Category::Activation => "activations",
        Category::Workspace => "workspace",
        Category::Input => "input",
        Category::Other | Category::Unknown => "other",
    }
}

fn verdict(report: &Report) -> Value {
    let accusation = &report.verdict.accusation;
    let proof = report.verdict.proof.as_ref().map(|proof| {
        json!({
            "policy": proof.policy,
            "request_bytes": proof.request_bytes,
            "fits_without": proof.fits_without,
            "text": proof.text,
        })
    });
    let mut value = json!({
        "class": accusation.class,
        "summary": accusation.summary,
        "bytes": accusation.bytes,
        "proof": proof,
        "stack": frames(report, accusation.stack),
    });
    place_into(&mut value, report, accusation.line);
    value
}

fn place_into(value: &mut Value, report: &Report, line: Option<Line>) {
    let place = line.map(|line| report.case.sources.place(line));
    value["file"] = place.map(|(file, _)| file).into();
    value["line"] = place.map(|(_, line)| line).into();
}

fn categories(report: &Report) -> Value {
    let entries = report.holders.categories.iter();
    Value::Object(
        entries.map(|&(category, bytes)| (category_name(category).to_owned(), bytes.into())).collect::<Map<_, _>>(),
    )
}

fn retention(report: &Report, retention: &Retention) -> Value {
    let mut value = json!({
        "kind": retention.kind.class(),
        "bytes": retention.bytes,
        "bytes_per_step": retention.bytes_per_step,
        "steps": retention.steps,
        "blocks": retention.blocks.len(),
        "stack": frames(report, retention.stack),
    });
    place_into(&mut value, report, retention.line);
    value
}

fn fragmentation(report: &Report) -> Value {
    let found = &report.fragmentation;
    json!({
        "ratio": found.ratio(),
        "reserved_bytes": found.reserved_bytes,
        "allocated_bytes": found.allocated_bytes,
        "waiting_bytes": found.waiting_bytes,
        "free_bytes": found.free_bytes,
        "largest_free_bytes": found.largest_free_bytes,
        "pinned_bytes": found.pinned_bytes,
        "rounding_bytes": found.rounding_bytes,
        "segments": found.segments.len(),
    })
}

fn lines(report: &Report, top: usize) -> Vec<Value> {
    let row = |row: &LineRow| {
        let mut value = json!({ "bytes": row.own_bytes, "bytes_with_calls": row.bytes, "blocks": row.blocks });
        place_into(&mut value, report, row.line);
        value
    };
    let rows = lines::flat(&report.lines);
    lines::first_rows(&rows, report.verdict.accusation.line, top).iter().map(row).collect()
}

fn stacks(report: &Report, top: usize) -> Vec<Value> {
    let row = |held: &crate::analyses::peak::Held<StackId>| {
        json!({
            "bytes": held.bytes,
            "blocks": held.blocks,
            "frames": frames(report, held.what.unwrap_or(StackId::MISSING)),
        })
    };
    report.holders.stacks.iter().take(top).map(row).collect()
}

fn modules(report: &Report, top: usize) -> Vec<Value> {
    let row = |held: &ModuleHeld| json!({ "module": held.module, "count": held.count, "bytes": held.bytes });
    report.modules.iter().take(top).map(row).collect()
}

/// Innermost first, as PyTorch writes them.
fn frames(report: &Report, stack: StackId) -> Vec<Value> {
    let table = report.case.sources.table();
    let frame = |&id| {
        let frame = table.frame(id);
        json!({ "name": table.string(frame.name), "filename": table.string(frame.file), "line": frame.line })
    };
    table.stack(stack).iter().map(frame).collect()
}

fn shortage(report: &Report) -> Option<Value> {
    report.shortage.as_ref().map(|shortage| {
        json!({
            "request_bytes": shortage.request_bytes,
            "segment_bytes": shortage.segment_bytes,
            "refused_by": match shortage.refusal {
                crate::analyses::shortage::Refusal::Limit => "limit",
                crate::analyses::shortage::Refusal::Driver => "driver",
            },
            "allocated_bytes": shortage.allocated_bytes,
            "reserved_bytes": shortage.reserved_bytes,
            "device_free_bytes": shortage.device_free_bytes,
            "limit_bytes_min": shortage.limit_bytes_min,
            "limit_bytes_max": shortage.limit_bytes_max,
            "outside_bytes": shortage.outside_bytes,
        })
    })
}

fn steps(report: &Report) -> Option<Value> {
    report.case.steps.as_ref().map(|steps| {
        let (source, name) = match &steps.source {
            StepSource::Marks(name) => ("marks", Some(name)),
            StepSource::Period => ("period", None),
        };
        json!({ "count": steps.starts.len(), "found_by": source, "name": name, "starts": steps.starts })
    })
}
