//! What calls did: a call whose function, place, arguments and touched objects are those of an earlier one does the same.
//!
//! A loop runs to a fixpoint before it is recorded, and so do the loops in what it calls: without this memory every level
//! of calls would multiply the work by the number of rounds.

use super::machine::{Machine, Outcome};
use crate::domain::{FuncRef, Grad, ObjId, Slot, State, Value};
use crate::ir::Span;

/// So many different calls are remembered for one place.
const CALLS_MAX: usize = 4;

/// What a call depends on beside the state: the function, its caller's place, the running loops, the modes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CallKey {
    func: FuncRef,
    called_at: Span,
    cells: Option<ObjId>,
    loops: Vec<u32>,
    deep: usize,
    forward: (usize, usize),
    is_hook: bool,
    grad: Grad,
}

/// One call that was followed.
#[derive(Debug)]
pub(super) struct Call {
    locals: Vec<Value>,
    freed: Vec<u32>,
    /// Objects that it touched: as it found and as it left them.
    touched: Vec<(ObjId, Slot, Slot)>,
    value: Value,
    yields: Value,
    /// What it left beside objects; none if it never returns.
    left: Option<(Vec<u32>, Vec<Grad>)>,
    is_recorded: bool,
}

impl Call {
    fn fits(&self, entry: &State) -> bool {
        self.locals == entry.locals
            && self.freed == entry.freed
            && self.touched.iter().all(|(id, found, _)| found == entry.heap.slot(*id))
    }

    fn redo(&self, mut entry: State) -> (Outcome, Value) {
        for (id, _, left) in &self.touched {
            if left == entry.heap.slot(*id) {
                entry.heap.get(*id);
            } else {
                entry.heap.put(*id, left.clone());
            }
        }
        let state = self.left.clone().map(|(freed, grad)| State { grad, freed, ..entry });
        (Outcome { value: self.value.clone(), state }, self.yields.clone())
    }
}

impl Machine<'_> {
    /// The key of a call whose frame is the innermost.
    pub(super) fn call_key(&self, entry: &State) -> Option<CallKey> {
        let frame = self.frames.last()?;
        Some(CallKey {
            func: frame.func,
            called_at: frame.called_at,
            cells: frame.cells,
            loops: self.loops.clone(),
            deep: self.frames.len(),
            forward: (self.forward_depth, self.forward_base),
            is_hook: self.is_hook,
            grad: entry.grad_now(),
        })
    }

    /// Runs the function of the innermost frame, or does again what it did; gives what it yields too.
    pub(super) fn run_or_redo(&mut self, func: FuncRef, entry: State) -> (Outcome, Value) {
        let Some(key) = self.call_key(&entry) else { return (self.run_graph(func, entry), Value::nothing()) };
        let needs_record = self.is_recording;
        let known = self
            .calls_done
            .get(&key)
            .and_then(|calls| calls.iter().find(|call| (call.is_recorded || !needs_record) && call.fits(&entry)));
        if let Some(call) = known {
            return call.redo(entry);
        }
        let (locals, freed, before) = (entry.locals.clone(), entry.freed.clone(), entry.heap.clone());
        let outcome = self.run_graph(func, entry);
        let yields = self.frames.last().map(|frame| frame.yields.clone()).unwrap_or_default();
        // What was cut short for want of work is no answer for others.
        if self.budget > 0 {
            let after = outcome.state.as_ref().map_or(&before, |state| &state.heap);
            let slots = |id: ObjId| (id, before.slot(id).clone(), after.slot(id).clone());
            let call = Call {
                locals,
                freed,
                touched: before.touched().into_iter().map(slots).collect(),
                value: outcome.value.clone(),
                yields: yields.clone(),
                left: outcome.state.as_ref().map(|state| (state.freed.clone(), state.grad.clone())),
                is_recorded: needs_record,
            };
            let calls = self.calls_done.entry(key).or_default();
            if calls.len() == CALLS_MAX {
                calls.remove(0);
            }
            calls.push(call);
        }
        (outcome, yields)
    }
}
