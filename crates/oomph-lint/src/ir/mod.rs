//! Every function lowered once to a small intermediate representation: a graph of blocks of plain instructions, each with
//! its place in the source. `with`, comprehensions, `match`, `try`, decorators, lambdas and class bodies end here.

mod exprs;
mod lower;
mod patterns;
mod scopes;
mod stmts;

use std::sync::Arc;

pub(crate) use crate::syntax::Span;
pub(crate) use lower::lower;

/// A name of the program.
pub(crate) type Name = Arc<str>;
/// A value that one instruction makes.
pub(crate) type Reg = u32;
/// A block of a function.
pub(crate) type BlockId = u32;

/// All that one file defines; function 0 is the file's own body.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Functions, lambdas, class bodies and the module's body.
    pub(crate) functions: Vec<Function>,
}

/// What a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// The file's own statements.
    Module,
    /// `def`.
    Def,
    /// `lambda`.
    Lambda,
    /// The statements of a class.
    ClassBody,
}

/// How a parameter takes its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamKind {
    /// By place or name.
    Plain,
    /// By name only.
    KeywordOnly,
    /// `*args`.
    Rest,
    /// `**kwargs`.
    Keywords,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: Name,
    /// Where it is stored.
    pub(crate) var: Var,
    /// How it is given.
    pub(crate) kind: ParamKind,
    /// The last word of its annotation, as in `torch.Tensor`.
    pub(crate) annotation: Option<Name>,
    /// Which of the defaults given to `Op::Closure` is its own.
    pub(crate) default: Option<usize>,
}

/// A function, lowered.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name; `<module>`, `<lambda>` or a class's name otherwise.
    pub(crate) name: Name,
    /// What it is.
    pub(crate) kind: FunctionKind,
    /// Whether it stands in a class body.
    pub(crate) is_method: bool,
    /// Names of its decorators, as written, without arguments.
    pub(crate) decorators: Vec<Name>,
    /// What it takes.
    pub(crate) params: Vec<Param>,
    /// Its local variables.
    pub(crate) locals: Vec<Name>,
    /// Whether functions inside it read its variables.
    pub(crate) has_cells: bool,
    /// Whether it yields.
    pub(crate) is_generator: bool,
    /// Its blocks; block 0 is the entry.
    pub(crate) blocks: Vec<Block>,
    /// How many registers it uses.
    pub(crate) regs: u32,
    /// The function or class body around it.
    pub(crate) parent: Option<usize>,
}

/// A straight run of instructions.
#[derive(Debug)]
pub(crate) struct Block {
    /// In order.
    pub(crate) insts: Vec<Inst>,
    /// What comes after.
    pub(crate) term: Term,
    /// Where an exception goes; out of the function if nowhere.
    pub(crate) handler: Option<BlockId>,
    /// How many `with` blocks are open at its start.
    pub(crate) with_depth: u32,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Term {
    /// On to another block.
    Goto(BlockId),
    /// By a truth value.
    Branch { cond: Reg, yes: BlockId, no: BlockId },
    /// One more round of a `for` loop, or its end.
    For { iter: Reg, item: Reg, body: BlockId, exit: BlockId },
    /// Out of the function.
    Return(Reg),
    /// Out by an exception.
    Raise,
}

/// An instruction with its place.
#[derive(Debug)]
pub(crate) struct Inst {
    /// The register it sets.
    pub(crate) dst: Reg,
    /// What it does.
    pub(crate) op: Op,
    /// The expression or statement it comes from.
    pub(crate) span: Span,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Var {
    /// Of this call alone.
    Local(u32),
    /// Of the function that is so many functions around this one; shared with those inside it.
    Cell(u32, Name),
    /// Of the file.
    Global(Name),
    /// Of the class whose body this is, else of the file.
    ClassAttr(Name),
}

/// A constant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Const {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A small integer.
    Int(i64),
    /// A float or a number beyond.
    Number,
    /// A string.
    Str(Name),
    /// A string that is put together, bytes, `...`.
    Other,
}

/// What is built by brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// `[...]`.
    List,
    /// `(...)`.
    Tuple,
    /// `{...}` without values.
    Set,
}

/// How an argument is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgKind {
    /// By place.
    Plain,
    /// `*values`.
    Spread,
    /// `name=value`.
    Named(Name),
    /// `**values`.
    SpreadNamed,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arg {
    /// How.
    pub(crate) kind: ArgKind,
    /// What.
    pub(crate) value: Reg,
}

/// Families of operators that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `+`: joins lists too.
    Add,
    /// Other arithmetic.
    Arithmetic,
    /// Comparisons, `not`, `in`: their results have no graph.
    Compare,
}

