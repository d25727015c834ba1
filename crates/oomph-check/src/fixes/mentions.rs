//! Which of torch's names a file mentions, and how it calls them: what a fix adds is what it has more of afterwards.

use rustc_hash::FxHashMap;

use crate::analysis::outline::{Outline, dotted};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use crate::python::{Expr, ExprCall, Ranged, Stmt};
use crate::source::Source;

/// A call as it is written.
#[derive(Debug)]
pub(super) struct Called {
    /// What is called, in full as far as imports tell.
    pub(super) full: String,
    pub(super) positional: usize,
    /// Whether some arguments are not written out: `*args`.
    pub(super) has_star: bool,
    pub(super) keywords: Vec<String>,
    /// What is unpacked: `options` of `**options`.
    pub(super) unpacked: Vec<String>,
}

/// Names and calls of a file.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// How often each full name is mentioned.
    pub(super) names: FxHashMap<String, usize>,
    pub(super) calls: Vec<Called>,
}

impl Mentions {
    /// Those of a file.
    pub(super) fn of(body: &[Stmt], source: &Source, outline: &Outline<'_>) -> Self {
        let mut walk = Walk { source, outline, found: Self::default() };
        walk.visit_body(body);
        walk.found
    }

    /// Full names that are mentioned more often than in `before`.
    pub(super) fn added<'s>(&'s self, before: &'s Self) -> impl Iterator<Item = &'s str> {
        let more = |name: &str, count: usize| count > before.names.get(name).copied().unwrap_or_default();
        self.names.iter().filter(move |(name, count)| more(name, **count)).map(|(name, _)| name.as_str())
    }

    /// Keyword arguments of a function that are written more often than in `before`: pairs of both names.
    pub(super) fn added_keywords<'s>(&'s self, before: &'s Self) -> impl Iterator<Item = (&'s str, &'s str)> {
        let count = |calls: &[Called], full: &str, keyword: &str| {
            let has = |call: &&Called| call.full == full && call.keywords.iter().any(|own| own == keyword);
            calls.iter().filter(has).count()
        };
        let pairs =
            self.calls.iter().flat_map(|call| call.keywords.iter().map(|word| (call.full.as_str(), word.as_str())));
        pairs.filter(move |(full, word)| count(&self.calls, full, word) > count(&before.calls, full, word))
    }
}

struct Walk<'s, 'o, 'a> {
    source: &'s Source,
    outline: &'o Outline<'a>,
    found: Mentions,
}

impl Walk<'_, '_, '_> {
    fn called(&self, call: &ExprCall) -> Called {
        let written = |expr: &Expr| self.source.slice(expr.range()).to_owned();
        let arguments = &call.arguments;
        Called {
            full: dotted(&call.func).map_or_else(|| written(&call.func), |name| self.outline.full_name(&name)),
            positional: arguments.args.len(),
            has_star: arguments.args.iter().any(Expr::is_starred_expr),
            keywords: arguments.keywords.iter().filter_map(|word| word.arg.as_ref()).map(ToString::to_string).collect(),
            unpacked: arguments
                .keywords
                .iter()
                .filter(|word| word.arg.is_none())
                .map(|word| written(&word.value))
                .collect(),
        }
    }

    fn mention(&mut self, full: String) {
        *self.found.names.entry(full).or_default() += 1;
    }
}

impl<'n> SourceOrderVisitor<'n> for Walk<'_, '_, '_> {
    fn visit_stmt(&mut self, stmt: &'n Stmt) {
        if let Stmt::ImportFrom(node) = stmt {
            let module = self.outline.module_of(node);
            node.names.iter().for_each(|alias| self.mention(format!("{module}.{}", alias.name)));
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'n Expr) {
        if let Expr::Call(call) = expr {
            let called = self.called(call);
            self.found.calls.push(called);
        }
        if matches!(expr, Expr::Attribute(_) | Expr::Name(_))
            && let Some(name) = dotted(expr)
        {
            self.mention(self.outline.full_name(&name));
        }
        walk_expr(self, expr);
    }
}
