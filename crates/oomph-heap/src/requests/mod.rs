//! What the program asked of its allocator, freed from where the allocator put it.

mod calibrate;
mod infer;
mod limit;

use oomph_trace::{BlockState, DeviceTrace, EventIndex, PoolId};

pub use limit::{Limit, LimitKind};

use crate::config::Config;
use crate::timeline::{BlockAt, BlockId, SegmentAt, Timeline, sane};

/// One thing the program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It asked for memory.
    Alloc {
        /// Name of the block.
        block: BlockId,
        /// Bytes asked for.
        bytes: u64,
        /// The stream asked for.
        stream: u64,
        /// The pool its requests were routed to.
        pool: PoolId,
    },
    /// It gave a block back.
    Free {
        /// Name of the block.
        block: BlockId,
    },
    /// The streams that used a block were done with it.
    Complete {
        /// Name of the block.
        block: BlockId,
    },
    /// It called `torch.cuda.empty_cache()`.
    EmptyCache,
    /// It emptied one pool, which nobody uses any more.
    EmptyPool {
        /// The pool.
        pool: PoolId,
    },
    /// The last graph or `MemPool` that used a pool went away.
    ReleasePool {
        /// The pool.
        pool: PoolId,
    },
    /// It turned expandable segments on or off.
    SetExpandable {
        /// On or off.
        on: bool,
    },
}

/// A block that existed before the history begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ghost {
    /// Name of the block.
    pub block: BlockId,
    /// The stream it was allocated on.
    pub stream: u64,
    /// The pool it lay in.
    pub pool: PoolId,
    /// Whether it had been given back and only waited for a stream.
    pub waits: bool,
}

/// How a pool was set up, as far as the trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFacts {
    /// The pool.
    pub id: PoolId,
    /// Its blocks are never split.
    pub no_split: bool,
    /// It serves requests of the default pool before those fail.
    pub use_on_oom: bool,
}

/// Everything a program asked for, in order.
#[derive(Clone, Debug)]
pub struct Requests {
    /// What it did, oldest first.
    pub ops: Vec<Op>,
    /// For each of `ops`, the event of the trace it comes from.
    pub op_events: Vec<EventIndex>,
    /// The blocks that existed before, by address.
    pub ghosts: Vec<Ghost>,
    /// The segments that existed before, with those blocks.
    pub initial: Vec<SegmentAt>,
    /// Whether `initial` is all there was; a trace that begins late and lacks its final segments does not tell.
    pub initial_is_whole: bool,
    /// The allocator's configuration.
    pub config: Config,
    /// How much the allocator could take, as far as successes and failures tell.
    pub limit: Limit,
    /// Bytes of the card, where known; where expandable segments show about how many, those.
    pub total_bytes: Option<u64>,
    /// The pools that are set up otherwise than plainly.
    pub pools: Vec<PoolFacts>,
    /// Bytes asked for, by block; requests that failed come after all blocks of the [`Timeline`].
    requested_bytes: Vec<u64>,
    first_failed: BlockId,
}

impl Requests {
    /// What the program of a recorded history asked for.
    #[must_use]
    pub fn of(device: &DeviceTrace, timeline: &Timeline) -> Self {
        infer::infer(&sane(device), timeline)
    }

    /// Requests made up by hand. Block names must be `0..requested_bytes.len()`; nothing exists before.
    #[must_use]
    pub fn new(ops: Vec<Op>, requested_bytes: Vec<u64>, config: Config) -> Self {
        Self {
            op_events: (0..ops.len() as EventIndex).collect(),
            ops,
            ghosts: Vec::new(),
            initial: Vec::new(),
            initial_is_whole: true,
            config,
            limit: Limit::default(),
            total_bytes: None,
            pools: Vec::new(),
            first_failed: requested_bytes.len() as BlockId,
            requested_bytes,
        }
    }

    /// How many blocks there are; their names are smaller than this.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.requested_bytes.len()
    }

    /// What the client of a block asked for.
    #[must_use]
    pub fn requested_bytes(&self, block: BlockId) -> u64 {
        self.requested_bytes.get(block as usize).copied().unwrap_or(0)
    }

    /// Whether this is a request that failed when it was recorded.
    #[must_use]
    pub fn failed(&self, block: BlockId) -> bool {
        block >= self.first_failed
    }

    /// Whether the recorded allocator used expandable segments throughout, so that the policy of that name is the
    /// one to compare with the recording; otherwise it is `native`.
    #[must_use]
    pub fn recorded_expandable(&self) -> bool {
        self.config.expandable_segments
    }

    /// The most the card gave, if it was the card that ended the recorded run; for a [`crate::Source`].
    #[must_use]
    pub fn card_bytes(&self) -> Option<u64> {
        self.limit.bytes().filter(|_| self.limit.kind == LimitKind::Card)
    }

    /// Name of the policy that replays the recording exactly.
    #[must_use]
    pub fn recorded_policy(&self) -> &'static str {
        if self.recorded_expandable() { "expandable_segments" } else { "native" }
    }

    /// The same without some blocks, as if they had never been asked for.
    #[must_use]
    pub fn without(&self, gone: &dyn Fn(BlockId) -> bool) -> Self {
        let keeps = |op: &Op| match *op {
            Op::Alloc { block, .. } | Op::Free { block } | Op::Complete { block } => !gone(block),
            _ => true,
        };
        let mut kept = self.clone();
        kept.ops.clear();
        kept.op_events.clear();
        for (op, &event) in self.ops.iter().zip(&self.op_events) {
            if keeps(op) {
                kept.ops.push(*op);
                kept.op_events.push(event);
            }
        }
        kept.ghosts.retain(|ghost| !gone(ghost.block));
        for segment in &mut kept.initial {
            segment.blocks = without_blocks(&segment.blocks, gone);
        }
        kept
    }

    /// The same without the blocks that existed before the history begins.
    #[must_use]
    pub fn without_ghosts(&self) -> Self {
        let mut ghosts = vec![false; self.block_count()];
        for ghost in &self.ghosts {
            ghosts[ghost.block as usize] = true;
        }
        let mut kept = self.without(&|block| ghosts[block as usize]);
        kept.initial.clear();
        kept
    }

    /// The same up to the operation that comes from `event`, that one included.
    #[must_use]
    pub fn until(&self, event: EventIndex) -> Self {
        let count = self.op_events.partition_point(|&from| from <= event);
        let mut kept = self.clone();
        kept.ops.truncate(count);
        kept.op_events.truncate(count);
        // The request that failed is the last thing of interest; that nothing came of it is not.
        while let Some(Op::Free { block } | Op::Complete { block }) = kept.ops.last()
            && self.failed(*block)
        {
            kept.ops.pop();
            kept.op_events.pop();
        }
        kept
    }
}

/// Blocks with some of them turned into free memory; neighbouring free memory is one block.
fn without_blocks(blocks: &[BlockAt], gone: &dyn Fn(BlockId) -> bool) -> Vec<BlockAt> {
    let mut kept: Vec<BlockAt> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let mut block = block.clone();
        if block.block.is_some_and(gone) {
            block.block = None;
            block.state = BlockState::Inactive;
        }
        match kept.last_mut() {
            Some(last) if last.block.is_none() && block.block.is_none() => last.bytes += block.bytes,
            _ => kept.push(block),
        }
    }
    kept
}
