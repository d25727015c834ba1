//! Values while a file is being read: small enough to copy, cheap enough to keep by the million.

use crate::model::stack::{ForwardId, FrameId, StackId};

/// One value of a file. Text and bytes stay where they are in the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A memo slot nothing was put into.
    Hole,
    None,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// `len` bytes of text at `at` (see `Store::bytes`), and which of the format's own words it is.
    Text {
        word: Word,
        len: u32,
        at: u64,
    },
    Bytes {
        len: u32,
        at: u64,
    },
    /// A tuple of two small numbers, as pool ids are.
    Pair(u32, u32),
    /// Position in `Store::objects`.
    Object(u32),
}

const _: () = assert!(size_of::<Item>() == 16, "millions of these are kept");

/// Something with identity: a file can refer to it twice and change it after the first reference.
///
/// `used` says that its content has been taken over into the trace, after which a change would be lost: only a
/// cyclic structure does that.
#[derive(Clone, Copy, Debug)]
pub(super) enum Object {
    /// `body` is a position in `Store::bodies`, or [`EMPTY_BODY`].
    List { body: u32, used: bool },
    /// Keys and values alternate in the body.
    Dict { body: u32, used: bool },
    /// Never changes.
    Tuple { body: u32 },
    /// A list of frames.
    Stack { id: StackId, used: bool },
    /// A list of text that has been taken over as a forward traceback.
    Forward(ForwardId),
    /// A dictionary that is a frame.
    Frame(FrameId),
    /// A dictionary that is an event: position in `Store::events`.
    Event(u32),
}

const _: () = assert!(size_of::<Object>() == 8, "millions of these are kept");

/// The body of a list or dictionary into which nothing has been put yet.
pub(super) const EMPTY_BODY: u32 = u32::MAX;

macro_rules! words {
    ($($word:ident = $text:literal,)*) => {
        /// The keys of events and frames, recognised once when the text is read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Word {
            $($word,)*
            /// Any other text.
            Other,
        }

        impl Word {
            pub(super) fn of(text: &[u8]) -> Self {
                match text {
                    $($text => Self::$word,)*
                    _ => Self::Other,
                }
            }

            /// As the file spells it.
            pub(super) fn name(self) -> &'static str {
                let text: &[u8] = match self {
                    $(Self::$word => $text,)*
                    Self::Other => b"?",
                };
                std::str::from_utf8(text).unwrap_or_default()
            }
        }
    };
}

words! {
    Action = b"action",
    Addr = b"addr",
    DeviceFree = b"device_free",
    Size = b"size",
    Stream = b"stream",
    TimeUs = b"time_us",
    CompileContext = b"compile_context",
    UserMetadata = b"user_metadata",
    Frames = b"frames",
    ForwardFrames = b"forward_frames",
    PoolId = b"pool_id",
    Category = b"category",
    Module = b"module",
    Name = b"name",
    Filename = b"filename",
    Line = b"line",
}

impl Word {
    /// A set with this word alone, for unions.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// What an event must have to be recognised as one.
pub(super) const EVENT_WORDS: u32 = Word::Action.bit() | Word::Size.bit();
/// What a frame must have to be recognised as one.
pub(super) const FRAME_WORDS: u32 = Word::Name.bit() | Word::Filename.bit() | Word::Line.bit();

impl Item {
    /// The number as an address or size. Torch's C++ pickler writes addresses as signed 64-bit integers, so a
    /// negative one is the upper half of the address space.
    pub(super) fn as_u64(self) -> Option<u64> {
        match self {
            Self::Int(number) => Some(number.cast_unsigned()),
            Self::Unsigned(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Hole => "nothing",
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::Unsigned(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text { .. } => "text",
            Self::Bytes { .. } => "bytes",
            Self::Pair(..) => "a tuple",
            Self::Object(_) => "a list or dictionary",
        }
    }
}
