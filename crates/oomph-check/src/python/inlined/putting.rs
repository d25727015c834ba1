//! Puts the body of a function where it is called.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{
    AtomicNodeIndex, Expr, ExprCall, ExprContext, ExprName, ExprNoneLiteral, ParameterWithDefault, Stmt, StmtAssign,
    StmtContinue, StmtDelete, StmtFunctionDef, StmtPass, StmtWith, WithItem,
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::{Plan, is_lasting, is_name};
use crate::python::mentions::Mentions;
use crate::python::plain::bodies_of;

/// Takes a function out of the scope that defines it.
pub(super) fn taken_out(body: &mut [Stmt], range: TextRange) -> Option<StmtFunctionDef> {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(node) if node.range == range => {
                let nothing = StmtPass { range: TextRange::empty(range.start()), node_index: AtomicNodeIndex::NONE };
                let Stmt::FunctionDef(node) = std::mem::replace(stmt, Stmt::Pass(nothing)) else { return None };
                return Some(node);
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => {
                for suite in bodies_of(stmt) {
                    if let Some(found) = taken_out(suite, range) {
                        return Some(found);
                    }
                }
            }
        }
    }
    None
}

/// Puts a function's body where it is called.
pub(super) fn put_in(body: &mut [Stmt], plan: &Plan, function: StmtFunctionDef) -> Option<StmtFunctionDef> {
    let mut function = Some(function);
    for stmt in body {
        let is_it =
            stmt.range() == plan.statement && matches!(stmt, Stmt::Expr(_) | Stmt::Assign(_) | Stmt::AugAssign(_));
        if is_it {
            if let Some(function) = function.take() {
                let nothing = StmtPass { range: plan.statement, node_index: AtomicNodeIndex::NONE };
                let call = std::mem::replace(stmt, Stmt::Pass(nothing));
                *stmt = in_place(call, plan, function);
            }
            return None;
        }
        for suite in bodies_of(stmt) {
            function = put_in(suite, plan, function?);
        }
    }
    function
}

/// The statement of a call as the body of what it calls.
fn in_place(mut stmt: Stmt, plan: &Plan, mut function: StmtFunctionDef) -> Stmt {
    let (range, node_index) = (plan.statement, AtomicNodeIndex::NONE);
    let mut body: Vec<Stmt> = Vec::new();
    let call = Swap::take_call(&mut stmt, plan.call);
    if let Some(call) = call {
        body.extend(parameters_bound(&mut function, call));
    }
    let mut own: Vec<Stmt> = std::mem::take(&mut function.body).into_iter().collect();
    let last = if own.last().is_some_and(Stmt::is_return_stmt) { own.pop() } else { None };
    let value = match last {
        Some(Stmt::Return(node)) => node.value.map(|value| *value),
        _ => None,
    };
    for stmt in &mut own {
        go_on_instead(stmt);
    }
    body.extend(own);
    body.extend(result_used(stmt, plan.call, value));
    if !plan.ends.is_empty() {
        let name = |(id, range): &(Name, TextRange)| {
            Expr::Name(ExprName {
                id: id.clone(),
                ctx: ExprContext::Del,
                range: *range,
                node_index: node_index.clone(),
            })
        };
        let targets = plan.ends.iter().map(name).collect();
        let end = TextRange::empty(range.end());
        body.push(Stmt::Delete(StmtDelete { targets, range: end, node_index: node_index.clone() }));
    }
    let modes = function.decorator_list.into_iter();
    let items = modes.map(|mode| WithItem {
        range: mode.expression.range(),
        context_expr: mode.expression,
        optional_vars: None,
        node_index: AtomicNodeIndex::NONE,
    });
    let body = body.into_iter().collect();
    Stmt::With(StmtWith { is_async: false, items: items.collect(), body, range, node_index })
}

