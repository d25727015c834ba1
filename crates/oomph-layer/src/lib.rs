//! The private layer of files.
//!
//! `liboomph_layer.so`, named by `LD_PRELOAD`, sends everything that a job and its children write to a folder of the
//! plan, and lets them read that folder over the real tree. It is what overlayfs does, at libc's door: no rights and no
//! mounts are needed, and the real tree is never opened for writing, so there is nothing to undo.
//!
//! # Input
//!
//! | variable | |
//! |---|---|
//! | `OOMPH_LAYER` | the plan's folder, absolute; without it this library does nothing |
//! | `OOMPH_LAYER_LIMIT_BYTES` | how many bytes may be copied into it |
//! | `OOMPH_LAYER_OPEN` | folders that are written through, separated by colons; `/dev`, `/proc` and `/sys` always are |
//! | `OOMPH_LAYER_KEEP` | variables that every child gets even where a program scrubs the environment |
//!
//! # The folder
//!
//! | name | |
//! |---|---|
//! | `root/` | the upper tree: `root/home/me/x` stands for `/home/me/x` and hides it; a folder shows both |
//! | `removed/` | marks: where `removed/home/me/x` is a folder with the sticky bit, the real `/home/me/x` is not seen |
//! | `work/` | copies before they are whole |
//! | `s/` | short links to folders of `root/`, for paths that do not fit into a socket's address |
//! | `state` | mapped into every process: which paths may be in the layer (`state.rs`) |
//! | `shm` | names of shared memory that nobody removed yet, one a line; lines may be empty |
//! | `stopped` | one line of JSON, where a copy would have broken the limit |
//!
//! What is in `root/` counts first, then the mark, then the real tree. So a mark is made before the file in the layer
//! is removed or renamed away, may stay when the name is made anew, and then says that a new folder does not show what
//! the old one held: every change is one step for whoever looks, and a process can die between any two.
//!
//! # What is not covered
//!
//! Programs that ignore `LD_PRELOAD` cannot make, remove or rename; whatever else they try to write the guard that the
//! job runs under refuses. Code that makes system calls without libc is caught where it changes names (`trap.rs`), but
//! where it only reads it sees the real tree. A file that was opened for reading before somebody copied it to the
//! layer still reads the real one.
//!
//! # Rules
//!
//! - No panic crosses into C: no `unwrap`, no indexing.
//! - Nothing is allocated but for listing folders, no lock is taken, and system calls are made directly: the functions
//!   are called in signal handlers and between `vfork` and `exec`.

#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref, clippy::similar_names)]

mod calls;
mod doors;
mod exec;
mod layer;
mod limit;
mod listing;
mod ops;
mod shared_memory;
mod sockets;
mod state;
mod sys;
mod text;
mod trap;
mod upper;
mod walk;
