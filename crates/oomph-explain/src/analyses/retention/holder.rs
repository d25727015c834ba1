//! Which line holds what an iteration left behind.

use oomph_heap::{BlockId, LiveSpan};
use oomph_trace::StackId;
use rustc_hash::FxHashMap;

use crate::case::Case;
use crate::source::Line;
use crate::steps::Steps;

/// A running loss is one float: with less it is not found. Eight bytes would be a count of hits, which carries no graph;
/// no job of the corpus has one.
const ACCUMULATOR_BYTES_MAX: u64 = 4;

/// Who holds what one iteration left behind.
pub(super) struct Holder {
    /// The user's line.
    pub(super) line: Option<Line>,
    /// The stack of the block it stands for.
    pub(super) stack: StackId,
}

/// Finds the lines that hold what iterations left behind.
pub(super) struct Holders<'a> {
    case: &'a Case<'a>,
    steps: &'a Steps,
    /// It is the same for every iteration, and finding it looks at every block.
    accumulator: Option<&'a LiveSpan>,
}

impl<'a> Holders<'a> {
    pub(super) fn of(case: &'a Case<'a>, steps: &'a Steps) -> Self {
        Self { case, steps, accumulator: accumulator(case, steps) }
    }

    /// The line that holds what an iteration left behind; the blocks in the order in which they were made.
    ///
    /// A graph hangs on its newest node: what was allocated last is what the program still holds, and the rest is kept
    /// alive by it. There are three turns to this. A running sum frees its old value when the new one is there, so the
    /// newest node is gone by then; it shows in that the operator's inner tensors are kept and its own result is not.
    /// A sum in place allocates nothing after the first iteration; the number it made then is still there. And a hook
    /// or a method inside a model may remember something that is not the model's result; it shows in that the model went
    /// on to make other things, which are gone.
    ///
    /// Where no model made any of it, or a backward pass has taken the graph apart since, nothing says that the blocks hang
    /// together, and the line that made most is named.
    pub(super) fn of_group(&self, group: &[BlockId]) -> Holder {
        let case = self.case;
        let Some(newest) = group.last().map(|&id| case.block(id)) else {
            return Holder { line: None, stack: StackId::MISSING };
        };
        let stack = case.stack_of(newest);
        let is_a_graph = group.iter().any(|&id| case.stack_of(case.block(id)) != stack);
        let sum = running_sum(case, self.steps, newest).or_else(|| self.accumulator.filter(|_| is_a_graph));
        if let Some(sum) = sum {
            return Holder { line: case.blame(case.stack_of(sum)), stack };
        }
        let hangs_together =
            group.iter().any(|&id| self.is_made_by_a_model(case.block(id))) && !self.graph_is_gone(newest);
        let holding = if hangs_together { newest } else { self.heaviest(group).unwrap_or(newest) };
        let stack = case.stack_of(holding);
        Holder { line: self.inside_a_model(holding).or_else(|| case.blame(stack)), stack }
    }

    /// Whether a backward pass after the newest block let go of what a model had made before it, in the same iteration: then
    /// no graph hangs on the newest block, and whatever is left is held for itself.
    fn graph_is_gone(&self, newest: &LiveSpan) -> bool {
        let (case, steps) = (self.case, self.steps);
        let Some(made) = newest.alloc else { return false };
        let iteration = steps.of_event(made);
        let in_iteration = |block: &&LiveSpan| block.alloc.is_some_and(|at| steps.of_event(at) == iteration);
        let (earlier, later) = case.timeline.blocks.split_at(newest.id as usize);
        let is_of_backward = |block: &LiveSpan| case.attribution.is_borrowed(block);
        let goes_afterwards = |block: &LiveSpan| {
            block.free_requested.is_some_and(|free| free > made && steps.of_event(free) == iteration)
        };
        later.iter().skip(1).take_while(in_iteration).any(is_of_backward)
            && earlier
                .iter()
                .rev()
                .take_while(in_iteration)
                .any(|block| goes_afterwards(block) && self.is_made_by_a_model(block))
    }

    fn is_made_by_a_model(&self, block: &LiveSpan) -> bool {
        let sources = &self.case.sources;
        let mut frames = sources.outermost_first(self.case.stack_of(block));
        self.case.attribution.is_borrowed(block) || frames.any(|frame| sources.is_module_call(frame))
    }

    /// The largest block of the line that made most bytes; of equal ones the newest.
    fn heaviest(&self, group: &[BlockId]) -> Option<&'a LiveSpan> {
        let case = self.case;
        let mut by_line: FxHashMap<Option<Line>, (u64, BlockId)> = FxHashMap::default();
        let bytes = |id: BlockId| case.block(id).bytes;
        for &id in group {
            let line = case.blame(case.stack_of(case.block(id)));
            let (sum, largest) = by_line.entry(line).or_insert((0, id));
            *sum += bytes(id);
            if bytes(id) >= bytes(*largest) {
                *largest = id;
            }
        }
        by_line.into_values().max().map(|(_, largest)| case.block(largest))
    }

    /// The line inside a model that remembers the newest block, if it is not the model's result.
    fn inside_a_model(&self, newest: &LiveSpan) -> Option<Line> {
        let case = self.case;
        let stack = case.stack_of(newest);
        let in_loop = case.blame(stack);
        let inside = case.sources.innermost_user(stack).filter(|&line| {
            let is_forward = case.sources.function(line) == "forward";
            Some(line) != in_loop && !is_forward && case.sources.is_inside_model(stack, line)
        })?;
        let went_on = case.timeline.blocks[newest.id as usize + 1..]
            .iter()
            .take_while(|block| case.blame(case.stack_of(block)) == in_loop)
            .any(|block| case.sources.innermost_user(case.stack_of(block)) != Some(inside));
        went_on.then_some(inside)
    }
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
