//! `match` as branches: every case may be taken, and binds its names to parts of the subject.

use super::lower::{DEPTH_MAX, Lowering, span_of};
use super::{Op, Reg, Span, Term};
use crate::syntax::tree::{self, Pattern};

impl<'t> Lowering<'_, 't> {
    /// A `match` statement.
    pub(super) fn matching(&mut self, node: &'t tree::StmtMatch) {
        let subject = self.expr(&node.subject);
        let after = self.block();
        for case in &node.cases {
            let (this, next) = (self.block(), self.block());
            let is_catch_all = case.pattern.is_irrefutable() && case.guard.is_none();
            if is_catch_all {
                self.end(Term::Goto(this));
            } else {
                let cond = self.emit(Op::Unknown, span_of(&case.pattern));
                self.end(Term::Branch { cond, yes: this, no: next });
            }
            self.at(this);
            self.bind(&case.pattern, subject, span_of(&case.pattern));
            if let Some(guard) = &case.guard {
                let inside = self.block();
                self.condition(guard, inside, next);
                self.at(inside);
            }
            self.body(&case.body);
            self.end(Term::Goto(after));
            self.at(next);
        }
        self.end(Term::Goto(after));
        self.at(after);
    }

    fn bind(&mut self, pattern: &'t Pattern, value: Reg, span: Span) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        match pattern {
            Pattern::MatchAs(node) => {
                if let Some(inner) = &node.pattern {
                    self.bind(inner, value, span);
                }
                if let Some(name) = &node.name {
                    let var = self.var(name);
                    self.emit(Op::Store(var, value), span);
                }
            }
            Pattern::MatchStar(node) => {
                if let Some(name) = &node.name {
                    let var = self.var(name);
                    self.emit(Op::Store(var, value), span);
                }
            }
            Pattern::MatchSequence(node) => self.bind_parts(&node.patterns, value, span),
            Pattern::MatchMapping(node) => {
                for (key, inner) in node.keys.iter().zip(&node.patterns) {
                    let key = self.expr(key);
                    let part = self.emit(Op::Index(value, key), span);
                    self.bind(inner, part, span);
                }
                if let Some(name) = &node.rest {
                    let var = self.var(name);
                    self.emit(Op::Store(var, value), span);
                }
            }
            Pattern::MatchClass(node) => {
                for inner in &node.arguments.patterns {
                    let part = self.emit(Op::Part { value, at: None, of: 1 }, span);
                    self.bind(inner, part, span);
                }
                for keyword in &node.arguments.keywords {
                    let name = self.name(&keyword.attr);
                    let part = self.emit(Op::Attr(value, name), span);
                    self.bind(&keyword.pattern, part, span);
                }
            }
            Pattern::MatchOr(node) => node.patterns.iter().for_each(|inner| self.bind(inner, value, span)),
            Pattern::MatchValue(_) | Pattern::MatchSingleton(_) => {}
        }
        self.depth -= 1;
    }

    fn bind_parts(&mut self, patterns: &'t [Pattern], value: Reg, span: Span) {
        let star = patterns.iter().position(|pattern| matches!(pattern, Pattern::MatchStar(_)));
        for (at, inner) in patterns.iter().enumerate() {
            let at = if star.is_some_and(|star| star <= at) { None } else { Some(at) };
            let part = self.emit(Op::Part { value, at, of: patterns.len() }, span);
            self.bind(inner, part, span);
        }
    }
}
