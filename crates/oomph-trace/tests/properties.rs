//! Any trace survives both of its files.

use oomph_trace::{
    Action, AllocatorSettings, Block, BlockState, Category, DeviceTrace, Event, Extra, ForwardId, Frame, Interner,
    Mark, MarkStage, Origin, PoolId, Segment, SegmentKind, StackId, StringId, Trace, Value, write_oomph_trace,
    write_torch_snapshot,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (1 << 63..=u64::MAX).prop_map(Value::Unsigned),
        (-1e300..1e300).prop_map(Value::Float),
        ".{0,300}".prop_map(Value::Text),
        vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec(inner.clone(), 0..6).prop_map(Value::Tuple),
            // Distinct keys, as every dictionary has.
            vec(inner, 0..4)
                .prop_map(|items| { Value::Dict((0..).zip(items).map(|(at, item)| (Value::Int(at), item)).collect()) }),
        ]
    })
}

/// Keys no part of the format uses.
fn extra() -> impl Strategy<Value = Extra> {
    let some = vec(value(), 1..3);
    prop_oneof![4 => Just(Vec::new()), 1 => some].prop_map(|values| {
        values.into_iter().enumerate().map(|(at, value)| (format!("new_in_torch_{at}"), value)).collect()
    })
}

fn edgy() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..=300_u64, Just(u64::MAX), Just(1 << 63), Just(u64::from(u32::MAX)), Just(65_536)]
}

/// The handles there are: interned in an order of their own.
#[derive(Clone, Debug)]
struct Tables {
    interner: Interner,
    strings: Vec<StringId>,
    stacks: Vec<StackId>,
    forwards: Vec<ForwardId>,
}

fn tables() -> impl Strategy<Value = Tables> {
    let texts = vec("\\PC{0,20}", 1..8);
    let frames = vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u32>(), extra()), 1..8);
    let stacks = vec(vec(any::<prop::sample::Index>(), 0..5), 0..6);
    let forwards = vec(vec(any::<prop::sample::Index>(), 0..4), 0..3);
    (texts, frames, stacks, forwards).prop_map(|(texts, frames, stacks, forwards)| {
        let mut interner = Interner::new();
        let strings: Vec<_> = texts.iter().map(|text| interner.intern_string(text)).collect();
        let frames: Vec<_> = frames
            .into_iter()
            .map(|(name, file, line, extra)| {
                let (name, file) = (*name.get(&strings), *file.get(&strings));
                interner.intern_frame(Frame { name, file, line, extra })
            })
            .collect();
        let mut stacks: Vec<_> = stacks
            .iter()
            .map(|stack| {
                let stack: Vec<_> = stack.iter().map(|at| *at.get(&frames)).collect();
                interner.intern_stack(&stack)
            })
            .collect();
        stacks.extend([StackId::EMPTY, StackId::MISSING]);
        let mut handles: Vec<_> = forwards
            .iter()
            .map(|lines| {
                let lines: Vec<_> = lines.iter().map(|at| *at.get(&strings)).collect();
                interner.intern_forward(&lines)
            })
            .collect();
        handles.push(ForwardId::NONE);
        Tables { interner, strings, stacks, forwards: handles }
    })
}

fn category() -> impl Strategy<Value = Category> {
    prop::sample::select(vec![
        Category::Unknown,
        Category::Parameter,
        Category::Gradient,
        Category::Optimizer,
        Category::Activation,
        Category::Workspace,
        Category::Input,
        Category::Other,
    ])
}

fn pool() -> impl Strategy<Value = PoolId> {
    (edgy(), edgy()).prop_map(|(first, second)| PoolId(first, second))
}

fn action(strings: Vec<StringId>, table: Interner) -> impl Strategy<Value = Action> {
    let known = prop::sample::select(vec![
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
        Action::Snapshot,
        Action::Oom,
    ]);
    // A text that spells a known action is that action.
    let other = prop::sample::select(strings)
        .prop_map(move |id| Action::from_name(table.table().string(id).as_bytes()).unwrap_or(Action::Other(id)));
    prop_oneof![4 => known, 1 => other]
}

fn event(tables: &Tables) -> impl Strategy<Value = (Event, Extra)> + use<> {
    let text =
        option::of(prop::sample::select(tables.strings.clone())).prop_map(|text| text.unwrap_or(StringId::MISSING));
    (
        (edgy(), edgy(), edgy(), edgy()),
        (prop::sample::select(tables.stacks.clone()), prop::sample::select(tables.forwards.clone())),
        (text.clone(), text.clone(), text),
        (action(tables.strings.clone(), tables.interner.clone()), category(), option::of(pool())),
        extra(),
    )
        .prop_map(|((addr, bytes, stream, time_us), (stack, forward), texts, (action, category, pool), extra)| {
            let (compile_context, user_metadata, module) = texts;
            let event = Event {
                addr,
                bytes,
                stream,
                time_us,
                stack,
                forward,
                compile_context,
                user_metadata,
                module,
                action,
                category,
                pool,
            };
            (event, extra)
        })
}

