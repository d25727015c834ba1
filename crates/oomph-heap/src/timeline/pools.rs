//! Which pool a segment belonged to that was given back before the history ends.
//!
//! A snapshot of torch 2.11 names pools only for the segments that exist at the end. For the others two things tell.
//! When memory is given back, the default pool goes first, large segments before small ones, and then each private
//! pool, small ones before large ones, each in order of stream, size and address: a break in that order is where a
//! pool begins. And a request that did not take a block that would have fitted better shows that the block it took
//! and the one it left lay in different pools.

use std::collections::BTreeMap;

use oomph_trace::{Action, DeviceTrace, EventIndex, PoolId, SegmentKind};
use rustc_hash::FxHashSet;

use super::{LiveSpan, SegmentSpan};
use crate::config::Config;

/// Expandable segments reserve more addresses than the card has memory, so mappings this close belong together.
const REACH_BYTES: u64 = 1 << 33;

/// Names the pools of segments and of the blocks in them as well as the trace allows.
pub(super) fn assign_pools(
    device: &DeviceTrace,
    config: &Config,
    blocks: &mut [LiveSpan],
    segments: &mut [SegmentSpan],
) {
    // With these settings memory is given back in other orders too, and blocks that fit are passed over.
    let unclear = config.garbage_collection_threshold > 0.0 || config.max_split_bytes != u64::MAX;
    let named = device.events.iter().any(|event| event.pool.is_some());
    if unclear || named || !device.events.iter().any(is_release) {
        return;
    }
    let mut units = Units::of(segments);
    let runs = release_runs(device, &units, segments);
    let private_known = units.units.iter().any(|unit| unit.pool.is_some_and(|pool| pool != PoolId::DEFAULT));
    if !private_known && !runs.iter().any(|run| units.breaks_order(run)) {
        return;
    }
    let conflicts = Conflicts::of(device, config, blocks, segments, &units);
    let mut unnamed = 0;
    for run in &runs {
        for (at, group) in units.groups(run, &conflicts).into_iter().enumerate() {
            let pool = if at == 0 { PoolId::DEFAULT } else { units.name(&group, &conflicts, &mut unnamed) };
            for unit in group {
                units.units[unit].pool.get_or_insert(pool);
            }
        }
    }
    units.apply(blocks, segments);
}

fn is_release(event: &oomph_trace::Event) -> bool {
    matches!(event.action, Action::SegmentFree | Action::SegmentUnmap)
}

/// What belongs to one pool for certain: a segment, or all pieces of an expandable one.
struct Unit {
    stream: u64,
    small: bool,
    expandable: bool,
    address: u64,
    bytes: u64,
    obtained: Option<EventIndex>,
    released: Option<EventIndex>,
    /// The pool, once known.
    pool: Option<PoolId>,
}

struct Units {
    units: Vec<Unit>,
    /// For each segment, its unit.
    of_segment: Vec<usize>,
}

