//! Puts the events of a box into a trace, one after the other.

use oomph_box::{
    Action as BoxAction, BlackBox, BoxEvent, Category as BoxCategory, HOST, MemoryEvent, Phase, StackNumber, Stage,
    What,
};
use oomph_trace::{
    Action, Category, DeviceTrace, Event, EventIndex, ForwardId, Interner, Origin, PoolId, StackId, StringId, Trace,
};
use rustc_hash::FxHashMap;

use super::before::Start;
use crate::completion;
use crate::facts::Watched;

/// A trace in the making.
pub(super) struct Builder<'a> {
    the_box: &'a BlackBox,
    watched: Watched,
    interner: Interner,
    /// Module names by number.
    modules: Vec<StringId>,
    stacks: FxHashMap<StackNumber, (StackId, StringId)>,
    cards: Side,
    host: Side,
    step: u64,
    evaluations: u64,
    phase: Phase,
    /// Sizes of the gradients that were seen when somebody last looked.
    gradient_sizes: Vec<u64>,
    /// Whether somebody looks what tensors are for in this step.
    is_looked_at: bool,
    time_us: u64,
}

/// The memory of the cards, or of the host.
#[derive(Default)]
struct Side {
    devices: Vec<DeviceTrace>,
    /// The event behind each live block: device and place in its list.
    live: FxHashMap<u64, (usize, EventIndex)>,
    /// What was allocated in the backward pass that runs, or ran last.
    of_backward: Vec<u64>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(the_box: &'a BlackBox, watched: Watched) -> Self {
        let mut interner = Interner::new();
        let modules = completion::intern_modules(&mut interner, &watched);
        Self {
            the_box,
            watched,
            interner,
            modules,
            stacks: FxHashMap::default(),
            cards: Side::default(),
            host: Side::default(),
            step: 0,
            evaluations: 0,
            phase: Phase::Setup,
            gradient_sizes: Vec::new(),
            is_looked_at: false,
            time_us: 0,
        }
    }

    /// Puts down what was there before the history begins.
    pub(super) fn begin(&mut self, start: &Start) {
        self.time_us = start.time_us;
        for segment in &start.segments {
            let action = if segment.expandable { BoxAction::SegmentMap } else { BoxAction::SegmentAlloc };
            let (device, address, bytes) = (segment.device, segment.address, segment.bytes);
            self.memory(&MemoryEvent { action, device, address, bytes, stack: segment.stack, lane: segment.lane });
        }
        for block in &start.blocks {
            let (device, address, bytes) = (block.device, block.address, block.bytes);
            let action = BoxAction::Alloc;
            self.memory(&MemoryEvent { action, device, address, bytes, stack: block.stack, lane: block.lane });
            self.tag(address, block.category, block.module);
            if block.free_requested {
                let action = BoxAction::FreeRequested;
                self.memory(&MemoryEvent { action, device, address, bytes, stack: block.stack, lane: block.lane });
            }
        }
    }

    /// Takes one event.
    pub(super) fn take(&mut self, event: &BoxEvent) {
        // The clocks of several cores may differ by a little; a history goes forward.
        self.time_us = self.time_us.max(event.time_us);
        match &event.what {
            What::Memory(memory) => self.memory(memory),
            What::Mark { name, stage } => {
                let name = self.the_box.name(*name).unwrap_or_default();
                let stage = if *stage == Stage::End { "END" } else { "START" };
                self.mark(name, stage);
            }
            What::State { step, batches, phase } => self.state(*step, *batches, *phase),
            What::Tag { address, category, module } => {
                self.is_looked_at = true;
                if *category == BoxCategory::Gradient {
                    self.gradient_sizes.extend(self.cards.bytes_at(*address));
                }
                self.tag(*address, *category, *module);
            }
        }
    }

