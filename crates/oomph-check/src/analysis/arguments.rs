//! Which argument of a call goes to which parameter.

use super::calls::Given;
use super::value::{FunctionId, Value};
use super::walk::Walker;
use crate::python::Expr;

impl<'a> Walker<'a, '_> {
    /// Arguments in the order of the function's parameters.
    pub(super) fn by_parameter(
        &self,
        id: Option<FunctionId>,
        receiver: Option<&Value>,
        given: &Given<'a>,
    ) -> Vec<Option<Value>> {
        let Some(id) = id else { return Vec::new() };
        let outline = &self.tables.outlines[id.file as usize];
        let function = &outline.functions[id.index as usize];
        let parameters = &function.node.parameters;
        let positional = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        let names: Vec<&str> = positional.map(|parameter| parameter.parameter.name.as_str()).collect();
        let mut arguments = vec![None; names.len()];
        let mut next = 0;
        if let (Some(receiver), true, Some(first)) = (receiver, function.is_bound(), arguments.first_mut()) {
            *first = Some(receiver.clone());
            next = 1;
        }
        for value in &given.args {
            if let Some(slot) = arguments.get_mut(next) {
                *slot = Some(value.clone());
            }
            next += 1;
        }
        for (keyword, value) in given.node.arguments.keywords.iter().zip(&given.keywords) {
            let Some(name) = &keyword.arg else { continue };
            if let Some(index) = names.iter().position(|known| *known == name.as_str()) {
                arguments[index] = Some(value.clone());
            }
        }
        arguments
    }

    /// The expression given for a parameter.
    pub(super) fn argument_expr(&self, id: FunctionId, parameter: usize, given: &Given<'a>) -> Option<&'a Expr> {
        let function = &self.tables.outlines[id.file as usize].functions[id.index as usize];
        let bound = usize::from(function.is_bound());
        if let Some(expr) = parameter.checked_sub(bound).and_then(|index| given.node.arguments.args.get(index)) {
            return Some(expr);
        }
        let parameters = &function.node.parameters;
        let mut all = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        given.keyword(all.nth(parameter)?.parameter.name.as_str()).map(|(expr, _)| expr)
    }
}
