//! Finds the loop that was running, and its iterations.
//!
//! Marks are believed first (a profiler's steps, oomph's own). Without them the loop shows itself: some allocation
//! happens once an iteration, and what lies between two such moments looks like what lies between the next two. The
//! allocation whose gaps resemble one another over the longest stretch is taken as the loop's beat.
//!
//! A loop inside a model's forward pass (layers, time steps) is not what people call a step: it keeps its activations
//! on purpose. Neither is a loop that builds a model or an optimizer's state.

mod marks;

use oomph_trace::{Action, DeviceTrace, EventIndex, FrameId, Mark, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::source::{Line, Sources};
use marks::MarkedLoops;
pub(crate) use marks::end_of_loop;

// Each was halved and doubled over the recorded failures and the generated jobs; see verdict/leak.rs. The bounds on
// work (a window, candidates, iterations compared) keep the search below a second on histories of millions of events,
// and changed no verdict.

/// Older allocations than these are not looked at when searching for a beat: the loop that matters is running now.
const WINDOW_ALLOCS: usize = 200_000;
/// Beats tried; stacks that occur equally often are equally good, so few are needed.
const CANDIDATES: usize = 64;
/// Two gaps resemble each other if they share this part of their stacks: a branch now and then is allowed. From 0.4 to 1
/// no verdict changes.
const RESEMBLANCE: f64 = 0.8;
/// Fewer distinct stacks than these do not tell one course of a loop from another. With one, any loop over one operator
/// counts as steps (two verdicts change); with six, short loop bodies are not recognised (a generated leak is missed).
const COURSE_STACKS: usize = 3;
/// A beat must explain at least this part of the stretch it spans: most of it. From 0.25 to 1 no verdict changes.
const COVERAGE: f64 = 0.5;
/// Coverages are told apart by tenths; of equally good beats the shorter wins. By fifths or twentieths no verdict changes.
const COVERAGE_GRAINS: u8 = 10;
/// Iterations whose stacks are compared to find the loop's own frame.
const FRAME_ITERATIONS: usize = 8;

/// The loop's own frame: what every stack inside the loop has in common.
#[derive(Clone, Debug)]
pub struct LoopFrame {
    /// Outermost first; the last is the function that holds the loop.
    frames: Vec<FrameId>,
    /// Functions of the user's that the loop calls, directly or through one another, and that call a model.
    model_runners: Vec<FrameId>,
}

/// How the iterations were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSource {
    /// From marks with this name (numbers left out).
    Marks(String),
    /// From the period of the allocations.
    Period,
}

/// The iterations of the loop that was running.
#[derive(Clone, Debug)]
pub struct Steps {
    /// First event of each iteration, ascending.
    pub starts: Vec<EventIndex>,
    /// How they were found.
    pub source: StepSource,
    /// The loop's own frame, if its stacks have one in common.
    pub loop_frame: Option<LoopFrame>,
    /// Whether the loop lies inside a model's forward pass, as far as can be told. Such a loop keeps its activations
    /// on purpose.
    pub inside_model: bool,
}

impl Steps {
    /// Finds the loop that was running at `moment`, if there was one.
    ///
    /// Steps that oomph marked itself are believed even where they are few or over: they are the job's own steps, and
    /// what repeats beside them is a part of one.
    #[must_use]
    pub fn find(device: &DeviceTrace, marks: &[Mark], sources: &Sources, moment: EventIndex) -> Option<Self> {
        let allocs = Allocs::until(device, moment);
        let loops = MarkedLoops { device, marks, sources, allocs: &allocs, moment };
        loops
            .running(marks::step_family)
            .or_else(|| loops.named(marks::OWN_STEPS))
            .or_else(|| from_period(sources, &allocs, Detail::StackAndSize, Place::OutsideModels))
            .or_else(|| from_period(sources, &allocs, Detail::Stack, Place::OutsideModels))
            .or_else(|| loops.running(marks::optimizer_family))
            .or_else(|| from_period(sources, &allocs, Detail::StackAndSize, Place::InsideModels))
    }

