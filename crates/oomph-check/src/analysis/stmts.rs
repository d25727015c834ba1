//! The walk over statements: branches, loops, handlers, and what each leaves behind.

use super::events::{Bare, BlockKind, Decorator, Delete, Return, Statement, Store, StoreKind};
use super::freezing;
use super::value::{ClassId, Flags, FunctionId, Kind, Value};
use super::walk::Walker;
use crate::python::ast::{Identifier, Operator, Parameters, StmtAugAssign, StmtClassDef, StmtFunctionDef, StmtReturn};
use crate::python::{Expr, Ranged, Stmt, TextRange};

impl<'a> Walker<'a, '_> {
    pub(super) fn walk_stmt(&mut self, stmt: &'a Stmt, suite: &'a [Stmt], index: usize) {
        if self.recording() {
            let statement = Statement { node: stmt, block: self.f.block, suite, index };
            self.f.stmt = self.log.statements.len() as u32;
            self.log.statements.push(statement);
        }
        let this = self.f.stmt;
        match stmt {
            Stmt::Expr(node) => self.expression_statement(&node.value),
            Stmt::Assign(node) => {
                let value = self.eval(&node.value);
                for target in &node.targets {
                    self.assign(target, value.clone(), Some(&node.value), stmt.range());
                }
            }
            Stmt::AnnAssign(node) => {
                if let Some(expr) = &node.value {
                    let value = self.eval(expr);
                    self.assign(&node.target, value, Some(expr), stmt.range());
                }
            }
            Stmt::AugAssign(node) => self.augmented(node),
            Stmt::Return(node) => self.return_statement(node),
            Stmt::If(node) => self.if_statement(node),
            Stmt::For(node) => self.for_statement(node, stmt),
            Stmt::While(node) => self.while_statement(node, stmt),
            Stmt::With(node) => self.with_statement(node),
            Stmt::Try(node) => self.try_statement(node),
            Stmt::Match(node) => self.match_statement(node),
            Stmt::FunctionDef(node) => self.define_function(node),
            Stmt::ClassDef(node) => self.define_class(node),
            Stmt::Delete(node) => {
                for target in &node.targets {
                    self.delete(target, !node.range().is_empty());
                }
            }
            Stmt::Break(_) => self.leave_loop(|frame, state| frame.breaks.push(state)),
            Stmt::Continue(_) => self.leave_loop(|frame, state| frame.continues.push(state)),
            Stmt::Raise(node) => {
                for expr in node.exc.iter().chain(&node.cause) {
                    self.eval(expr);
                }
                self.f.live = false;
            }
            Stmt::Assert(node) => {
                self.eval(&node.test);
            }
            Stmt::Global(node) => self.f.globals.extend(node.names.iter().map(Identifier::as_str)),
            Stmt::Nonlocal(node) => self.f.globals.extend(node.names.iter().map(Identifier::as_str)),
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.bind_imports(stmt),
            Stmt::TypeAlias(_) | Stmt::Pass(_) | Stmt::IpyEscapeCommand(_) => {}
        }
        self.f.stmt = this;
    }

    fn bind_imports(&mut self, stmt: &'a Stmt) {
        let names = match stmt {
            Stmt::Import(node) => &node.names,
            Stmt::ImportFrom(node) => &node.names,
            _ => return,
        };
        for alias in names {
            let name = match (&alias.asname, stmt) {
                (Some(name), _) => name.as_str(),
                (None, Stmt::Import(_)) => alias.name.as_str().split('.').next().unwrap_or_default(),
                (None, _) => alias.name.as_str(),
            };
            let Some(full) = self.outline.imports.get(name) else { continue };
            let value = Value::of(Kind::External(self.names.intern(full)));
            let slot = self.f.env.name(name);
            self.f.env.bind(slot, Some(value));
        }
    }

    fn expression_statement(&mut self, expr: &'a Expr) {
        if matches!(expr, Expr::Call(_) | Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Named(_)) {
            self.eval(expr);
            return;
        }
        if matches!(expr, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_)) {
            return;
        }
        if let Some((module, on)) = freezing::set_in_comprehension(expr) {
            self.set_flag(module, Flags::FROZEN, !on);
        }
        let value = self.eval(expr);
        if self.recording() {
            let receiver = match expr {
                Expr::Attribute(attribute) => Some(self.quietly(|walker| walker.eval(&attribute.value))),
                _ => None,
            };
            let at = self.at();
            self.log.bares.push(Bare { expr, value, receiver, at });
        }
    }

    fn return_statement(&mut self, node: &'a StmtReturn) {
        let expr = node.value.as_deref();
        let value = expr.map_or_else(|| Value::of(Kind::None), |expr| self.eval(expr));
        if let (Some(expr), true) = (expr, self.recording()) {
            let (at, value) = (self.at(), self.seen(&value));
            self.log.returns.push(Return { expr, value, is_yield: false, at });
        }
        if let Some(fork) = &mut self.f.fork {
            fork.note(node, &value);
        }
        self.returns(value);
        self.f.live = false;
    }

    pub(super) fn returns(&mut self, value: Value) {
        self.f.returned = Some(match self.f.returned.take() {
            Some(old) => old.join(&value),
            None => value,
        });
    }

    fn augmented(&mut self, node: &'a StmtAugAssign) {
        let holder = self.eval(&node.target);
        let value = self.eval(&node.value);
        let result = match (holder.kind, node.op) {
            (Kind::List | Kind::Ring | Kind::Tuple, Operator::Add) => Value {
                parts: Some([super::exprs::mixed(&holder.element(), &value.element())].into()),
                ..holder.clone()
            },
            _ => self.arithmetic(&holder, &value, node.range()),
        };
        let kind =
            if matches!(holder.kind, Kind::List | Kind::Ring) { StoreKind::Extend } else { StoreKind::AugAssign };
        self.store(kind, &node.target, &holder, &value, &node.value, node.range());
        self.assign_quietly(&node.target, result);
    }

    fn define_function(&mut self, node: &'a StmtFunctionDef) {
        let Some(index) = self.outline.function_of(node) else { return };
        self.eval_defaults(&node.parameters);
        for decorator in &node.decorator_list {
            let value = self.eval(&decorator.expression);
            if self.recording() {
                let name = match value.kind {
                    Kind::External(sym) | Kind::Made(sym) => Some(sym),
                    _ => value.maker,
                };
                self.log.decorators.push(Decorator { expr: &decorator.expression, name, function: index });
            }
        }
        if !self.f.pending.contains(&index) {
            self.f.pending.push(index);
        }
        let slot = self.f.env.name(node.name.as_str());
        let id = FunctionId { file: self.file, index };
        self.f.env.bind(slot, Some(Value::of(Kind::Function(id))));
    }

    pub(super) fn eval_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs) {
            if let Some(default) = &parameter.default {
                self.eval(default);
            }
        }
    }

    fn define_class(&mut self, node: &'a StmtClassDef) {
        let Some(index) = self.outline.class_of(node) else { return };
        for expr in node.bases().iter().chain(node.keywords().iter().map(|keyword| &keyword.value)) {
            self.eval(expr);
        }
        let mark = self.f.env.mark();
        self.inside(BlockKind::Class(node), node.range(), |walker| walker.walk_suite(&node.body));
        for name in assigned_names(&node.body) {
            let slot = self.f.env.name(name);
            if let Some(value) = self.f.env.get(slot).cloned() {
                self.learnt.attributes[index as usize].entry(name).or_insert(value);
            }
        }
        self.f.env.undo(mark);
        self.f.live = true;
        let slot = self.f.env.name(node.name.as_str());
        let id = ClassId { file: self.file, index };
        self.f.env.bind(slot, Some(Value::of(Kind::Class(id))));
    }

    fn delete(&mut self, target: &'a Expr, is_written: bool) {
        let value = self.quietly(|walker| walker.eval(target));
        if self.recording() {
            let at = self.at();
            self.log.deletes.push(Delete { target, value, is_written, at });
        }
        if let Expr::Name(name) = target {
            let slot = self.f.env.name(name.id.as_str());
            self.f.env.bind(slot, None);
        }
    }

    /// Notes that a value is kept in something.
    pub(super) fn store(
        &mut self,
        kind: StoreKind,
        target: &'a Expr,
        holder: &Value,
        value: &Value,
        value_expr: &'a Expr,
        range: TextRange,
    ) {
        let target = lasting_part(target);
        let root = self.root(target);
        self.note_kept(kind, root, value);
        if self.recording() {
            let at = self.at();
            let (holder, value) = (self.seen(holder), self.seen(value));
            self.log.stores.push(Store { kind, range, target, root, holder, value, value_expr, via: None, at });
        }
    }
}

/// What goes on being there of a holder: the dict of `logs.setdefault(name, [])`.
fn lasting_part(target: &Expr) -> &Expr {
    match target {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if method.attr.as_str() == "setdefault" => &method.value,
            _ => target,
        },
        _ => target,
    }
}

fn assigned_names(body: &[Stmt]) -> impl Iterator<Item = &str> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Assign(node) => match node.targets.first() {
            Some(Expr::Name(name)) => Some(name.id.as_str()),
            _ => None,
        },
        Stmt::AnnAssign(node) if node.value.is_some() => match &*node.target {
            Expr::Name(name) => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    })
}
