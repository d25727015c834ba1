//! What an expression is: the abstract values the analysis computes with.

use std::sync::Arc;

use super::names::Sym;
use crate::python::TextRange;

/// A function of the project: which file, and which of that file's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId {
    /// The file's index in the project.
    pub file: u32,
    /// The function's index in the file.
    pub index: u32,
}

/// A class of the project: which file, and which of that file's classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId {
    /// The file's index in the project.
    pub file: u32,
    /// The class's index in the file.
    pub index: u32,
}

/// A block of code something was made in; see [`crate::facts::Facts::block`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The module itself: block 0 of every file.
    pub const MODULE: Self = Self(0);
    /// Not in this function's text: a parameter, another method or another file.
    pub const ELSEWHERE: Self = Self(u32::MAX);
}

/// What sort of thing a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing is known.
    Unknown,
    /// `None`.
    None,
    /// A Python number or truth value.
    Number,
    /// A string.
    Str,
    /// A tensor, or the output of a module: a tensor, or a tuple, dict or record of them.
    Tensor,
    /// A numpy array.
    Array,
    /// An `nn.Module`; [`Value::class`] says which, where the project defines it.
    Module,
    /// An optimizer.
    Optimizer,
    /// A learning-rate scheduler.
    Scheduler,
    /// A data loader: iterating it gives batches.
    Loader,
    /// A dataset.
    Dataset,
    /// A gradient scaler of mixed precision.
    Scaler,
    /// Something that wraps training: accelerate's `Accelerator`, Lightning's `Fabric`, a `DeepSpeed` engine.
    Engine,
    /// A list; [`Value::element`] says of what.
    List,
    /// A tuple; [`Value::parts`] are its items when known.
    Tuple,
    /// A dict; [`Value::element`] says what its values are.
    Dict,
    /// A set.
    Set,
    /// A `deque` with a `maxlen`, or another holder that forgets old items.
    Ring,
    /// Something to iterate over; [`Value::element`] says of what.
    Iterator,
    /// A function or method of the project.
    Function(FunctionId),
    /// A class of the project.
    Class(ClassId),
    /// An instance of a project's class that is none of the kinds above.
    Instance(ClassId),
    /// Something importable, by its full name: `torch.nn.functional`.
    External(Sym),
    /// What calling the named class or function gave, when it is none of the kinds above.
    Made(Sym),
    /// An exception caught.
    Exception,
}

/// How sure it is that a tensor keeps an autograd graph with activations alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Graph {
    /// It has none: data, an integer result, detached, or made under `no_grad`.
    No,
    /// Nothing is known.
    Unknown,
    /// The name alone suggests it, or gradient mode is not known.
    Possible,
    /// A call of something used as a module, under grad.
    Likely,
    /// A call of a known module, under grad.
    Certain,
}

/// Where a tensor lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Device {
    /// Not known.
    Unknown,
    /// Main memory.
    Cpu,
    /// A GPU.
    Cuda,
}

/// Which forward passes, and which parameters of the function at hand, a value's graph comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sources(pub(crate) u64);

impl Sources {
    /// Bits below this are forward passes of the function; the rest are its parameters.
    pub(crate) const SITES: u32 = 44;
    pub(crate) const SITE_MASK: u64 = (1 << Self::SITES) - 1;

    pub(crate) fn site(index: usize) -> Self {
        Self(1 << (index as u32).min(Self::SITES - 1))
    }

    pub(crate) fn parameter(index: usize) -> Self {
        let bit = index as u32 + Self::SITES;
        if bit < u64::BITS { Self(1 << bit) } else { Self(0) }
    }

