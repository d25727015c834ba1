//! One thing that happened in an allocator.

use serde::{Deserialize, Serialize};

use super::segment::PoolId;
use super::stack::{ForwardId, StackId, StringId};

/// Position of an [`Event`] in its device's list, oldest first.
pub type EventIndex = u32;

/// What happened. The names are PyTorch's own (`snapshot-format` in its source calls them trace actions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action {
    /// A client took a block; `bytes` is what it asked for, before rounding.
    Alloc,
    /// The client gave the block back; other streams may still use it.
    FreeRequested,
    /// No stream uses the block any more: it can be handed out again.
    FreeCompleted,
    /// The allocator took a segment from the driver.
    SegmentAlloc,
    /// The allocator gave a segment back to the driver.
    SegmentFree,
    /// Memory was mapped into an expandable segment.
    SegmentMap,
    /// Memory was unmapped from an expandable segment.
    SegmentUnmap,
    /// A snapshot was taken here.
    Snapshot,
    /// A request failed; `bytes` is the rounded request, `addr` what the driver had free.
    Oom,
    /// An action this version of oomph does not know; its name is kept.
    Other(StringId),
}

impl Action {
    /// PyTorch's spelling, or `None` for [`Action::Other`] (whose name is in the string table).
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Alloc => "alloc",
            Self::FreeRequested => "free_requested",
            Self::FreeCompleted => "free_completed",
            Self::SegmentAlloc => "segment_alloc",
            Self::SegmentFree => "segment_free",
            Self::SegmentMap => "segment_map",
            Self::SegmentUnmap => "segment_unmap",
            Self::Snapshot => "snapshot",
            Self::Oom => "oom",
            Self::Other(_) => return None,
        })
    }

    /// The action PyTorch spells this way.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"alloc" => Self::Alloc,
            b"free_requested" | b"free" => Self::FreeRequested,
            b"free_completed" => Self::FreeCompleted,
            b"segment_alloc" => Self::SegmentAlloc,
            b"segment_free" => Self::SegmentFree,
            b"segment_map" => Self::SegmentMap,
            b"segment_unmap" => Self::SegmentUnmap,
            b"snapshot" => Self::Snapshot,
            b"oom" => Self::Oom,
            _ => return None,
        })
    }
}

/// What bytes are for, as far as the maker of the trace knew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Nobody said; an analysis may still work it out.
    #[default]
    Unknown,
    /// A model's weights and buffers.
    Parameter,
    /// `.grad` of a parameter.
    Gradient,
    /// State an optimizer keeps for its parameters.
    Optimizer,
    /// Kept by autograd for the backward pass, or passing through the forward pass.
    Activation,
    /// Scratch space of a library (cuBLAS, cuDNN).
    Workspace,
    /// A batch, or what it was made from.
    Input,
    /// Known, and none of the above.
    Other,
}

impl Category {
    /// PyTorch's word for it, as its memory profiler writes categories; `None` for [`Category::Unknown`].
    #[must_use]
    pub fn torch_name(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown => return None,
            Self::Parameter => "parameter",
            Self::Gradient => "gradient",
            Self::Optimizer => "optimizer_state",
            Self::Activation => "activation",
            Self::Workspace => "workspace",
            Self::Input => "input",
            Self::Other => "other",
        })
    }

    /// What PyTorch's word means; words without a counterpart (`temporary`, `autograd_detail`) are
    /// [`Category::Other`].
    #[must_use]
    pub fn from_torch_name(name: &str) -> Self {
        match name {
            "unknown" => Self::Unknown,
            "parameter" => Self::Parameter,
            "gradient" => Self::Gradient,
            "optimizer_state" => Self::Optimizer,
            "activation" => Self::Activation,
            "workspace" => Self::Workspace,
            "input" => Self::Input,
            _ => Self::Other,
        }
    }
}

/// One entry of an allocator's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Address concerned; for [`Action::Oom`] the bytes the driver reported free; 0 where it has no meaning.
    pub addr: u64,
    /// Bytes concerned: requested bytes for blocks, obtained bytes for segments.
    pub bytes: u64,
    /// The CUDA stream as an integer; 0 is the legacy default stream.
    pub stream: u64,
    /// Microseconds since the Unix epoch.
    pub time_us: u64,
    /// Where in the program; [`StackId::MISSING`] if the file had no `frames` key here.
    pub stack: StackId,
    /// The forward stack of the autograd node that was running, or [`ForwardId::NONE`].
    pub forward: ForwardId,
    /// torch.compile's context, or [`StringId::MISSING`] if the file had no such key.
    pub compile_context: StringId,
    /// What the user set with `_set_memory_metadata`, or [`StringId::MISSING`].
    pub user_metadata: StringId,
    /// The path of the model's module whose forward pass allocated the block, or whose parameter, gradient or
    /// optimizer state it is (`model.layers.7.mlp`); [`StringId::MISSING`] where nobody said.
    pub module: StringId,
    /// What happened.
    pub action: Action,
    /// What the bytes are for, where the maker of the trace knew.
    pub category: Category,
    /// The owning pool where the file says so (torch newer than 2.11); `None` means: look at the segments.
    pub pool: Option<PoolId>,
}
