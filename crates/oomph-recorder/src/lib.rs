//! The recorder: what is loaded into a real job.
//!
//! `liboomph_recorder.so` attaches to PyTorch's own allocator through its trace tracker, hears of every block and
//! segment, finds out which line of the program asked, and writes it all to the process's black box (`oomph-box`). The
//! Python side loads it with `ctypes.PyDLL` once torch is there; `api.rs` lists what it calls.
//!
//! # Rules
//!
//! - Never blocks, never takes the GIL, never calls torch from the callback, allocates nothing there.
//! - Never ends or alters the job. In any doubt (another allocator, a build that looks different, an interpreter whose
//!   frames are not as expected) that part stays off, with one sentence that says why.
//! - Nothing is believed that can be proved: slots are found by the names of exported symbols, the allocator is told by
//!   its type's name, the layout of frames is compared with what the interpreter itself says.
//! - No panic crosses into C: no `unwrap`, no indexing.

#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref, clippy::similar_names)]

mod ahead;
mod api;
mod attach;
mod audit;
mod cache;
mod callables;
mod code;
mod deaths;
mod frames;
mod host;
mod interpreter;
mod layout;
mod python;
mod recorder;
mod stacks;
mod steps;
mod text;
mod threads;
mod tracker;
