//! Captures: streams whose calls become nodes of a graph.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::{CAPTURES, State, state};
use crate::fault::{Fault, Outcome};

/// What a program can ask about a stream that may be in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaptureInfo {
    /// As `cudaStreamCaptureStatus` has it: none, active, invalidated.
    pub(crate) status: i32,
    pub(crate) id: u64,
    pub(crate) graph: usize,
    /// What the next node will come after; valid until the stream's next call, as CUDA promises.
    pub(crate) dependencies: *const usize,
    pub(crate) dependency_count: usize,
}

#[derive(Debug)]
struct Capture {
    origin: usize,
    graph: usize,
    is_valid: bool,
    /// What the next node of each stream comes after. Programs are given a pointer into the list.
    last: BTreeMap<usize, Vec<usize>>,
}

/// Captures under way, and which streams are in which.
pub(super) struct Captures {
    active: BTreeMap<u64, Capture>,
    streams: BTreeMap<usize, u64>,
    next_id: u64,
}

impl Captures {
    pub(super) const fn new() -> Self {
        Self { active: BTreeMap::new(), streams: BTreeMap::new(), next_id: 1 }
    }

    /// The capture that a stream is in.
    pub(super) fn of(&self, stream: usize) -> Option<u64> {
        self.streams.get(&stream).copied()
    }

    /// Whether a capture is still under way.
    pub(super) fn is_active(&self, id: u64) -> bool {
        self.active.contains_key(&id)
    }

    /// A stream waits for something in a capture, and with that is in it too.
    pub(super) fn join(&mut self, stream: usize, id: u64) {
        if let Some(capture) = self.active.get_mut(&id) {
            let last = capture.last.get(&capture.origin).cloned().unwrap_or_default();
            capture.last.entry(stream).or_insert(last);
            self.streams.insert(stream, id);
        }
    }

    /// A wait for a stream that is in a capture fails and invalidates the capture.
    pub(super) fn forbid(&mut self, stream: usize) -> Outcome {
        let Some(capture) = self.of(stream).and_then(|id| self.active.get_mut(&id)) else { return Ok(()) };
        capture.is_valid = false;
        Err(Fault::CAPTURE_UNSUPPORTED)
    }

    /// A wait for a whole device fails and invalidates every capture.
    pub(super) fn forbid_all(&mut self) -> Outcome {
        for capture in self.active.values_mut() {
            capture.is_valid = false;
        }
        if self.active.is_empty() { Ok(()) } else { Err(Fault::CAPTURE_UNSUPPORTED) }
    }

    pub(super) fn forget_stream(&mut self, stream: usize) {
        if let Some(id) = self.streams.remove(&stream)
            && let Some(capture) = self.active.get_mut(&id)
        {
            capture.last.remove(&stream);
        }
    }
}

impl State {
    fn capture_of(&mut self, stream: usize) -> Option<&mut Capture> {
        let id = self.captures.of(stream)?;
        self.captures.active.get_mut(&id)
    }
}

/// Begins to capture a stream, into a new graph unless one is given.
pub(crate) fn begin_capture(stream: usize, into: Option<usize>) -> Outcome {
    // The legacy default stream cannot be captured.
    if stream <= 1 {
        return Err(Fault::CAPTURE_IMPLICIT);
    }
    super::get(stream)?;
    let mut state = state();
    if state.captures.of(stream).is_some() {
        return Err(Fault::INVALID_VALUE);
    }
    let graph = match into {
        Some(graph) if state.graphs.is_graph(graph) => graph,
        Some(_) => return Err(Fault::INVALID_VALUE),
        None => state.graphs.create(),
    };
    let id = state.captures.next_id;
    state.captures.next_id += 1;
    let last = BTreeMap::from([(stream, Vec::new())]);
    state.captures.active.insert(id, Capture { origin: stream, graph, is_valid: true, last });
    state.captures.streams.insert(stream, id);
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Ends the capture that began on a stream, and returns its graph.
pub(crate) fn end_capture(stream: usize) -> Outcome<usize> {
    let mut state = state();
    let id = state.captures.of(stream).ok_or(Fault(401))?;
    if state.captures.active.get(&id).is_some_and(|capture| capture.origin != stream) {
        return Err(Fault::CAPTURE_UNMATCHED);
    }
    let capture = state.captures.active.remove(&id).ok_or(Fault::INVALID_VALUE)?;
    state.captures.streams.retain(|_, of| *of != id);
    CAPTURES.fetch_sub(1, Ordering::Relaxed);
    if capture.is_valid { Ok(capture.graph) } else { Err(Fault::CAPTURE_INVALIDATED) }
}

/// Whether, and into what, a stream is being captured.
pub(crate) fn capture_info(stream: usize) -> CaptureInfo {
    if CAPTURES.load(Ordering::Relaxed) == 0 {
        return CaptureInfo::none();
    }
    let mut state = state();
    let id = state.captures.of(stream).unwrap_or(0);
    let Some(capture) = state.capture_of(stream) else { return CaptureInfo::none() };
    let last = capture.last.entry(stream).or_default();
    CaptureInfo {
        status: if capture.is_valid { 1 } else { 2 },
        id,
        graph: capture.graph,
        dependencies: last.as_ptr(),
        dependency_count: last.len(),
    }
}

impl CaptureInfo {
    fn none() -> Self {
        Self { status: 0, id: 0, graph: 0, dependencies: std::ptr::null(), dependency_count: 0 }
    }
}

/// Whether a stream is in a capture.
pub(crate) fn is_capturing(stream: usize) -> bool {
    capture_info(stream).status != 0
}

/// Turns a call on a stream into a node, if the stream is in a capture.
pub(crate) fn add_node_to_capture(stream: usize) -> Outcome {
    let mut state = state();
    let Some(capture) = state.capture_of(stream) else { return Ok(()) };
    if !capture.is_valid {
        return Err(Fault::CAPTURE_INVALIDATED);
    }
    let (graph, after) = (capture.graph, capture.last.get(&stream).cloned().unwrap_or_default());
    let node = state.graphs.add_node(graph, after)?;
    if let Some(capture) = state.capture_of(stream) {
        capture.last.insert(stream, vec![node]);
    }
    Ok(())
}

/// Sets, or adds to, what the next node of a stream in a capture comes after.
pub(crate) fn set_dependencies(stream: usize, nodes: &[usize], replace: bool) -> Outcome {
    let mut state = state();
    let capture = state.capture_of(stream).ok_or(Fault(401))?;
    let last = capture.last.entry(stream).or_default();
    if replace {
        last.clear();
    }
    last.extend_from_slice(nodes);
    Ok(())
}
