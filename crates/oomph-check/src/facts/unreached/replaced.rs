//! Definitions that another one of the same name replaces before anything can call them.

use rustc_hash::FxHashMap;

use super::Cause;
use super::callees::keeps_result;
use super::names::mentioned_from;
use crate::python::ast::{Decorator, Identifier};
use crate::python::{Ranged, Stmt, TextRange};

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
        let between = mentioned_from(body, &body[before + 1..=index]);
        if plain && !between.contains(name.as_str()) {
            let cause =
                Cause { range: name.range(), text: format!("`{name}` is defined anew here, before anything uses it") };
            found.push((body[before].range(), cause));
        }
    }
    found
}

fn defined(stmt: &Stmt) -> Option<(&Identifier, &[Decorator])> {
    match stmt {
        Stmt::FunctionDef(node) => Some((&node.name, &node.decorator_list)),
        Stmt::ClassDef(node) => Some((&node.name, &node.decorator_list)),
        _ => None,
    }
}
