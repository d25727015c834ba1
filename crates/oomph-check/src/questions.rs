//! Questions about a file that several rules ask: guards, handlers, steps every few batches.

use crate::analysis::events::{At, BlockKind, Call, Callee, Statement};
use crate::analysis::value::{BlockId, Kind};
use crate::facts::{Facts, Loop};
use crate::python::ast::ExceptHandlerExceptHandler;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Whether the code looks before it leaps: under a test of versions or of what exists, or after an import failed.
    #[must_use]
    pub fn is_guarded(&self, at: &At) -> bool {
        const TESTS: &[&str] = &["hasattr", "version", "getattr", "callable(", "greater", "torch_ge", "torch_2"];
        let tests = |test: &Expr| {
            let text = self.source.slice(test.range()).to_ascii_lowercase();
            TESTS.iter().any(|word| text.contains(word))
        };
        let fallback = |handler: &ExceptHandlerExceptHandler| match handler.type_.as_deref() {
            None => true,
            Some(kind) => {
                let text = self.source.slice(kind.range());
                ["ImportError", "ModuleNotFoundError", "AttributeError", "TypeError"]
                    .iter()
                    .any(|name| text.contains(name))
            }
        };
        self.blocks_around(at).any(|(_, block)| match block.kind {
            BlockKind::If(Some(test)) | BlockKind::Else(test) => tests(test),
            BlockKind::Handler(handler) => fallback(handler),
            _ => false,
        })
    }

    /// Every `except`.
    pub fn handlers(&self) -> impl Iterator<Item = (BlockId, &'a ExceptHandlerExceptHandler)> {
        self.blocks().filter_map(|(id, block)| match block.kind {
            BlockKind::Handler(handler) => Some((id, handler)),
            _ => None,
        })
    }

    /// The head of a handler that catches running out of memory: by class, or by the words of the error.
    #[must_use]
    pub fn oom_caught(&self, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
        let kind = handler.type_.as_deref()?;
        let text = self.source.slice(kind.range());
        let general = text.contains("RuntimeError") || text == "Exception";
        let by_words = general && self.source.slice(handler.range()).contains("out of memory");
        (text.contains("OutOfMemoryError") || by_words).then(|| kind.range())
    }

    /// Whether a call is reached only after a step ran out of memory: the way of success leaves the turn before it, by
    /// `return`, `break` or `continue`.
    #[must_use]
    pub fn follows_failure(&self, call: &Call<'a>) -> bool {
        let start = call.range().start();
        self.statements().iter().any(|statement| {
            let before = statement.node.end() <= start && self.is_inside(call.at.block, statement.block);
            if !before || self.block(statement.block).function != call.at.function || !self.may_run_out(statement) {
                return false;
            }
            let follow = statement.suite.iter().skip(statement.index + 1).take_while(|stmt| stmt.end() <= start);
            let tried = match statement.node {
                Stmt::Try(node) => node.body.iter().chain(&node.orelse).any(leaves_turn),
                found @ Stmt::If(_) => leaves_turn(found),
                _ => false,
            };
            let failed = flags_of_failure(statement.node);
            tried || follow.into_iter().any(|stmt| leaves_on_success(stmt, &failed))
        })
    }

    /// Whether a statement runs out of memory without an error: a `try` that catches it, or a call of a function with one.
    fn may_run_out(&self, statement: &Statement<'a>) -> bool {
        let says = |text: &str| text.contains("OutOfMemoryError") || text.contains("out of memory");
        match statement.node {
            Stmt::Try(node) => node.handlers.iter().any(|handler| says(self.source.slice(handler.range()))),
            Stmt::Assign(_) | Stmt::Expr(_) | Stmt::If(_) => {
                let range = match statement.node {
                    Stmt::If(node) => node.test.range(),
                    other => other.range(),
                };
                self.calls().iter().filter(|call| range.contains_range(call.range())).any(|call| match call.callee {
                    Callee::Project(id) if self.is_own(id) => {
                        let text = self.source.slice(self.function_def(id).node.range());
                        says(text) && text.contains("except")
                    }
                    _ => false,
                })
            }
            _ => false,
        }
    }

    /// The body of the `try` a handler belongs to.
    #[must_use]
    pub fn tried(&self, handler: BlockId) -> Option<BlockId> {
        let (parent, start) = (self.block(handler).parent, self.block(handler).range.start());
        let bodies = self.blocks().filter(move |(_, block)| {
            matches!(block.kind, BlockKind::Try) && block.parent == parent && block.range.end() <= start
        });
        bodies.last().map(|(id, _)| id)
    }

    /// Whether a call runs a forward or backward pass, itself or in a function of the project.
    #[must_use]
    pub fn is_heavy(&self, call: &Call<'_>) -> bool {
        let through = self.callee_summary(call).is_some_and(|summary| summary.forwards || summary.calls_backward);
        call.callee == Callee::Module || through || call.name == "backward"
    }

    /// The optimizer a step is for, as written: `opt` of `opt.step()` and of `scaler.step(opt)`.
    #[must_use]
    pub fn stepped(&self, step: &Call<'_>) -> Option<&str> {
        let scaled = step.receiver.as_ref().is_some_and(|value| value.kind == Kind::Scaler);
        let expr = if scaled { step.arg(0) } else { step.receiver_expr() };
        expr.map(|expr| self.source.slice(expr.range()))
    }

    /// The tests around a point, inside a block, innermost first; `None` for one that is not known.
    pub fn tests_within(&self, at: &At, outer: BlockId) -> impl Iterator<Item = Option<&'a Expr>> {
        let inside = self.blocks_around(at).take_while(move |(id, _)| *id != outer);
        inside.filter_map(|(_, block)| match block.kind {
            BlockKind::If(test) => Some(test),
            BlockKind::Else(_) | BlockKind::Handler(_) | BlockKind::Case => Some(None),
            _ => None,
        })
    }

    /// The `topk` that an index of labels comes from, where its neighbours times the classes are a hundred thousand
    /// numbers for each sample and more: `labels[similarity.topk(200).indices]` over a thousand classes.
    #[must_use]
    pub fn neighbours_spread(&self, index: &'a Expr, classes: &'a Expr, at: &At) -> Option<TextRange> {
        const MANY: u64 = 100_000;
        let Expr::Subscript(labels) = index else { return None };
        let picked = last_name(&labels.slice)?;
        let handed_on = || {
            let mut callers = self.callers_of(at);
            callers.find_map(|caller| self.top_of(last_name(self.argument_of(caller, picked)?)?, &caller.at))
        };
        let top = self.top_of(picked, at).or_else(handed_on)?;
        let count = top.keyword("k").or_else(|| top.arg(usize::from(self.full_name(top).is_some())))?;
        let fewest = |expr: &'a Expr| self.numbers_given(expr, at).into_iter().min();
        let numbers = fewest(count)?.checked_mul(fewest(classes)?)?;
        (numbers >= MANY).then(|| top.range())
    }

    /// The `topk` that a name gets its indices from, before a point of the same function.
    fn top_of(&self, name: &str, at: &At) -> Option<&Call<'a>> {
        let own = |call: &&Call<'a>| call.at.function == at.function && call.at.order < at.order;
        let binds = |call: &&Call<'a>| {
            let stmt = self.statement(call.at.stmt).and_then(|found| found.node.as_assign_stmt());
            stmt.is_some_and(|stmt| stmt.targets.iter().any(|target| self.target_binds(target, name)))
        };
        self.calls_named("topk").filter(own).find(binds)
    }

    /// The body of a loop.
    #[must_use]
    pub fn body_of(&self, turns: &Loop<'a>) -> &'a [Stmt] {
        match turns.node {
            BlockKind::Loop(_, Stmt::For(node)) => &node.body,
            BlockKind::Loop(_, Stmt::While(node)) => &node.body,
            _ => &[],
        }
    }

    /// The body of the loop a block is.
    #[must_use]
    pub fn body_of_block(&self, id: BlockId) -> &'a [Stmt] {
        let block = self.block(id);
        block
            .kind
            .loop_kind()
            .map_or(&[][..], |kind| self.body_of(&Loop { block: id, kind, range: block.range, node: block.kind }))
    }

    /// Whether two calls stand in branches of one `if` that never both run: load the weights, or else train them.
    #[must_use]
    pub fn is_other_branch(&self, first: &Call<'_>, second: &Call<'_>) -> bool {
        self.statements().iter().any(|statement| {
            let Stmt::If(node) = statement.node else { return false };
            let body =
                node.body.first().zip(node.body.last()).map(|(first, last)| TextRange::new(first.start(), last.end()));
            let branches = body.into_iter().chain(node.elif_else_clauses.iter().map(Ranged::range));
            let of = |call: &Call<'_>| branches.clone().position(|branch| branch.contains_range(call.range()));
            matches!((of(first), of(second)), (Some(a), Some(b)) if a != b)
        })
    }
}

