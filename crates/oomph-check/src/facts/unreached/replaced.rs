//! Functions that a later one of the same name takes the place of, before anything can call them.

use rustc_hash::FxHashMap;

use super::names::mentioned_from;
use super::{Cause, Part};
use crate::facts::Facts;
use crate::python::ast::StmtFunctionDef;
use crate::python::{Ranged, Stmt};
use crate::source::Kind;

/// The functions of a file, and the methods of its classes, that are replaced. Cells of a notebook are run in any order.
pub(super) fn parts(facts: &Facts<'_>) -> Vec<Part> {
    let body = facts.source.body();
    if facts.source.kind == Kind::Notebook {
        return Vec::new();
    }
    let classes = body.iter().filter_map(Stmt::as_class_def_stmt).map(|class| &class.body[..]);
    std::iter::once(body).chain(classes).flat_map(replaced_in).collect()
}

fn replaced_in(body: &[Stmt]) -> Vec<Part> {
    let mut last: FxHashMap<&str, (usize, &StmtFunctionDef)> = FxHashMap::default();
    let mut parts = Vec::new();
    for (index, stmt) in body.iter().enumerate() {
        let Stmt::FunctionDef(node) = stmt else { continue };
        let name = node.name.as_str();
        let Some((before, replaced)) = last.insert(name, (index, node)) else { continue };
        // What is decorated is kept by another: a property, a registry.
        let is_plain = replaced.decorator_list.is_empty() && node.decorator_list.is_empty();
        if is_plain && !mentioned_from(body, &body[before + 1..index]).contains(name) {
            let text = format!("`{name}` is defined again here, and the first one is never called");
            parts.push(Part {
                range: replaced.range(),
                cause: Cause { range: node.name.range(), text },
                runs_once: false,
            });
        }
    }
    parts
}