/// `parameter = argument` for every parameter that is given what is computed for it, or that the body binds anew; for the
/// others, what they are given is written in their place.
fn parameters_bound(function: &mut StmtFunctionDef, call: ExprCall) -> Vec<Stmt> {
    let rebound: Vec<String> = {
        let own = Mentions::of(&function.body);
        own.bound.iter().map(|name| (*name).to_owned()).collect()
    };
    let mut written = Written(FxHashMap::default());
    let mut by_position = call.arguments.args.into_iter();
    let mut by_name: Vec<_> = call.arguments.keywords.into_iter().collect();
    let parameters = &mut *function.parameters;
    let all = parameters.posonlyargs.iter_mut().chain(&mut parameters.args).chain(&mut parameters.kwonlyargs);
    let bind = |parameter: &mut ParameterWithDefault| {
        let name = parameter.parameter.name.clone();
        let keyword = || {
            let index = by_name.iter().position(|found| found.arg.as_deref() == Some(name.as_str()))?;
            Some(by_name.swap_remove(index).value)
        };
        let value = by_position.next().or_else(keyword).or_else(|| parameter.default.take().map(|value| *value))?;
        if is_name(&value, name.as_str()) {
            return None;
        }
        if is_lasting(&value) && !rebound.iter().any(|own| own == name.as_str()) {
            written.0.insert(name.id, value);
            return None;
        }
        let (range, node_index) = (name.range, AtomicNodeIndex::NONE);
        let ctx = ExprContext::Store;
        let target = Expr::Name(ExprName { id: name.id, ctx, range, node_index: node_index.clone() });
        Some(Stmt::Assign(StmtAssign { targets: vec![target], value: Box::new(value), range, node_index }))
    };
    let bound = all.filter_map(bind).collect();
    if !written.0.is_empty() {
        function.body.iter_mut().for_each(|stmt| written.visit_stmt(stmt));
    }
    bound
}

/// Writes something else for names.
struct Written(FxHashMap<Name, Expr>);

impl Transformer for Written {
    fn visit_expr(&self, expr: &mut Expr) {
        if let Expr::Name(node) = expr
            && node.ctx == ExprContext::Load
            && let Some(value) = self.0.get(&node.id)
        {
            *expr = value.clone();
            return;
        }
        transformer::walk_expr(self, expr);
    }
}

/// What is done with what a body gives: the statement of the call, with that in its place.
fn result_used(mut stmt: Stmt, call: TextRange, value: Option<Expr>) -> Option<Stmt> {
    let nothing = || Expr::NoneLiteral(ExprNoneLiteral { range: call, node_index: AtomicNodeIndex::NONE });
    match &mut stmt {
        Stmt::Expr(alone) if alone.value.range() == call => *alone.value = value.filter(Expr::is_call_expr)?,
        Stmt::Assign(bound) if bound.value.range() == call && is_same(&bound.targets, value.as_ref()) => return None,
        _ => Swap::put(&mut stmt, call, value.unwrap_or_else(nothing)),
    }
    Some(stmt)
}

/// Whether names get what they hold already.
fn is_same(targets: &[Expr], value: Option<&Expr>) -> bool {
    let same = |target: &Expr, value: &Expr| matches!(target, Expr::Name(name) if is_name(value, name.id.as_str()));
    match (targets, value) {
        ([Expr::Tuple(targets)], Some(Expr::Tuple(values))) => {
            let mut pairs = targets.elts.iter().zip(&values.elts);
            targets.len() == values.len() && pairs.all(|(target, value)| same(target, value))
        }
        ([target], Some(value)) => same(target, value),
        _ => false,
    }
}

/// `continue` for `return`, where the turn ends with the function; names declared `nonlocal` are the scope's anyway.
fn go_on_instead(stmt: &mut Stmt) {
    let (range, node_index) = (stmt.range(), AtomicNodeIndex::NONE);
    match stmt {
        Stmt::Return(_) => *stmt = Stmt::Continue(StmtContinue { range, node_index }),
        Stmt::Nonlocal(_) | Stmt::Global(_) => *stmt = Stmt::Pass(StmtPass { range, node_index }),
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
        _ => bodies_of(stmt).into_iter().flatten().for_each(go_on_instead),
    }
}

/// Puts something else in the place of a call.
struct Swap {
    place: TextRange,
    new: RefCell<Option<Expr>>,
    old: RefCell<Option<Expr>>,
}

impl Swap {
    fn put(stmt: &mut Stmt, place: TextRange, new: Expr) {
        let swap = Self { place, new: RefCell::new(Some(new)), old: RefCell::new(None) };
        swap.visit_stmt(stmt);
    }

    /// Takes a call out; something without a meaning stays in its place.
    fn take_call(stmt: &mut Stmt, place: TextRange) -> Option<ExprCall> {
        let nothing = Expr::NoneLiteral(ExprNoneLiteral { range: place, node_index: AtomicNodeIndex::NONE });
        let swap = Self { place, new: RefCell::new(Some(nothing)), old: RefCell::new(None) };
        swap.visit_stmt(stmt);
        match swap.old.into_inner() {
            Some(Expr::Call(call)) => Some(call),
            _ => None,
        }
    }
}

impl Transformer for Swap {
    fn visit_expr(&self, expr: &mut Expr) {
        if expr.range() == self.place
            && let Some(new) = self.new.borrow_mut().take()
        {
            *self.old.borrow_mut() = Some(std::mem::replace(expr, new));
            return;
        }
        transformer::walk_expr(self, expr);
    }
}
