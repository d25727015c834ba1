//! What happens in a file, in the order it would run: the lists that rules query.

use super::names::Sym;
use super::value::{BlockId, FunctionId, Kind, Sources, Value};
use crate::python::ast::{ExceptHandlerExceptHandler, ExprCall, StmtClassDef, StmtFunctionDef, StmtWith};
use crate::python::{Expr, Ranged, Stmt, TextRange};

/// Whether operations are recorded for backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GradMode {
    /// They are.
    On,
    /// `no_grad`, or a framework that evaluates under it.
    NoGrad,
    /// `inference_mode`.
    Inference,
    /// It depends: `set_grad_enabled(phase == "train")`, or callers of both kinds.
    Depends,
}

impl GradMode {
    /// Whether nothing is recorded, for certain.
    #[must_use]
    pub fn is_off(self) -> bool {
        matches!(self, Self::NoGrad | Self::Inference)
    }
}

/// What a loop goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// Batches of a data loader.
    Loader,
    /// Epochs, folds, runs: `for epoch in range(...)`.
    Epochs,
    /// Training steps: `for step in range(...)`, `while step < ...`.
    Steps,
    /// Parameters or layers of a module.
    Parameters,
    /// Chunks of something that is there as a whole: `range(0, len(texts), 32)`.
    Chunks,
    /// Some other `range`: time steps, layers.
    Range,
    /// Items of something else.
    Items,
    /// `while True`.
    Forever,
    /// Another `while`.
    While,
}