    /// The iterations up to `moment` of the loop whose marks have this name, numbers left out.
    #[must_use]
    pub fn of_loop(
        device: &DeviceTrace,
        marks: &[Mark],
        sources: &Sources,
        moment: EventIndex,
        name: &str,
    ) -> Option<Self> {
        let allocs = Allocs::until(device, moment);
        MarkedLoops { device, marks, sources, allocs: &allocs, moment }.named(name)
    }

    /// The same iterations, each from the top of the loop's body on.
    ///
    /// Marks may lie anywhere in it: a step that oomph marks ends with the optimizer's step, and what the loop does after
    /// that would be counted to the next iteration. Where the top cannot be told, they stay as they are.
    #[must_use]
    pub(crate) fn at_the_top(&self, device: &DeviceTrace, sources: &Sources, moment: EventIndex) -> Self {
        let mut steps = self.clone();
        let Some(frame) = self.loop_frame.as_ref().filter(|_| self.source != StepSource::Period) else { return steps };
        let allocs = Allocs::until(device, moment);
        // The first mark may be the creation of an optimizer, with all kinds of things before the loop.
        let starts = self.starts.get(1..).unwrap_or_default();
        let all_in_sight = allocs.events.first().zip(starts.first()).is_some_and(|(first, start)| first <= start);
        if starts.len() < 3 || !all_in_sight {
            return steps;
        }
        let positions: Vec<usize> =
            starts.iter().map(|&start| allocs.events.partition_point(|&alloc| alloc < start)).collect();
        if positions[0] >= allocs.len() {
            return steps;
        }
        let tops = from_the_top(sources, &allocs, &positions, frame);
        if tops.len().abs_diff(self.starts.len()) <= 1 {
            // An iteration that has only begun has no allocation yet.
            steps.starts = tops.into_iter().filter_map(|at| allocs.events.get(at).copied()).collect();
        }
        steps
    }

    /// The iteration an event belongs to, from 1; 0 is what came before the loop.
    #[must_use]
    pub fn of_event(&self, event: EventIndex) -> usize {
        self.starts.partition_point(|&start| start <= event)
    }

    /// The line of the loop's own function that a stack passes through.
    #[must_use]
    pub fn line_of(&self, sources: &Sources, stack: StackId) -> Option<Line> {
        match &self.loop_frame {
            Some(frame) if !self.inside_model => frame.line_of(sources, stack),
            _ => sources.caller_of_model(stack),
        }
    }
}

impl LoopFrame {
    /// The line number at which a stack passes through the loop's function, if it does.
    fn own_line(&self, sources: &Sources, stack: StackId) -> Option<u32> {
        let (&holder, way) = self.frames.split_last()?;
        let mut frames = sources.outermost_first(stack);
        let same_way =
            way.iter().all(|&expected| frames.next().is_some_and(|found| sources.same_line(expected, found)));
        let own = frames.next().filter(|&found| same_way && sources.same_function(holder, found))?;
        Some(sources.place(sources.line(own)).1)
    }

    /// The line a stack is blamed on: its line in the loop's function, or where it left the way to it.
    ///
    /// If that frame is a library's (a trainer holds the loop), the user's first frame inside it; if there is none,
    /// the user's last frame outside.
    fn line_of(&self, sources: &Sources, stack: StackId) -> Option<Line> {
        let frames: Vec<FrameId> = sources.outermost_first(stack).collect();
        let last = self.frames.len().checked_sub(1)?;
        let common = self
            .frames
            .iter()
            .zip(&frames)
            .take(last)
            .take_while(|&(&expected, &found)| sources.same_line(expected, found))
            .count();
        let (outside, inside) = frames.split_at(common.min(frames.len()));
        let user = |frame: &FrameId| sources.is_user(*frame);
        let Some(first) = inside.iter().position(user) else {
            let outside = outside.iter().rev().find(|frame| user(frame)).map(|&frame| sources.line(frame));
            return outside.or_else(|| sources.line_to_name(stack));
        };
        // A function that runs the model is part of the loop: its own lines tell more than the line that calls it.
        let called = inside[first + 1..].iter().take_while(|frame| user(frame));
        let deepest = called.filter(|&&frame| self.runs_the_model(sources, frame)).last();
        Some(sources.line(*deepest.unwrap_or(&inside[first])))
    }

