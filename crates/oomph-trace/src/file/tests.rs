//! A file is read back as it was, whole or cut anywhere.

use super::*;
use crate::error::TraceError;
use crate::model::extra::Value;
use crate::model::mark::MarkStage;
use crate::model::segment::{BlockState, PoolId, SegmentKind};
use crate::model::settings::AllocatorSettings;
use crate::model::stack::StringId;
use crate::model::trace::{Origin, Trace};
use crate::{Action, Calls, TraceBuilder};

fn job() -> Trace {
    let line: Calls<'_> = &[("forward", "model.py", 12), ("<module>", "train.py", 40)];
    let mut job = TraceBuilder::new(Origin::RealRun);
    job.capacity(80 << 30, Some(79 << 30)).at(1_790_000_000_000_000).mark_start("step 0");
    job.segment_alloc(0x7f00_0000_0000, 2 << 20, line).module("model.layers.7.mlp");
    job.alloc(0x7f00_0000_0000, 500, line).module("");
    let defragment = job.interner().intern_string("defragment");
    job.event(Action::Other(defragment), 1, 2, &[]).pool(Some(PoolId(0, 3))).oom(1 << 40, 7, line);
    job.mark("wait", MarkStage::Instant).mark_end("step 0");
    let blocks = [(512, 500, BlockState::Allocated, line)];
    job.segment(0x7f00_0000_0000, 2 << 20, SegmentKind::Small, &blocks).device(1).alloc(u64::MAX, 3, &[]);
    job.settings(AllocatorSettings { conf: Some("max_split_size_mb:64".into()), ..AllocatorSettings::default() });
    let mut trace = job.finish();
    let nested =
        Value::List(vec![Value::Tuple(vec![Value::Int(-1)]), Value::Dict(vec![(Value::None, Value::Float(0.5))])]);
    trace.extra.push(("new_in_torch_3".into(), nested.clone()));
    trace.devices[0].event_extra.push((1, vec![("why".into(), nested)]));
    trace
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut file = Vec::new();
    write_oomph_trace(trace, &mut file).unwrap();
    file
}

#[test]
fn a_file_gives_back_the_trace() {
    let trace = job();
    let again = Trace::from_bytes(&written(&trace), "job.oomph").unwrap();
    assert!(trace == again, "{trace:#?}\n{again:#?}");
    assert_eq!(trace.stacks, again.stacks);
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_the_last_whole_chunk() {
    let trace = job();
    let file = written(&trace);
    let mut event_counts = Vec::new();
    for len in 0..file.len() {
        match read(&file[..len]) {
            Ok(part) => {
                let cut = part.truncated.expect("a cut file says so");
                assert_eq!(cut.good_bytes + cut.lost_bytes, len as u64);
                event_counts.push(part.event_count());
            }
            Err(problem) => assert!(len < chunk::HEADER_BYTES, "cut at {len}: {problem}"),
        }
    }
    assert!(event_counts.is_sorted());
    assert_eq!(event_counts.last(), Some(&trace.event_count()));
}

#[test]
fn a_flipped_byte_never_panics_and_never_passes_for_whole() {
    let file = written(&job());
    for at in 0..file.len() {
        let mut bent = file.clone();
        bent[at] ^= 0x10;
        if let Ok(trace) = Trace::from_bytes(&bent, "bent") {
            // Version, maker and the unused header bytes carry no checksum; what follows does.
            assert!(at < chunk::HEADER_BYTES || trace.truncated.is_some(), "byte {at}");
        }
    }
}

#[test]
fn a_file_from_before_there_were_modules_is_read_without_them() {
    let mut trace = job();
    for event in trace.devices.iter_mut().flat_map(|device| &mut device.events) {
        event.module = StringId::MISSING;
    }
    let without = written(&trace);
    trace.devices[0].events[1].module = StringId(0);
    let with = written(&trace);
    assert!(without.len() < with.len(), "modules are a record of their own, and only where there are any");
    let read_back = Trace::from_bytes(&without, "old.oomph").unwrap();
    assert!(read_back.devices[0].events.iter().all(|event| event.module == StringId::MISSING));
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut file = written(&job());
    file[8] = 9;
    let problem = Trace::from_bytes(&file, "job.oomph").unwrap_err();
    assert!(matches!(&problem, TraceError::InFile { problem, .. }
        if matches!(**problem, TraceError::NewerFormat { found: 9, known: 1 })));
    assert!(problem.to_string().contains("update oomph"), "{problem}");
}

#[test]
fn what_is_flushed_survives_a_kill() {
    let trace = job();
    let mut disk = Vec::new();
    let mut writer = TraceWriter::new(&mut disk, Origin::RealRun).unwrap();
    let stack = writer.interner().intern_calls(&[("f", "a.py", 1)]);
    let event = crate::Event { stack, action: Action::Alloc, ..trace.devices[0].events[0] };
    writer.append_event(0, &event).unwrap();
    writer.flush().unwrap();
    writer.append_event(0, &event).unwrap();
    drop(writer);
    let left = Trace::from_bytes(&disk, "killed").unwrap();
    assert_eq!(left.event_count(), 1);
    assert_eq!(left.truncated.map(|cut| cut.lost_bytes), Some(0));
    assert_eq!(
        left.stacks.string(left.stacks.frame(left.stacks.stack(left.devices[0].events[0].stack)[0]).file),
        "a.py"
    );
}

#[test]
fn values_nested_without_end_are_refused() {
    let mut deep = Value::None;
    for _ in 0..100 {
        deep = Value::List(vec![deep]);
    }
    let mut trace = Trace::new(Origin::RealRun);
    trace.extra.push(("deep".into(), deep));
    let problem = Trace::from_bytes(&written(&trace), "deep").unwrap_err();
    assert!(problem.to_string().contains("cannot be decoded"), "{problem}");
}