    /// The trace of the cards, that of the host, and what was told.
    pub(super) fn finish(mut self) -> (Trace, Trace, Watched) {
        let mut trace = Trace::new(Origin::RealRun);
        let mut host = Trace::new(Origin::RealRun);
        trace.settings.conf.clone_from(&self.watched.allocator_conf);
        trace.devices = self.cards.devices;
        for state in self.the_box.devices() {
            let found = trace.devices.iter_mut().find(|device| device.ordinal == u32::from(state.ordinal));
            if let Some(device) = found {
                device.total_bytes = Some(state.total_bytes).filter(|&bytes| bytes > 0);
                device.limit_bytes = Some(state.limit_bytes).filter(|&bytes| bytes > 0);
            }
        }
        host.devices = self.host.devices;
        for device in &mut host.devices {
            device.ordinal = 0;
        }
        self.watched.tags.clear();
        for part in [&mut trace, &mut host] {
            part.stacks = self.interner.table().clone();
            completion::add_facts(part, &self.watched);
        }
        (trace, host, self.watched)
    }

    fn memory(&mut self, memory: &MemoryEvent) {
        let (stack, module) = self.stack(memory.stack);
        let (stream, pool) = self.the_box.lane(memory.lane);
        let is_alloc = memory.action == BoxAction::Alloc;
        let event = Event {
            addr: memory.address,
            bytes: memory.bytes,
            stream,
            time_us: self.time_us,
            stack,
            forward: ForwardId::NONE,
            compile_context: StringId::MISSING,
            user_metadata: StringId::MISSING,
            module: if is_alloc { module } else { StringId::MISSING },
            action: action_of(memory.action),
            category: Category::Unknown,
            pool: Some(PoolId(pool.0, pool.1)),
        };
        let side = if memory.device == HOST { &mut self.host } else { &mut self.cards };
        let place = side.push(u32::from(memory.device), event);
        if is_alloc {
            side.live.insert(memory.address, place);
            if self.phase == Phase::Backward {
                side.of_backward.push(memory.address);
            }
        } else if memory.action == BoxAction::FreeCompleted {
            side.live.remove(&memory.address);
        }
    }

    fn state(&mut self, step: u64, batches: u32, phase: Phase) {
        if step != self.step {
            self.mark(format!("step {step}"), "START");
            self.step = step;
            self.is_looked_at = false;
        } else if step == 0 && phase != Phase::Evaluation && self.phase == phase && batches > 0 {
            self.mark(format!("batch {}", batches + 1), "START");
        }
        if phase == self.phase {
            return;
        }
        if let Some(name) = name_of(self.phase) {
            self.mark(name.to_owned(), "END");
        }
        if let Some(name) = name_of(phase) {
            self.mark(name.to_owned(), "START");
        }
        match phase {
            Phase::Backward => self.cards.of_backward.clear(),
            Phase::Optimizer => self.recognise_gradients(),
            // A loop of its own, whether or not steps come before or after it.
            Phase::Evaluation => {
                self.evaluations += 1;
                self.mark(format!("evaluation batch {}", self.evaluations), "START");
            }
            Phase::Setup | Phase::Forward => {}
        }
        self.phase = phase;
    }

    /// In most steps of a real run nobody looks what tensors are for. What the backward pass leaves for the optimizer,
    /// in a size that gradients have, is a gradient.
    fn recognise_gradients(&mut self) {
        if self.is_looked_at {
            self.gradient_sizes.sort_unstable();
            self.gradient_sizes.dedup();
            return;
        }
        for address in std::mem::take(&mut self.cards.of_backward) {
            let is_gradient =
                self.cards.bytes_at(address).is_some_and(|bytes| self.gradient_sizes.binary_search(&bytes).is_ok());
            if is_gradient {
                self.tag(address, BoxCategory::Gradient, 0);
            }
        }
    }

    fn tag(&mut self, address: u64, category: BoxCategory, module: u32) {
        let Some(event) = self.cards.event_at(address) else { return };
        let category = category_of(category);
        if rank_of(category) < rank_of(event.category) {
            event.category = category;
        }
        let module = module.checked_sub(1).and_then(|number| self.modules.get(number as usize));
        // Where a parameter was made is no matter: its module is what people look for.
        if let Some(&module) = module {
            event.module = module;
        }
    }

