//! The machine: numbers for sites, objects and loops, the stack of calls, and the fixpoint over one function's graph.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{At, Log, LoopFacts, LoopKind, ObjectFacts, Trip};
use super::memo::{Call, CallKey};
use super::program::Program;
use crate::domain::{Age, FuncRef, Grad, Kind, ObjId, Object, State, Value};
use crate::ir::{Block, BlockId, Const, Name, Reg, Span, Term, Var};

/// Calls are followed this deep.
pub(super) const CALLS_DEEP_MAX: usize = 12;
/// A block is visited this often before its state is taken for stable; every chain of joins is shorter in practice.
const VISITS_MAX: u32 = 8;

/// A running call.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub func: FuncRef,
    /// The object of its shared variables, its own or the nearest around it.
    pub cells: Option<ObjId>,
    /// The class whose body this is.
    pub class: Option<ObjId>,
    /// The place that the calling function calls it from.
    pub called_at: Span,
    /// The object whose method this is, for `super()`.
    pub this: Option<Value>,
    /// What it has yielded so far.
    pub yields: Value,
}

/// What an activation gives: its value, and the state after it unless it never ends.
pub(super) struct Outcome {
    pub value: Value,
    pub state: Option<State>,
}

/// Keys of objects: the place that makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Maker {
    /// An instruction; the number tells several objects of one instruction apart.
    Inst(FuncRef, Reg, u8),
    /// A parameter of a function nobody calls.
    Param(FuncRef, u32),
    /// The object that methods of a class are tried on.
    This(FuncRef),
    /// The shared variables of a function.
    Cells(FuncRef),
    /// A file.
    File(u32),
    /// What a name means that is not followed: a variable or an attribute.
    Duck(u32, u64),
    /// A part of a module that is not in sight.
    Part(ObjId, u64),
    /// Something imported.
    External(u64),
}

/// Runs one group of files.
pub(super) struct Machine<'p> {
    pub program: &'p Program,
    sites: FxHashMap<(At, Span), u32>,
    site_places: Vec<At>,
    makers: FxHashMap<Maker, ObjId>,
    loop_numbers: FxHashMap<LoopKind, u32>,
    pub frames: Vec<Frame>,
    /// The loops that are running, outermost first.
    pub loops: Vec<u32>,
    pub is_recording: bool,
    pub log: Log,
    /// Work that may still be done for this entry.
    pub budget: usize,
    /// Functions that ran while recording.
    pub visited: FxHashSet<FuncRef>,
    /// How many forward passes of modules of the program are running.
    pub forward_depth: usize,
    /// How many loops were running when the outermost forward pass began.
    pub forward_base: usize,
    pub is_hook: bool,
    /// What running a file for its definitions has made.
    pub run_files: FxHashMap<u32, Vec<(ObjId, Object)>>,
    /// What a `for` runs over, by the register of its iterator.
    pub iterated: FxHashMap<(FuncRef, Reg), Name>,
    /// Calls that were followed.
    pub calls_done: FxHashMap<CallKey, Vec<Call>>,
    /// Sites not followed that a backward pass proved to give graphs, of an earlier run.
    pub proven: FxHashSet<At>,
}

/// A block that runs: what is known of the registers it sets.
pub(super) struct Running {
    pub func: FuncRef,
    /// The lowest register it sets.
    base: Reg,
    regs: Vec<RegFacts>,
    /// What is known of registers of other blocks.
    nothing: RegFacts,
}

/// What is known of a register inside its block.
#[derive(Debug, Clone, Default)]
pub(super) struct RegFacts {
    pub value: Value,
    /// The last word of what it was read from.
    pub name: Option<Name>,
    /// If read as an attribute: of what, and which.
    pub attr: Option<(Reg, Name)>,
    /// If read from a variable: which.
    pub var: Option<Var>,
}

impl Running {
    fn new(func: FuncRef, block: &Block) -> Self {
        let base = block.insts.iter().map(|inst| inst.dst).min().unwrap_or(0);
        let end = block.insts.iter().map(|inst| inst.dst + 1).max().unwrap_or(0);
        Self {
            func,
            base,
            regs: vec![RegFacts::default(); (end - base.min(end)) as usize],
            nothing: RegFacts::default(),
        }
    }

