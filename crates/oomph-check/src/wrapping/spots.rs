//! Where a name, or an attribute of one, stands in code, and what stands around it.

use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use crate::python::ast::{ExprContext, StmtFunctionDef};
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange, TextSize, body_elsewhere, root_name};

/// `model`, `self.model`, `net.encoder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Name(name) => Some(Self::of_name(name.id.as_str())),
            Expr::Attribute(node) => {
                let mut path = Self::of(&node.value)?;
                path.0.push(node.attr.to_string());
                Some(path)
            }
            _ => None,
        }
    }

    pub(super) fn of_name(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    pub(super) fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    pub(super) fn is_of_self(&self) -> bool {
        self.0.len() == 2 && self.0[0] == "self"
    }

    /// The name alone, where the path is more than one.
    pub(super) fn root_alone(&self) -> Option<Self> {
        (self.0.len() > 1).then(|| Self::of_name(&self.0[0]))
    }

    /// Whether an expression is written so.
    pub(super) fn is(&self, expr: &Expr) -> bool {
        let mut expr = expr;
        for part in self.0[1..].iter().rev() {
            expr = match expr {
                Expr::Attribute(node) if node.attr.as_str() == part => &node.value,
                _ => return false,
            };
        }
        matches!(expr, Expr::Name(name) if name.id.as_str() == self.0[0])
    }

    /// Whether an expression is this, or a chain of calls and attributes of it: `model.to(device)`.
    pub(super) fn is_root_of(&self, expr: &Expr) -> bool {
        self.is(expr)
            || match expr {
                Expr::Attribute(node) => self.is_root_of(&node.value),
                Expr::Call(call) => self.is_root_of(&call.func),
                _ => false,
            }
    }

    /// Whether statements declare the name `global`.
    pub(super) fn is_global_in(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Global(node) => node.names.iter().any(|name| name.as_str() == self.0[0]),
            _ => false,
        })
    }
}

/// A place where a path is read.
#[derive(Debug)]
pub(super) struct Spot<'a> {
    pub(super) range: TextRange,
    /// Where it is read: what is read in place, where the call is.
    pub(super) at: TextSize,
    pub(super) stmt: &'a Stmt,
    /// The expressions around it within its statement, innermost first.
    pub(super) around: Vec<&'a Expr>,
    /// The function nested in what was searched.
    pub(super) function: Option<&'a StmtFunctionDef>,
    /// Whether an `if` decides, within its function, or an error is caught.
    pub(super) is_guarded: bool,
}

impl<'a> Spot<'a> {
    /// `x` of `path.x`.
    pub(super) fn attribute(&self) -> Option<&'a str> {
        match self.around.first() {
            Some(Expr::Attribute(node)) => Some(node.attr.as_str()),
            _ => None,
        }
    }

    /// Whether `path.x` is bound.
    pub(super) fn part_is_bound(&self) -> bool {
        matches!(self.around.first(), Some(Expr::Attribute(node)) if node.ctx == ExprContext::Store)
    }

    /// The call that runs it: `path(x)`, `path.forward(x)`.
    pub(super) fn pass(&self) -> Option<&'a ExprCall> {
        match (self.around.first(), self.around.get(1)) {
            (Some(Expr::Call(call)), _) if call.func.range() == self.range => Some(call),
            (Some(Expr::Attribute(part)), Some(Expr::Call(call))) => {
                (part.attr.as_str() == "forward" && call.func.range() == part.range()).then_some(call)
            }
            _ => None,
        }
    }

    /// The call that takes it as it is.
    pub(super) fn given_to(&self) -> Option<&'a ExprCall> {
        match self.around.first() {
            Some(Expr::Call(call)) if call.func.range() != self.range => Some(call),
            _ => None,
        }
    }

    /// Whether nothing is taken out of it.
    pub(super) fn name_is_bare(&self) -> bool {
        self.attribute().is_none()
    }
}

/// Every place where a path is read, in the order of the text. An `if` around `from` decides nothing after it.
pub(super) fn spots_in<'a>(body: &'a [Stmt], path: &Path, from: TextSize) -> Vec<Spot<'a>> {
    let mut finder = Finder {
        path,
        from,
        stmts: Vec::new(),
        exprs: Vec::new(),
        functions: Vec::new(),
        guards: 0,
        read_at: None,
        found: Vec::new(),
    };
    for stmt in body {
        finder.visit_stmt(stmt);
    }
    finder.found
}

