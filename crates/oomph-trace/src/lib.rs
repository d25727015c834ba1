//! The ground truth about a job's memory.
//!
//! A [`Trace`] says who took how many bytes, on which device and stream, when, from which line, for what, and
//! when it was given back, with marks for steps and phases. A real run, a hollow run and a torch snapshot each
//! make one; everything else in oomph reads one.

mod build;
mod error;
mod export;
mod file;
pub mod host;
mod input;
mod intern;
mod model;
mod same;
mod snapshot;

pub use build::{Calls, TraceBuilder};
pub use error::TraceError;
pub use export::write_torch_snapshot;
pub use file::{EXTENSION, TraceWriter, write_oomph_trace};
pub use input::{Input, MAX_RATIO, MAX_UNCOMPRESSED_BYTES};
pub use intern::Interner;
pub use model::event::{Action, Category, Event, EventIndex};
pub use model::extra::{Extra, MAX_VALUE_DEPTH, Value};
pub use model::mark::{Mark, MarkStage};
pub use model::segment::{Block, BlockState, PoolId, Segment, SegmentKind};
pub use model::settings::AllocatorSettings;
pub use model::stack::{ForwardId, Frame, FrameId, StackId, StackTable, StringId};
pub use model::trace::{DeviceTrace, Origin, Trace, Truncation};

/// For fuzz targets alone: what they need to get past checksums.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::file::file_of_records;
}
