//! How long a million events take: `cargo run --release -p oomph-heap --example replay_speed [EVENTS]`.
#![expect(clippy::print_stdout, reason = "figures are the point of this example")]

use std::time::Instant;

use oomph_heap::{
    BumpSource, Config, MIB, Op, Options, Order, POLICIES, Requests, Timeline, TraceSource, policy, record, replay,
};
use oomph_trace::PoolId;

/// Training steps whose sequence length changes from step to step, with weights that stay: about `events` events.
fn ragged_training(events: usize) -> Requests {
    let mut ops = Vec::with_capacity(events);
    let mut requested_bytes = Vec::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut alloc = |ops: &mut Vec<Op>, bytes: u64| {
        let block = requested_bytes.len() as u32;
        requested_bytes.push(bytes);
        ops.push(Op::Alloc { block, bytes, stream: 0, pool: PoolId::DEFAULT });
        block
    };
    for layer in 0..400u64 {
        alloc(&mut ops, (1 + layer % 9) * MIB / 2);
    }
    while ops.len() < events {
        let length = 64 + random(960);
        let mut kept = Vec::new();
        for layer in 0..120u64 {
            let bytes = length * (768 + 256 * (layer % 5)) * 4;
            kept.push(alloc(&mut ops, bytes));
            let scratch = alloc(&mut ops, length * 64 + layer);
            ops.extend([Op::Free { block: scratch }, Op::Complete { block: scratch }]);
        }
        while let Some(block) = kept.pop() {
            let gradient = alloc(&mut ops, length * 3072);
            ops.extend([Op::Free { block }, Op::Complete { block }]);
            ops.extend([Op::Free { block: gradient }, Op::Complete { block: gradient }]);
        }
    }
    Requests::new(ops, requested_bytes, Config::default())
}

fn timed<T>(what: &str, events: usize, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    println!("{what:34} {:8.1} ms  {:6.0} ns an event", seconds * 1e3, seconds * 1e9 / events as f64);
    result
}

fn main() {
    let events = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let requests = ragged_training(events);
    let native = policy("native").unwrap_or(POLICIES[0]);
    let recorded = replay(native, &requests, &mut BumpSource::new(Order::Driver, None), &Options::default());
    let device = record(&requests, &recorded);
    let count = device.events.len();
    println!("{count} events, {} blocks, {} segments", requests.block_count(), recorded.segment_count);
    let timeline = timed("timeline", count, || Timeline::of(&device));
    let requests = timed("requests", count, || Requests::of(&device, &timeline));
    for policy in POLICIES {
        let name = format!("replay {}", policy.page().name);
        let result = timed(&name, count, || {
            replay(*policy, &requests, &mut TraceSource::of(&device, None), &Options::default())
        });
        println!("    peak reserved {:.2} GiB", result.peak_reserved_bytes as f64 / (1u64 << 30) as f64);
    }
    timed("segment map at the peak", count, || timeline.segments_at(timeline.peak_reserved.event));
}
