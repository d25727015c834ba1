//! What is kept from one iteration of the loop to the next: leaks and growing structures.
//!
//! *Leak*: a place in the program allocates in every iteration, and what it allocated in earlier iterations is still
//! held. *Growth*: a place allocates in every iteration something larger than the time before and lets the smaller
//! one go: a cache that is copied as it grows.

use oomph_heap::{BlockId, LiveSpan};
use oomph_trace::StackId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::case::Case;
use crate::source::Line;
use crate::steps::Steps;

// Each was halved and doubled over the recorded failures and the generated jobs; see verdict/leak.rs.

/// A place leaks if this part of the iterations in which it allocated left something behind: a few may have been cleared
/// by chance, such as a cycle that Python's garbage collector met. From 0.4 to 1 no verdict changes.
const SURVIVAL: f64 = 0.8;
/// Iterations that must have left something behind before it is called a leak. One is the first that makes state for
/// all others; with six, leaks that end the job after a few iterations are missed; from one to three nothing changes.
const ITERATIONS_MIN: usize = 2;
/// How often a growing structure must have grown: four rises in a row come by chance in one of 120 loops over batches of
/// random length. From one to seven no verdict changes.
const GROWTH_RISES: usize = 4;
/// Part of the iterations in which a growing structure may not have shrunk. One cache of the corpus is cut once in a
/// while (at 1 it is missed), and at half of this, batches of random length count as growing.
const GROWTH_STEADY: f64 = 0.95;

/// A running loss is one float: with less it is not found. Eight bytes would be a count of hits, which carries no graph;
/// no job of the corpus has one.
const ACCUMULATOR_BYTES_MAX: u64 = 4;

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
    /// The user's innermost line of the newest block kept, where it is another one.
    pub made_at: Option<Line>,
    /// The stack of the newest block kept.
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
    let sites = Sites::gather(case, steps);
    let mut found = sites.growths(case);
    // Layers and time steps keep their activations for the backward pass: that is no leak.
    if !steps.inside_model {
        found.extend(sites.leaks(case, steps));
    }
    found.sort_by_key(|retention| std::cmp::Reverse(retention.bytes));
    found
}

/// What one place in the program did over the iterations.
#[derive(Default)]
struct Site {
    /// Iterations in which it allocated, not counting the one before the last and the last.
    births: usize,
    last_birth: usize,
    /// Bytes allocated in each such iteration, in order.
    sizes: Vec<u64>,
    /// Still held at the moment, from iterations before the running one.
    held: Vec<BlockId>,
    /// Iterations, not counting the last two, that left something behind.
    survived: usize,
    last_survived: usize,
}

struct Sites {
    by_stack: Vec<(StackId, Site)>,
}

impl Sites {
    fn gather(case: &Case, steps: &Steps) -> Self {
        let current = steps.of_event(case.moment);
        let mut index: FxHashMap<StackId, usize> = FxHashMap::default();
        let mut by_stack: Vec<(StackId, Site)> = Vec::new();
        for block in &case.timeline.blocks {
            let Some(alloc) = block.alloc.filter(|&alloc| alloc <= case.moment) else { continue };
            let iteration = steps.of_event(alloc);
            if iteration == 0 || iteration >= current {
                continue;
            }
            let stack = case.stack_of(block);
            let at = *index.entry(stack).or_insert_with(|| {
                by_stack.push((stack, Site::default()));
                by_stack.len() - 1
            });
            by_stack[at].1.saw(block, iteration, current, case);
        }
        Self { by_stack }
    }

    fn growths(&self, case: &Case) -> Vec<Retention> {
        let grows = self.by_stack.iter().filter(|(_, site)| site.grows() && !site.held.is_empty());
        grows
            .map(|(stack, site)| {
                let span = site.sizes.last().copied().unwrap_or(0).saturating_sub(site.sizes[0]);
                Retention {
                    kind: Kind::Growth,
                    line: case.sources.line_to_name(*stack),
                    made_at: None,
                    stack: *stack,
                    bytes: bytes_of(case, &site.held),
                    bytes_per_step: span / (site.sizes.len() as u64 - 1).max(1),
                    steps: site.sizes.len(),
                    blocks: site.held.clone(),
                }
            })
            .collect()
    }

