//! A job that never ran: training steps through a small caching allocator, so that the traffic is consistent.
//!
//! Every block lies in a segment, every free has its allocation, and the final books follow from the events.

use std::collections::BTreeMap;

/// What an allocator would have written into its history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    SegmentAlloc,
    Alloc,
    FreeRequested,
    FreeCompleted,
}

#[derive(Clone, Copy)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    pub(crate) stack: u32,
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
}

/// A stretch of a segment that is handed out whole.
#[derive(Clone, Copy)]
pub(crate) struct Slab {
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
    pub(crate) requested_bytes: u64,
    pub(crate) stack: u32,
    pub(crate) held: bool,
}

pub(crate) struct Region {
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
    pub(crate) small: bool,
    pub(crate) stack: u32,
    pub(crate) slabs: Vec<Slab>,
}

/// The whole job.
pub(crate) struct Job {
    pub(crate) ops: Vec<Op>,
    pub(crate) regions: Vec<Region>,
}

/// Blocks are cut from regions once and reused whole, by exact size.
struct Allocator {
    job: Job,
    limit: usize,
    /// Free slabs as (region, slab), by size.
    free: BTreeMap<u64, Vec<(u32, u32)>>,
    /// Region still being cut, for small and for large blocks.
    open: [Option<u32>; 2],
    next_addr: u64,
}

const SMALL_REGION_BYTES: u64 = 2 << 20;
const LARGE_REGION_BYTES: u64 = 20 << 20;
const SMALL_LIMIT_BYTES: u64 = 1 << 20;

/// Simulates training steps until there are `events` entries.
pub(crate) fn simulate(events: usize, stacks: u32, seed: u64) -> Job {
    let mut random = Random(seed | 1);
    let job = Job { ops: Vec::with_capacity(events), regions: Vec::new() };
    let free = BTreeMap::new();
    let mut allocator = Allocator { job, limit: events, free, open: [None; 2], next_addr: 0x7f10_0000_0000 };
    // Each line of the program asks for the same sizes in every step, and a few for sizes that vary.
    let sizes: Vec<u64> = (0..stacks).map(|_| 256 << (random.next() % 15)).collect();
    let mut resident = Vec::new();
    while allocator.job.ops.len() < events {
        let activations = 200 + random.next() % 100;
        let mut live = Vec::new();
        for _ in 0..activations {
            let stack = (random.next() % u64::from(stacks)) as u32;
            let bytes = if stack.is_multiple_of(16) {
                sizes[stack as usize] + random.next() % 4096
            } else {
                sizes[stack as usize]
            };
            live.push(allocator.alloc(bytes.max(1), stack));
            // Temporaries live for a moment.
            if random.next().is_multiple_of(3)
                && let Some(block) = live.pop()
            {
                allocator.free(block);
            }
        }
        if resident.len() < 300 {
            resident.extend(live.pop());
        }
        while let Some(block) = live.pop() {
            allocator.free(block);
        }
    }
    allocator.job
}

impl Allocator {
    fn alloc(&mut self, bytes: u64, stack: u32) -> (u32, u32) {
        let rounded = bytes.next_multiple_of(512);
        let at = match self.free.get_mut(&rounded).and_then(Vec::pop) {
            Some(at) => at,
            None => self.cut(rounded, stack),
        };
        let slab = &mut self.job.regions[at.0 as usize].slabs[at.1 as usize];
        (slab.held, slab.requested_bytes, slab.stack) = (true, bytes, stack);
        let addr = slab.addr;
        if !self.record(Kind::Alloc, stack, addr, bytes) {
            // History is full: this never happened.
            self.job.regions[at.0 as usize].slabs[at.1 as usize].held = false;
        }
        at
    }

    fn free(&mut self, at: (u32, u32)) {
        let slab = self.job.regions[at.0 as usize].slabs[at.1 as usize];
        // Both entries or none, so that no block is left waiting.
        if slab.held && self.job.ops.len() + 2 <= self.limit {
            self.record(Kind::FreeRequested, slab.stack, slab.addr, slab.requested_bytes);
            self.record(Kind::FreeCompleted, slab.stack, slab.addr, slab.requested_bytes);
            self.job.regions[at.0 as usize].slabs[at.1 as usize].held = false;
            self.free.entry(slab.bytes).or_default().push(at);
        }
    }

    /// Cuts a new block from an open region, or takes another region from the driver.
    fn cut(&mut self, bytes: u64, stack: u32) -> (u32, u32) {
        let small = bytes <= SMALL_LIMIT_BYTES;
        let open = &mut self.open[usize::from(small)];
        let used = |region: &Region| region.slabs.last().map_or(0, |slab| slab.addr + slab.bytes - region.addr);
        let fits = open.filter(|&at| {
            let region = &self.job.regions[at as usize];
            used(region) + bytes <= region.bytes
        });
        let at = fits.unwrap_or_else(|| {
            let region_bytes = if small { SMALL_REGION_BYTES } else { LARGE_REGION_BYTES.max(bytes) };
            let addr = self.next_addr;
            self.next_addr += region_bytes.next_multiple_of(2 << 20);
            let at = self.job.regions.len() as u32;
            self.job.regions.push(Region { addr, bytes: region_bytes, small, stack, slabs: Vec::new() });
            *open = Some(at);
            at
        });
        let region = &self.job.regions[at as usize];
        let (region_addr, region_bytes, is_new) = (region.addr, region.bytes, region.slabs.is_empty());
        let addr = region_addr + used(region);
        if is_new {
            self.record(Kind::SegmentAlloc, stack, region_addr, region_bytes);
        }
        let slabs = &mut self.job.regions[at as usize].slabs;
        slabs.push(Slab { addr, bytes, requested_bytes: 0, stack, held: false });
        (at, slabs.len() as u32 - 1)
    }

    fn record(&mut self, kind: Kind, stack: u32, addr: u64, bytes: u64) -> bool {
        let room = self.job.ops.len() < self.limit;
        if room {
            self.job.ops.push(Op { kind, stack, addr, bytes });
        }
        room
    }
}

/// xorshift64*: fast, and the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
