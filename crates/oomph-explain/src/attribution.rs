//! Which line an event belongs to, also where the recorder saw no Python frame.
//!
//! Autograd runs a backward pass on threads of its own, which have no Python stack. While they run, the thread that
//! called `backward()` waits; so what they allocate belongs to the line where that thread was seen last. oomph's own
//! recorder notes that line itself: such a stack ends in autograd's Python code, which allocates next to nothing.

use oomph_heap::LiveSpan;
use oomph_trace::{DeviceTrace, EventIndex, StackId};

use crate::source::Sources;

/// For every event, the stack it is charged to.
#[derive(Debug)]
pub struct Attribution {
    stacks: Vec<StackId>,
    /// Whether the event had no Python frame of its own, but for the call that waited for it.
    borrowed: Vec<bool>,
}

impl Attribution {
    /// Charges every event of a device.
    #[must_use]
    pub fn of(device: &DeviceTrace, sources: &Sources) -> Self {
        let stacks_known = || (0..sources.table().stack_count()).map(|at| StackId(at as u32));
        let has_python: Vec<bool> = stacks_known().map(|stack| sources.has_python(stack)).collect();
        let is_waiting: Vec<bool> = stacks_known().map(|stack| sources.waits_for_autograd(stack)).collect();
        let mut last_seen = StackId::MISSING;
        let mut stacks = Vec::with_capacity(device.events.len());
        let mut borrowed = Vec::with_capacity(device.events.len());
        for event in &device.events {
            let own = has_python.get(event.stack.0 as usize).copied().unwrap_or(false);
            if own {
                last_seen = event.stack;
            }
            // Frees of the waiting thread would do as well, but only its own stack says where it waits.
            stacks.push(if own { event.stack } else { last_seen });
            borrowed.push(!own || is_waiting[event.stack.0 as usize]);
        }
        Self { stacks, borrowed }
    }

    /// The stack an event is charged to; [`StackId::MISSING`] if nothing is known.
    #[must_use]
    pub fn of_event(&self, event: EventIndex) -> StackId {
        self.stacks.get(event as usize).copied().unwrap_or(StackId::MISSING)
    }

    /// The stack a block's allocation is charged to.
    #[must_use]
    pub fn of_block(&self, block: &LiveSpan) -> StackId {
        block.alloc.map_or(block.stack, |event| self.of_event(event))
    }

    /// Whether a block was allocated where no Python frame was of its own: by autograd's own threads, as a rule.
    #[must_use]
    pub fn is_borrowed(&self, block: &LiveSpan) -> bool {
        block.alloc.is_some_and(|event| self.borrowed[event as usize])
    }
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    #[test]
    fn what_autograd_makes_while_python_waits_is_borrowed() {
        let caller = [("backward", "lib/site-packages/torch/_tensor.py", 6), ("<module>", "train.py", 3)];
        let engine = [("backward", "lib/site-packages/torch/autograd/__init__.py", 9), caller[0], caller[1]];
        let hook = [("hook", "train.py", 7), engine[0], caller[0], caller[1]];
        let mut job = TraceBuilder::new(Origin::RealRun);
        job.alloc(0x1000, 512, &engine).alloc(0x2000, 512, &hook).alloc(0x3000, 512, &caller[1..]).alloc(
            0x4000,
            512,
            &[],
        );
        let trace = job.finish();
        let device = &trace.devices[0];
        let attribution = Attribution::of(device, &Sources::of(&trace.stacks));
        assert_eq!(attribution.borrowed, [true, false, false, true]);
        assert_eq!(attribution.of_event(3), device.events[2].stack);
    }
}
