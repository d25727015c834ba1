//! Random and adversarial programs through every policy, judged by the validator.

use oomph_heap::{
    BumpSource, Config, Limit, LimitKind, MIB, Op, Options, Order, Outcome, POLICIES, PoolFacts, Replay, Requests,
    SegmentEvent, Timeline, TraceSource, policy, record, replay, validate,
};
use oomph_trace::{
    Action, Block, BlockState, Category, DeviceTrace, Event, ForwardId, PoolId, Segment, SegmentKind, StackId, StringId,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const POOLS: [PoolId; 3] = [PoolId::DEFAULT, PoolId(1, 0), PoolId(0, 1)];

/// Turns arbitrary numbers into a program that only frees what it holds.
#[derive(Default)]
struct Program {
    ops: Vec<Op>,
    requested_bytes: Vec<u64>,
    held: Vec<u32>,
    waiting: Vec<u32>,
}

impl Program {
    fn alloc(&mut self, bytes: u64, stream: u64, pool: PoolId) -> u32 {
        let block = self.requested_bytes.len() as u32;
        self.requested_bytes.push(bytes);
        self.ops.push(Op::Alloc { block, bytes, stream, pool });
        self.held.push(block);
        block
    }

    fn free(&mut self, at: usize, waits: bool) {
        if self.held.is_empty() {
            return;
        }
        let block = self.held.remove(at % self.held.len());
        self.ops.push(Op::Free { block });
        if waits {
            self.waiting.push(block);
            // A wait that ends at once cannot be told from none in a recording: let something happen in between.
            let own_stream = 1000 + u64::from(block);
            self.alloc(1, own_stream, PoolId::DEFAULT);
        } else {
            self.ops.push(Op::Complete { block });
        }
    }

    fn complete(&mut self, at: usize) {
        if !self.waiting.is_empty() {
            let block = self.waiting.remove(at % self.waiting.len());
            self.ops.push(Op::Complete { block });
        }
    }

    fn requests(self, config: Config, limit_bytes: Option<u64>) -> Requests {
        let mut requests = Requests::new(self.ops, self.requested_bytes, config);
        requests.limit = match limit_bytes {
            Some(bytes) => Limit { kind: LimitKind::Fraction, known_bytes: Some(bytes), ..Limit::default() },
            None => Limit::default(),
        };
        requests
    }
}

/// Sizes around every threshold of the allocator as well as plain ones.
fn size_of(choice: u32) -> u64 {
    let edges =
        [1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 2 * MIB, 9 * MIB, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 32 * MIB];
    let choice = u64::from(choice);
    match choice % 4 {
        0 => edges[(choice / 4) as usize % edges.len()],
        1 => 1 + (choice * 7919) % (MIB / 2),
        2 => MIB + (choice * 104_729) % (12 * MIB),
        _ => 1 + (choice * 1_299_709) % (48 * MIB),
    }
}

fn program(choices: &[(u8, u32)], streams: u64, pools: usize, waits: bool, toggles: bool) -> Program {
    let mut program = Program::default();
    for &(kind, choice) in choices {
        let at = choice as usize;
        match kind % 16 {
            0..=7 => {
                let pool = POOLS[if at.is_multiple_of(5) { at / 5 % pools } else { 0 }];
                program.alloc(size_of(choice), u64::from(choice / 3) % streams, pool);
            }
            8..=11 => program.free(at, false),
            12 => program.free(at, waits),
            13 => program.complete(at),
            14 if at.is_multiple_of(4) => program.ops.push(Op::EmptyCache),
            15 if toggles => program.ops.push(Op::SetExpandable { on: at.is_multiple_of(2) }),
            _ => program.free(0, false),
        }
    }
    program
}

fn configs() -> impl Strategy<Value = Config> {
    let texts = [
        "",
        "max_split_size_mb:20",
        "max_split_size_mb:32,max_non_split_rounding_mb:24",
        "roundup_power2_divisions:4",
        "roundup_power2_divisions:[1:2,8:4,>:8]",
        "garbage_collection_threshold:0.3",
        "garbage_collection_threshold:0.7,max_split_size_mb:24",
        "large_segment_size_mb:12",
        "large_segment_size_mb:64",
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|text| Config::parse(text).expect("PyTorch takes this"))
}

fn limits() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (20u64..400).prop_map(|mib| Some(mib * MIB + 77))]
}

