//! PyTorch 2.11's caching allocator, step by step.
//!
//! Everything is done in the order PyTorch does it, because the order decides which block is found next. The only
//! things left out are those that place nothing: locks, callbacks and error texts.

mod arena;
mod grow;
mod pools;
mod release;
mod seed;
mod stats;
#[cfg(test)]
mod tests;
mod types;

use oomph_trace::PoolId;

use self::arena::{Arena, Block, NONE, Slot, State};
use self::pools::Pool;
pub use self::stats::{Stat, StatByHalf, Stats};
pub use self::types::{AllocRequest, BEFORE_OPS, Limits, OutOfMemory, Placement, SegmentAction, SegmentEvent, Sync};
use crate::config::{Config, SMALL_LIMIT_BYTES};
use crate::source::Source;
use crate::timeline::BlockId;

/// Requests of at least this many bytes fail at once.
const ABSURD_BYTES: u64 = 1 << 60;

/// A segment, or the addresses reserved for an expandable one.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// First byte; of an expandable segment, where its reserved addresses begin.
    address: u64,
    stream: u64,
    pool: u32,
    small: bool,
    expandable: bool,
}

/// The allocator of one device.
#[derive(Clone, Debug)]
pub struct Allocator {
    config: Config,
    limits: Limits,
    blocks: Arena,
    segments: Vec<Segment>,
    vacant_segments: Vec<u32>,
    /// The default pool is the first.
    pools: Vec<Pool>,
    /// Pools nobody routes requests to any more: their memory may go back to the driver.
    freeable: Vec<usize>,
    /// Blocks by name.
    named: Vec<Slot>,
    /// Names of blocks that wait for a stream, in the order they were given back.
    waiting: Vec<BlockId>,
    reserved_bytes: u64,
    stats: Stats,
    events: Vec<SegmentEvent>,
    syncs: Vec<Sync>,
    op: u32,
}

/// A request on its way through the allocator.
#[derive(Clone, Copy)]
struct Search {
    rounded_bytes: u64,
    segment_bytes: u64,
    stream: u64,
    pool: u32,
    small: bool,
    /// Whether new memory for it comes from an expandable segment.
    expandable: bool,
}

impl Allocator {
    /// An allocator that owns nothing yet.
    #[must_use]
    pub fn new(config: &Config, limits: Limits) -> Self {
        Self {
            config: config.clone(),
            limits,
            blocks: Arena::default(),
            segments: Vec::new(),
            vacant_segments: Vec::new(),
            pools: vec![Pool::new(PoolId::DEFAULT)],
            freeable: Vec::new(),
            named: Vec::new(),
            waiting: Vec::new(),
            reserved_bytes: 0,
            stats: Stats::default(),
            events: Vec::new(),
            syncs: Vec::new(),
            op: BEFORE_OPS,
        }
    }

    /// Numbers what follows: events carry the number of the operation that caused them.
    pub fn begin_op(&mut self, op: u32) {
        self.op = op;
    }

    /// Turns expandable segments on or off for what follows.
    pub fn set_expandable(&mut self, on: bool) {
        self.config.expandable_segments = on;
    }

    /// Flags a pool as never splitting blocks, and as serving others' requests before those fail.
    pub fn set_pool_options(&mut self, pool: PoolId, no_split: bool, use_on_oom: bool) {
        let pool = self.pool_index(pool) as usize;
        self.pools[pool].no_split = no_split;
        self.pools[pool].use_on_oom = use_on_oom;
    }

    /// Says that nobody routes requests to a pool any more: its memory may go back to the driver.
    pub fn release_pool(&mut self, pool: PoolId) {
        let pool = self.pool_index(pool) as usize;
        if pool != 0 && !self.freeable.contains(&pool) {
            self.freeable.push(pool);
        }
    }

    /// The statistics so far.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Every exchange with the driver so far, and the operations during which all streams were waited for.
    #[must_use]
    pub fn into_log(self) -> (Vec<SegmentEvent>, Vec<Sync>) {
        (self.events, self.syncs)
    }

