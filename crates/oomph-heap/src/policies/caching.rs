//! Drives the caching allocator through requests, for the policies that use it.

use crate::caching::{AllocRequest, Allocator, BEFORE_OPS, Limits, Placement};
use crate::config::Config;
use crate::replay::{Options, Replay, ReplayOom};
use crate::requests::{Ghost, LimitKind, Op, Requests};
use crate::source::Source;
use crate::timeline::BlockId;

pub(super) fn run(
    policy: &'static str,
    expandable: bool,
    requests: &Requests,
    source: &mut dyn Source,
    options: &Options,
) -> Replay {
    let mut run = Run::new(expandable, requests, options);
    run.begin(expandable, source, options);
    for (op, request) in requests.ops.iter().enumerate() {
        run.allocator.begin_op(op as u32);
        run.step(op as u32, request, expandable, source);
        run.op_count += 1;
        if options.stop_at_oom && !run.ooms.is_empty() {
            break;
        }
    }
    run.finish(policy)
}

struct Run<'a> {
    requests: &'a Requests,
    allocator: Allocator,
    placements: Vec<Option<Placement>>,
    ooms: Vec<ReplayOom>,
    seeded: bool,
    op_count: u32,
}

impl<'a> Run<'a> {
    fn new(expandable: bool, requests: &'a Requests, options: &Options) -> Self {
        let config = Config { expandable_segments: expandable, ..requests.config.clone() };
        let inferred = || requests.limit.bytes().filter(|_| requests.limit.kind != LimitKind::Card);
        let limit_bytes = options.limit_bytes.or_else(inferred);
        let mut allocator = Allocator::new(&config, Limits { limit_bytes, total_bytes: requests.total_bytes });
        for pool in &requests.pools {
            allocator.set_pool_options(pool.id, pool.no_split, pool.use_on_oom);
        }
        Self {
            requests,
            allocator,
            placements: vec![None; requests.block_count()],
            ooms: Vec::new(),
            seeded: false,
            op_count: 0,
        }
    }

    /// Blocks from before the history begins: taken over where they lay if this is the recorded policy, else
    /// requested anew.
    fn begin(&mut self, expandable: bool, source: &mut dyn Source, options: &Options) {
        let requests = self.requests;
        let recorded = requests.recorded_expandable() == expandable && !options.request_ghosts;
        if recorded && requests.initial_is_whole {
            self.seeded = true;
            self.allocator.seed(&requests.initial, |block| requests.requested_bytes(block), source);
            for ghost in &requests.ghosts {
                self.placements[ghost.block as usize] = self.allocator.placement(ghost.block);
            }
            return;
        }
        for &Ghost { block, stream, pool, .. } in &requests.ghosts {
            let bytes = requests.requested_bytes(block);
            self.alloc(BEFORE_OPS, AllocRequest { block, bytes, stream, pool }, source);
        }
        for ghost in requests.ghosts.iter().filter(|ghost| ghost.waits) {
            self.allocator.free(ghost.block);
        }
    }

    fn step(&mut self, op: u32, request: &Op, expandable: bool, source: &mut dyn Source) {
        match *request {
            Op::Alloc { block, bytes, stream, pool } => {
                self.alloc(op, AllocRequest { block, bytes, stream, pool }, source);
            }
            Op::Free { block } => self.allocator.free(block),
            Op::Complete { block } => self.allocator.complete(block),
            Op::EmptyCache => self.allocator.empty_cache(source),
            Op::EmptyPool { pool } => self.allocator.empty_pool(pool, source),
            Op::ReleasePool { pool } => self.allocator.release_pool(pool),
            // With expandable segments asked for, they stay on throughout.
            Op::SetExpandable { on } => self.allocator.set_expandable(on || expandable),
        }
    }

    fn alloc(&mut self, op: u32, request: AllocRequest, source: &mut dyn Source) {
        match self.allocator.alloc(request, source) {
            Ok(placement) => self.place(request.block, placement),
            Err(detail) => self.ooms.push(ReplayOom { op, block: request.block, detail }),
        }
    }

    fn place(&mut self, block: BlockId, placement: Placement) {
        self.placements[block as usize] = Some(placement);
    }

    fn finish(self, policy: &'static str) -> Replay {
        let stats = *self.allocator.stats();
        let segments = self.allocator.segment_map();
        let (segment_events, syncs) = self.allocator.into_log();
        Replay {
            placements: self.placements,
            syncs,
            seeded: self.seeded,
            op_count: self.op_count,
            segments,
            ..Replay::new(policy, &stats, segment_events, self.ooms)
        }
    }
}
