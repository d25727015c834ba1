//! Equality of traces by what they mean: handles may differ as long as what they stand for does not.

use crate::model::event::{Action, Event};
use crate::model::mark::MarkStage;
use crate::model::segment::{Block, Segment};
use crate::model::stack::{ForwardId, FrameId, StackId, StringId};
use crate::model::trace::{DeviceTrace, Trace};

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        let both = Both(self, other);
        self.origin == other.origin
            && self.settings == other.settings
            && self.extra == other.extra
            && self.truncated == other.truncated
            && all(&self.devices, &other.devices, |a, b| both.device(a, b))
            && all(&self.marks, &other.marks, |a, b| {
                (a.device, a.time_us, &a.extra) == (b.device, b.time_us, &b.extra)
                    && both.string(a.name, b.name)
                    && match (a.stage, b.stage) {
                        (MarkStage::Other(a), MarkStage::Other(b)) => both.string(a, b),
                        (a, b) => a == b,
                    }
            })
    }
}

/// Two traces under comparison.
struct Both<'t>(&'t Trace, &'t Trace);

impl Both<'_> {
    fn device(&self, a: &DeviceTrace, b: &DeviceTrace) -> bool {
        capacity(a) == capacity(b)
            && a.event_extra == b.event_extra
            && all(&a.events, &b.events, |a, b| self.event(a, b))
            && all(&a.segments, &b.segments, |a, b| self.segment(a, b))
    }

    fn event(&self, a: &Event, b: &Event) -> bool {
        (a.addr, a.bytes, a.stream, a.time_us, a.category, a.pool)
            == (b.addr, b.bytes, b.stream, b.time_us, b.category, b.pool)
            && match (a.action, b.action) {
                (Action::Other(a), Action::Other(b)) => self.string(a, b),
                (a, b) => a == b,
            }
            && self.stack(a.stack, b.stack)
            && self.forward(a.forward, b.forward)
            && self.string(a.compile_context, b.compile_context)
            && self.string(a.user_metadata, b.user_metadata)
            && self.string(a.module, b.module)
    }

    fn segment(&self, a: &Segment, b: &Segment) -> bool {
        (a.address, a.bytes, a.allocated_bytes, a.active_bytes, a.requested_bytes, a.stream)
            == (b.address, b.bytes, b.allocated_bytes, b.active_bytes, b.requested_bytes, b.stream)
            && (a.kind, a.pool, a.expandable, &a.extra) == (b.kind, b.pool, b.expandable, &b.extra)
            && self.stack(a.stack, b.stack)
            && all(&a.blocks, &b.blocks, |a, b| self.block(a, b))
    }

    fn block(&self, a: &Block, b: &Block) -> bool {
        (a.address, a.bytes, a.requested_bytes, a.state, &a.extra)
            == (b.address, b.bytes, b.requested_bytes, b.state, &b.extra)
            && self.stack(a.stack, b.stack)
    }

    fn stack(&self, a: StackId, b: StackId) -> bool {
        (a == StackId::MISSING) == (b == StackId::MISSING)
            && all(self.0.stacks.stack(a), self.1.stacks.stack(b), |&a, &b| self.frame(a, b))
    }

    fn frame(&self, a: FrameId, b: FrameId) -> bool {
        let (a, b) = (self.0.stacks.frame(a), self.1.stacks.frame(b));
        (a.line, &a.extra) == (b.line, &b.extra) && self.string(a.name, b.name) && self.string(a.file, b.file)
    }

    fn forward(&self, a: ForwardId, b: ForwardId) -> bool {
        (a == ForwardId::NONE) == (b == ForwardId::NONE)
            && all(self.0.stacks.forward(a), self.1.stacks.forward(b), |&a, &b| self.string(a, b))
    }

    fn string(&self, a: StringId, b: StringId) -> bool {
        (a == StringId::MISSING) == (b == StringId::MISSING) && self.0.stacks.string(a) == self.1.stacks.string(b)
    }
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// What is known about the card, beside the history.
fn capacity(device: &DeviceTrace) -> (u32, [Option<u64>; 3]) {
    (device.ordinal, [device.total_bytes, device.limit_bytes, device.other_process_bytes])
}
