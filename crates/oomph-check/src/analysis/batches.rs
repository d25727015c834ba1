//! Loops that go over batches without saying so by name: they draw with `next`, or move every item to a device.

use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr, walk_stmt};
use crate::python::{Expr, Stmt, root_name};

/// Whether the body of a loop draws a batch on every turn: `x, y = next(iterator)` among its own statements.
pub(super) fn are_drawn_in(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Assign(assign) => are_drawn_by(&assign.value),
        Stmt::Try(node) => are_drawn_in(&node.body),
        _ => false,
    })
}

/// Whether an expression draws from an iterator: `next(iterator).cuda()`, `(batch := next(iterator, None)) is not None`.
pub(super) fn are_drawn_by(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) => draws(name.id.as_str()),
            Expr::Attribute(attribute) => {
                // `model.next(state, action)` is a step in time, `iterator.next()` a batch.
                let steps = attribute.attr.as_str() == "next" && !call.arguments.is_empty();
                draws(attribute.attr.as_str()) && !steps || are_drawn_by(&attribute.value)
            }
            _ => false,
        },
        Expr::Attribute(attribute) => are_drawn_by(&attribute.value),
        Expr::Subscript(subscript) => are_drawn_by(&subscript.value),
        Expr::Named(named) => are_drawn_by(&named.value),
        Expr::Compare(compare) => are_drawn_by(&compare.left),
        _ => false,
    }
}

/// Whether a function by this name gives the next batch: `next(it)`, `get_batch("train")`.
fn draws(name: &str) -> bool {
    name == "next" || ["get_batch", "next_batch", "sample_batch"].iter().any(|end| name.ends_with(end))
}

/// Whether the body of a loop moves what it goes over to a device on every turn: `for a, b in trials: net(a.cuda())`.
pub(super) fn are_moved_in(target: &Expr, iter: &Expr, body: &[Stmt]) -> bool {
    // Entries of one batch, weights and optimizer state are moved too.
    const NOT_BATCHES: &[&str] = &[
        "items",
        "values",
        "keys",
        "parameters",
        "modules",
        "children",
        "models",
        "nets",
        "layers",
        "state",
        "buffers",
    ];
    let last = match iter {
        Expr::Call(call) => &*call.func,
        other => other,
    };
    // What an object keeps in an attribute is as often its modules as its data.
    let Expr::Name(node) = last else { return false };
    let name = node.id.as_str();
    if NOT_BATCHES.iter().any(|word| name.ends_with(word)) {
        return false;
    }
    // `for x, layer in zip(maps, layers): layer(x.cuda())` goes through one pass, stage by stage.
    let mut runs = Runs { target, found: false };
    walk_body(&mut runs, body);
    let mut moves = Moves { target, found: false };
    for statement in body {
        moves.visit_stmt(statement);
    }
    moves.found && !runs.found
}

/// Looks for a call of something the loop goes over.
struct Runs<'t> {
    target: &'t Expr,
    found: bool,
}

impl<'a> SourceOrderVisitor<'a> for Runs<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Name(called) = &*call.func
            && let Expr::Tuple(targets) = self.target
        {
            self.found |= targets.elts.iter().any(|part| matches!(part, Expr::Name(name) if name.id == called.id));
        }
        walk_expr(self, expr);
    }
}

/// Looks for `.cuda()` and `.to(...)` of something of the target.
struct Moves<'t> {
    target: &'t Expr,
    found: bool,
}

impl Moves<'_> {
    fn is_of_target(&self, moved: &Expr) -> bool {
        match self.target {
            // `layer(x).to(device)` moves what came out of an item, not the item.
            Expr::Name(name) => root_name(moved) == Some(name.id.as_str()) && !is_called_itself(moved),
            Expr::Tuple(tuple) => {
                tuple.elts.iter().any(|part| Moves { target: part, found: false }.is_of_target(moved))
            }
            _ => false,
        }
    }
}

/// Whether the name an expression begins with is called: `layer(x).squeeze()`.
fn is_called_itself(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => call.func.is_name_expr() || is_called_itself(&call.func),
        Expr::Attribute(node) => is_called_itself(&node.value),
        Expr::Subscript(node) => is_called_itself(&node.value),
        _ => false,
    }
}

impl<'a> SourceOrderVisitor<'a> for Moves<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        // Only what runs on every turn of this loop.
        if !self.found && !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::For(_) | Stmt::While(_))
        {
            walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(attribute) = &*call.func
            && matches!(attribute.attr.as_str(), "cuda" | "to")
        {
            self.found |= self.is_of_target(&attribute.value);
        }
        if !self.found {
            walk_expr(self, expr);
        }
    }
}

/// Whether a loop takes a step in an environment on every turn: `obs, reward, done, info = env.step(action)`.
pub(crate) fn is_played(turns: &Stmt) -> bool {
    let body = match turns {
        Stmt::For(node) => &node.body,
        Stmt::While(node) => &node.body,
        _ => return false,
    };
    body.iter().any(|statement| {
        let Stmt::Assign(assign) = statement else { return false };
        let [Expr::Tuple(answer)] = &assign.targets[..] else { return false };
        let Expr::Call(call) = &*assign.value else { return false };
        let Expr::Attribute(method) = &*call.func else { return false };
        let of_env = || crate::uses::last_name(&method.value).is_some_and(|name| name.contains("env"));
        let answers = answer.elts.len();
        method.attr.as_str() == "step" && (matches!(answers, 4 | 5) || matches!(answers, 2 | 3) && of_env())
    })
}
