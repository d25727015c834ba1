//! Names that are bound nowhere.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::bindings::Bindings;
use crate::analysis::guesses;
use crate::analysis::value::Kind as Value;
use crate::facts::Facts;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use crate::python::{Expr, Stmt};
use crate::source::Kind;

/// What may be concluded of a name that is bound nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// Nothing: it may be bound unseen.
    None,
    /// The file is tied to no other: it may be an excerpt, which leaves out its model, its loader, its optimizer.
    ButActors,
    /// The line raises.
    Full,
}

struct Scope<'a> {
    names: FxHashSet<&'a str>,
    kind: ScopeKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Function,
    Class,
    Comprehension,
}

pub(super) struct Names<'f, 'a> {
    facts: &'f Facts<'a>,
    file: &'f Bindings,
    proof: Proof,
    /// What `from x import *` of the project's own modules brings.
    starred: FxHashSet<&'a str>,
    scopes: Vec<Scope<'a>>,
    /// The definition of the file's body that the walk is in.
    top: Option<&'a str>,
    /// What the body of the file may call, itself or through others.
    called: OnceCell<FxHashSet<&'a str>>,
}

impl<'f, 'a> Names<'f, 'a> {
    pub(super) fn of(facts: &'f Facts<'a>) -> Self {
        let outline = &facts.tables.outlines[facts.file as usize];
        let file = outline.bindings();
        let starred = facts.starred_names();
        let tied = facts.is_tied();
        // Cells that are no Python, and cells that are gone, bind names too.
        let is_open = facts.source.kind == Kind::Notebook || file.is_open;
        let proof = match &starred {
            Some(_) if !is_open && tied => Proof::Full,
            Some(_) if !is_open => Proof::ButActors,
            _ => Proof::None,
        };
        let starred = starred.unwrap_or_default();
        Self { facts, file, proof, starred, scopes: Vec::new(), top: None, called: OnceCell::new() }
    }

    pub(super) fn enter(&mut self, names: FxHashSet<&'a str>, name: &'a str) {
        self.push(names, ScopeKind::Function, name);
    }

    pub(super) fn enter_class(&mut self, names: FxHashSet<&'a str>, name: &'a str) {
        self.push(names, ScopeKind::Class, name);
    }

    pub(super) fn enter_comprehension(&mut self, names: FxHashSet<&'a str>) {
        self.scopes.push(Scope { names, kind: ScopeKind::Comprehension });
    }

    fn push(&mut self, names: FxHashSet<&'a str>, kind: ScopeKind, name: &'a str) {
        if self.scopes.is_empty() {
            self.top = Some(name);
        }
        self.scopes.push(Scope { names, kind });
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
        if self.scopes.is_empty() {
            self.top = None;
        }
    }

    /// Whether a read of a name raises, whenever it happens.
    pub(super) fn is_unbound(&self, name: &str) -> bool {
        if self.proof == Proof::None || self.is_bound(name) || is_builtin(name) {
            return false;
        }
        if self.proof == Proof::ButActors && (self.scopes.is_empty() || is_actor(name)) {
            return false;
        }
        !self.facts.is_put_into_module(name)
    }

    fn is_bound(&self, name: &str) -> bool {
        self.is_local(name)
            || self.file.names.contains(name)
            || self.starred.contains(name)
            || self.file.under_main.contains(name) && self.sees_main()
    }

    fn is_local(&self, name: &str) -> bool {
        let mut direct = true;
        self.scopes.iter().rev().any(|scope| {
            let visible = scope.kind != ScopeKind::Class || direct;
            direct &= scope.kind == ScopeKind::Comprehension;
            visible && scope.names.contains(name)
        })
    }

    /// Whether the code here may run in a process that ran what is under `if __name__ == "__main__":`.
    fn sees_main(&self) -> bool {
        let body = self.facts.source.body();
        let called = || self.called.get_or_init(|| mentioned_from(body, body));
        self.top.is_none_or(|top| called().contains(top))
    }