fn segment(tables: &Tables) -> impl Strategy<Value = Segment> + use<> {
    let state = prop::sample::select(vec![BlockState::Allocated, BlockState::PendingFree, BlockState::Inactive]);
    let stack = prop::sample::select(tables.stacks.clone());
    let block = (edgy(), edgy(), edgy(), state, stack.clone(), extra()).prop_map(
        |(address, bytes, requested_bytes, state, stack, extra)| Block {
            address,
            bytes,
            requested_bytes,
            state,
            stack,
            extra,
        },
    );
    (
        (edgy(), edgy(), edgy(), edgy(), edgy(), edgy()),
        (any::<bool>(), pool(), any::<bool>(), stack),
        vec(block, 0..4),
        extra(),
    )
        .prop_map(|(numbers, (small, pool, expandable, stack), blocks, extra)| Segment {
            address: numbers.0,
            bytes: numbers.1,
            allocated_bytes: numbers.2,
            active_bytes: numbers.3,
            requested_bytes: numbers.4,
            stream: numbers.5,
            kind: if small { SegmentKind::Small } else { SegmentKind::Large },
            pool,
            expandable,
            stack,
            blocks,
            extra,
        })
}

fn mark(tables: &Tables) -> impl Strategy<Value = Mark> + use<> {
    let text = prop::sample::select(tables.strings.clone());
    let table = tables.interner.clone();
    let other = text.clone().prop_map(move |id| match table.table().string(id) {
        "START" => MarkStage::Start,
        "END" => MarkStage::End,
        _ => MarkStage::Other(id),
    });
    let stage = prop_oneof![Just(MarkStage::Start), Just(MarkStage::End), Just(MarkStage::Instant), other];
    (any::<u32>(), edgy(), text, stage, extra()).prop_map(|(device, time_us, name, stage, extra)| Mark {
        device,
        time_us,
        name,
        stage,
        extra,
    })
}

fn settings() -> impl Strategy<Value = AllocatorSettings> {
    let some = (
        option::of(".{0,40}"),
        option::of(0..=1_u64 << 50),
        option::of(0.0..1.0),
        option::of(any::<bool>()),
        vec((edgy(), 0..64_u64), 0..4),
        extra(),
    );
    some.prop_map(|(conf, max_split_bytes, threshold, expandable_segments, mut divisions, extra)| {
        divisions.sort_unstable();
        divisions.dedup_by_key(|(mebibytes, _)| *mebibytes);
        AllocatorSettings {
            conf,
            max_split_bytes,
            garbage_collection_threshold: threshold,
            expandable_segments,
            roundup_power2_divisions: divisions,
            extra,
        }
    })
}

fn device(tables: &Tables) -> impl Strategy<Value = DeviceTrace> + use<> {
    let capacity = (option::of(edgy()), option::of(edgy()), option::of(edgy()));
    (capacity, vec(event(tables), 0..12), vec(segment(tables), 0..4)).prop_map(|(capacity, events, segments)| {
        let (events, extras): (Vec<_>, Vec<_>) = events.into_iter().unzip();
        let event_extra = extras.into_iter().enumerate().filter(|(_, extra)| !extra.is_empty());
        DeviceTrace {
            ordinal: 0,
            total_bytes: capacity.0,
            limit_bytes: capacity.1,
            other_process_bytes: capacity.2,
            events,
            segments,
            event_extra: event_extra.map(|(at, extra)| (at as u32, extra)).collect(),
        }
    })
}

fn trace() -> impl Strategy<Value = Trace> {
    tables().prop_flat_map(|tables| {
        let origin = prop::sample::select(vec![Origin::TorchSnapshot, Origin::HollowRun, Origin::RealRun]);
        let gaps = vec(prop_oneof![3 => Just(0), 1 => 0..40_u32], 4);
        (origin, vec(device(&tables), 0..4), gaps, vec(mark(&tables), 0..4), settings(), extra()).prop_map(
            move |(origin, mut devices, gaps, marks, settings, extra)| {
                let mut ordinal = 0;
                for (device, gap) in devices.iter_mut().zip(gaps) {
                    ordinal += gap;
                    device.ordinal = ordinal;
                    ordinal += 1;
                }
                let mut trace = Trace::new(origin);
                (trace.devices, trace.marks, trace.settings, trace.extra) = (devices, marks, settings, extra);
                trace.stacks = tables.interner.clone().into_table();
                trace
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_torch_snapshot_gives_the_trace_back(trace in trace()) {
        let mut written = Vec::new();
        write_torch_snapshot(&trace, &mut written).unwrap();
        let again = Trace::from_bytes(&written, "written").unwrap();
        prop_assert!(trace == again, "{trace:#?}\n{again:#?}");
    }

    #[test]
    fn an_oomph_file_gives_the_trace_back(trace in trace()) {
        let mut written = Vec::new();
        write_oomph_trace(&trace, &mut written).unwrap();
        let again = Trace::from_bytes(&written, "written").unwrap();
        prop_assert!(trace == again, "{trace:#?}\n{again:#?}");
        prop_assert_eq!(&trace.stacks, &again.stacks);
    }

    #[test]
    fn bent_files_never_panic(trace in trace(), at in any::<prop::sample::Index>(), byte in any::<u8>(), own in any::<bool>()) {
        let mut written = Vec::new();
        if own {
            write_oomph_trace(&trace, &mut written).unwrap();
        } else {
            write_torch_snapshot(&trace, &mut written).unwrap();
        }
        let at = at.index(written.len());
        written[at] = byte;
        let _ = Trace::from_bytes(&written, "bent");
        let _ = Trace::from_bytes(&written[..at], "cut");
    }
}
