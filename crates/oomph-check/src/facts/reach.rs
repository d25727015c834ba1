//! What never runs as it is written: a branch behind a switch that the program itself sets off.

use rustc_hash::FxHashMap;

use super::Facts;
use crate::analysis::events::{At, Bind, Block, BlockKind, StoreKind};
use crate::analysis::outline::FunctionDef;
use crate::analysis::value::BlockId;
use crate::python::ast::{BoolOp, CmpOp, ExprCompare, UnaryOp};
use crate::python::{Expr, Ranged, TextRange, root_name};
use crate::uses::whole_literal;

impl<'a> Facts<'a> {
    /// Whether a point is in a branch that is never taken as the program is written: `resume = False`, `if resume:`.
    #[must_use]
    pub fn never_runs(&self, at: &At) -> bool {
        self.blocks_around(at).any(|(_, block)| self.is_off(block, at))
    }

    fn is_off(&self, block: &Block<'a>, at: &At) -> bool {
        match block.kind {
            BlockKind::If(Some(test)) => self.always_is(test, at) == Some(false),
            BlockKind::Else(test) => self.always_is(test, at) == Some(true),
            _ => false,
        }
    }

    /// What tests of branches come to on every run, by the place of the test.
    pub(super) fn settled_tests(&self) -> FxHashMap<TextRange, bool> {
        let events = self.calls().iter().map(|call| &call.at).chain(self.binds().iter().map(|bind| &bind.at));
        // What a name holds may change within a branch: its first event is next to the test.
        let mut first: FxHashMap<BlockId, &At> = FxHashMap::default();
        for at in events {
            for (id, _) in self.blocks_around(at) {
                let known = first.entry(id).or_insert(at);
                if at.order < known.order {
                    *known = at;
                }
            }
        }
        let mut settled = FxHashMap::default();
        for (id, block) in self.blocks() {
            let (BlockKind::If(Some(test)) | BlockKind::Else(test)) = block.kind else { continue };
            if first.get(&id).is_some_and(|at| self.is_off(block, at)) {
                settled.insert(test.range(), matches!(block.kind, BlockKind::Else(_)));
            }
        }
        settled
    }

