//! What one place in the program did over the iterations of a loop, and whether it leaks or grows.

use oomph_heap::{BlockId, LiveSpan};
use oomph_trace::StackId;
use rustc_hash::FxHashMap;

use super::rising::Sizes;
use crate::case::Case;
use crate::steps::Steps;

// Each was halved and doubled over the recorded failures and the generated jobs; see verdict/leak.rs.

/// A place leaks if this part of the iterations in which it allocated left something behind: a few may have been cleared
/// by chance, such as a cycle that Python's garbage collector met. From 0.4 to 1 no verdict changes.
const SURVIVAL: f64 = 0.8;
/// Iterations that must have left something behind before it is called a leak. One is the first that makes state for
/// all others; with six, leaks that end the job after a few iterations are missed; from one to three nothing changes.
const ITERATIONS_MIN: usize = 2;
/// A place that has kept nothing for this many times its longest pause has stopped: a cache that is full, layers that
/// have all been unfrozen.
const PAUSES: usize = 2;
/// Iterations after which a rise in steps shows: three in each quarter.
const QUARTERED_ITERATIONS_MIN: usize = 12;
/// What is kept of everything that outlived its iteration, where old blocks go and more new ones come: a queue that is
/// filled faster than it is emptied. A window of fixed length keeps nothing once it is full.
const KEPT_SHARE: f64 = 0.25;

/// What one place in the program did over the iterations.
#[derive(Default)]
pub(super) struct Site {
    /// Iterations in which it allocated, not counting the one before the last and the last.
    births: usize,
    /// All that it allocated.
    pub(super) sizes: Sizes,
    /// Of that, what outlived its iteration.
    pub(super) carried_sizes: Sizes,
    /// Still held at the moment, from iterations before the running one.
    pub(super) held: Vec<BlockId>,
    /// Still held at the moment, from the running iteration.
    new: Vec<BlockId>,
    /// Iterations, not counting the last two, that left something behind.
    survived: usize,
    last_survived: usize,
    /// The most iterations between two that left something behind.
    longest_pause: usize,
    /// Bytes that came (positive) or went in an iteration, of blocks that outlived the one they were made in.
    carried: Vec<(usize, i64)>,
}

/// All places that allocated in the loop.
pub(super) struct Sites {
    pub(super) by_stack: Vec<(StackId, Site)>,
    /// The iteration that was running at the moment.
    current: usize,
}

impl Sites {
    pub(super) fn gather(case: &Case, steps: &Steps) -> Self {
        let current = steps.of_event(case.moment);
        let mut index: FxHashMap<StackId, usize> = FxHashMap::default();
        let mut by_stack: Vec<(StackId, Site)> = Vec::new();
        for block in &case.timeline.blocks {
            let Some(alloc) = block.alloc.filter(|&alloc| alloc <= case.moment) else { continue };
            let iteration = steps.of_event(alloc);
            if iteration == 0 {
                continue;
            }
            let stack = case.stack_of(block);
            let at = *index.entry(stack).or_insert_with(|| {
                by_stack.push((stack, Site::default()));
                by_stack.len() - 1
            });
            let freed = block.free_requested.filter(|&free| free <= case.moment).map(|free| steps.of_event(free));
            let site = &mut by_stack[at].1;
            if iteration < current {
                site.saw(block, iteration, freed, current);
            } else if freed.is_none() {
                site.new.push(block.id);
            }
        }
        Self { by_stack, current }
    }

    /// The places that allocated in the last iteration that is over.
    pub(super) fn of_last_iteration(&self) -> impl Iterator<Item = &Site> {
        self.by_stack.iter().map(|(_, site)| site).filter(|site| site.sizes.iteration() + 1 == self.current)
    }

    /// Whether a place leaves more and more behind, and still does.
    pub(super) fn leaks(&self, site: &Site) -> bool {
        (site.survives() || site.accumulates(self.current)) && !site.has_stopped(self.current) && !site.grows()
    }
}

impl Site {
    fn saw(&mut self, block: &LiveSpan, iteration: usize, freed: Option<usize>, current: usize) {
        let settled = iteration + 1 < current;
        self.births += usize::from(settled && self.sizes.iteration() != iteration);
        self.sizes.add(block, iteration);
        if freed == Some(iteration) {
            return;
        }
        self.carried_sizes.add(block, iteration);
        self.carried.push((iteration, block.bytes.cast_signed()));
        if let Some(freed) = freed {
            self.carried.push((freed, -block.bytes.cast_signed()));
            return;
        }
        self.held.push(block.id);
        if settled && self.last_survived != iteration {
            if self.survived > 0 {
                self.longest_pause = self.longest_pause.max(iteration - self.last_survived);
            }
            self.last_survived = iteration;
            self.survived += 1;
        }
    }

    /// Nearly every iteration that allocated here left something behind.
    fn survives(&self) -> bool {
        self.survived >= ITERATIONS_MIN && self.survived as f64 >= SURVIVAL * self.births as f64
    }

    /// Nothing has been left behind for longer than ever before.
    fn has_stopped(&self, current: usize) -> bool {
        // The last two iterations are not counted.
        let idle = current.saturating_sub(2).saturating_sub(self.last_survived);
        idle > PAUSES * self.longest_pause.max(1)
    }

    /// Old blocks go, but more new ones come: from quarter to quarter of the loop more is held, and the rise goes on.
    fn accumulates(&self, current: usize) -> bool {
        let whole = current.saturating_sub(1);
        if whole < QUARTERED_ITERATIONS_MIN {
            return false;
        }
        let least = self.least_by_quarter(whole);
        let came: i64 = self.carried.iter().map(|&(_, bytes)| bytes.max(0)).sum();
        let enough = KEPT_SHARE * came as f64 / 4.0;
        // The first quarter warms up.
        came > 0 && least[1..].windows(2).all(|pair| (pair[1] - pair[0]) as f64 >= enough)
    }

    /// The least that was held after an iteration, in each quarter of the iterations that are over.
    fn least_by_quarter(&self, whole: usize) -> [i64; 4] {
        let mut changes = self.carried.clone();
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let mut held = 0;
        let mut least = [i64::MAX; 4];
        for iteration in 1..=whole {
            while let Some((_, bytes)) = changes.next_if(|&(at, _)| at <= iteration) {
                held += bytes;
            }
            let quarter = &mut least[(iteration - 1) * 4 / whole];
            *quarter = held.min(*quarter);
        }
        least
    }

    /// What there is of a growing structure: the running iteration may have replaced it already.
    pub(super) fn structure(&self) -> &[BlockId] {
        if self.held.is_empty() { &self.new } else { &self.held }
    }

    /// Each iteration makes something larger than the one before, and lets the smaller one go.
    pub(super) fn grows(&self) -> bool {
        self.carried_sizes.rise() && (self.survived as f64) < SURVIVAL * self.births as f64
    }
}