impl Units {
    fn of(segments: &[SegmentSpan]) -> Self {
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|&at| (segments[at].expandable, segments[at].stream, segments[at].address));
        let mut units: Vec<Unit> = Vec::new();
        let mut of_segment = vec![0; segments.len()];
        for at in order {
            let segment = &segments[at];
            let joins = |unit: &Unit| {
                unit.expandable
                    && segment.expandable
                    && unit.stream == segment.stream
                    && segment.address <= (unit.address + unit.bytes).saturating_add(REACH_BYTES)
            };
            if !units.last().is_some_and(joins) {
                units.push(Unit {
                    stream: segment.stream,
                    small: segment.kind == SegmentKind::Small,
                    expandable: segment.expandable,
                    address: segment.address,
                    bytes: 0,
                    obtained: segment.obtained,
                    released: segment.released,
                    pool: None,
                });
            }
            let last = units.len() - 1;
            units[last].include(segment);
            of_segment[at] = last;
        }
        Self { units, of_segment }
    }

    /// PyTorch's order within one half of one pool.
    fn key(&self, unit: usize) -> (u64, u64, u64) {
        let unit = &self.units[unit];
        (unit.stream, if unit.expandable { 0 } else { unit.bytes }, unit.address)
    }

    fn breaks_order(&self, run: &[usize]) -> bool {
        run.windows(2).any(|pair| !self.follows(pair[0], pair[1], true))
    }

    /// Whether `next` may be given back right after `last` by the same pool.
    fn follows(&self, last: usize, next: usize, default_pool: bool) -> bool {
        let (last_small, next_small) = (self.units[last].small, self.units[next].small);
        if last_small == next_small {
            self.key(last) <= self.key(next)
        } else {
            // The default pool gives back its large half first, the others their small half.
            next_small == default_pool
        }
    }

    /// A run of releases cut into pools; the first group is the default pool's and may be empty.
    fn groups(&self, run: &[usize], conflicts: &Conflicts) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        for &unit in run {
            let default_pool = groups.len() == 1;
            let group = &groups[groups.len() - 1];
            let known = self.units[unit].pool;
            let fits = group.last().is_none_or(|&last| self.follows(last, unit, default_pool))
                && !group.iter().any(|&other| self.differ(unit, other, conflicts))
                && known.is_none_or(|pool| !default_pool || pool == PoolId::DEFAULT);
            if !fits {
                let begun = self.pull_back(&mut groups, unit, conflicts);
                groups.push(begun);
            }
            let last = groups.len() - 1;
            groups[last].push(unit);
        }
        groups
    }

    /// When a large segment begins a pool, the small ones of its stream right before it belong to that pool too.
    fn pull_back(&self, groups: &mut [Vec<usize>], unit: usize, conflicts: &Conflicts) -> Vec<usize> {
        let mut pulled = Vec::new();
        if groups.len() != 1 || self.units[unit].small {
            return pulled;
        }
        while let Some(&last) = groups[0].last() {
            let candidate = &self.units[last];
            let belongs = candidate.small
                && candidate.stream == self.units[unit].stream
                && candidate.pool != Some(PoolId::DEFAULT)
                && !pulled.iter().any(|&other| self.differ(last, other, conflicts));
            if !belongs {
                break;
            }
            groups[0].pop();
            pulled.insert(0, last);
        }
        pulled
    }

    fn differ(&self, a: usize, b: usize, conflicts: &Conflicts) -> bool {
        let (one, other) = (&self.units[a], &self.units[b]);
        if a != b && one.expandable && other.expandable && one.small == other.small && one.stream == other.stream {
            // A pool has one expandable segment for each stream and half at a time.
            return one.overlaps(other);
        }
        matches!((one.pool, other.pool), (Some(one), Some(other)) if one != other) || conflicts.between(a, b)
    }

    /// The pool of a group: one of those known at the end if nothing speaks against it, else one without a name.
    fn name(&self, group: &[usize], conflicts: &Conflicts, unnamed: &mut u64) -> PoolId {
        if let Some(pool) = group.iter().find_map(|&unit| self.units[unit].pool) {
            return pool;
        }
        let members = |pool: PoolId| (0..self.units.len()).filter(move |&unit| self.units[unit].pool == Some(pool));
        let mut pools: Vec<PoolId> = self.units.iter().filter_map(|unit| unit.pool).collect();
        pools.sort_unstable();
        pools.dedup();
        let fitting = pools.into_iter().filter(|&pool| pool != PoolId::DEFAULT).find(|&pool| {
            let shares_stream = members(pool).any(|unit| self.units[unit].stream == self.units[group[0]].stream);
            let clash = members(pool).any(|unit| group.iter().any(|&member| self.differ(unit, member, conflicts)));
            shares_stream && !clash
        });
        fitting.unwrap_or_else(|| {
            *unnamed += 1;
            PoolId(u64::MAX - *unnamed, 0)
        })
    }

    fn apply(&self, blocks: &mut [LiveSpan], segments: &mut [SegmentSpan]) {
        for (segment, &unit) in segments.iter_mut().zip(&self.of_segment) {
            segment.pool = self.units[unit].pool.unwrap_or(segment.pool);
        }
        let mut by_address: BTreeMap<u64, Vec<&SegmentSpan>> = BTreeMap::new();
        for segment in segments.iter() {
            by_address.entry(segment.address).or_default().push(segment);
        }
        for block in blocks {
            let below = by_address.range(..=block.address).rev().flat_map(|(_, segments)| segments);
            let home = below.take(64).find(|segment| holds(segment, block));
            block.pool = home.map_or(block.pool, |segment| segment.pool);
        }
    }
}

