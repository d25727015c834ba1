//! What every fix has to pass before it is offered: its result is looked at, whichever rule it is from.

use std::fmt;

use super::mentions::Mentions;
use super::scopes::Scopes;
use super::{arguments, names, suspension, versions};
use crate::analysis::outline::Outline;
use crate::python::{Imported, Stmt, TextRange, Written};
use crate::requirements::{TorchVersions, Version};
use crate::source::Source;

/// What is known of a file beyond its text.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'p> {
    /// The versions of torch that the project declares to work with.
    pub torch: TorchVersions,
    /// What the files of the project import.
    pub(crate) imported: &'p Imported,
}

/// Why a fix is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// What it leaves is no Python.
    NoPython,
    /// It takes away a name that something may still read.
    NameTaken(String),
    /// It switches a mode on or off around a `yield` or `await`.
    ModeAcrossYield,
    /// It needs a torch that is newer than the project's.
    TorchTooOld(String, Version),
    /// It gives a call the same argument twice.
    ArgumentTwice(String),
    /// A second run would fix the same thing again.
    NotSettled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPython => f.write_str("its result is no Python"),
            Self::NameTaken(name) => write!(f, "something may still read `{name}`"),
            Self::ModeAcrossYield => f.write_str("it switches a mode around a `yield` or `await`"),
            Self::TorchTooOld(name, version) => write!(f, "`{name}` needs torch {version}"),
            Self::ArgumentTwice(name) => write!(f, "`{name}` would be given twice"),
            Self::NotSettled => f.write_str("a second run would make it again"),
        }
    }
}

/// A source with what the gate wants to know of it, worked out once for all fixes.
#[derive(Debug)]
pub struct Gate<'s, 'p> {
    before: &'s Source,
    surroundings: Surroundings<'p>,
    written: Option<Written>,
}

impl<'s, 'p> Gate<'s, 'p> {
    /// A gate for the fixes of a source.
    #[must_use]
    pub fn new(before: &'s Source, surroundings: Surroundings<'p>) -> Self {
        Self { before, surroundings, written: written(before) }
    }

    /// Whether fixes that turn the source into `after` may be offered. That a second run changes nothing is for those
    /// to see who can run the rules again.
    ///
    /// # Errors
    /// The first thing that speaks against it.
    pub fn judge(&self, after: &Source) -> Result<(), Fault> {
        let (Some(old), Some(new)) = (&self.written, written(after)) else { return Err(Fault::NoPython) };
        if !futures_come_first(new.body()) && futures_come_first(old.body()) {
            return Err(Fault::NoPython);
        }
        let taken =
            names::taken_away(&Scopes::of(old.body()), &Scopes::of(new.body()), after, self.surroundings.imported);
        if let Some(name) = taken {
            return Err(Fault::NameTaken(name));
        }
        let (old_outline, new_outline) = (Outline::of(self.before), Outline::of(after));
        let modes = |body, outline| suspension::modes_at_suspensions(body, outline);
        if modes(old.body(), &old_outline) != modes(new.body(), &new_outline) {
            return Err(Fault::ModeAcrossYield);
        }
        let mentions = Mentions::of(old.body(), self.before, &old_outline);
        let new_mentions = Mentions::of(new.body(), after, &new_outline);
        if let Some(name) = arguments::given_twice(&mentions, &new_mentions) {
            return Err(Fault::ArgumentTwice(name));
        }
        match versions::too_new(&mentions, &new_mentions, self.surroundings.torch) {
            Some((name, version)) => Err(Fault::TorchTooOld(name, version)),
            None => Ok(()),
        }
    }
}

fn written(source: &Source) -> Option<Written> {
    let cells: Vec<TextRange> = source.cells.iter().map(|cell| cell.range).collect();
    Written::of(&source.text, &cells)
}

/// Python wants `from __future__ import ...` before everything but the docstring.
fn futures_come_first(body: &[Stmt]) -> bool {
    let is_future = |stmt: &Stmt| {
        let Stmt::ImportFrom(node) = stmt else { return false };
        node.module.as_ref().is_some_and(|module| module.as_str() == "__future__")
    };
    let is_text = |stmt: &Stmt| matches!(stmt, Stmt::Expr(node) if node.value.is_string_literal_expr());
    let rest = body.iter().skip_while(|stmt| is_text(stmt) || is_future(stmt));
    !rest.into_iter().any(is_future)
}
