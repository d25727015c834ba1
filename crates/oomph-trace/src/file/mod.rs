//! oomph's own file: compact, versioned, and written by appending, so that a killed job leaves a readable one.
//!
//! A header of 16 bytes (magic, major and minor version, what made the trace) is followed by chunks. A chunk is its
//! length and a checksum, 4 bytes each, and one [`record::Record`] in postcard's encoding, compressed with zstd.
//! Strings, frames and stacks are defined before they are used, so whatever part of a file is there can be read.
//! Readers refuse a newer major version; a newer minor version only adds kinds of records at the end of the list.

mod chunk;
mod columns;
mod reader;
mod record;
mod writer;

pub use chunk::file_of_records;
pub(crate) use chunk::is_oomph_file;
pub(crate) use reader::read;
pub use writer::{TraceWriter, write_oomph_trace};

/// The customary ending of file names; readers look at content instead.
pub const EXTENSION: &str = "oomph";

#[cfg(test)]
mod tests;