    fn mark(&mut self, name: String, stage: &str) {
        self.watched.marks.push((self.time_us, 0, name, stage.to_owned()));
    }

    /// The stack in the trace, and the innermost module of the model on it.
    fn stack(&mut self, number: StackNumber) -> (StackId, StringId) {
        if let Some(&known) = self.stacks.get(&number) {
            return known;
        }
        let frames = self.the_box.stack(number);
        let numbered = |pointer| self.watched.module_pointers.get(&pointer).and_then(|&at| self.modules.get(at));
        let module = frames.iter().find_map(|frame| numbered(frame.module_pointer)).copied();
        let interner = &mut self.interner;
        let calls: Vec<_> =
            frames.iter().map(|frame| interner.intern_call(&frame.function, &frame.file, frame.line)).collect();
        let found = (interner.intern_stack(&calls), module.unwrap_or(StringId::MISSING));
        self.stacks.insert(number, found);
        found
    }
}

impl Side {
    fn push(&mut self, ordinal: u32, event: Event) -> (usize, EventIndex) {
        let at = self.devices.partition_point(|device| device.ordinal < ordinal);
        if self.devices.get(at).is_none_or(|device| device.ordinal != ordinal) {
            self.devices.insert(at, DeviceTrace { ordinal, ..DeviceTrace::default() });
            // Those behind it have moved.
            self.live.values_mut().filter(|(device, _)| *device >= at).for_each(|(device, _)| *device += 1);
        }
        let events = &mut self.devices[at].events;
        events.push(event);
        (at, events.len() as EventIndex - 1)
    }

    fn event_at(&mut self, address: u64) -> Option<&mut Event> {
        let &(device, event) = self.live.get(&address)?;
        self.devices.get_mut(device)?.events.get_mut(event as usize)
    }

    fn bytes_at(&self, address: u64) -> Option<u64> {
        let &(device, event) = self.live.get(&address)?;
        Some(self.devices.get(device)?.events.get(event as usize)?.bytes)
    }
}

/// What a stretch of this phase is called in a trace; none for what lies between the others.
fn name_of(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Setup | Phase::Forward => None,
        Phase::Backward => Some("backward"),
        Phase::Optimizer => Some("optimizer"),
        Phase::Evaluation => Some("evaluation"),
    }
}

fn action_of(action: BoxAction) -> Action {
    match action {
        BoxAction::Alloc => Action::Alloc,
        BoxAction::FreeRequested => Action::FreeRequested,
        BoxAction::FreeCompleted => Action::FreeCompleted,
        BoxAction::SegmentAlloc => Action::SegmentAlloc,
        BoxAction::SegmentFree => Action::SegmentFree,
        BoxAction::SegmentMap => Action::SegmentMap,
        BoxAction::SegmentUnmap => Action::SegmentUnmap,
        BoxAction::Snapshot => Action::Snapshot,
        BoxAction::Oom => Action::Oom,
    }
}

/// A category of a box, as traces have it.
#[must_use]
pub fn category_of(category: BoxCategory) -> Category {
    match category {
        BoxCategory::Unknown => Category::Unknown,
        BoxCategory::Parameter => Category::Parameter,
        BoxCategory::Gradient => Category::Gradient,
        BoxCategory::Optimizer => Category::Optimizer,
        BoxCategory::Activation => Category::Activation,
        BoxCategory::Workspace => Category::Workspace,
        BoxCategory::Input => Category::Input,
        BoxCategory::Other => Category::Other,
    }
}

/// What a block with several names counts as: the lowest.
fn rank_of(category: Category) -> u8 {
    match category {
        Category::Parameter => 0,
        Category::Optimizer => 1,
        Category::Gradient => 2,
        Category::Activation | Category::Workspace | Category::Input => 3,
        Category::Other => 4,
        Category::Unknown => 5,
    }
}
