//! The walk over branches, loops, `with` and `try`: states that part and meet again.

use super::batches;
use super::binding::iterate;
use super::env::Branch;
use super::events::{BlockKind, GradMode, LoopKind, WithItem};
use super::value::{Kind, Value};
use super::walk::{LoopFrame, Walker, is_name};
use crate::python::ast::{CmpOp, ExceptHandler, StmtFor, StmtIf, StmtMatch, StmtTry, StmtWhile, StmtWith};
use crate::python::{Expr, Ranged, Stmt, TextRange};

/// When a loop may be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Before its first turn, or after any.
    Anytime,
    /// After one turn at least: a network has layers.
    AfterTurn,
    /// By `break` alone.
    ByBreak,
}

/// Whether a loop goes over the layers of a network: `self.blocks`, `enumerate(self.blocks)`.
fn goes_over_layers(iterated: &Value) -> bool {
    let is_layer = |part: &Value| part.is_module();
    let parts = iterated.parts.as_deref().unwrap_or_default();
    iterated.is_module()
        || iterated.kind == Kind::Iterator
            && parts.iter().any(|part| {
                is_layer(part)
                    || part.kind == Kind::Tuple && part.parts.as_deref().unwrap_or_default().iter().any(is_layer)
            })
}

impl<'a> Walker<'a, '_> {
    pub(super) fn if_statement(&mut self, node: &'a StmtIf) {
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
            let mark = self.f.env.mark();
            if let (Some((asked, true)), true) = (self.tensor_asked_for(&node.test), node.elif_else_clauses.is_empty())
            {
                self.is_number(asked);
            }
            branches.push(self.f.env.take(mark));
            modes.push(grad);
        }
        self.go_on(&branches, &modes);
    }

    /// Notes that a local name is no tensor here: the test, or the other branch, asked for that.
    fn is_number(&mut self, name: &str) {
        if let Some(slot) = self.f.env.known(name).filter(|slot| self.f.env.get(*slot).is_some()) {
            self.f.env.bind(slot, Some(Value::of(Kind::Number)));
        }
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
        let asked = match kind {
            BlockKind::If(Some(test)) => self.tensor_asked_for(test).filter(|(_, holds)| !holds),
            BlockKind::Else(test) => self.tensor_asked_for(test).filter(|(_, holds)| *holds),
            _ => None,
        };
        if let Some((name, _)) = asked {
            self.is_number(name);
        }
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

    pub(super) fn leave_loop(&mut self, keep: impl FnOnce(&mut LoopFrame, Branch)) {
        if let Some(mut frame) = self.f.loops.pop() {
            if let Some(start) = frame.start {
                keep(&mut frame, self.f.env.since(start));
            }
            self.f.loops.push(frame);
        }
        self.f.live = false;
    }

    pub(super) fn for_statement(&mut self, node: &'a StmtFor, stmt: &'a Stmt) {
        let iterated = self.eval(&node.iter);
        let kind = match self.loop_kind(&node.target, &node.iter, &iterated) {
            LoopKind::Range | LoopKind::Steps | LoopKind::Chunks if batches::are_drawn_in(&node.body) => {
                LoopKind::Loader
            }
            LoopKind::Items if batches::are_moved_in(&node.target, &node.iter, &node.body) => LoopKind::Loader,
            LoopKind::Items if self.goes_through_generator(&node.iter) => LoopKind::Loader,
            kind => kind,
        };
        let element = iterate(&iterated);
        self.freeze_in_loop(node);
        let block = BlockKind::Loop(kind, stmt);
        let ends = if goes_over_layers(&iterated) { Ends::AfterTurn } else { Ends::Anytime };
        self.walk_loop(block, node.range(), ends, &node.body, |walker| {
            walker.assign(&node.target, element.clone(), None, node.target.range());
        });
        self.loop_else(&node.orelse);
    }

    /// Whether a loop goes over a generator of the project that is given a loader: `for loss in losses(loader)`.
    fn goes_through_generator(&mut self, iter: &'a Expr) -> bool {
        let Expr::Call(call) = iter else { return false };
        let Expr::Name(_) = &*call.func else { return false };
        let callee = self.quietly(|walker| walker.eval(&call.func));
        let Kind::Function(id) = callee.kind else { return false };
        let generates = self.tables.outlines[id.file as usize].functions[id.index as usize].is_generator;
        generates
            && call.arguments.args.iter().any(|arg| {
                let given = self.quietly(|walker| walker.eval(arg));
                given.kind == Kind::Loader
            })
    }

    pub(super) fn while_statement(&mut self, node: &'a StmtWhile, stmt: &'a Stmt) {
        let forever = matches!(&*node.test, Expr::BooleanLiteral(literal) if literal.value)
            || matches!(&*node.test, Expr::NumberLiteral(_));
        let asked = self.source.slice(node.test.range()).to_ascii_lowercase();
        let has_loop = node.body.iter().any(|stmt| stmt.is_for_stmt() || stmt.is_while_stmt());
        let kind = match &*node.test {
            _ if has_loop && (asked.contains("epoch") || asked.contains("patience")) => LoopKind::Epochs,
            _ if batches::are_drawn_in(&node.body) || batches::are_drawn_by(&node.test) => LoopKind::Loader,
            _ if forever => LoopKind::Forever,
            Expr::Compare(compare) if mentions_step(&compare.left) => LoopKind::Steps,
            _ => LoopKind::While,
        };
        let block = BlockKind::Loop(kind, stmt);
        let ends = if forever { Ends::ByBreak } else { Ends::Anytime };
        self.walk_loop(block, node.range(), ends, &node.body, |walker| {
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
        leaves: Ends,
        body: &'a [Stmt],
        head: impl Fn(&mut Self),
    ) {
        let grad = self.f.grad;
        let was_dry = std::mem::replace(&mut self.dry, true);
        let (mut ends, breaks) = self.loop_round(kind, range, body, &head);
        ends.push(self.f.env.since(self.f.env.mark()));
        self.dry = was_dry;
        if was_dry {
            if leaves == Ends::AfterTurn && ends.len() > 1 {
                ends.pop();
            }
            ends.extend(breaks);
            self.f.live = true;
            self.f.grad = grad;
            self.f.env.join(&ends);
            return;
        }
        self.f.env.join(&ends);
        self.f.grad = grad;
        let (ends, mut breaks) = self.loop_round(kind, range, body, &head);
        if leaves != Ends::ByBreak {
            breaks.extend(ends);
        }
        if leaves == Ends::Anytime || leaves == Ends::AfterTurn && breaks.is_empty() {
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

    pub(super) fn with_statement(&mut self, node: &'a StmtWith) {
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
            if matches!(expr, Expr::Call(call) if is_plain_context(&call.func)) {
                return None;
            }
            let may_switch =
                ["grad", "inference", "eval_mode", "ctx", "context"].iter().any(|word| text.contains(word));
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

    pub(super) fn try_statement(&mut self, node: &'a StmtTry) {
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
            if let (Some(name), [Stmt::Pass(_)]) = (taken_out(&node.body), &handler.body[..]) {
                self.is_number(name);
            }
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

    pub(super) fn match_statement(&mut self, node: &'a StmtMatch) {
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

/// `__name__ == "__main__"`.
pub(crate) fn is_main_guard(test: &Expr) -> bool {
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

/// `x = x.item()` as all there is: what has no `item` is a number.
fn taken_out(body: &[Stmt]) -> Option<&str> {
    let [Stmt::Assign(assign)] = body else { return None };
    let [Expr::Name(target)] = &assign.targets[..] else { return None };
    let Expr::Call(call) = &*assign.value else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let takes = matches!(method.attr.as_str(), "item" | "detach" | "tolist");
    (takes && is_name(&method.value, target.id.as_str())).then_some(target.id.as_str())
}

/// Whether what is entered is of the standard library, and switches nothing: `contextlib.nullcontext()`, `suppress(...)`.
fn is_plain_context(func: &Expr) -> bool {
    let name = crate::uses::last_name(func).unwrap_or_default();
    matches!(name, "nullcontext" | "suppress" | "ExitStack" | "closing" | "redirect_stdout" | "redirect_stderr")
}
