//! The CUDA runtime, versions 12 and 13, one file a chapter of its manual.

mod copy;
mod device;
mod entry;
mod event;
mod graph;
mod ipc;
mod kernel;
mod library;
mod memory;
mod occupancy;
mod pool;
mod properties;
mod stream;

pub(crate) use copy::{copy, copy_rows, fill};
pub(crate) use device::{disable_peer, enable_peer, limit, put_text, set_limit};
pub(crate) use graph::{NodeParameters, add_node, put_edges, put_list};
pub(crate) use library::name;
pub(crate) use memory::{allocate, allocate_pitch};
pub(crate) use stream::update_dependencies;
