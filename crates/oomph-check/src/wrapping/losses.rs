//! Whether a loss comes out of a wrapper as one number a card, which torch refuses to go back from.

use super::spots::{Path, assignments_in, calls_in};
use crate::python::ast::Operator;
use crate::python::{Expr, Stmt};
use crate::uses::last_name;

/// Whether a function goes back from what the wrapper gave, as it is: from several cards that is one number each, and
/// torch refuses to go back from more than one.
pub(super) fn goes_back_as_it_is(body: &[Stmt], path: &Path) -> bool {
    let assigned = assignments_in(body);
    calls_in(body).into_iter().any(|call| {
        let Expr::Attribute(method) = &*call.func else { return false };
        if method.attr.as_str() != "backward" || !call.arguments.args.is_empty() {
            return false;
        }
        let from = match &*method.value {
            // `scaler.scale(loss).backward()`.
            Expr::Call(scaled) if last_name(&scaled.func) == Some("scale") => scaled.arguments.args.first(),
            other => Some(other),
        };
        from.is_some_and(|from| is_given_by(from, path, &assigned, 4))
    })
}

/// Whether an expression is what the wrapper gave, a part of it, or that times a number.
fn is_given_by<'a>(expr: &'a Expr, path: &Path, assigned: &[(&'a str, &'a Expr)], hops: u32) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return false };
    let given = |expr: &'a Expr| is_given_by(expr, path, assigned, hops);
    match expr {
        Expr::Call(call) => path.is(&call.func),
        Expr::Attribute(node) => given(&node.value),
        Expr::Subscript(node) => given(&node.value),
        Expr::BinOp(node) => matches!(node.op, Operator::Div | Operator::Mult) && given(&node.left),
        Expr::Name(node) => {
            let name = node.id.as_str();
            let mut values = assigned.iter().filter(|(target, _)| *target == name).peekable();
            // `loss = loss / 4` is as wide as it was.
            let scales = |value: &'a Expr| match value {
                Expr::BinOp(scaled) => matches!(&*scaled.left, Expr::Name(left) if left.id.as_str() == name),
                _ => false,
            };
            values.peek().is_some()
                && values.clone().any(|(_, value)| given(value))
                && values.all(|(_, value)| scales(value) || given(value))
        }
        _ => false,
    }
}
