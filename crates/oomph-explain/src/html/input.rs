//! What the page shows beyond the trace itself: plain facts that the analyses fill in.

use oomph_heap::{BlockId, Timeline};
use oomph_trace::{Category, EventIndex, FrameId, StackId, Trace};
use serde::Serialize;

use crate::analyses::modules::ModuleHeld;

use super::plan::PlanPage;
use super::snippets::Snippet;

/// Everything one page is made from.
#[derive(Clone, Debug)]
pub struct PageInput<'a> {
    /// The trace that was explained.
    pub trace: &'a Trace,
    /// What the reader calls it, normally the file name.
    pub source_name: &'a str,
    /// The answer, shown first.
    pub verdict: PageVerdict,
    /// For each stack (by its handle's number) the frame to name for it: the user's own line rather than a library's.
    /// Stacks beyond the end, and `None`, are named by their innermost frame.
    pub blame_frames: &'a [Option<FrameId>],
    /// One entry for each device worth showing; the first is shown when the page opens.
    pub devices: Vec<DeviceInput<'a>>,
    /// The answer of a plan; without it the page explains a job that was recorded.
    pub plan: Option<&'a PlanPage>,
    /// The source around the lines that are named.
    pub snippets: Vec<Snippet>,
}

/// The answer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PageVerdict {
    /// The class as `--json` spells it, e.g. `leak`.
    pub class: String,
    /// One sentence.
    pub summary: String,
    /// File of the line to blame.
    pub file: Option<String>,
    /// The line to blame.
    pub line: Option<u32>,
    /// How many bytes it is to blame for.
    pub bytes: Option<u64>,
    /// How the verdict was proved, in words; empty if there was nothing to prove.
    pub proof: String,
    /// What the reader can do, most useful first.
    pub advice: Vec<String>,
}

/// One device of the trace and what the analyses know about it.
#[derive(Clone, Debug)]
pub struct DeviceInput<'a> {
    /// Position in [`Trace::devices`].
    pub device_index: usize,
    /// Its history.
    pub timeline: &'a Timeline,
    /// What each block is for, by its place in [`Timeline::blocks`]; beyond its end the block's own category counts.
    pub block_categories: &'a [Category],
    /// The stack each block is charged to, by its place in [`Timeline::blocks`]; beyond its end, the one recorded. What
    /// autograd's own threads allocate has none, and an analysis may know better.
    pub block_stacks: &'a [StackId],
    /// The blocks the verdict accuses; the reader can have them coloured.
    pub accused_blocks: &'a [BlockId],
    /// The most the allocator could take, where known: drawn as a line. `None`: the trace's own limit.
    pub limit_bytes: Option<u64>,
    /// All of the card's memory, where known: drawn as a line. `None`: what the trace says.
    pub total_bytes: Option<u64>,
    /// Where steps begin, to mark on the timeline.
    pub steps: Vec<StepMark>,
    /// Phases of steps, to show above the timeline.
    pub phases: Vec<PhaseMark>,
    /// The event after which [`DeviceInput::lines`] and [`DeviceInput::fragmentation`] were measured.
    pub measured_at: EventIndex,
    /// Lines by what they held then, largest first.
    pub lines: Vec<LineRow>,
    /// Modules of the model by what they held then, largest first.
    pub modules: Vec<ModuleRow>,
    /// What grew from step to step, largest first.
    pub leaks: Vec<LeakRow>,
    /// Where reserved bytes that no tensor held then had gone, by cause.
    pub fragmentation: Vec<BytesOf>,
}

impl<'a> DeviceInput<'a> {
    /// A device about which nothing is known beyond its history.
    #[must_use]
    pub fn of(device_index: usize, timeline: &'a Timeline) -> Self {
        Self {
            device_index,
            timeline,
            block_categories: &[],
            block_stacks: &[],
            accused_blocks: &[],
            limit_bytes: None,
            total_bytes: None,
            steps: Vec::new(),
            phases: Vec::new(),
            measured_at: timeline.peak_allocated.event,
            lines: Vec::new(),
            modules: Vec::new(),
            leaks: Vec::new(),
            fragmentation: Vec::new(),
        }
    }
}

/// A moment with a name.
#[derive(Clone, Debug, Serialize)]
pub struct StepMark {
    /// What begins here, e.g. `step 3`.
    pub name: String,
    /// The first event that belongs to it.
    pub event: EventIndex,
}

/// A stretch with a name.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseMark {
    /// What happens there, e.g. `backward`.
    pub name: String,
    /// The first event that belongs to it.
    pub start: EventIndex,
    /// The first event that no longer does.
    pub end: EventIndex,
}

/// What one line of code held.
#[derive(Clone, Debug, Serialize)]
pub struct LineRow {
    /// File as the interpreter names it.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// The function around it.
    pub function: String,
    /// Bytes held.
    pub bytes: u64,
    /// Blocks held.
    pub blocks: u64,
}

/// What one module of the model held, or several alike.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleRow {
    /// Its path; `*` stands for the number in which several differ: `model.layers.*.mlp`.
    pub path: String,
    /// How many modules the row stands for.
    pub count: usize,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl From<&ModuleHeld> for ModuleRow {
    fn from(held: &ModuleHeld) -> Self {
        Self { path: held.module.clone(), count: held.count, bytes: held.bytes }
    }
}

/// Something that was kept from step to step.
#[derive(Clone, Debug, Serialize)]
pub struct LeakRow {
    /// File of the line that allocates what is kept.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// Bytes kept at the end.
    pub bytes: u64,
    /// Growth from one step to the next, where steps are known.
    pub bytes_per_step: Option<u64>,
    /// Blocks kept at the end.
    pub blocks: u64,
}

/// A number of bytes and what they are.
#[derive(Clone, Debug, Serialize)]
pub struct BytesOf {
    /// What they are, in words.
    pub what: String,
    /// How many.
    pub bytes: u64,
}
