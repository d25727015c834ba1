//! Where Python's interpreter keeps what a stack is made of, by version.
//!
//! The numbers are offsets in its structures, the same in all builds of a version on 64-bit Linux but those without the
//! GIL. They are used only after `interpreter.rs` has compared what they say with what the interpreter says.

/// How the innermost frame of a thread is reached, and what a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frames {
    /// Frame objects, up to 3.10: the position in the code is a number of its own.
    Objects,
    /// Internal frames by way of a frame on the C stack, 3.11 and 3.12.
    ThroughC {
        /// The word of the C frame that points to the innermost frame.
        current: usize,
    },
    /// Internal frames, from 3.13.
    Direct,
}

/// The offsets of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) frames: Frames,
    /// In a thread state: the innermost frame, or the C frame that knows it.
    pub(crate) thread_frame: usize,
    pub(crate) frame_previous: usize,
    pub(crate) frame_code: usize,
    /// A pointer to the instruction, or its number where frames are objects.
    pub(crate) frame_instruction: usize,
    /// Who owns a frame; nothing where frames are objects.
    pub(crate) frame_owner: Option<usize>,
    pub(crate) frame_locals: usize,
    pub(crate) code_file: usize,
    pub(crate) code_name: usize,
    pub(crate) code_first_line: usize,
    pub(crate) code_lines: usize,
    /// The first instruction, and the number of the first one that counts as the function's own.
    pub(crate) code_instructions: usize,
    pub(crate) code_first_traceable: usize,
    /// The sizes of a string's head: ASCII, and other.
    pub(crate) text_ascii: usize,
    pub(crate) text_other: usize,
    /// In a string's state: where the kind stands, followed by whether it is compact and whether it is ASCII. Found
    /// by looking at a string, since builds of one version differ.
    pub(crate) text_kind_shift: u32,
}

/// In a string: its length and its state. In a bytes object: its length and its bytes. In a cell: its content. In every
/// object: its type.
pub(crate) const TEXT_LENGTH: usize = 16;
pub(crate) const TEXT_STATE: usize = 32;
/// Where the kind stands in a string's state: behind two bits, and in some builds of 3.14 behind 16.
pub(crate) const TEXT_KIND_SHIFTS: [u32; 2] = [2, 16];
/// From there on, what the state of a compact string of ASCII characters is: one byte each, compact, ASCII.
pub(crate) const TEXT_ASCII_STATE: u32 = 0b11_001;
pub(crate) const BYTES_LENGTH: usize = 16;
pub(crate) const BYTES_START: usize = 32;
pub(crate) const CELL_CONTENT: usize = 16;
pub(crate) const OBJECT_TYPE: usize = 8;

/// In a code object of 3.10: how many local variables it has, its cells, and which argument each holds. In a tuple: its
/// length.
pub(crate) const OBJECT_CODE_LOCALS: usize = 28;
pub(crate) const OBJECT_CODE_CELLS: usize = 88;
pub(crate) const OBJECT_CODE_ARGUMENTS: usize = 96;
pub(crate) const TUPLE_LENGTH: usize = 16;

/// In a type: the function that its objects end in.
pub(crate) const TYPE_DEALLOC: usize = 48;

/// Owners of frames from this one on are no functions, from 3.12.
pub(crate) const OWNER_NOT_PYTHON: u8 = 3;
pub(crate) const OWNER_GENERATOR: u8 = 1;

/// References in frames carry flags in their lowest bits, from 3.14.
pub(crate) const REFERENCE_FLAGS: usize = 3;

const V3_11: Layout = Layout {
    frames: Frames::ThroughC { current: 8 },
    thread_frame: 56,
    frame_previous: 48,
    frame_code: 32,
    frame_instruction: 56,
    frame_owner: Some(69),
    frame_locals: 72,
    code_file: 112,
    code_name: 120,
    code_first_line: 72,
    code_lines: 136,
    code_instructions: 184,
    code_first_traceable: 168,
    text_ascii: 48,
    text_other: 72,
    text_kind_shift: TEXT_KIND_SHIFTS[0],
};

const V3_12: Layout = Layout {
    frames: Frames::ThroughC { current: 0 },
    frame_previous: 8,
    frame_code: 0,
    frame_owner: Some(70),
    code_first_line: 68,
    code_instructions: 192,
    code_first_traceable: 176,
    text_ascii: 40,
    text_other: 56,
    ..V3_11
};

const V3_13: Layout =
    Layout { frames: Frames::Direct, thread_frame: 72, code_instructions: 200, code_first_traceable: 184, ..V3_12 };

const V3_14: Layout =
    Layout { frame_owner: Some(74), frame_locals: 80, code_instructions: 208, code_first_traceable: 192, ..V3_13 };

const V3_10: Layout = Layout {
    frames: Frames::Objects,
    thread_frame: 24,
    frame_previous: 24,
    frame_code: 32,
    frame_instruction: 96,
    frame_owner: None,
    frame_locals: 352,
    code_file: 104,
    code_name: 112,
    code_first_line: 40,
    code_lines: 120,
    ..V3_11
};

/// The layout of a version, given as `sys.hexversion`.
pub(crate) fn of_version(hex_version: u32) -> Option<Layout> {
    match hex_version >> 16 {
        0x30a => Some(V3_10),
        0x30b => Some(V3_11),
        0x30c => Some(V3_12),
        0x30d => Some(V3_13),
        0x30e => Some(V3_14),
        _ => None,
    }
}
