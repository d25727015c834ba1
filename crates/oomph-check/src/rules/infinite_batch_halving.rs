//! `infinite-batch-halving`: the batch is halved until it fits, or for ever.

use crate::analysis::events::BlockKind;
use crate::analysis::value::BlockId;
use crate::facts::Facts;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::ast::{ExceptHandlerExceptHandler, Operator};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::Size;

pub(super) static RULE: Rule = Rule {
    name: "infinite-batch-halving",
    group: Group::Recovery,
    size: Size::failure(),
    is_opportunity: false,
    fix: None,
    summary: "A loop makes the batch smaller on every out-of-memory error and has no lower bound.",
    why: "Where the model alone does not fit, the batch shrinks to zero and the loop fails with a strange error about an \
          empty batch, or never ends.",
    cost: "A job that spins on the GPU without working.",
    instead: "Stop at a least batch: `if batch_size <= 1: raise`.",
    when_not: "The bound is checked in what the loop calls.",
    programs: include_str!("infinite_batch_halving.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (block, handler) in facts.handlers() {
        let Some((place, size)) = shrinks(facts, handler) else { continue };
        let Some(caught) = facts.oom_caught(handler).or_else(|| any_error(facts, handler, &size)) else { continue };
        let Some((turns, test)) = endless_loop(facts, block) else { continue };
        let name = size.rsplit('.').next().unwrap_or(&size).to_owned();
        let bounded = test.contains(&name) || compares(facts.body_of_block(turns), facts, &name);
        if bounded {
            continue;
        }
        report
            .add(&place, format!("`{size}` shrinks without a bound: where nothing fits, the loop does not end"))
            .because(&caught, "on every out-of-memory error")
            .because(&head(facts, turns), "the loop tries again and checks no least size");
    }
}

/// The head of a handler of whatever goes wrong, when it makes batches smaller: memory is what it has in mind.
fn any_error(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler, size: &str) -> Option<TextRange> {
    let kind = handler.type_.as_deref()?;
    let broad = matches!(facts.source.slice(kind.range()), "RuntimeError" | "Exception" | "(RuntimeError,)");
    let name = size.to_ascii_lowercase();
    let of_batches = name.contains("batch") || matches!(name.rsplit('.').next(), Some("bs" | "bsz" | "chunk_size"));
    (broad && of_batches).then(|| kind.range())
}

/// The assignment in a handler that makes something smaller, and what.
fn shrinks(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> Option<(TextRange, String)> {
    let statements =
        facts.statements().iter().filter(|statement| handler.range().contains_range(statement.node.range()));
    statements.into_iter().find_map(|statement| match statement.node {
        Stmt::AugAssign(node) if matches!(node.op, Operator::FloorDiv | Operator::Div | Operator::RShift) => {
            Some((node.range(), facts.source.slice(node.target.range()).to_owned()))
        }
        Stmt::Assign(node) => {
            let target = facts.source.slice(node.targets.first()?.range());
            let halves = is_part_of(facts, &node.value, target);
            halves.then(|| (node.range(), target.to_owned()))
        }
        _ => None,
    })
}

/// `x // 2`, `int(x / 2)`.
fn is_part_of(facts: &Facts<'_>, expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::BinOp(node) => {
            matches!(node.op, Operator::FloorDiv | Operator::Div | Operator::RShift)
                && facts.source.slice(node.left.range()) == name
        }
        Expr::Call(call) => {
            let converts = matches!(&*call.func, Expr::Name(func) if func.id.as_str() == "int");
            converts && call.arguments.args.first().is_some_and(|arg| is_part_of(facts, arg, name))
        }
        _ => false,
    }
}

/// The `while` around a handler, if it is the innermost loop, and its test.
fn endless_loop<'f>(facts: &'f Facts<'_>, handler: BlockId) -> Option<(BlockId, &'f str)> {
    let mut now = facts.block(handler).parent;
    loop {
        let block = facts.block(now);
        match block.kind {
            BlockKind::Loop(_, Stmt::While(node)) => return Some((now, facts.source.slice(node.test.range()))),
            BlockKind::Loop(..) | BlockKind::Comprehension(..) | BlockKind::Function(_) | BlockKind::Module => {
                return None;
            }
            _ => now = block.parent,
        }
    }
}

fn head(facts: &Facts<'_>, turns: BlockId) -> TextRange {
    match facts.block(turns).kind {
        BlockKind::Loop(_, Stmt::While(node)) => TextRange::new(node.range().start(), node.test.range().end()),
        _ => facts.block(turns).range,
    }
}

/// Whether something compares the size, takes a maximum with it or asserts it.
fn compares(body: &[Stmt], facts: &Facts<'_>, name: &str) -> bool {
    struct Compares<'f> {
        says: &'f dyn Fn(TextRange) -> bool,
        found: bool,
    }
    impl<'a> SourceOrderVisitor<'a> for Compares<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let bound = match expr {
                Expr::Compare(_) => true,
                Expr::Call(call) => matches!(&*call.func, Expr::Name(func) if func.id.as_str() == "max"),
                _ => false,
            };
            self.found |= bound && (self.says)(expr.range());
            walk_expr(self, expr);
        }
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::If(node) = stmt {
                self.found |= (self.says)(node.test.range());
            }
            crate::python::ast::visitor::source_order::walk_stmt(self, stmt);
        }
    }
    let says = |range: TextRange| facts.source.slice(range).contains(name);
    let mut compares = Compares { says: &says, found: false };
    walk_body(&mut compares, body);
    compares.found
}
