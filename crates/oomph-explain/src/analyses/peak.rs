//! Who holds the bytes at a moment: by line, by stack, by category.

use oomph_heap::LiveSpan;
use oomph_trace::{Category, EventIndex, StackId};
use rustc_hash::FxHashMap;

use crate::case::Case;
use crate::source::Line;

/// Bytes charged to one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<T> {
    /// The thing; `None` where nothing is known.
    pub what: Option<T>,
    /// Bytes of its blocks.
    pub bytes: u64,
    /// How many blocks.
    pub blocks: usize,
}

/// A line that holds bytes by what it calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The line, with the bytes of everything it allocated or had allocated.
    pub held: Held<Line>,
    /// The same bytes by the innermost of the user's lines, most first.
    pub inside: Vec<Held<Line>>,
}

impl Caller {
    /// Whether the line itself allocated all of it.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.inside.iter().all(|inside| inside.what == self.held.what)
    }
}

/// What was live after one event.
#[derive(Clone, Debug)]
pub struct Holders {
    /// The event.
    pub at: EventIndex,
    /// Bytes of all live blocks.
    pub allocated_bytes: u64,
    /// By the user's line that allocated (the innermost user frame), most first.
    pub lines: Vec<Held<Line>>,
    /// The same bytes by the line that verdicts blame (the loop's own line, or the call of the model), most first, each
    /// with the innermost lines it leads to.
    pub callers: Vec<Caller>,
    /// By whole stack, most first.
    pub stacks: Vec<Held<StackId>>,
    /// By category; they add up to `allocated_bytes`.
    pub categories: Vec<(Category, u64)>,
}

/// Who holds the bytes after an event.
#[must_use]
pub fn holders_at(case: &Case, at: EventIndex) -> Holders {
    let live: Vec<&LiveSpan> = case.timeline.live_at(at).collect();
    let mut categories = [Category::Parameter, Category::Gradient, Category::Optimizer, Category::Activation]
        .into_iter()
        .chain([Category::Workspace, Category::Input, Category::Other])
        .map(|category| (category, 0))
        .collect::<Vec<_>>();
    for block in &live {
        let category = match case.categories.of(block.id) {
            Category::Unknown => Category::Other,
            known => known,
        };
        if let Some(entry) = categories.iter_mut().find(|entry| entry.0 == category) {
            entry.1 += block.bytes;
        }
    }
    Holders {
        at,
        allocated_bytes: live.iter().map(|block| block.bytes).sum(),
        lines: sum_by(&live, |block| case.sources.line_to_name(case.stack_of(block))),
        callers: callers(case, &live),
        stacks: sum_by(&live, |block| {
            let stack = case.stack_of(block);
            (!case.sources.table().stack(stack).is_empty()).then_some(stack)
        }),
        categories,
    }
}

fn callers(case: &Case, live: &[&LiveSpan]) -> Vec<Caller> {
    let mut blamed: FxHashMap<StackId, Option<Line>> = FxHashMap::default();
    let mut by_line: FxHashMap<Option<Line>, Vec<&LiveSpan>> = FxHashMap::default();
    for &block in live {
        let stack = case.stack_of(block);
        let caller = *blamed.entry(stack).or_insert_with(|| case.blame(stack));
        by_line.entry(caller).or_default().push(block);
    }
    let inside = |line| sum_by(&by_line[&line], |block| case.sources.line_to_name(case.stack_of(block)));
    let held = sum_by(live, |block| blamed[&case.stack_of(block)]);
    held.into_iter().map(|held| Caller { inside: inside(held.what), held }).collect()
}

/// Bytes of blocks by a key, most first; equal sums stand in the order of their keys.
pub(crate) fn sum_by<T: Copy + Eq + std::hash::Hash + Ord>(
    blocks: &[&LiveSpan],
    key: impl Fn(&LiveSpan) -> Option<T>,
) -> Vec<Held<T>> {
    let mut sums: FxHashMap<Option<T>, (u64, usize)> = FxHashMap::default();
    for block in blocks {
        let sum = sums.entry(key(block)).or_default();
        sum.0 += block.bytes;
        sum.1 += 1;
    }
    let mut held: Vec<Held<T>> = sums.into_iter().map(|(what, (bytes, blocks))| Held { what, bytes, blocks }).collect();
    held.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.what.cmp(&b.what)));
    held
}
