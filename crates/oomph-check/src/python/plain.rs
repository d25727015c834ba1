//! Statements that mean the same, written one way: what rules say of `x = f()` holds for `x: Tensor = f()`, and what
//! they say of `kept.append(x)` for `kept += [x]`. Loops are the business of `turns`, functions that of `inlined`.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{
    Arguments, AtomicNodeIndex, Expr, ExprAttribute, ExprCall, ExprContext, ExprEllipsisLiteral, Identifier, Operator,
    Stmt, StmtAssign, StmtAugAssign, StmtExpr,
};
use ruff_text_size::Ranged;

use super::turns;

/// Writes all statements the plain way. Fields of classes stay annotated: there that declares them.
pub(super) fn make_plain(body: &mut [Stmt]) {
    turns::make_plain(body);
    for stmt in body {
        match stmt {
            Stmt::Assign(_) => count_up(stmt),
            Stmt::AnnAssign(_) => drop_annotation(stmt),
            Stmt::AugAssign(_) => append_one(stmt),
            Stmt::Expr(_) => bind_by_statement(stmt),
            _ => {}
        }
        for inner in bodies_of(stmt) {
            make_plain(inner);
        }
    }
}

/// `self.model` of `getattr(self, "model")`, `model.eval()` of `model.train(False)`.
pub(super) fn make_calls_plain(body: &mut [Stmt]) {
    struct Plain;
    impl Transformer for Plain {
        fn visit_expr(&self, expr: &mut Expr) {
            transformer::walk_expr(self, expr);
            let Expr::Call(call) = expr else { return };
            evaluate(call);
            let by_name = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "getattr");
            let ([object, Expr::StringLiteral(name)], true) = (&mut *call.arguments.args, by_name) else { return };
            let text = name.value.to_str();
            let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_word || !matches!(object, Expr::Name(_) | Expr::Attribute(_)) {
                return;
            }
            let attr = Identifier::new(Name::new(text), name.range());
            let value = Box::new(taken(object));
            let (range, ctx, node_index) = (call.range(), ExprContext::Load, AtomicNodeIndex::NONE);
            *expr = Expr::Attribute(ExprAttribute { value, attr, ctx, range, node_index });
        }
    }
    for stmt in body {
        Plain.visit_stmt(stmt);
    }
}

/// `model.eval()` of `model.train(False)` and `model.train(mode=False)`.
fn evaluate(call: &mut ExprCall) {
    let Expr::Attribute(method) = &mut *call.func else { return };
    let mode = match (&*call.arguments.args, &*call.arguments.keywords) {
        ([mode], []) => mode,
        ([], [mode]) if mode.arg.as_deref() == Some("mode") => &mode.value,
        _ => return,
    };
    if method.attr.as_str() == "train" && matches!(mode, Expr::BooleanLiteral(literal) if !literal.value) {
        method.attr = Identifier::new(Name::new("eval"), method.attr.range());
        call.arguments.args = Box::default();
        call.arguments.keywords.clear();
    }
}

/// `kept.append(x)` of `kept += [x]`. Every part keeps its place in the text.
fn append_one(stmt: &mut Stmt) {
    let Stmt::AugAssign(StmtAugAssign { target, op: Operator::Add, value, range, .. }) = stmt else { return };
    let Expr::List(list) = &mut **value else { return };
    if list.elts.len() != 1 || list.elts[0].is_starred_expr() {
        return;
    }
    match &mut **target {
        Expr::Name(node) => node.ctx = ExprContext::Load,
        Expr::Attribute(node) => node.ctx = ExprContext::Load,
        _ => return,
    }
    let Some(item) = list.elts.pop() else { return };
    let (whole, of_list, of_target) = (*range, list.range, target.range());
    let method = ExprAttribute {
        value: Box::new(taken(target)),
        attr: Identifier::new(Name::new_static("append"), of_target),
        ctx: ExprContext::Load,
        range: of_target,
        node_index: AtomicNodeIndex::NONE,
    };
    let arguments = Arguments {
        args: Box::new([item]),
        keywords: std::iter::empty().collect(),
        range: of_list,
        node_index: AtomicNodeIndex::NONE,
    };
    let func = Box::new(Expr::Attribute(method));
    let call = ExprCall { func, arguments, range_start: whole.start(), node_index: AtomicNodeIndex::NONE };
    let value = Box::new(Expr::Call(call));
    *stmt = Stmt::Expr(StmtExpr { value, range: whole, node_index: AtomicNodeIndex::NONE });
}

/// `n += 1` of `n = n + 1`: of numbers, both are the same.
fn count_up(stmt: &mut Stmt) {
    let Stmt::Assign(StmtAssign { targets, value, range, .. }) = stmt else { return };
    let ([target], Expr::BinOp(sum)) = (targets.as_mut_slice(), &mut **value) else { return };
    if sum.op != Operator::Add || !target.is_name_expr() && !target.is_attribute_expr() {
        return;
    }
    let added = if is_same_place(target, &sum.left) && is_count(&sum.right) {
        taken(&mut sum.right)
    } else if is_same_place(target, &sum.right) && is_count(&sum.left) {
        taken(&mut sum.left)
    } else {
        return;
    };
    let (target, value, range) = (Box::new(taken(target)), Box::new(added), *range);
    let node_index = AtomicNodeIndex::NONE;
    *stmt = Stmt::AugAssign(StmtAugAssign { target, op: Operator::Add, value, range, node_index });
}

