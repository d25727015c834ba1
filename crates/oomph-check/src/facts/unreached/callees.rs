//! What calls of the file's and the project's own functions certainly do.

use super::Cause;
use super::flow::Own;
use crate::analysis::events::Callee;
use crate::analysis::outline::FunctionDef;
use crate::analysis::value::ClassId;
use crate::facts::Facts;
use crate::python::ast::StmtFunctionDef;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_stmt};
use crate::python::{Expr, Ranged, Stmt};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// What a method calls its object, and the class.
    pub(super) fn own_of(&self, node: &'a StmtFunctionDef) -> Option<Own<'a>> {
        let outline = &self.tables.outlines[self.file as usize];
        let function = &outline.functions[outline.function_of(node)? as usize];
        let class = ClassId { file: self.file, index: function.class? };
        let mut decorators = node.decorator_list.iter().filter_map(|decorator| last_name(&decorator.expression));
        if decorators.any(|name| matches!(name, "staticmethod" | "classmethod")) {
            return None;
        }
        let name = node.parameters.iter_non_variadic_params().next()?.name().as_str();
        (name == "self").then_some(Own { name, class })
    }

    /// The name by which the file's code calls a function: its own, or its class's for `__init__`. Only where that
    /// name means nothing else.
    pub(super) fn callable_name(&self, node: &'a StmtFunctionDef) -> Option<&'a str> {
        let outline = &self.tables.outlines[self.file as usize];
        let function = &outline.functions[outline.function_of(node)? as usize];
        if !node.decorator_list.iter().all(|decorator| keeps_result(&decorator.expression)) {
            return None;
        }
        let name = match function.class {
            None => function.parent.is_none().then(|| node.name.as_str())?,
            Some(class) if node.name.as_str() == "__init__" => outline.classes[class as usize].node.name.as_str(),
            Some(_) => return None,
        };
        let functions =
            outline.functions.iter().filter(|found| found.class.is_none() && found.node.name.as_str() == name);
        let classes = outline.classes.iter().filter(|found| found.node.name.as_str() == name);
        let only = functions.count() + classes.count() == 1 && !outline.imports.contains_key(name);
        only.then_some(name)
    }

    /// `a, b = f()` where every `return` of `f` gives three.
    pub(super) fn wrong_length(&self, target: &Expr, value: &Expr) -> Option<Cause> {
        let targets = match target {
            Expr::Tuple(node) => &node.elts,
            Expr::List(node) => &node.elts,
            _ => return None,
        };
        let Expr::Call(node) = value else { return None };
        if targets.iter().any(Expr::is_starred_expr) {
            return None;
        }
        let name = last_name(&node.func)?;
        let named = self.calls_named(name).find(|call| call.node.range() == node.range())?;
        let Callee::Project(id) = named.callee else { return None };
        let callee = &self.tables.outlines[id.file as usize].functions[id.index as usize];
        let given = returned_length(callee)?;
        // Another function of this name may be the one that is meant.
        let all = self.tables.outlines.iter().flat_map(|outline| &outline.functions);
        let mut same = all.filter(|function| function.node.name.as_str() == callee.node.name.as_str());
        let differ = same.all(|function| returned_length(function).is_some_and(|found| found == given));
        (given != targets.len() && differ && callee.node.name.as_str() == name).then(|| Cause {
            range: node.range(),
            text: format!("`{name}` returns {given} values, not {}: this raises whenever it runs", targets.len()),
        })
    }
}

/// Whether a decorator leaves what a function takes and returns as it is.
pub(super) fn keeps_result(decorator: &Expr) -> bool {
    let function = if let Expr::Call(call) = decorator { &call.func } else { decorator };
    matches!(last_name(function), Some("no_grad" | "inference_mode" | "enable_grad" | "staticmethod" | "classmethod"))
}

/// How many values a function returns, where every `return` of it writes that many out.
fn returned_length(function: &FunctionDef<'_>) -> Option<usize> {
    struct Returns {
        lengths: Vec<Option<usize>>,
    }
    impl<'a> SourceOrderVisitor<'a> for Returns {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                Stmt::Return(node) => self.lengths.push(match node.value.as_deref() {
                    Some(Expr::Tuple(tuple)) if !tuple.elts.iter().any(Expr::is_starred_expr) => Some(tuple.elts.len()),
                    _ => None,
                }),
                _ => walk_stmt(self, stmt),
            }
        }
    }
    let node = function.node;
    let plain = node.decorator_list.iter().all(|decorator| keeps_result(&decorator.expression));
    if function.is_generator || node.is_async || !plain {
        return None;
    }
    let mut returns = Returns { lengths: Vec::new() };
    for stmt in &node.body {
        returns.visit_stmt(stmt);
    }
    let first = (*returns.lengths.first()?)?;
    returns.lengths.iter().all(|length| *length == Some(first)).then_some(first)
}
