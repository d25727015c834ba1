//! The names of a file, scope by scope, as Python resolves them, with the order in which they are bound and read.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::bindings::captured_name;
use crate::python::ast::visitor::source_order::{
    SourceOrderVisitor, walk_except_handler, walk_expr, walk_match_case, walk_pattern, walk_stmt,
};
use crate::python::ast::{
    Comprehension, ExceptHandler, ExprContext, Identifier, MatchCase, Parameters, Pattern, StmtFor, WithItem,
};
use crate::python::{Expr, Ranged, Stmt};

/// What kind of scope names are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Module,
    Class,
    /// A `def`, a `lambda` or a generator expression: runs later, if at all.
    Later,
    /// A comprehension that is not a generator expression: runs where it is written.
    AtOnce,
}

/// A place in a scope: when it is passed, and what it stands in.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// Counts everything that happens, as it would run from top to bottom.
    pub(super) order: u32,
    /// The offset in the text.
    pub(super) offset: u32,
    /// The blocks of statements around it, outermost first.
    suites: Vec<u32>,
    /// The loops around it within its scope, outermost first.
    loops: Vec<u32>,
}

impl Place {
    /// Whether whoever gets to `later` has passed this place, in the same turn of this place's loops.
    pub(super) fn dominates(&self, later: &Self) -> bool {
        self.order < later.order && later.suites.starts_with(&self.suites)
    }

    /// Whether `other` runs between this place and `later`, which it dominates: as written, or in an earlier turn.
    pub(super) fn has_between(&self, other: &Self, later: &Self) -> bool {
        let as_written = self.order < other.order && other.order < later.order;
        let shares = |inner: &&u32| later.loops.contains(inner) && !self.loops.contains(inner);
        as_written || other.loops.iter().any(|inner| shares(&inner))
    }
}

/// Everything that happens to one name in one scope.
#[derive(Debug, Default)]
pub(super) struct Name {
    pub(super) binds: Vec<Place>,
    pub(super) reads: Vec<Place>,
    pub(super) deletes: Vec<Place>,
    /// Whether a scope that runs later, or a class, reads or binds it.
    pub(super) is_shared: bool,
}

/// One scope.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) kind: Kind,
    /// What it is called, and which of that name it is: the same before and after a fix elsewhere.
    pub(super) path: String,
    parent: Option<usize>,
    pub(super) names: FxHashMap<&'a str, Name>,
    globals: FxHashSet<&'a str>,
    nonlocals: FxHashSet<&'a str>,
    children: FxHashMap<String, u32>,
}

/// All scopes of a file; the first is the module.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    pub(super) all: Vec<Scope<'a>>,
    /// Names that are read and that nothing in the file binds.
    pub(super) unbound: FxHashSet<&'a str>,
    /// Whether something reads names that are not written: `eval`, `exec`, `locals()`, `%magics`.
    pub(super) reads_unseen: bool,
}

/// Calls that see names without naming them.
const SEES_ALL: &[&str] = &["eval", "exec", "locals", "globals", "vars", "dir"];

impl<'a> Scopes<'a> {
    /// Those of a file.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut walk = Walk {
            scopes: Vec::new(),
            pending: Vec::new(),
            now: 0,
            order: 0,
            suites: Vec::new(),
            loops: Vec::new(),
            fresh: 0,
            sees_all: false,
        };
        walk.open(Kind::Module, None, "");
        walk.visit_body(body);
        walk.resolve()
    }

    /// The scope at a path.
    pub(super) fn at(&self, path: &str) -> Option<&Scope<'a>> {
        self.all.iter().find(|scope| scope.path == path)
    }
}

impl Scope<'_> {
    /// Whether a name is one of another scope here: `global x`.
    pub(super) fn borrows(&self, name: &str) -> bool {
        self.globals.contains(name) || self.nonlocals.contains(name)
    }
}

/// A read or a `del` whose scope is known only when all binds are.
struct Pending<'a> {
    scope: usize,
    name: &'a str,
    place: Place,
    deletes: bool,
}

struct Walk<'a> {
    scopes: Vec<Scope<'a>>,
    pending: Vec<Pending<'a>>,
    now: usize,
    order: u32,
    suites: Vec<u32>,
    loops: Vec<u32>,
    fresh: u32,
    sees_all: bool,
}

impl<'a> Walk<'a> {
    fn open(&mut self, kind: Kind, parent: Option<usize>, name: &str) -> usize {
        let path = parent.map_or_else(String::new, |parent| {
            let parent = &mut self.scopes[parent];
            let count = parent.children.entry(name.to_owned()).or_default();
            *count += 1;
            format!("{}/{name}#{count}", parent.path)
        });
        self.scopes.push(Scope {
            kind,
            path,
            parent,
            names: FxHashMap::default(),
            globals: FxHashSet::default(),
            nonlocals: FxHashSet::default(),
            children: FxHashMap::default(),
        });
        self.scopes.len() - 1
    }