/// What an instruction does.
#[derive(Debug)]
pub(crate) enum Op {
    /// A constant.
    Const(Const),
    /// Reads a variable.
    Load(Var),
    /// Sets a variable.
    Store(Var, Reg),
    /// Forgets a variable.
    Forget(Var),
    /// `value.name`.
    Attr(Reg, Name),
    /// `value.name = new`.
    SetAttr(Reg, Name, Reg),
    /// `del value.name`.
    DelAttr(Reg, Name),
    /// `value[index]`.
    Index(Reg, Reg),
    /// `value[index] = new`.
    SetIndex(Reg, Reg, Reg),
    /// `del value[index]`.
    DelIndex(Reg, Reg),
    /// One part of what is unpacked: which, of how many; the starred part is `None`.
    Part { value: Reg, at: Option<usize>, of: usize },
    /// A call.
    Call { func: Reg, args: Vec<Arg> },
    /// Brackets; true marks `*spread` parts.
    Build(Brackets, Vec<(Reg, bool)>),
    /// A dictionary; no key marks `**spread`.
    BuildDict(Vec<(Option<Reg>, Reg)>),
    /// Adds an element to what a comprehension builds.
    Collect { target: Reg, key: Option<Reg>, value: Reg },
    /// `left op right`; in place for `op=`.
    Binary { op: Operator, left: Reg, right: Reg, in_place: bool },
    /// The iterator of a value.
    Iter(Reg),
    /// A function of this file; its defaults.
    Closure { function: usize, defaults: Vec<Reg> },
    /// Runs a class body of this file and gives the class.
    Class { body: usize, bases: Vec<Reg> },
    /// `import module`, the whole path or its first word.
    Import(Name),
    /// `from module import name`; the number of leading dots.
    ImportFrom { module: Name, name: Name, level: u32 },
    /// Enters `with value`; gives what `as` names.
    Enter(Reg),
    /// Leaves the innermost `with`.
    Exit,
    /// `yield value`; gives what is sent in.
    Yield(Reg),
    /// Both values, one of which it is.
    Join(Vec<Reg>),
    /// The exception that a handler takes.
    Caught,
    /// Narrows a variable: what an `isinstance` or a comparison with `None` says on this branch.
    Assume { var: Var, test: Test, holds: bool },
    /// Something not followed further, such as nesting beyond the limit.
    Unknown,
}

/// What a condition says of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// It is a tensor, by `isinstance` or `torch.is_tensor`.
    IsTensor,
    /// It is a container of Python's, by `isinstance`.
    IsContainer,
    /// It is `None`.
    IsNone,
    /// It is true.
    IsTrue,
}

impl Op {
    /// Tells every register it reads.
    pub(crate) fn reads(&self, read: &mut impl FnMut(Reg)) {
        match self {
            Op::Const(_) | Op::Load(_) | Op::Forget(_) | Op::Import(_) | Op::ImportFrom { .. } => {}
            Op::Exit | Op::Caught | Op::Assume { .. } | Op::Unknown => {}
            Op::Store(_, value) | Op::Attr(value, _) | Op::DelAttr(value, _) | Op::Part { value, .. } => read(*value),
            Op::Iter(value) | Op::Enter(value) | Op::Yield(value) => read(*value),
            Op::SetAttr(a, _, b) | Op::Index(a, b) | Op::DelIndex(a, b) | Op::Binary { left: a, right: b, .. } => {
                read(*a);
                read(*b);
            }
            Op::SetIndex(a, b, c) => [a, b, c].into_iter().for_each(|reg| read(*reg)),
            Op::Call { func, args } => {
                read(*func);
                args.iter().for_each(|arg| read(arg.value));
            }
            Op::Build(_, parts) => parts.iter().for_each(|(reg, _)| read(*reg)),
            Op::BuildDict(items) => items.iter().for_each(|(key, value)| {
                key.iter().for_each(|key| read(*key));
                read(*value);
            }),
            Op::Collect { target, key, value } => {
                read(*target);
                key.iter().for_each(|key| read(*key));
                read(*value);
            }
            Op::Closure { defaults: regs, .. } | Op::Class { bases: regs, .. } | Op::Join(regs) => {
                regs.iter().for_each(|reg| read(*reg));
            }
        }
    }
}

impl Term {
    /// Tells every register it reads.
    pub(crate) fn reads(&self, read: &mut impl FnMut(Reg)) {
        match self {
            Term::Branch { cond, .. } => read(*cond),
            Term::For { iter, item, .. } => {
                read(*iter);
                read(*item);
            }
            Term::Return(value) => read(*value),
            Term::Goto(_) | Term::Raise => {}
        }
    }
}
