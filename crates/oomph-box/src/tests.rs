//! What is written is read again, whatever happens in between.

use std::path::Path;

use crate::Action::{Alloc, FreeCompleted, FreeRequested};
use crate::*;

const SMALL_BYTES: u64 = MIN_BYTES;

fn writer() -> Writer {
    Writer::in_memory(SMALL_BYTES).expect("a box of the smallest size")
}

fn read(writer: &Writer) -> BlackBox {
    BlackBox::from_bytes(writer.to_bytes()).expect("a box")
}

fn event(action: Action, address: u64, bytes: u64) -> MemoryEvent {
    MemoryEvent { action, device: 0, address, bytes, stack: StackNumber(0), lane: 0 }
}

fn memory_events(events: &Events) -> Vec<(u64, Action, u64)> {
    let memory = |&(number, event): &(u64, BoxEvent)| match event.what {
        What::Memory(memory) => Some((number, memory.action, memory.address)),
        _ => None,
    };
    events.events.iter().filter_map(memory).collect()
}

#[test]
fn blocks_live_until_their_free_is_completed() {
    let writer = writer();
    let stack = writer.stack_of(&[("train.py", "step", 12), ("train.py", "<module>", 40)]);
    let lane = writer.lane(7, (1, 2));
    writer.memory(&MemoryEvent { stack, lane, ..event(Action::Alloc, 0x1000, 600) });
    writer.memory(&event(Action::Alloc, 0x2000, 100));
    writer.memory(&event(Action::FreeRequested, 0x1000, 600));
    let seen = read(&writer);
    let [first, second] = seen.live_blocks().try_into().expect("two blocks");
    assert!(first.free_requested && !second.free_requested);
    assert_eq!((first.address, first.bytes, first.device, first.birth), (0x1000, 600, 0, 0));
    assert_eq!(seen.lane(first.lane), (7, (1, 2)));
    assert_eq!(seen.lane(second.lane), (0, (0, 0)));
    let lines: Vec<_> = seen.stack(first.stack).into_iter().map(|frame| (frame.file, frame.line)).collect();
    assert_eq!(lines, [("train.py".to_owned(), 12), ("train.py".to_owned(), 40)]);
    assert_eq!(seen.devices()[0].requested_bytes, 700);

    writer.memory(&event(Action::FreeCompleted, 0x1000, 600));
    let seen = read(&writer);
    assert_eq!(seen.live_blocks().len(), 1);
    let device = seen.devices()[0];
    assert_eq!((device.requested_bytes, device.requested_peak_bytes), (100, 700));
    assert_eq!(device.counts[..3], [2, 1, 1]);
}

#[test]
fn a_free_at_once_is_one_record_and_two_events() {
    let writer = writer();
    writer.memory(&event(Action::Alloc, 0x1000, 1));
    writer.memory(&event(Action::FreeRequested, 0x1000, 1));
    writer.memory(&event(Action::FreeCompleted, 0x1000, 1));
    let events = read(&writer).events_since(0);
    let expected = [(0, Alloc, 0x1000), (1, FreeRequested, 0x1000), (1, FreeCompleted, 0x1000)];
    assert_eq!(memory_events(&events), expected);
    assert_eq!((events.lost, events.next), (0, 2));
}

#[test]
fn frees_that_wait_for_a_stream_keep_their_order() {
    let writer = writer();
    let order = [(Alloc, 0x1000), (Alloc, 0x2000), (FreeRequested, 0x1000), (FreeRequested, 0x2000)];
    let order = [&order[..], &[(FreeCompleted, 0x1000), (FreeCompleted, 0x2000)]].concat();
    for &(action, address) in &order {
        writer.memory(&event(action, address, 8));
    }
    let seen: Vec<_> =
        memory_events(&read(&writer).events_since(0)).into_iter().map(|(_, action, at)| (action, at)).collect();
    assert_eq!(seen, order);
}

