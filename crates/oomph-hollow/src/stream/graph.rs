//! Graphs: nodes in the order they came, and the user objects that live as long as a graph does.

use std::collections::BTreeMap;
use std::ffi::c_void;

use super::state;
use crate::fault::{Fault, Outcome};
use crate::handle;

/// What a program wants called when a user object ends.
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void);

#[derive(Debug, Default)]
struct Graph {
    nodes: Vec<usize>,
    /// User objects, and how many references the graph has to each.
    objects: BTreeMap<usize, u64>,
}

#[derive(Debug)]
struct Node {
    graph: usize,
    after: Vec<usize>,
}

#[derive(Debug)]
struct UserObject {
    data: usize,
    destroy: Destroy,
    references: u64,
}

/// Graphs, their nodes, graphs ready to run, and user objects.
pub(super) struct Graphs {
    all: BTreeMap<usize, Graph>,
    nodes: BTreeMap<usize, Node>,
    /// Ready to run: the user objects of the graph they were made from.
    execs: BTreeMap<usize, BTreeMap<usize, u64>>,
    objects: BTreeMap<usize, UserObject>,
}

/// A user object that nobody has any more: to be told so once no lock is held.
#[must_use]
pub(crate) struct Ended {
    data: usize,
    destroy: Destroy,
}

impl Graphs {
    pub(super) const fn new() -> Self {
        Self { all: BTreeMap::new(), nodes: BTreeMap::new(), execs: BTreeMap::new(), objects: BTreeMap::new() }
    }

    pub(super) fn create(&mut self) -> usize {
        let graph = handle::fresh();
        self.all.insert(graph, Graph::default());
        graph
    }

    pub(super) fn is_graph(&self, graph: usize) -> bool {
        self.all.contains_key(&graph)
    }

    pub(super) fn add_node(&mut self, graph: usize, after: Vec<usize>) -> Outcome<usize> {
        let node = handle::fresh();
        self.all.get_mut(&graph).ok_or(Fault::INVALID_VALUE)?.nodes.push(node);
        self.nodes.insert(node, Node { graph, after });
        Ok(node)
    }

    fn release(&mut self, object: usize, count: u64) -> Option<Ended> {
        let state = self.objects.get_mut(&object)?;
        state.references = state.references.saturating_sub(count);
        if state.references > 0 {
            return None;
        }
        let ended = self.objects.remove(&object)?;
        Some(Ended { data: ended.data, destroy: ended.destroy })
    }

    fn release_all(&mut self, objects: &BTreeMap<usize, u64>) -> Vec<Ended> {
        objects.iter().filter_map(|(&object, &count)| self.release(object, count)).collect()
    }
}

fn tell(ended: impl IntoIterator<Item = Ended>) {
    for Ended { data, destroy } in ended {
        // SAFETY: the program gave the function and its argument for this moment, and it comes once.
        unsafe { destroy(data as *mut c_void) };
    }
}

/// A new graph without nodes.
pub(crate) fn create_graph() -> usize {
    state().graphs.create()
}

/// Whether there is such a graph.
pub(crate) fn is_graph(graph: usize) -> bool {
    state().graphs.is_graph(graph)
}

/// A graph with as many nodes as another.
pub(crate) fn clone_graph(graph: usize) -> Outcome<usize> {
    let mut state = state();
    let count = state.graphs.all.get(&graph).ok_or(Fault::INVALID_VALUE)?.nodes.len();
    let copy = state.graphs.create();
    for _ in 0..count {
        let last = state.graphs.all.get(&copy).and_then(|graph| graph.nodes.last().copied());
        state.graphs.add_node(copy, last.into_iter().collect())?;
    }
    Ok(copy)
}

/// Ends a graph.
pub(crate) fn destroy_graph(graph: usize) -> Outcome {
    let mut state = state();
    let removed = state.graphs.all.remove(&graph).ok_or(Fault::INVALID_VALUE)?;
    for node in &removed.nodes {
        state.graphs.nodes.remove(node);
    }
    let ended = state.graphs.release_all(&removed.objects);
    drop(state);
    tell(ended);
    Ok(())
}

