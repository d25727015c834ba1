//! Where a name is read and what stands around an expression: questions about text that no event answers.

use crate::analysis::events::{At, Bind, Call};
use crate::analysis::value::{Flags, Kind, Value};
use crate::facts::{Effect, Facts};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use crate::python::ast::{BoolOp, ExprAttribute, ExprName, Number};
use crate::python::{Expr, Ranged, Stmt, TextRange};

/// A place where a name is read.
#[derive(Debug)]
pub struct Use<'a> {
    /// The name.
    pub name: &'a ExprName,
    /// The statement it is in, the innermost.
    pub stmt: &'a Stmt,
    /// The expressions around it within that statement, innermost first.
    pub around: Vec<&'a Expr>,
}

impl<'a> Use<'a> {
    /// The call whose arguments the name is somewhere in: `f` of `g(f(name["x"]))`.
    pub fn calls(&self) -> impl Iterator<Item = &'a crate::python::ExprCall> {
        let read = self.name.range();
        self.around.iter().filter_map(move |expr| match expr {
            Expr::Call(call) if call.arguments.range().contains_range(read) => Some(call),
            _ => None,
        })
    }
}

struct Finder<'a, 'n> {
    name: Option<&'n str>,
    target: TextRange,
    stmts: Vec<&'a Stmt>,
    exprs: Vec<&'a Expr>,
    found: Vec<Use<'a>>,
    around: Vec<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let outer = std::mem::take(&mut self.exprs);
        self.stmts.push(stmt);
        walk_stmt(self, stmt);
        self.stmts.pop();
        self.exprs = outer;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let (Some(wanted), Expr::Name(name), Some(stmt)) = (self.name, expr, self.stmts.last())
            && name.id.as_str() == wanted
            && name.ctx.is_load()
        {
            let around = self.exprs.iter().rev().copied().collect();
            self.found.push(Use { name, stmt, around });
        }
        if self.name.is_none() && expr.range() == self.target && self.around.is_empty() {
            self.around = self.exprs.iter().rev().copied().collect();
        }
        self.exprs.push(expr);
        walk_expr(self, expr);
        self.exprs.pop();
    }
}

/// Every read of a name within statements, in the order of the text.
#[must_use]
pub fn uses_in<'a>(body: &'a [Stmt], name: &str) -> Vec<Use<'a>> {
    let finder = Finder {
        name: Some(name),
        target: TextRange::default(),
        stmts: Vec::new(),
        exprs: Vec::new(),
        found: Vec::new(),
        around: Vec::new(),
    };
    let mut finder = finder;
    for stmt in body {
        finder.visit_stmt(stmt);
    }
    finder.found
}

/// Every read of a name, or of an attribute of that name, with the expressions around it, innermost first.
#[must_use]
pub fn reads_of<'a>(body: &'a [Stmt], name: &str) -> Vec<(TextRange, Vec<&'a Expr>)> {
    struct Reads<'a, 'n> {
        name: &'n str,
        exprs: Vec<&'a Expr>,
        found: Vec<(TextRange, Vec<&'a Expr>)>,
    }
    impl<'a> SourceOrderVisitor<'a> for Reads<'a, '_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let read = match expr {
                Expr::Name(node) => node.ctx.is_load(),
                Expr::Attribute(node) => node.ctx.is_load(),
                _ => false,
            };
            if read && last_name(expr) == Some(self.name) {
                self.found.push((expr.range(), self.exprs.iter().rev().copied().collect()));
            }
            self.exprs.push(expr);
            walk_expr(self, expr);
            self.exprs.pop();
        }
    }
    let mut reads = Reads { name, exprs: Vec::new(), found: Vec::new() };
    for stmt in body {
        reads.visit_stmt(stmt);
    }
    reads.found
}

