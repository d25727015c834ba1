//! Which argument of a call goes to which parameter.

use super::exprs::mixed;
use super::given::Given;
use super::value::{FunctionId, Kind, Value};
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
        let stars = if parameters.kwarg.is_some() { 2 } else { usize::from(parameters.vararg.is_some()) };
        let mut arguments = vec![None; names.len() + stars];
        let (mut next, positional) = (0, parameters.posonlyargs.len() + parameters.args.len());
        let (mut more, mut keyed): (Vec<&Value>, Vec<&Value>) = (Vec::new(), Vec::new());
        if let (Some(receiver), true, Some(first)) = (receiver, function.is_bound(), arguments.first_mut()) {
            *first = Some(receiver.clone());
            next = 1;
        }
        for value in &given.args {
            if next < positional {
                arguments[next] = Some(value.clone());
            } else {
                more.push(value);
            }
            next += 1;
        }
        for (keyword, value) in given.node.arguments.keywords.iter().zip(&given.keywords) {
            let Some(name) = &keyword.arg else { continue };
            match names.iter().position(|known| *known == name.as_str()) {
                Some(index) => arguments[index] = Some(value.clone()),
                None => keyed.push(value),
            }
        }
        if parameters.vararg.is_some() {
            arguments[names.len()] = together(Kind::List, &more);
        }
        if parameters.kwarg.is_some() {
            arguments[names.len() + 1] = together(Kind::Dict, &keyed);
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
        if parameter >= function.named_parameters() {
            let keywords = given.node.arguments.keywords.iter().map(|keyword| &keyword.value).zip(&given.keywords);
            let mut all = given.node.arguments.args.iter().zip(&given.args).chain(keywords);
            return all.find(|(_, value)| value.holds_graph()).map(|(expr, _)| expr);
        }
        given.keyword(all.nth(parameter)?.parameter.name.as_str()).map(|(expr, _)| expr)
    }
}

/// What `*args` or `**kwargs` hold: of several things the one that matters, a tensor with a graph.
fn together(kind: Kind, values: &[&Value]) -> Option<Value> {
    let graph = values.iter().find(|value| value.keeps_graph()).map(|value| (*value).clone());
    let all = || values.iter().map(|value| (*value).clone()).reduce(|a, b| mixed(&a, &b));
    Some(Value::holder(kind, graph.or_else(all)?))
}
