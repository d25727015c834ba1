//! Every recorded snapshot is read, written back and read again without loss.

use std::path::PathBuf;

use oomph_trace::{Action, StackId, Trace, Value, write_torch_snapshot};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/h200")
}

fn snapshot(name: &str) -> Trace {
    Trace::open(corpus().join(format!("{name}.pickle.gz"))).unwrap()
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(corpus())
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().strip_suffix(".pickle.gz").map(Into::into)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 25, "the corpus is not where it should be");
    names
}

#[test]
fn every_snapshot_survives_a_round_trip() {
    for name in names() {
        let trace = snapshot(&name);
        let mut written = Vec::new();
        write_torch_snapshot(&trace, &mut written).unwrap();
        let again = Trace::from_bytes(&written, &name).unwrap();
        assert!(trace == again, "{name} changed");
    }
}

#[test]
fn figures_agree_with_what_python_reads() {
    let trace = snapshot("run_gpt2");
    let device = &trace.devices[0];
    assert_eq!((trace.devices.len(), device.events.len(), device.segments.len()), (1, 13246, 131));
    assert_eq!(trace.marks.len(), 16);
    assert_eq!(trace.settings.garbage_collection_threshold, Some(0.0));
    assert_eq!(trace.settings.max_split_bytes, None);
    assert_eq!(trace.settings.roundup_power2_divisions.len(), 16);
    for segment in &device.segments {
        assert_eq!(segment.blocks.iter().map(|block| block.bytes).sum::<u64>(), segment.bytes);
    }
}

#[test]
fn an_oom_carries_what_the_driver_had_free() {
    let trace = snapshot("oom_batch_too_big");
    let oom = trace.devices[0].events.iter().find(|event| event.action == Action::Oom).unwrap();
    assert!(oom.addr > 0 && oom.bytes > 0);
}

#[test]
fn forward_tracebacks_are_interned_on_events_and_kept_on_blocks() {
    let trace = snapshot("special_anomaly");
    let device = &trace.devices[0];
    let with_forward = device.events.iter().filter(|event| !trace.stacks.forward(event.forward).is_empty()).count();
    assert!(with_forward > 0);
    let kept =
        device.segments.iter().flat_map(|segment| &segment.blocks).find(|block| !block.extra.is_empty()).unwrap();
    assert!(matches!(&kept.extra[0], (key, Value::List(lines)) if key == "forward_frames" && !lines.is_empty()));
}

#[test]
fn stacks_name_the_users_lines() {
    let trace = snapshot("oom_growing_cache");
    let has_job_line = trace.devices[0].events.iter().any(|event| {
        event.stack != StackId::MISSING
            && trace
                .stacks
                .stack(event.stack)
                .iter()
                .any(|&frame| trace.stacks.string(trace.stacks.frame(frame).file).ends_with("oomcases.py"))
    });
    assert!(has_job_line);
}