#[test]
fn old_events_are_overwritten_and_counted_as_lost() {
    let writer = writer();
    let name = writer.name(b"epoch");
    for _ in 0..100_000 {
        writer.mark(name, Stage::Moment);
    }
    let seen = read(&writer);
    let events = seen.events_since(10);
    assert_eq!(events.next, 100_000);
    assert_eq!(events.lost + events.events.len() as u64, 100_000 - 10);
    assert!(events.events.len() > 8_000);
    let What::Mark { name, stage: Stage::Moment } = events.events[0].1.what else { panic!("a mark") };
    assert_eq!(seen.name(name).as_deref(), Some("epoch"));
    assert_eq!(seen.events_since(events.next), Events { next: 100_000, ..Events::default() });
}

#[test]
fn times_are_those_of_the_clock() {
    let writer = writer();
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_micros();
    std::thread::sleep(std::time::Duration::from_millis(60));
    writer.state(3, 6, Phase::Backward);
    let events = read(&writer).events_since(0);
    let (_, event) = events.events[0];
    assert_eq!(event.what, What::State { step: 3, batches: 6, phase: Phase::Backward });
    let later_us = u128::from(event.time_us).saturating_sub(before);
    assert!((55_000..5_000_000).contains(&later_us), "{later_us} us");
}

#[test]
fn state_facts_and_devices_are_kept() {
    let writer = writer();
    writer.state(1, 2, Phase::Forward);
    writer.fact(b"{\"a\":1}");
    writer.fact("{\"b\":\"ä\"}".as_bytes());
    writer.device(1, [7; 16], 1 << 30, 1 << 29);
    writer.stats(1, Stats { retries: 2, pinned_bytes: 5, ..Stats::default() });
    writer.end(EndedHow::Exception, -1);
    let seen = read(&writer);
    let state = seen.state();
    assert_eq!((state.step, state.batches, state.phase), (1, 2, Phase::Forward));
    assert_eq!(state.ended, Some(Ended { how: Some(EndedHow::Exception), exit_code: -1 }));
    assert_eq!(seen.facts(), ["{\"a\":1}", "{\"b\":\"ä\"}"]);
    let [device] = seen.devices().try_into().expect("one device");
    assert_eq!((device.ordinal, device.uuid, device.total_bytes, device.limit_bytes), (1, [7; 16], 1 << 30, 1 << 29));
    assert_eq!((device.stats.retries, seen.host().pinned_bytes), (2, 5));
    assert_eq!(seen.process().pid, std::process::id());
    assert!(seen.is_alive());
}

#[test]
fn tags_stay_with_the_block_and_reach_the_ring_once() {
    let writer = writer();
    writer.memory(&event(Action::Alloc, 0x1000, 600));
    writer.tag(0x1000, Category::Gradient, 9);
    writer.tag(0x1000, Category::Gradient, 9);
    writer.tag(0x9000, Category::Gradient, 9);
    let seen = read(&writer);
    let block = seen.live_blocks()[0];
    assert_eq!((block.category, block.module, block.bytes), (Category::Gradient, 9, 600));
    assert_eq!(seen.events_since(0).events.len(), 2);
}

#[test]
fn what_is_unmapped_is_cut_out_of_what_was_mapped() {
    let writer = writer();
    writer.memory(&event(Action::SegmentMap, 0x10_0000, 0x30_0000));
    writer.memory(&event(Action::SegmentAlloc, 0x90_0000, 0x10_0000));
    writer.memory(&event(Action::SegmentUnmap, 0x20_0000, 0x10_0000));
    let seen = read(&writer);
    let found: Vec<_> = seen.live_segments().iter().map(|it| (it.address, it.bytes, it.expandable)).collect();
    assert_eq!(found, [(0x10_0000, 0x10_0000, true), (0x30_0000, 0x10_0000, true), (0x90_0000, 0x10_0000, false)]);
    assert_eq!(seen.devices()[0].reserved_bytes, 0x30_0000);
    writer.memory(&event(Action::SegmentFree, 0x90_0000, 0x10_0000));
    writer.memory(&event(Action::SegmentUnmap, 0x10_0000, 0x30_0000));
    assert_eq!(read(&writer).live_segments(), []);
}