/// What a block of code is.
#[derive(Debug, Clone, Copy)]
pub enum BlockKind<'a> {
    /// The file itself.
    Module,
    /// The body of a function or method.
    Function(&'a StmtFunctionDef),
    /// The body of a class.
    Class(&'a StmtClassDef),
    /// The body of a `lambda`.
    Lambda,
    /// The body of a `for` or `while`.
    Loop(LoopKind, &'a Stmt),
    /// The `else` of a loop.
    LoopElse,
    /// The inside of a comprehension, over something of this kind.
    Comprehension(LoopKind, &'a Expr),
    /// A branch of an `if`, or one arm of a conditional expression; the test, where it has one.
    If(Option<&'a Expr>),
    /// The `else` of the `if` with this test.
    Else(&'a Expr),
    /// `if __name__ == "__main__"`.
    Main,
    /// The body of a `with`.
    With(&'a StmtWith),
    /// The body of a `try`.
    Try,
    /// An `except`.
    Handler(&'a ExceptHandlerExceptHandler),
    /// A `finally`.
    Finally,
    /// A `case`.
    Case,
}

impl BlockKind<'_> {
    /// Whether the block runs whenever its parent does (a loop may run zero times, but seldom does).
    #[must_use]
    pub fn is_unconditional(&self) -> bool {
        matches!(
            self,
            Self::Module
                | Self::Main
                | Self::With(_)
                | Self::Try
                | Self::Finally
                | Self::Loop(..)
                | Self::Comprehension(..)
        )
    }

    /// The kind of loop it is, if it is one.
    #[must_use]
    pub fn loop_kind(&self) -> Option<LoopKind> {
        match self {
            Self::Loop(kind, _) | Self::Comprehension(kind, _) => Some(*kind),
            _ => None,
        }
    }
}

/// A block of code.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The block around it; the module's is itself.
    pub parent: BlockId,
    /// What it is.
    pub kind: BlockKind<'a>,
    /// Its text, with its head.
    pub range: TextRange,
    /// The function it is in: an index into the outline's functions.
    pub function: Option<u32>,
}

/// A statement's index in the order of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

/// A statement and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The statement.
    pub node: &'a Stmt,
    /// The block it is in.
    pub block: BlockId,
    /// The statements it stands among.
    pub suite: &'a [Stmt],
    /// Its place in `suite`.
    pub index: usize,
}

/// A point of the program.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Counts up in the order things would run, within one function.
    pub order: u32,
    /// The block it is in.
    pub block: BlockId,
    /// The statement it is in.
    pub stmt: StmtId,
    /// Whether operations are recorded here.
    pub grad: GradMode,
    /// The function it is in: an index into the outline's functions.
    pub function: Option<u32>,
    /// Forward passes whose graph a `backward` has freed on every path to here.
    pub freed: Sources,
    /// The same on some path.
    pub maybe_freed: Sources,
}

/// What a call calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// Something importable: `torch.cuda.empty_cache`.
    External(Sym),
    /// A function or method of the project.
    Project(FunctionId),
    /// A module: a forward pass.
    Module,
    /// A method of something else, or nothing that could be told.
    Other,
}

/// A call.
#[derive(Debug)]
pub struct Call<'a> {
    /// The expression.
    pub node: &'a ExprCall,
    /// What is called.
    pub callee: Callee,
    /// The last part of what is called: `step` for `self.opt.step()` and for `step()`.
    pub name: &'a str,
    /// For `x.f(...)`: what `x` is.
    pub receiver: Option<Value>,
    /// What the positional arguments are.
    pub args: Vec<Value>,
    /// What the keyword arguments are, in the order of the call.
    pub keywords: Vec<Value>,
    /// What comes back.
    pub result: Value,
    /// For a forward pass under grad: the source its graph is known by.
    pub site: Sources,
    /// For a forward pass, or a call of what runs some: whether all modules that run are in evaluation mode.
    pub evaluates: bool,
    /// Where.
    pub at: At,
}

impl<'a> Call<'a> {
    /// What runs in a forward pass: what is called, or the module that a library's function runs over windows.
    #[must_use]
    pub fn runs(&self) -> &'a Expr {
        let windows = self.name == "sliding_window_inference";
        let predictor = || self.keyword("predictor").or_else(|| self.arg(3));
        if windows { predictor().unwrap_or(&self.node.func) } else { &self.node.func }
    }

    /// The expression before the dot of a method call.
    #[must_use]
    pub fn receiver_expr(&self) -> Option<&'a Expr> {
        match &*self.node.func {
            Expr::Attribute(attribute) => Some(&attribute.value),
            _ => None,
        }
    }

    /// Whether it is `x.name(...)` for some value `x`, not a function of a library.
    #[must_use]
    pub fn is_method(&self, name: &str) -> bool {
        self.name == name && self.receiver.as_ref().is_some_and(|value| !matches!(value.kind, Kind::External(_)))
    }

    /// The expression of a keyword argument.
    #[must_use]
    pub fn keyword(&self, name: &str) -> Option<&'a Expr> {
        let keywords = &self.node.arguments.keywords;
        keywords.iter().find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name)).map(|k| &k.value)
    }

    /// Whether a keyword argument is the literal `True` (or `False`).
    #[must_use]
    pub fn keyword_is(&self, name: &str, expected: bool) -> bool {
        matches!(self.keyword(name), Some(Expr::BooleanLiteral(literal)) if literal.value == expected)
    }

    /// What a keyword argument is.
    #[must_use]
    pub fn keyword_value(&self, name: &str) -> Option<&Value> {
        let keywords = &self.node.arguments.keywords;
        let index = keywords.iter().position(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name))?;
        self.keywords.get(index)
    }

    /// The expression of a positional argument.
    #[must_use]
    pub fn arg(&self, index: usize) -> Option<&'a Expr> {
        self.node.arguments.args.get(index)
    }

    /// Whether `**kwargs` or `*args` hide what is passed.
    #[must_use]
    pub fn has_star(&self) -> bool {
        self.node.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
            || self.node.arguments.args.iter().any(Expr::is_starred_expr)
    }

    /// All argument values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.args.iter().chain(&self.keywords)
    }
}

impl Ranged for Call<'_> {
    fn range(&self) -> TextRange {
        self.node.range()
    }
}

/// How a value comes to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// `x += v`, and other operators in place.
    AugAssign,
    /// `x = x + v`, `x = x * 0.9 + v`: a name bound to something made from itself.
    Rebind,
    /// `x.append(v)`, `add`, `insert`, `appendleft`, `put`.
    Append,
    /// `x.extend(v)`, `x.update(v)`, `x += [v]`.
    Extend,
    /// `[v for ...]`, `{k: v for ...}`: a holder made whole, one item a turn.
    Collect,
    /// `x[k] = v`.
    Item,
    /// `x.a = v`.
    Attribute,
    /// `x = v` for a name declared `global` or `nonlocal`.
    Global,
}

