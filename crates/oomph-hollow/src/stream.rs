//! Streams, events, captures and graphs, shared by the runtime and the driver.
//!
//! Kernels take no time, so everything on a stream is complete when the call returns: queries succeed, waits do not
//! wait, host functions run at once. What remains is what a program can see: handles, priorities, devices, and
//! captures, in which calls become nodes of a graph instead.
//!
//! Modelled: captures with their ids, streams that join a capture by waiting for an event recorded in it, waits that a
//! capture forbids (and that invalidate it), nodes in the order they came, user objects kept by graphs.
//! Not modelled: edges beyond "after the one before", the isolation of captures, memory that instantiated graphs take.

mod capture;
mod event;
mod graph;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::{Fault, Outcome};
use crate::lock::{Guard, Guarded};
use crate::{count, device, handle, memory};

pub(crate) use capture::{
    add_node_to_capture, begin_capture, capture_info, end_capture, is_capturing, set_dependencies,
};
pub(crate) use event::{create_event, destroy_event, elapsed_ms, event_device, event_query, record_event, wait_event};
pub(crate) use graph::{
    add_node, clone_graph, create_exec, create_graph, create_user_object, destroy_exec, destroy_graph, graph_nodes,
    is_exec, is_graph, node_dependencies, node_dependents, node_graph, release_user_object, retain_in_graph,
    retain_user_object,
};

/// A stream that a program made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) device: u32,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
}

/// The highest priority; 0 is the lowest.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// Captures under way: launches look at this alone, unless there is one.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);
static STATE: Guarded<State> = Guarded::new(State::new());

struct State {
    streams: BTreeMap<usize, Stream>,
    next_id: u64,
    events: BTreeMap<usize, event::Event>,
    captures: capture::Captures,
    graphs: graph::Graphs,
}

impl State {
    const fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            next_id: 16,
            events: BTreeMap::new(),
            captures: capture::Captures::new(),
            graphs: graph::Graphs::new(),
        }
    }
}

fn state() -> Guard<State> {
    STATE.lock()
}

/// Makes a stream on this thread's device.
pub(crate) fn create(flags: u32, priority: i32) -> Outcome<usize> {
    let device = device::enter()?;
    let mut state = state();
    let id = state.next_id;
    state.next_id += 1;
    let stream = handle::fresh();
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    state.streams.insert(stream, Stream { device, flags, priority, id });
    Ok(stream)
}

/// Ends a stream.
pub(crate) fn destroy(stream: usize) -> Outcome {
    let mut state = state();
    state.streams.remove(&stream).ok_or(Fault::INVALID_HANDLE)?;
    state.captures.forget_stream(stream);
    Ok(())
}

/// A stream by its handle; the default streams (0, 1 and 2) belong to this thread's device.
pub(crate) fn get(stream: usize) -> Outcome<Stream> {
    if stream <= 2 {
        return Ok(Stream { device: device::current(), flags: 0, priority: 0, id: stream as u64 + 1 });
    }
    state().streams.get(&stream).copied().ok_or(Fault::INVALID_HANDLE)
}

/// Counts a kernel launch, and notes it in a capture if the stream is in one.
pub(crate) fn launch(stream: usize) -> Outcome {
    count::LAUNCHES.add_one();
    device::enter()?;
    work(stream)
}

/// Notes work other than a kernel (a copy, a fill, a host function) in a capture if the stream is in one.
pub(crate) fn work(stream: usize) -> Outcome {
    if CAPTURES.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    add_node_to_capture(stream)
}

/// Waits for a stream: all of it is done, unless it is being captured, which forbids waiting.
pub(crate) fn synchronize(stream: usize) -> Outcome {
    let device = device::enter()?;
    if CAPTURES.load(Ordering::Relaxed) > 0 {
        state().captures.forbid(stream)?;
    }
    get(stream)?;
    memory::trim_pools(device);
    Ok(())
}

/// Whether all of a stream is done: always, unless it is being captured, which forbids the question.
pub(crate) fn query(stream: usize) -> Outcome {
    if CAPTURES.load(Ordering::Relaxed) > 0 {
        state().captures.forbid(stream)?;
    }
    get(stream).map(drop)
}

/// Waits for everything on this thread's device, which a capture forbids.
pub(crate) fn synchronize_device() -> Outcome {
    let device = device::enter()?;
    if CAPTURES.load(Ordering::Relaxed) > 0 {
        state().captures.forbid_all()?;
    }
    memory::trim_pools(device);
    Ok(())
}