fn replay_all(requests: &Requests, capacity_bytes: Option<u64>) -> Vec<Replay> {
    let mut replays = Vec::new();
    for policy in POLICIES {
        for order in [Order::Driver, Order::Ascending, Order::Descending] {
            for stop_at_oom in [false, true] {
                let options = Options { stop_at_oom, ..Options::default() };
                let result = replay(*policy, requests, &mut BumpSource::new(order, capacity_bytes), &options);
                let violations = validate(requests, &result, capacity_bytes, None);
                assert!(violations.is_empty(), "{} {order:?}: {violations:?}", result.policy);
                replays.push(result);
            }
        }
    }
    replays
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_policy_is_sound(
        choices in prop::collection::vec((any::<u8>(), any::<u32>()), 1..160),
        streams in 1u64..4,
        pools in 1usize..4,
        config in configs(),
        limit in limits(),
        capacity in limits(),
        no_split in any::<bool>(),
        use_on_oom in any::<bool>(),
    ) {
        let mut requests = program(&choices, streams, pools, true, true).requests(config, limit);
        requests.pools = vec![PoolFacts { id: POOLS[2], no_split, use_on_oom }];
        let replays = replay_all(&requests, capacity);
        let ideal = replays.iter().find(|replay| replay.policy == "ideal").expect("ideal is a policy");
        for replay in replays.iter().filter(|replay| replay.outcome == Outcome::Ok) {
            prop_assert!(replay.peak_reserved_bytes >= ideal.peak_allocated_bytes);
            prop_assert!(replay.peak_allocated_bytes >= ideal.peak_allocated_bytes);
            prop_assert_eq!(replay.peak_requested_bytes >= ideal.peak_requested_bytes, true);
        }
    }

    #[test]
    fn replays_are_deterministic(choices in prop::collection::vec((any::<u8>(), any::<u32>()), 1..120), limit in limits()) {
        let requests = program(&choices, 3, 3, true, true).requests(Config::default(), limit);
        for policy in POLICIES {
            let run = || replay(*policy, &requests, &mut BumpSource::new(Order::Driver, None), &Options::default());
            let (one, other) = (run(), run());
            prop_assert_eq!(one.segment_events, other.segment_events);
            prop_assert_eq!(one.placements, other.placements);
            prop_assert_eq!(one.stats, other.stats);
        }
    }

    /// A replay written down and read again tells the same requests, and they replay to the same thing.
    #[test]
    fn a_recorded_replay_replays_exactly(
        choices in prop::collection::vec((any::<u8>(), any::<u32>()), 1..160),
        streams in 1u64..4,
        pools in 1usize..4,
        config in configs(),
        limit in limits(),
        expandable in any::<bool>(),
    ) {
        // Whether a block was completed before garbage was collected or by the wait after it is not always told.
        let waits = config.garbage_collection_threshold <= 0.0 && config.max_split_bytes == u64::MAX;
        let requests = program(&choices, streams, pools, waits, false).requests(config, limit);
        check_round_trip(&requests, expandable)?;
    }

    /// Whatever a file claims, nothing panics.
    #[test]
    fn nonsense_is_survived(
        claims in prop::collection::vec((0u8..9, hostile_number(), hostile_number(), 0u64..3), 0..60),
        segments in prop::collection::vec((hostile_number(), hostile_number(), hostile_number(), 0u8..3), 0..6),
        config in configs(),
        expandable in any::<bool>(),
    ) {
        let device = nonsense(&claims, &segments, expandable);
        let timeline = Timeline::with_config(&device, &config);
        let requests = Requests::of(&device, &timeline);
        for policy in POLICIES {
            let mut source = TraceSource::of(&device, requests.card_bytes());
            let result = replay(*policy, &requests, &mut source, &Options::default());
            let expected = if result.policy == "ideal" { 0 } else { requests.ops.len() };
            prop_assert_eq!(result.op_count as usize, expected);
        }
        for at in 0..device.events.len() as u32 {
            let _ = timeline.segments_at(at);
            let _ = timeline.live_at(at).count();
        }
    }

    /// The curves of a timeline agree with the statistics of the allocator that made the trace.
    #[test]
    fn a_timeline_keeps_the_allocators_books(
        choices in prop::collection::vec((any::<u8>(), any::<u32>()), 1..160),
        streams in 1u64..4,
        config in configs(),
        limit in limits(),
        dropped in 0usize..200,
        expandable in any::<bool>(),
    ) {
        let requests = program(&choices, streams, 3, true, false).requests(config.clone(), limit);
        let name = if expandable { "expandable_segments" } else { "native" };
        let result = replay(policy(name).expect("a policy"), &requests, &mut BumpSource::new(Order::Driver, None), &Options::default());
        let mut device = record(&requests, &result);
        let timeline = Timeline::with_config(&device, &config);
        prop_assert_eq!(timeline.peak_allocated.bytes, result.peak_allocated_bytes);
        prop_assert_eq!(timeline.peak_reserved.bytes, result.peak_reserved_bytes);
        // Dropping the oldest events changes nothing about reserved and requested bytes in what is left.
        let dropped = dropped.min(device.events.len());
        device.events.drain(..dropped);
        let late = Timeline::with_config(&device, &config);
        prop_assert_eq!(&late.reserved_bytes[..], &timeline.reserved_bytes[dropped..]);
        prop_assert_eq!(&late.requested_bytes[..], &timeline.requested_bytes[dropped..]);
    }
}