    /// The function a point is in, and those around it.
    fn functions_around(&self, at: &At) -> impl Iterator<Item = &FunctionDef<'a>> {
        let functions = &self.outline().functions;
        let function = at.function.and_then(|index| functions.get(index as usize));
        std::iter::successors(function, |function| functions.get(function.parent? as usize))
    }

    /// What a test comes to on every run, where the program says so itself.
    fn always_is(&self, test: &Expr, at: &At) -> Option<bool> {
        match test {
            Expr::UnaryOp(node) if node.op == UnaryOp::Not => Some(!self.always_is(&node.operand, at)?),
            Expr::BoolOp(node) => {
                let decides = node.op == BoolOp::Or;
                let parts: Vec<Option<bool>> = node.values.iter().map(|part| self.always_is(part, at)).collect();
                if parts.contains(&Some(decides)) {
                    return Some(decides);
                }
                parts.iter().all(|part| *part == Some(!decides)).then_some(!decides)
            }
            Expr::Compare(node) => self.always_compares(node, at),
            _ => truth(self.literal(test, at)?),
        }
    }

    /// `path is not None`, `epoch > 0`, `mode == "train"` where both sides are written out.
    fn always_compares(&self, node: &ExprCompare, at: &At) -> Option<bool> {
        let ([op], [right]) = (&*node.ops, &*node.comparators) else { return None };
        // `torch.device("cuda") == "cuda"` is false: a device is never equal to its name.
        let mixed = |device: &Expr, name: &Expr| name.is_string_literal_expr() && self.is_device(device, at);
        if matches!(op, CmpOp::Eq | CmpOp::NotEq) && (mixed(&node.left, right) || mixed(right, &node.left)) {
            return Some(*op == CmpOp::NotEq);
        }
        let (left, right) = (self.literal(&node.left, at)?, self.literal(right, at)?);
        match op {
            CmpOp::Is => Some(is(left, right)?),
            CmpOp::IsNot => Some(!is(left, right)?),
            CmpOp::Eq => Some(same(left, right)?),
            CmpOp::NotEq => Some(!same(left, right)?),
            CmpOp::Gt => Some(whole_literal(left)? > whole_literal(right)?),
            CmpOp::GtE => Some(whole_literal(left)? >= whole_literal(right)?),
            CmpOp::Lt => Some(whole_literal(left)? < whole_literal(right)?),
            CmpOp::LtE => Some(whole_literal(left)? <= whole_literal(right)?),
            _ => None,
        }
    }

    /// Whether a name holds a `torch.device` wherever this file binds it.
    fn is_device(&self, expr: &Expr, at: &At) -> bool {
        let Expr::Name(name) = expr else { return false };
        let name = name.id.as_str();
        let is_parameter = self.function(at).is_some_and(|function| function.node.parameters.includes(name));
        let made = |bind: &Bind<'a>| bind.target.is_name_expr() && bind.value_expr.is_some_and(makes_device);
        let mut binds = self.binds_of(name).peekable();
        !is_parameter && binds.peek().is_some() && binds.all(made)
    }

    /// The literal an expression is, itself or through a name that holds it here on every run.
    fn literal<'e>(&self, expr: &'e Expr, at: &At) -> Option<&'e Expr>
    where
        'a: 'e,
    {
        let Expr::Name(name) = expr else { return is_literal(expr).then_some(expr) };
        let name = name.id.as_str();
        let mut functions = self.functions_around(at);
        let counted = || {
            let mut stores = self.stores().iter().filter(|store| store.kind == StoreKind::AugAssign);
            stores.any(|store| store.target.as_name_expr().is_some_and(|target| target.id.as_str() == name))
        };
        let imported = self.outline().imports.contains_key(name);
        if imported || functions.any(|function| function.node.parameters.includes(name)) || counted() {
            return None;
        }
        let given: Vec<&Bind<'a>> = self.binds_of(name).collect();
        let value = |bind: &Bind<'a>| bind.value_expr.filter(|expr| is_literal(expr) && bind.target.is_name_expr());
        // The last one on the way here, where nothing can come between; elsewhere all of them must agree.
        let before = given.iter().filter(|bind| bind.at.function == at.function && bind.at.order < at.order);
        let last = before.max_by_key(|bind| bind.at.order);
        let straight = last.filter(|bind| self.is_always_before(&bind.at, at) && self.loops(at).next().is_none());
        if let Some(bind) = straight {
            return value(bind);
        }
        let mut values = given.iter().map(|bind| value(bind));
        let first = values.next()??;
        let agree = values.all(|other| other.is_some_and(|other| same(other, first) == Some(true)));
        agree.then_some(first)
    }
}

/// `torch.device(...)`, in both arms where there are two.
fn makes_device(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(function) => {
                function.attr.as_str() == "device"
                    && root_name(&function.value).is_some_and(|name| name.starts_with('t'))
            }
            _ => false,
        },
        Expr::If(node) => makes_device(&node.body) && makes_device(&node.orelse),
        _ => false,
    }
}

fn is_literal(expr: &Expr) -> bool {
    truth(expr).is_some()
}

fn truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::BooleanLiteral(node) => Some(node.value),
        Expr::NoneLiteral(_) => Some(false),
        Expr::StringLiteral(node) => Some(!node.value.is_empty()),
        Expr::NumberLiteral(_) => Some(whole_literal(expr)? != 0),
        _ => None,
    }
}

/// Whether two literals are one object: of `None`, `True` and `False` there is one each.
fn is(left: &Expr, right: &Expr) -> Option<bool> {
    let single = |expr: &Expr| expr.is_none_literal_expr() || expr.is_boolean_literal_expr();
    (single(left) || single(right)).then(|| same(left, right).unwrap_or(false))
}

/// Whether two literals of one kind are equal.
fn same(left: &Expr, right: &Expr) -> Option<bool> {
    match (left, right) {
        (Expr::BooleanLiteral(left), Expr::BooleanLiteral(right)) => Some(left.value == right.value),
        (Expr::StringLiteral(left), Expr::StringLiteral(right)) => Some(left.value.to_str() == right.value.to_str()),
        (Expr::NumberLiteral(_), Expr::NumberLiteral(_)) => Some(whole_literal(left)? == whole_literal(right)?),
        (Expr::NoneLiteral(_), Expr::NoneLiteral(_)) => Some(true),
        (Expr::NoneLiteral(_), _) | (_, Expr::NoneLiteral(_)) => Some(false),
        _ => None,
    }
}
