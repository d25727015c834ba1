//! The names that other files of the project bring into a module.

use rustc_hash::FxHashSet;

use crate::facts::Facts;
use crate::python::{Expr, Stmt};

impl<'a> Facts<'a> {
    /// Whether the file imports others of the project, or others import it: it is no excerpt.
    pub(super) fn is_tied(&self) -> bool {
        self.tables.is_imported(self.file) || !self.tables.imports_of(self.file).is_empty()
    }

    /// All names the body of a module binds for those who import it, where all of them can be known.
    fn names_of_module(&self, file: u32, hops: u32) -> Option<FxHashSet<&'a str>> {
        let tables = self.tables;
        let outline = &tables.outlines[file as usize];
        let bindings = outline.bindings();
        if !outline.is_whole || bindings.is_open || hops == 0 {
            return None;
        }
        let mut names: FxHashSet<&'a str> = bindings.names.iter().map(AsRef::as_ref).collect();
        for star in &outline.stars {
            let found = self.tables.modules_named(star);
            self.tables.find_module(star, file)?;
            for module in found {
                names.extend(self.names_of_module(module, hops - 1)?);
            }
        }
        Some(names)
    }

    /// What `from x import *` brings into the file; `None` where that cannot be known.
    pub(super) fn starred_names(&self) -> Option<FxHashSet<&'a str>> {
        let mut names = FxHashSet::default();
        for star in &self.outline().stars {
            self.tables.find_module(star, self.file)?;
            for module in self.tables.modules_named(star) {
                names.extend(self.names_of_module(module, 3)?);
            }
        }
        Some(names)
    }

    /// Whether another file puts a name into this module: `train.device = device`.
    pub(super) fn is_put_into_module(&self, name: &str) -> bool {
        let others = self.tables.outlines.iter().enumerate().filter(|(file, _)| *file != self.file as usize);
        let own = self.outline().module.rsplit('.').next().unwrap_or_default();
        others.filter(|(_, outline)| outline.foreign_writes.contains(name)).any(|(_, outline)| {
            let means_this = |base: &str| {
                let full = outline.imports.get(base).map_or("", String::as_str);
                base == own || full.rsplit('.').next() == Some(own)
            };
            writes_of(outline.body, name).into_iter().any(means_this)
        })
    }
}

/// The names whose attribute `name` is bound somewhere in a file.
fn writes_of<'a>(body: &'a [Stmt], name: &str) -> Vec<&'a str> {
    use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
    struct Writes<'a, 'n> {
        name: &'n str,
        bases: Vec<&'a str>,
    }
    impl<'a> SourceOrderVisitor<'a> for Writes<'a, '_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(node) = expr
                && node.attr.as_str() == self.name
                && !node.ctx.is_load()
            {
                self.bases.extend(node.value.as_name_expr().map(|base| base.id.as_str()));
                self.bases.extend(node.value.as_attribute_expr().map(|base| base.attr.as_str()));
            }
            walk_expr(self, expr);
        }
    }
    let mut writes = Writes { name, bases: Vec::new() };
    for stmt in body {
        writes.visit_stmt(stmt);
    }
    writes.bases
}
