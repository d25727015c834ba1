//! The way a run takes through statements, as far as it is the same for every run.

use rustc_hash::{FxHashMap, FxHashSet};

use super::members::Members;
use super::names::Names;
use super::{Cause, Often, Part};
use crate::analysis::bindings::{bound_by, bound_by_comprehension, bound_by_head};
use crate::analysis::branches::is_main_guard;
use crate::analysis::value::ClassId;
use crate::facts::Facts;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_stmt};
use crate::python::ast::{
    Comprehension, ExprAttribute, ExprCall, InterpolatedStringElement, StmtClassDef, StmtFunctionDef, StmtIf, StmtTry,
    StmtWith,
};
use crate::python::{Expr, Ranged, Stmt, TextRange, body_elsewhere, root_name};
use crate::source::Kind;
use crate::uses::last_name;

/// How a statement ends, on every run that gets to it.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// Some run goes on behind it.
    Goes,
    /// It leaves the statements around it as its author meant it to: `return`, `raise`, `continue`, `exit()`.
    Leaves(Cause),
    /// It raises, and nobody meant it to.
    Breaks(Cause),
}

impl End {
    fn of(cause: Option<Cause>) -> Self {
        cause.map_or(Self::Goes, Self::Breaks)
    }

    fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Goes => None,
            Self::Leaves(cause) | Self::Breaks(cause) => Some(cause),
        }
    }
}

/// What the method around a point calls its object, and the object's class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) name: &'a str,
    pub(super) class: ClassId,
}

pub(super) struct Flow<'f, 'a> {
    pub(super) facts: &'f Facts<'a>,
    pub(super) names: Names<'f, 'a>,
    pub(super) members: Members<'f, 'a>,
    own: Option<Own<'a>>,
    /// The function around, and how many loops of it.
    function: Option<&'a StmtFunctionDef>,
    loops: u32,
    parts: Vec<Part>,
    /// What tests come to on every run, by their place.
    settled: FxHashMap<TextRange, bool>,
    /// Functions and classes of the file that raise whenever they are called.
    broken: FxHashSet<&'a str>,
}

/// The parts of a file that no run gets to.
pub(super) fn parts(facts: &Facts<'_>) -> Vec<Part> {
    const ROUNDS: usize = 3;
    let mut flow = Flow {
        facts,
        names: Names::of(facts),
        members: Members::of(facts),
        own: None,
        function: None,
        loops: 0,
        parts: Vec::new(),
        settled: facts.settled_tests(),
        broken: FxHashSet::default(),
    };
    // A function may call one that stands further down.
    for _ in 0..ROUNDS {
        let known = flow.broken.len();
        flow.parts.clear();
        flow.file();
        if flow.broken.len() == known {
            break;
        }
    }
    flow.parts
}

