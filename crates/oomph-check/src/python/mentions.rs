//! Which names statements mention, as the scope they stand in sees them.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_parameters, walk_stmt};
use ruff_python_ast::{ExceptHandler, Expr, ExprContext, Identifier, Parameters, Stmt, StmtFunctionDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names of a scope; those that a nested function binds for itself are its own.
#[derive(Debug, Default)]
pub(super) struct Mentions<'a> {
    /// How often each name is read.
    pub(super) reads: FxHashMap<&'a str, u32>,
    /// Names that are bound or deleted.
    pub(super) bound: FxHashSet<&'a str>,
    /// Names declared `global` or `nonlocal`.
    pub(super) declared: FxHashSet<&'a str>,
}

impl<'a> Mentions<'a> {
    /// Those of a suite.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut found = Self::default();
        for stmt in body {
            found.visit_stmt(stmt);
        }
        found
    }

    /// Those of a function's own scope, its parameters among the bound.
    pub(super) fn of_function(node: &'a StmtFunctionDef) -> Self {
        let mut found = Self::of(&node.body);
        found.bound.extend(node.parameters.iter().map(|parameter| parameter.name().as_str()));
        found
    }

    /// How often a name is read.
    pub(super) fn reads_of(&self, name: &str) -> u32 {
        self.reads.get(name).copied().unwrap_or_default()
    }

    /// Whether a name is a variable of the scope's own.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.bound.contains(name) && !self.declared.contains(name)
    }

    fn add_nested(&mut self, inner: &Self) {
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (name, count) in &inner.reads {
            if !inner.is_own(name) {
                *self.reads.entry(name).or_default() += count;
            }
        }
        self.bound.extend(inner.bound.iter().filter(|name| inner.declared.contains(*name)));
    }
}

impl<'a> SourceOrderVisitor<'a> for Mentions<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                self.bound.insert(node.name.as_str());
                node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                walk_parameters(self, &node.parameters);
                self.add_nested(&Self::of_function(node));
                return;
            }
            Stmt::ClassDef(node) => {
                self.bound.insert(node.name.as_str());
            }
            Stmt::Global(node) => self.declared.extend(node.names.iter().map(Identifier::as_str)),
            Stmt::Nonlocal(node) => self.declared.extend(node.names.iter().map(Identifier::as_str)),
            Stmt::Import(node) => {
                let first = |name: &'a str| name.split('.').next().unwrap_or(name);
                self.bound.extend(node.names.iter().map(|alias| {
                    alias.asname.as_ref().map_or_else(|| first(alias.name.as_str()), |name| name.as_str())
                }));
            }
            Stmt::ImportFrom(node) => {
                let name = |alias: &'a ruff_python_ast::Alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                self.bound.extend(node.names.iter().map(name));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.bound.extend(node.name.as_ref().map(Identifier::as_str));
        ruff_python_ast::visitor::source_order::walk_except_handler(self, handler);
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        // Of a `lambda`: its own names are taken for the scope's, which says too much at worst.
        self.bound.extend(parameters.iter().map(|parameter| parameter.name().as_str()));
        walk_parameters(self, parameters);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(node) = expr {
            match node.ctx {
                ExprContext::Load => *self.reads.entry(node.id.as_str()).or_default() += 1,
                _ => {
                    self.bound.insert(node.id.as_str());
                }
            }
        }
        walk_expr(self, expr);
    }
}