    /// Where a block is, if a client holds it or a stream uses it.
    #[must_use]
    pub fn placement(&self, block: BlockId) -> Option<Placement> {
        let block = self.blocks.find(*self.named.get(block as usize)?)?;
        Some(self.placement_of(block))
    }

    /// Serves a request.
    ///
    /// # Errors
    /// If there is no room even after everything cached was given back.
    pub fn alloc(&mut self, request: AllocRequest, source: &mut dyn Source) -> Result<Placement, OutOfMemory> {
        let rounded_bytes = self.config.round(request.bytes);
        let mut search = Search {
            rounded_bytes,
            segment_bytes: self.config.segment_bytes(rounded_bytes),
            stream: request.stream,
            pool: self.pool_index(request.pool),
            small: rounded_bytes <= SMALL_LIMIT_BYTES,
            expandable: self.config.expandable_segments,
        };
        if search.pool != 0 {
            self.freeable.retain(|&pool| pool != search.pool as usize);
        }
        // PyTorch refuses requests of this size before it looks at anything.
        let sensible = request.bytes < ABSURD_BYTES;
        let found =
            if sensible { self.find_free(&search).or_else(|| self.find_new(&mut search, source)) } else { None };
        let Some(slot) = found else {
            self.stats.num_ooms += 1;
            return Err(OutOfMemory {
                rounded_bytes,
                segment_bytes: search.segment_bytes,
                allocated_bytes: self.stats.allocated_bytes.all.current,
                reserved_bytes: self.reserved_bytes,
            });
        };
        Ok(self.hand_out(slot, &search, request))
    }

    /// Everything PyTorch tries when no cached block will do, in its order.
    fn find_new(&mut self, search: &mut Search, source: &mut dyn Source) -> Option<Slot> {
        if self.collects_garbage() {
            self.collect_garbage(source);
        }
        // Nothing may be waited for or given back while a graph is captured or a pool is in use.
        let routed = search.pool != 0;
        if let Some(slot) = self.grow(search, source) {
            return Some(slot);
        }
        if !routed && let Some(slot) = self.find_in_spare_pools(search) {
            return Some(slot);
        }
        if self.release_oversize(search, source)
            && let Some(slot) = self.grow(search, source)
        {
            return Some(slot);
        }
        if routed {
            return None;
        }
        self.release_cached(source);
        self.stats.num_alloc_retries += 1;
        self.grow(search, source)
    }

    fn collects_garbage(&self) -> bool {
        self.limits.limit_bytes.is_some() && self.config.garbage_collection_threshold > 0.0
    }

    /// The smallest free block of the same pool and stream that is large enough; the lowest of equals.
    fn find_free(&mut self, search: &Search) -> Option<Slot> {
        let counts = self.collects_garbage();
        let half = self.pools[search.pool as usize].half_mut(search.small);
        half.searches += u64::from(counts);
        let half = self.pools[search.pool as usize].half(search.small);
        let mut candidates = half.free_of(search.stream)?.range((search.rounded_bytes, 0, 0)..).map(|entry| entry.2);
        let mut slot = candidates.next()?;
        if self.is_expandable(slot) {
            if search.expandable {
                // A block that can grow counts with all it can grow to; smaller ones that cannot are preferred.
                for next in candidates {
                    if !self.is_expandable(slot) || self.reach_bytes(next) >= self.reach_bytes(slot) {
                        break;
                    }
                    slot = next;
                }
            } else {
                slot = candidates.find(|&next| !self.is_expandable(next))?;
            }
        }
        let bytes = self.blocks.get(slot).bytes;
        let oversize = search.rounded_bytes >= self.config.max_split_bytes;
        let rounding_bytes = self.config.max_non_split_rounding_bytes;
        if (!oversize && bytes >= self.config.max_split_bytes)
            || (oversize && bytes >= search.rounded_bytes.saturating_add(rounding_bytes))
        {
            return None;
        }
        self.take_from_free(slot);
        Some(slot)
    }

    /// Pools flagged `use_on_oom` serve others from what they have, but never grow for them.
    fn find_in_spare_pools(&mut self, search: &mut Search) -> Option<Slot> {
        for pool in 1..self.pools.len() {
            if self.pools[pool].use_on_oom {
                let spare = Search { pool: pool as u32, expandable: false, ..*search };
                if let Some(slot) = self.find_free(&spare) {
                    *search = spare;
                    return Some(slot);
                }
            }
        }
        None
    }