fn hostile_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0u64..8).prop_map(|n| n * 512),
        (0u64..64).prop_map(|n| n * MIB),
        (0u64..4).prop_map(|n| 0x7000_0000_0000 + n * 20 * MIB),
        any::<u64>(),
        Just(u64::MAX),
    ]
}

fn nonsense(claims: &[(u8, u64, u64, u64)], segments: &[(u64, u64, u64, u8)], expandable: bool) -> DeviceTrace {
    let actions = [
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
        Action::Oom,
        Action::Snapshot,
    ];
    let event = |&(action, addr, bytes, stream): &(u8, u64, u64, u64)| Event {
        addr,
        bytes,
        stream,
        time_us: 0,
        stack: StackId::EMPTY,
        forward: ForwardId::NONE,
        compile_context: StringId::MISSING,
        user_metadata: StringId::MISSING,
        module: StringId::MISSING,
        action: actions[action as usize],
        category: Category::Unknown,
        pool: None,
    };
    let segment = |&(address, bytes, block_bytes, state): &(u64, u64, u64, u8)| Segment {
        address,
        bytes,
        allocated_bytes: 0,
        active_bytes: 0,
        requested_bytes: 0,
        stream: 0,
        kind: if state == 0 { SegmentKind::Small } else { SegmentKind::Large },
        pool: PoolId(u64::from(state), 0),
        expandable,
        stack: StackId::EMPTY,
        blocks: vec![Block {
            address,
            bytes: block_bytes,
            requested_bytes: bytes,
            state: [BlockState::Allocated, BlockState::PendingFree, BlockState::Inactive][state as usize],
            stack: StackId::EMPTY,
            extra: Vec::new(),
        }],
        extra: Vec::new(),
    };
    DeviceTrace {
        events: claims.iter().map(event).collect(),
        segments: segments.iter().map(segment).collect(),
        ..DeviceTrace::default()
    }
}

fn exchanges(events: &[SegmentEvent]) -> Vec<(oomph_heap::SegmentAction, u64, u64)> {
    events.iter().map(|event| (event.action, event.address, event.bytes)).collect()
}

fn check_round_trip(requests: &Requests, expandable: bool) -> Result<(), TestCaseError> {
    let policy = policy(if expandable { "expandable_segments" } else { "native" }).expect("a policy");
    let first = replay(policy, requests, &mut BumpSource::new(Order::Driver, None), &Options::default());
    let device = record(requests, &first);
    let timeline = Timeline::with_config(&device, &requests.config);
    let read = Requests::of(&device, &timeline);
    let second = replay(policy, &read, &mut TraceSource::of(&device, None), &Options::default());
    prop_assert_eq!(exchanges(&first.segment_events), exchanges(&second.segment_events));
    let placed = |replay: &Replay| {
        let placements = replay.placements.iter().flatten();
        placements.map(|placement| (placement.address, placement.bytes)).collect::<Vec<_>>()
    };
    prop_assert_eq!(placed(&first), placed(&second));
    prop_assert_eq!(first.ooms.len(), second.ooms.len());
    prop_assert_eq!(first.peak_active_bytes, second.peak_active_bytes);
    let split_bytes = |replay: &Replay| replay.stats.inactive_split_bytes.all.current;
    prop_assert_eq!(split_bytes(&first), split_bytes(&second));
    Ok(())
}