    /// Whether the two have a forward pass or a parameter in common.
    #[must_use]
    pub fn overlap(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it comes from nothing known.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn sites(self) -> Self {
        Self(self.0 & Self::SITE_MASK)
    }

    pub(crate) fn parameters(self) -> impl Iterator<Item = usize> {
        let bits = self.0 >> Self::SITES;
        (0..(u64::BITS - Self::SITES) as usize).filter(move |index| bits >> index & 1 == 1)
    }
}

/// What is known of a value beyond its kind; each is a promise on every path unless it says "may".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub(crate) u32);

impl Flags {
    /// The tensor is a loss: what a criterion gave, or arithmetic on that.
    pub const LOSS: Self = Self(1);
    /// The tensor holds one element.
    pub const SCALAR: Self = Self(1 << 1);
    /// May: on some path it is a number or `None` instead.
    pub const OR_NUMBER: Self = Self(1 << 2);
    /// May: on some path it has no graph.
    pub const MIXED: Self = Self(1 << 3);
    /// It was detached on purpose: `.detach()`, `.data`.
    pub const DETACHED: Self = Self(1 << 4);
    /// It was computed under `no_grad` or `inference_mode`.
    pub const NO_GRAD: Self = Self(1 << 5);
    /// A leaf that requires grad: a parameter, or `requires_grad_()` data.
    pub const LEAF: Self = Self(1 << 6);
    /// A view of another tensor: its storage is the other's.
    pub const VIEW: Self = Self(1 << 7);
    /// Straight from a module or a loader: may be a tuple, dict or record of tensors.
    pub const RAW: Self = Self(1 << 8);
    /// The module is a criterion: calling it gives a loss.
    pub const CRITERION: Self = Self(1 << 9);
    /// The module's parameters were frozen.
    pub const FROZEN: Self = Self(1 << 10);
    /// It came from a data loader or dataset.
    pub const DATA: Self = Self(1 << 11);
    /// Only its name, or the way it is used, says what it is.
    pub const GUESSED: Self = Self(1 << 12);
    /// The module came from `transformers`, `timm`, `torchvision` or another library of models.
    pub const PRETRAINED: Self = Self(1 << 13);
    /// It holds 64-bit floats or integers.
    pub const WIDE: Self = Self(1 << 14);
    /// It was moved to a device here, whatever it is.
    pub const MOVED: Self = Self(1 << 15);
    /// It came from a function that goes back: the activations its graph refers to are freed there.
    pub const FREED: Self = Self(1 << 17);
    /// The module is in evaluation mode: `eval()` was called on it, and `train()` not since.
    pub const EVAL: Self = Self(1 << 16);

    /// Promises that hold only when they hold on both paths.
    const ON_BOTH: u32 =
        Self::DETACHED.0 | Self::NO_GRAD.0 | Self::VIEW.0 | Self::FROZEN.0 | Self::SCALAR.0 | Self::EVAL.0;

    /// Whether all of `flags` hold.
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn join(self, other: Self) -> Self {
        let both = self.0 & other.0 & Self::ON_BOTH;
        Self((self.0 | other.0) & !Self::ON_BOTH | both)
    }
}

/// What an expression is, as far as can be told without running it.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What sort of thing.
    pub kind: Kind,
    /// For a tensor, or a holder of tensors: whether a graph hangs on it.
    pub graph: Graph,
    /// For a tensor: where it lives.
    pub device: Device,
    /// Further promises.
    pub flags: Flags,
    /// Which forward passes its graph comes from.
    pub sources: Sources,
    /// The class it is an instance of: a project's class, for modules and instances.
    pub class: Option<ClassId>,
    /// The external class or function that made it: `torch.nn.Linear`.
    pub maker: Option<Sym>,
    /// The expression that made it.
    pub made_at: TextRange,
    /// The block that expression is in.
    pub born: BlockId,
    /// Items of a tuple; the one element of other holders.
    pub parts: Option<Arc<[Value]>>,
}

