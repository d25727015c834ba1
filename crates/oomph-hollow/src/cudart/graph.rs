//! Graphs; what they are is in [`crate::stream`].
//!
//! Nodes are counted and ordered, and do nothing when a graph is launched. Memory nodes are not modelled.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::Write as _;

use crate::call::{put, put_if_wanted, runtime};
use crate::estimate::{self, Estimate};
use crate::fault::{Fault, Outcome};
use crate::{count, handle, stream, version};

/// `cudaGraphNodeTypeConditional`.
const CONDITIONAL: c_int = 13;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphCreate(out: *mut usize, _flags: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::create_graph()) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphDestroy(graph: usize) -> c_int {
    runtime(|| stream::destroy_graph(graph))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphClone(out: *mut usize, graph: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::clone_graph(graph)?) })
}

/// Hands a list over the way graphs do: `count` says how many there is room for, then how many there are; without an
/// array it only says.
///
/// # Safety
///
/// `count` is null or the room in `out`, which may be null.
pub(crate) unsafe fn put_list(list: &[usize], out: *mut usize, count: *mut usize) -> Outcome {
    if count.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    if out.is_null() {
        // SAFETY: not null, the caller's variable.
        unsafe { count.write(list.len()) };
        return Ok(());
    }
    // SAFETY: not null, the caller's variable, which says how many entries its array has.
    let room = unsafe { count.read() };
    for index in 0..room {
        // SAFETY: `index` lies in the caller's array.
        unsafe { out.add(index).write(list.get(index).copied().unwrap_or(0)) };
    }
    // SAFETY: not null, the caller's variable.
    unsafe { count.write(room.min(list.len())) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetNodes(graph: usize, out: *mut usize, count: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_list(&stream::graph_nodes(graph)?, out, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetRootNodes(graph: usize, out: *mut usize, count: *mut usize) -> c_int {
    runtime(|| {
        let is_root = |node: &usize| stream::node_dependencies(*node).is_ok_and(|after| after.is_empty());
        let roots: Vec<usize> = stream::graph_nodes(graph)?.into_iter().filter(is_root).collect();
        // SAFETY: the caller's pointers.
        unsafe { put_list(&roots, out, count) }
    })
}

/// Edges in pairs of nodes.
fn edges(graph: usize) -> Outcome<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for node in stream::graph_nodes(graph)? {
        found.extend(stream::node_dependencies(node)?.into_iter().map(|from| (from, node)));
    }
    Ok(found)
}

/// Hands the edges of a graph over as two lists of nodes.
///
/// # Safety
///
/// `count` is null or the room in both arrays.
pub(crate) unsafe fn put_edges(graph: usize, from: *mut usize, to: *mut usize, count: *mut usize) -> Outcome {
    let (starts, ends): (Vec<usize>, Vec<usize>) = edges(graph)?.into_iter().unzip();
    if count.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: not null, the caller's variable.
    let mut room = unsafe { count.read() };
    // SAFETY: the caller's arrays have as much room as each other.
    unsafe { put_list(&starts, from, &raw mut room) }?;
    // SAFETY: as above.
    unsafe { put_list(&ends, to, count) }
}

/// CUDA 13 has data of edges before the count.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetEdges(
    graph: usize,
    from: *mut usize,
    to: *mut usize,
    fourth: *mut usize,
    fifth: *mut usize,
) -> c_int {
    let count = if version::is_13() { fifth } else { fourth };
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_edges(graph, from, to, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetEdges_v2(
    graph: usize,
    from: *mut usize,
    to: *mut usize,
    _edges: *mut c_void,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_edges(graph, from, to, count) })
}

/// CUDA 13 has data of edges before the count.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependencies(
    node: usize,
    out: *mut usize,
    third: *mut usize,
    fourth: *mut usize,
) -> c_int {
    let count = if version::is_13() { fourth } else { third };
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_list(&stream::node_dependencies(node)?, out, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependencies_v2(
    node: usize,
    out: *mut usize,
    _edges: *mut c_void,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_list(&stream::node_dependencies(node)?, out, count) })
}

/// CUDA 13 has data of edges before the count.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependentNodes(
    node: usize,
    out: *mut usize,
    third: *mut usize,
    fourth: *mut usize,
) -> c_int {
    let count = if version::is_13() { fourth } else { third };
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_list(&stream::node_dependents(node)?, out, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependentNodes_v2(
    node: usize,
    out: *mut usize,
    _edges: *mut c_void,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put_list(&stream::node_dependents(node)?, out, count) })
}

/// Every node passes for a kernel.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetType(node: usize, out: *mut c_int) -> c_int {
    runtime(|| {
        stream::node_graph(node)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, 0) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetContainingGraph(node: usize, out: *mut usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, stream::node_graph(node)?) })
}

/// The part of `cudaGraphNodeParams` that a conditional node fills in: its graphs.
#[repr(C)]
pub(crate) struct NodeParameters {
    kind: c_int,
    reserved: [c_int; 3],
    condition: u64,
    condition_kind: c_int,
    graph_count: c_uint,
    graphs: *mut usize,
}

