//! Where the figures of a card come from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A figure of a card, by the name of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Total memory as CUDA reports it.
    MemoryBytes,
    /// What a CUDA context takes.
    ContextBytes,
    /// Version of the instruction set.
    ComputeCapability,
    /// Streaming multiprocessors.
    Sms,
    /// Most shared memory of a block.
    SharedMemoryPerBlockOptinBytes,
    /// Shared memory of a multiprocessor.
    SharedMemoryPerSmBytes,
    /// Second-level cache.
    L2Bytes,
    /// Resident threads of a multiprocessor.
    MaxThreadsPerSm,
    /// Resident blocks of a multiprocessor.
    MaxBlocksPerSm,
    /// Registers of a multiprocessor.
    RegistersPerSm,
    /// Peak clock.
    ClockKhz,
    /// Peak memory clock.
    MemoryClockKhz,
    /// Width of the memory bus.
    MemoryBusBits,
}

impl Figure {
    /// All of them, in the order of a card's file.
    pub const ALL: [Self; 13] = [
        Self::MemoryBytes,
        Self::ContextBytes,
        Self::ComputeCapability,
        Self::Sms,
        Self::SharedMemoryPerBlockOptinBytes,
        Self::SharedMemoryPerSmBytes,
        Self::L2Bytes,
        Self::MaxThreadsPerSm,
        Self::MaxBlocksPerSm,
        Self::RegistersPerSm,
        Self::ClockKhz,
        Self::MemoryClockKhz,
        Self::MemoryBusBits,
    ];

    /// The name of its field.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryBytes => "memory_bytes",
            Self::ContextBytes => "context_bytes",
            Self::ComputeCapability => "compute_capability",
            Self::Sms => "sms",
            Self::SharedMemoryPerBlockOptinBytes => "shared_memory_per_block_optin_bytes",
            Self::SharedMemoryPerSmBytes => "shared_memory_per_sm_bytes",
            Self::L2Bytes => "l2_bytes",
            Self::MaxThreadsPerSm => "max_threads_per_sm",
            Self::MaxBlocksPerSm => "max_blocks_per_sm",
            Self::RegistersPerSm => "registers_per_sm",
            Self::ClockKhz => "clock_khz",
            Self::MemoryClockKhz => "memory_clock_khz",
            Self::MemoryBusBits => "memory_bus_bits",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a figure came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Measured for this catalogue, on such a card.
    MeasuredHere,
    /// Published by somebody who has such a card.
    Reported,
    /// Follows from other figures, from the architecture or from a data sheet.
    Derived,
}

/// Where some figures of a card come from. Where sources disagree, the card has the smaller figure, and `says` names
/// the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The figures.
    pub figures: Vec<Figure>,
    /// How they came about.
    pub kind: Kind,
    /// Whether they were measured on such a card and given as they are: in bytes, in whole MiB, or as a count.
    #[serde(default)]
    pub measured: bool,
    /// The address of the page or thread; of derived figures what they follow from.
    pub from: String,
    /// What it says.
    #[serde(default)]
    pub says: String,
}

impl Source {
    /// What cannot be true of any source, if there is something.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self.kind {
            _ if self.figures.is_empty() => Some("a source must name its figures"),
            _ if self.from.is_empty() => Some("a source must say where it is from"),
            Kind::MeasuredHere if !self.measured => Some("a source that is measured_here must have measured = true"),
            Kind::Derived if self.measured => Some("a source that is derived cannot have measured = true"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(kind: Kind, measured: bool) -> Source {
        Source { figures: vec![Figure::Sms], kind, measured, from: "a data sheet".into(), says: String::new() }
    }

    #[test]
    fn figures_are_named_as_their_fields_are() {
        for figure in Figure::ALL {
            assert_eq!(serde_json::to_string(&figure).expect("plain data"), format!("\"{figure}\""));
        }
    }

    #[test]
    fn what_was_derived_was_not_measured() {
        assert_eq!(source(Kind::Reported, true).fault(), None);
        assert_eq!(source(Kind::Reported, false).fault(), None);
        assert!(source(Kind::Derived, true).fault().is_some());
        assert!(source(Kind::MeasuredHere, false).fault().is_some());
        assert!(Source { figures: Vec::new(), ..source(Kind::Derived, false) }.fault().is_some());
        assert!(Source { from: String::new(), ..source(Kind::Derived, false) }.fault().is_some());
    }
}
