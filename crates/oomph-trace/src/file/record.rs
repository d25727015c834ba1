//! What a chunk says.

use serde::{Deserialize, Serialize};

use crate::model::extra::Extra;
use crate::model::mark::Mark;
use crate::model::segment::Segment;
use crate::model::settings::AllocatorSettings;
use crate::model::stack::{Frame, FrameId, StringId};

use super::columns::{EventColumns, ModuleColumn};

/// One statement about a job. New kinds go to the end, as the position of a kind is its number in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Record {
    /// More strings, numbered on from the last.
    Strings(Vec<String>),
    /// More frames.
    Frames(Vec<Frame>),
    /// More stacks.
    Stacks(Vec<Vec<FrameId>>),
    /// More forward tracebacks.
    Forwards(Vec<Vec<StringId>>),
    /// A card.
    Device(DeviceRecord),
    /// More events of one device.
    Events(Box<EventColumns>),
    /// More marks.
    Marks(Vec<Mark>),
    /// How the allocator is configured; the last one counts.
    Settings(AllocatorSettings),
    /// The books of one device.
    Segments(SegmentsRecord),
    /// Keys oomph does not know; the last one counts.
    Extra(Extra),
    /// The writer had nothing more to say.
    End,
    /// Which modules the newest events of one device belong to.
    Modules(ModuleColumn),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeviceRecord {
    pub(super) ordinal: u32,
    pub(super) total_bytes: Option<u64>,
    pub(super) limit_bytes: Option<u64>,
    pub(super) other_process_bytes: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SegmentsRecord {
    pub(super) ordinal: u32,
    /// Whether this adds to the record before or begins the books anew.
    pub(super) continues: bool,
    pub(super) segments: Vec<Segment>,
}
