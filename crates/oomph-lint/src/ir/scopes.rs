//! Which names a function binds, and which of them functions inside it read.

use rustc_hash::FxHashSet;

use crate::syntax::tree::{self, Expr, Stmt, visitor::Visitor};

/// The names of one function's scope.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Names it assigns, without those declared `global` or `nonlocal`.
    pub(crate) binds: FxHashSet<String>,
    /// Names declared `global`.
    pub(crate) globals: FxHashSet<String>,
    /// Names that functions inside it use and do not bind themselves.
    pub(crate) captured: FxHashSet<String>,
    /// Whether it yields.
    pub(crate) yields: bool,
}

/// The scope of statements with parameters.
pub(super) fn scope_of(body: &[Stmt], params: &[String]) -> Scope {
    let mut reader = Reader::default();
    for name in params {
        reader.bind(name);
    }
    reader.visit_body(body);
    reader.finish()
}

/// The scope of a lambda.
pub(super) fn scope_of_lambda(body: &Expr, params: &[String]) -> Scope {
    let mut reader = Reader::default();
    for name in params {
        reader.bind(name);
    }
    reader.visit_expr(body);
    reader.finish()
}

#[derive(Default)]
struct Reader {
    scope: Scope,
    nonlocals: FxHashSet<String>,
    uses_inside: FxHashSet<String>,
    depth: usize,
}

impl Reader {
    fn bind(&mut self, name: &str) {
        if self.depth == 0 && !self.scope.binds.contains(name) {
            self.scope.binds.insert(name.to_owned());
        }
    }

    fn use_inside(&mut self, name: &str) {
        if self.depth > 0 && !self.uses_inside.contains(name) {
            self.uses_inside.insert(name.to_owned());
        }
    }

    fn finish(mut self) -> Scope {
        for name in self.scope.globals.iter().chain(&self.nonlocals) {
            self.scope.binds.remove(name);
        }
        self.scope.captured = self.uses_inside.into_iter().filter(|name| self.scope.binds.contains(name)).collect();
        self.scope
    }

    /// Visits what is inside a function of its own: only what it uses matters.
    fn inside(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    fn visit_defaults(&mut self, parameters: &tree::Parameters) {
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs) {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }
}

impl<'a> Visitor<'a> for Reader {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name);
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                self.visit_defaults(&def.parameters);
                self.inside(|reader| reader.visit_body(&def.body));
            }
            Stmt::ClassDef(def) => {
                self.bind(&def.name);
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                if let Some(arguments) = &def.arguments {
                    self.visit_arguments(arguments);
                }
                self.inside(|reader| reader.visit_body(&def.body));
            }
            Stmt::Global(names) if self.depth == 0 => {
                self.scope.globals.extend(names.names.iter().map(ToString::to_string));
            }
            Stmt::Nonlocal(names) => {
                for name in &names.names {
                    self.use_inside(name);
                    if self.depth == 0 {
                        self.nonlocals.insert(name.to_string());
                    }
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().map_or_else(|| alias.name.split('.').next(), |name| Some(&**name));
                    self.bind(name.unwrap_or_default());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            Stmt::Try(block) => {
                for tree::ExceptHandler::ExceptHandler(handler) in &block.handlers {
                    if let Some(name) = &handler.name {
                        self.bind(name);
                    }
                }
                tree::visitor::walk_stmt(self, stmt);
            }
            _ => tree::visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if name.ctx.is_store() || name.ctx.is_del() {
                    self.bind(&name.id);
                }
                self.use_inside(&name.id);
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_defaults(parameters);
                }
                self.inside(|reader| reader.visit_expr(&lambda.body));
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.scope.yields |= self.depth == 0;
                tree::visitor::walk_expr(self, expr);
            }
            _ => tree::visitor::walk_expr(self, expr),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a tree::Comprehension) {
        // Its targets are renamed where it is lowered, so they bind nothing here.
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
    }

    fn visit_pattern(&mut self, pattern: &'a tree::Pattern) {
        match pattern {
            tree::Pattern::MatchAs(node) => node.name.iter().for_each(|name| self.bind(name)),
            tree::Pattern::MatchStar(node) => node.name.iter().for_each(|name| self.bind(name)),
            tree::Pattern::MatchMapping(node) => node.rest.iter().for_each(|name| self.bind(name)),
            _ => {}
        }
        tree::visitor::walk_pattern(self, pattern);
    }
}
