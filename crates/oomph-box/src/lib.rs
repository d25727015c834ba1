//! The black box: a bounded file that a recorded process writes and others read, also after it was killed.
//!
//! A box holds what a job was doing (steps, phases), what its allocators did (the last events, every live block and
//! segment, peaks and counts), where in the program (stacks, kept once each), and what only the job knew (facts, lines
//! of JSON). [`Writer`] writes one, [`BlackBox`] reads one, [`Answers`] answers what the process asks through it.
//!
//! # Rules
//!
//! - A writer never blocks, fails or panics; what has no room is counted ([`Lost`]).
//! - A reader trusts nothing: positions follow from the size of the file, every record carries a check, every loop is
//!   bounded.
//! - What is written stays readable whenever the process is killed: a record counts once its check or its address is
//!   there, and that is written last. The table of live blocks follows the ring, and a reader adds what it does not have
//!   yet.

mod account;
mod ahead;
mod answers;
mod blocks;
mod catching_up;
mod clock;
mod device;
mod error;
mod event;
mod host;
mod intern;
mod lanes;
mod layout;
mod memory;
mod model;
mod process;
mod reader;
mod segments;
mod slot;
mod text;
mod writer;

#[cfg(test)]
mod tests;

pub use answers::Answers;
pub use clock::ticks;
pub use error::BoxError;
pub use intern::MAX_FRAMES;
pub use layout::{DEFAULT_BYTES, MAX_BYTES, MAX_DEVICES, MAX_MESSAGE_BYTES, MIN_BYTES};
pub use model::{
    Action, BoxEvent, BoxFrame, Category, DeviceState, Ended, EndedHow, Events, FrameNumber, HOST, HostState,
    LiveBlock, LiveSegment, Lost, MemoryEvent, NameNumber, Phase, Process, StackNumber, Stage, State, Stats, What,
};
pub use reader::BlackBox;
pub use writer::Writer;
