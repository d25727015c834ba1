//! Whether every name that is read after a fix is still bound then.

use rustc_hash::FxHashSet;

use super::scopes::{Kind, Name, Place, Scope, Scopes};
use crate::python::Imported;
use crate::source::Source;

/// Names that Python itself binds, as far as fixes write them.
const BUILTINS: &[&str] = &[
    "False",
    "None",
    "True",
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "filter",
    "float",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "object",
    "print",
    "range",
    "set",
    "setattr",
    "sorted",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "zip",
];

/// The name that a fix takes from something that reads it, if there is one.
pub(super) fn taken_away(
    before: &Scopes<'_>,
    after: &Scopes<'_>,
    source: &Source,
    imported: &Imported,
) -> Option<String> {
    let mut lost: Vec<&str> = after.unbound.difference(&before.unbound).copied().collect();
    lost.retain(|name| !BUILTINS.contains(name));
    lost.sort_unstable();
    if let Some(name) = lost.first() {
        return Some((*name).to_owned());
    }
    if let Some(name) = before.all.iter().find_map(|old| vanished(old, after)) {
        return Some(name);
    }
    after.all.iter().find_map(|scope| {
        let old = before.at(&scope.path);
        read_too_early(scope, old).or_else(|| deleted_too_early(scope, old, after, source, imported))
    })
}

/// A name that a scope bound and binds no more, though something may read it: anything may read those of modules and
/// classes.
fn vanished(old: &Scope<'_>, after: &Scopes<'_>) -> Option<String> {
    let new = after.at(&old.path)?;
    let is_bound = |scope: &Scope<'_>, name: &str| scope.names.get(name).is_some_and(|name| !name.binds.is_empty());
    let mut gone: Vec<&str> = old.names.keys().copied().filter(|name| is_bound(old, name)).collect();
    gone.retain(|name| !is_bound(new, name));
    gone.sort_unstable();
    let open = matches!(old.kind, Kind::Module | Kind::Class);
    // What only the function itself read is unbound now if it is still read, or is another scope's name.
    let wanted = |name: &&str| open || old.names[*name].is_shared || !old.names[*name].reads.is_empty();
    gone.into_iter().find(wanted).map(str::to_owned)
}

/// A name that is read before its scope binds it, and was not before the fix: `UnboundLocalError`.
fn read_too_early(scope: &Scope<'_>, old: Option<&Scope<'_>>) -> Option<String> {
    if scope.kind == Kind::Class {
        return None;
    }
    let early = |scope: &Scope<'_>| -> FxHashSet<String> {
        let is_early = |name: &Name| {
            let first = name.binds.iter().map(|bind| bind.order).min();
            first.is_some_and(|first| name.reads.iter().any(|read| read.order < first))
        };
        scope.names.iter().filter(|(_, name)| is_early(name)).map(|(text, _)| (*text).to_owned()).collect()
    };
    let known = old.map(early).unwrap_or_default();
    let mut new: Vec<String> = early(scope).into_iter().filter(|name| !known.contains(name)).collect();
    new.sort_unstable();
    new.into_iter().next()
}

/// A name with a `del` that the fix added, where something may still read it or it may not be bound.
fn deleted_too_early(
    scope: &Scope<'_>,
    old: Option<&Scope<'_>>,
    after: &Scopes<'_>,
    source: &Source,
    imported: &Imported,
) -> Option<String> {
    let count = |name: &str| old.and_then(|old| old.names.get(name)).map_or(0, |name| name.deletes.len());
    let mut added: Vec<(&str, &Name)> = scope
        .names
        .iter()
        .map(|(text, name)| (*text, name))
        .filter(|(text, name)| name.deletes.len() > count(text))
        .collect();
    added.sort_unstable_by_key(|(text, _)| *text);
    let unsafe_delete = |(text, name): &(&str, &Name)| {
        let [only] = name.deletes.as_slice() else { return true };
        let hidden = after.reads_unseen || scope.kind == Kind::Class || scope.borrows(text) || name.is_shared;
        let elsewhere = scope.kind == Kind::Module && is_seen_elsewhere(scope, text, only, name, source, imported);
        hidden
            || elsewhere
            || !is_bound_at(name, only, only)
            || name.reads.iter().any(|read| !is_bound_at(name, read, only))
    };
    added.into_iter().find(unsafe_delete).map(|(text, _)| text.to_owned())
}

/// Whether whoever gets to `place` finds the name bound, though `delete` takes it away.
fn is_bound_at(name: &Name, place: &Place, delete: &Place) -> bool {
    name.binds.iter().any(|bind| bind.dominates(place) && !bind.has_between(delete, place))
}

/// Whether a name of a module is seen where this file's order says nothing: in other files, in a cell that is run again.
fn is_seen_elsewhere(
    scope: &Scope<'_>,
    text: &str,
    delete: &Place,
    name: &Name,
    source: &Source,
    imported: &Imported,
) -> bool {
    let file = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let module = file.split('.').next().unwrap_or_default();
    let cell = |place: &Place| source.cells.iter().position(|cell| cell.range.contains_inclusive(place.offset.into()));
    let here = cell(delete);
    let other_cells = name.binds.iter().chain(&name.reads).any(|place| cell(place) != here);
    imported.has_name(text) || imported.has_module(module) || scope.names.contains_key("__all__") || other_cells
}
