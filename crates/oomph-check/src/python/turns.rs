//! Loops that mean the same, written one way: `for x, y in loader`, whoever takes the items and wherever they are
//! unpacked.

use ruff_python_ast::{
    AtomicNodeIndex, CmpOp, ExceptHandler, Expr, ExprCall, ExprContext, Stmt, StmtFor, StmtIf, StmtPass, StmtTry,
    StmtWhile, Suite,
};
use ruff_text_size::{Ranged, TextRange};

use super::mentions::Mentions;
use super::plain::taken;

/// Writes the loops of a suite the plain way; those further in are for whoever comes there.
pub(super) fn make_plain(suite: &mut [Stmt]) {
    for index in 0..suite.len() {
        if suite[index].is_while_stmt() {
            go_over(suite, index);
        }
        if let Stmt::For(node) = &mut suite[index] {
            unpack_at_once(node);
        }
    }
}

/// `for x in xs` of `it = iter(xs)` and a `while` that takes the next until there is none.
fn go_over(suite: &mut [Stmt], index: usize) {
    let Stmt::While(node) = &suite[index] else { return };
    let Some((_, source)) = drawn_by(node) else { return };
    let source = source.to_owned();
    let Some(made) = (0..index).rev().find(|at| is_made(&suite[*at], &source)) else { return };
    if Mentions::of(suite).reads_of(&source) != 1 {
        return;
    }
    let Stmt::Assign(assign) = &mut suite[made] else { return };
    let Expr::Call(call) = &mut *assign.value else { return };
    let Some(iter) = call.arguments.args.first_mut().map(taken) else { return };
    suite[made] = nothing(suite[made].range());
    let Stmt::While(node) = &mut suite[index] else { return };
    let Some((way, _)) = drawn_by(node) else { return };
    let Some(target) = target_of(node, way) else { return };
    let mut body: Suite = std::mem::take(&mut node.body);
    let heads = match way {
        Way::Caught => 1,
        Way::Asked => 2,
        Way::Tested => 0,
    };
    for stmt in body.iter_mut().take(heads) {
        *stmt = nothing(stmt.range());
    }
    let (range, node_index) = (node.range, AtomicNodeIndex::NONE);
    let orelse = std::mem::take(&mut node.orelse);
    let (target, iter) = (Box::new(target), Box::new(iter));
    suite[index] = Stmt::For(StmtFor { is_async: false, target, iter, body, orelse, range, node_index });
}

/// How a `while` takes its next item.
#[derive(Clone, Copy)]
enum Way {
    /// `try: x = next(it)`, and `except StopIteration: break`.
    Caught,
    /// `x = next(it, None)`, and `if x is None: break`.
    Asked,
    /// `while (x := next(it, None)) is not None`.
    Tested,
}

/// How a loop takes items, and the iterator it takes them from.
fn drawn_by(node: &StmtWhile) -> Option<(Way, &str)> {
    if let Some(named) = not_none(&node.test, CmpOp::IsNot).and_then(Expr::as_named_expr) {
        return named.target.is_name_expr().then_some((Way::Tested, next_of(&named.value, 2)?));
    }
    if !matches!(&*node.test, Expr::BooleanLiteral(literal) if literal.value) {
        return None;
    }
    match &node.body[..] {
        [Stmt::Try(caught), ..] => Some((Way::Caught, caught_end(caught)?)),
        [Stmt::Assign(assign), Stmt::If(asked), ..] => {
            let [Expr::Name(target)] = assign.targets.as_slice() else { return None };
            let tested = not_none(&asked.test, CmpOp::Is)?.as_name_expr()?;
            (tested.id == target.id && only_breaks(asked)).then_some((Way::Asked, next_of(&assign.value, 2)?))
        }
        _ => None,
    }
}

/// What is compared with `None`.
fn not_none(test: &Expr, op: CmpOp) -> Option<&Expr> {
    let Expr::Compare(node) = test else { return None };
    let ([found], [Expr::NoneLiteral(_)]) = (&*node.ops, &*node.comparators) else { return None };
    (*found == op).then_some(&*node.left)
}

fn only_breaks(node: &StmtIf) -> bool {
    node.elif_else_clauses.is_empty() && matches!(&node.body[..], [Stmt::Break(_)])
}

/// The iterator of a `try` that takes the next item and ends the loop when there is none.
fn caught_end(node: &StmtTry) -> Option<&str> {
    let ([Stmt::Assign(assign)], [ExceptHandler::ExceptHandler(handler)]) = (&node.body[..], &node.handlers[..]) else {
        return None;
    };
    let ends = matches!(handler.type_.as_deref(), Some(Expr::Name(name)) if name.id.as_str() == "StopIteration");
    let breaks = matches!(&handler.body[..], [Stmt::Break(_)]);
    let alone = node.orelse.is_empty() && node.finalbody.is_empty() && assign.targets.len() == 1;
    if ends && breaks && alone { next_of(&assign.value, 1) } else { None }
}

