//! What is kept from one iteration of the loop to the next: leaks and growing structures.
//!
//! *Leak*: a place in the program allocates again and again, and what it allocated in earlier iterations is still held.
//! *Growth*: a place allocates in every iteration something larger than the time before and lets the smaller one go: a
//! cache that is copied as it grows.

mod holder;
mod rising;
mod site;
#[cfg(test)]
mod tests;

use oomph_heap::BlockId;
use oomph_trace::StackId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::case::Case;
use crate::source::Line;
use crate::steps::Steps;
use holder::Holders;
use site::Sites;

/// How something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// More and more blocks.
    Leak,
    /// A block that is replaced by a larger one.
    Growth,
}

impl Kind {
    /// The class of the verdict that speaks of it.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Growth => "growth",
        }
    }
}

/// Something that is kept from iteration to iteration.
#[derive(Clone, Debug)]
pub struct Retention {
    /// Leak or growth.
    pub kind: Kind,
    /// The user's line to blame.
    pub line: Option<Line>,
    /// The user's innermost line behind it, where it is another one.
    pub made_at: Option<Line>,
    /// The stack behind the line: of the newest block kept, or of the largest where they do not hang together.
    pub stack: StackId,
    /// Bytes kept from earlier iterations.
    pub bytes: u64,
    /// Bytes added an iteration.
    pub bytes_per_step: u64,
    /// Iterations that left something behind.
    pub steps: usize,
    /// The blocks kept from earlier iterations.
    pub blocks: Vec<BlockId>,
}

/// Everything that is kept from iteration to iteration at the case's moment, most bytes first.
#[must_use]
pub fn retained(case: &Case) -> Vec<Retention> {
    let Some(steps) = &case.steps else { return Vec::new() };
    // Steps may be marked anywhere in the loop's body; what belongs together shows from its top on.
    let steps = &steps.at_the_top(case.device, &case.sources, case.moment);
    let sites = Sites::gather(case, steps);
    let mut found = growths(case, steps, &sites);
    // Layers and time steps keep their activations for the backward pass: that is no leak.
    if !steps.inside_model {
        found.extend(leaks(case, steps, &sites));
    }
    found.sort_by_key(|retention| std::cmp::Reverse(retention.bytes));
    found
}

fn growths(case: &Case, steps: &Steps, sites: &Sites) -> Vec<Retention> {
    // What a job died of is what it died of; but batches that get larger are no reason for an alarm.
    if case.oom.is_none() && rising::is_the_input(case, steps, sites) {
        return Vec::new();
    }
    let grows = sites.by_stack.iter().filter(|(_, site)| site.grows() && !site.structure().is_empty());
    grows
        .map(|(stack, site)| Retention {
            kind: Kind::Growth,
            line: case.sources.line_to_name(*stack),
            made_at: None,
            stack: *stack,
            bytes: bytes_of(case, site.structure()),
            bytes_per_step: site.sizes.rise_bytes(),
            steps: site.carried_sizes.len(),
            blocks: site.structure().to_vec(),
        })
        .collect()
}

/// Leaking places that keep one another alive are one leak: the blocks of an iteration hang on the newest of them.
fn leaks(case: &Case, steps: &Steps, sites: &Sites) -> Vec<Retention> {
    let leaking: Vec<_> = sites.by_stack.iter().filter(|(_, site)| sites.leaks(site)).collect();
    let mut blocks: Vec<BlockId> = leaking.iter().flat_map(|(_, site)| site.held.iter().copied()).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    blocks.sort_unstable();
    let iteration = |id: &BlockId| steps.of_event(case.block(*id).alloc.unwrap_or(0));
    let mut by_line: FxHashMap<Option<Line>, Groups> = FxHashMap::default();
    let holders = Holders::of(case, steps);
    for group in blocks.chunk_by(|a, b| iteration(a) == iteration(b)) {
        let holder = holders.of_group(group);
        let of_line = by_line.entry(holder.line).or_default();
        of_line.blocks.extend(group);
        of_line.count += 1;
        of_line.stack = Some(holder.stack);
    }
    let mut leaks: Vec<Retention> = by_line.into_iter().map(|(line, groups)| leak(case, line, groups)).collect();
    // Recorded late: what the same places left behind before is part of the heaviest leak.
    let stacks: FxHashSet<StackId> = leaking.iter().map(|(stack, _)| *stack).collect();
    let ghosts = case.timeline.live_at(case.moment).filter(|block| block.is_ghost() && stacks.contains(&block.stack));
    if let Some(heaviest) = leaks.iter_mut().max_by_key(|leak| leak.bytes) {
        let ghosts: Vec<BlockId> = ghosts.map(|block| block.id).collect();
        heaviest.bytes += bytes_of(case, &ghosts);
        heaviest.blocks.extend(ghosts);
    }
    leaks.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.line.cmp(&b.line)));
    leaks
}

/// What iterations left behind that one line holds.
#[derive(Default)]
struct Groups {
    blocks: Vec<BlockId>,
    /// So many iterations.
    count: usize,
    /// The stack behind the line, of the latest.
    stack: Option<StackId>,
}

fn leak(case: &Case, line: Option<Line>, groups: Groups) -> Retention {
    let bytes = bytes_of(case, &groups.blocks);
    let stack = groups.stack.unwrap_or(StackId::MISSING);
    let innermost = case.sources.innermost_user(stack);
    Retention {
        kind: Kind::Leak,
        line,
        made_at: innermost.filter(|&innermost| Some(innermost) != line),
        stack,
        bytes,
        bytes_per_step: bytes / groups.count.max(1) as u64,
        steps: groups.count,
        blocks: groups.blocks,
    }
}

fn bytes_of(case: &Case, blocks: &[BlockId]) -> u64 {
    blocks.iter().map(|&id| case.block(id).bytes).sum()
}