#[test]
fn blocks_of_the_host_are_told_from_those_of_devices() {
    let writer = writer();
    writer.host_alloc(&event(Action::Alloc, 0x5000, 64));
    writer.host_alloc(&event(Action::Alloc, 0x6000, 64));
    writer.memory(&event(Action::Alloc, 0x7000, 64));
    writer.host_free(0x5000);
    writer.host_free(0x7000);
    let seen = read(&writer);
    let devices: Vec<_> = seen.live_blocks().iter().map(|block| block.device).collect();
    assert_eq!(devices, [HOST, 0]);
    let host = seen.host();
    assert_eq!((host.cpu_tensor_bytes, host.cpu_tensor_peak_bytes), (64, 128));
    assert_eq!((host.allocations, host.frees), (2, 1));
}

#[test]
fn a_full_box_counts_what_it_loses() {
    let writer = writer();
    for index in 0..100_000_u64 {
        let stack = writer.stack_of(&[("train.py", &format!("function_{index}"), index as u32)]);
        writer.memory(&MemoryEvent { stack, ..event(Action::Alloc, 0x1000 + index * 512, 512) });
        writer.fact(format!("{{\"number\":{index}}}").as_bytes());
    }
    let seen = read(&writer);
    let lost = seen.lost();
    assert_eq!(lost.blocks + seen.live_blocks().len() as u64, 100_000);
    assert!(lost.blocks > 0 && lost.stacks > 0 && lost.facts > 0, "{lost:?}");
    assert_eq!(lost.facts + seen.facts().len() as u64, 100_000);
    assert_eq!(seen.devices()[0].requested_bytes, 512 * 100_000);
}

#[test]
fn a_thousand_blocks_come_and_go_without_a_loss() {
    let writer = Writer::in_memory(4 << 20).expect("a box");
    for round in 0..50_u64 {
        let blocks: Vec<u64> = (0..6_000).map(|index| 0x7f00_0000_0000 + (round * 13 + index) * 512).collect();
        for &address in &blocks {
            writer.memory(&event(Action::Alloc, address, 512));
        }
        assert_eq!(read(&writer).live_blocks().len(), blocks.len());
        for &address in &blocks {
            writer.memory(&event(Action::FreeCompleted, address, 512));
        }
    }
    let seen = read(&writer);
    assert_eq!((seen.live_blocks().len(), seen.lost()), (0, Lost::default()));
}

#[test]
fn threads_write_at_once() {
    let writer = Writer::in_memory(8 << 20).expect("a box");
    std::thread::scope(|scope| {
        for device in 0..4_u8 {
            let writer = &writer;
            scope.spawn(move || {
                for index in 0..10_000_u64 {
                    let address = (u64::from(device) + 1) << 40 | index << 9;
                    let stack = writer.stack_of(&[("train.py", "step", (index % 50) as u32)]);
                    let event = MemoryEvent { device, stack, ..event(Action::Alloc, address, 10) };
                    writer.memory(&event);
                    if index % 2 == 0 {
                        writer.memory(&MemoryEvent { action: Action::FreeRequested, ..event });
                        writer.memory(&MemoryEvent { action: Action::FreeCompleted, ..event });
                    }
                }
            });
        }
    });
    let seen = read(&writer);
    assert_eq!(seen.live_blocks().len(), 4 * 5_000);
    let events = seen.events_since(0);
    assert_eq!((events.events.len(), events.lost), (4 * 20_000, 0));
    assert!(seen.devices().iter().all(|device| device.requested_bytes == 50_000));
}

