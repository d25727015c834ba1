//! What the replaced functions do, in Rust's terms: one file a kind.
//!
//! Each takes what the system call takes, and without a layer is that system call.

pub(crate) mod attributes;
pub(crate) mod extended;
pub(crate) mod make;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod rename;
