//! The one noun.

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::extra::Extra;
use super::mark::Mark;
use super::segment::Segment;
use super::settings::AllocatorSettings;
use super::stack::StackTable;

/// What made a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Imported from a PyTorch memory snapshot.
    TorchSnapshot,
    /// Predicted by a hollow run.
    HollowRun,
    /// Recorded by a real run.
    RealRun,
}

/// What one device's allocator did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceTrace {
    /// CUDA ordinal.
    pub ordinal: u32,
    /// Total memory of the card, where known.
    pub total_bytes: Option<u64>,
    /// The most the allocator may take (per-process fraction), where known.
    pub limit_bytes: Option<u64>,
    /// What other processes held on the card when a request failed for the last time, where the recorder saw it.
    pub other_process_bytes: Option<u64>,
    /// History, oldest first. May begin late: the recorder can be started late or drop its oldest entries.
    pub events: Vec<Event>,
    /// The books at the end.
    pub segments: Vec<Segment>,
    /// Event-level keys oomph does not know, by event index, ascending.
    pub event_extra: Vec<(u32, Extra)>,
}

/// How a file ended before its time, because its writer was killed or the disk was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Everything before this offset was read.
    pub good_bytes: u64,
    /// What followed and could not be read.
    pub lost_bytes: u64,
}

/// Everything known about a job's memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// What made it.
    pub origin: Origin,
    /// One entry a device, in ordinal order.
    pub devices: Vec<DeviceTrace>,
    /// Strings, frames and stacks the events refer to.
    pub stacks: StackTable,
    /// Steps, phases and ranges, oldest first.
    pub marks: Vec<Mark>,
    /// How the allocator was configured.
    pub settings: AllocatorSettings,
    /// Top-level keys oomph does not know.
    pub extra: Extra,
    /// Set if the file ended in the middle: the trace is good, but does not reach to the job's end.
    pub truncated: Option<Truncation>,
}

impl Trace {
    /// A trace of nothing.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self {
            origin,
            devices: Vec::new(),
            stacks: StackTable::default(),
            marks: Vec::new(),
            settings: AllocatorSettings::default(),
            extra: Extra::new(),
            truncated: None,
        }
    }

    /// The device with this ordinal.
    #[must_use]
    pub fn device(&self, ordinal: u32) -> Option<&DeviceTrace> {
        self.devices.iter().find(|device| device.ordinal == ordinal)
    }

    /// How many events there are on all devices together.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.devices.iter().map(|device| device.events.len()).sum()
    }
}
