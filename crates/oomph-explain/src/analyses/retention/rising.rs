//! Sizes that rise from iteration to iteration: of a structure that grows, or of the batches that a loop is given.

use oomph_heap::LiveSpan;
use oomph_trace::EventIndex;

use super::site::Sites;
use crate::case::Case;
use crate::steps::Steps;

// Each was halved and doubled over the recorded failures and the generated jobs; see verdict/leak.rs.

/// How often a growing structure must have grown: four rises in a row come by chance in one of 120 loops over batches of
/// random length. From one to seven no verdict changes.
const GROWTH_RISES: usize = 4;
/// Part of the iterations in which a growing structure may not have shrunk. One cache of the corpus is cut once in a
/// while (at 1 it is missed), and at half of this, batches of random length count as growing.
const GROWTH_STEADY: f64 = 0.95;
/// Part of a rise that must have been there before as a block of its own. Rounding and a change of type take some.
const PIECE_SHARE: f64 = 0.4;

/// A rise that has paused for this many times its longest pause is over: a bank that is full.
const PAUSES: usize = 2;

/// Bytes that a place allocated in each iteration in which it did, in order.
#[derive(Default)]
pub(super) struct Sizes {
    bytes: Vec<u64>,
    /// The latest iteration in which it allocated.
    iteration: usize,
    /// Its largest block there, and when it was allocated.
    largest_bytes: u64,
    largest_at: EventIndex,
}

impl Sizes {
    pub(super) fn add(&mut self, block: &LiveSpan, iteration: usize) {
        match self.bytes.last_mut() {
            Some(bytes) if self.iteration == iteration => *bytes += block.bytes,
            _ => {
                self.bytes.push(block.bytes);
                self.largest_bytes = 0;
            }
        }
        self.iteration = iteration;
        if block.bytes > self.largest_bytes {
            self.largest_bytes = block.bytes;
            self.largest_at = block.alloc.unwrap_or(0);
        }
    }

    /// The latest iteration in which it allocated.
    pub(super) fn iteration(&self) -> usize {
        self.iteration
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether they rise, time after time.
    pub(super) fn rise(&self) -> bool {
        let pairs = self.bytes.windows(2);
        let steady = pairs.clone().filter(|pair| pair[1] >= pair[0]).count();
        let rises: Vec<usize> = (1..self.len()).filter(|&at| self.bytes[at] > self.bytes[at - 1]).collect();
        let longest_pause = rises.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1);
        let goes_on = rises.last().is_some_and(|&last| self.len() - 1 - last <= PAUSES * longest_pause);
        rises.len() >= GROWTH_RISES && goes_on && steady as f64 >= GROWTH_STEADY * pairs.len() as f64
    }

    /// By how much, on average.
    pub(super) fn rise_bytes(&self) -> u64 {
        let (Some(first), Some(last)) = (self.bytes.first(), self.bytes.last()) else { return 0 };
        last.saturating_sub(*first) / (self.bytes.len() as u64 - 1).max(1)
    }
}

/// Whether what rises is the input: each batch is larger than the one before, and with it all that is made from it.
///
/// A structure grows by a piece that was made before. What rises first in an iteration, with no such piece, is new.
pub(super) fn is_the_input(case: &Case, steps: &Steps, sites: &Sites) -> bool {
    let rising = sites.of_last_iteration().filter(|site| site.sizes.rise());
    let Some(first) = rising.min_by_key(|site| site.sizes.largest_at) else { return false };
    !has_a_piece(case, steps, &first.sizes)
}

fn has_a_piece(case: &Case, steps: &Steps, grown: &Sizes) -> bool {
    let wanted = PIECE_SHARE * grown.rise_bytes() as f64;
    let iteration = steps.of_event(grown.largest_at);
    let allocated = case.timeline.blocks.iter().rev().filter_map(|block| Some((block, block.alloc?)));
    allocated
        .skip_while(|&(_, alloc)| alloc >= grown.largest_at)
        .take_while(|&(_, alloc)| steps.of_event(alloc) == iteration)
        .any(|(block, _)| {
            block.bytes as f64 >= wanted && block.free_requested.is_none_or(|free| free > grown.largest_at)
        })
}
