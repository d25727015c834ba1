//! Named moments and stretches of a job: steps, phases, profiler ranges.

use serde::{Deserialize, Serialize};

use super::extra::Extra;
use super::stack::StringId;

/// Which end of a stretch a [`Mark`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkStage {
    /// The stretch begins.
    Start,
    /// The stretch ends. Stretches may overlap or lack an end.
    End,
    /// A moment without length.
    Instant,
    /// The file said something else; the text is kept.
    Other(StringId),
}

/// An annotation: PyTorch's `external_annotations`, or a mark of oomph's own recorder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Device ordinal.
    pub device: u32,
    /// Microseconds since the Unix epoch.
    pub time_us: u64,
    /// Its name, e.g. `Optimizer.step#AdamW.step` or `step 3`.
    pub name: StringId,
    /// Start, end or a moment.
    pub stage: MarkStage,
    /// Keys oomph does not know.
    pub extra: Extra,
}