impl Unit {
    fn include(&mut self, segment: &SegmentSpan) {
        self.bytes = self.bytes.max(segment.address + segment.bytes - self.address);
        self.obtained = self.obtained.min(segment.obtained);
        if segment.released.is_none() {
            self.released = None;
            self.pool = Some(segment.pool);
        } else if self.released.is_some() {
            self.released = self.released.max(segment.released);
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let ends_before =
            |a: &Self, b: &Self| a.released.is_some_and(|end| b.obtained.is_some_and(|start| end < start));
        !ends_before(self, other) && !ends_before(other, self)
    }
}

fn holds(segment: &SegmentSpan, block: &LiveSpan) -> bool {
    let inside = segment.address <= block.address && block.address < segment.address + segment.bytes;
    let born_after = segment.obtained <= block.alloc;
    let gone_before = segment.released.is_none_or(|released| block.alloc.is_none_or(|alloc| alloc < released));
    inside && born_after && gone_before
}

/// Stretches of releases from one place in the program, as units in the order they were given back.
fn release_runs(device: &DeviceTrace, units: &Units, segments: &[SegmentSpan]) -> Vec<Vec<usize>> {
    let mut released: BTreeMap<EventIndex, usize> = BTreeMap::new();
    for (at, segment) in segments.iter().enumerate() {
        if let Some(event) = segment.released {
            released.entry(event).or_insert(units.of_segment[at]);
        }
    }
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut last: Option<EventIndex> = None;
    for (event, unit) in released {
        let stack = |at: EventIndex| device.events[at as usize].stack;
        let continues = last.is_some_and(|last| last + 1 == event && stack(last) == stack(event));
        if !continues {
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut()
            && run.last() != Some(&unit)
        {
            run.push(unit);
        }
        last = Some(event);
    }
    runs
}

/// Pairs of segments that cannot be of the same pool.
struct Conflicts {
    pairs: FxHashSet<(usize, usize)>,
}

impl Conflicts {
    fn between(&self, a: usize, b: usize) -> bool {
        self.pairs.contains(&(a.min(b), a.max(b)))
    }

    fn of(device: &DeviceTrace, config: &Config, blocks: &[LiveSpan], segments: &[SegmentSpan], units: &Units) -> Self {
        // Only where a segment's pool is not known does it matter.
        let unknown = units.units.iter().filter(|unit| unit.pool.is_none());
        let streams: FxHashSet<u64> = unknown.map(|unit| unit.stream).collect();
        let mut gaps = Gaps::default();
        let mut pairs = FxHashSet::default();
        let mut obtained: BTreeMap<EventIndex, usize> = BTreeMap::new();
        for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.expandable) {
            match segment.obtained {
                Some(event) => drop(obtained.insert(event, at)),
                None => gaps.open(units.of_segment[at], segment),
            }
        }
        let mut born: BTreeMap<EventIndex, &LiveSpan> = BTreeMap::new();
        let mut done: BTreeMap<EventIndex, &LiveSpan> = BTreeMap::new();
        for block in blocks {
            match block.alloc {
                Some(alloc) => drop(born.insert(alloc, block)),
                None => gaps.take(block),
            }
            if let Some(event) = block.free_completed {
                done.insert(event, block);
            }
        }
        for (at, event) in device.events.iter().enumerate() {
            let at = at as EventIndex;
            match event.action {
                Action::SegmentAlloc => {
                    if let Some(&segment) = obtained.get(&at) {
                        gaps.open(units.of_segment[segment], &segments[segment]);
                    }
                }
                Action::SegmentFree => gaps.close(event.addr),
                Action::Alloc => {
                    if let Some(block) = born.get(&at) {
                        if streams.contains(&block.stream) {
                            gaps.find_passed_over(block, config, units, &mut pairs);
                        }
                        gaps.take(block);
                    }
                }
                _ => {}
            }
            if let Some(block) = done.get(&at) {
                gaps.give(block);
            }
        }
        Self { pairs }
    }
}

/// Free memory of each ordinary segment.
#[derive(Default)]
struct Gaps {
    /// By address of the segment: its end, its unit, and its free stretches.
    segments: BTreeMap<u64, (u64, usize, BTreeMap<u64, u64>)>,
    /// The segment just obtained, for a request that found nothing else.
    fresh: Option<usize>,
}

impl Gaps {
    fn open(&mut self, unit: usize, segment: &SegmentSpan) {
        let free = BTreeMap::from([(segment.address, segment.bytes)]);
        self.segments.insert(segment.address, (segment.address + segment.bytes, unit, free));
        self.fresh = Some(unit);
    }

    fn close(&mut self, address: u64) {
        self.segments.remove(&address);
    }

    fn home(&mut self, address: u64) -> Option<&mut (u64, usize, BTreeMap<u64, u64>)> {
        self.segments.range_mut(..=address).next_back().map(|(_, home)| home).filter(|home| address < home.0)
    }

    fn take(&mut self, block: &LiveSpan) {
        let Some((_, _, free)) = self.home(block.address) else { return };
        let Some((&start, &bytes)) = free.range(..=block.address).next_back() else { return };
        free.remove(&start);
        if start < block.address {
            free.insert(start, block.address - start);
        }
        let (end, block_end) = (start + bytes, block.address + block.bytes);
        if block_end < end {
            free.insert(block_end, end - block_end);
        }
    }

    fn give(&mut self, block: &LiveSpan) {
        let Some((_, _, free)) = self.home(block.address) else { return };
        let (mut start, mut end) = (block.address, block.address + block.bytes);
        if let Some((&before, &bytes)) = free.range(..start).next_back()
            && before + bytes == start
        {
            free.remove(&before);
            start = before;
        }
        if let Some(bytes) = free.remove(&end) {
            end += bytes;
        }
        free.insert(start, end - start);
    }

    /// Notes every segment whose free memory a new block should have been put into, had it been of the same pool.
    fn find_passed_over(
        &mut self,
        block: &LiveSpan,
        config: &Config,
        units: &Units,
        pairs: &mut FxHashSet<(usize, usize)>,
    ) {
        let rounded_bytes = config.round(block.requested_bytes);
        let fresh = self.fresh.take();
        let Some((_, home, free)) = self.home(block.address) else { return };
        let home = *home;
        let Some(&taken_bytes) = free.get(&block.address) else { return };
        let small = units.units[home].small;
        let nothing_fitted = fresh == Some(home);
        for (_, unit, free) in self.segments.values() {
            let other = &units.units[*unit];
            if *unit == home || other.stream != block.stream || other.small != small {
                continue;
            }
            let better = free.iter().any(|(&address, &bytes)| {
                bytes >= rounded_bytes && (nothing_fitted || (bytes, address) < (taken_bytes, block.address))
            });
            if better {
                pairs.insert((home.min(*unit), home.max(*unit)));
            }
        }
    }
}