impl<'a> Flow<'_, 'a> {
    fn file(&mut self) {
        let source = self.facts.source;
        let body = source.body();
        if source.kind == Kind::Notebook {
            // Each cell is run by itself.
            for cell in &source.cells {
                let first = body.partition_point(|stmt| stmt.start() < cell.range.start());
                let end = body.partition_point(|stmt| stmt.start() < cell.range.end());
                self.suite(&body[first..end.max(first)]);
            }
            return;
        }
        if let End::Leaves(cause) | End::Breaks(cause) = self.suite(body) {
            self.definitions_before(body, &cause);
        }
    }

    /// Whoever imports a file whose body raises gets nothing of it: what it defines runs only if the body calls it.
    fn definitions_before(&mut self, body: &'a [Stmt], cause: &Cause) {
        let end = body.partition_point(|stmt| stmt.start() <= cause.range.start());
        let called = super::names::mentioned_from(body, &body[..end]);
        for stmt in &body[..end.saturating_sub(1)] {
            let name = match stmt {
                Stmt::FunctionDef(node) => node.name.as_str(),
                Stmt::ClassDef(node) => node.name.as_str(),
                _ => continue,
            };
            if !called.contains(name) {
                self.note(stmt.range(), cause);
            }
        }
    }

    fn suite(&mut self, body: &'a [Stmt]) -> End {
        for (range, cause) in super::replaced::definitions_in(body) {
            self.note(range, &cause);
        }
        for (index, stmt) in body.iter().enumerate() {
            let end = self.stmt(stmt);
            if let Some(cause) = end.cause() {
                self.skip(&body[index + 1..], cause);
                return end;
            }
        }
        End::Goes
    }

    fn note(&mut self, range: TextRange, cause: &Cause) {
        self.parts.push(Part { range, cause: cause.clone(), often: Often::Never });
    }

    /// Notes that a body is not reached.
    fn skip(&mut self, body: &[Stmt], cause: &Cause) {
        for stmt in body {
            self.note(stmt.range(), cause);
            if let Stmt::With(node) = stmt
                && body_elsewhere(node).is_some()
            {
                self.skip(&node.body, cause);
            }
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> End {
        let leaves = |text: &str| End::Leaves(Cause { range: stmt.range(), text: text.to_owned() });
        match stmt {
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::Expr(node) => match self.expr(&node.value) {
                None if self.exits(&node.value) => leaves("the program ends here"),
                found => End::of(found),
            },
            Stmt::Return(node) => match node.value.as_deref().and_then(|value| self.expr(value)) {
                Some(cause) => End::Breaks(cause),
                None => leaves("the function returns here"),
            },
            Stmt::Raise(_) => leaves("this is raised here"),
            Stmt::Continue(_) | Stmt::Break(_) => leaves("the loop goes on elsewhere from here"),
            Stmt::Assert(node) => match self.expr(&node.test) {
                None if is_never(&node.test) => leaves("this never holds"),
                found => End::of(found),
            },
            Stmt::Assign(node) => {
                let lengths = node.targets.iter().find_map(|target| self.facts.wrong_length(target, &node.value));
                let targets = |flow: &mut Self| node.targets.iter().find_map(|target| flow.expr(target));
                End::of(self.expr(&node.value).or(lengths).or_else(|| targets(self)))
            }
            Stmt::AugAssign(node) => End::of(self.read(&node.target).or_else(|| self.expr(&node.value))),
            Stmt::AnnAssign(node) => End::of(node.value.as_deref().and_then(|value| self.expr(value))),
            Stmt::Delete(node) => End::of(node.targets.iter().find_map(|target| self.expr(target))),
            Stmt::If(node) => self.branches(node),
            Stmt::For(node) => {
                let cause = self.expr(&node.iter);
                self.turns(stmt, &node.body, &node.orelse, cause, false)
            }
            Stmt::While(node) => {
                let cause = self.expr(&node.test);
                let forever = node.test.as_boolean_literal_expr().is_some_and(|literal| literal.value);
                self.turns(stmt, &node.body, &node.orelse, cause, forever)
            }
            Stmt::With(node) => self.with(node),
            Stmt::Try(node) => self.guarded(node),
            Stmt::Match(node) => {
                let cause = self.expr(&node.subject);
                for case in &node.cases {
                    self.suite(&case.body);
                }
                End::of(cause)
            }
            _ => End::Goes,
        }
    }

    fn branches(&mut self, node: &'a StmtIf) -> End {
        if let Some(cause) = self.expr(&node.test) {
            self.skip(&node.body, &cause);
            for clause in &node.elif_else_clauses {
                self.skip(&clause.body, &cause);
            }
            return End::Breaks(cause);
        }
        let first = std::iter::once((Some(&*node.test), &node.body[..]));
        let others = node.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), &clause.body[..]));
        let mut ends = Vec::new();
        let mut taken = None;
        for (test, body) in first.chain(others) {
            let settled = test.and_then(|test| self.settled.get(&test.range()).copied());
            let cause = test.map(|test| Cause {
                range: test.range(),
                text: "as the program is written, this is the same on every run".to_owned(),
            });
            match (&taken, settled, cause) {
                (Some(cause), ..) => self.skip(body, cause),
                (None, Some(false), Some(cause)) => self.skip(body, &cause),
                (None, settled, cause) => {
                    ends.push(self.suite(body));
                    taken = cause.filter(|_| settled == Some(true));
                }
            }
        }
        let covers = node.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none());
        if !covers && taken.is_none() || is_main_guard(&node.test) {
            return End::Goes;
        }
        joined(&ends)
    }

    fn turns(
        &mut self,
        whole: &'a Stmt,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
        head: Option<Cause>,
        forever: bool,
    ) -> End {
        if let Some(cause) = head {
            self.skip(body, &cause);
            self.skip(orelse, &cause);
            return End::Breaks(cause);
        }
        self.loops += 1;
        let end = self.suite(body);
        self.loops -= 1;
        self.suite(orelse);
        let jumps = Jumps::of(body);
        match end {
            // The first turn ends the run: nothing before that line happens twice, nothing behind the loop happens.
            End::Breaks(cause) if !jumps.breaks && !jumps.continues => {
                let before = body.iter().filter(|stmt| stmt.end() <= cause.range.start());
                self.once(before, &cause, Often::Once);
                return End::Breaks(cause);
            }
            End::Leaves(ref cause) if !jumps.continues => self.leaves_at_once(whole, body, &cause.clone()),
            End::Goes if !jumps.continues => {
                if let Some(cause) = self.left_as_called(body) {
                    self.leaves_at_once(whole, body, &cause);
                }
            }
            _ => {}
        }
        if forever && !jumps.breaks {
            let range = body.first().map_or_else(TextRange::default, Ranged::range);
            return End::Leaves(Cause { range, text: "this loop has no end".to_owned() });
        }
        End::Goes
    }

    /// Notes what a loop does not do twice; what loops within it do, they do in turn after turn.
    fn once(&mut self, stmts: impl Iterator<Item = &'a Stmt>, cause: &Cause, often: Often) {
        let part = |stmt: &Stmt| Part { range: stmt.range(), cause: cause.clone(), often };
        self.parts.extend(stmts.filter(|stmt| !has_loop(stmt)).map(part));
    }

    /// A loop whose first turn is its last: `for batch in loader: ...; break`.
    fn leaves_at_once(&mut self, whole: &'a Stmt, body: &'a [Stmt], cause: &Cause) {
        let often = if self.loops == 0 { Often::Once } else { Often::OnceATurn };
        let cause = Cause { range: cause.range, text: "the loop is left here on its first turn".to_owned() };
        let head = TextRange::new(whole.start(), body.first().map_or(whole.end(), Ranged::start));
        self.parts.push(Part { range: head, cause: cause.clone(), often });
        self.once(body.iter(), &cause, often);
    }

    /// Where a loop is left by a switch that is on unless told otherwise, and that nobody in view turns off:
    /// `def look(model, loader, first_only=True)`, `if first_only: break`.
    fn left_as_called(&self, body: &'a [Stmt]) -> Option<Cause> {
        let function = self.function?;
        body.iter().find_map(|stmt| {
            let Stmt::If(node) = stmt else { return None };
            let switch = node.test.as_name_expr()?.id.as_str();
            let leaves = matches!(node.body.last(), Some(Stmt::Break(_) | Stmt::Return(_)));
            (leaves && self.facts.is_on_as_called(function, switch))
                .then(|| Cause { range: node.range(), text: String::new() })
        })
    }

    fn with(&mut self, node: &'a StmtWith) -> End {
        if let Some(cause) = node.items.iter().find_map(|item| self.expr(&item.context_expr)) {
            self.skip(&node.body, &cause);
            return End::Breaks(cause);
        }
        let end = self.suite(&node.body);
        // `with suppress(...)`, `with pytest.raises(...)`, and whatever else may end what is raised.
        let keeps = node.items.iter().all(|item| match &item.context_expr {
            Expr::Call(call) => last_name(&call.func).is_some_and(|name| {
                let lower = name.to_ascii_lowercase();
                !["suppress", "raises", "assert", "catch", "ignore", "except", "error"]
                    .iter()
                    .any(|word| lower.contains(word))
            }),
            _ => false,
        });
        if keeps { end } else { End::Goes }
    }

    fn guarded(&mut self, node: &'a StmtTry) -> End {
        let mut ends = vec![self.suite(&node.body)];
        if let (Some(cause), false) = (ends[0].cause().cloned(), node.orelse.is_empty()) {
            self.skip(&node.orelse, &cause);
        } else {
            let end = self.suite(&node.orelse);
            if end.cause().is_some() {
                ends[0] = end;
            }
        }
        for handler in &node.handlers {
            let crate::python::ast::ExceptHandler::ExceptHandler(handler) = handler;
            ends.push(self.suite(&handler.body));
        }
        let finally = self.suite(&node.finalbody);
        if finally.cause().is_some() {
            return finally;
        }
        joined(&ends)
    }

    fn function(&mut self, node: &'a StmtFunctionDef) -> End {
        let decorators = node.decorator_list.iter().map(|decorator| &decorator.expression);
        let defaults = node.parameters.iter_non_variadic_params().filter_map(|parameter| parameter.default.as_deref());
        let head: Vec<&'a Expr> = decorators.chain(defaults).collect();
        if let Some(cause) = head.into_iter().find_map(|expr| self.expr(expr)) {
            return End::Breaks(cause);
        }
        let mut bound: FxHashSet<&'a str> = bound_by(&node.body);
        bound.extend(bound_by_head(Some(&node.parameters), node.type_params.as_deref()));
        let outer = (self.own, self.function.replace(node), std::mem::take(&mut self.loops));
        self.own = self.facts.own_of(node).or(self.own.filter(|own| !bound.contains(own.name)));
        self.names.enter(bound, node.name.as_str());
        let end = self.suite(&node.body);
        self.names.leave();
        (self.own, self.function, self.loops) = outer;
        let jumps = Jumps::of(&node.body);
        let runs_when_called = !jumps.returns && !jumps.yields && !node.is_async;
        if matches!(end, End::Breaks(_)) && runs_when_called {
            self.broken.extend(self.facts.callable_name(node));
        }
        End::Goes
    }

    fn class(&mut self, node: &'a StmtClassDef) -> End {
        let decorators = node.decorator_list.iter().map(|decorator| &decorator.expression);
        let arguments = node.arguments.iter().flat_map(|arguments| arguments.args.iter());
        let head: Vec<&'a Expr> = decorators.chain(arguments).collect();
        if let Some(cause) = head.into_iter().find_map(|expr| self.expr(expr)) {
            self.skip(&node.body, &cause);
            return End::Breaks(cause);
        }
        let mut bound = bound_by(&node.body);
        bound.extend(bound_by_head(None, node.type_params.as_deref()));
        self.names.enter_class(bound, node.name.as_str());
        let end = self.suite(&node.body);
        self.names.leave();
        if self.broken.contains(node.name.as_str()) && !self.facts.has_heirs(node) {
            self.methods_of_none(node);
        }
        end
    }

    /// Methods of a class of which no object can be made.
    fn methods_of_none(&mut self, node: &'a StmtClassDef) {
        let text = format!("making a `{}` raises, so that there is none", node.name);
        for stmt in &node.body {
            if let Stmt::FunctionDef(method) = stmt
                && method.decorator_list.is_empty()
                && method.name.as_str() != "__init__"
            {
                self.note(method.range(), &Cause { range: node.name.range(), text: text.clone() });
            }
        }
    }

    /// The first thing in an expression that raises whenever the expression is evaluated.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Option<Cause> {
        match expr {
            Expr::Name(node) if node.ctx.is_store() => None,
            Expr::Name(_) => self.read(expr),
            Expr::Attribute(node) => {
                let base = self.expr(&node.value);
                base.or_else(|| if node.ctx.is_load() { self.missing(node) } else { None })
            }
            Expr::BoolOp(node) => self.expr(node.values.first()?),
            Expr::Named(node) => self.expr(&node.value),
            Expr::BinOp(node) => self.first([&*node.left, &*node.right]),
            Expr::UnaryOp(node) => self.expr(&node.operand),
            Expr::If(node) => self.expr(&node.test),
            Expr::Dict(node) => self.first(node.items.iter().flat_map(|item| item.key.iter().chain([&item.value]))),
            Expr::Set(node) => self.first(&node.elts),
            Expr::List(node) => self.first(&node.elts),
            Expr::Tuple(node) => self.first(&node.elts),
            Expr::ListComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::SetComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::DictComp(node) => {
                let results: Vec<&Expr> = node.key.as_deref().into_iter().chain([&*node.value]).collect();
                self.comprehension(&results, &node.generators)
            }
            Expr::Generator(node) => self.expr(&node.generators.first()?.iter),
            Expr::Await(node) => self.expr(&node.value),
            Expr::Yield(node) => self.expr(node.value.as_deref()?),
            Expr::YieldFrom(node) => self.expr(&node.value),
            Expr::Compare(node) => self.first(std::iter::once(&*node.left).chain(node.comparators.first())),
            Expr::Call(node) => self.call(node),
            Expr::FString(node) => {
                let parts = node.value.elements().filter_map(InterpolatedStringElement::as_interpolation);
                self.first(parts.map(|part| &*part.expression))
            }
            Expr::Subscript(node) => self.first([&*node.value, &*node.slice]),
            Expr::Starred(node) => self.expr(&node.value),
            Expr::Slice(node) => {
                self.first([&node.lower, &node.upper, &node.step].into_iter().filter_map(|part| part.as_deref()))
            }
            _ => None,
        }
    }

    /// An attribute that is read.
    fn missing(&mut self, node: &'a ExprAttribute) -> Option<Cause> {
        if super::names::is_blank(node.attr.as_str()) {
            return Some(Cause {
                range: node.range(),
                text: "this is a blank that somebody has yet to fill in".to_owned(),
            });
        }
        let unset = self.own.and_then(|own| self.members.never_set(own, node));
        let of_file = |base: &Expr| base.as_name_expr().is_some_and(|name| self.names.is_of_file(name.id.as_str()));
        unset.or_else(|| if of_file(&node.value) { self.facts.never_given(node) } else { None })
    }

    fn first(&mut self, parts: impl IntoIterator<Item = &'a Expr>) -> Option<Cause> {
        parts.into_iter().find_map(|part| self.expr(part))
    }

    /// A name that is read.
    fn read(&mut self, expr: &'a Expr) -> Option<Cause> {
        let Expr::Name(node) = expr else { return self.expr(expr) };
        self.names.is_unbound(node.id.as_str()).then(|| Cause {
            range: node.range(),
            text: format!("`{}` is bound nowhere: this raises whenever it runs", node.id),
        })
    }

    fn call(&mut self, node: &'a ExprCall) -> Option<Cause> {
        let arguments = node.arguments.args.iter();
        let keywords = node.arguments.keywords.iter().map(|keyword| &keyword.value);
        if let Some(cause) = self.expr(&node.func) {
            return Some(cause);
        }
        if let Some(cause) = self.first(arguments.chain(keywords)) {
            // What is called is not, either.
            self.note(node.range(), &cause);
            return Some(cause);
        }
        if let Some(cause) = self.facts.refused_by_torch(node, self.is_import(&node.func)) {
            return Some(cause);
        }
        let Expr::Name(name) = &*node.func else { return None };
        let broken = self.broken.contains(name.id.as_str()) && self.names.is_of_file(name.id.as_str());
        let text = || format!("`{}` raises whenever it is called", name.id);
        broken.then(|| Cause { range: node.range(), text: text() })
    }

    /// Whether what an expression begins with is what the file binds it to, not a name of a function around.
    fn is_import(&self, expr: &Expr) -> bool {
        root_name(expr).is_some_and(|name| self.names.is_of_file(name))
    }

    fn comprehension(&mut self, results: &[&'a Expr], generators: &'a [Comprehension]) -> Option<Cause> {
        let [only] = generators else { return self.expr(&generators.first()?.iter) };
        if let Some(cause) = self.expr(&only.iter) {
            return Some(cause);
        }
        self.names.enter_comprehension(bound_by_comprehension(generators));
        let cause = match only.ifs.first() {
            Some(test) => self.expr(test),
            None => self.first(results.iter().copied()),
        };
        self.names.leave();
        cause
    }

    fn exits(&self, expr: &Expr) -> bool {
        let Expr::Call(call) = expr else { return false };
        match &*call.func {
            Expr::Name(name) => matches!(name.id.as_str(), "exit" | "quit") && self.names.is_builtin(name.id.as_str()),
            Expr::Attribute(node) => {
                let base = node.value.as_name_expr().map(|name| name.id.as_str());
                matches!((base, node.attr.as_str()), (Some("sys"), "exit") | (Some("os"), "_exit" | "abort"))
            }
            _ => false,
        }
    }
}

