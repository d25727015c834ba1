//! The blocks of one process as spans of time, so that what a remedy would do to them can be tried on paper.

use std::collections::HashSet;
use std::ops::Range;

use oomph_heap::{Config, MIN_BLOCK_BYTES, Timeline};
use oomph_trace::{Category, DeviceTrace, EventIndex, StringId, Trace};

use super::clock::{Clock, Stretch};

/// One block from its allocation to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it was allocated, in events; 0 if before the history.
    pub from: EventIndex,
    /// When it was given back; past the last event if never.
    pub until: EventIndex,
    /// Its size.
    pub bytes: u64,
    /// What it is for.
    pub category: Category,
    /// The module whose it is.
    pub module: StringId,
    /// What was going on when it was allocated.
    pub stretch: Stretch,
    /// The optimizer step in which it was allocated.
    pub step: u32,
    /// Whether it was given back before anything else happened: what an operator works in while one kernel runs.
    pub is_scratch: bool,
    /// Whether that is a workspace of a convolution: cuDNN makes do with less where there is less, which a run on a card
    /// with room does not show. What other operators work in, they must have.
    pub may_shrink: bool,
}

impl Span {
    /// Whether it is data of a step, not of the model or its optimizer.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        let is_state = matches!(self.category, Category::Parameter | Category::Gradient | Category::Optimizer);
        !is_state && matches!(self.stretch, Stretch::Forward | Stretch::Backward | Stretch::Evaluation)
    }
}

/// The blocks of one device.
#[derive(Clone, Debug)]
pub struct Spans {
    /// Every block.
    pub all: Vec<Span>,
    /// Names of modules, by what spans refer to them with.
    pub modules: Vec<String>,
    /// When backward passes ran: from, until.
    pub backwards: Vec<(EventIndex, EventIndex)>,
}

impl Spans {
    /// Reads one device of a trace. `workspaces` are the sizes that convolutions may have asked for.
    #[must_use]
    pub fn of(trace: &Trace, device: &DeviceTrace, clock: &Clock, workspaces: &[u64]) -> Self {
        let config = Config::from_settings(&trace.settings).unwrap_or_default();
        let timeline = Timeline::with_config(device, &config);
        let end = device.events.len() as EventIndex;
        let given = |bytes: u64| bytes.next_multiple_of(MIN_BLOCK_BYTES);
        let workspaces: HashSet<u64> = workspaces.iter().map(|bytes| given(*bytes)).collect();
        let span = |block: &oomph_heap::LiveSpan| {
            let event = block.alloc.and_then(|at| device.events.get(at as usize));
            let (stretch, step) = event.map_or((Stretch::Setup, 0), |event| clock.at(event.time_us));
            let is_scratch = block.alloc.is_some_and(|at| block.free_requested == Some(at + 1));
            Span {
                from: block.alloc.unwrap_or(0),
                until: block.free_completed.or(block.free_requested).unwrap_or(end),
                bytes: block.bytes,
                category: block.category,
                module: event.map_or(StringId::MISSING, |event| event.module),
                stretch,
                step,
                is_scratch,
                may_shrink: is_scratch && workspaces.contains(&given(block.bytes)),
            }
        };
        let index = |time_us: u64| device.events.partition_point(|event| event.time_us < time_us) as EventIndex;
        let backwards = clock.backwards().iter().map(|&(from, until)| (index(from), index(until))).collect();
        let modules = (0..trace.stacks.string_count() as u32).map(|at| trace.stacks.string(StringId(at)).to_owned());
        Self { all: timeline.blocks.iter().map(span).collect(), modules: modules.collect(), backwards }
    }

    /// The path of a span's module; empty where it has none.
    #[must_use]
    pub fn path(&self, span: &Span) -> &str {
        self.modules.get(span.module.0 as usize).map_or("", String::as_str)
    }

    /// The most that is live at once, but for what may shrink, and when.
    #[must_use]
    pub fn peak(&self) -> (u64, EventIndex) {
        self.peak_within(0..EventIndex::MAX)
    }

    /// The same of a stretch.
    #[must_use]
    pub fn peak_within(&self, stretch: Range<EventIndex>) -> (u64, EventIndex) {
        let mut changes: Vec<(EventIndex, bool, u64)> = Vec::with_capacity(2 * self.all.len());
        let counts = |span: &&Span| span.bytes > 0 && span.from < span.until && !span.may_shrink;
        for span in self.all.iter().filter(counts) {
            changes.push((span.from, true, span.bytes));
            changes.push((span.until, false, span.bytes));
        }
        // What ends at an event ends before what begins there.
        changes.sort_unstable();
        let (mut live, mut peak) = (0u64, (0u64, 0));
        for (at, begins, bytes) in changes {
            live = if begins { live + bytes } else { live.saturating_sub(bytes) };
            if live > peak.0 && stretch.contains(&at) {
                peak = (live, at);
            }
        }
        peak
    }

    /// What is live at a moment, but for what may shrink.
    pub fn live_at(&self, at: EventIndex) -> impl Iterator<Item = &Span> {
        self.all.iter().filter(move |span| span.from <= at && at < span.until && !span.may_shrink)
    }

    /// The backward pass that follows a moment.
    #[must_use]
    pub fn backward_after(&self, at: EventIndex) -> Option<(EventIndex, EventIndex)> {
        self.backwards.iter().copied().find(|(from, _)| *from >= at)
    }
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn only_what_convolutions_work_in_may_shrink() {
        let mut job = TraceBuilder::new(Origin::RealRun);
        job.segment_alloc(0, 64 * MIB, &[]).alloc(0, 8 * MIB, &[]);
        for (bytes, address) in [(4 * MIB, 8 * MIB), (16 * MIB - 7, 16 * MIB)] {
            job.alloc(address, bytes, &[]).free(address, bytes, &[]);
        }
        let trace = job.finish();
        let peak = |workspaces: &[u64]| {
            Spans::of(&trace, &trace.devices[0], &Clock::default(), workspaces).peak().0.div_ceil(MIB)
        };
        assert_eq!(peak(&[]), 24, "what an operator works in it must have");
        assert_eq!(peak(&[16 * MIB - 7]), 12, "a convolution makes do with less");
        assert_eq!(peak(&[8 * MIB, 16 * MIB - 7, 4 * MIB]), 8, "what stays is no workspace, whatever its size");
    }
}
