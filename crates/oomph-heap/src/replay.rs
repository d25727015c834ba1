//! The same requests through a placement policy.

use crate::caching::{OutOfMemory, Placement, SegmentAction, SegmentEvent, Stats, Sync};
use crate::policies::Policy;
use crate::requests::Requests;
use crate::source::Source;
use crate::timeline::{BlockId, SegmentAt};

/// How to replay.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The most the allocator may take, where it is not to be what [`Requests`] found out.
    pub limit_bytes: Option<u64>,
    /// Whether to end at the first request that fails. Otherwise the replay goes on without that block.
    pub stop_at_oom: bool,
    /// Whether blocks from before the history begins are requested anew instead of being taken over where they lay.
    /// Policies other than the recorded one always do so.
    pub request_ghosts: bool,
}

/// A request that failed in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOom {
    /// The operation that failed, as an index into [`Requests::ops`].
    pub op: u32,
    /// The block that was not to be had.
    pub block: BlockId,
    /// What was asked for and what stood in the way.
    pub detail: OutOfMemory,
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every request was served.
    Ok,
    /// A request failed; this is the first.
    Oom(ReplayOom),
}

/// What a policy did with the requests.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The policy's name.
    pub policy: &'static str,
    /// Every exchange with the driver, in order.
    pub segment_events: Vec<SegmentEvent>,
    /// Where each block was put, by [`BlockId`]; `None` if it was never placed.
    pub placements: Vec<Option<Placement>>,
    /// Moments at which the allocator waited for all streams.
    pub syncs: Vec<Sync>,
    /// How many of the operations were carried out: all, unless the replay was to end at the first failure.
    pub op_count: u32,
    /// Whether the segments that existed before were taken over as they were.
    pub seeded: bool,
    /// The statistics PyTorch would show.
    pub stats: Stats,
    /// Peak of bytes in blocks clients hold.
    pub peak_allocated_bytes: u64,
    /// Peak of bytes taken from the driver.
    pub peak_reserved_bytes: u64,
    /// Peak of bytes in blocks held or still used by a stream.
    pub peak_active_bytes: u64,
    /// Peak of bytes clients asked for.
    pub peak_requested_bytes: u64,
    /// Segments and mappings obtained.
    pub segment_count: u64,
    /// How often everything cached was given back to make room.
    pub retries: u64,
    /// Every request that failed, in order.
    pub ooms: Vec<ReplayOom>,
    /// How it ended.
    pub outcome: Outcome,
    /// The segment map at the end.
    pub segments: Vec<SegmentAt>,
}

impl Replay {
    /// A replay's result from the allocator's own statistics.
    pub(crate) fn new(
        policy: &'static str,
        stats: &Stats,
        segment_events: Vec<SegmentEvent>,
        ooms: Vec<ReplayOom>,
    ) -> Self {
        let obtains = |event: &&SegmentEvent| matches!(event.action, SegmentAction::Alloc | SegmentAction::Map);
        Self {
            policy,
            segment_count: segment_events.iter().filter(obtains).count() as u64,
            segment_events,
            placements: Vec::new(),
            syncs: Vec::new(),
            op_count: 0,
            seeded: false,
            stats: *stats,
            peak_allocated_bytes: stats.allocated_bytes.all.peak,
            peak_reserved_bytes: stats.reserved_bytes.all.peak,
            peak_active_bytes: stats.active_bytes.all.peak,
            peak_requested_bytes: stats.requested_bytes.all.peak,
            retries: stats.num_alloc_retries,
            outcome: ooms.first().map_or(Outcome::Ok, |&oom| Outcome::Oom(oom)),
            ooms,
            segments: Vec::new(),
        }
    }
}

/// Runs `requests` through `policy`, with memory from `source`.
pub fn replay(policy: &dyn Policy, requests: &Requests, source: &mut dyn Source, options: &Options) -> Replay {
    policy.replay(requests, source, options)
}
