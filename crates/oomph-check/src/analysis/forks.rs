//! Functions that return another thing by a flag: what a call with a constant for it gets.

use super::given::Given;
use super::tables::Summary;
use super::value::{FunctionId, Kind, Value};
use super::walk::Walker;
use crate::python::ast::{StmtFunctionDef, StmtReturn};
use crate::python::{Expr, Ranged, Stmt, TextRange};

/// What a function returns where one of its parameters is true, and where it is false.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    parameter: usize,
    /// The whole `if`, and the part of it that runs when the parameter is true or, after `not`, false.
    whole: TextRange,
    body: TextRange,
    is_negated: bool,
    /// What is returned in that part, and what anywhere else.
    inside: Option<Value>,
    outside: Option<Value>,
}

impl Fork {
    /// The first `if` of a function's own body that asks for a bare parameter and ends by returning.
    pub(super) fn of(function: &StmtFunctionDef) -> Option<Self> {
        let parameters = &function.parameters;
        let names = || parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        function.body.iter().find_map(|stmt| {
            let Stmt::If(node) = stmt else { return None };
            let (test, is_negated) = match &*node.test {
                Expr::UnaryOp(test) if test.op.is_not() => (&*test.operand, true),
                test => (test, false),
            };
            let (Expr::Name(name), Some(first), Some(Stmt::Return(last))) = (test, node.body.first(), node.body.last())
            else {
                return None;
            };
            let parameter = names().position(|found| found.parameter.name.as_str() == name.id.as_str())?;
            let body = TextRange::new(first.start(), last.end());
            Some(Self { parameter, whole: node.range(), body, is_negated, inside: None, outside: None })
        })
    }

    pub(super) fn note(&mut self, node: &StmtReturn, value: &Value) {
        let add = |place: &mut Option<Value>| {
            *place = Some(place.as_ref().map_or_else(|| value.clone(), |old| old.join(value)));
        };
        let is_inside = self.body.contains_range(node.range());
        let is_before = node.end() <= self.whole.start();
        if is_inside || is_before {
            add(&mut self.inside);
        }
        if !is_inside {
            add(&mut self.outside);
        }
    }

    /// The same as callers see it.
    pub(super) fn exported(self, for_callers: impl Fn(&Value) -> Value) -> Self {
        let seen = |value: Option<Value>| value.map(|value| for_callers(&value));
        Self { inside: seen(self.inside), outside: seen(self.outside), ..self }
    }
}

impl<'a> Walker<'a, '_> {
    /// What a function returns to a call: the branch that a constant takes, where it decides.
    pub(super) fn returned_to(&self, given: &Given<'a>, id: FunctionId, summary: &Summary) -> Value {
        let by_constant = || {
            let fork = summary.fork.as_deref()?;
            let flag = self.constant_given(given, id, fork.parameter)?;
            let branch = if flag == fork.is_negated { &fork.outside } else { &fork.inside };
            Some(branch.clone().unwrap_or_else(|| Value::of(Kind::None)))
        };
        by_constant().unwrap_or_else(|| summary.returns.clone())
    }

    /// The `True` or `False` that a call gives a parameter, or leaves it at.
    fn constant_given(&self, given: &Given<'a>, id: FunctionId, parameter: usize) -> Option<bool> {
        let arguments = &given.node.arguments;
        let hidden = arguments.args.iter().any(Expr::is_starred_expr)
            || arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        let function = self.tables.outlines[id.file as usize].functions[id.index as usize].node;
        let parameters = &function.parameters;
        let mut all = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        let value = match self.argument_expr(id, parameter, given) {
            Some(value) => value,
            None => all.nth(parameter)?.default.as_deref()?,
        };
        match value {
            Expr::BooleanLiteral(literal) if !hidden => Some(literal.value),
            _ => None,
        }
    }
}
