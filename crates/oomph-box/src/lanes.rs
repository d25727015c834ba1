//! Streams and pools, each pair kept once.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{LANE_WORDS, Layout, MAX_LANES, Region, word};
use crate::memory::Memory;

/// The lane of a stream and pool, if it is known. There are few, and those in use come first.
#[inline]
pub(crate) fn find(memory: &Memory, region: Region, stream: u64, pool: (u64, u64)) -> Option<u16> {
    if stream == 0 && pool == (0, 0) { Some(0) } else { find_other(memory, region, stream, pool) }
}

#[inline(never)]
fn find_other(memory: &Memory, region: Region, stream: u64, pool: (u64, u64)) -> Option<u16> {
    let used = memory.words().get(word::LANES_USED).map_or(0, |word| word.load(Acquire)) as usize;
    let (lanes, _) = memory.slice(region.start, used.min(MAX_LANES) * LANE_WORDS).as_chunks::<LANE_WORDS>();
    let found = lanes.iter().skip(1).position(|[held, first, second, _]| {
        held.load(Relaxed) == stream && first.load(Relaxed) == pool.0 && second.load(Relaxed) == pool.1
    });
    found.map(|index| index as u16 + 1)
}

/// Adds a lane; 0 where there is no room. Only one thread at a time may do this.
pub(crate) fn add(memory: &Memory, layout: &Layout, stream: u64, pool: (u64, u64)) -> u16 {
    if let Some(lane) = find(memory, layout.lanes, stream, pool) {
        return lane;
    }
    let Some(used) = memory.words().get(word::LANES_USED) else { return 0 };
    let lane = used.load(Relaxed).max(1);
    if lane as usize >= MAX_LANES {
        return 0;
    }
    let at = layout.lanes.start + lane as usize * LANE_WORDS;
    memory.store(at, stream);
    memory.store(at + 1, pool.0);
    memory.store(at + 2, pool.1);
    memory.store(at + 3, check(stream, pool));
    used.store(lane + 1, Release);
    lane as u16
}

/// Stream and pool of a lane, if there is one.
pub(crate) fn read(memory: &Memory, region: Region, lane: u16) -> Option<(u64, (u64, u64))> {
    let lane = Some(usize::from(lane)).filter(|lane| (1..MAX_LANES).contains(lane))?;
    let words = memory.record::<LANE_WORDS>(region.start + lane * LANE_WORDS)?;
    let [stream, first, second, checked] = words.each_ref().map(|word| word.load(Relaxed));
    (checked == check(stream, (first, second))).then_some((stream, (first, second)))
}

fn check(stream: u64, pool: (u64, u64)) -> u64 {
    (stream ^ pool.0.rotate_left(21) ^ pool.1.rotate_left(42)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}