/// Whether a target is what an expression reads.
fn is_same_place(target: &Expr, read: &Expr) -> bool {
    match (target, read) {
        (Expr::Name(target), Expr::Name(read)) => target.id == read.id,
        (Expr::Attribute(target), Expr::Attribute(read)) => {
            target.attr.as_str() == read.attr.as_str() && is_same_place(&target.value, &read.value)
        }
        _ => false,
    }
}

/// Whether an expression is a number, and no tensor: `1`, `len(batch)`.
fn is_count(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) => true,
        Expr::Call(call) => matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "len"),
        _ => false,
    }
}

/// `x = f()` of `(x := f())` that stands alone.
fn bind_by_statement(stmt: &mut Stmt) {
    let Stmt::Expr(StmtExpr { value, range, .. }) = stmt else { return };
    let Expr::Named(named) = &mut **value else { return };
    let (targets, value, range) = (vec![taken(&mut named.target)], Box::new(taken(&mut named.value)), *range);
    *stmt = Stmt::Assign(StmtAssign { targets, value, range, node_index: AtomicNodeIndex::NONE });
}

fn drop_annotation(stmt: &mut Stmt) {
    let Stmt::AnnAssign(node) = stmt else { return };
    let Some(value) = node.value.take() else { return };
    let (targets, range) = (vec![taken(&mut node.target)], node.range);
    *stmt = Stmt::Assign(StmtAssign { targets, value, range, node_index: AtomicNodeIndex::NONE });
}

/// An expression out of a statement that is replaced at once.
pub(super) fn taken(place: &mut Expr) -> Expr {
    std::mem::replace(place, Expr::EllipsisLiteral(ExprEllipsisLiteral::default()))
}

/// The suites of a compound statement; of a class, those of its methods.
pub(super) fn bodies_of(stmt: &mut Stmt) -> Vec<&mut [Stmt]> {
    match stmt {
        Stmt::FunctionDef(node) => vec![&mut node.body],
        Stmt::ClassDef(node) => {
            let methods = node.body.iter_mut().filter(|stmt| !stmt.is_ann_assign_stmt());
            methods.map(std::slice::from_mut).collect()
        }
        Stmt::For(node) => vec![&mut node.body, &mut node.orelse],
        Stmt::While(node) => vec![&mut node.body, &mut node.orelse],
        Stmt::With(node) => vec![&mut node.body],
        Stmt::If(node) => {
            let others = node.elif_else_clauses.iter_mut().map(|clause| &mut clause.body[..]);
            std::iter::once(&mut node.body[..]).chain(others).collect()
        }
        Stmt::Try(node) => {
            let handlers = node.handlers.iter_mut().map(|handler| {
                let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                &mut handler.body[..]
            });
            let rest = [&mut node.body[..], &mut node.orelse[..], &mut node.finalbody[..]];
            rest.into_iter().chain(handlers).collect()
        }
        Stmt::Match(node) => node.cases.iter_mut().map(|case| &mut case.body[..]).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{make_calls_plain, make_plain};
    use ruff_python_parser::parse_module;

    #[test]
    fn training_switched_off_is_evaluation() {
        let text = "m.train(False)\nm.train(mode=False)\nm.train(True)\nm.train(flag)\n";
        let mut body = parse_module(text).expect("valid").into_suite();
        make_calls_plain(&mut body);
        let call = |index: usize| body[index].as_expr_stmt().and_then(|stmt| stmt.value.as_call_expr());
        let name = |index| call(index).and_then(|call| Some(call.func.as_attribute_expr()?.attr.to_string()));
        assert_eq!([0, 1, 2, 3].map(|index| name(index).unwrap_or_default()), ["eval", "eval", "train", "train"]);
    }

    #[test]
    fn only_fields_of_classes_stay_annotated() {
        let text = "x: int = 1\ny: int\nclass A:\n    z: int = 2\n    def f(self):\n        self.w: int = 3\n";
        let mut body = parse_module(text).expect("valid").into_suite();
        make_plain(&mut body);
        assert!(body[0].is_assign_stmt() && body[1].is_ann_assign_stmt());
        let class = body[2].as_class_def_stmt().expect("a class");
        assert!(class.body[0].is_ann_assign_stmt());
        assert!(class.body[1].as_function_def_stmt().expect("a method").body[0].is_assign_stmt());
    }

    #[test]
    fn adding_a_list_of_one_appends() {
        let mut body = parse_module("kept += [x]\nkept += [x, y]\nkept += other\n").expect("valid").into_suite();
        make_plain(&mut body);
        let call = body[0].as_expr_stmt().and_then(|stmt| stmt.value.as_call_expr()).expect("a call");
        assert_eq!(call.func.as_attribute_expr().map(|method| method.attr.as_str()), Some("append"));
        assert!(body[1].is_aug_assign_stmt() && body[2].is_aug_assign_stmt());
    }
}
