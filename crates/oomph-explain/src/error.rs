//! What can be wrong with a request to explain.

use thiserror::Error;

/// Why nothing could be explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// The trace has no device at all.
    #[error("the file has no device in it: its history was never recorded")]
    NothingRecorded,
    /// The user asked for a device the trace does not have.
    #[error("there is no device {ordinal} in this file; it has {known:?}")]
    NoSuchDevice {
        /// What was asked for.
        ordinal: u32,
        /// What there is.
        known: Vec<u32>,
    },
    /// The user asked for an event past the end.
    #[error("there is no event {at}: the history has {count} events, from 0")]
    NoSuchEvent {
        /// What was asked for.
        at: u32,
        /// How many there are.
        count: usize,
    },
}

impl ExplainError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NothingRecorded => {
                "call torch.cuda.memory._record_memory_history(max_entries=100_000) before the first CUDA tensor, then dump again"
            }
            Self::NoSuchDevice { .. } => "leave out --device to take the one that ran out of memory",
            Self::NoSuchEvent { .. } => "leave out --at to look at the out-of-memory or the peak",
        }
    }
}
