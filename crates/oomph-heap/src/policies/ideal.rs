//! The lower bound.

use super::{Policy, PolicyPage};
use crate::caching::Stats;
use crate::config::{MIN_BLOCK_BYTES, SMALL_SEGMENT_BYTES, round_up};
use crate::replay::{Options, Replay};
use crate::requests::{Op, Requests};
use crate::source::Source;

/// What no placement can beat: it places nothing, it only counts what clients hold.
#[derive(Clone, Copy, Debug)]
pub struct Ideal;

impl Policy for Ideal {
    fn page(&self) -> PolicyPage {
        PolicyPage {
            name: "ideal",
            summary: "the lower bound: what clients hold at their peak, and that rounded as the card must round",
            page: include_str!("ideal.md"),
        }
    }

    fn replay(&self, requests: &Requests, _source: &mut dyn Source, _options: &Options) -> Replay {
        let mut held = vec![0u64; requests.block_count()];
        let mut count = Count::default();
        for ghost in requests.ghosts.iter().filter(|ghost| !ghost.waits) {
            let bytes = requests.requested_bytes(ghost.block);
            held[ghost.block as usize] = bytes;
            count.up(bytes);
        }
        for op in &requests.ops {
            match *op {
                Op::Alloc { block, bytes, .. } if !requests.failed(block) => {
                    held[block as usize] = bytes;
                    count.up(bytes);
                }
                Op::Free { block } => count.down(std::mem::take(&mut held[block as usize])),
                _ => {}
            }
        }
        let mut replay = Replay::new(self.page().name, &Stats::default(), Vec::new(), Vec::new());
        replay.peak_requested_bytes = count.peak_requested;
        replay.peak_allocated_bytes = count.peak_rounded;
        replay.peak_active_bytes = count.peak_rounded;
        replay.peak_reserved_bytes = round_up(count.peak_rounded, SMALL_SEGMENT_BYTES);
        replay
    }
}

/// Bytes held now and at the peak.
#[derive(Default)]
struct Count {
    requested: u64,
    rounded: u64,
    peak_requested: u64,
    peak_rounded: u64,
}

impl Count {
    fn up(&mut self, bytes: u64) {
        self.requested += bytes;
        self.rounded += round_up(bytes, MIN_BLOCK_BYTES);
        self.peak_requested = self.peak_requested.max(self.requested);
        self.peak_rounded = self.peak_rounded.max(self.rounded);
    }

    fn down(&mut self, bytes: u64) {
        self.requested -= bytes;
        self.rounded -= round_up(bytes, MIN_BLOCK_BYTES);
    }
}
