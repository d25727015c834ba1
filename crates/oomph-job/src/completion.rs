//! From an allocator's history and the facts beside it to one trace: what each block is for, where each step begins.

use std::path::Path;

use oomph_trace::{
    Action, Category, DeviceTrace, EventIndex, Extra, FrameId, Interner, Mark, MarkStage, StackId, StackTable,
    StringId, Trace,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{TagFact, Watched};

/// Where in the job an event lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The optimizer step it belongs to, from 1; 0 before the first.
    pub step: u32,
    /// `setup`, `evaluation`, `forward`, `backward` or `optimizer`.
    pub name: &'static str,
}

/// Puts what was told into the trace, and takes out of it the frames of our own package, which lies in `package`.
pub fn complete(trace: &mut Trace, facts: &Watched, package: &Path) {
    drop_own_frames(trace, package);
    add_facts(trace, facts);
}

/// Puts what was told into the trace.
pub(crate) fn add_facts(trace: &mut Trace, facts: &Watched) {
    let mut interner = Interner::from_table(std::mem::take(&mut trace.stacks));
    let modules = intern_modules(&mut interner, facts);
    trace.stacks = interner.into_table();
    for device in &mut trace.devices {
        let ordinal = device.ordinal;
        add_modules(device, facts, &modules);
        let births = Births::of(device);
        for (event, rank, module) in births.tagged(facts.tags.iter().filter(|tag| tag.1 == ordinal)) {
            let event = &mut device.events[event as usize];
            event.category = RANKS[rank as usize].1;
            // Where a parameter was made is no matter: its module is what people look for.
            if let Some(&module) = module.and_then(|number| modules.get(number)) {
                event.module = module;
            }
        }
        let phases = Stretches::of(facts, "optimizer");
        for event in &mut device.events {
            let untold = event.category == Category::Unknown && event.action == Action::Alloc;
            // A temporary of the optimizer is no state: it is gone when the step is.
            if untold && (phases.contains(event.time_us) || is_bucket(&trace.stacks, event.stack)) {
                event.category = Category::Other;
            }
        }
    }
    add_marks(trace, facts);
    add_callers(trace, facts);
}

/// Takes the frames of our own package out of every stack: the script would run without them.
fn drop_own_frames(trace: &mut Trace, package: &Path) {
    let mut interner = Interner::from_table(std::mem::take(&mut trace.stacks));
    let own_folder = package.to_string_lossy();
    let is_own = |table: &StackTable, frame: FrameId| {
        let file = table.string(table.frame(frame).file);
        file.starts_with(&*own_folder) || file == "<oomph>" || file == "<frozen runpy>"
    };
    let own: FxHashSet<FrameId> = (0..interner.table().frame_count() as u32)
        .map(FrameId)
        .filter(|&frame| is_own(interner.table(), frame))
        .collect();
    let kept: Vec<StackId> = (0..interner.table().stack_count() as u32)
        .map(|at| {
            let stack = interner.table().stack(StackId(at)).to_vec();
            if !stack.iter().any(|frame| own.contains(frame)) {
                return StackId(at);
            }
            let rest: Vec<FrameId> = stack.into_iter().filter(|frame| !own.contains(frame)).collect();
            interner.intern_stack(&rest)
        })
        .collect();
    for event in trace.devices.iter_mut().flat_map(|device| &mut device.events) {
        event.stack = kept.get(event.stack.0 as usize).copied().unwrap_or(event.stack);
    }
    trace.stacks = interner.into_table();
}

/// The path of every module, by its number: below its model, or with the model's class in front where there are several
/// models.
pub(crate) fn intern_modules(interner: &mut Interner, facts: &Watched) -> Vec<StringId> {
    let models: FxHashSet<&str> =
        facts.modules.iter().filter(|(_, path)| !path.is_empty()).map(|(label, _)| label.as_str()).collect();
    let named = facts.modules.iter().map(|(label, path)| match (path.is_empty(), models.len() > 1) {
        (true, _) => label.clone(),
        (false, true) => format!("{label}.{path}"),
        (false, false) => path.clone(),
    });
    named.map(|name| interner.intern_string(&name)).collect()
}

