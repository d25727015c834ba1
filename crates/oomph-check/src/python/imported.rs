//! What the files of a project take from each other by name.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use rustc_hash::FxHashSet;

/// Everything that some file imports, whichever file it is from.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    /// `step` of `from engine import step`.
    names: FxHashSet<String>,
    /// `engine` of `import engine` and of `from engine import *`.
    modules: FxHashSet<String>,
}

impl Imported {
    /// What the statements of a file import.
    pub(crate) fn by(body: &[Stmt]) -> Self {
        let mut imported = Self::default();
        for stmt in body {
            imported.visit_stmt(stmt);
        }
        imported
    }

    /// Both together.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        self.modules.extend(other.modules);
        self
    }

    /// Whether a file imports something of this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether a file imports the whole of a module of this name.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        self.modules.contains(name) || self.names.contains(name)
    }
}

impl<'a> SourceOrderVisitor<'a> for Imported {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        match stmt {
            Stmt::Import(node) => self.modules.extend(node.names.iter().map(|alias| last(alias.name.as_str()))),
            Stmt::ImportFrom(node) => {
                for alias in &node.names {
                    match (alias.name.as_str(), &node.module) {
                        ("*", Some(module)) => self.modules.insert(last(module.as_str())),
                        (name, _) => self.names.insert(name.to_owned()),
                    };
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}