/// The nodes of a graph.
pub(crate) fn graph_nodes(graph: usize) -> Outcome<Vec<usize>> {
    state().graphs.all.get(&graph).map(|graph| graph.nodes.clone()).ok_or(Fault::INVALID_VALUE)
}

/// Adds a node that comes after others.
pub(crate) fn add_node(graph: usize, after: &[usize]) -> Outcome<usize> {
    state().graphs.add_node(graph, after.to_vec())
}

/// What a node comes after.
pub(crate) fn node_dependencies(node: usize) -> Outcome<Vec<usize>> {
    state().graphs.nodes.get(&node).map(|node| node.after.clone()).ok_or(Fault::INVALID_VALUE)
}

/// What comes after a node.
pub(crate) fn node_dependents(node: usize) -> Outcome<Vec<usize>> {
    let state = state();
    let graph = state.graphs.nodes.get(&node).ok_or(Fault::INVALID_VALUE)?.graph;
    let nodes = &state.graphs.all.get(&graph).ok_or(Fault::INVALID_VALUE)?.nodes;
    let comes_after = |other: &&usize| state.graphs.nodes.get(other).is_some_and(|other| other.after.contains(&node));
    Ok(nodes.iter().filter(comes_after).copied().collect())
}

/// The graph of a node.
pub(crate) fn node_graph(node: usize) -> Outcome<usize> {
    state().graphs.nodes.get(&node).map(|node| node.graph).ok_or(Fault::INVALID_VALUE)
}

/// Makes a graph ready to run.
pub(crate) fn create_exec(graph: usize) -> Outcome<usize> {
    let mut state = state();
    let objects = state.graphs.all.get(&graph).ok_or(Fault::INVALID_VALUE)?.objects.clone();
    for (object, count) in &objects {
        if let Some(object) = state.graphs.objects.get_mut(object) {
            object.references += count;
        }
    }
    let exec = handle::fresh();
    state.graphs.execs.insert(exec, objects);
    Ok(exec)
}

/// Whether there is such a graph, ready to run.
pub(crate) fn is_exec(exec: usize) -> bool {
    state().graphs.execs.contains_key(&exec)
}

/// Ends a graph that was ready to run.
pub(crate) fn destroy_exec(exec: usize) -> Outcome {
    let mut state = state();
    let objects = state.graphs.execs.remove(&exec).ok_or(Fault::INVALID_VALUE)?;
    let ended = state.graphs.release_all(&objects);
    drop(state);
    tell(ended);
    Ok(())
}

/// A new user object with some references to it.
pub(crate) fn create_user_object(data: *mut c_void, destroy: Destroy, references: u64) -> usize {
    let object = handle::fresh();
    state().graphs.objects.insert(object, UserObject { data: data as usize, destroy, references });
    object
}

/// More references to a user object.
pub(crate) fn retain_user_object(object: usize, count: u64) -> Outcome {
    let mut state = state();
    state.graphs.objects.get_mut(&object).ok_or(Fault::INVALID_VALUE)?.references += count;
    Ok(())
}

/// Fewer references to a user object; the last one ends it.
pub(crate) fn release_user_object(object: usize, count: u64) -> Outcome {
    let mut state = state();
    if !state.graphs.objects.contains_key(&object) {
        return Err(Fault::INVALID_VALUE);
    }
    let ended = state.graphs.release(object, count);
    drop(state);
    tell(ended);
    Ok(())
}

/// References that a graph has to a user object: new ones, or the caller's own.
pub(crate) fn retain_in_graph(graph: usize, object: usize, count: u64, from_caller: bool) -> Outcome {
    let mut state = state();
    if !state.graphs.objects.contains_key(&object) {
        return Err(Fault::INVALID_VALUE);
    }
    *state.graphs.all.get_mut(&graph).ok_or(Fault::INVALID_VALUE)?.objects.entry(object).or_default() += count;
    if !from_caller && let Some(object) = state.graphs.objects.get_mut(&object) {
        object.references += count;
    }
    Ok(())
}