    /// Does something within a new scope. One that runs at once keeps the place it stands in.
    fn within(&mut self, kind: Kind, name: &str, inside: impl FnOnce(&mut Self)) {
        let outer = self.now;
        self.now = self.open(kind, Some(outer), name);
        let kept = (kind != Kind::AtOnce).then(|| (std::mem::take(&mut self.suites), std::mem::take(&mut self.loops)));
        inside(self);
        if let Some((suites, loops)) = kept {
            (self.suites, self.loops) = (suites, loops);
        }
        self.now = outer;
    }

    /// Does something within a block of its own, which may not run.
    fn in_suite(&mut self, is_loop: bool, inside: impl FnOnce(&mut Self)) {
        self.fresh += 1;
        let fresh = self.fresh;
        self.suites.push(fresh);
        if is_loop {
            self.loops.push(fresh);
        }
        inside(self);
        self.suites.pop();
        if is_loop {
            self.loops.pop();
        }
    }

    fn place(&mut self, node: &impl Ranged) -> Place {
        self.order += 1;
        let offset = node.start().to_u32();
        Place { order: self.order, offset, suites: self.suites.clone(), loops: self.loops.clone() }
    }

    fn bind(&mut self, name: &'a str, node: &impl Ranged) {
        let place = self.place(node);
        let scope = &mut self.scopes[self.now];
        scope.names.entry(name).or_default().binds.push(place);
    }

    fn note(&mut self, name: &'a str, node: &impl Ranged, deletes: bool) {
        let place = self.place(node);
        self.pending.push(Pending { scope: self.now, name, place, deletes });
    }

    /// The scope a name belongs to where it is used in `scope`; `None` where nothing binds it.
    fn owner(&self, scope: usize, name: &str) -> Option<usize> {
        let binds = |scope: usize| self.scopes[scope].names.get(name).is_some_and(|name| !name.binds.is_empty());
        let mut now = scope;
        loop {
            let here = &self.scopes[now];
            if here.globals.contains(name) {
                return binds(0).then_some(0);
            }
            // The names of a class are seen by its body alone.
            let is_open = now == scope || here.kind != Kind::Class;
            if is_open && binds(now) && !here.nonlocals.contains(name) {
                return Some(now);
            }
            now = here.parent?;
        }
    }

    /// Whether a scope runs where it is written, within `outer`.
    fn runs_at_once(&self, scope: usize, outer: usize) -> bool {
        let mut now = scope;
        while now != outer {
            let here = &self.scopes[now];
            match (here.kind, here.parent) {
                (Kind::AtOnce, Some(parent)) => now = parent,
                _ => return false,
            }
        }
        true
    }

