//! What the measurements share: a generator of snapshots of any size, and a plain reader to compare with.

mod generate;
mod plain;
mod simulate;

pub use generate::generate;
pub use plain::{PlainEvent, PlainTrace, read_plain_file};
