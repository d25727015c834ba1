//! Functions passed to others: hooks, pack functions, schedules, as lambdas or by name.

use crate::analysis::events::{Bind, BlockKind, Callee, Return, Store};
use crate::analysis::value::{BlockId, FunctionId, Kind, Value};
use crate::facts::Facts;
use crate::python::ast::Parameters;
use crate::python::{Expr, Ranged};

/// A lambda, or a function of this file, that is passed on.
#[derive(Debug)]
pub struct Callback<'a> {
    /// What the one who calls it passes: `self` and what `partial` has bound are left out.
    pub parameters: Vec<&'a str>,
    /// What it returns: the body of a lambda, the expression of every `return`.
    pub results: Vec<&'a Expr>,
    body: Body,
}

#[derive(Debug, Clone, Copy)]
enum Body {
    Lambda(BlockId),
    Function(u32),
}

impl<'a> Facts<'a> {
    /// What an argument that is called later does; `None` when it is not in this file.
    #[must_use]
    pub fn callback(&self, expr: &'a Expr, value: &Value) -> Option<Callback<'a>> {
        if let Expr::Lambda(lambda) = expr {
            let found = |kind: BlockKind<'_>| matches!(kind, BlockKind::Lambda);
            let (block, _) = self.blocks().find(|(_, block)| found(block.kind) && block.range == lambda.range())?;
            let parameters = lambda.parameters.as_deref().map(names).unwrap_or_default();
            return Some(Callback { parameters, results: vec![&lambda.body], body: Body::Lambda(block) });
        }
        if let Some(call) = self.call_at(expr).filter(|call| self.full_name(call) == Some("functools.partial")) {
            let mut inner = self.callback(call.arg(0)?, call.args.first()?)?;
            let bound = call.args.len() - 1;
            inner.parameters.drain(..bound.min(inner.parameters.len()));
            return Some(inner);
        }
        // An object that can be called: `register_forward_hook(Probe())`.
        if let Kind::Instance(class) = value.kind {
            return self.callback_of(self.tables().method(class, "__call__")?, true);
        }
        if let Kind::Function(id) = value.kind {
            return self.callback_of(id, matches!(expr, Expr::Attribute(_)));
        }
        self.made_callback(expr)
    }

    /// The lambda that a function of this file makes and returns: `register_forward_hook(make_hook(name))`.
    fn made_callback(&self, expr: &'a Expr) -> Option<Callback<'a>> {
        let Callee::Project(id) = self.call_at(expr)?.callee else { return None };
        let own = |found: &&Return<'a>| found.at.function == Some(id.index) && self.is_own(id);
        let mut made = self.returns().iter().filter(own).map(|found| found.expr);
        made.find(|found| found.is_lambda_expr()).and_then(|lambda| self.callback(lambda, &Value::unknown()))
    }

    fn callback_of(&self, id: FunctionId, is_bound: bool) -> Option<Callback<'a>> {
        if !self.is_own(id) {
            return None;
        }
        let function = self.function_def(id);
        let mut parameters = names(&function.node.parameters);
        if is_bound && function.is_bound() && !parameters.is_empty() {
            parameters.remove(0);
        }
        let mine = self.returns().iter().filter(|found| found.at.function == Some(id.index) && !found.is_yield);
        Some(Callback { parameters, results: mine.map(|found| found.expr).collect(), body: Body::Function(id.index) })
    }

    /// What a callback keeps in something.
    pub fn stores_of<'f>(&'f self, callback: &Callback<'a>) -> impl Iterator<Item = &'f Store<'a>> + use<'f, 'a> {
        let body = callback.body;
        self.stores().iter().filter(move |store| match body {
            Body::Lambda(block) => self.is_inside(store.at.block, block),
            Body::Function(index) => store.at.function == Some(index),
        })
    }

    /// What a callback binds names to; a lambda binds none.
    pub fn binds_by<'f>(&'f self, callback: &Callback<'a>) -> impl Iterator<Item = &'f Bind<'a>> + use<'f, 'a> {
        let body = callback.body;
        self.binds().iter().filter(move |bind| match body {
            Body::Lambda(_) => false,
            Body::Function(index) => bind.at.function == Some(index),
        })
    }
}

fn names(parameters: &Parameters) -> Vec<&str> {
    let all = parameters.posonlyargs.iter().chain(&parameters.args);
    all.map(|parameter| parameter.parameter.name.as_str()).collect()
}