/// Names bound to parts of what a name holds: `state` of `state = checkpoint["model"]`.
#[must_use]
pub fn parts_of<'a>(body: &'a [Stmt], name: &str) -> Vec<&'a str> {
    let uses = uses_in(body, name);
    let parts = uses.iter().filter_map(|found| match found.stmt {
        Stmt::Assign(assign) => match (assign.targets.as_slice(), found.around.last()) {
            ([Expr::Name(part)], Some(Expr::Subscript(_) | Expr::Call(_) | Expr::DictComp(_)))
                if part.id.as_str() != name =>
            {
                Some(part.id.as_str())
            }
            _ => None,
        },
        _ => None,
    });
    parts.collect()
}

/// The expressions around an expression within its statement, innermost first.
#[must_use]
pub fn expressions_around(stmt: &Stmt, inner: TextRange) -> Vec<&Expr> {
    let mut finder = Finder {
        name: None,
        target: inner,
        stmts: Vec::new(),
        exprs: Vec::new(),
        found: Vec::new(),
        around: Vec::new(),
    };
    finder.visit_stmt(stmt);
    finder.around
}

/// The whole number that is written out as one: `64`.
#[must_use]
pub fn whole_literal(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(node) => match &node.value {
            Number::Int(int) => int.as_u64(),
            Number::Float(_) | Number::Complex { .. } => None,
        },
        _ => None,
    }
}

/// The whole number an expression is: `1_000_000`, `10**6`, `1e6`, `64 * 1024`.
#[must_use]
pub fn whole_number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(node) => match &node.value {
            Number::Float(float) => exact(*float),
            Number::Int(_) | Number::Complex { .. } => whole_literal(expr),
        },
        Expr::BinOp(node) => {
            let (left, right) = (whole_number(&node.left)?, whole_number(&node.right)?);
            match node.op {
                crate::python::ast::Operator::Mult => left.checked_mul(right),
                crate::python::ast::Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
                crate::python::ast::Operator::Add => left.checked_add(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A float as the whole number it is.
fn exact(float: f64) -> Option<u64> {
    let whole = float.fract() == 0.0 && (0.0..9e15).contains(&float);
    #[expect(clippy::cast_sign_loss, reason = "checked to be between zero and 2^53")]
    whole.then_some(float as u64)
}

/// Whether an expression is the whole number `number`, with or without a minus.
#[must_use]
pub fn is_number(expr: &Expr, number: i64) -> bool {
    match expr {
        Expr::UnaryOp(node) if node.op.is_u_sub() => number < 0 && is_number(&node.operand, -number),
        _ => u64::try_from(number).is_ok_and(|number| whole_number(expr) == Some(number)),
    }
}

/// The text of a string literal.
#[must_use]
pub fn string_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(node) => Some(node.value.to_str()),
        _ => None,
    }
}

/// The last name of a dotted expression: `attn` of `self.attn`.
#[must_use]
pub fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(node) => Some(node.id.as_str()),
        Expr::Attribute(node) => Some(node.attr.as_str()),
        _ => None,
    }
}

impl<'a> Facts<'a> {
    /// The text of something.
    #[must_use]
    pub fn written(&self, node: &impl Ranged) -> &str {
        self.source.slice(node.range())
    }

