//! Which modes are switched on where a function hands control to others: at `yield` and `await`.
//!
//! `torch.no_grad()` switches a mode of the thread. Around a `yield` it stays switched while the consumer runs, and the
//! consumer's backward pass fails.

use crate::analysis::outline::{Outline, dotted};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use crate::python::ast::{Comprehension, Decorator, WithItem};
use crate::python::{Expr, Stmt};

/// Context managers that switch the recording of gradients, by the end of their names.
const MODES: &[&str] = &["no_grad", "inference_mode", "enable_grad", "set_grad_enabled"];

/// For each `yield` and `await`, in the order of the text: the modes around it, outermost first, and how many `with`
/// items there are in all.
pub(super) fn modes_at_suspensions(body: &[Stmt], outline: &Outline<'_>) -> Vec<(Vec<String>, usize)> {
    let mut walk = Walk { outline, modes: Vec::new(), contexts: 0, found: Vec::new() };
    walk.visit_body(body);
    walk.found
}

struct Walk<'o, 'a> {
    outline: &'o Outline<'a>,
    modes: Vec<String>,
    contexts: usize,
    found: Vec<(Vec<String>, usize)>,
}

impl Walk<'_, '_> {
    fn mode(&self, expr: &Expr) -> Option<String> {
        let callee = if let Expr::Call(call) = expr { &*call.func } else { expr };
        let full = self.outline.full_name(&dotted(callee)?);
        MODES.contains(&full.rsplit('.').next()?).then_some(full)
    }

    fn suspend(&mut self) {
        self.found.push((self.modes.clone(), self.contexts));
    }

    fn enter(&mut self, items: &[WithItem], inside: impl FnOnce(&mut Self)) {
        let (modes, contexts) = (self.modes.len(), self.contexts);
        let entered: Vec<String> = items.iter().filter_map(|item| self.mode(&item.context_expr)).collect();
        self.modes.extend(entered);
        self.contexts += items.len();
        inside(self);
        self.modes.truncate(modes);
        self.contexts = contexts;
    }

    fn in_function(&mut self, decorators: &[Decorator], inside: impl FnOnce(&mut Self)) {
        let own = decorators.iter().filter_map(|decorator| self.mode(&decorator.expression)).collect();
        let outer = (std::mem::replace(&mut self.modes, own), std::mem::take(&mut self.contexts));
        inside(self);
        (self.modes, self.contexts) = outer;
    }
}

impl<'n> SourceOrderVisitor<'n> for Walk<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'n Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                self.in_function(&node.decorator_list, |walk| walk.visit_body(&node.body));
            }
            Stmt::With(node) => {
                if node.is_async {
                    self.suspend();
                }
                node.items.iter().for_each(|item| self.visit_with_item(item));
                self.enter(&node.items, |walk| walk.visit_body(&node.body));
            }
            Stmt::For(node) => {
                if node.is_async {
                    self.suspend();
                }
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'n Comprehension) {
        if comprehension.is_async {
            self.suspend();
        }
        crate::python::ast::visitor::source_order::walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'n Expr) {
        match expr {
            Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => {
                self.suspend();
                walk_expr(self, expr);
            }
            Expr::Lambda(node) => self.in_function(&[], |walk| walk.visit_expr(&node.body)),
            _ => walk_expr(self, expr),
        }
    }
}