    /// Whether a name is what the body of the file binds it to.
    pub(super) fn is_of_file(&self, name: &str) -> bool {
        !self.is_local(name)
    }

    /// Whether a name is what Python itself binds it to.
    pub(super) fn is_builtin(&self, name: &str) -> bool {
        !self.is_local(name) && !self.file.names.contains(name) && !self.starred.contains(name)
    }
}

/// What an excerpt of a program leaves out: things every training has.
fn is_actor(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    guesses::guess(name, crate::analysis::outline::Usage::CALLED).kind != Value::Unknown
        || [
            "model",
            "net",
            "loader",
            "data",
            "optim",
            "crit",
            "loss",
            "device",
            "sched",
            "scaler",
            "arg",
            "cfg",
            "config",
            "epoch",
            "batch",
            "input",
            "target",
            "label",
            "tokenizer",
            "teacher",
            "student",
            "path",
            "step",
        ]
        .iter()
        .any(|word| lower.contains(word))
        || matches!(lower.as_str(), "x" | "y" | "n" | "lr" | "g" | "d" | "torch" | "nn" | "f" | "np" | "os" | "optim")
}

/// Whether a name is a blank in an exercise: `with torch.____:`.
pub(super) fn is_blank(name: &str) -> bool {
    name.len() > 2 && name.bytes().all(|byte| byte == b'_')
}

/// The names that statements of a file's body mention, themselves or through definitions of the body they mention.
pub(super) fn mentioned_from<'a>(body: &'a [Stmt], from: &'a [Stmt]) -> FxHashSet<&'a str> {
    let mut mentions = Mentions { names: FxHashSet::default(), new: Vec::new() };
    for stmt in from {
        match stmt {
            Stmt::FunctionDef(node) => mentions.all(node.decorator_list.iter().map(|found| &found.expression)),
            Stmt::ClassDef(node) => mentions.all(node.decorator_list.iter().map(|found| &found.expression)),
            _ => mentions.visit_stmt(stmt),
        }
    }
    let mut by_name: FxHashMap<&str, Vec<&Stmt>> = FxHashMap::default();
    for stmt in body {
        let name = match stmt {
            Stmt::FunctionDef(node) => node.name.as_str(),
            Stmt::ClassDef(node) => node.name.as_str(),
            _ => continue,
        };
        by_name.entry(name).or_default().push(stmt);
    }
    while let Some(name) = mentions.new.pop() {
        for stmt in by_name.get(name).into_iter().flatten() {
            mentions.visit_stmt(stmt);
        }
    }
    mentions.names
}

struct Mentions<'a> {
    names: FxHashSet<&'a str>,
    new: Vec<&'a str>,
}

impl<'a> Mentions<'a> {
    fn all(&mut self, exprs: impl Iterator<Item = &'a Expr>) {
        for expr in exprs {
            self.visit_expr(expr);
        }
    }

    fn add(&mut self, name: &'a str) {
        if self.names.insert(name) {
            self.new.push(name);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Mentions<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) => self.add(node.id.as_str()),
            Expr::Attribute(node) => self.add(node.attr.as_str()),
            Expr::StringLiteral(node) => self.add(node.value.to_str()),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Whether Python, or what usually runs a file, binds a name: `print`, `__file__`, the `profile` of a line profiler.
fn is_builtin(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__") || BUILTINS.split_ascii_whitespace().any(|known| known == name)
}

const BUILTINS: &str = "
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex
    copyright credits delattr dict dir display divmod enumerate eval exec exit filter float format frozenset
    get_ipython getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals
    map max memoryview min next object oct open ord pow print profile property quit range repr reveal_locals
    reveal_type reversed round set setattr slice sorted spark staticmethod str sum super tuple type vars zip dbutils
    True False None Ellipsis NotImplemented _ unicode_literals
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError EncodingWarning EnvironmentError Exception ExceptionGroup
    FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
    IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
    UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning WindowsError ZeroDivisionError
";