/// Says of every allocation in whose forward pass it was made: the innermost that was running.
fn add_modules(device: &mut DeviceTrace, facts: &Watched, modules: &[StringId]) {
    let mut calls = facts.calls.iter().peekable();
    let mut running: Vec<usize> = Vec::new();
    for event in &mut device.events {
        while let Some(&(_, called)) = calls.next_if(|(time_us, _)| *time_us <= event.time_us) {
            match called {
                Some(number) => running.push(number),
                None => drop(running.pop()),
            }
        }
        if let Some(&module) = running.last().and_then(|&number| modules.get(number))
            && event.action == Action::Alloc
        {
            event.module = module;
        }
    }
}

/// Whether a stack is that of DDP's constructor, which makes the buckets that gradients travel in.
fn is_bucket(table: &StackTable, stack: StackId) -> bool {
    table.stack(stack).iter().any(|&frame| {
        let frame = table.frame(frame);
        table.string(frame.name) == "__init__" && table.string(frame.file).ends_with("torch/nn/parallel/distributed.py")
    })
}

/// Completes the stacks of autograd's own threads: outside them lies whoever started the backward pass.
fn add_callers(trace: &mut Trace, facts: &Watched) {
    let mut interner = Interner::from_table(std::mem::take(&mut trace.stacks));
    let callers: Vec<Vec<FrameId>> = facts
        .stacks
        .iter()
        .map(|calls| calls.iter().map(|(name, file, line)| interner.intern_call(name, file, *line)).collect())
        .collect();
    let passes = Stretches::of(facts, "backward");
    let mut whole: FxHashMap<(StackId, usize), StackId> = FxHashMap::default();
    for event in trace.devices.iter_mut().flat_map(|device| &mut device.events) {
        if event.action != Action::Alloc || !passes.contains(event.time_us) {
            continue;
        }
        let after = facts.callers.partition_point(|&(time_us, _)| time_us <= event.time_us);
        let Some(&(_, number)) = after.checked_sub(1).and_then(|at| facts.callers.get(at)) else { continue };
        let Some(caller) = callers.get(number) else { continue };
        event.stack = *whole.entry((event.stack, number)).or_insert_with(|| {
            let own = interner.table().stack(event.stack).to_vec();
            // The caller's own thread has its whole stack.
            if own.last().is_some_and(|outermost| caller.last() == Some(outermost)) {
                return event.stack;
            }
            interner.intern_stack(&[own, caller.clone()].concat())
        });
    }
    trace.stacks = interner.into_table();
}

/// Where in the job an event of a device lies.
#[must_use]
pub fn phase_at(device: &DeviceTrace, event: EventIndex, facts: &Watched) -> Phase {
    let time_us = device.events.get(event as usize).map_or(0, |event| event.time_us);
    let starts = facts.marks.iter().filter(|mark| mark.0 <= time_us && mark.3 == "START");
    let step = starts.filter_map(|mark| mark.2.strip_prefix("step ")?.parse().ok()).max().unwrap_or(0);
    let inside = |name| Stretches::of(facts, name).contains(time_us);
    let name = if inside("optimizer") {
        "optimizer"
    } else if inside("backward") {
        "backward"
    } else if inside("evaluation") {
        "evaluation"
    } else if step > 0 {
        "forward"
    } else {
        "setup"
    };
    Phase { step, name }
}

/// The stretches of one name, each from its start to its end.
struct Stretches(Vec<(u64, u64)>);

impl Stretches {
    fn of(facts: &Watched, name: &str) -> Self {
        let mut found = Vec::new();
        let mut start = None;
        for (time_us, _, _, stage) in facts.marks.iter().filter(|mark| mark.2 == name) {
            match (stage.as_str(), start) {
                ("START", _) => start = Some(*time_us),
                (_, Some(from)) => {
                    found.push((from, *time_us));
                    start = None;
                }
                _ => {}
            }
        }
        // The script died inside.
        found.extend(start.map(|from| (from, u64::MAX)));
        Self(found)
    }

    fn contains(&self, time_us: u64) -> bool {
        let after = self.0.partition_point(|&(from, _)| from <= time_us);
        after.checked_sub(1).is_some_and(|at| time_us <= self.0[at].1)
    }
}

/// Every allocation by address, oldest first: an address is used again and again.
struct Births(FxHashMap<u64, Vec<(u64, EventIndex)>>);

