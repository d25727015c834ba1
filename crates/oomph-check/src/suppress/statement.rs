//! Which lines belong to the statement at a place: an ignore comment on any of them speaks for it.

use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_stmt};
use crate::python::{Expr, Ranged as _, Stmt, TextRange, TextSize, body_elsewhere};
use crate::source::Source;

/// First and last line of the simple statement at `offset`, or of the header of the block that begins there.
pub(super) fn lines_at(source: &Source, offset: TextSize) -> (usize, usize) {
    let mut search = Search { offset, innermost: None, before: None, after: None };
    let mut elsewhere = Elsewhere { offset, body: None };
    walk_body(&mut elsewhere, source.body());
    walk_body(&mut search, elsewhere.body.unwrap_or(source.body()));
    let own = source.line_of(offset);
    let Some(range) = search.innermost else { return (own, own) };
    // Of a block only the part between its children counts: a comment deep inside does not speak for the header.
    let first = source.line_of(range.start()).max(search.before.map_or(0, |end| source.line_of(end) + 1));
    let last = source.line_of(range.end());
    let last = search.after.map_or(last, |start| last.min(source.line_of(start).saturating_sub(1)));
    (first.min(own), last.max(own))
}

/// The body of a function that is read where it is called: its text is not within that of what is around it.
struct Elsewhere<'a> {
    offset: TextSize,
    body: Option<&'a [Stmt]>,
}

impl<'a> SourceOrderVisitor<'a> for Elsewhere<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::With(node) = stmt
            && body_elsewhere(node).is_some_and(|text| text.contains_inclusive(self.offset))
        {
            self.body = Some(&node.body);
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// The innermost statement around an offset, and the ends of its children next to the offset.
struct Search {
    offset: TextSize,
    innermost: Option<TextRange>,
    before: Option<TextSize>,
    after: Option<TextSize>,
}

impl<'a> SourceOrderVisitor<'a> for Search {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let range = stmt.range();
        if range.contains_inclusive(self.offset) && range.end() > self.offset {
            (self.innermost, self.before, self.after) = (Some(range), None, None);
            walk_stmt(self, stmt);
        } else if self.innermost.is_some_and(|outer| outer.contains_range(range)) {
            if range.end() <= self.offset {
                self.before = Some(range.end());
            } else if self.after.is_none() {
                self.after = Some(range.start());
            }
        }
    }
}