/// Whether a statement may leave the turn of a loop or the function around it.
fn leaves_turn(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_) => true,
        Stmt::If(node) => {
            node.body.iter().any(leaves_turn)
                || node.elif_else_clauses.iter().any(|clause| clause.body.iter().any(leaves_turn))
        }
        Stmt::With(node) => node.body.iter().any(leaves_turn),
        _ => false,
    }
}

/// Names that the handlers of a `try` set to `True`: they say that it failed.
fn flags_of_failure(stmt: &Stmt) -> Vec<&str> {
    let Stmt::Try(node) = stmt else { return Vec::new() };
    let handled = node.handlers.iter().filter_map(|handler| handler.as_except_handler());
    let set = handled.flat_map(|handler| &handler.body).filter_map(|stmt| match stmt {
        Stmt::Assign(assign) => match (assign.targets.as_slice(), &*assign.value) {
            ([Expr::Name(name)], Expr::BooleanLiteral(flag)) if flag.value => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    });
    set.collect()
}

/// Whether a statement leaves the turn, and not just where a flag says that the step failed.
fn leaves_on_success(stmt: &Stmt, failed: &[&str]) -> bool {
    match stmt {
        Stmt::If(node) => {
            let on_failure = matches!(&*node.test, Expr::Name(name) if failed.contains(&name.id.as_str()));
            let otherwise = node.elif_else_clauses.iter().any(|clause| clause.body.iter().any(leaves_turn));
            otherwise || !on_failure && node.body.iter().any(leaves_turn)
        }
        other => leaves_turn(other),
    }
}

/// The text of a string literal.
#[must_use]
pub fn string_literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(literal) => Some(literal.value.to_str()),
        _ => None,
    }
}