    fn is_expandable(&self, slot: Slot) -> bool {
        self.segment_of(slot).expandable
    }

    fn segment_of(&self, slot: Slot) -> &Segment {
        &self.segments[self.blocks.get(slot).segment as usize]
    }

    /// Bytes of a block with the unmapped addresses right after it.
    fn reach_bytes(&self, slot: Slot) -> u64 {
        let block = self.blocks.get(slot);
        let beyond = self.blocks.find(block.next).filter(|next| !next.mapped);
        block.bytes + beyond.map_or(0, |next| next.bytes)
    }

    /// Gives a free block, already out of the free set, to a client; what it does not need becomes free again.
    fn hand_out(&mut self, slot: Slot, search: &Search, request: AllocRequest) -> Placement {
        let was_split = self.blocks.is_split(slot);
        let ordinary = !self.is_expandable(slot);
        let small = search.small;
        let bytes = self.blocks.get(slot).bytes;
        let splits = !self.pools[search.pool as usize].no_split
            && self.config.splits(bytes, search.rounded_bytes, small, search.expandable);
        let slot = if splits {
            let front = self.blocks.cut_front(slot, search.rounded_bytes);
            self.put_among_free(slot);
            if ordinary && was_split {
                self.stats.inactive_split_bytes.decrease(small, search.rounded_bytes);
            } else if ordinary {
                self.stats.inactive_split_bytes.increase(small, bytes - search.rounded_bytes);
                self.stats.inactive_split.increase(small, 1);
            }
            front
        } else {
            if ordinary && was_split {
                self.stats.inactive_split_bytes.decrease(small, bytes);
                self.stats.inactive_split.decrease(small, 1);
            }
            slot
        };
        let block = self.blocks.get_mut(slot);
        block.state = State::Held;
        block.requested_bytes = request.bytes;
        block.owner = request.block;
        let bytes = block.bytes;
        self.name(request.block, slot);
        self.stats.allocation.increase(small, 1);
        self.stats.allocated_bytes.increase(small, bytes);
        self.stats.active.increase(small, 1);
        self.stats.active_bytes.increase(small, bytes);
        self.stats.requested_bytes.increase(small, request.bytes);
        if bytes >= self.config.max_split_bytes {
            self.stats.oversize_allocation(true);
        }
        self.placement_of(self.blocks.get(slot))
    }

    fn placement_of(&self, block: &Block) -> Placement {
        let segment = &self.segments[block.segment as usize];
        let pool = self.pools[segment.pool as usize].id;
        Placement { address: block.address, segment_address: segment.address, bytes: block.bytes, pool }
    }

    fn name(&mut self, block: BlockId, slot: Slot) {
        let at = block as usize;
        if at >= self.named.len() {
            self.named.resize(at + 1, NONE);
        }
        self.named[at] = slot;
    }

    /// The client gives a block back; streams may still use it. Unknown blocks are left alone: their request failed.
    pub fn free(&mut self, block: BlockId) {
        let Some(slot) = self.slot_in(block, State::Held) else { return };
        let small = self.segment_of(slot).small;
        let entry = self.blocks.get_mut(slot);
        entry.state = State::Waiting;
        let bytes = entry.bytes;
        self.stats.allocation.decrease(small, 1);
        self.stats.allocated_bytes.decrease(small, bytes);
        if bytes >= self.config.max_split_bytes {
            self.stats.oversize_allocation(false);
        }
        self.waiting.push(block);
    }

    /// No stream uses the block any more: it can be handed out again.
    pub fn complete(&mut self, block: BlockId) {
        if self.slot_in(block, State::Waiting).is_none() {
            return;
        }
        // Nearly every block is completed right after it was given back.
        if let Some(at) = self.waiting.iter().rposition(|&waiting| waiting == block) {
            self.waiting.remove(at);
        }
        self.make_free(block);
    }

