//! What a box tells, in the words of PyTorch's allocator.

/// The device number of memory on the host.
pub const HOST: u8 = 255;

/// Names a stack of a box; 0 is no stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackNumber(pub u32);

/// Names a frame of a box; 0 is no frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameNumber(pub u32);

/// Names a text of a box (the name of a mark, say); 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameNumber(pub u32);

/// Declares an enum whose values are kept as one byte.
macro_rules! byte_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $value,)* }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value with this number.
            #[must_use]
            pub fn from_number(number: u8) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

byte_enum! {
    /// What an allocator did. The names and numbers are PyTorch's own.
    Action {
        /// A client took a block; the bytes are what it asked for, before rounding.
        Alloc = 0,
        /// The client gave the block back; other streams may still use it.
        FreeRequested = 1,
        /// No stream uses the block any more: it can be handed out again.
        FreeCompleted = 2,
        /// The allocator took a segment from the driver.
        SegmentAlloc = 3,
        /// The allocator gave a segment back to the driver.
        SegmentFree = 4,
        /// Memory was mapped into an expandable segment.
        SegmentMap = 5,
        /// Memory was unmapped from an expandable segment.
        SegmentUnmap = 6,
        /// A snapshot was taken here.
        Snapshot = 7,
        /// A request failed; the bytes are the rounded request, the address is what the driver had free.
        Oom = 8,
    }
}

byte_enum! {
    /// What bytes are for, as far as somebody said; the names are those of a trace.
    Category {
        /// Nobody said.
        Unknown = 0,
        /// A model's weights and buffers.
        Parameter = 1,
        /// `.grad` of a parameter.
        Gradient = 2,
        /// State an optimizer keeps for its parameters.
        Optimizer = 3,
        /// Kept by autograd for the backward pass, or passing through the forward pass.
        Activation = 4,
        /// Scratch space of a library (cuBLAS, cuDNN).
        Workspace = 5,
        /// A batch, or what it was made from.
        Input = 6,
        /// Known, and none of the above.
        Other = 7,
    }
}

byte_enum! {
    /// What a job is doing.
    Phase {
        /// Before its first step, or nobody knows.
        Setup = 0,
        /// In a model's forward pass.
        Forward = 1,
        /// In the backward pass.
        Backward = 2,
        /// In an optimizer's step.
        Optimizer = 3,
        /// In a forward pass that no backward pass follows.
        Evaluation = 4,
    }
}

byte_enum! {
    /// Which end of something a mark stands for.
    Stage {
        /// It begins.
        Start = 0,
        /// It ends.
        End = 1,
        /// It has no length.
        Moment = 2,
    }
}

byte_enum! {
    /// How a process ended, as it said itself. One that was killed had no time to.
    EndedHow {
        /// It came to its end.
        Finished = 1,
        /// An exception that nobody caught.
        Exception = 2,
        /// `torch.OutOfMemoryError` that nobody caught.
        OutOfMemory = 3,
        /// It called `sys.exit` or `os._exit`.
        Exit = 4,
    }
}

/// The process a box is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in the kernel's ticks since boot: tells it from a later process with the same number.
    pub start_ticks: u64,
    /// When the box was made, in microseconds since 1970.
    pub created_us: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In which way; `None` for one that this version does not know.
    pub how: Option<EndedHow>,
    /// Its exit code, where it knew it.
    pub exit_code: i32,
}

/// What a job was doing when it last said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Optimizer steps so far.
    pub step: u64,
    /// Batches so far.
    pub batches: u64,
    /// What it is doing.
    pub phase: Phase,
    /// When the current step began, in microseconds since 1970; 0 before the first.
    pub step_started_us: u64,
    /// When it last said anything of this.
    pub updated_us: u64,
    /// How it ended, once it has.
    pub ended: Option<Ended>,
}

/// One device, as its allocator and PyTorch's statistics describe it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceState {
    /// Its number in the process.
    pub ordinal: u8,
    /// Its UUID; zeros where nobody said.
    pub uuid: [u8; 16],
    /// Its memory.
    pub total_bytes: u64,
    /// What the process may use of it; 0 where there is no limit.
    pub limit_bytes: u64,
    /// Bytes of live blocks as they were asked for (`requested_bytes` of PyTorch's statistics).
    pub requested_bytes: u64,
    /// The most there ever were.
    pub requested_peak_bytes: u64,
    /// Bytes of live segments.
    pub reserved_bytes: u64,
    /// The most there ever were.
    pub reserved_peak_bytes: u64,
    /// How often each [`Action`] was seen, by its number.
    pub counts: [u64; Action::ALL.len()],
    /// What PyTorch's statistics said last.
    pub stats: Stats,
}

