//! Which names a body binds: what a read of a name can find.

use rustc_hash::FxHashSet;

use super::branches::is_main_guard;
use crate::python::ast::visitor::source_order::{
    SourceOrderVisitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt,
};
use crate::python::ast::{Comprehension, ExceptHandler, Identifier, Parameters, Pattern, TypeParams};
use crate::python::{Expr, ExprCall, Stmt};

/// The names that the body of a file binds.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Those that whoever imports the file finds too.
    pub(crate) names: FxHashSet<Box<str>>,
    /// Those bound under `if __name__ == "__main__":`.
    pub(crate) under_main: FxHashSet<Box<str>>,
    /// Whether it may bind names that it does not spell out: `globals()`, `exec`.
    pub(crate) is_open: bool,
}

impl Bindings {
    pub(crate) fn of(body: &[Stmt]) -> Self {
        let is_main = |stmt: &&Stmt| stmt.as_if_stmt().is_some_and(|node| is_main_guard(&node.test));
        let (main, rest): (Vec<&Stmt>, Vec<&Stmt>) = body.iter().partition(is_main);
        let mut anywhere = Anywhere::default();
        let mut names = Binder::default();
        for stmt in rest {
            names.visit_stmt(stmt);
            anywhere.visit_stmt(stmt);
        }
        let mut under_main = Binder::default();
        for stmt in main {
            under_main.visit_stmt(stmt);
            anywhere.visit_stmt(stmt);
        }
        names.names.extend(anywhere.globals);
        let owned = |names: FxHashSet<&str>| names.into_iter().map(Box::from).collect();
        Self { names: owned(names.names), under_main: owned(under_main.names), is_open: anywhere.is_open }
    }
}

/// The names statements bind in the scope they stand in.
pub(crate) fn bound_by(body: &[Stmt]) -> FxHashSet<&str> {
    let mut binder = Binder::default();
    for stmt in body {
        binder.visit_stmt(stmt);
    }
    binder.names
}

/// The names of a comprehension's own scope.
pub(crate) fn bound_by_comprehension(generators: &[Comprehension]) -> FxHashSet<&str> {
    let mut binder = Binder::default();
    for generator in generators {
        binder.visit_expr(&generator.target);
    }
    binder.names
}

/// The names of parameters, and of parameters for types.
pub(crate) fn bound_by_head<'a>(parameters: Option<&'a Parameters>, types: Option<&'a TypeParams>) -> Vec<&'a str> {
    let parameters = parameters.into_iter().flat_map(Parameters::iter).map(|parameter| parameter.name().as_str());
    let types = types.into_iter().flat_map(|types| types.iter()).map(|parameter| parameter.name().as_str());
    parameters.chain(types).collect()
}

#[derive(Default)]
struct Binder<'a> {
    names: FxHashSet<&'a str>,
}

impl<'a> Binder<'a> {
    /// The head of a definition runs where it stands, its body does not.
    fn head(&mut self, exprs: impl Iterator<Item = &'a Expr>) {
        for expr in exprs {
            self.visit_expr(expr);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Binder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                self.names.insert(node.name.as_str());
                self.head(node.decorator_list.iter().map(|decorator| &decorator.expression));
                let parameters = node.parameters.iter_non_variadic_params();
                self.head(parameters.filter_map(|parameter| parameter.default.as_deref()));
            }
            Stmt::ClassDef(node) => {
                self.names.insert(node.name.as_str());
            }
            Stmt::Import(node) => self.names.extend(node.names.iter().map(|alias| {
                let whole = alias.name.as_str();
                alias.asname.as_ref().map_or_else(|| whole.split('.').next().unwrap_or(whole), Identifier::as_str)
            })),
            Stmt::ImportFrom(node) => {
                self.names.extend(node.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str()));
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if !name.ctx.is_load() {
                    self.names.insert(name.id.as_str());
                }
            }
            Expr::Lambda(_) => {}
            Expr::ListComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::SetComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::Generator(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::DictComp(node) => {
                let results: Vec<&Expr> = node.key.as_deref().into_iter().chain([&*node.value]).collect();
                self.comprehension(&results, &node.generators);
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.names.extend(node.name.as_ref().map(Identifier::as_str));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.names.extend(captured_name(pattern).map(Identifier::as_str));
        walk_pattern(self, pattern);
    }
}

impl<'a> Binder<'a> {
    /// Only what `:=` binds in a comprehension is seen outside of it.
    fn comprehension(&mut self, results: &[&'a Expr], generators: &'a [Comprehension]) {
        for result in results {
            self.visit_expr(result);
        }
        for generator in generators {
            self.visit_expr(&generator.iter);
            self.head(generator.ifs.iter());
        }
    }
}

/// What any part of a file does to the names of its body.
#[derive(Default)]
struct Anywhere<'a> {
    globals: FxHashSet<&'a str>,
    is_open: bool,
}

impl<'a> SourceOrderVisitor<'a> for Anywhere<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Global(node) => self.globals.extend(node.names.iter().map(Identifier::as_str)),
            Stmt::FunctionDef(node) => self.is_open |= node.name.as_str() == "__getattr__",
            Stmt::Import(node) => {
                self.is_open |= node.names.iter().any(|alias| is_builtins(alias.name.as_str()));
            }
            Stmt::ImportFrom(node) => {
                self.is_open |= node.module.as_ref().is_some_and(|module| is_builtins(module.as_str()));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.is_open |= binds_unseen(call),
            Expr::Attribute(node) => self.is_open |= matches!(node.attr.as_str(), "modules" if is_sys(&node.value)),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

fn is_builtins(module: &str) -> bool {
    module.contains("builtin") || module == "past" || module.starts_with("past.")
}

fn is_sys(expr: &Expr) -> bool {
    expr.as_name_expr().is_some_and(|name| name.id.as_str() == "sys")
}

/// `globals()["model"] = ...`, `exec(text)`, and what a notebook turns its magics into.
fn binds_unseen(call: &ExprCall) -> bool {
    let Expr::Name(name) = &*call.func else { return false };
    match name.id.as_str() {
        "globals" | "exec" | "execfile" | "get_ipython" => true,
        "locals" | "vars" => call.arguments.is_empty(),
        _ => false,
    }
}

/// The name that a pattern itself binds, not one within it.
pub(crate) fn captured_name(pattern: &Pattern) -> Option<&Identifier> {
    match pattern {
        Pattern::MatchAs(node) => node.name.as_ref(),
        Pattern::MatchStar(node) => node.name.as_ref(),
        Pattern::MatchMapping(node) => node.rest.as_ref(),
        _ => None,
    }
}