    /// Leaking places that keep one another alive are one leak: the blocks of an iteration hang on the newest of them.
    fn leaks(&self, case: &Case, steps: &Steps) -> Vec<Retention> {
        let leaking: Vec<&(StackId, Site)> =
            self.by_stack.iter().filter(|(_, site)| site.leaks() && !site.grows()).collect();
        let mut blocks: Vec<BlockId> = leaking.iter().flat_map(|(_, site)| site.held.iter().copied()).collect();
        if blocks.is_empty() {
            return Vec::new();
        }
        blocks.sort_unstable();
        let iteration = |id: &BlockId| steps.of_event(case.block(*id).alloc.unwrap_or(0));
        let mut by_line: FxHashMap<Option<Line>, Vec<&[BlockId]>> = FxHashMap::default();
        // It is the same for every iteration, and finding it looks at every block.
        let accumulator = accumulator(case, steps);
        for group in blocks.chunk_by(|a, b| iteration(a) == iteration(b)) {
            by_line.entry(holder(case, steps, group, accumulator)).or_default().push(group);
        }
        let mut leaks: Vec<Retention> = by_line.into_iter().map(|(line, groups)| leak(case, line, &groups)).collect();
        // Recorded late: what the same places left behind before is part of the heaviest leak.
        let stacks: FxHashSet<StackId> = leaking.iter().map(|(stack, _)| *stack).collect();
        let ghosts =
            case.timeline.live_at(case.moment).filter(|block| block.is_ghost() && stacks.contains(&block.stack));
        if let Some(heaviest) = leaks.iter_mut().max_by_key(|leak| leak.bytes) {
            let ghosts: Vec<BlockId> = ghosts.map(|block| block.id).collect();
            heaviest.bytes += bytes_of(case, &ghosts);
            heaviest.blocks.extend(ghosts);
        }
        leaks.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.line.cmp(&b.line)));
        leaks
    }
}

impl Site {
    fn saw(&mut self, block: &LiveSpan, iteration: usize, current: usize, case: &Case) {
        let settled = iteration + 1 < current;
        if self.last_birth == iteration {
            if let Some(size) = self.sizes.last_mut() {
                *size += block.bytes;
            }
        } else {
            self.last_birth = iteration;
            self.sizes.push(block.bytes);
            self.births += usize::from(settled);
        }
        if block.free_requested.is_none_or(|free| free > case.moment) {
            self.held.push(block.id);
            if settled && self.last_survived != iteration {
                self.last_survived = iteration;
                self.survived += 1;
            }
        }
    }

    fn leaks(&self) -> bool {
        self.survived >= ITERATIONS_MIN && self.survived as f64 >= SURVIVAL * self.births as f64
    }

    fn grows(&self) -> bool {
        let pairs = self.sizes.windows(2);
        let steady = pairs.clone().filter(|pair| pair[1] >= pair[0]).count();
        let rises = pairs.clone().filter(|pair| pair[1] > pair[0]).count();
        rises >= GROWTH_RISES
            && steady as f64 >= GROWTH_STEADY * pairs.len() as f64
            && (self.survived as f64) < SURVIVAL * self.births as f64
    }
}

fn leak(case: &Case, line: Option<Line>, groups: &[&[BlockId]]) -> Retention {
    let blocks: Vec<BlockId> = groups.concat();
    let bytes = bytes_of(case, &blocks);
    let stack =
        groups.last().and_then(|group| group.last()).map_or(StackId::MISSING, |&id| case.stack_of(case.block(id)));
    let innermost = case.sources.innermost_user(stack);
    Retention {
        kind: Kind::Leak,
        line,
        made_at: innermost.filter(|&innermost| Some(innermost) != line),
        stack,
        bytes,
        bytes_per_step: bytes / groups.len() as u64,
        steps: groups.len(),
        blocks,
    }
}

