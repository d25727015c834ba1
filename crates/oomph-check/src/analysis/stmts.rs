//! The walk over statements: branches, loops, handlers, and what each leaves behind.

use super::binding::iterate;
use super::env::Branch;
use super::events::{
    Bare, BlockKind, Decorator, Delete, GradMode, LoopKind, Return, Statement, Store, StoreKind, WithItem,
};
use super::value::{ClassId, FunctionId, Kind, Value};
use super::walk::{LoopFrame, Walker, is_name};
use crate::python::ast::{
    CmpOp, ExceptHandler, Identifier, Operator, Parameters, StmtAugAssign, StmtClassDef, StmtFor, StmtFunctionDef,
    StmtIf, StmtMatch, StmtTry, StmtWhile, StmtWith,
};
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
            Stmt::Return(node) => self.return_statement(node.value.as_deref()),
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
                    self.delete(target);
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

    fn return_statement(&mut self, expr: Option<&'a Expr>) {
        let value = expr.map_or_else(|| Value::of(Kind::None), |expr| self.eval(expr));
        if let (Some(expr), true) = (expr, self.recording()) {
            let (at, value) = (self.at(), self.seen(&value));
            self.log.returns.push(Return { expr, value, is_yield: false, at });
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

    fn if_statement(&mut self, node: &'a StmtIf) {
        self.eval(&node.test);
        let grad = self.f.grad;
        let mut modes = Vec::new();
        let mut branches = Vec::new();
        let kind = if is_main_guard(&node.test) { BlockKind::Main } else { BlockKind::If(Some(&node.test)) };
        self.branch(kind, node.range(), &node.body, &mut branches, &mut modes);
        let mut has_else = matches!(kind, BlockKind::Main);
        for clause in &node.elif_else_clauses {
            self.f.grad = grad;
            let kind = if let Some(test) = &clause.test {
                self.eval(test);
                BlockKind::If(Some(test))
            } else {
                has_else = true;
                BlockKind::Else(&node.test)
            };
            self.branch(kind, clause.range(), &clause.body, &mut branches, &mut modes);
        }
        self.f.live = true;
        if !has_else {
            branches.push(self.f.env.since(self.f.env.mark()));
            modes.push(grad);
        }
        self.go_on(&branches, &modes);
    }

    /// Walks a branch; what it changed is taken back and put on the list if its end is reached.
    fn branch(
        &mut self,
        kind: BlockKind<'a>,
        range: TextRange,
        body: &'a [Stmt],
        branches: &mut Vec<Branch>,
        modes: &mut Vec<GradMode>,
    ) {
        let mark = self.f.env.mark();
        self.f.live = true;
        self.inside(kind, range, |walker| walker.walk_suite(body));
        let branch = self.f.env.take(mark);
        if self.f.live {
            branches.push(branch);
            modes.push(self.f.grad);
        }
    }

    /// Goes on after branches with what holds on any of them.
    fn go_on(&mut self, branches: &[Branch], modes: &[GradMode]) {
        self.f.live = !branches.is_empty();
        self.f.env.join(branches);
        if let Some((first, rest)) = modes.split_first() {
            self.f.grad = if rest.iter().all(|mode| mode == first) { *first } else { GradMode::Depends };
        }
    }

    fn leave_loop(&mut self, keep: impl FnOnce(&mut LoopFrame, Branch)) {
        if let Some(mut frame) = self.f.loops.pop() {
            if let Some(start) = frame.start {
                keep(&mut frame, self.f.env.since(start));
            }
            self.f.loops.push(frame);
        }
        self.f.live = false;
    }

    fn for_statement(&mut self, node: &'a StmtFor, stmt: &'a Stmt) {
        let iterated = self.eval(&node.iter);
        let kind = self.loop_kind(&node.target, &node.iter, &iterated);
        let element = iterate(&iterated);
        self.freeze_in_loop(node, &iterated);
        let block = BlockKind::Loop(kind, stmt);
        self.walk_loop(block, node.range(), false, &node.body, |walker| {
            walker.assign(&node.target, element.clone(), None, node.target.range());
        });
        self.loop_else(&node.orelse);
    }

    fn while_statement(&mut self, node: &'a StmtWhile, stmt: &'a Stmt) {
        let forever = matches!(&*node.test, Expr::BooleanLiteral(literal) if literal.value)
            || matches!(&*node.test, Expr::NumberLiteral(_));
        let kind = match &*node.test {
            _ if forever => LoopKind::Forever,
            Expr::Compare(compare) if mentions_step(&compare.left) => LoopKind::Steps,
            _ => LoopKind::While,
        };
        let block = BlockKind::Loop(kind, stmt);
        self.walk_loop(block, node.range(), forever, &node.body, |walker| {
            walker.eval(&node.test);
        });
        self.loop_else(&node.orelse);
    }

    fn loop_else(&mut self, orelse: &'a [Stmt]) {
        if let (Some(first), Some(last), true) = (orelse.first(), orelse.last(), self.f.live) {
            let range = TextRange::new(first.start(), last.end());
            self.inside(BlockKind::LoopElse, range, |walker| walker.walk_suite(orelse));
        }
    }

    /// Walks a loop's body: once to learn what it carries around, then with that known.
    pub(super) fn walk_loop(
        &mut self,
        kind: BlockKind<'a>,
        range: TextRange,
        forever: bool,
        body: &'a [Stmt],
        head: impl Fn(&mut Self),
    ) {
        let grad = self.f.grad;
        let was_dry = std::mem::replace(&mut self.dry, true);
        let (mut ends, breaks) = self.loop_round(kind, range, body, &head);
        ends.push(self.f.env.since(self.f.env.mark()));
        self.dry = was_dry;
        if was_dry {
            ends.extend(breaks);
            self.f.live = true;
            self.f.grad = grad;
            self.f.env.join(&ends);
            return;
        }
        self.f.env.join(&ends);
        self.f.grad = grad;
        let (ends, mut breaks) = self.loop_round(kind, range, body, &head);
        if !forever {
            breaks.extend(ends);
            breaks.push(self.f.env.since(self.f.env.mark()));
        }
        self.f.live = !breaks.is_empty();
        self.f.env.join(&breaks);
        self.f.grad = grad;
    }

    /// One round: the states at the end of the body, and those at `break`.
    fn loop_round(
        &mut self,
        kind: BlockKind<'a>,
        range: TextRange,
        body: &'a [Stmt],
        head: &impl Fn(&mut Self),
    ) -> (Vec<Branch>, Vec<Branch>) {
        let mark = self.f.env.mark();
        self.f.live = true;
        self.f.loops.push(LoopFrame { start: Some(mark), ..LoopFrame::default() });
        self.inside(kind, range, |walker| {
            head(walker);
            walker.walk_suite(body);
        });
        let frame = self.f.loops.pop().unwrap_or_default();
        let end = self.f.env.take(mark);
        let mut ends = frame.continues;
        if self.f.live {
            ends.push(end);
        }
        (ends, frame.breaks)
    }

    fn with_statement(&mut self, node: &'a StmtWith) {
        let grad = self.f.grad;
        let block = self.block_for(BlockKind::With(node), node.range(), self.f.block);
        for item in &node.items {
            let value = self.eval(&item.context_expr);
            if let Some(mode) = self.mode_entered(&item.context_expr, &value) {
                self.f.grad = mode;
            }
            if let Some(target) = &item.optional_vars {
                self.assign(target, value.clone(), None, item.range());
            }
            if self.recording() {
                let at = self.at();
                self.log.withs.push(WithItem { expr: &item.context_expr, value, node, body: block, at });
            }
        }
        let outer = std::mem::replace(&mut self.f.block, block);
        self.walk_suite(&node.body);
        self.f.block = outer;
        self.f.grad = grad;
    }

    /// The gradient mode a context manager switches to.
    pub(super) fn mode_entered(&mut self, expr: &'a Expr, value: &Value) -> Option<GradMode> {
        let (Kind::External(sym) | Kind::Made(sym)) = value.kind else {
            // `ctx = torch.no_grad() if evaluating else nullcontext()`, or a helper that decides.
            let text = self.source.slice(expr.range());
            let may_switch = ["grad", "inference", "ctx", "context"].iter().any(|word| text.contains(word));
            return (may_switch && !self.f.grad.is_off()).then_some(GradMode::Depends);
        };
        let first = match expr {
            Expr::Call(call) => {
                call.arguments.args.first().or_else(|| call.arguments.keywords.first().map(|k| &k.value))
            }
            _ => None,
        };
        let literal = match first {
            Some(Expr::BooleanLiteral(literal)) => Some(literal.value),
            _ => None,
        };
        match self.names.text(sym) {
            "torch.no_grad" => Some(GradMode::NoGrad),
            "torch.inference_mode" => match (first, literal) {
                (None, _) | (_, Some(true)) => Some(GradMode::Inference),
                (_, Some(false)) => None,
                _ => Some(GradMode::Depends),
            },
            "torch.enable_grad" => Some(GradMode::On),
            "torch.set_grad_enabled" => Some(mode_of_switch(literal)),
            _ => None,
        }
    }

    fn try_statement(&mut self, node: &'a StmtTry) {
        let mark = self.f.env.mark();
        let grad = self.f.grad;
        self.inside(BlockKind::Try, body_range(&node.body, node.range()), |walker| walker.walk_suite(&node.body));
        let after_body = self.f.env.since(mark);
        let (mut branches, mut modes) = (Vec::new(), Vec::new());
        if self.f.live {
            self.inside(BlockKind::Try, body_range(&node.orelse, node.range()), |walker| {
                walker.walk_suite(&node.orelse);
            });
        }
        let alive = self.f.live;
        let after_else = self.f.env.take(mark);
        if alive {
            branches.push(after_else);
            modes.push(self.f.grad);
        }
        let untouched = self.f.env.since(self.f.env.mark());
        for ExceptHandler::ExceptHandler(handler) in &node.handlers {
            self.f.grad = grad;
            self.f.live = true;
            let mark = self.f.env.mark();
            self.f.env.join(&[untouched.clone(), after_body.clone()]);
            self.inside(BlockKind::Handler(handler), handler.range(), |walker| {
                if let Some(kind) = &handler.type_ {
                    walker.eval(kind);
                }
                if let Some(name) = &handler.name {
                    let slot = walker.f.env.name(name.as_str());
                    walker.f.env.bind(slot, Some(Value::of(Kind::Exception)));
                }
                walker.walk_suite(&handler.body);
            });
            let branch = self.f.env.take(mark);
            if self.f.live {
                branches.push(branch);
                modes.push(self.f.grad);
            }
        }
        self.go_on(&branches, &modes);
        self.finally(&node.finalbody, node.range(), &after_body);
    }

    fn finally(&mut self, body: &'a [Stmt], range: TextRange, after_body: &Branch) {
        if body.is_empty() {
            return;
        }
        let alive = std::mem::replace(&mut self.f.live, true);
        if !alive {
            self.f.env.join(std::slice::from_ref(after_body));
        }
        self.inside(BlockKind::Finally, body_range(body, range), |walker| walker.walk_suite(body));
        self.f.live &= alive;
    }

    fn match_statement(&mut self, node: &'a StmtMatch) {
        self.eval(&node.subject);
        let grad = self.f.grad;
        let (mut branches, mut modes) = (Vec::new(), Vec::new());
        for case in &node.cases {
            self.f.grad = grad;
            self.branch(BlockKind::Case, case.range(), &case.body, &mut branches, &mut modes);
        }
        self.f.live = true;
        if !node.cases.iter().any(|case| case.guard.is_none() && case.pattern.is_irrefutable()) {
            branches.push(self.f.env.since(self.f.env.mark()));
            modes.push(grad);
        }
        self.go_on(&branches, &modes);
    }

    fn define_function(&mut self, node: &'a StmtFunctionDef) {
        let Some(index) = self.outline.function_of(node) else { return };
        self.eval_defaults(&node.parameters);
        for decorator in &node.decorator_list {
            let value = self.eval(&decorator.expression);
            if self.recording() {
                let name = match value.kind {
                    Kind::External(sym) | Kind::Made(sym) => Some(sym),
                    _ => None,
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

    fn delete(&mut self, target: &'a Expr) {
        let value = self.quietly(|walker| walker.eval(target));
        if self.recording() {
            let at = self.at();
            self.log.deletes.push(Delete { target, value, at });
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
        let root = self.root(target);
        self.note_kept(kind, root, value);
        if self.recording() {
            let at = self.at();
            let (holder, value) = (self.seen(holder), self.seen(value));
            self.log.stores.push(Store { kind, range, target, root, holder, value, value_expr, via: None, at });
        }
    }
}

/// What `torch.set_grad_enabled(x)` switches to.
pub(super) fn mode_of_switch(literal: Option<bool>) -> GradMode {
    match literal {
        Some(true) => GradMode::On,
        Some(false) => GradMode::NoGrad,
        None => GradMode::Depends,
    }
}

fn body_range(body: &[Stmt], otherwise: TextRange) -> TextRange {
    match (body.first(), body.last()) {
        (Some(first), Some(last)) => TextRange::new(first.start(), last.end()),
        _ => otherwise,
    }
}

fn is_main_guard(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let is_literal = |expr: &Expr| matches!(expr, Expr::StringLiteral(literal) if literal.value.to_str() == "__main__");
    compare.ops.first() == Some(&CmpOp::Eq)
        && (is_name(&compare.left, "__name__") && compare.comparators.first().is_some_and(is_literal)
            || is_literal(&compare.left))
}

fn mentions_step(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    let lower = name.to_ascii_lowercase();
    lower.contains("step") || lower.contains("iter")
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
