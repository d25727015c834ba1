//! Everything the analyses look at, worked out once.

use oomph_heap::{BlockId, Config, LiveSpan, OomEvent, Requests, Timeline};
use oomph_trace::{Action, Category, DeviceTrace, Event, EventIndex, Mark, Origin, StackId, Trace};

use crate::attribution::Attribution;
use crate::category::{self, Categories};
use crate::error::ExplainError;
use crate::source::{Line, Sources};
use crate::steps::{Steps, end_of_loop};

/// One device's history, read for one moment: the out-of-memory, the peak, or the one the user asked for.
#[derive(Debug)]
pub struct Case<'a> {
    /// The whole trace.
    pub trace: &'a Trace,
    /// The device under examination.
    pub device: &'a DeviceTrace,
    /// Its history.
    pub timeline: Timeline,
    /// Whose code each frame is.
    pub sources: Sources<'a>,
    /// Which stack each event is charged to.
    pub attribution: Attribution,
    /// The loop that was running at `moment`.
    pub steps: Option<Steps>,
    /// What each block is for.
    pub categories: Categories,
    /// The event after which the job is looked at.
    pub moment: EventIndex,
    /// The request that failed for good, if one did.
    pub oom: Option<OomEvent>,
    /// What the program asked for, where a request failed: for limits and counterfactuals.
    pub requests: Option<Requests>,
    /// The card's memory as the user gave it, which beats what the trace says.
    pub total_bytes: Option<u64>,
    /// What other processes held on the card, where the recorder saw it.
    pub other_process_bytes: Option<u64>,
    /// What a library said that got no memory beside PyTorch's, where that ended the job.
    pub library_shortage: Option<String>,
}

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Device ordinal; without it the one that ran out, else the one that held most.
    pub device: Option<u32>,
    /// The event to look at, in place of the out-of-memory or the peak.
    pub at: Option<EventIndex>,
    /// The card's total memory, where the user knows it and the file does not.
    pub total_bytes: Option<u64>,
    /// The loop whose iterations are looked at: the name of its marks without their numbers, such as
    /// `iteration train.py:25`. Without it, the loop that was running.
    pub loop_name: Option<String>,
    /// What a library said that got no memory beside PyTorch's, where that ended the job: no request to PyTorch's
    /// allocator failed then.
    pub library_shortage: Option<String>,
    /// Whether the job came to its end: the report is about its peak then, whatever it was refused and caught, and
    /// whatever there is to warn of.
    pub is_about_peak: bool,
}

impl<'a> Case<'a> {
    /// Prepares one device of a trace.
    ///
    /// # Errors
    /// If the trace has no such device, nothing at all in it, or no such event.
    pub fn open(trace: &'a Trace, options: &Options) -> Result<Self, ExplainError> {
        let device = choose_device(trace, options.device)?;
        let config = Config::from_settings(&trace.settings).unwrap_or_default();
        let timeline = Timeline::with_config(device, &config);
        if let Some(at) = options.at
            && at as usize >= device.events.len()
        {
            return Err(ExplainError::NoSuchEvent { at, count: device.events.len() });
        }
        let loop_name = options.loop_name.as_deref();
        let loop_end = loop_name.and_then(|name| end_of_loop(device, &trace.marks, &trace.stacks, name));
        // What failed after a loop was over is none of its business.
        let is_of_loop = |oom: &OomEvent| loop_end.is_none_or(|end| !end.is_over || oom.event <= end.event);
        let oom = fatal_oom(&timeline, options.at).filter(is_of_loop).filter(|_| !options.is_about_peak);
        let requests = oom.is_some().then(|| Requests::of(device, &timeline));
        let failed_at = oom.as_ref().map(|oom| oom.event);
        let loop_end = loop_end.map(|end| end.event);
        let moment = options.at.or(failed_at).or(loop_end).unwrap_or_else(|| end_of(device, trace.origin));
        let sources = Sources::of(&trace.stacks);
        let attribution = Attribution::of(device, &sources);
        let steps = match loop_name {
            Some(name) => Steps::of_loop(device, &trace.marks, &sources, moment, name),
            None => Steps::find(device, &trace.marks, &sources, moment),
        };
        let categories = category::work_out(device, &timeline, &sources, &attribution, steps.as_ref());
        let total_bytes = options.total_bytes.or(device.total_bytes);
        let library_shortage = options.library_shortage.clone().filter(|_| oom.is_none());
        Ok(Self {
            trace,
            device,
            timeline,
            sources,
            attribution,
            steps,
            categories,
            moment,
            oom,
            requests,
            total_bytes,
            library_shortage,
            other_process_bytes: device.other_process_bytes,
        })
    }