impl Births {
    fn of(device: &DeviceTrace) -> Self {
        let mut births: FxHashMap<u64, Vec<(u64, EventIndex)>> = FxHashMap::default();
        for (at, event) in device.events.iter().enumerate().filter(|(_, event)| event.action == Action::Alloc) {
            births.entry(event.addr).or_default().push((event.time_us, at as EventIndex));
        }
        Self(births)
    }

    /// The allocation behind each tag, the last one at that address before the tag was given: the rank of what it is
    /// for, and the number of its module.
    fn tagged<'a>(&self, tags: impl Iterator<Item = &'a TagFact>) -> Vec<(EventIndex, u8, Option<usize>)> {
        let mut found: FxHashMap<EventIndex, (u8, Option<usize>)> = FxHashMap::default();
        for (time_us, _, address, name, module) in tags {
            let Some(births) = self.0.get(address) else { continue };
            let after = births.partition_point(|&(born_us, _)| born_us <= *time_us);
            let Some(&(_, event)) = after.checked_sub(1).and_then(|at| births.get(at)) else { continue };
            let rank = RANKS.iter().position(|&(known, _)| known == name).unwrap_or(RANKS.len() - 1) as u8;
            let best = found.entry(event).or_insert((rank, *module));
            best.0 = rank.min(best.0);
            best.1 = best.1.or(*module);
        }
        let mut tagged: Vec<_> = found.into_iter().map(|(event, (rank, module))| (event, rank, module)).collect();
        tagged.sort_unstable_by_key(|&(event, ..)| event);
        tagged
    }
}

/// What a block with several names counts as: the first that applies.
const RANKS: [(&str, Category); 5] = [
    ("parameter", Category::Parameter),
    ("optimizer_state", Category::Optimizer),
    ("gradient", Category::Gradient),
    ("buffer", Category::Other),
    ("loaded", Category::Other),
];

