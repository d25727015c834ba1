//! What the watched process says about its run, beside the snapshot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// At its own end.
    End,
    /// After the planned steps.
    Stopped,
    /// By PyTorch's `OutOfMemoryError`.
    Oom,
    /// By an exception of its own.
    Error,
    /// By an exit code of its own.
    Exit,
    /// Not at all: it waited in a loop for a value that a hollow card never gives.
    Endless,
    /// It never began: torch is missing or of no use.
    Unusable,
}

/// How the script ended, in words too.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// Which end.
    pub kind: OutcomeKind,
    /// A word for programs where it is [`OutcomeKind::Unusable`].
    pub reason: Option<String>,
    /// One line.
    pub message: Option<String>,
    /// The script's own traceback.
    pub traceback: Option<String>,
}

/// What a value that nobody knows was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumed {
    /// Zeros.
    Zeros,
    /// Every element of a mask picked, every element of its own kind: the most there can be.
    All,
    /// Some elements of a mask true, some false.
    Some,
    /// Neither NaN nor infinite.
    Finite,
    /// Other random numbers than the card would draw.
    Drawn,
}

/// A line that read values back from the card which nobody knows without one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Read {
    /// The user's file; empty where no line of the user's was on the stack.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// How often.
    pub count: u64,
    /// What they were taken for.
    pub assumed: Assumed,
}

/// The line where a gradient scaler decides whether a step is taken, and what the card has held by then.
#[derive(Clone, Debug, Deserialize)]
pub struct Scaled {
    /// The user's file; empty where no line of the user's was on the stack.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// By device: the peaks before the first step, which stay as long as steps are skipped.
    pub devices: Vec<PeakFacts>,
}

/// The allocator's own peaks on one device.
#[derive(Clone, Debug, Deserialize)]
pub struct PeakFacts {
    /// CUDA ordinal.
    pub index: u32,
    /// Held by tensors.
    pub peak_allocated_bytes: u64,
    /// Taken from the driver.
    pub peak_reserved_bytes: u64,
}

/// What the allocator and the hollow card counted on one device.
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceFacts {
    /// CUDA ordinal.
    pub index: u32,
    /// The allocator's own peak.
    pub peak_allocated_bytes: u64,
    /// The allocator's own peak.
    pub peak_reserved_bytes: u64,
    /// What the hollow card gave out at most, where it says.
    pub peak_device_bytes: Option<u64>,
}

/// A moment the process noted: time, device, name, and `START` or `END`.
pub type MarkFact = (u64, u32, String, String);
/// A block the process knew: time, device, address, and what it is for.
pub type TagFact = (u64, u32, u64, String);

/// Everything.
#[derive(Clone, Debug, Deserialize)]
pub struct Facts {
    /// How the script ended.
    pub outcome: Outcome,
    /// The interpreter's version.
    pub python: String,
    /// torch's version, if it was imported.
    pub torch: Option<String>,
    /// The CUDA version torch was built for.
    pub cuda: Option<String>,
    /// What the reader of the plan should know.
    pub notes: Vec<String>,
    /// Optimizer steps done.
    pub steps: u32,
    /// Optimizers made.
    #[serde(default)]
    pub optimizers: u32,
    /// Batches done, where they were counted.
    pub batches: u32,
    /// Where values were read back, the most frequent first.
    pub reads: Vec<Read>,
    /// Where a gradient scaler decides about steps, if one does.
    #[serde(default)]
    pub scaled: Option<Scaled>,
    /// Whether CUDA was used at all.
    pub used_cuda: bool,
    /// Steps and phases.
    #[serde(default)]
    pub marks: Vec<MarkFact>,
    /// Parameters, gradients, optimizer state and buffers.
    #[serde(default)]
    pub tags: Vec<TagFact>,
    /// Who started each backward pass: time and number of the stack.
    #[serde(default)]
    pub callers: Vec<(u64, usize)>,
    /// Stacks, innermost call first: function, file, line.
    #[serde(default)]
    pub stacks: Vec<Vec<(String, String, u32)>>,
    /// By device.
    #[serde(default)]
    pub devices: Vec<DeviceFacts>,
    /// Calls the hollow card answered without a model behind them, by name.
    #[serde(default)]
    pub unmodelled: BTreeMap<String, u64>,
}