/// `it` of `next(it)`, which is given so many arguments.
fn next_of(expr: &Expr, count: usize) -> Option<&str> {
    let call = called(expr, "next")?;
    let name = call.arguments.args.first()?.as_name_expr()?;
    let alone = call.arguments.args.len() == count && call.arguments.keywords.is_empty();
    let ends_in_none = call.arguments.args.get(1).is_none_or(Expr::is_none_literal_expr);
    (alone && ends_in_none).then_some(name.id.as_str())
}

fn called<'a>(expr: &'a Expr, name: &str) -> Option<&'a ExprCall> {
    let Expr::Call(call) = expr else { return None };
    matches!(&*call.func, Expr::Name(found) if found.id.as_str() == name).then_some(call)
}

/// Whether a statement is `it = iter(xs)`.
fn is_made(stmt: &Stmt, name: &str) -> bool {
    let Stmt::Assign(assign) = stmt else { return false };
    let named = matches!(assign.targets.as_slice(), [Expr::Name(target)] if target.id.as_str() == name);
    named
        && called(&assign.value, "iter").is_some_and(|call| {
            call.arguments.args.len() == 1
                && call.arguments.keywords.is_empty()
                && !call.arguments.args[0].is_starred_expr()
        })
}

/// What a `while` binds its next item to.
fn target_of(node: &mut StmtWhile, way: Way) -> Option<Expr> {
    let target = match (way, node.body.first_mut()) {
        (Way::Caught, Some(Stmt::Try(caught))) => match caught.body.first_mut() {
            Some(Stmt::Assign(assign)) => taken(assign.targets.first_mut()?),
            _ => return None,
        },
        (Way::Asked, Some(Stmt::Assign(assign))) => taken(assign.targets.first_mut()?),
        (Way::Tested, _) => match &mut *node.test {
            Expr::Compare(test) => match &mut *test.left {
                Expr::Named(named) => taken(&mut named.target),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    Some(target)
}

/// `for x, y in xs` of `for item in xs: x, y = item`, where nothing else wants the item.
fn unpack_at_once(node: &mut StmtFor) {
    let Expr::Name(item) = &*node.target else { return };
    let Some(Stmt::Assign(first)) = node.body.first() else { return };
    let parts = matches!(first.targets.as_slice(), [Expr::Tuple(_) | Expr::List(_)]);
    let whole = matches!(&*first.value, Expr::Name(read) if read.id == item.id && read.ctx == ExprContext::Load);
    if !parts || !whole || Mentions::of(&node.body).reads_of(item.id.as_str()) != 1 {
        return;
    }
    let Some(stmt) = node.body.first_mut() else { return };
    let range = stmt.range();
    if let Stmt::Assign(first) = stmt
        && let Some(target) = first.targets.first_mut().map(taken)
    {
        *node.target = target;
        *stmt = nothing(range);
    }
}

/// What stays where a statement was.
fn nothing(range: TextRange) -> Stmt {
    Stmt::Pass(StmtPass { range: TextRange::empty(range.start()), node_index: AtomicNodeIndex::NONE })
}

#[cfg(test)]
mod tests {
    use super::make_plain;
    use ruff_python_parser::parse_module;

    fn plain(text: &str) -> Vec<ruff_python_ast::Stmt> {
        let mut body = parse_module(text).expect("valid").into_suite();
        make_plain(&mut body);
        body.into_iter().collect()
    }

    #[test]
    fn taking_the_next_until_there_is_none_is_a_for() {
        let caught = "it = iter(xs)\nwhile True:\n    try:\n        x, y = next(it)\n    except StopIteration:\n        break\n    f(x)\n";
        let asked = "it = iter(xs)\nwhile True:\n    x = next(it, None)\n    if x is None:\n        break\n    f(x)\n";
        let tested = "it = iter(xs)\nwhile (x := next(it, None)) is not None:\n    f(x)\n";
        for text in [caught, asked, tested] {
            let body = plain(text);
            assert!(body[0].is_pass_stmt() && body[1].is_for_stmt(), "{text}");
        }
    }

    #[test]
    fn an_iterator_that_others_read_is_left_alone() {
        let text = "it = iter(xs)\nwhile (x := next(it, None)) is not None:\n    f(x, next(it))\n";
        assert!(plain(text)[1].is_while_stmt());
    }

    #[test]
    fn an_item_unpacked_first_is_unpacked_at_once() {
        let body = plain("for item in xs:\n    a, b = item\n    f(a)\nfor item in xs:\n    a, b = item\n    f(item)\n");
        assert!(body[0].as_for_stmt().is_some_and(|node| node.target.is_tuple_expr()));
        assert!(body[1].as_for_stmt().is_some_and(|node| node.target.is_name_expr()));
    }
}