    /// A register of this block; nothing is known of others.
    pub(super) fn reg(&self, reg: Reg) -> &RegFacts {
        reg.checked_sub(self.base).and_then(|at| self.regs.get(at as usize)).unwrap_or(&self.nothing)
    }

    /// A register that this block sets.
    pub(super) fn reg_mut(&mut self, reg: Reg) -> &mut RegFacts {
        &mut self.regs[(reg - self.base) as usize]
    }
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, proven: FxHashSet<At>) -> Self {
        Self {
            program,
            sites: FxHashMap::default(),
            site_places: Vec::new(),
            makers: FxHashMap::default(),
            loop_numbers: FxHashMap::default(),
            frames: Vec::new(),
            loops: Vec::new(),
            is_recording: true,
            log: Log::default(),
            budget: 0,
            visited: FxHashSet::default(),
            forward_depth: 0,
            forward_base: 0,
            is_hook: false,
            run_files: FxHashMap::default(),
            iterated: FxHashMap::default(),
            calls_done: FxHashMap::default(),
            proven,
        }
    }

    /// The number of a site.
    pub(super) fn site(&mut self, span: Span) -> u32 {
        let next = self.sites.len() as u32;
        let at = self.at(span);
        // One call deep, contexts are told apart: a helper run for two modules makes two graphs.
        let called_at = self.frames.last().map_or(Span::default(), |frame| frame.called_at);
        let number = *self.sites.entry((at.clone(), called_at)).or_insert(next);
        if number == next {
            self.site_places.push(at);
        }
        number
    }

    /// Where a site is.
    pub(super) fn place_of(&self, site: u32) -> At {
        self.site_places[site as usize].clone()
    }

    /// The number of the object that something makes.
    pub(super) fn id(&mut self, maker: Maker) -> ObjId {
        if let Some(id) = self.makers.get(&maker) {
            return *id;
        }
        let id = self.makers.len() as ObjId;
        self.makers.insert(maker, id);
        self.log.objects.push(ObjectFacts::default());
        id
    }

    /// The number of a loop.
    pub(super) fn loop_number(&mut self, kind: LoopKind) -> u32 {
        let next = self.loop_numbers.len() as u32;
        let number = *self.loop_numbers.entry(kind).or_insert(next);
        if number == next {
            let trip = if matches!(kind, LoopKind::Written(..)) { Trip::Few } else { Trip::Many };
            self.log.loops.push(LoopFacts { kind, trip, over: None, freed: None });
        }
        number
    }

    pub(super) fn func(&self) -> FuncRef {
        self.frames.last().map_or(FuncRef { file: 0, function: 0 }, |frame| frame.func)
    }

    pub(super) fn file(&self) -> u32 {
        self.func().file
    }

    pub(super) fn at(&self, span: Span) -> At {
        At { file: self.file(), span }
    }

    /// The running calls: each function and where it is called from.
    pub(super) fn calls(&self) -> Vec<(FuncRef, Span)> {
        self.frames.iter().map(|frame| (frame.func, frame.called_at)).collect()
    }

    /// Makes an object now.
    pub(super) fn make(&mut self, state: &mut State, maker: Maker, kind: Kind) -> ObjId {
        let id = self.id(maker);
        state.put(id, Object::new(kind, self.birth()));
        id
    }

    pub(super) fn birth(&self) -> Rc<[u32]> {
        Rc::from(self.loops.as_slice())
    }

    /// Runs a function's graph from its entry to a fixpoint; records in a last pass if recording is on.
    pub(super) fn run_graph(&mut self, func: FuncRef, entry: State) -> Outcome {
        let program = self.program;
        let function = program.function(func);
        let plan = program.files[func.file as usize].plan(func.function as usize);
        let records = self.is_recording;
        if records {
            self.visited.insert(func);
        }
        let mut run = GraphRun {
            into: vec![None; function.blocks.len()],
            visits: vec![0; function.blocks.len()],
            waiting: BTreeSet::from([0]),
            outcome: Outcome { value: Value::nothing(), state: None },
        };
        run.into[0] = Some(entry);
        if plan.flow.loops.is_empty() {
            self.pass(func, &mut run);
        } else {
            self.is_recording = false;
            self.pass(func, &mut run);
            self.is_recording = records;
            if records {
                run.outcome = Outcome { value: Value::nothing(), state: None };
                run.waiting.clear();
                for &block in &plan.flow.order {
                    self.block(func, block, &mut run, true);
                }
            }
        }
        run.outcome
    }

    fn pass(&mut self, func: FuncRef, run: &mut GraphRun) {
        let order = &self.program.files[func.file as usize].plan(func.function as usize).flow.order;
        while let Some(rank) = run.waiting.pop_first() {
            self.block(func, order[rank as usize], run, false);
        }
    }

    /// Runs one block and hands its state on.
    fn block(&mut self, func: FuncRef, number: BlockId, run: &mut GraphRun, is_last: bool) {
        let program = self.program;
        let function = program.function(func);
        let plan = program.files[func.file as usize].plan(func.function as usize);
        let Some(state) = run.into[number as usize].as_ref() else { return };
        let mut state = state.clone();
        self.budget = self.budget.saturating_sub(1 + self.makers.len() / 256);
        let block = &function.blocks[number as usize];
        let outer = self.loops.len();
        for &inner in plan.flow.loops_around(number) {
            let number = self.loop_number(LoopKind::Written(func, inner));
            self.loops.push(number);
        }
        let depth = self.loops.len();
        let mut running = Running::new(func, block);
        if let Some(handler) = block.handler {
            self.hand_on((func, number, handler), Cow::Borrowed(&state), run, is_last);
        }
        let mut lives = true;
        for inst in &block.insts {
            lives = self.inst(&mut running, &mut state, inst);
            if !lives {
                break;
            }
        }
        // What binds a method for one call is gone after it: states that meet need not agree on it.
        for &method in &plan.methods_called[number as usize] {
            if let Some(&bound) = self.makers.get(&Maker::Inst(func, method, 1)) {
                state.heap.forget(bound);
            }
        }
        if lives {
            if let Some(handler) = block.handler {
                self.hand_on((func, number, handler), Cow::Borrowed(&state), run, is_last);
            }
            self.end_block(&running, state, (func, number), &block.term, run, is_last);
        }
        debug_assert_eq!(depth, self.loops.len());
        self.loops.truncate(outer);
    }

    fn end_block(
        &mut self,
        running: &Running,
        mut state: State,
        (func, number): (FuncRef, BlockId),
        term: &Term,
        run: &mut GraphRun,
        is_last: bool,
    ) {
        match term {
            Term::Return(value) => {
                let value = self.read(running, &state, *value);
                run.outcome.value.join(&value);
                run.leave(state);
            }
            Term::Raise => {}
            Term::For { iter, item, body, exit } => {
                let values = self.read(running, &state, *iter);
                let element = self.start_round(&mut state, &values, *iter, number);
                self.hand_on((func, number, *exit), Cow::Borrowed(&state), run, is_last);
                let plan = self.program.files[func.file as usize].plan(func.function as usize);
                if let Some(slot) = plan.shared[*item as usize] {
                    state.regs[slot as usize] = element;
                }
                self.hand_on((func, number, *body), Cow::Owned(state), run, is_last);
            }
            Term::Branch { cond, yes, no } => {
                let known = truth(&self.read(running, &state, *cond));
                self.note_while(func, number, known);
                if known != Some(false) {
                    self.hand_on((func, number, *yes), Cow::Borrowed(&state), run, is_last);
                }
                if known != Some(true) {
                    self.hand_on((func, number, *no), Cow::Owned(state), run, is_last);
                }
            }
            Term::Goto(next) => self.hand_on((func, number, *next), Cow::Owned(state), run, is_last),
        }
    }

    /// Takes a state along an edge: around a loop it gets older, out of a loop it forgets the loop.
    fn hand_on(
        &mut self,
        (func, from, to): (FuncRef, BlockId, BlockId),
        mut state: Cow<'_, State>,
        run: &mut GraphRun,
        is_last: bool,
    ) {
        let flow = &self.program.files[func.file as usize].plan(func.function as usize).flow;
        let (from_loops, to_loops) = (flow.loops_around(from), flow.loops_around(to));
        let outer = self.loops.len() - from_loops.len();
        let kept = from_loops.iter().zip(to_loops).take_while(|(a, b)| a == b).count();
        let is_back = flow.is_back_edge(from, to);
        if is_last {
            if is_back && kept > 0 {
                let number = self.loop_number(LoopKind::Written(func, from_loops[kept - 1]));
                self.note_latch(number, &state.freed);
            }
            return;
        }
        let with_depth = self.program.function(func).blocks[to as usize].with_depth as usize;
        if state.grad.len() > with_depth + 1 {
            state.to_mut().grad.truncate(with_depth + 1);
        }
        if is_back && kept > 0 {
            state.to_mut().age(Age::Carry(outer + kept - 1));
        } else if kept < from_loops.len() {
            state.to_mut().age(Age::Leave(outer + kept));
        }
        let slot = &mut run.into[to as usize];
        let changed = match slot {
            Some(known) => known.join(&state),
            None => {
                *slot = Some(state.into_owned());
                true
            }
        };
        // Without work left every block is still visited once.
        let visits_max = if self.budget == 0 { 1 } else { VISITS_MAX };
        if changed && run.visits[to as usize] < visits_max {
            run.visits[to as usize] += 1;
            run.waiting.extend(flow.rank[to as usize]);
        }
    }

    fn note_latch(&mut self, number: u32, freed: &[u32]) {
        let known = &mut self.log.loops[number as usize].freed;
        match known {
            Some(known) => known.retain(|site| freed.contains(site)),
            None => *known = Some(freed.to_vec()),
        }
    }

    /// A `while` loop runs often unless its condition is known to be false.
    fn note_while(&mut self, func: FuncRef, head: BlockId, known: Option<bool>) {
        let flow = &self.program.files[func.file as usize].plan(func.function as usize).flow;
        if let Some(at) = flow.loops.iter().position(|found| found.head == head) {
            let number = self.loop_number(LoopKind::Written(func, at));
            let trip = if known == Some(true) { Trip::Many } else { Trip::Unknown };
            let facts = &mut self.log.loops[number as usize];
            facts.trip = facts.trip.max(trip);
        }
    }

    pub(super) fn read(&self, running: &Running, state: &State, reg: Reg) -> Value {
        let plan = self.program.files[running.func.file as usize].plan(running.func.function as usize);
        match plan.shared[reg as usize] {
            Some(slot) => state.regs.get(slot as usize).cloned().unwrap_or_default(),
            None => running.reg(reg).value.clone(),
        }
    }
}