/// Every program of up to six steps over a tiny vocabulary.
#[test]
fn every_tiny_program_is_sound() {
    let sizes = [MIB, 6 * MIB, 20 * MIB];
    let mut programs = 0;
    for code in 0..6u32.pow(6) {
        let mut program = Program::default();
        let mut rest = code;
        for _ in 0..6 {
            match rest % 6 {
                size @ 0..=2 => {
                    program.alloc(sizes[size as usize], 0, PoolId::DEFAULT);
                }
                3 => program.free(0, false),
                4 => program.free(usize::MAX / 2, true),
                _ => program.ops.push(Op::EmptyCache),
            }
            rest /= 6;
        }
        let requests = program.requests(Config::default(), Some(41 * MIB));
        for policy in POLICIES {
            let result = replay(*policy, &requests, &mut BumpSource::new(Order::Driver, None), &Options::default());
            let violations = validate(&requests, &result, None, None);
            assert!(violations.is_empty(), "{:?} {}: {violations:?}", requests.ops, result.policy);
        }
        programs += 1;
    }
    assert_eq!(programs, 46_656);
}

/// Robson's adversary: fill with small blocks, keep those that hurt most, double the size, again.
#[test]
fn robsons_adversary_costs_native_more_than_the_live_bytes() {
    let mut program = Program::default();
    let mut live: Vec<u32> = (0..4096).map(|_| program.alloc(512, 0, PoolId::DEFAULT)).collect();
    for round in 1..11u32 {
        let mut kept = Vec::new();
        for (at, block) in live.into_iter().enumerate() {
            if at % 2 == 0 {
                kept.push(block);
            } else if let Some(found) = program.held.iter().position(|&held| held == block) {
                program.free(found, false);
            }
        }
        let bytes = 512u64 << round;
        let freed = kept.len() as u64 * 512;
        for _ in 0..freed.div_ceil(bytes) {
            kept.push(program.alloc(bytes, 0, PoolId::DEFAULT));
        }
        live = kept;
    }
    let requests = program.requests(Config::default(), None);
    let replays = replay_all(&requests, None);
    let ideal = replays.iter().find(|replay| replay.policy == "ideal").expect("ideal is a policy");
    let native = replays.iter().find(|replay| replay.policy == "native").expect("native is a policy");
    assert!(native.peak_reserved_bytes > ideal.peak_allocated_bytes, "the adversary found nothing to exploit");
}

/// Steps that alternate between N and N + 1 make native keep both sizes; expandable segments hardly more than one.
#[test]
fn alternating_sizes_hurt_native_and_not_expandable_segments() {
    let mut program = Program::default();
    for step in 0..40u64 {
        let bytes = 100 * MIB + (step % 20) * 3 * MIB;
        for _ in 0..8 {
            program.alloc(bytes, 0, PoolId::DEFAULT);
        }
        for _ in 0..8 {
            program.free(0, false);
        }
    }
    let requests = program.requests(Config::default(), None);
    let replays = replay_all(&requests, None);
    let peak = |name: &str| replays.iter().find(|replay| replay.policy == name).expect("a policy").peak_reserved_bytes;
    assert!(peak("native") > peak("ideal") * 3 / 2, "{} {}", peak("native"), peak("ideal"));
    assert!(peak("expandable_segments") < peak("ideal") * 11 / 10);
}

#[test]
fn blocks_never_cross_streams() {
    let mut program = Program::default();
    for round in 0..50u64 {
        for stream in 0..16 {
            program.alloc(3 * MIB + round * 4096, stream, PoolId::DEFAULT);
        }
        for _ in 0..16 {
            program.free(round as usize, round % 3 == 0);
        }
        program.complete(round as usize);
    }
    let requests = program.requests(Config::default(), None);
    let replays = replay_all(&requests, None);
    let native = replays.iter().find(|replay| replay.policy == "native").expect("a policy");
    assert!(native.stats.segment.all.allocated >= 16, "each stream needs a segment of its own");
}

/// Every other block of 10 MiB freed: ordinary segments of that size go back one by one, but a unit of 20 MiB of an
/// expandable segment stays as long as half of it lives.
#[test]
fn a_checkerboard_pins_units_and_not_segments_of_their_own() {
    let mut program = Program::default();
    for _ in 0..128 {
        program.alloc(10 * MIB, 0, PoolId::DEFAULT);
    }
    for at in 0..64 {
        program.free(at, false);
    }
    program.alloc(640 * MIB, 0, PoolId::DEFAULT);
    let requests = program.requests(Config::default(), Some(1290 * MIB));
    let replays = replay_all(&requests, None);
    let of = |name: &'static str| replays.iter().filter(move |replay| replay.policy == name);
    assert!(of("native").all(|replay| replay.outcome == Outcome::Ok && replay.retries == 1));
    assert!(of("expandable_segments").all(|replay| matches!(replay.outcome, Outcome::Oom(_))));
}
