//! Accounts of made-up runs.

use oomph_explain::{Options, explain};
use oomph_trace::{Origin, Trace, TraceBuilder};

use super::*;

const GIB: u64 = 1 << 30;

/// Three blocks from two lines, then a request that fails if it is to.
fn trace(fails: bool) -> Trace {
    let mut job = TraceBuilder::new(Origin::RealRun);
    let model = [("forward", "train.py", 12)];
    job.segment_alloc(8 * GIB, 3 * GIB, &model).alloc(8 * GIB, 2 * GIB, &model).alloc(10 * GIB, GIB, &model);
    if fails {
        job.oom(4 * GIB, GIB, &[("main", "train.py", 20)]);
    }
    job.finish()
}

fn share(pid: u32) -> Share {
    Share {
        pid,
        device: 0,
        steps: 37,
        batches: 37,
        allocated_bytes: 3 * GIB,
        reserved_bytes: 4 * GIB,
        total_bytes: 24 * GIB,
        card: Some(CardPeak { used_bytes: 6 * GIB, reserved_bytes: 4 * GIB, others_bytes: Some(GIB) }),
        ..Share::default()
    }
}

fn account<'a>(report: &'a Report<'a>, shares: Vec<Share>, end: End) -> Account<'a> {
    Account {
        job: "train.py",
        end,
        seconds: 125,
        shares,
        explained: Some(Explained { share: 0, report, phase: Phase { step: 37, name: "backward" } }),
        host: None,
        host_kept: Vec::new(),
        host_verdict: None,
        promise: None,
        step: None,
        allocator: None,
        has_remedies: false,
        notes: &[],
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_answer_comes_first_and_the_card_adds_up() {
    let trace = trace(false);
    let report = explain(&trace, &Options { is_about_peak: true, ..Options::default() }).expect("a report");
    let peaks =
        PromisedPeaks { rank: 0, device: 0, allocated_bytes: 3 * GIB, reserved_bytes: 5 * GIB, device_bytes: 0 };
    let mut account = account(&report, vec![Share { retries: 4, ..share(1) }], End::Code(0));
    account.promise = Some(Promised { card: "h200".into(), fits: true, peaks });
    account.step = Some(StepTime { median_us: 210_000, promised_percent: Some(116), plain_us: Some(179_000) });
    let text = plain(&text::render(&account, 80));
    let first = "\noomph: train.py ran to its end after 2 min 5 s; at most 3.00GiB allocated in the\nbackward pass of step 37, 4.00GiB reserved of 24.00GiB.\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in [
        "4 times to serve a request",
        "promised 3.00GiB allocated (exactly so)",
        "(really 20.0% less)",
        "1.17 times the 179 ms",
        "train.py:12",
        "outside       1.00GiB",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let json = json::render(&account, 10);
    let card = &json["device"];
    let parts = ["reserved_bytes", "outside_pytorch_bytes", "other_processes_bytes"];
    let sum: u64 = parts.iter().filter_map(|part| card[part].as_u64()).sum();
    assert_eq!(Some(sum), card["used_bytes"].as_u64());
    assert_eq!(json["step"]["promised_slowdown"], 1.16);
    assert_eq!(json["promise"]["reserved_more_bytes"], -(GIB.cast_signed()));
    assert_eq!((&json["outcome"], &json["exit_code"]), (&"ok".into(), &0.into()));
}

#[test]
fn out_of_memory_begins_with_the_verdict_and_its_proof() {
    let trace = trace(true);
    let report = explain(&trace, &Options::default()).expect("a report");
    let account = account(&report, vec![Share { ran_out: true, ooms: 1, ..share(1) }], End::Code(1));
    let text = plain(&text::render(&account, 80));
    let class = report.verdict.accusation.class;
    assert!(class != "none" && text.starts_with(&format!("\n{class}: ")), "{text}");
    assert!(text.contains("oomph: train.py ended with exit code 1"), "{text}");
    assert!(text.contains("What to do") && text.contains(&format!("oomph doc {class}")), "{text}");
    let json = json::render(&account, 10);
    assert_eq!((&json["outcome"], &json["verdict"]["class"]), (&"oom".into(), &class.into()));
}

#[test]
fn several_processes_get_a_row_each() {
    let trace = trace(false);
    let report = explain(&trace, &Options { is_about_peak: true, ..Options::default() }).expect("a report");
    let shares =
        vec![Share { rank: Some(0), ..share(1) }, Share { rank: Some(1), device: 1, ran_out: true, ..share(2) }];
    let account = account(&report, shares, End::Signal(9));
    let text = plain(&text::render(&account, 80));
    for part in [
        "was ended by signal 9 (SIGKILL)",
        "rank 0 on cuda:0",
        "rank 1 on cuda:1 out of memory",
        "at the peak in rank 0",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert_eq!(json::render(&account, 1)["processes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_job_that_used_no_card_is_not_told_of() {
    let account = Account {
        job: "hello.py",
        end: End::Code(0),
        seconds: 1,
        shares: vec![],
        explained: None,
        host: None,
        host_kept: Vec::new(),
        host_verdict: None,
        promise: None,
        step: None,
        allocator: None,
        has_remedies: false,
        notes: &[],
    };
    assert_eq!(text::render(&account, 80), "");
    assert_eq!(json::render(&account, 1)["peak_allocated_bytes"], serde_json::Value::Null);
}