    fn runs_the_model(&self, sources: &Sources, frame: FrameId) -> bool {
        self.model_runners.iter().any(|&runner| sources.same_function(runner, frame))
    }
}

/// The allocations up to a moment, as far back as the search looks.
struct Allocs {
    events: Vec<EventIndex>,
    stacks: Vec<StackId>,
    bytes: Vec<u64>,
    /// Whether the last of them failed.
    is_cut_short: bool,
}

/// What an allocation looks like from iteration to iteration.
type Look = (StackId, u32);

/// What makes two allocations look alike.
#[derive(Clone, Copy)]
enum Detail {
    /// Where they are made, and their sizes to a power of two: tells iterations apart even in a loop on one line.
    StackAndSize,
    /// Where they are made: for jobs whose sizes vary from batch to batch.
    Stack,
}

impl Allocs {
    fn until(device: &DeviceTrace, moment: EventIndex) -> Self {
        let until = (moment as usize + 1).min(device.events.len());
        let mut events: Vec<EventIndex> = device.events[..until]
            .iter()
            .enumerate()
            .rev()
            // The request that failed may well be the first of its iteration.
            .filter(|&(at, event)| event.action == Action::Alloc || (event.action == Action::Oom && at + 1 == until))
            .take(WINDOW_ALLOCS)
            .map(|(at, _)| at as EventIndex)
            .collect();
        events.reverse();
        let stacks = events.iter().map(|&at| device.events[at as usize].stack).collect();
        let bytes = events.iter().map(|&at| device.events[at as usize].bytes).collect();
        let is_cut_short = events.last().is_some_and(|&at| device.events[at as usize].action == Action::Oom);
        Self { events, stacks, bytes, is_cut_short }
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn look(&self, at: usize, detail: Detail) -> Look {
        match detail {
            Detail::StackAndSize => (self.stacks[at], self.bytes[at].max(1).ilog2()),
            Detail::Stack => (self.stacks[at], 0),
        }
    }
}

/// Whether the loop was still going on at the end: what follows its last beat is not much longer than a gap.
fn still_running(positions: &[usize], end: usize) -> bool {
    let longest = positions.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    positions.last().is_some_and(|&last| end.saturating_sub(last) <= 2 * longest.max(1))
}

fn from_period(sources: &Sources, allocs: &Allocs, detail: Detail, place: Place) -> Option<Steps> {
    let mut best: Option<((u8, usize), Vec<usize>, LoopFrame)> = None;
    for positions in candidates(sources, allocs) {
        if positions.len() < 3 || !still_running(&positions, allocs.stacks.len()) {
            continue;
        }
        let coverage = coverage(allocs, &positions, detail);
        let score = (grains(coverage), positions.len());
        if coverage < COVERAGE || best.as_ref().is_some_and(|(best, ..)| *best >= score) {
            continue;
        }
        let fits = |frame: &LoopFrame| is_a_step_loop(sources, frame, place);
        if let Some(frame) = loop_frame(sources, allocs, &positions).filter(fits) {
            best = Some((score, positions, frame));
        }
    }
    let (_, positions, frame) = best?;
    let starts = from_the_top(sources, allocs, &positions, &frame).into_iter().map(|at| allocs.events[at]).collect();
    let inside_model = place == Place::InsideModels;
    Some(Steps { starts, source: StepSource::Period, loop_frame: Some(frame), inside_model })
}

/// A coverage as a number of grains.
fn grains(coverage: f64) -> u8 {
    (0..=COVERAGE_GRAINS)
        .rev()
        .find(|&grain| coverage * f64::from(COVERAGE_GRAINS) + 0.5 >= f64::from(grain))
        .unwrap_or(0)
}

/// Where each allocation worth trying as a beat occurs, told by its stack alone or by stack and exact size.
///
/// Of those that occur equally often, the earliest and the latest are tried: the others beat with one of them.
fn candidates(sources: &Sources, allocs: &Allocs) -> Vec<Vec<usize>> {
    let mut places: FxHashMap<(StackId, Option<u64>), Vec<usize>> = FxHashMap::default();
    for (at, &stack) in allocs.stacks.iter().enumerate() {
        if sources.has_python(stack) {
            places.entry((stack, None)).or_default().push(at);
            places.entry((stack, Some(allocs.bytes[at]))).or_default().push(at);
        }
    }
    let mut by_start: Vec<Vec<usize>> = places.into_values().filter(|at| at.len() >= 3).collect();
    by_start.sort_unstable();
    by_start.dedup();
    let mut chosen: Vec<usize> = Vec::new();
    let mut counts = FxHashSet::default();
    for (index, at) in by_start.iter().enumerate() {
        if counts.insert(at.len()) {
            chosen.push(index);
        }
    }
    counts.clear();
    for (index, at) in by_start.iter().enumerate().rev() {
        if counts.insert(at.len()) && !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    // The rarer an allocation, the more likely it is once an iteration and not once a layer.
    chosen.sort_by_key(|&index| (by_start[index].len(), index));
    chosen.truncate(CANDIDATES);
    chosen.into_iter().map(|index| std::mem::take(&mut by_start[index])).collect()
}

/// The part of the stretch from the first beat to the last that lies in gaps which resemble a neighbour.
fn coverage(allocs: &Allocs, positions: &[usize], detail: Detail) -> f64 {
    let sets = |detail: Detail| -> Vec<FxHashSet<Look>> {
        positions.windows(2).map(|pair| (pair[0]..pair[1]).map(|at| allocs.look(at, detail)).collect()).collect()
    };
    let (gaps, stacks) = (sets(detail), sets(Detail::Stack));
    let length = |at: usize| positions[at + 1] - positions[at];
    let resembles = |sets: &[FxHashSet<Look>], a: usize, b: usize| {
        let shared = sets[a].intersection(&sets[b]).count();
        shared as f64 >= RESEMBLANCE * (sets[a].len() + sets[b].len() - shared) as f64
    };
    // A batch of another size changes many looks at once, but not which places allocate, nor how often.
    let same_course = |a: usize, b: usize| {
        let same_length = length(a).abs_diff(length(b)) * 10 <= length(a).max(length(b));
        same_length && stacks[a].len() >= COURSE_STACKS && resembles(&stacks, a, b)
    };
    let alike = |a: usize, b: usize| resembles(&gaps, a, b) || same_course(a, b);
    let pairs: Vec<bool> = (1..gaps.len()).map(|at| alike(at - 1, at)).collect();
    // The first iteration warms up: optimizer state and workspaces appear in it and never again.
    let warm = usize::from(gaps.len() > 2);
    let covered: usize = (warm..gaps.len())
        .filter(|&at| (at > 0 && pairs[at - 1]) || pairs.get(at).copied().unwrap_or(false))
        .map(length)
        .sum();
    let span = positions[positions.len() - 1] - positions[warm];
    if span == 0 { 0.0 } else { covered as f64 / span as f64 }
}

/// The beat may fall anywhere in an iteration. An iteration begins at the first line of the loop's body that
/// allocates. If the body is one line, the first iteration shows where one begins: with the earliest thing before the
/// first beat, no farther back than an iteration is long, that the loop does again and again.
fn from_the_top(sources: &Sources, allocs: &Allocs, positions: &[usize], frame: &LoopFrame) -> Vec<usize> {
    let (first, last) = (positions[0], positions[positions.len() - 1]);
    let stacks: FxHashSet<StackId> = allocs.stacks[first..last].iter().copied().collect();
    let number = |stack: StackId| frame.own_line(sources, stack);
    let lines: FxHashMap<StackId, Option<u32>> = stacks.iter().map(|&stack| (stack, number(stack))).collect();
    let line = |at: usize| lines.get(allocs.stacks.get(at)?).copied().flatten();
    // A line further up may allocate in some iterations only: then they begin there. But a job that died in an iteration
    // longer than all before it may have been in a loop inside the one that matters.
    let top = if allocs.is_cut_short { lines.values().flatten().min().copied() } else { usual_top(positions, line) };
    let opens: Box<dyn Fn(usize) -> bool> = match (top, lines.values().flatten().max()) {
        (Some(top), Some(&bottom)) if top < bottom => Box::new(move |at| line(at).is_some_and(|line| line <= top)),
        _ => {
            let longest = positions.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            let opening = (first.saturating_sub(longest)..first).find(|&at| stacks.contains(&allocs.stacks[at]));
            let Some(top) = opening.filter(|&at| allocs.stacks[at] != allocs.stacks[first]) else {
                return positions.to_vec();
            };
            Box::new(move |at| allocs.stacks[at] == allocs.stacks[top])
        }
    };
    let in_first = (0..first).rev().find(|&at| opens(at) && (at == 0 || !opens(at - 1))).filter(|_| !opens(first));
    let ends = positions[1..].iter().copied().chain([allocs.stacks.len()]);
    let later = positions.iter().copied().zip(ends).filter_map(|(beat, end)| (beat..end).find(|&at| opens(at)));
    in_first.into_iter().chain(later).collect()
}

/// The first line of the loop's body that allocates in nearly every iteration.
fn usual_top(positions: &[usize], line: impl Fn(usize) -> Option<u32>) -> Option<u32> {
    let mut iterations: FxHashMap<u32, usize> = FxHashMap::default();
    for pair in positions.windows(2) {
        let mut lines: Vec<u32> = (pair[0]..pair[1]).filter_map(&line).collect();
        lines.sort_unstable();
        lines.dedup();
        for line in lines {
            *iterations.entry(line).or_default() += 1;
        }
    }
    let usual = RESEMBLANCE * (positions.len() - 1) as f64;
    iterations.into_iter().filter(|&(_, count)| count as f64 >= usual).map(|(line, _)| line).min()
}

/// What the stacks of the last whole iterations have in common, from the outside in.
fn loop_frame(sources: &Sources, allocs: &Allocs, positions: &[usize]) -> Option<LoopFrame> {
    let from = positions[positions.len().saturating_sub(FRAME_ITERATIONS + 1)];
    let mut seen = FxHashSet::default();
    let last = positions[positions.len() - 1];
    let stacks: Vec<StackId> = allocs.stacks[from..last]
        .iter()
        .copied()
        .filter(|&stack| sources.has_python(stack) && seen.insert(stack))
        .collect();
    let mut common: Vec<FrameId> = sources.outermost_first(*stacks.first()?).collect();
    for &stack in &stacks[1..] {
        let frames: Vec<FrameId> = sources.outermost_first(stack).collect();
        let same = common.iter().zip(&frames).take_while(|&(&a, &b)| sources.same_line(a, b)).count();
        let keep = match (common.get(same), frames.get(same)) {
            (Some(&a), Some(&b)) if sources.same_function(a, b) => same + 1,
            _ => same,
        };
        common.truncate(keep);
    }
    // A loop that allocates in one place only has that operator's wrapper in common too.
    while common.last().is_some_and(|&frame| sources.is_operator(frame)) {
        common.pop();
    }
    let model_runners = model_runners(sources, &stacks, common.len());
    (!common.is_empty()).then_some(LoopFrame { frames: common, model_runners })
}

/// Frames right under the loop's own, with nothing but the user's code between, that a module call follows.
fn model_runners(sources: &Sources, stacks: &[StackId], depth: usize) -> Vec<FrameId> {
    let mut runners: Vec<FrameId> = Vec::new();
    for &stack in stacks {
        let frames: Vec<FrameId> = sources.outermost_first(stack).skip(depth).collect();
        let own = frames.iter().take_while(|&&frame| sources.is_user(frame)).count();
        if frames.get(own).is_some_and(|&frame| sources.is_module_call(frame)) {
            runners.extend(&frames[..own]);
        }
    }
    runners.sort_unstable();
    runners.dedup();
    runners
}

/// Where a loop may lie to be taken for one of steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    OutsideModels,
    InsideModels,
}

/// Not a loop that builds things, nor one of torch's own, and in the right place.
fn is_a_step_loop(sources: &Sources, frame: &LoopFrame, place: Place) -> bool {
    let Some(&holder) = frame.frames.last() else { return false };
    let name = sources.function(sources.line(holder));
    let inside = frame.frames.iter().any(|&frame| sources.is_module_call(frame));
    inside == (place == Place::InsideModels) && !sources.is_torch(holder) && name != "__init__"
}
