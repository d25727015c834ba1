//! The answer for other programs. Fields may be added, never changed.

use oomph_explain::Report;
use oomph_explain::render::json::{category_name, render as render_report};
use oomph_plan::fit::Fit;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Peaks};

/// The answer as one JSON object, with the `top` largest lines.
pub(super) fn render(answer: &Answer, report: &Report, top: usize) -> Value {
    let facts = &answer.experiment.run.facts;
    let explained = render_report(report, top);
    let categories: Map<String, Value> =
        answer.categories.iter().map(|&(category, bytes)| (category_name(category).to_owned(), bytes.into())).collect();
    json!({
        "peak_allocated_bytes": answer.peaks.allocated_bytes,
        "peak_reserved_bytes": answer.peaks.reserved_bytes,
        "peak_device_bytes": answer.peaks.device_bytes,
        "capacity_bytes": answer.card.memory_bytes,
        "fits": answer.fits,
        "steps": facts.steps,
        "categories": categories,
        "lines": lines(answer, report, top),
        "unmodelled": facts.unmodelled.iter().map(|(name, count)| json!({ "name": name, "count": count })).collect::<Vec<_>>(),
        "outcome": if answer.fits { "ok" } else { "oom" },
        "gpu": answer.card.name,
        "device": answer.device,
        "devices": answer.devices.iter().map(|part| numbered("device", part)).collect::<Vec<_>>(),
        "rank": answer.experiment.rank,
        "ranks": answer.experiment.ranks.iter().map(|part| numbered("rank", part)).collect::<Vec<_>>(),
        "peak_at": { "step": answer.phase.step, "phase": answer.phase.name, "event": answer.holders.at },
        "needed": answer.needed.map(peaks),
        "verdict": if answer.fits { Value::Null } else { explained["verdict"].clone() },
        "advice": if answer.fits { Value::Array(Vec::new()) } else { explained["advice"].clone() },
        "cards": answer.catalogue.iter().map(fit).collect::<Vec<_>>(),
        "asked": answer.asked.iter().map(fit).collect::<Vec<_>>(),
        "reads": answer.reads(),
        "while_steps_are_skipped": answer.while_skipped().map(|(scaled, peaks)| json!({
            "file": scaled.file,
            "line": scaled.line,
            "peak_allocated_bytes": peaks.peak_allocated_bytes,
            "peak_reserved_bytes": peaks.peak_reserved_bytes,
        })),
        "notes": facts.notes,
        "batches": facts.batches,
        "torch": facts.torch,
        "cuda": facts.cuda,
        "python": facts.python,
    })
}

fn lines(answer: &Answer, report: &Report, top: usize) -> Vec<Value> {
    let row = |(line, held): (oomph_explain::source::Line, &oomph_explain::analyses::peak::Held<_>)| {
        let (file, number) = report.case.sources.place(line);
        json!({ "file": file, "line": number, "bytes": held.bytes, "blocks": held.blocks })
    };
    answer.lines().take(top).map(row).collect()
}

fn peaks(peaks: Peaks) -> Value {
    json!({
        "peak_allocated_bytes": peaks.allocated_bytes,
        "peak_reserved_bytes": peaks.reserved_bytes,
        "peak_device_bytes": peaks.device_bytes,
    })
}

/// The peaks of one device or process, with its number first.
fn numbered(name: &str, (number, part): &(u32, Peaks)) -> Value {
    let mut value = json!({ name: number });
    if let (Value::Object(all), Value::Object(peaks)) = (&mut value, peaks(*part)) {
        all.extend(peaks);
    }
    value
}

fn fit(fit: &Fit) -> Value {
    json!({ "gpu": fit.name, "capacity_bytes": fit.memory_bytes, "fits": fit.fits })
}