/// The line that holds what an iteration left behind.
///
/// A graph hangs on its newest node: what was allocated last is what the program still holds, and the rest is kept
/// alive by it. There are three turns to this. A running sum frees its old value when the new one is there, so the
/// newest node is gone by then; it shows in that the operator's inner tensors are kept and its own result is not.
/// A sum in place allocates nothing after the first iteration; the number it made then is still there. And a hook or a method inside a model may remember something that is not the model's result; it shows in that the
/// model went on to make other things, which are gone.
fn holder(case: &Case, steps: &Steps, group: &[BlockId], accumulator: Option<&LiveSpan>) -> Option<Line> {
    let newest = case.block(*group.last()?);
    let is_a_graph = group.iter().any(|&id| case.stack_of(case.block(id)) != case.stack_of(newest));
    let sum = running_sum(case, steps, newest).or_else(|| accumulator.filter(|_| is_a_graph));
    if let Some(sum) = sum {
        return case.blame(case.stack_of(sum));
    }
    let stack = case.stack_of(newest);
    let in_loop = case.blame(stack);
    let inside = case.sources.innermost_user(stack).filter(|&line| {
        Some(line) != in_loop && case.sources.function(line) != "forward" && case.sources.is_inside_model(stack, line)
    });
    let Some(inside) = inside else { return in_loop };
    let went_on = case.timeline.blocks[newest.id as usize + 1..]
        .iter()
        .take_while(|block| case.blame(case.stack_of(block)) == in_loop)
        .any(|block| case.sources.innermost_user(case.stack_of(block)) != Some(inside));
    if went_on { Some(inside) } else { in_loop }
}

/// The last block of the iteration that lived until the next iteration replaced it, if the operator that made
/// `newest` let go of its own result that way.
fn running_sum<'a>(case: &'a Case, steps: &Steps, newest: &LiveSpan) -> Option<&'a LiveSpan> {
    let iteration = steps.of_event(newest.alloc?);
    let carried = |block: &LiveSpan| {
        let until_next = block.free_requested.is_some_and(|free| steps.of_event(free) == iteration + 1);
        until_next && !case.attribution.is_borrowed(block)
    };
    let (earlier, later) = case.timeline.blocks.split_at(newest.id as usize);
    let of_same_call = |block: &&LiveSpan| case.stack_of(block) == case.stack_of(newest);
    let own_result_is_gone = earlier.iter().rev().take_while(of_same_call).any(carried)
        || later.iter().skip(1).take_while(of_same_call).any(carried);
    if !own_result_is_gone {
        return None;
    }
    let line = |block: &LiveSpan| case.blame(case.stack_of(block));
    let replaced = later
        .iter()
        .take_while(|block| block.alloc.is_some_and(|alloc| steps.of_event(alloc) == iteration))
        .filter(|block| carried(block))
        .last();
    replaced.filter(|block| line(block) != line(newest))
}

/// A number that the first iteration made and every later one adds to in place (`total += loss`): it is allocated
/// once, right in the loop, and never again.
fn accumulator<'a>(case: &'a Case, steps: &Steps) -> Option<&'a LiveSpan> {
    let of_loop = case.timeline.blocks.iter().filter(|block| block.alloc.is_some_and(|at| steps.of_event(at) >= 1));
    let mut births: FxHashMap<StackId, usize> = FxHashMap::default();
    for block in of_loop.clone() {
        *births.entry(case.stack_of(block)).or_default() += 1;
    }
    of_loop
        .take_while(|block| block.alloc.is_some_and(|at| steps.of_event(at) == 1))
        .filter(|block| {
            let stack = case.stack_of(block);
            let right_in_the_loop = case.sources.innermost_user(stack) == case.blame(stack)
                && case.sources.outermost_first(stack).last().is_some_and(|frame| case.sources.is_user(frame));
            block.requested_bytes <= ACCUMULATOR_BYTES_MAX
                && births[&stack] == 1
                && right_in_the_loop
                && block.free_requested.is_none_or(|free| free > case.moment)
                && !case.attribution.is_borrowed(block)
        })
        .last()
}

fn bytes_of(case: &Case, blocks: &[BlockId]) -> u64 {
    blocks.iter().map(|&id| case.block(id).bytes).sum()
}