    /// The block behind a handle.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &LiveSpan {
        &self.timeline.blocks[id as usize]
    }

    /// The stack a block is charged to.
    #[must_use]
    pub fn stack_of(&self, block: &LiveSpan) -> StackId {
        self.attribution.of_block(block)
    }

    /// Whether a block shows that the job trains: a gradient, an optimizer's state, or made in a backward pass.
    #[must_use]
    pub fn is_of_training(&self, block: &LiveSpan) -> bool {
        matches!(self.categories.of(block.id), Category::Gradient | Category::Optimizer)
            || self.attribution.is_borrowed(block)
    }

    /// Whether the job trains, as far as it got: a plan marks its first step when an optimizer is made.
    #[must_use]
    pub fn trains(&self) -> bool {
        let is_first_step = |mark: &Mark| self.sources.table().string(mark.name) == "step 1";
        self.timeline.blocks.iter().any(|block| self.is_of_training(block))
            || self.trace.origin == Origin::HollowRun && self.trace.marks.iter().any(is_first_step)
    }

    /// The user's line a stack is blamed on: the loop's own line while a loop runs, else the line that called the
    /// model.
    #[must_use]
    pub fn blame(&self, stack: StackId) -> Option<Line> {
        match &self.steps {
            Some(steps) => steps.line_of(&self.sources, stack),
            None => self.sources.caller_of_model(stack),
        }
    }
}

fn choose_device(trace: &Trace, wanted: Option<u32>) -> Result<&DeviceTrace, ExplainError> {
    let known = || trace.devices.iter().map(|device| device.ordinal).collect();
    if let Some(ordinal) = wanted {
        return trace
            .devices
            .iter()
            .find(|device| device.ordinal == ordinal)
            .ok_or_else(|| ExplainError::NoSuchDevice { ordinal, known: known() });
    }
    let weight = |device: &DeviceTrace| {
        let ran_out = device.events.iter().any(|event| event.action == Action::Oom);
        let held: u64 = device.segments.iter().map(|segment| segment.bytes).sum();
        (ran_out, held, device.events.len(), std::cmp::Reverse(device.ordinal))
    };
    trace.devices.iter().max_by_key(|device| weight(device)).ok_or(ExplainError::NothingRecorded)
}

/// The failure the job died of: the last one. Earlier ones were caught, or the job would not have gone on to fail again.
fn fatal_oom(timeline: &Timeline, at: Option<EventIndex>) -> Option<OomEvent> {
    match at {
        Some(at) => timeline.ooms.iter().find(|oom| oom.event == at).cloned(),
        None => timeline.ooms.last().cloned(),
    }
}

/// The last moment worth looking at.
///
/// A run is recorded to its very end, where the program lets go of everything, leaks too: after its last allocation. A
/// snapshot is taken when the user says so, and means that moment.
fn end_of(device: &DeviceTrace, origin: Origin) -> EventIndex {
    let is_alloc = |event: &Event| event.action == Action::Alloc;
    let last_alloc = device.events.iter().rposition(is_alloc).filter(|_| origin == Origin::RealRun);
    last_alloc.unwrap_or(device.events.len().saturating_sub(1)) as EventIndex
}