#[test]
fn questions_are_answered_through_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("1-0.box");
    let writer = Writer::create(&path, SMALL_BYTES).expect("a box");
    let seen = BlackBox::open(&path).expect("a box");
    assert_eq!(seen.question(), None);
    let question = writer.question(b"why?");
    assert_eq!((seen.question(), seen.question_text().as_deref()), (Some(question), Some("why?")));
    assert_eq!(writer.answer(question), None);
    Answers::open(&path).expect("a box").answer(question, "because");
    assert_eq!(writer.answer(question).as_deref(), Some("because"));
    assert_eq!(seen.question(), None);
}

#[test]
fn only_boxes_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("not-a.box");
    assert!(matches!(BlackBox::open(&path), Err(BoxError::Io { .. })));
    std::fs::write(&path, vec![1; 4096]).expect("written");
    assert!(matches!(BlackBox::open(&path), Err(BoxError::NotABox { .. })));
    assert!(matches!(BlackBox::open(folder.path()), Err(BoxError::NotABox { .. })));
    let mut bytes = writer().to_bytes();
    bytes.truncate(bytes.len() - 4096);
    assert!(matches!(BlackBox::from_bytes(bytes), Err(BoxError::NotABox { .. })));
    assert!(matches!(BlackBox::from_bytes(Vec::new()), Err(BoxError::NotABox { .. })));
    assert!(matches!(Writer::in_memory(1000), Err(BoxError::TooSmall { .. })));
    let taken = folder.path().join("taken.box");
    Writer::create(&taken, SMALL_BYTES).expect("a box");
    assert!(matches!(Writer::create(&taken, SMALL_BYTES), Err(BoxError::Io { .. })));
}

#[test]
fn a_disk_without_room_is_an_error_and_leaves_no_file() {
    let path = Path::new("/dev/full");
    assert!(matches!(Writer::create_in(path, SMALL_BYTES), Err(BoxError::Io { .. })));
}

/// A box with some of everything.
fn busy() -> Vec<u8> {
    let writer = writer();
    for index in 0..2_000_u64 {
        let stack = writer.stack_of(&[("train.py", "step", (index % 7) as u32), ("train.py", "main", 3)]);
        let lane = writer.lane(index % 3, (0, 1));
        writer.memory(&MemoryEvent { stack, lane, ..event(Action::Alloc, 0x1000 + index * 64, index) });
        writer.tag(0x1000 + index * 64, Category::Activation, 4);
        writer.fact(b"{}");
    }
    writer.memory(&event(Action::SegmentAlloc, 0x1000, 1 << 20));
    writer.question(b"?");
    writer.to_bytes()
}

/// Reads everything there is.
fn read_all(bytes: Vec<u8>) -> usize {
    let Ok(seen) = BlackBox::from_bytes(bytes) else { return 0 };
    let blocks = seen.live_blocks();
    let lines = blocks.iter().map(|block| seen.stack(block.stack).len() + usize::from(seen.lane(block.lane).0 > 0));
    let events = seen.events_since(0);
    let _ = (seen.state(), seen.devices(), seen.host(), seen.lost(), seen.live_segments(), seen.process());
    lines.sum::<usize>() + events.events.len() + seen.facts().len() + usize::from(seen.question().is_some())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..Default::default() })]

    #[test]
    fn any_damage_is_survived(seed in proptest::num::u64::ANY, hits in 1..3000_usize) {
        let mut bytes = busy();
        let mut random = seed | 1;
        for _ in 0..hits {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Past the three words without which it is no box.
            let at = 24 + (random >> 20) as usize % (bytes.len() - 24);
            let near_header = 24 + at % 8192;
            let at = if random & 1 == 0 { at } else { near_header };
            bytes[at] = (random >> 8) as u8;
        }
        read_all(bytes);
    }
}

#[test]
fn damaged_records_are_dropped() {
    let mut bytes = busy();
    let whole = read_all(bytes.clone());
    for at in (8192..bytes.len()).step_by(48) {
        bytes[at] ^= 0x40;
    }
    let damaged = read_all(bytes);
    assert!(damaged < whole / 2, "{damaged} of {whole}");
}