    /// The statements of the function a point is in, or of the file.
    #[must_use]
    pub fn body_around(&self, at: &At) -> &'a [Stmt] {
        self.function(at).map_or_else(|| self.source.body(), |function| &function.node.body)
    }

    /// The expressions around a call within its statement, innermost first.
    #[must_use]
    pub fn around(&self, call: &Call<'a>) -> Vec<&'a Expr> {
        self.statement(call.at.stmt).map_or_else(Vec::new, |found| expressions_around(found.node, call.node.range()))
    }

    /// The one name a call's result is bound to, when the call is all of the right-hand side.
    #[must_use]
    pub fn bound_name(&self, call: &Call<'a>) -> Option<&'a str> {
        match self.statement(call.at.stmt)?.node {
            Stmt::Assign(assign) if assign.value.range() == call.node.range() => match assign.targets.as_slice() {
                [Expr::Name(name)] => Some(name.id.as_str()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an expression names a GPU: `"cuda:0"`, `torch.device("cuda")`, or a name this file gives such a value,
    /// if only where one is available.
    #[must_use]
    pub fn is_gpu(&self, device: &Expr) -> bool {
        let names_gpu = |expr: &Expr| {
            let text = self.written(chosen(expr));
            text.contains("cuda") && !text.contains(".parameters(") || text.contains("get_device(")
        };
        match device {
            Expr::StringLiteral(node) => node.value.to_str().starts_with("cuda"),
            Expr::Name(_) | Expr::Attribute(_) => last_name(device).is_some_and(|name| {
                let bound = self.binds_of(name).filter(|bind| !self.is_overwritten(bind));
                let bound = bound.filter_map(|bind| bind.value_expr).chain(self.defaults_of(name));
                bound.chain(self.arguments_for(name, None)).any(names_gpu)
            }),
            _ => names_gpu(device),
        }
    }

    /// Whether a name is bound again right after, with nothing that reads it between: `device = "cpu"  # for now`.
    fn is_overwritten(&self, bind: &Bind<'a>) -> bool {
        let Some(statement) = self.statement(bind.at.stmt) else { return false };
        let text = self.written(bind.target);
        for stmt in statement.suite.iter().skip(statement.index + 1).take(3) {
            if let Stmt::Assign(assign) = stmt
                && matches!(assign.targets.as_slice(), [target] if self.written(target) == text)
            {
                return !self.mentions_word(assign.value.range(), bind.name);
            }
            if self.mentions_word(stmt.range(), bind.name) {
                return false;
            }
        }
        false
    }

    /// Whether a call moves its receiver to a GPU: `x.cuda()`, `x.to("cuda")`, `x.to(device)` where that is one.
    #[must_use]
    pub fn moves_to_gpu(&self, call: &Call<'a>) -> bool {
        if call.receiver.is_none() || matches!(call.receiver.as_ref().map(|value| value.kind), Some(Kind::External(_)))
        {
            return false;
        }
        match call.name {
            "cuda" => call.node.arguments.args.len() < 2,
            "to" => call.arg(0).or_else(|| call.keyword("device")).is_some_and(|device| self.is_gpu(device)),
            _ => false,
        }
    }

    /// The same, where the number of a process is the number of its GPU too: `x.to(rank)`, `x.to(args.gpu)`.
    #[must_use]
    pub fn goes_to_gpu(&self, call: &Call<'a>) -> bool {
        let ranked = || match (call.name, &*call.node.arguments.args) {
            ("to", [device]) => call.receiver.is_some() && self.is_rank(device),
            _ => false,
        };
        self.moves_to_gpu(call) || ranked()
    }

    /// Whether an expression is the number of a process, and so of its GPU: `rank`, `args.local_rank`.
    #[must_use]
    pub fn is_rank(&self, device: &Expr) -> bool {
        const RANKS: &[&str] =
            &["rank", "local_rank", "gpu", "gpu_id", "gpu_idx", "device_id", "LOCAL_RANK", "ddp_local_rank", "cuda_id"];
        // `int(os.environ["LOCAL_RANK"])`, `dist.get_rank() % torch.cuda.device_count()`.
        let counts = |expr: &Expr| {
            let text = self.written(expr);
            text.contains("get_rank(") || text.contains("LOCAL_RANK") || text.contains("get_local_rank(")
        };
        match device {
            Expr::Name(_) | Expr::Attribute(_) => last_name(device).is_some_and(|name| {
                RANKS.contains(&name) || self.given_to(name).any(|expr| !expr.is_compare_expr() && counts(expr))
            }),
            Expr::Call(_) => counts(device),
            _ => false,
        }
    }

    /// Whether a call makes a tensor on a GPU: `torch.zeros(8, device="cuda")`.
    #[must_use]
    pub fn makes_on_gpu(&self, call: &Call<'a>) -> bool {
        let by_torch = self.full_name(call).is_some_and(|name| name.starts_with("torch."));
        by_torch && call.result.is_tensor() && call.keyword("device").is_some_and(|device| self.is_gpu(device))
    }

    /// Whether the argument of a call is a loader, or `enumerate(...)`, `iter(...)`, `tqdm(...)` around one.
    #[must_use]
    pub fn goes_over_loader(&self, argument: &Expr, call: &Call<'a>) -> bool {
        let index = call.node.arguments.args.iter().position(|arg| arg.range() == argument.range());
        let named = last_name(argument)
            .is_some_and(|name| crate::analysis::guesses::is_loader_name(&name.to_ascii_lowercase()));
        let is_loader = |value: &Value| value.kind == Kind::Loader && (named || !value.has(Flags::GUESSED));
        if index.and_then(|index| call.args.get(index)).is_some_and(is_loader) {
            return true;
        }
        let Some(inner) = self.call_at(argument) else { return false };
        matches!(inner.name, "enumerate" | "iter" | "tqdm" | "track" | "trange")
            && inner.arg(0).is_some_and(|expr| self.goes_over_loader(expr, inner))
    }

    /// Whether an expression is the whole number `number`, or a name only ever bound to it in this file.
    #[must_use]
    pub fn is_always(&self, expr: &Expr, number: i64) -> bool {
        let bound = |name: &str| {
            let mut binds = self.binds_of(name).peekable();
            binds.peek().is_some() && binds.all(|bind| bind.value_expr.is_some_and(|value| is_number(value, number)))
        };
        is_number(expr, number) || last_name(expr).is_some_and(bound)
    }

    /// Whether the file is a test: its loaders and models are tiny on purpose.
    #[must_use]
    pub fn is_test_file(&self) -> bool {
        let mut parts = self.source.name.rsplit(['/', '\\']);
        let file = parts.next().unwrap_or_default();
        file.starts_with("test_")
            || file.ends_with("_test.py")
            || file == "conftest.py"
            || parts.any(|part| matches!(part, "test" | "tests" | "testing" | "unittests"))
    }

    /// Whether the file is in a part of the program that only serves: nothing there is kept for a backward pass.
    #[must_use]
    pub fn is_for_serving(&self) -> bool {
        let mut folders = self.source.name.rsplit(['/', '\\']).skip(1);
        folders.any(|part| matches!(part, "inference" | "serving" | "triton" | "deployment"))
            && self.effects(Effect::Backward).next().is_none()
    }
}

/// The arm of a conditional expression that is always taken, where its test is written so: `a if ready and False else b`.
fn chosen(expr: &Expr) -> &Expr {
    let node = match expr {
        Expr::If(node) => node,
        // `torch.device(a if ready else b)`.
        Expr::Call(call) => match &*call.arguments.args {
            [Expr::If(node)] => node,
            _ => return expr,
        },
        _ => return expr,
    };
    let literal = |expr: &Expr| expr.as_boolean_literal_expr().map(|literal| literal.value);
    let decided = match &*node.test {
        Expr::BoolOp(test) => {
            let decides = test.op == BoolOp::Or;
            test.values.iter().any(|part| literal(part) == Some(decides)).then_some(decides)
        }
        other => literal(other),
    };
    match decided {
        Some(true) => chosen(&node.body),
        Some(false) => chosen(&node.orelse),
        None => expr,
    }
}

/// Reads of an attribute of `self`, as reads of `self` with the attribute taken off what stands around.
pub(crate) fn attribute_uses<'a>(body: &'a [Stmt], attribute: &ExprAttribute) -> Vec<Use<'a>> {
    let mut uses = uses_in(body, "self");
    uses.retain_mut(|found| {
        let own = matches!(found.around.first(), Some(Expr::Attribute(node)) if node.attr.as_str() == attribute.attr.as_str() && node.ctx.is_load());
        if own {
            found.around.remove(0);
        }
        own
    });
    uses
}