/// How several ways end together: as the last of them, if none goes on.
fn joined(ends: &[End]) -> End {
    if ends.iter().any(|end| matches!(end, End::Goes)) {
        return End::Goes;
    }
    let meant = ends.iter().find_map(|end| match end {
        End::Leaves(cause) => Some(End::Leaves(cause.clone())),
        _ => None,
    });
    meant.or_else(|| ends.first().cloned()).unwrap_or(End::Goes)
}

/// `assert False`, `assert 0`.
fn is_never(test: &Expr) -> bool {
    test.as_boolean_literal_expr().is_some_and(|literal| !literal.value) || crate::uses::whole_literal(test) == Some(0)
}

fn has_loop(stmt: &Stmt) -> bool {
    struct Loops(bool);
    impl<'a> SourceOrderVisitor<'a> for Loops {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            self.0 |= stmt.is_for_stmt() || stmt.is_while_stmt();
            walk_stmt(self, stmt);
        }
    }
    let mut loops = Loops(false);
    loops.visit_stmt(stmt);
    loops.0
}

/// The ways statements may be left early, those in nested loops and functions apart.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a way of its own")]
struct Jumps {
    breaks: bool,
    continues: bool,
    returns: bool,
    yields: bool,
    depth: u32,
}

impl Jumps {
    fn of(body: &[Stmt]) -> Self {
        let mut jumps = Self::default();
        for stmt in body {
            jumps.visit_stmt(stmt);
        }
        jumps
    }
}

impl<'a> SourceOrderVisitor<'a> for Jumps {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Break(_) => self.breaks |= self.depth == 0,
            Stmt::Continue(_) => self.continues |= self.depth == 0,
            Stmt::Return(_) => self.returns = true,
            Stmt::For(_) | Stmt::While(_) => {
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.yields |= matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_));
        crate::python::ast::visitor::source_order::walk_expr(self, expr);
    }
}