/// The states of one function's blocks while it runs.
struct GraphRun {
    into: Vec<Option<State>>,
    visits: Vec<u32>,
    waiting: BTreeSet<u32>,
    outcome: Outcome,
}

impl GraphRun {
    fn leave(&mut self, state: State) {
        match &mut self.outcome.state {
            Some(known) => {
                known.join(&state);
            }
            None => self.outcome.state = Some(state),
        }
    }
}

/// Whether a value is true, where that is known.
fn truth(value: &Value) -> Option<bool> {
    match value.constant.as_ref()? {
        Const::Bool(truth) => Some(*truth),
        Const::None => Some(false),
        Const::Int(number) => Some(*number != 0),
        _ => None,
    }
}

impl Machine<'_> {
    /// Starts the state of an activation; what the caller had comes back with [`Self::resume`].
    pub(super) fn suspend(&mut self, state: &mut State, func: FuncRef, grad: Option<bool>) -> State {
        let function = self.program.function(func);
        let plan = self.program.files[func.file as usize].plan(func.function as usize);
        let now = match grad {
            Some(false) => Grad::Off,
            Some(true) => Grad::On,
            None => state.grad_now(),
        };
        State {
            locals: vec![Value::nothing(); function.locals.len()],
            regs: vec![Value::nothing(); plan.shared_count],
            heap: state.heap.lend(),
            grad: vec![now],
            freed: std::mem::take(&mut state.freed),
        }
    }

    /// Goes on in the caller with what the callee left.
    pub(super) fn resume(caller: &mut State, callee: State, has_own_grad: bool) {
        caller.heap.take_back(callee.heap);
        caller.freed = callee.freed;
        if let (false, Some(last), Some(now)) = (has_own_grad, caller.grad.last_mut(), callee.grad.first()) {
            *last = *now;
        }
    }
}
