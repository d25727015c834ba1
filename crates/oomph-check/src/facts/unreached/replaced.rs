//! Definitions that another one of the same name replaces before anything can call them.

use rustc_hash::FxHashMap;

use super::Cause;
use super::callees::keeps_result;
use super::names::mentioned_from;
use crate::python::ast::{Decorator, Identifier};
use crate::python::{Ranged, Stmt, TextRange, count_reads_in};
use crate::uses::uses_in;

/// The definitions among statements that a later one replaces, each with the later one's name.
pub(super) fn definitions_in(body: &[Stmt]) -> Vec<(TextRange, Cause)> {
    let mut last: FxHashMap<&str, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for (index, stmt) in body.iter().enumerate() {
        let Some((name, _)) = defined(stmt) else { continue };
        let Some(before) = last.insert(name.as_str(), index) else { continue };
        let Some((_, decorators)) = defined(&body[before]) else { continue };
        // A decorator may keep what it is given: `@app.route("/")`, `@overload`, `@size.setter`.
        let plain = decorators.iter().all(|decorator| keeps_result(&decorator.expression));
        let between = &body[before + 1..=index];
        let head = |stmt: &Stmt| reads_when_defined(stmt, name.as_str());
        if plain && !between.iter().any(head) && !mentioned_from(body, between).contains(name.as_str()) {
            let cause =
                Cause { range: name.range(), text: format!("`{name}` is defined anew here, before anything uses it") };
            found.push((body[before].range(), cause));
        }
    }
    found
}

/// Whether making a function or a class reads a name: as a base, as a default; in the body of a class anywhere.
fn reads_when_defined(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::FunctionDef(node) => {
            let mut defaults = node.parameters.iter_non_variadic_params().filter_map(|own| own.default.as_deref());
            defaults.any(|default| count_reads_in(default, name) > 0)
        }
        Stmt::ClassDef(node) if node.name.as_str() == name => {
            let mut bases = node.arguments.iter().flat_map(|arguments| &arguments.args);
            bases.any(|base| count_reads_in(base, name) > 0)
        }
        Stmt::ClassDef(_) => !uses_in(std::slice::from_ref(stmt), name).is_empty(),
        _ => false,
    }
}

fn defined(stmt: &Stmt) -> Option<(&Identifier, &[Decorator])> {
    match stmt {
        Stmt::FunctionDef(node) => Some((&node.name, &node.decorator_list)),
        Stmt::ClassDef(node) => Some((&node.name, &node.decorator_list)),
        _ => None,
    }
}
