//! The account for other programs. Fields may be added, never changed.

use oomph_explain::host::HostKept;
use oomph_explain::render::{host, json::render as render_report};
use serde_json::{Value, json};

use super::{Account, End, Promised, Share, StepTime, words};

/// The account as one JSON object, with the `top` largest lines.
pub(in super::super) fn render(account: &Account, top: usize) -> Value {
    let report = account.explained.as_ref().map(|explained| render_report(explained.report, top));
    let of_report = |field: &str| report.as_ref().map_or(Value::Null, |report| report[field].clone());
    let share = account.main_share();
    let phase = account.explained.as_ref().map(|explained| &explained.phase);
    let (exit_code, signal) = match account.end {
        End::Code(code) => (Some(code), None),
        End::Signal(signal) => (None, Some(signal)),
    };
    let host_verdict = account.host_verdict.as_ref().map(|verdict| host::json(verdict)["verdict"].clone());
    json!({
        "job": account.job,
        "exit_code": exit_code,
        "signal": signal,
        "seconds": account.seconds,
        "summary": words::summary(account),
        "outcome": if host_verdict.is_some() { "host_oom" } else if account.ran_out() { "oom" } else { "ok" },
        "peak_allocated_bytes": share.map(|share| share.allocated_bytes),
        "peak_reserved_bytes": share.map(|share| share.reserved_bytes),
        "steps": share.map(|share| share.steps),
        "batches": share.map(|share| share.batches),
        "retries": share.map(|share| share.retries),
        "ooms": share.map(|share| share.ooms),
        "peak_at": phase.map(|phase| json!({ "step": phase.step, "phase": phase.name })),
        "categories": of_report("categories"),
        "modules": of_report("modules"),
        "lines": of_report("lines"),
        "leaks": of_report("leaks"),
        "fragmentation": of_report("fragmentation"),
        "verdict": host_verdict.unwrap_or_else(|| of_report("verdict")),
        "advice": account.host_verdict.as_ref().map_or_else(|| of_report("advice"), |verdict| json!(verdict.advice)),
        "oom": of_report("oom"),
        "device": share.map(card),
        "processes": account.shares.iter().map(process).collect::<Vec<_>>(),
        "host_leaks": account.host_kept.iter().map(kept_on_host).collect::<Vec<_>>(),
        "host": account.host.as_ref().map(host::account_json),
        "promise": account.promise.as_ref().zip(share).map(|(promised, share)| promise(promised, share)),
        "step": account.step.as_ref().map(step),
        "allocator": account.allocator,
        "notes": account.notes,
    })
}

/// The card: its parts add up to what it reports.
fn card(share: &Share) -> Value {
    json!({
        "device": share.device,
        "total_bytes": share.total_bytes,
        "used_bytes": share.card.map(|card| card.used_bytes),
        "reserved_bytes": share.card.map(|card| card.reserved_bytes),
        "outside_pytorch_bytes": share.card.map(|card| card.outside_bytes()),
        "other_processes_bytes": share.card.and_then(|card| card.others_bytes),
    })
}

fn kept_on_host(kept: &HostKept) -> Value {
    json!({
        "pid": kept.pid,
        "file": kept.file,
        "line": kept.line,
        "bytes_per_step": kept.bytes_per_step,
        "steps": kept.steps,
    })
}

fn process(share: &Share) -> Value {
    json!({
        "pid": share.pid,
        "rank": share.rank,
        "device": share.device,
        "steps": share.steps,
        "batches": share.batches,
        "peak_allocated_bytes": share.allocated_bytes,
        "peak_reserved_bytes": share.reserved_bytes,
        "retries": share.retries,
        "ooms": share.ooms,
        "outcome": if share.ran_out { "oom" } else { "ok" },
    })
}

fn step(step: &StepTime) -> Value {
    let ms = |us: u64| us as f64 / 1000.0;
    json!({
        "median_ms": ms(step.median_us),
        "plain_ms": step.plain_us.map(ms),
        "slowdown": step.slowdown(),
        "promised_slowdown": step.promised_percent.map(|percent| f64::from(percent) / 100.0),
    })
}

fn promise(promised: &Promised, share: &Share) -> Value {
    let peaks = &promised.peaks;
    let off = |promised: u64, real: u64| real.cast_signed() - promised.cast_signed();
    json!({
        "text": words::compared(promised, share),
        "gpu": promised.card,
        "fits": promised.fits,
        "peak_allocated_bytes": peaks.allocated_bytes,
        "peak_reserved_bytes": peaks.reserved_bytes,
        "peak_device_bytes": peaks.device_bytes,
        "allocated_more_bytes": off(peaks.allocated_bytes, share.allocated_bytes),
        "reserved_more_bytes": off(peaks.reserved_bytes, share.reserved_bytes),
    })
}
