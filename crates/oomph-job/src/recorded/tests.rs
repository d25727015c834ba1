//! A box that has lost its beginning still tells what was live at every moment, held against a plain list.

use std::collections::BTreeMap;

use oomph_box::{Action, BlackBox, Category, EndedHow, MIN_BYTES, MemoryEvent, Phase, StackNumber, Writer};
use oomph_trace::{Action as TraceAction, Category as TraceCategory, DeviceTrace, Trace};
use plainly::Live;

use super::Recorded;

/// What a plain reading of a trace's events finds live, by address.
mod plainly {
    use super::{BTreeMap, DeviceTrace, TraceAction};

    pub(super) type Live = BTreeMap<u64, u64>;

    pub(super) fn at_the_end(device: &DeviceTrace) -> Live {
        let mut live = Live::new();
        for event in &device.events {
            match event.action {
                TraceAction::Alloc => assert!(live.insert(event.addr, event.bytes).is_none(), "given out twice"),
                TraceAction::FreeCompleted => assert!(live.remove(&event.addr).is_some(), "freed and never allocated"),
                _ => {}
            }
        }
        live
    }
}

fn memory(action: Action, address: u64, bytes: u64, stack: StackNumber) -> MemoryEvent {
    MemoryEvent { action, device: 0, address, bytes, stack, lane: 0 }
}

fn read(writer: &Writer) -> Recorded {
    let the_box = BlackBox::from_bytes(writer.to_bytes()).expect("a box");
    Recorded::of(&the_box).expect("its facts are ours")
}

/// Numbers that are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Allocates and frees at random; returns what is live.
fn random_job(writer: &Writer, events: u64, seed: u64) -> Live {
    let stack = writer.stack_of(&[("train.py", "step", 12)]);
    let mut numbers = Numbers(seed);
    let mut live = Live::new();
    for _ in 0..events {
        let address = 0x1000 * (1 + numbers.below(400));
        if let Some(bytes) = live.remove(&address) {
            writer.memory(&memory(Action::FreeRequested, address, bytes, stack));
            writer.memory(&memory(Action::FreeCompleted, address, bytes, stack));
        } else {
            let bytes = 1 + numbers.below(0x1000);
            writer.memory(&memory(Action::Alloc, address, bytes, stack));
            live.insert(address, bytes);
        }
    }
    live
}

fn device(trace: &Trace) -> &DeviceTrace {
    trace.devices.first().expect("a device")
}

#[test]
fn what_is_live_is_known_whether_or_not_the_beginning_was_lost() {
    for (events, is_whole) in [(500, true), (400_000, false)] {
        for seed in 0..4 {
            let writer = Writer::in_memory(MIN_BYTES).expect("a box");
            let live = random_job(&writer, events, seed);
            let recorded = read(&writer);
            assert_eq!(recorded.is_whole, is_whole, "{events} events");
            assert_eq!(plainly::at_the_end(device(&recorded.trace)), live, "{events} events, seed {seed}");
        }
    }
}

#[test]
fn stacks_and_categories_outlive_the_beginning() {
    let writer = Writer::in_memory(MIN_BYTES).expect("a box");
    let built = writer.stack_of(&[("model.py", "__init__", 7), ("train.py", "<module>", 3)]);
    writer.memory(&memory(Action::Alloc, 0x9000_0000, 4096, built));
    writer.fact(br#"["module", 0, "Net", "", 11]"#);
    writer.fact(br#"["module", 1, "Net", "layer", 12]"#);
    writer.tag(0x9000_0000, Category::Parameter, 2);
    random_job(&writer, 400_000, 1);
    let recorded = read(&writer);
    let trace = &recorded.trace;
    let event = device(trace).events.iter().find(|event| event.addr == 0x9000_0000).expect("still there");
    assert_eq!(event.category, TraceCategory::Parameter);
    assert_eq!(trace.stacks.string(event.module), "layer");
    let frames: Vec<u32> =
        trace.stacks.stack(event.stack).iter().map(|&frame| trace.stacks.frame(frame).line).collect();
    assert_eq!(frames, [7, 3]);
}

#[test]
fn expandable_segments_come_and_go_in_pieces() {
    let writer = Writer::in_memory(MIN_BYTES).expect("a box");
    let none = StackNumber(0);
    writer.memory(&memory(Action::SegmentMap, 0x10_0000, 0x4000, none));
    random_job(&writer, 400_000, 2);
    writer.memory(&memory(Action::SegmentUnmap, 0x10_1000, 0x1000, none));
    let recorded = read(&writer);
    let mut owned = 0_i64;
    for event in &device(&recorded.trace).events {
        match event.action {
            TraceAction::SegmentMap => owned += event.bytes.cast_signed(),
            TraceAction::SegmentUnmap => owned -= event.bytes.cast_signed(),
            _ => {}
        }
    }
    assert_eq!(owned, 0x3000);
}

#[test]
fn steps_and_phases_become_marks_and_untagged_gradients_are_recognised() {
    let writer = Writer::in_memory(MIN_BYTES).expect("a box");
    let line = writer.stack_of(&[("train.py", "<module>", 5)]);
    for step in 1..=3 {
        let address = 0x1000 * step;
        writer.state(step, step, Phase::Forward);
        writer.memory(&memory(Action::Alloc, 0x50_0000 + address, 777, line));
        writer.state(step, step, Phase::Backward);
        writer.memory(&memory(Action::Alloc, address, 512, line));
        if step == 1 {
            writer.tag(address, Category::Gradient, 0);
        }
        writer.state(step, step, Phase::Optimizer);
    }
    writer.fact(br#"["end", {"outcome": {"kind": "end"}, "steps": 3}]"#);
    writer.end(EndedHow::Finished, 0);
    let recorded = read(&writer);
    let trace = &recorded.trace;
    let names: Vec<&str> = trace.marks.iter().map(|mark| trace.stacks.string(mark.name)).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("step ")).count(), 3);
    assert_eq!(names.iter().filter(|name| **name == "backward").count(), 6);
    let gradients = device(trace).events.iter().filter(|event| event.category == TraceCategory::Gradient);
    assert_eq!(gradients.map(|event| event.bytes).collect::<Vec<_>>(), [512, 512, 512]);
    assert_eq!(recorded.end.expect("it told").steps, 3);
}

#[test]
fn the_host_is_a_card_of_its_own() {
    let writer = Writer::in_memory(MIN_BYTES).expect("a box");
    let line = writer.stack_of(&[("train.py", "<module>", 5)]);
    writer.host_alloc(&memory(Action::Alloc, 0x7000, 100, line));
    writer.host_alloc(&memory(Action::Alloc, 0x7800, 300, line));
    writer.host_free(0x7800);
    writer.memory(&memory(Action::Alloc, 0x8000, 200, line));
    let recorded = read(&writer);
    assert_eq!(plainly::at_the_end(device(&recorded.host)), Live::from([(0x7000, 100)]));
    assert_eq!(plainly::at_the_end(device(&recorded.trace)), Live::from([(0x8000, 200)]));
}