/// Where the holder of a store lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root<'a> {
    /// A name of the function.
    Local(&'a str),
    /// A name of the module or of a function around.
    Outer(&'a str),
    /// An attribute of `self`.
    SelfAttribute(&'a str),
    /// Something else.
    Other,
}

/// A value that is kept in something: a sum, a list, a dict, an attribute.
#[derive(Debug)]
pub struct Store<'a> {
    /// How.
    pub kind: StoreKind,
    /// The statement's or call's text.
    pub range: TextRange,
    /// What it is kept in: `outs` of `outs.append(v)`, `x` of `x += v`, `x.a` of `x.a = v`.
    pub target: &'a Expr,
    /// Where that lives.
    pub root: Root<'a>,
    /// What the target was before.
    pub holder: Value,
    /// What is kept.
    pub value: Value,
    /// The expression of what is kept.
    pub value_expr: &'a Expr,
    /// The project's function that does the keeping, when a call here makes it do so.
    pub via: Option<FunctionId>,
    /// Where.
    pub at: At,
}

impl Ranged for Store<'_> {
    fn range(&self) -> TextRange {
        self.range
    }
}

/// A name bound to a value.
#[derive(Debug)]
pub struct Bind<'a> {
    /// The name, or the attribute: `model`, or `model` of `self.model`.
    pub name: &'a str,
    /// The target.
    pub target: &'a Expr,
    /// What it is bound to.
    pub value: Value,
    /// The right-hand side, when there is one for this target alone.
    pub value_expr: Option<&'a Expr>,
    /// For `x.a = v`: what `x` is.
    pub owner: Option<Value>,
    /// Where.
    pub at: At,
}

/// A `return` or `yield` of something.
#[derive(Debug)]
pub struct Return<'a> {
    /// The expression.
    pub expr: &'a Expr,
    /// What it is.
    pub value: Value,
    /// Whether it is a `yield`.
    pub is_yield: bool,
    /// Where.
    pub at: At,
}

/// A bare expression that is no call: `model.eval`, `p.requires_grad == False`.
#[derive(Debug)]
pub struct Bare<'a> {
    /// The expression.
    pub expr: &'a Expr,
    /// What it is.
    pub value: Value,
    /// For `x.f`: what `x` is.
    pub receiver: Option<Value>,
    /// Where.
    pub at: At,
}

/// A `del` of something.
#[derive(Debug)]
pub struct Delete<'a> {
    /// What is deleted.
    pub target: &'a Expr,
    /// What it was.
    pub value: Value,
    /// Whether a `del` says so; a local of a function ends without one.
    pub is_written: bool,
    /// Where.
    pub at: At,
}

/// One item of a `with`.
#[derive(Debug)]
pub struct WithItem<'a> {
    /// The context manager's expression.
    pub expr: &'a Expr,
    /// What it is.
    pub value: Value,
    /// The `with`.
    pub node: &'a StmtWith,
    /// Its body.
    pub body: BlockId,
    /// Where.
    pub at: At,
}

/// A decorator.
#[derive(Debug)]
pub struct Decorator<'a> {
    /// The expression after the `@`.
    pub expr: &'a Expr,
    /// The full name of what decorates, call or not.
    pub name: Option<Sym>,
    /// The function decorated: an index into the outline's functions.
    pub function: u32,
}

/// A forward pass or another call that makes a graph.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// The function it is in.
    pub function: Option<u32>,
    /// Which source of that function it is.
    pub source: Sources,
    /// The call.
    pub range: TextRange,
}

/// Everything that happens in a file.
#[derive(Debug, Default)]
pub struct Log<'a> {
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) statements: Vec<Statement<'a>>,
    pub(crate) calls: Vec<Call<'a>>,
    pub(crate) stores: Vec<Store<'a>>,
    pub(crate) binds: Vec<Bind<'a>>,
    pub(crate) returns: Vec<Return<'a>>,
    pub(crate) bares: Vec<Bare<'a>>,
    pub(crate) deletes: Vec<Delete<'a>>,
    pub(crate) withs: Vec<WithItem<'a>>,
    pub(crate) decorators: Vec<Decorator<'a>>,
    pub(crate) sites: Vec<Site>,
}
