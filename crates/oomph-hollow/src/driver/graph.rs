//! Graphs, where the driver's first versions of a function differ from the runtime's.

use std::ffi::c_int;

use crate::call::driver;
use crate::cudart::{NodeParameters, add_node, put_edges, put_list};
use crate::stream;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphGetEdges(graph: usize, from: *mut usize, to: *mut usize, count: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { put_edges(graph, from, to, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphNodeGetDependencies(node: usize, out: *mut usize, count: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { put_list(&stream::node_dependencies(node)?, out, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphNodeGetDependentNodes(node: usize, out: *mut usize, count: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { put_list(&stream::node_dependents(node)?, out, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphAddNode(
    out: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    parameters: *mut NodeParameters,
) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { add_node(out, graph, after, count, parameters) })
}