impl Value {
    /// Nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self::of(Kind::Unknown)
    }

    /// A value of a kind, with nothing else known.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            graph: if kind == Kind::Unknown { Graph::Unknown } else { Graph::No },
            device: Device::Unknown,
            flags: Flags::default(),
            sources: Sources::default(),
            class: None,
            maker: None,
            made_at: TextRange::default(),
            born: BlockId::ELSEWHERE,
            parts: None,
        }
    }

    /// A tensor without a graph.
    #[must_use]
    pub fn data() -> Self {
        Self::of(Kind::Tensor)
    }

    /// A tensor of which nothing else is known.
    #[must_use]
    pub fn tensor() -> Self {
        Self { graph: Graph::Unknown, ..Self::of(Kind::Tensor) }
    }

    /// A holder of `element`.
    #[must_use]
    pub fn holder(kind: Kind, element: Value) -> Self {
        let (graph, sources, device) = (element.graph, element.sources, element.device);
        let graph = if element.kind == Kind::Unknown && graph == Graph::Unknown { Graph::Unknown } else { graph };
        Self { graph, sources, device, parts: Some(Arc::from([element])), ..Self::of(kind) }
    }

    /// A tuple of `parts`.
    #[must_use]
    pub fn tuple(parts: Vec<Value>) -> Self {
        let mut whole = Self::of(Kind::Tuple);
        for part in &parts {
            whole.graph = whole.graph.max(part.graph);
            whole.sources = whole.sources.with(part.sources);
        }
        whole.parts = Some(Arc::from(parts));
        whole
    }

    /// This, and beside it indices or codes: `values, indices = out.max(1)`.
    pub(super) fn with_indices(self, count: usize) -> Self {
        let indices = Self { device: self.device, ..Self::data() };
        let mut parts = vec![self];
        parts.resize(count + 1, indices);
        Self::tuple(parts)
    }

    pub(crate) fn flagged(mut self, flags: Flags) -> Self {
        self.flags = self.flags.with(flags);
        self
    }

    pub(crate) fn unflagged(mut self, flags: Flags) -> Self {
        self.flags = self.flags.without(flags);
        self
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flags: Flags) -> bool {
        self.flags.has(flags)
    }

    /// Whether it is a tensor.
    #[must_use]
    pub fn is_tensor(&self) -> bool {
        self.kind == Kind::Tensor
    }

    /// Whether it is a module.
    #[must_use]
    pub fn is_module(&self) -> bool {
        self.kind == Kind::Module
    }

    /// Whether it holds other values and can grow: a list, dict or set.
    #[must_use]
    pub fn is_growing_holder(&self) -> bool {
        matches!(self.kind, Kind::List | Kind::Dict | Kind::Set)
    }

    /// Whether it is a tensor that certainly or very likely keeps a graph alive.
    #[must_use]
    pub fn keeps_graph(&self) -> bool {
        self.kind == Kind::Tensor && self.graph >= Graph::Likely && !self.flags.has(Flags::LEAF)
    }

    /// The same, or a holder with such a tensor in it.
    #[must_use]
    pub fn holds_graph(&self) -> bool {
        self.keeps_graph() || self.parts.iter().any(|parts| parts.iter().any(Value::holds_graph))
    }

    /// The same, and more than a name says so.
    #[must_use]
    pub fn surely_holds_graph(&self) -> bool {
        self.keeps_graph() && !self.has(Flags::GUESSED)
            || self.parts.iter().any(|parts| parts.iter().any(Value::surely_holds_graph))
    }

    /// The one element of a holder, or what iterating it gives.
    #[must_use]
    pub fn element(&self) -> Value {
        match (&self.parts, self.kind) {
            (Some(parts), _) => parts.iter().cloned().reduce(|a, b| a.join(&b)).unwrap_or_else(Value::unknown),
            (None, Kind::Tensor) => self.clone().flagged(Flags::VIEW),
            (None, Kind::Array) => self.clone(),
            (None, Kind::Unknown) => Self { sources: self.sources, ..Value::unknown() },
            (None, Kind::Module) => self.part(),
            (None, Kind::Loader | Kind::Dataset) => Value::data().flagged(Flags::RAW.with(Flags::DATA)),
            _ => Value::unknown(),
        }
    }

    /// A part of a module, of which nothing is known but that it runs in the mode of the whole.
    #[must_use]
    pub fn part(&self) -> Value {
        let flags = Flags(self.flags.0 & Flags::EVAL.0);
        Self { graph: self.graph, flags, ..Self::of(Kind::Module) }
    }

    /// What holds on either of two paths.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if let (Some(a), Some(b)) = (self.plain_beside(other), other.plain_beside(self)) {
            let mut whole = a.join_same_kind(&b);
            // Only its name said that it is a tensor, and on another path it is a number.
            let by_name = |value: &Self| value.is_tensor() && value.has(Flags::GUESSED);
            if self.kind == Kind::Number && by_name(other) || other.kind == Kind::Number && by_name(self) {
                whole.graph = Graph::Unknown;
            }
            return whole;
        }
        let mut whole = Value::unknown();
        whole.graph = if self.graph == other.graph { self.graph } else { Graph::Unknown };
        whole.sources = self.sources.with(other.sources);
        whole
    }

    /// Itself, made to fit beside `other` in a join; `None` when the two have no common kind.
    fn plain_beside(&self, other: &Self) -> Option<Self> {
        let holder = |kind| matches!(kind, Kind::List | Kind::Dict | Kind::Set | Kind::Tuple | Kind::Ring);
        if self.kind == other.kind {
            return Some(self.clone());
        }
        match (self.kind, other.kind) {
            (Kind::None | Kind::Number, Kind::Tensor) => {
                let stand_in = Self { kind: Kind::Tensor, ..self.clone() };
                Some(stand_in.flagged(Flags::OR_NUMBER))
            }
            (Kind::None, _) => Some(Self { class: other.class, maker: other.maker, ..other.clone() }),
            (Kind::Tensor, Kind::None | Kind::Number) | (_, Kind::None) => Some(self.clone()),
            (a, b) if holder(a) && holder(b) => Some(Self { kind: Kind::Ring, ..self.clone() }),
            _ => None,
        }
    }

    fn join_same_kind(&self, other: &Self) -> Self {
        let (low, high) = if self.graph <= other.graph { (self, other) } else { (other, self) };
        let mut whole = high.clone();
        whole.flags = self.flags.join(other.flags);
        if high.graph > Graph::Unknown && low.graph == Graph::No && !low.flags.has(Flags::OR_NUMBER) {
            whole.flags = whole.flags.with(Flags::MIXED);
        }
        if self.device != other.device {
            whole.device = Device::Unknown;
        }
        whole.sources = self.sources.with(other.sources);
        whole.class = if self.class == other.class { self.class } else { None };
        whole.maker = if self.maker == other.maker { self.maker } else { None };
        // The inner of two births: a holder made anew in a loop does not outlive its turn on every path.
        whole.born = if self.born == BlockId::ELSEWHERE {
            other.born
        } else if other.born == BlockId::ELSEWHERE {
            self.born
        } else {
            self.born.max(other.born)
        };
        whole.parts = join_parts(self, other);
        whole
    }

    /// With no more than this said of its graph.
    pub(crate) fn at_most(&self, graph: Graph) -> Self {
        let mut value = self.clone();
        value.graph = value.graph.min(graph);
        value.parts = self.parts.as_ref().map(|parts| parts.iter().map(|part| part.at_most(graph)).collect());
        value
    }

    /// As other files see it: without names and places of this one.
    pub(crate) fn exported(&self) -> Self {
        let mut value = self.clone();
        value.born = BlockId::ELSEWHERE;
        value.made_at = TextRange::default();
        value.maker = None;
        if matches!(value.kind, Kind::External(_) | Kind::Made(_)) {
            value.kind = Kind::Unknown;
        }
        value.parts = self.parts.as_ref().map(|parts| parts.iter().map(Value::exported).collect());
        value
    }

    /// The same with the activations of its graph freed.
    pub(crate) fn freed(mut self) -> Self {
        self.flags = if self.is_tensor() { self.flags.with(Flags::FREED) } else { self.flags };
        self.parts = self.parts.map(|parts| parts.iter().cloned().map(Value::freed).collect());
        self
    }

    /// Whether the backward pass over its graph, or over that of all it holds, runs where it came from.
    #[must_use]
    pub fn is_freed_elsewhere(&self) -> bool {
        match &self.parts {
            Some(parts) => parts.iter().filter(|part| part.holds_graph()).all(Self::is_freed_elsewhere),
            None => self.has(Flags::FREED),
        }
    }

    /// As another function sees it: forward passes of this one mean nothing there.
    pub(crate) fn as_argument(&self) -> Self {
        let mut value = self.exported();
        value.sources = Sources::default();
        value.parts = value.parts.map(|parts| parts.iter().map(Value::as_argument).collect());
        value
    }
}

fn join_parts(a: &Value, b: &Value) -> Option<Arc<[Value]>> {
    match (&a.parts, &b.parts) {
        (Some(x), Some(y)) if Arc::ptr_eq(x, y) || y.is_empty() => Some(x.clone()),
        (Some(x), Some(y)) if x.is_empty() => Some(y.clone()),
        (Some(x), Some(y)) if x.len() == y.len() => Some(x.iter().zip(y.iter()).map(|(x, y)| x.join(y)).collect()),
        (Some(_), Some(_)) => Some(Arc::from([a.element().join(&b.element())])),
        (Some(x), None) | (None, Some(x)) => Some(x.clone()),
        (None, None) => None,
    }
}
