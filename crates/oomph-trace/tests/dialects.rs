//! Snapshots as other versions of torch, and other tools, write them.

use oomph_trace::{Action, BlockState, Category, Origin, PoolId, SegmentKind, StackId, Trace, Value};

fn read(json: &str) -> Trace {
    Trace::from_bytes(json.as_bytes(), "snapshot.json").unwrap()
}

#[test]
fn a_bare_list_of_segments_is_a_snapshot() {
    let trace = read(
        r#"[{"device": 1, "address": 4096, "total_size": 2097152, "stream": 0, "segment_type": "small",
        "blocks": [{"size": 512, "state": "active_allocated", "requested_size": 500}, {"size": 2096640, "state": "inactive"}]}]"#,
    );
    assert_eq!(trace.origin, Origin::TorchSnapshot);
    let segment = &trace.device(1).unwrap().segments[0];
    // What old files lack is worked out: addresses, sums, stacks that were never recorded.
    assert_eq!(segment.blocks.iter().map(|block| block.address).collect::<Vec<_>>(), [4096, 4608]);
    assert_eq!((segment.allocated_bytes, segment.active_bytes, segment.requested_bytes), (512, 512, 500));
    assert_eq!((segment.kind, segment.pool, segment.stack), (SegmentKind::Small, PoolId::DEFAULT, StackId::MISSING));
}

#[test]
fn history_on_blocks_gives_size_and_stack() {
    let trace = read(
        r#"{"segments": [{"address": 0, "total_size": 4194304, "blocks": [{"size": 1024, "state": "active_allocated",
        "history": [{"addr": 0, "real_size": 1000, "frames": [{"name": "f", "filename": "a.py", "line": 7}]}]}]}]}"#,
    );
    let block = &trace.devices[0].segments[0].blocks[0];
    assert_eq!(block.requested_bytes, 1000);
    let frame = trace.stacks.frame(trace.stacks.stack(block.stack)[0]);
    assert_eq!((trace.stacks.string(frame.name), frame.line), ("f", 7));
    assert!(matches!(&block.extra[0], (key, Value::List(_)) if key == "history"));
    assert_eq!(trace.devices[0].segments[0].kind, SegmentKind::Large);
}

#[test]
fn an_empty_history_says_nothing() {
    let text = |text: &str| [&[0x8c, text.len() as u8], text.as_bytes()].concat();
    // An empty list written with an empty batch, as no pickler does but any file may.
    let file = [
        [b"\x80\x04}(".to_vec(), text("segments"), b"](}(".to_vec(), text("blocks"), b"](}(".to_vec()].concat(),
        [text("size"), b"K\x07".to_vec(), text("history"), b"](eueueu.".to_vec()].concat(),
    ];
    let trace = Trace::from_bytes(&file.concat(), "empty history").unwrap();
    let block = &trace.devices[0].segments[0].blocks[0];
    assert_eq!((block.bytes, block.stack), (7, StackId::MISSING));
}

#[test]
fn both_names_of_a_waiting_block_are_known() {
    for name in ["active_pending_free", "active_awaiting_free"] {
        let trace = read(&format!(r#"{{"segments": [{{"blocks": [{{"size": 1, "state": "{name}"}}]}}]}}"#));
        assert_eq!(trace.devices[0].segments[0].blocks[0].state, BlockState::PendingFree);
    }
}

#[test]
fn events_of_newer_and_older_torch_are_read() {
    let trace = read(
        r#"{"segments": [], "device_traces": [[], [
        {"action": "alloc", "addr": 1, "size": 2, "stream": 3, "time_us": 4, "pool_id": [0, 5], "compile_context": "0/0"},
        {"action": "free", "addr": 1, "size": 2, "stream": 3},
        {"action": "teleport", "addr": 1, "size": 2, "stream": 3, "distance": 9.5},
        {"action": "alloc", "addr": 1, "size": 2, "stream": 3, "frames": [], "category": "optimizer_state"},
        {"action": "alloc", "addr": 1, "size": 2, "stream": 3, "category": "autograd_detail"}]]}"#,
    );
    let device = trace.device(1).unwrap();
    let events = &device.events;
    assert_eq!(events[0].pool, Some(PoolId(0, 5)));
    assert_eq!(trace.stacks.string(events[0].compile_context), "0/0");
    assert_eq!((events[1].action, events[1].stack), (Action::FreeRequested, StackId::MISSING));
    let Action::Other(name) = events[2].action else { panic!("{:?}", events[2].action) };
    assert_eq!(trace.stacks.string(name), "teleport");
    assert_eq!((events[3].stack, events[3].category), (StackId::EMPTY, Category::Optimizer));
    assert_eq!(events[4].category, Category::Other);
    let kept: Vec<_> = device.event_extra.iter().map(|(at, extra)| (*at, extra[0].0.as_str())).collect();
    assert_eq!(kept, [(2, "distance"), (4, "category")]);
}

