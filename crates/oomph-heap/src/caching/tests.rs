//! Paths of the allocator that recordings reach only in passing.

use oomph_trace::PoolId;

use super::*;
use crate::config::MIB;
use crate::source::{BumpSource, Order};

const SPARE: PoolId = PoolId(0, 1);

struct Bench {
    allocator: Allocator,
    source: BumpSource,
    next: BlockId,
}

impl Bench {
    fn new(conf: &str, limit_bytes: Option<u64>) -> Self {
        let config = Config::parse(conf).expect("PyTorch takes this");
        let allocator = Allocator::new(&config, Limits { limit_bytes, total_bytes: None });
        Self { allocator, source: BumpSource::new(Order::Driver, None), next: 0 }
    }

    fn alloc_in(&mut self, bytes: u64, stream: u64, pool: PoolId) -> Result<(BlockId, Placement), OutOfMemory> {
        let block = self.next;
        self.next += 1;
        let request = AllocRequest { block, bytes, stream, pool };
        self.allocator.alloc(request, &mut self.source).map(|placement| (block, placement))
    }

    fn alloc(&mut self, bytes: u64) -> (BlockId, Placement) {
        self.alloc_in(bytes, 0, PoolId::DEFAULT).expect("there is room")
    }

    fn free(&mut self, block: BlockId) {
        self.allocator.free(block);
        self.allocator.complete(block);
    }
}

#[test]
fn sizes_meet_their_thresholds() {
    let mut bench = Bench::new("", None);
    let sizes = [MIB, MIB + 1, 10 * MIB - 512, 10 * MIB, 11 * MIB];
    let mut streams = 0..;
    for bytes in sizes {
        bench.alloc_in(bytes, streams.next().unwrap_or(0), PoolId::DEFAULT).expect("there is room");
    }
    let obtained: Vec<u64> = bench.allocator.events.iter().map(|event| event.bytes / MIB).collect();
    assert_eq!(obtained, [2, 20, 20, 10, 12]);
}

#[test]
fn a_large_block_keeps_a_tail_of_a_mebibyte_and_counts_it() {
    let mut bench = Bench::new("", None);
    let (whole, _) = bench.alloc(30 * MIB);
    bench.free(whole);
    let (tight, placement) = bench.alloc(29 * MIB);
    assert_eq!(placement.bytes, 30 * MIB);
    assert_eq!(bench.allocator.stats().allocated_bytes.all.current, 30 * MIB);
    bench.free(tight);
    let (_, placement) = bench.alloc(29 * MIB - 512);
    assert_eq!(placement.bytes, 29 * MIB - 512);
    assert_eq!(bench.allocator.stats().inactive_split_bytes.all.current, MIB + 512);
}

#[test]
fn a_waiting_block_is_not_used_again_until_a_retry_waits_for_it() {
    let mut bench = Bench::new("", Some(50 * MIB));
    let (first, placement) = bench.alloc(30 * MIB);
    bench.allocator.free(first);
    let (_, second) = bench.alloc(20 * MIB);
    assert_ne!(second.address, placement.address);
    bench.alloc(30 * MIB);
    assert_eq!(bench.allocator.stats().num_alloc_retries, 1);
    assert_eq!(bench.allocator.stats().num_sync_all_streams, 1);
}

#[test]
fn a_spare_pool_serves_others_only_when_nothing_else_does_and_never_grows_for_them() {
    let mut bench = Bench::new("", Some(60 * MIB));
    bench.allocator.set_pool_options(SPARE, false, true);
    let (spare, placement) = bench.alloc_in(30 * MIB, 0, SPARE).expect("there is room");
    bench.free(spare);
    let (_, own) = bench.alloc(30 * MIB);
    assert_ne!(own.address, placement.address, "the default pool grows first");
    let (_, lent) = bench.alloc(30 * MIB);
    assert_eq!((lent.address, lent.pool), (placement.address, SPARE));
    assert!(bench.alloc_in(30 * MIB, 0, PoolId::DEFAULT).is_err());
}

#[test]
fn a_pool_that_never_splits_hands_out_whole_segments() {
    let mut bench = Bench::new("", None);
    bench.allocator.set_pool_options(SPARE, true, false);
    let (_, placement) = bench.alloc_in(512, 0, SPARE).expect("there is room");
    assert_eq!(placement.bytes, 2 * MIB);
}

#[test]
fn a_request_routed_to_a_pool_makes_no_room() {
    let mut bench = Bench::new("", Some(40 * MIB));
    let (cached, _) = bench.alloc(30 * MIB);
    bench.free(cached);
    assert!(bench.alloc_in(30 * MIB, 0, SPARE).is_err());
    assert_eq!(bench.allocator.stats().num_alloc_retries, 0);
    bench.alloc_in(30 * MIB, 1, PoolId::DEFAULT).expect("the default pool may give back what it caches");
}

#[test]
fn oversize_blocks_are_neither_split_nor_lent_to_smaller_requests() {
    let mut bench = Bench::new("max_split_size_mb:32", None);
    let (big, placement) = bench.alloc(64 * MIB);
    bench.free(big);
    let (_, small) = bench.alloc(20 * MIB);
    assert_ne!(small.address, placement.address);
    let (_, near) = bench.alloc(50 * MIB);
    assert_eq!((near.address, near.bytes), (placement.address, 64 * MIB));
}

#[test]
fn garbage_collection_frees_what_was_not_used_for_long() {
    let mut bench = Bench::new("garbage_collection_threshold:0.5", Some(200 * MIB));
    let (old, _) = bench.alloc(40 * MIB);
    bench.free(old);
    let (young, _) = bench.alloc(60 * MIB);
    bench.free(young);
    bench.alloc_in(10 * MIB, 1, PoolId::DEFAULT).expect("there is room");
    bench.alloc_in(12 * MIB, 1, PoolId::DEFAULT).expect("there is room");
    let freed: Vec<u64> =
        bench.allocator.events.iter().filter(|e| e.action == SegmentAction::Free).map(|e| e.bytes / MIB).collect();
    assert_eq!(freed, [40]);
}

#[test]
fn expandable_segments_map_by_the_unit_and_unmap_whole_units_only() {
    let mut bench = Bench::new("expandable_segments:True", None);
    let (first, _) = bench.alloc(30 * MIB);
    let (_, second) = bench.alloc(15 * MIB);
    assert_eq!(bench.allocator.reserved_bytes, 60 * MIB);
    bench.free(first);
    bench.allocator.empty_cache(&mut bench.source);
    assert_eq!(bench.allocator.reserved_bytes, 40 * MIB, "the unit the second block begins in stays");
    let (_, again) = bench.alloc(30 * MIB);
    assert_eq!(again.address, second.segment_address, "the hole at the start is filled first");
    assert_eq!(bench.allocator.stats().segment.all.allocated, 0);
}

#[test]
fn absurd_requests_fail_at_once() {
    let mut bench = Bench::new("expandable_segments:True", None);
    assert!(bench.alloc_in(u64::MAX, 0, PoolId::DEFAULT).is_err());
    assert_eq!(bench.allocator.stats().num_alloc_retries, 0);
}
