//! What was seen while the program ran: the material of all facts.

use std::collections::BTreeMap;

use crate::domain::{FuncRef, ObjId, Origins, Size, Sure, Tags};
use crate::ir::{Name, Span};

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    /// The file.
    pub file: u32,
    /// The expression or statement.
    pub span: Span,
}

/// What a loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LoopKind {
    /// `for` or `while`, by the number of the loop in its function.
    Written(FuncRef, usize),
    /// Calls of a function that nobody in sight calls: it may be called again and again.
    Calls(FuncRef),
    /// Uses of an object of a class: its methods may be called again and again.
    Uses(FuncRef),
    /// Forward passes that run a hook.
    Hook(FuncRef),
}

/// How often a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trip {
    /// A few times: a written tuple, a small constant, the layers of a module.
    Few,
    /// Not known.
    Unknown,
    /// Often: a large constant, epochs, `while True`.
    Many,
    /// Once a batch of a loader.
    Batches,
}

/// What is known of a loop.
#[derive(Debug, Clone)]
pub(crate) struct LoopFacts {
    /// Which it is.
    pub kind: LoopKind,
    /// How often it runs.
    pub trip: Trip,
    /// The name of what it runs over.
    pub over: Option<Name>,
    /// Sites whose graph is freed on every way around it.
    pub freed: Option<Vec<u32>>,
}

/// A forward pass of a module, outside any other.
#[derive(Debug, Clone)]
pub(crate) struct Forward {
    pub at: At,
    /// The module.
    pub module: ObjId,
    /// Its name as written.
    pub name: Option<Name>,
    /// Whether it is in evaluation mode.
    pub is_eval: Sure,
    /// Whether what it gives has a graph.
    pub graph: Sure,
    /// Whether something it was given has a graph or asks for gradients.
    pub is_input_recorded: bool,
    /// Where its graph begins.
    pub origins: Origins,
    /// The running loops, outermost first.
    pub loops: Vec<u32>,
    /// The calls that lead here: function and place of the call in it, outermost first.
    pub calls: Vec<(FuncRef, Span)>,
}

/// Something put into a container that lives longer than a round of a loop.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    pub at: At,
    /// The container.
    pub container: ObjId,
    pub graph: Sure,
    pub origins: Origins,
    /// Containers and sums it was read from.
    pub via: Tags,
    pub card: Sure,
    pub size: Size,
    /// Whether it is what a module gave.
    pub is_output: bool,
    /// The loops around which the container grows, outermost first.
    pub grows: Vec<u32>,
    /// Whether it replaces what was there under the same key.
    pub is_hook: bool,
    /// The functions running, outermost first.
    pub calls: Vec<(FuncRef, Span)>,
}

/// Something stored as an attribute of an object.
#[derive(Debug, Clone)]
pub(crate) struct AttrKeep {
    pub at: At,
    pub attr: Name,
    /// Whether the object is a module.
    pub is_module: bool,
    /// Whether a forward pass of that module is running.
    pub is_in_forward: bool,
    pub is_hook: bool,
    pub graph: Sure,
    pub origins: Origins,
    pub via: Tags,
    pub size: Size,
}

/// What joined a graph to one of an earlier round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainOp {
    /// `+`, `sum`, `torch.add`.
    Sum,
    /// `torch.cat`, `torch.stack`.
    Gather,
    /// A forward pass: state that is carried.
    Forward,
    /// Another operation.
    Other,
}

/// A graph that grows by a piece each round.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub at: At,
    /// The site that joins.
    pub site: u32,
    pub op: ChainOp,
    pub graph: Sure,
    pub origins: Origins,
    pub size: Size,
    /// The loops around which it is carried.
    pub carried: Vec<u32>,
    /// All running loops.
    pub loops: Vec<u32>,
    pub calls: Vec<(FuncRef, Span)>,
}

/// A backward pass.
#[derive(Debug, Clone)]
pub(crate) struct Backward {
    pub at: At,
    pub origins: Origins,
    /// Containers and sums that its root was read from.
    pub via: Tags,
    /// Whether the graph is kept: a constant, or not known.
    pub retain: Option<bool>,
    /// Whether gradients get a graph.
    pub create_graph: Option<bool>,
    /// Whether these are gradients by `torch.autograd.grad`.
    pub is_grad: bool,
    pub loops: Vec<u32>,
}

/// A `torch.load`.
#[derive(Debug, Clone)]
pub(crate) struct Loading {
    pub at: At,
    /// What it gave.
    pub object: ObjId,
    /// Whether it says where to load to.
    pub has_map_location: bool,
    /// Whether it loads to the card.
    pub card: Sure,
    /// Whether it is loaded into a module that is on the card.
    pub is_into_card: Sure,
    /// Whether it is loaded into a module at all.
    pub is_into_module: bool,
    /// Whether an object keeps it.
    pub is_kept: bool,
    /// Whether a variable still holds it while a long loop runs.
    pub stays: bool,
}

/// What is known of an object all over.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectFacts {
    /// Loops in which it is emptied or replaced.
    pub cleared_in: Vec<u32>,
    /// Whether it leaves what is in sight: returned to unknown callers, given to unknown functions.
    pub escapes: bool,
    /// Whether it is a global of a file or an attribute of a class.
    pub is_shared: bool,
    /// Whether an optimizer has its parameters.
    pub is_optimized: bool,
    /// Names of variables that hold it.
    pub names: Vec<Name>,
}

/// Everything seen.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub forwards: BTreeMap<(At, ObjId, Span), Forward>,
    pub keeps: BTreeMap<(At, ObjId), Keep>,
    pub attr_keeps: BTreeMap<(At, ObjId), AttrKeep>,
    pub chains: BTreeMap<At, Chain>,
    pub backwards: BTreeMap<At, Backward>,
    pub loadings: BTreeMap<At, Loading>,
    pub loops: Vec<LoopFacts>,
    pub objects: Vec<ObjectFacts>,
    /// Sites that a function not in sight may run a backward pass over.
    pub may_train: Vec<u32>,
    /// Sites whose values are returned to unknown callers.
    pub returned: Vec<u32>,
    /// Sites of calls that were not followed, proven to give a graph by a backward pass.
    pub proven: Vec<At>,
    /// Whether several processes run.
    pub is_distributed: bool,
}
