//! Interned text, frames and stacks: a million events share a few thousand of them.

use serde::{Deserialize, Serialize};

use super::extra::Extra;

/// Handle of a string in a [`StackTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StringId(pub u32);

impl StringId {
    /// The file had no such key.
    pub const MISSING: Self = Self(u32::MAX);
}

/// Handle of a [`Frame`] in a [`StackTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrameId(pub u32);

/// Handle of a stack (a list of frames, innermost first) in a [`StackTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackId(pub u32);

impl StackId {
    /// The empty stack: history was on, but no Python frame was there (autograd's own threads).
    pub const EMPTY: Self = Self(0);
    /// The file had no `frames` key.
    pub const MISSING: Self = Self(u32::MAX);
}

/// Handle of a forward traceback (a list of strings) in a [`StackTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ForwardId(pub u32);

impl ForwardId {
    /// No forward traceback.
    pub const NONE: Self = Self(u32::MAX);
}

/// One call on a stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Function name.
    pub name: StringId,
    /// File as the interpreter names it.
    pub file: StringId,
    /// Line number; 0 for frames without one (C++).
    pub line: u32,
    /// Keys oomph does not know (`fx_node_op` and friends).
    pub extra: Extra,
}

/// All strings, frames and stacks of a trace, each stored once. Filled by an [`crate::Interner`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackTable {
    pub(crate) strings: Vec<Box<str>>,
    pub(crate) frames: Vec<Frame>,
    /// Stack `i` is `stack_frames[stack_starts[i]..stack_starts[i + 1]]`.
    pub(crate) stack_starts: Vec<u32>,
    pub(crate) stack_frames: Vec<FrameId>,
    pub(crate) forwards: Vec<Vec<StringId>>,
}

impl Default for StackTable {
    fn default() -> Self {
        // Stack 0 is the empty stack, so that `StackId::EMPTY` holds in every table.
        Self {
            strings: Vec::new(),
            frames: Vec::new(),
            stack_starts: vec![0, 0],
            stack_frames: Vec::new(),
            forwards: Vec::new(),
        }
    }
}

impl StackTable {
    /// The text behind a handle; empty for [`StringId::MISSING`].
    #[must_use]
    pub fn string(&self, id: StringId) -> &str {
        self.strings.get(id.0 as usize).map_or("", |text| text)
    }

    /// The frame behind a handle.
    ///
    /// # Panics
    /// If the handle comes from another table.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// The frames of a stack, innermost first; empty for [`StackId::MISSING`].
    #[must_use]
    pub fn stack(&self, id: StackId) -> &[FrameId] {
        let at = id.0 as usize;
        match (self.stack_starts.get(at), self.stack_starts.get(at.saturating_add(1))) {
            (Some(&start), Some(&end)) => &self.stack_frames[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The lines of a forward traceback; empty for [`ForwardId::NONE`].
    #[must_use]
    pub fn forward(&self, id: ForwardId) -> &[StringId] {
        self.forwards.get(id.0 as usize).map_or(&[], |lines| lines)
    }

    /// How many distinct stacks there are; handles run from 0.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.stack_starts.len().saturating_sub(1)
    }

    /// How many distinct frames there are; handles run from 0.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// How many distinct strings there are; handles run from 0.
    #[must_use]
    pub fn string_count(&self) -> usize {
        self.strings.len()
    }

    /// How many distinct forward tracebacks there are; handles run from 0.
    #[must_use]
    pub fn forward_count(&self) -> usize {
        self.forwards.len()
    }
}
