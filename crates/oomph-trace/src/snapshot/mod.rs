//! PyTorch's CUDA memory snapshot: readers for its two renderings, and the writer.
//!
//! Both readers feed a [`store::Store`], which turns dictionaries into events and frames as soon as they are whole;
//! no generic tree of the file is ever built.

mod event;
mod finish;
mod item;
pub(crate) mod json;
mod machine;
mod marks;
mod opcode;
mod runs;
mod segments;
mod store;
mod value;

pub(crate) use finish::OOMPH_KEY;
pub(crate) use machine::read as read_pickle;
