//! Events: recorded and complete in one.

use super::{State, state};
use crate::estimate::{self, Estimate};
use crate::fault::{Fault, Outcome};
use crate::{count, device, handle, stream, work};

/// Time between any two events. Kernels take none here; programs that measure divide by it, and repeat short runs.
const ELAPSED_MS: f32 = 10.0;
/// How much longer it is with a slow product in between. Programs that choose by time ask only which way is the faster one;
/// how much slower such products are differs from card to card.
const SLOWED_FACTOR: f32 = 2.0;
const DISABLE_TIMING: u32 = 2;

/// An event of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    device: u32,
    flags: u32,
    is_recorded: bool,
    /// How much there had been when it was last recorded.
    before: Before,
    /// The capture in which it was last recorded.
    capture: Option<u64>,
}

/// What was counted so far of what takes time.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    slowed_products: u64,
    convolutions: u64,
    launches: u64,
}

impl Before {
    fn now() -> Self {
        let (slowed_products, (convolutions, _)) = (work::slowed_products(), work::convolutions());
        Self { slowed_products, convolutions, launches: count::LAUNCHES.get() }
    }

    /// Whether there were convolutions since `start` and nothing else: that is how PyTorch finds the fastest engine.
    fn is_trial_since(self, start: Self) -> bool {
        let convolutions = self.convolutions.saturating_sub(start.convolutions);
        convolutions > 0 && self.launches.saturating_sub(start.launches) == convolutions
    }
}

impl State {
    fn event(&mut self, event: usize) -> Outcome<&mut Event> {
        self.events.get_mut(&event).ok_or(Fault::INVALID_HANDLE)
    }
}

/// Makes an event on this thread's device.
pub(crate) fn create_event(flags: u32) -> Outcome<usize> {
    let device = device::enter()?;
    let event = handle::fresh();
    state().events.insert(event, Event { device, flags, is_recorded: false, before: Before::default(), capture: None });
    Ok(event)
}

/// Ends an event.
pub(crate) fn destroy_event(event: usize) -> Outcome {
    state().events.remove(&event).map(drop).ok_or(Fault::INVALID_HANDLE)
}

/// The device of an event.
pub(crate) fn event_device(event: usize) -> Outcome<u32> {
    state().event(event).map(|event| event.device)
}

/// Records an event on a stream.
pub(crate) fn record_event(event: usize, stream: usize) -> Outcome {
    let mut state = state();
    let capture = state.captures.of(stream);
    let event = state.event(event)?;
    event.is_recorded = true;
    event.before = Before::now();
    event.capture = capture;
    Ok(())
}

/// Makes a stream wait for an event; one recorded in a capture takes the stream into it.
pub(crate) fn wait_event(stream: usize, event: usize) -> Outcome {
    stream::get(stream)?;
    let mut state = state();
    if let Some(id) = state.event(event)?.capture
        && state.captures.is_active(id)
    {
        state.captures.join(stream, id);
    }
    Ok(())
}

/// Whether an event is complete: always, except that a capture forbids the question. So nobody ever waits.
pub(crate) fn event_query(event: usize) -> Outcome {
    let mut state = state();
    let capture = state.event(event)?.capture;
    match capture {
        Some(id) if state.captures.is_active(id) => Err(Fault(907)),
        _ => Ok(()),
    }
}

/// Milliseconds between two events.
pub(crate) fn elapsed_ms(start: usize, end: usize) -> Outcome<f32> {
    let mut state = state();
    let mut timed = |event| {
        let event = state.event(event)?;
        let is_timed = event.is_recorded && event.flags & DISABLE_TIMING == 0;
        if is_timed { Ok((event.before, event.device)) } else { Err(Fault::INVALID_HANDLE) }
    };
    let ((before, device), (after, _)) = (timed(start)?, timed(end)?);
    if after.is_trial_since(before) {
        estimate::note(Estimate::TimedConvolution, work::convolutions().1);
    }
    Ok(match start == end {
        true => 0.0,
        false if after.slowed_products > before.slowed_products => {
            estimate::note(Estimate::SlowProduct, device);
            ELAPSED_MS * SLOWED_FACTOR
        }
        false => ELAPSED_MS,
    })
}