/// The dialect of torch's C++ pickler: protocol 2, numbered memo, no batches, addresses as signed numbers.
#[test]
fn the_pickler_of_torchscript_is_understood() {
    let text = |text: &str| [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let mut file = b"\x80\x02}q\x00(".to_vec();
    file.extend([text("segments"), b"]q\x01".to_vec(), text("device_traces"), b"]q\x02(]q\x03(".to_vec()].concat());
    for _ in 0..2 {
        let address = [b"\x8a\x08".as_slice(), &(-4096_i64).to_le_bytes()].concat();
        let frame = [
            b"}q\x05(".to_vec(),
            text("name"),
            text("f"),
            text("filename"),
            text("a.cpp"),
            text("line"),
            b"K\x00u".to_vec(),
        ];
        let event = [
            b"}q\x04(".to_vec(),
            [text("action"), text("alloc"), text("addr"), address, text("size"), b"J\x00\x10\x00\x00".to_vec()]
                .concat(),
            [
                text("pool_id"),
                b"(K\x00K\x07t".to_vec(),
                text("frames"),
                b"](".to_vec(),
                frame.concat(),
                b"h\x05eu".to_vec(),
            ]
            .concat(),
        ];
        file.extend(event.concat());
    }
    file.extend(b"eeu.");
    let trace = Trace::from_bytes(&file, "cpp").unwrap();
    let events = &trace.devices[0].events;
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].addr, events[0].bytes, events[0].pool), (u64::MAX - 4095, 4096, Some(PoolId(0, 7))));
    assert_eq!(trace.stacks.stack(events[0].stack).len(), 2);
    assert_eq!(events[0], events[1]);
}

/// A memo slot that is given anew must not be mistaken for what it held before.
#[test]
fn memo_slots_may_be_reused() {
    let text = |text: &str| [&[0x8c, text.len() as u8], text.as_bytes()].concat();
    let mut file = [b"\x80\x03}(".to_vec(), text("device_traces"), b"](](".to_vec()].concat();
    for line in [b"K\x01", b"K\x02"] {
        let frame = [
            b"}(".to_vec(),
            text("name"),
            text("f"),
            text("filename"),
            text("a.py"),
            text("line"),
            line.to_vec(),
            b"uq\x000".to_vec(),
        ];
        let event = [
            b"}(".to_vec(),
            text("action"),
            text("alloc"),
            text("size"),
            b"K\x01".to_vec(),
            text("frames"),
            b"](h\x00h\x00eu".to_vec(),
        ];
        file.extend([frame.concat(), event.concat()].concat());
    }
    file.extend(b"eeu.");
    let trace = Trace::from_bytes(&file, "reused").unwrap();
    let lines: Vec<_> = trace.devices[0]
        .events
        .iter()
        .map(|event| trace.stacks.frame(trace.stacks.stack(event.stack)[0]).line)
        .collect();
    assert_eq!(lines, [1, 2]);
}

#[test]
fn lines_python_could_not_tell_are_kept() {
    let trace = read(
        r#"{"device_traces": [[{"action": "alloc", "size": 1, "frames": [{"name": "f", "filename": "a", "line": -1}]}]]}"#,
    );
    let frame = trace.stacks.frame(trace.stacks.stack(trace.devices[0].events[0].stack)[0]);
    assert_eq!((frame.line, &frame.extra[..]), (0, &[("line".to_owned(), Value::Int(-1))][..]));
}

#[test]
fn marks_may_lack_anything() {
    let trace = read(
        r#"{"segments": [], "external_annotations": [{}, {"name": "a", "stage": "START", "device": 3, "time_us": 5},
        {"name": "b", "stage": "END", "device": -1, "phase": "backward"}]}"#,
    );
    assert_eq!(trace.marks.len(), 3);
    assert_eq!(trace.marks[1].device, 3);
    assert_eq!(trace.marks[2].extra.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["device", "phase"]);
}
