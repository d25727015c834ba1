//! Statements to blocks.

use super::lower::{DEPTH_MAX, Header, Leave, Lowering, class_scope, def_scope, dotted, span_of};
use super::{BlockId, Const, FunctionKind, Name, Op, Operator, Reg, Span, Term};
use crate::syntax::tree::{self, ExceptHandler, Expr, Stmt};

impl<'t> Lowering<'_, 't> {
    /// Statements one after another.
    pub(super) fn body(&mut self, body: &'t [Stmt]) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        for stmt in body {
            self.stmt(stmt);
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &'t Stmt) {
        let span = span_of(stmt);
        match stmt {
            Stmt::FunctionDef(def) => self.def(def),
            Stmt::ClassDef(def) => self.class(def),
            Stmt::Return(node) => {
                let value = self.optional(node.value.as_deref(), span);
                self.leave_all(span);
                self.end(Term::Return(value));
                self.dead();
            }
            Stmt::Delete(node) => node.targets.iter().for_each(|target| self.delete(target)),
            Stmt::Assign(node) => {
                let value = self.expr(&node.value);
                node.targets.iter().for_each(|target| self.assign(target, value, span));
            }
            Stmt::AugAssign(node) => {
                let left = self.expr(&node.target);
                let right = self.expr(&node.value);
                let op = if node.op == tree::Operator::Add { Operator::Add } else { Operator::Arithmetic };
                let value = self.emit(Op::Binary { op, left, right, in_place: true }, span);
                self.assign(&node.target, value, span);
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.expr(value);
                    self.assign(&node.target, value, span);
                }
            }
            Stmt::TypeAlias(_) | Stmt::Pass(_) | Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::IpyEscapeCommand(_) => {}
            Stmt::For(node) => self.for_loop(node),
            Stmt::While(node) => self.while_loop(node),
            Stmt::If(node) => self.conditional(node),
            Stmt::With(node) => self.with(&node.items, &node.body, span),
            Stmt::Match(node) => self.matching(node),
            Stmt::Raise(node) => {
                node.exc.iter().for_each(|exc| {
                    self.expr(exc);
                });
                self.end(Term::Raise);
                self.dead();
            }
            Stmt::Try(node) => self.try_block(node),
            Stmt::Assert(node) => {
                self.expr(&node.test);
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    let path = if alias.asname.is_some() { &*alias.name } else { first };
                    let path = self.name(path);
                    let value = self.emit(Op::Import(path), span);
                    let var = self.var(alias.asname.as_ref().map_or(first, |name| name));
                    self.emit(Op::Store(var, value), span);
                }
            }
            Stmt::ImportFrom(node) => {
                let module = self.name(node.module.as_ref().map_or("", |name| name));
                for alias in node.names.iter().filter(|alias| &*alias.name != "*") {
                    let name = self.name(&alias.name);
                    let op = Op::ImportFrom { module: module.clone(), name, level: node.level };
                    let value = self.emit(op, span);
                    let var = self.var(alias.asname.as_ref().unwrap_or(&alias.name));
                    self.emit(Op::Store(var, value), span);
                }
            }
            Stmt::Expr(node) => {
                self.expr(&node.value);
            }
            Stmt::Break(_) => {
                self.leave_loop(true, span);
                self.dead();
            }
            Stmt::Continue(_) => {
                self.leave_loop(false, span);
                self.dead();
            }
        }
    }

    /// Goes on in a block that nothing leads to.
    fn dead(&mut self) {
        let block = self.block();
        self.at(block);
    }

    fn optional(&mut self, value: Option<&'t Expr>, span: Span) -> Reg {
        match value {
            Some(value) => self.expr(value),
            None => self.emit(Op::Const(Const::None), span),
        }
    }

    fn def(&mut self, def: &'t tree::StmtFunctionDef) {
        let span = span_of(def);
        let is_method = self.is_class_body();
        let mut defaults = Vec::new();
        let parameters = &def.parameters;
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs) {
            if let Some(default) = parameter.default() {
                defaults.push(self.expr(default));
            }
        }
        let decorators: Vec<Name> = def
            .decorator_list
            .iter()
            .filter_map(|decorator| dotted(&decorator.expression))
            .map(|text| self.name(&text))
            .collect();
        let header = Header { name: &def.name, kind: FunctionKind::Def, is_method, decorators, span };
        let function = self.nested(header, Some(parameters), def_scope(def), |inner| inner.body(&def.body));
        let mut value = self.emit(Op::Closure { function, defaults }, span);
        for decorator in def.decorator_list.iter().rev() {
            value = self.decorate(&decorator.expression, value);
        }
        let var = self.var(&def.name);
        self.emit(Op::Store(var, value), span);
    }

    fn decorate(&mut self, decorator: &'t Expr, value: Reg) -> Reg {
        let func = self.expr(decorator);
        let args = vec![super::Arg { kind: super::ArgKind::Plain, value }];
        self.emit(Op::Call { func, args }, span_of(decorator))
    }

    fn class(&mut self, def: &'t tree::StmtClassDef) {
        let span = span_of(def);
        let bases: Vec<Reg> =
            def.arguments.iter().flat_map(|arguments| arguments.args.iter()).map(|base| self.expr(base)).collect();
        let decorators = def
            .decorator_list
            .iter()
            .filter_map(|decorator| dotted(&decorator.expression))
            .map(|text| self.name(&text))
            .collect();
        let header = Header { name: &def.name, kind: FunctionKind::ClassBody, is_method: false, decorators, span };
        let body = self.nested(header, None, class_scope(def), |inner| inner.body(&def.body));
        let value = self.emit(Op::Class { body, bases }, span);
        let var = self.var(&def.name);
        self.emit(Op::Store(var, value), span);
    }

    fn for_loop(&mut self, node: &'t tree::StmtFor) {
        let span = span_of(&*node.iter);
        let values = self.expr(&node.iter);
        let iter = self.emit(Op::Iter(values), span);
        let (head, body, exit, after) = (self.block(), self.block(), self.block(), self.block());
        self.end(Term::Goto(head));
        self.at(head);
        let item = self.reg();
        self.end(Term::For { iter, item, body, exit });
        self.at(body);
        self.assign(&node.target, item, span_of(&*node.target));
        self.in_loop(head, after, |inner| inner.body(&node.body));
        self.end(Term::Goto(head));
        self.at(exit);
        self.body(&node.orelse);
        self.end(Term::Goto(after));
        self.at(after);
    }

    fn in_loop(&mut self, again: BlockId, after: BlockId, inside: impl FnOnce(&mut Self)) {
        self.leaving(Leave::Loop { again, after }, inside);
    }

    fn while_loop(&mut self, node: &'t tree::StmtWhile) {
        let (head, body, exit, after) = (self.block(), self.block(), self.block(), self.block());
        self.end(Term::Goto(head));
        self.at(head);
        self.condition(&node.test, body, exit);
        self.at(body);
        self.in_loop(head, after, |inner| inner.body(&node.body));
        self.end(Term::Goto(head));
        self.at(exit);
        self.body(&node.orelse);
        self.end(Term::Goto(after));
        self.at(after);
    }

    fn conditional(&mut self, node: &'t tree::StmtIf) {
        let after = self.block();
        let (yes, mut no) = (self.block(), self.block());
        self.condition(&node.test, yes, no);
        self.at(yes);
        self.body(&node.body);
        self.end(Term::Goto(after));
        for clause in &node.elif_else_clauses {
            self.at(no);
            if let Some(test) = &clause.test {
                let yes = self.block();
                no = self.block();
                self.condition(test, yes, no);
                self.at(yes);
            } else {
                no = after;
            }
            self.body(&clause.body);
            self.end(Term::Goto(after));
        }
        if no != after {
            self.at(no);
            self.end(Term::Goto(after));
        }
        self.at(after);
    }

    fn with(&mut self, items: &'t [tree::WithItem], body: &'t [Stmt], span: Span) {
        let Some((item, rest)) = items.split_first() else { return self.body(body) };
        let context = self.expr(&item.context_expr);
        let value = self.emit(Op::Enter(context), span_of(&item.context_expr));
        self.with_depth += 1;
        let inside = self.block();
        self.end(Term::Goto(inside));
        self.at(inside);
        if let Some(target) = &item.optional_vars {
            self.assign(target, value, span);
        }
        self.leaving(Leave::With, |inner| inner.with(rest, body, span));
        self.emit(Op::Exit, span);
        self.with_depth -= 1;
        let after = self.block();
        self.end(Term::Goto(after));
        self.at(after);
    }

    fn try_block(&mut self, node: &'t tree::StmtTry) {
        let outer = self.handler;
        let span = span_of(node);
        let (catch, after) = (self.block(), self.block());
        let has_finally = !node.finalbody.is_empty();
        // `finally` is lowered here once for the way on and once for the way out by an exception.
        let guarded = |inner: &mut Self, inside: &dyn Fn(&mut Self)| {
            if has_finally {
                inner.leaving(Leave::Finally(&node.finalbody), |inner| inside(inner));
            } else {
                inside(inner);
            }
        };
        self.handler = Some(catch);
        let body = self.block();
        self.end(Term::Goto(body));
        self.at(body);
        guarded(self, &|inner| inner.body(&node.body));
        self.handler = outer;
        let orelse = self.block();
        self.end(Term::Goto(orelse));
        self.at(orelse);
        guarded(self, &|inner| inner.body(&node.orelse));
        self.finish(&node.finalbody, after);
        self.at(catch);
        for ExceptHandler::ExceptHandler(handler) in &node.handlers {
            let (this, next) = (self.block(), self.block());
            let caught = self.emit(Op::Caught, span);
            self.end(Term::Branch { cond: caught, yes: this, no: next });
            self.at(this);
            if let Some(name) = &handler.name {
                let var = self.var(name);
                self.emit(Op::Store(var, caught), span_of(handler));
            }
            guarded(self, &|inner| inner.body(&handler.body));
            self.finish(&node.finalbody, after);
            self.at(next);
        }
        if has_finally {
            self.body(&node.finalbody);
        }
        self.end(outer.map_or(Term::Raise, Term::Goto));
        self.at(after);
    }

    fn finish(&mut self, finalbody: &'t [Stmt], after: BlockId) {
        self.body(finalbody);
        self.end(Term::Goto(after));
    }

    fn delete(&mut self, target: &'t Expr) {
        let span = span_of(target);
        match target {
            Expr::Name(name) => {
                let var = self.var(&name.id);
                self.emit(Op::Forget(var), span);
            }
            Expr::Attribute(attribute) => {
                let value = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                self.emit(Op::DelAttr(value, name), span);
            }
            Expr::Subscript(subscript) => {
                let value = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                self.emit(Op::DelIndex(value, index), span);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|elt| self.delete(elt)),
            Expr::List(list) => list.elts.iter().for_each(|elt| self.delete(elt)),
            _ => {}
        }
    }
}