fn add_marks(trace: &mut Trace, facts: &Watched) {
    let mut interner = Interner::from_table(std::mem::take(&mut trace.stacks));
    let ordinals: Vec<u32> = trace.devices.iter().map(|device| device.ordinal).collect();
    for (time_us, _, name, stage) in &facts.marks {
        let stage = if stage == "START" { MarkStage::Start } else { MarkStage::End };
        let name = interner.intern_string(name);
        for &device in &ordinals {
            trace.marks.push(Mark { device, time_us: *time_us, name, stage, extra: Extra::new() });
        }
    }
    trace.marks.sort_by_key(|mark| mark.time_us);
    trace.stacks = interner.into_table();
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    const TRAIN: (&str, &str, u32) = ("<module>", "train.py", 9);

    fn completed(mut trace: Trace, facts: &Watched) -> Trace {
        complete(&mut trace, facts, Path::new("/workspace/site-packages"));
        trace
    }

    fn mark(time_us: u64, name: &str, stage: &str) -> crate::facts::MarkFact {
        (time_us, 0, name.to_owned(), stage.to_owned())
    }

    #[test]
    fn a_tag_belongs_to_the_block_that_lay_there_then() {
        let mut job = TraceBuilder::new(Origin::TorchSnapshot);
        job.at(10).alloc(0x1000, 512, &[TRAIN]);
        job.at(20).free(0x1000, 512, &[TRAIN]);
        job.at(30).alloc(0x1000, 512, &[TRAIN]).alloc(0x2000, 512, &[TRAIN]);
        let tag = |time_us, address, name: &str| (time_us, 0, address, name.to_owned(), None);
        let tags = vec![
            tag(15, 0x1000, "gradient"),
            tag(40, 0x1000, "buffer"),
            tag(50, 0x1000, "parameter"),
            tag(60, 0x9000, "parameter"),
        ];
        let trace = completed(job.finish(), &Watched { tags, ..Watched::default() });
        let allocs = trace.devices[0].events.iter().filter(|event| event.action == Action::Alloc);
        let found: Vec<Category> = allocs.map(|event| event.category).collect();
        assert_eq!(found, [Category::Gradient, Category::Parameter, Category::Unknown]);
    }

    fn one_step() -> (Trace, Watched) {
        let mut job = TraceBuilder::new(Origin::TorchSnapshot);
        job.at(5).alloc(0x1000, 512, &[TRAIN]);
        job.at(15).alloc(0x2000, 512, &[TRAIN]);
        job.at(25).alloc(0x3000, 512, &[]).alloc(0x4000, 512, &[("unpack", "checkpoint.py", 7)]);
        job.at(35).alloc(0x5000, 512, &[TRAIN]);
        let marks = vec![
            mark(10, "step 1", "START"),
            mark(20, "backward", "START"),
            mark(30, "backward", "END"),
            mark(33, "optimizer", "START"),
            mark(38, "optimizer", "END"),
            mark(40, "step 2", "START"),
        ];
        let call = |name: &str, file: &str, line| (name.to_owned(), file.to_owned(), line);
        let stacks = vec![vec![call("backward", "tensor.py", 3), call("<module>", "train.py", 11)]];
        let facts = Watched { marks, callers: vec![(19, 0)], stacks, ..Watched::default() };
        (completed(job.finish(), &facts), facts)
    }

    #[test]
    fn every_event_has_its_phase() {
        let (trace, facts) = one_step();
        let phase = |event| phase_at(&trace.devices[0], event, &facts);
        assert_eq!(phase(0), Phase { step: 0, name: "setup" });
        assert_eq!(phase(1), Phase { step: 1, name: "forward" });
        assert_eq!(phase(2), Phase { step: 1, name: "backward" });
        assert_eq!(phase(4), Phase { step: 1, name: "optimizer" });
        assert_eq!(trace.devices[0].events[4].category, Category::Other, "a temporary of the optimizer");
        assert_eq!(trace.marks.len(), 6);
    }

    #[test]
    fn backward_threads_stand_on_the_line_that_waits_for_them() {
        let (trace, _) = one_step();
        let table = &trace.stacks;
        let lines = |event: usize| -> Vec<u32> {
            table.stack(trace.devices[0].events[event].stack).iter().map(|&frame| table.frame(frame).line).collect()
        };
        assert_eq!(lines(1), [9], "not in a backward pass");
        assert_eq!(lines(2), [3, 11], "no frame of its own");
        assert_eq!(lines(3), [7, 3, 11], "frames of its own, inside the caller's");
    }

    #[test]
    fn a_stretch_without_an_end_lasts() {
        let facts = Watched { marks: vec![mark(10, "backward", "START")], ..Watched::default() };
        let stretches = Stretches::of(&facts, "backward");
        assert!(!stretches.contains(9) && stretches.contains(10) && stretches.contains(u64::MAX));
    }

    #[test]
    fn blocks_belong_to_the_innermost_module_or_to_that_of_their_parameter() {
        let mut job = TraceBuilder::new(Origin::TorchSnapshot);
        job.at(5).alloc(0x1000, 512, &[TRAIN]);
        job.at(12).alloc(0x2000, 512, &[TRAIN]);
        job.at(22).alloc(0x3000, 512, &[TRAIN]);
        job.at(42).alloc(0x4000, 512, &[TRAIN]);
        let modules = vec![("Net".to_owned(), String::new()), ("Net".to_owned(), "layers.0".to_owned())];
        let calls = vec![(10, Some(0)), (20, Some(1)), (30, None), (40, None)];
        let tags = vec![(50, 0, 0x1000, "parameter".to_owned(), Some(1))];
        let trace = completed(job.finish(), &Watched { tags, modules, calls, ..Watched::default() });
        let of = |event: usize| trace.stacks.string(trace.devices[0].events[event].module);
        assert_eq!([of(0), of(1), of(2), of(3)], ["layers.0", "Net", "layers.0", ""]);
    }

    #[test]
    fn frames_of_our_own_are_not_the_scripts() {
        let mut job = TraceBuilder::new(Origin::TorchSnapshot);
        let own = ("__call__", "/workspace/site-packages/oomph/watching/modules.py", 40);
        job.at(5).alloc(0x1000, 512, &[("forward", "net.py", 3), own, TRAIN, ("run", "<oomph>", 1)]);
        let trace = completed(job.finish(), &Watched::default());
        let table = &trace.stacks;
        let stack = table.stack(trace.devices[0].events[0].stack);
        let files: Vec<&str> = stack.iter().map(|&frame| table.string(table.frame(frame).file)).collect();
        assert_eq!(files, ["net.py", "train.py"]);
    }
}