/// What `torch.cuda.memory_stats` says, as far as the job handed it over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// `allocated_bytes.all.current`
    pub allocated_bytes: u64,
    /// `allocated_bytes.all.peak`
    pub allocated_peak_bytes: u64,
    /// `reserved_bytes.all.current`
    pub reserved_bytes: u64,
    /// `reserved_bytes.all.peak`
    pub reserved_peak_bytes: u64,
    /// `num_alloc_retries`
    pub retries: u64,
    /// `num_ooms`
    pub ooms: u64,
    /// What the driver has free on the device.
    pub free_bytes: u64,
    /// Page-locked host memory of PyTorch's cache.
    pub pinned_bytes: u64,
}

/// Memory on the host, as the process itself knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Bytes of live CPU tensors.
    pub cpu_tensor_bytes: u64,
    /// The most there ever were.
    pub cpu_tensor_peak_bytes: u64,
    /// Page-locked host memory of PyTorch's cache.
    pub pinned_bytes: u64,
    /// Blocks ever taken for CPU tensors.
    pub allocations: u64,
    /// Blocks given back.
    pub frees: u64,
}

/// What had no room in the box: it is counted, and nothing fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Live blocks.
    pub blocks: u64,
    /// Live segments.
    pub segments: u64,
    /// Stacks, frames and names.
    pub stacks: u64,
    /// Facts.
    pub facts: u64,
}

/// A block that was not given back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveBlock {
    /// The device, or [`HOST`].
    pub device: u8,
    /// Its address.
    pub address: u64,
    /// What was asked for.
    pub bytes: u64,
    /// Where in the program.
    pub stack: StackNumber,
    /// For which stream, from which pool.
    pub lane: u16,
    /// What it is for.
    pub category: Category,
    /// The number of its module, given by whoever tagged it; 0 is none.
    pub module: u32,
    /// The number of the event that made it.
    pub birth: u64,
    /// The client gave it back, and another stream still uses it.
    pub free_requested: bool,
}

/// Memory that an allocator has from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSegment {
    /// The device.
    pub device: u8,
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Where in the program it was needed.
    pub stack: StackNumber,
    /// For which stream, from which pool.
    pub lane: u16,
    /// It is part of an expandable segment.
    pub expandable: bool,
    /// The number of the event that made it.
    pub birth: u64,
}

/// Something that happened to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// What happened.
    pub action: Action,
    /// The device, or [`HOST`].
    pub device: u8,
    /// The address concerned.
    pub address: u64,
    /// The bytes concerned.
    pub bytes: u64,
    /// Where in the program.
    pub stack: StackNumber,
    /// Which stream and pool.
    pub lane: u16,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something happened to memory.
    Memory(MemoryEvent),
    /// The program came to a place that has a name.
    Mark {
        /// Its name.
        name: NameNumber,
        /// Which end of it.
        stage: Stage,
    },
    /// The job said what it does.
    State {
        /// Optimizer steps so far.
        step: u64,
        /// Batches so far, their lowest 32 bits.
        batches: u32,
        /// What it is doing.
        phase: Phase,
    },
    /// Somebody said what a block is for.
    Tag {
        /// The block.
        address: u64,
        /// What it is for.
        category: Category,
        /// The number of its module; 0 is none.
        module: u32,
    },
}

/// One entry of a box's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxEvent {
    /// When, in microseconds since 1970.
    pub time_us: u64,
    /// What.
    pub what: What,
}

/// A part of a box's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Each with its number, oldest first. Two may share a number: a free that was asked for and done at once is kept
    /// as one.
    pub events: Vec<(u64, BoxEvent)>,
    /// Events that were overwritten before they were read, or not written whole.
    pub lost: u64,
    /// Where to read on.
    pub next: u64,
}

/// One line of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoxFrame {
    /// The file, as Python names it.
    pub file: String,
    /// The function.
    pub function: String,
    /// The line; 0 where it is not known.
    pub line: u32,
    /// The address of the module whose call this frame is, or 0.
    pub module_pointer: u64,
}