    fn resolve(mut self) -> Scopes<'a> {
        self.move_declared();
        let mut unbound = FxHashSet::default();
        for pending in std::mem::take(&mut self.pending) {
            let Some(owner) = self.owner(pending.scope, pending.name) else {
                unbound.insert(pending.name);
                continue;
            };
            let at_once = self.runs_at_once(pending.scope, owner);
            let name = self.scopes[owner].names.entry(pending.name).or_default();
            name.is_shared |= !at_once;
            match (at_once, pending.deletes) {
                (_, true) => name.deletes.push(pending.place),
                (true, false) => name.reads.push(pending.place),
                (false, false) => {}
            }
        }
        Scopes { all: self.scopes, unbound, reads_unseen: self.sees_all }
    }

    /// What a scope binds under `global` and `nonlocal` belongs to another.
    fn move_declared(&mut self) {
        for index in 0..self.scopes.len() {
            let declared: Vec<&'a str> =
                self.scopes[index].names.keys().copied().filter(|name| self.scopes[index].borrows(name)).collect();
            for name in declared {
                let Some(own) = self.scopes[index].names.remove(name) else { continue };
                let owner = self.owner(index, name).unwrap_or(0);
                let there = self.scopes[owner].names.entry(name).or_default();
                there.is_shared = true;
                // When it is bound from elsewhere is not known: never as far as reads in order go.
                if there.binds.is_empty() {
                    there.binds.extend(own.binds);
                }
            }
        }
    }

    fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
            if let Some(annotation) = parameter.annotation() {
                self.visit_expr(annotation);
            }
        }
    }

    fn bind_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind(parameter.name().as_str(), &parameter.name().range());
        }
    }

    fn visit_for(&mut self, node: &'a StmtFor) {
        self.visit_expr(&node.iter);
        self.in_suite(true, |walk| {
            walk.visit_expr(&node.target);
            node.body.iter().for_each(|stmt| walk.visit_stmt(stmt));
        });
        self.visit_body(&node.orelse);
    }

    fn visit_generators(&mut self, generators: &'a [Comprehension], inside: impl FnOnce(&mut Self)) {
        for (index, each) in generators.iter().enumerate() {
            if index > 0 {
                self.visit_expr(&each.iter);
            }
            self.visit_expr(&each.target);
            each.ifs.iter().for_each(|test| self.visit_expr(test));
        }
        inside(self);
    }

    /// A comprehension: what it goes over first is read outside of it.
    fn comprehend(&mut self, kind: Kind, generators: &'a [Comprehension], inside: impl FnOnce(&mut Self)) {
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.within(kind, "comprehension", |walk| {
            walk.in_suite(true, |walk| walk.visit_generators(generators, inside));
        });
    }

    /// `(x := ...)` in a comprehension binds in the scope around it.
    fn bind_by_walrus(&mut self, target: &'a Expr) {
        let Expr::Name(name) = target else { return };
        let outer = self.now;
        while self.scopes[self.now].path.rsplit('/').next().is_some_and(|last| last.starts_with("comprehension#"))
            && let Some(parent) = self.scopes[self.now].parent
        {
            self.now = parent;
        }
        // What stands before it may decide whether it runs.
        self.in_suite(false, |walk| walk.bind(name.id.as_str(), target));
        self.now = outer;
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        self.in_suite(false, |walk| body.iter().for_each(|stmt| walk.visit_stmt(stmt)));
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                node.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                self.visit_defaults(&node.parameters);
                if let Some(returns) = &node.returns {
                    self.visit_expr(returns);
                }
                self.bind(node.name.as_str(), &node.name);
                self.within(Kind::Later, node.name.as_str(), |walk| {
                    walk.bind_parameters(&node.parameters);
                    walk.visit_body(&node.body);
                });
            }
            Stmt::ClassDef(node) => {
                node.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                if let Some(arguments) = &node.arguments {
                    self.visit_arguments(arguments);
                }
                self.within(Kind::Class, node.name.as_str(), |walk| walk.visit_body(&node.body));
                self.bind(node.name.as_str(), &node.name);
            }
            Stmt::Assign(node) => {
                self.visit_expr(&node.value);
                node.targets.iter().for_each(|target| self.visit_expr(target));
            }
            Stmt::AugAssign(node) => {
                if let Expr::Name(name) = &*node.target {
                    self.note(name.id.as_str(), name, false);
                }
                self.visit_expr(&node.value);
                self.visit_expr(&node.target);
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    self.visit_expr(value);
                    self.visit_expr(&node.target);
                }
            }
            Stmt::For(node) => self.visit_for(node),
            Stmt::While(node) => {
                self.in_suite(true, |walk| {
                    walk.visit_expr(&node.test);
                    node.body.iter().for_each(|stmt| walk.visit_stmt(stmt));
                });
                self.visit_body(&node.orelse);
            }
            Stmt::Global(node) => {
                self.scopes[self.now].globals.extend(node.names.iter().map(Identifier::as_str));
            }
            Stmt::Nonlocal(node) => {
                self.scopes[self.now].nonlocals.extend(node.names.iter().map(Identifier::as_str));
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    let first = alias.name.as_str().split('.').next().unwrap_or_default();
                    self.bind(alias.asname.as_ref().map_or(first, |name| name.as_str()), alias);
                }
            }
            Stmt::ImportFrom(node) => {
                for alias in &node.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name).as_str(), alias);
                }
            }
            Stmt::IpyEscapeCommand(_) => self.sees_all = true,
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        self.visit_expr(&item.context_expr);
        if let Some(vars) = &item.optional_vars {
            self.visit_expr(vars);
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.in_suite(false, |walk| {
            if let Some(name) = &node.name {
                walk.bind(name.as_str(), name);
            }
            walk_except_handler(walk, handler);
        });
    }

    fn visit_match_case(&mut self, case: &'a MatchCase) {
        self.in_suite(false, |walk| walk_match_case(walk, case));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Some(name) = captured_name(pattern) {
            self.bind(name.as_str(), name);
        }
        walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) => match node.ctx {
                ExprContext::Store => self.bind(node.id.as_str(), node),
                ExprContext::Del => self.note(node.id.as_str(), node, true),
                _ => self.note(node.id.as_str(), node, false),
            },
            Expr::Named(node) => {
                self.visit_expr(&node.value);
                self.bind_by_walrus(&node.target);
            }
            Expr::Lambda(node) => {
                if let Some(parameters) = &node.parameters {
                    self.visit_defaults(parameters);
                }
                self.within(Kind::Later, "lambda", |walk| {
                    if let Some(parameters) = &node.parameters {
                        walk.bind_parameters(parameters);
                    }
                    walk.visit_expr(&node.body);
                });
            }
            Expr::ListComp(node) => {
                self.comprehend(Kind::AtOnce, &node.generators, |walk| walk.visit_expr(&node.elt));
            }
            Expr::SetComp(node) => {
                self.comprehend(Kind::AtOnce, &node.generators, |walk| walk.visit_expr(&node.elt));
            }
            Expr::DictComp(node) => self.comprehend(Kind::AtOnce, &node.generators, |walk| {
                if let Some(key) = &node.key {
                    walk.visit_expr(key);
                }
                walk.visit_expr(&node.value);
            }),
            Expr::Generator(node) => {
                self.comprehend(Kind::Later, &node.generators, |walk| walk.visit_expr(&node.elt));
            }
            Expr::Call(node) => {
                let seen = |name: &str| SEES_ALL.contains(&name);
                self.sees_all |= matches!(&*node.func, Expr::Name(name) if seen(name.id.as_str()));
                walk_expr(self, expr);
            }
            Expr::IpyEscapeCommand(_) => self.sees_all = true,
            _ => walk_expr(self, expr),
        }
    }
}
