//! The answer for other programs. Fields may be added, never changed.

use oomph_explain::render::json::render as render_report;
use oomph_plan::fit::{Fit, Verdict};
use oomph_plan::{Peaks, Trial};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Kept, name};
use super::device_parts::DeviceParts;
use super::{fitting, unknown, words};

/// The answer as one JSON object, with the `top` largest lines.
pub(super) fn render(answer: &Answer, top: usize) -> Value {
    let end = &answer.process.facts.end;
    let ran_out = answer.trial.ran_out();
    let explained = render_report(answer.report, top);
    let categories: Map<String, Value> =
        answer.categories.iter().map(|&(category, bytes)| (name(category).to_owned(), bytes.into())).collect();
    json!({
        "peak_allocated_bytes": answer.peaks.allocated_bytes,
        "peak_reserved_bytes": answer.peaks.reserved_bytes,
        "peak_device_bytes": answer.peaks.device_bytes,
        "device_parts": DeviceParts::of(answer).json(),
        "capacity_bytes": answer.card().memory_bytes,
        "fits": answer.fits(),
        "steps": end.steps,
        "categories": categories,
        "lines": explained["lines"],
        "modules": explained["modules"],
        "unmodelled": end.unmodelled.iter().map(|(name, count)| json!({ "name": name, "count": count })).collect::<Vec<_>>(),
        "estimates": end.estimates,
        "unknown": unknown::sentences(answer, usize::MAX),
        "outcome": if ran_out { "oom" } else { "ok" },
        "growth": answer.growth.as_ref().map(growth),
        "kept_until_end": answer.to_come.as_ref().map(fitting::to_come_json),
        "seen": { "text": words::seen_text(answer), "loops": end.loops },
        "gpu": answer.card().name,
        "device": answer.device,
        "devices": answer.devices.iter().map(|part| numbered("device", part)).collect::<Vec<_>>(),
        "rank": answer.rank,
        "ranks": answer.trial.peaks_by_rank().iter().map(|part| numbered("rank", part)).collect::<Vec<_>>(),
        "peak_at": { "step": answer.phase.step, "phase": answer.phase.name, "event": answer.report.holders.at },
        "with_room": answer.plan.with_room().and_then(Trial::peaks).map(peaks),
        "needed": if ran_out { answer.plan.with_room().and_then(Trial::peaks).map(peaks) } else { None },
        "least_memory_bytes": answer.plan.least_bytes,
        "verdict": if ran_out { explained["verdict"].clone() } else { Value::Null },
        "advice": answer.advice(),
        "cards": answer.plan.catalogue.iter().map(fit).collect::<Vec<_>>(),
        "trials": answer.plan.trials.iter().map(trial).collect::<Vec<_>>(),
        "asked": answer.plan.trials[1..].iter().map(trial).collect::<Vec<_>>(),
        "reads": answer.reads(),
        "values": end.values,
        "while_steps_are_skipped": answer.while_skipped().map(|(scaled, peaks)| json!({
            "file": scaled.file,
            "line": scaled.line,
            "peak_allocated_bytes": peaks.peak_allocated_bytes,
            "peak_reserved_bytes": peaks.peak_reserved_bytes,
        })),
        "notes": end.notes,
        "remedies": answer.remedies().iter().map(|remedy| json!({
            "name": remedy.name,
            "applied": remedy.is_applied,
            "sentences": remedy.sentences,
        })).collect::<Vec<_>>(),
        "batches": end.batches,
        "torch": end.torch,
        "cuda": end.cuda,
        "python": end.python,
    })
}

fn growth(kept: &Kept) -> Value {
    json!({
        "class": kept.class,
        "file": kept.file,
        "line": kept.line,
        "bytes_per_iteration": kept.growth.bytes_per_iteration,
        "runs_out_after_iterations": kept.growth.runs_out_after_iterations,
        "total_iterations": kept.growth.total_iterations,
    })
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

/// A card that was run on.
fn trial(trial: &Trial) -> Value {
    let mut value = json!({ "gpu": trial.card.name, "capacity_bytes": trial.card.memory_bytes, "fits": trial.fits() });
    if let (Value::Object(all), Some(Value::Object(peaks))) = (&mut value, trial.peaks().map(peaks)) {
        all.extend(peaks);
    }
    value
}

/// A card of the catalogue.
fn fit(fit: &Fit) -> Value {
    let (fits, verdict) = match fit.verdict {
        Verdict::Fits => (true, "fits"),
        // Nobody should rely on what only a run can tell.
        Verdict::Close => (false, "close"),
        Verdict::DoesNotFit => (false, "does not fit"),
    };
    json!({ "gpu": fit.name, "capacity_bytes": fit.memory_bytes, "fits": fits, "verdict": verdict })
}
