//! The CUDA driver, one file a chapter of its manual.
//!
//! Runtime and driver share handles, so a driver function with the parameters of a runtime function is another name of
//! that one: `symbols/driver.txt` says which. What differs is here.

mod context;
mod copy;
mod device;
pub(crate) mod entry;
mod graph;
mod green;
mod launch;
mod memory;
mod module;
mod stream;
mod virtual_memory;
