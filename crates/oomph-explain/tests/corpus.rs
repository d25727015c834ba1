//! Verdicts on real jobs: every labelled snapshot gets its class and its line, healthy ones raise no alarm.

use std::path::{Path, PathBuf};

use oomph_explain::{Options, explain, render};
use oomph_trace::Trace;
use serde_json::Value;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/h200")
}

fn labels(file: &str) -> Vec<(PathBuf, Value)> {
    let path = corpus().join(file);
    let folder = path.parent().expect("a file has a folder").to_owned();
    let text = std::fs::read_to_string(&path).expect("labels are readable");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("labels are JSON"));
    rows.filter_map(|row| Some((folder.join(row["snapshot"].as_str()?), row))).collect()
}

/// `class file:line` of a snapshot, with whether the proof held.
fn verdict(path: &Path) -> (Value, Option<bool>) {
    let trace = Trace::open(path).expect("the corpus is readable");
    let report = explain(&trace, &Options::default()).expect("the corpus is explainable");
    let json = render::json::render(&report, 5);
    let proof = json["verdict"]["proof"]["fits_without"].as_bool();
    (json, proof)
}

fn check_labels(file: &str) {
    let mut wrong = Vec::new();
    for (path, label) in labels(file) {
        let (json, proof) = verdict(&path);
        let found = &json["verdict"];
        let found_file = found["file"].as_str().map(|file| file.rsplit('/').next().unwrap_or(file).to_owned());
        let wanted_file = label["line"].as_u64().and(label["file"].as_str()).map(str::to_owned);
        let proven = label["class"] == "none" || proof == Some(true);
        if found["class"] != label["class"] || found["line"] != label["line"] || found_file != wanted_file || !proven {
            wrong.push(format!(
                "{}: wanted {} {wanted_file:?}:{}, found {} {found_file:?}:{}, proof {proof:?}\n  {}",
                path.display(),
                label["class"],
                label["line"],
                found["class"],
                found["line"],
                found["summary"],
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_labelled_failures_get_class_line_and_proof() {
    check_labels("oom.jsonl");
}

#[test]
fn failures_of_other_kinds_get_class_line_and_proof() {
    check_labels("extra_oom/oom.jsonl");
}

#[test]
fn the_peaks_are_what_the_card_measured() {
    for (path, label) in labels("oom.jsonl").into_iter().chain(labels("extra_oom/oom.jsonl")) {
        // The observer's snapshot ends at the failure; the figures were taken at the end of the script.
        if label["observer"] != Value::Bool(true) {
            let (json, _) = verdict(&path);
            assert_eq!(json["peak_allocated_bytes"], label["peak_allocated"], "{}", path.display());
        }
    }
}

#[test]
fn healthy_runs_raise_no_alarm_and_leaking_ones_do() {
    let leaking = [("run_leaky_infer", 124), ("run_leaky_loss", 135)];
    let mut healthy = 0;
    for (path, _) in labels("h200.jsonl") {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let (json, _) = verdict(&path);
        let found = (json["verdict"]["class"].as_str(), json["verdict"]["line"].as_u64());
        if let Some((_, line)) = leaking.iter().find(|(leak, _)| name.starts_with(leak)) {
            assert_eq!(found, (Some("leak"), Some(*line)), "{name}");
        } else {
            assert_eq!(found.0, Some("none"), "{name}: {}", json["verdict"]["summary"]);
            assert_eq!(json["leaks"], Value::Array(Vec::new()), "{name}");
            healthy += 1;
        }
    }
    assert_eq!(healthy, 7, "every healthy run of the corpus was looked at");
}

#[test]
fn categories_add_up_to_what_was_live() {
    for (path, _) in labels("oom.jsonl") {
        let (json, _) = verdict(&path);
        let sum: u64 = json["categories"].as_object().expect("an object").values().filter_map(Value::as_u64).sum();
        assert_eq!(Some(sum), json["allocated_bytes"].as_u64(), "{}", path.display());
    }
}