/// Adds a node after `count` others.
///
/// # Safety
///
/// `after` has `count` entries, `out` and `parameters` are null or the caller's.
pub(crate) unsafe fn add_node(
    out: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    parameters: *mut NodeParameters,
) -> Outcome {
    // SAFETY: the caller's array of `count` nodes.
    let after = if count == 0 || after.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(after, count) } };
    let node = stream::add_node(graph, after)?;
    // SAFETY: the caller's pointer.
    if let Some(parameters) = unsafe { parameters.as_mut() }
        && parameters.kind == CONDITIONAL
    {
        // The array belongs to CUDA and lives as long as the node: as long as the process, here.
        let bodies: Vec<usize> = (0..parameters.graph_count.min(64)).map(|_| stream::create_graph()).collect();
        parameters.graphs = Box::leak(bodies.into_boxed_slice()).as_mut_ptr();
    }
    // SAFETY: the caller's pointer.
    unsafe { put(out, node) }
}

/// CUDA 13 has data of edges before the count.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddNode(
    out: *mut usize,
    graph: usize,
    after: *const usize,
    fourth: usize,
    fifth: usize,
    sixth: *mut NodeParameters,
) -> c_int {
    let (count, parameters) = if version::is_13() { (fifth, sixth) } else { (fourth, fifth as *mut NodeParameters) };
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { add_node(out, graph, after, count, parameters) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddNode_v2(
    out: *mut usize,
    graph: usize,
    after: *const usize,
    _edges: *const c_void,
    count: usize,
    parameters: *mut NodeParameters,
) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { add_node(out, graph, after, count, parameters) })
}

/// A node of any kind but a conditional one: all such functions begin with the same four parameters, and are other
/// names of this one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddEmptyNode(out: *mut usize, graph: usize, after: *const usize, count: usize) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { add_node(out, graph, after, count, std::ptr::null_mut()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphConditionalHandleCreate(
    out: *mut u64,
    graph: usize,
    _default: c_uint,
    _flags: c_uint,
) -> c_int {
    runtime(|| {
        if !stream::is_graph(graph) {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(out, handle::fresh() as u64) }
    })
}

unsafe fn instantiate(out: *mut usize, graph: usize) -> c_int {
    runtime(|| {
        let exec = stream::create_exec(graph)?;
        estimate::note(Estimate::Graph, exec);
        // SAFETY: the caller's pointer.
        unsafe { put(out, exec) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiate(out: *mut usize, graph: usize, _flags: u64) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { instantiate(out, graph) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiateWithFlags(out: *mut usize, graph: usize, _flags: u64) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { instantiate(out, graph) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiateWithParams(out: *mut usize, graph: usize, _parameters: *mut c_void) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { instantiate(out, graph) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphExecDestroy(exec: usize) -> c_int {
    runtime(|| stream::destroy_exec(exec))
}

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
struct UpdateResult {
    result: c_int,
    node: usize,
    from: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphExecUpdate(exec: usize, graph: usize, out: *mut UpdateResult) -> c_int {
    runtime(|| {
        if !stream::is_exec(exec) || !stream::is_graph(graph) {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer.
        unsafe { put_if_wanted(out, UpdateResult { result: 0, node: 0, from: 0 }) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphLaunch(exec: usize, on: usize) -> c_int {
    runtime(|| {
        if !stream::is_exec(exec) {
            return Err(Fault::INVALID_VALUE);
        }
        count::LAUNCHES.add_one();
        stream::work(on)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphUpload(exec: usize, _on: usize) -> c_int {
    runtime(|| if stream::is_exec(exec) { Ok(()) } else { Err(Fault::INVALID_VALUE) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphDebugDotPrint(graph: usize, path: *const c_char, _flags: c_uint) -> c_int {
    runtime(|| {
        if path.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        let mut text = String::from("digraph dot {\n");
        for (from, to) in edges(graph)? {
            let _ = writeln!(text, "  \"{from:#x}\" -> \"{to:#x}\";");
        }
        text.push_str("}\n");
        // SAFETY: not null, so a C string of the caller's.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
        std::fs::write(path, text).map_err(|_| Fault::OPERATING_SYSTEM)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaUserObjectCreate(
    out: *mut usize,
    data: *mut c_void,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    references: c_uint,
    _flags: c_uint,
) -> c_int {
    runtime(|| {
        let destroy = destroy.ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, stream::create_user_object(data, destroy, u64::from(references))) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaUserObjectRetain(object: usize, count: c_uint) -> c_int {
    runtime(|| stream::retain_user_object(object, u64::from(count)))
}

#[unsafe(no_mangle)]
extern "C" fn cudaUserObjectRelease(object: usize, count: c_uint) -> c_int {
    runtime(|| stream::release_user_object(object, u64::from(count)))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphRetainUserObject(graph: usize, object: usize, count: c_uint, flags: c_uint) -> c_int {
    runtime(|| stream::retain_in_graph(graph, object, u64::from(count), flags & 1 != 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphReleaseUserObject(_graph: usize, object: usize, count: c_uint) -> c_int {
    runtime(|| stream::release_user_object(object, u64::from(count)))
}
