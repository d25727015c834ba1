//! Statements that mean the same, written one way: what rules say of `x = f()` holds for `x: Tensor = f()`.

use ruff_python_ast::{AtomicNodeIndex, Stmt, StmtAnnAssign, StmtAssign};

/// Makes assignments of those that are annotated, everywhere but in the bodies of classes, where they declare fields.
pub(super) fn without_annotations(body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::AnnAssign(StmtAnnAssign { value: Some(_), .. }) = stmt {
            make_plain(stmt);
        }
        for inner in bodies_of(stmt) {
            without_annotations(inner);
        }
    }
}

fn make_plain(stmt: &mut Stmt) {
    let Stmt::AnnAssign(node) = stmt else { return };
    let Some(value) = node.value.take() else { return };
    let target = std::mem::replace(&mut *node.target, (*value).clone());
    let (range, node_index) = (node.range, AtomicNodeIndex::NONE);
    *stmt = Stmt::Assign(StmtAssign { targets: vec![target], value, range, node_index });
}

/// The suites of a compound statement; of a class, those of its methods.
fn bodies_of(stmt: &mut Stmt) -> Vec<&mut [Stmt]> {
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
    use super::without_annotations;
    use ruff_python_parser::parse_module;

    #[test]
    fn only_fields_of_classes_stay_annotated() {
        let text = "x: int = 1\ny: int\nclass A:\n    z: int = 2\n    def f(self):\n        self.w: int = 3\n";
        let mut body = parse_module(text).expect("valid").into_suite();
        without_annotations(&mut body);
        assert!(body[0].is_assign_stmt() && body[1].is_ann_assign_stmt());
        let class = body[2].as_class_def_stmt().expect("a class");
        assert!(class.body[0].is_ann_assign_stmt());
        assert!(class.body[1].as_function_def_stmt().expect("a method").body[0].is_assign_stmt());
    }
}