struct Finder<'a, 'p> {
    path: &'p Path,
    from: TextSize,
    stmts: Vec<&'a Stmt>,
    exprs: Vec<&'a Expr>,
    functions: Vec<&'a StmtFunctionDef>,
    guards: u32,
    read_at: Option<TextSize>,
    found: Vec<Spot<'a>>,
}

impl Finder<'_, '_> {
    /// Whether a function has a name of its own that hides the path.
    fn hides(&self, node: &StmtFunctionDef) -> bool {
        self.path.0[0] != "self" && node.parameters.iter().any(|parameter| parameter.name().as_str() == self.path.0[0])
    }
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let outer = std::mem::take(&mut self.exprs);
        self.stmts.push(stmt);
        match stmt {
            Stmt::FunctionDef(node) if self.hides(node) => {}
            Stmt::FunctionDef(node) => {
                let guards = std::mem::take(&mut self.guards);
                self.functions.push(node);
                walk_stmt(self, stmt);
                self.functions.pop();
                self.guards = guards;
            }
            Stmt::If(node) => {
                let decides = u32::from(!stmt.range().contains(self.from));
                self.visit_expr(&node.test);
                self.guards += decides;
                node.body.iter().for_each(|stmt| self.visit_stmt(stmt));
                node.elif_else_clauses.iter().for_each(|clause| self.visit_elif_else_clause(clause));
                self.guards -= decides;
            }
            Stmt::With(node) if body_elsewhere(node).is_some() => {
                let outer = self.read_at;
                self.read_at = outer.or(Some(node.start()));
                walk_stmt(self, stmt);
                self.read_at = outer;
            }
            Stmt::Try(_) => {
                self.guards += 1;
                walk_stmt(self, stmt);
                self.guards -= 1;
            }
            _ => walk_stmt(self, stmt),
        }
        self.stmts.pop();
        self.exprs = outer;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let (true, Some(stmt)) = (self.path.is(expr), self.stmts.last()) {
            let is_read = match expr {
                Expr::Name(node) => node.ctx == ExprContext::Load,
                Expr::Attribute(node) => node.ctx == ExprContext::Load,
                _ => false,
            };
            if is_read {
                self.found.push(Spot {
                    range: expr.range(),
                    at: self.read_at.unwrap_or_else(|| expr.start()),
                    stmt,
                    around: self.exprs.iter().rev().copied().collect(),
                    function: self.functions.last().copied(),
                    is_guarded: self.guards > 0,
                });
            }
            return;
        }
        self.exprs.push(expr);
        if let Expr::If(node) = expr {
            self.visit_expr(&node.test);
            self.guards += 1;
            self.visit_expr(&node.body);
            self.visit_expr(&node.orelse);
            self.guards -= 1;
        } else {
            walk_expr(self, expr);
        }
        self.exprs.pop();
    }
}

/// Every call within statements.
pub(super) fn calls_in(body: &[Stmt]) -> Vec<&ExprCall> {
    struct Calls<'a>(Vec<&'a ExprCall>);
    impl<'a> SourceOrderVisitor<'a> for Calls<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr {
                self.0.push(call);
            }
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls(Vec::new());
    for stmt in body {
        calls.visit_stmt(stmt);
    }
    calls.0
}

/// Every name that statements assign to, and what it gets; each part of a tuple gets the whole.
pub(super) fn assignments_in(body: &[Stmt]) -> Vec<(&str, &Expr)> {
    struct Assigned<'a>(Vec<(&'a str, &'a Expr)>);
    impl<'a> Assigned<'a> {
        fn note(&mut self, target: &'a Expr, value: &'a Expr) {
            match target {
                Expr::Name(name) => self.0.push((name.id.as_str(), value)),
                Expr::Tuple(tuple) => tuple.elts.iter().for_each(|part| self.note(part, value)),
                // A part of it changes.
                other => self.0.extend(root_name(other).map(|name| (name, value))),
            }
        }
    }
    impl<'a> SourceOrderVisitor<'a> for Assigned<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::Assign(assign) = stmt {
                assign.targets.iter().for_each(|target| self.note(target, &assign.value));
            }
            walk_stmt(self, stmt);
        }
    }
    let mut assigned = Assigned(Vec::new());
    for stmt in body {
        assigned.visit_stmt(stmt);
    }
    assigned.0
}