    fn slot_in(&self, block: BlockId, state: State) -> Option<Slot> {
        let slot = *self.named.get(block as usize)?;
        self.blocks.find(slot).filter(|entry| entry.state == state)?;
        Some(slot)
    }

    /// Joins a block with its free neighbours and puts it among the free ones.
    fn make_free(&mut self, block: BlockId) {
        let slot = std::mem::replace(&mut self.named[block as usize], NONE);
        let segment = *self.segment_of(slot);
        let entry = self.blocks.get_mut(slot);
        entry.state = State::Free;
        let (bytes, requested_bytes) = (entry.bytes, entry.requested_bytes);
        let (prev, next) = (entry.prev, entry.next);
        let mut split_count = 0;
        let mut split_bytes = 0;
        for neighbour in [prev, next] {
            if let Some(gained_bytes) = self.try_absorb(slot, neighbour) {
                split_count -= 1;
                split_bytes -= gained_bytes.cast_signed();
            }
        }
        self.put_among_free(slot);
        if self.blocks.is_split(slot) {
            split_count += 1;
            split_bytes += self.blocks.get(slot).bytes.cast_signed();
        }
        if !segment.expandable {
            self.stats.inactive_split.change(segment.small, split_count);
            self.stats.inactive_split_bytes.change(segment.small, split_bytes);
        }
        self.stats.active.decrease(segment.small, 1);
        self.stats.active_bytes.decrease(segment.small, bytes);
        self.stats.requested_bytes.decrease(segment.small, requested_bytes);
    }

    /// Joins a neighbour into a block if it is free and as mapped or unmapped as the block is.
    fn try_absorb(&mut self, slot: Slot, neighbour: Slot) -> Option<u64> {
        let other = self.blocks.find(neighbour)?;
        if other.state != State::Free || other.mapped != self.blocks.get(slot).mapped {
            return None;
        }
        self.take_from_free(neighbour);
        Some(self.blocks.absorb(slot, neighbour))
    }

    /// Puts a free block, mapped or not, where searches find it.
    fn put_among_free(&mut self, slot: Slot) {
        let segment = *self.segment_of(slot);
        let half = self.pools[segment.pool as usize].half_mut(segment.small);
        let block = self.blocks.get_mut(slot);
        if block.mapped {
            block.searches_before = half.searches;
            half.insert_free(segment.stream, block, slot);
        } else {
            half.insert_unmapped(segment.stream, block, slot);
        }
    }

    fn take_from_free(&mut self, slot: Slot) {
        let segment = *self.segment_of(slot);
        let half = self.pools[segment.pool as usize].half_mut(segment.small);
        let block = self.blocks.get(slot);
        if block.mapped {
            half.remove_free(segment.stream, block, slot);
        } else {
            half.remove_unmapped(segment.stream, block, slot);
        }
    }

    fn pool_index(&mut self, id: PoolId) -> u32 {
        if id == PoolId::DEFAULT {
            return 0;
        }
        let at = self.pools.iter().position(|pool| pool.id == id).unwrap_or_else(|| {
            self.pools.push(Pool::new(id));
            self.pools.len() - 1
        });
        at as u32
    }

    fn new_segment(&mut self, segment: Segment) -> u32 {
        if let Some(at) = self.vacant_segments.pop() {
            self.segments[at as usize] = segment;
            return at;
        }
        self.segments.push(segment);
        (self.segments.len() - 1) as u32
    }

    fn drop_segment(&mut self, at: u32) {
        self.vacant_segments.push(at);
    }

    fn log(&mut self, action: SegmentAction, address: u64, bytes: u64, segment: &Segment) {
        let pool = self.pools[segment.pool as usize].id;
        self.events.push(SegmentEvent { op: self.op, action, address, bytes, stream: segment.stream, pool });
    }
}

/// A block of free memory that makes up a whole new segment.
fn whole_block(address: u64, bytes: u64, segment: u32, mapped: bool) -> Block {
    Block {
        address,
        bytes,
        requested_bytes: 0,
        searches_before: 0,
        prev: NONE,
        next: NONE,
        segment,
        owner: BlockId::MAX,
        state: State::Free,
        mapped,
    }
}
