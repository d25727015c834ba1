//! The walk over a file: every body once, in the order it would run, with what is known at each point.
//!
//! Loops are walked twice (the first time to learn what they carry around), branches are joined, and what a function
//! does is summed up for its callers. The walk itself is spread over `entry.rs`, `stmts.rs`, `branches.rs`, `exprs.rs`,
//! `lookup.rs`, `calls.rs`, `methods.rs` and `binding.rs`; this file holds the state and the order of bodies.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::env::{Branch, Env};
use super::events::{At, Block, BlockKind, GradMode, Log, Site, StmtId};
use super::forks::Fork;
use super::names::{Names, Sym};
use super::outline::Outline;
use super::tables::{ClassKind, Learnt, Summary, Tables};
use super::value::{BlockId, ClassId, Flags, FunctionId, Graph, Kind, Sources, Value};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::source::Source;

/// Functions nested in the walk of their callers: deeper chains wait for the next round.
const MAX_CALL_DEPTH: u32 = 12;

/// What a name of an outer scope holds.
pub(super) type Scope<'a> = Rc<FxHashMap<&'a str, Value>>;

/// A loop being walked.
#[derive(Debug, Default)]
pub(super) struct LoopFrame {
    /// States at each `break`.
    pub(super) breaks: Vec<Branch>,
    /// States at each `continue`.
    pub(super) continues: Vec<Branch>,
    /// Where the body began.
    pub(super) start: Option<super::env::Mark>,
}

/// The state of walking one function (or the module).
#[derive(Debug, Default)]
pub(super) struct Frame<'a> {
    pub(super) env: Env<'a>,
    /// Scopes around, innermost first.
    pub(super) outer: Vec<Scope<'a>>,
    pub(super) loops: Vec<LoopFrame>,
    pub(super) block: BlockId,
    pub(super) stmt: u32,
    pub(super) grad: GradMode,
    /// The mode the body began in.
    pub(super) first_grad: GradMode,
    /// Whether it is called with gradients recorded and without: rules are then told less than callers are.
    pub(super) called_both_ways: bool,
    pub(super) function: Option<u32>,
    pub(super) class: Option<u32>,
    /// What the first parameter of a method is called.
    pub(super) self_name: Option<&'a str>,
    /// Whether the current point can be reached.
    pub(super) live: bool,
    pub(super) sites: Vec<TextRange>,
    pub(super) summary: Summary,
    pub(super) returned: Option<Value>,
    /// The flag that decides what is returned.
    pub(super) fork: Option<Fork>,
    /// Functions defined here, to be walked when the body is done.
    pub(super) pending: Vec<u32>,
    pub(super) globals: FxHashSet<&'a str>,
}

impl Default for BlockId {
    fn default() -> Self {
        Self::MODULE
    }
}

#[expect(clippy::derivable_impls, reason = "the mode a file begins in is a fact, not a habit of enums")]
impl Default for GradMode {
    fn default() -> Self {
        Self::On
    }
}

/// Walks one file.
pub(super) struct Walker<'a, 't> {
    pub(super) tables: &'t Tables<'a>,
    pub(super) file: u32,
    pub(super) source: &'a Source,
    pub(super) outline: &'t Outline<'a>,
    pub(super) names: Names,
    pub(super) log: Log<'a>,
    pub(super) learnt: Learnt<'a>,
    pub(super) f: Frame<'a>,
    pub(super) order: u32,
    /// Whether events are kept: not in a first round.
    pub(super) record: bool,
    /// Whether this is the first of two walks over a loop.
    pub(super) dry: bool,
    pub(super) depth: u32,
    call_depth: u32,
    walking: FxHashSet<u32>,
    blocks: FxHashMap<(u32, u32, u8), BlockId>,
    pub(super) resolved: FxHashMap<Sym, Option<Value>>,
    module_scope: Option<Scope<'a>>,
}

impl<'a, 't> Walker<'a, 't> {
    pub(super) fn new(tables: &'t Tables<'a>, file: u32, source: &'a Source, record: bool) -> Self {
        let outline = &tables.outlines[file as usize];
        let learnt = Learnt {
            summaries: vec![None; outline.functions.len()],
            attributes: vec![FxHashMap::default(); outline.classes.len()],
            ..Learnt::default()
        };
        Self {
            tables,
            file,
            source,
            outline,
            names: Names::default(),
            log: Log::default(),
            learnt,
            f: Frame { live: true, ..Frame::default() },
            order: 0,
            record,
            dry: false,
            depth: 0,
            call_depth: 0,
            walking: FxHashSet::default(),
            blocks: FxHashMap::default(),
            resolved: FxHashMap::default(),
            module_scope: None,
        }
    }

    /// Walks the module's body, then every function.
    pub(super) fn walk_file(mut self) -> (Learnt<'a>, Log<'a>, Names) {
        let whole = TextRange::up_to(crate::python::TextLen::text_len(self.source.text.as_str()));
        self.log.blocks.push(Block { parent: BlockId::MODULE, kind: BlockKind::Module, range: whole, function: None });
        self.import_stars();
        if self.outline.volatile.contains(&None) {
            (self.f.grad, self.f.first_grad) = (GradMode::Depends, GradMode::Depends);
        }
        self.walk_suite(self.source.body());
        self.learnt.goes_back = self.f.summary.calls_backward;
        let globals: FxHashMap<&'a str, Value> = self.f.env.bound_names().into_iter().collect();
        self.learnt.globals = globals.iter().map(|(name, value)| (*name, value.as_argument())).collect();
        let globals = globals.into_iter().map(|(name, value)| (name, Value { sources: Sources::default(), ..value }));
        self.module_scope = Some(Rc::new(globals.collect()));
        let pending = std::mem::take(&mut self.f.pending);
        self.walk_pending(pending);
        (self.learnt, self.log, self.names)
    }

    fn import_stars(&mut self) {
        for module in &self.outline.stars {
            let Some(file) = self.tables.find_module(module, self.file) else { continue };
            let outline = &self.tables.outlines[file as usize];
            let mut names: Vec<(&'a str, String)> =
                outline.imports.iter().map(|(name, full)| (*name, full.clone())).collect();
            let own = outline.top_functions.keys().chain(outline.top_classes.keys());
            names.extend(own.map(|name| (*name, format!("{module}.{name}"))));
            names.sort_unstable();
            for (name, full) in names {
                let value = Value::of(Kind::External(self.names.intern(&full)));
                let slot = self.f.env.name(name);
                self.f.env.bind(slot, Some(value));
            }
        }
    }

    /// Constructors first: they say what attributes are.
    pub(super) fn walk_pending(&mut self, mut pending: Vec<u32>) {
        let is_method = |index: &u32| {
            let name = self.outline.functions[*index as usize].node.name.as_str();
            !matches!(name, "__init__" | "setup" | "build" | "configure_optimizers" | "configure_model")
        };
        pending.sort_by_key(|index| (is_method(index), *index));
        for index in pending {
            if self.learnt.summaries[index as usize].is_none() {
                self.walk_function(index);
            }
        }
    }

    /// What a function of this file does; walks it now if that is not known yet.
    pub(super) fn summary(&mut self, id: FunctionId) -> Option<Arc<Summary>> {
        if id.file == self.file {
            if let Some(Some(summary)) = self.learnt.summaries.get(id.index as usize) {
                return Some(summary.clone());
            }
            let last = self.tables.summary(id).cloned();
            if last.is_some() || self.module_scope.is_none() && self.f.function.is_none() {
                return last;
            }
            if self.walking.contains(&id.index) || self.call_depth >= MAX_CALL_DEPTH || self.record {
                return None;
            }
            self.walk_function(id.index);
            return self.learnt.summaries[id.index as usize].clone();
        }
        self.tables.summary(id).cloned()
    }

    pub(super) fn walk_function(&mut self, index: u32) {
        if !self.walking.insert(index) {
            return;
        }
        self.call_depth += 1;
        let outline = self.outline;
        let def = &outline.functions[index as usize];
        let node = def.node;
        let outer = self.scopes_around(def.parent);
        let was_dry = std::mem::replace(&mut self.dry, false);
        let saved = std::mem::replace(&mut self.f, Frame { live: true, outer, ..Frame::default() });
        let depth = std::mem::replace(&mut self.depth, 0);
        self.f.function = Some(index);
        self.f.class = def.class;
        self.f.block = self.block_for(BlockKind::Function(node), node.range(), BlockId::MODULE);
        self.f.grad = self.mode_of(index, node);
        if self.f.grad == GradMode::Depends && self.is_called_both_ways(index) {
            // The result depends on the caller's mode, and callers apply theirs to it.
            self.f.grad = GradMode::On;
            self.f.called_both_ways = true;
        }
        self.f.first_grad = self.f.grad;
        self.f.summary.grad = self.f.grad;
        self.bind_parameters(index, node);
        self.f.fork = Fork::of(node);
        self.walk_suite(&node.body);
        self.finish_function(index);
        self.f = saved;
        self.dry = was_dry;
        self.depth = depth;
        self.call_depth -= 1;
        self.walking.remove(&index);
    }

    fn finish_function(&mut self, index: u32) {
        let returns = self.f.returned.take().unwrap_or_else(|| Value::of(Kind::None));
        let mut summary = std::mem::take(&mut self.f.summary);
        summary.returns = for_callers(&returns);
        summary.fork = self.f.fork.take().map(|fork| Box::new(fork.exported(for_callers)));
        if self.outline.functions[index as usize].is_generator {
            summary.returns = Value::holder(Kind::Iterator, summary.returns);
            summary.fork = None;
        }
        self.learnt.summaries[index as usize] = Some(Arc::new(summary));
        if let (Some(class), Some(self_name)) = (self.f.class, self.f.self_name) {
            let slot = self.f.env.name(self_name);
            for (name, value) in self.f.env.attributes_of(slot) {
                let value = Value { sources: Sources::default(), born: BlockId::ELSEWHERE, ..value };
                let attributes = &mut self.learnt.attributes[class as usize];
                let joined = attributes.get(name).map_or_else(|| value.clone(), |old| old.join(&value));
                attributes.insert(name, joined);
            }
        }
        let pending = std::mem::take(&mut self.f.pending);
        self.walk_pending(pending);
    }

    /// What a function sees around it: the functions it is nested in, then the module.
    fn scopes_around(&mut self, parent: Option<u32>) -> Vec<Scope<'a>> {
        let mut scopes = Vec::new();
        if parent.is_some() {
            let bound = self.f.env.bound_names().into_iter();
            let own = bound.map(|(name, value)| (name, Value { sources: Sources::default(), ..value }));
            scopes.push(Rc::new(own.collect()));
            scopes.extend(self.f.outer.iter().cloned());
        } else if let Some(module) = &self.module_scope {
            scopes.push(module.clone());
        }
        scopes
    }

    /// A value as events show it.
    pub(super) fn seen(&self, value: &Value) -> Value {
        if self.f.called_both_ways { value.at_most(Graph::Possible) } else { value.clone() }
    }

    pub(super) fn self_value(&self) -> Value {
        let Some(index) = self.f.class else { return Value::unknown() };
        self.instance_of(ClassId { file: self.file, index })
    }

    /// An instance of a project's class.
    pub(super) fn instance_of(&self, id: ClassId) -> Value {
        let kind = match self.tables.kind(id) {
            ClassKind::Module | ClassKind::Lightning => Kind::Module,
            ClassKind::Dataset => Kind::Dataset,
            ClassKind::Optimizer => Kind::Optimizer,
            ClassKind::Scheduler => Kind::Scheduler,
            ClassKind::Exception => Kind::Exception,
            _ => Kind::Instance(id),
        };
        let mut value = Value { class: Some(id), ..Value::of(kind) };
        if kind == Kind::Module {
            let name = self.tables.outlines[id.file as usize].classes[id.index as usize].node.name.as_str();
            value.graph = Graph::Certain;
            if super::guesses::makes_criterion(name) {
                value = value.flagged(Flags::CRITERION);
            }
            if self.tables.freezing(id).is_some() {
                value = value.flagged(Flags::FROZEN);
            }
        }
        value
    }

    /// Evaluates without leaving events.
    pub(super) fn quietly<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let was = std::mem::replace(&mut self.dry, true);
        let result = work(self);
        self.dry = was;
        result
    }

    /// The block for a piece of code: the same one each time it is walked.
    pub(super) fn block_for(&mut self, kind: BlockKind<'a>, range: TextRange, parent: BlockId) -> BlockId {
        let key = (range.start().to_u32(), range.end().to_u32(), tag(&kind));
        if let Some(&id) = self.blocks.get(&key) {
            self.log.blocks[id.0 as usize].kind = kind;
            return id;
        }
        let id = BlockId(self.log.blocks.len() as u32);
        self.log.blocks.push(Block { parent, kind, range, function: self.f.function });
        self.blocks.insert(key, id);
        id
    }

    /// Walks something inside a block.
    pub(super) fn inside<T>(&mut self, kind: BlockKind<'a>, range: TextRange, work: impl FnOnce(&mut Self) -> T) -> T {
        let block = self.block_for(kind, range, self.f.block);
        let outer = std::mem::replace(&mut self.f.block, block);
        let result = work(self);
        self.f.block = outer;
        result
    }

    /// The current point.
    pub(super) fn at(&mut self) -> At {
        self.order += 1;
        At {
            order: self.order,
            block: self.f.block,
            stmt: StmtId(self.f.stmt),
            grad: if self.f.called_both_ways && self.f.grad == GradMode::On { GradMode::Depends } else { self.f.grad },
            function: self.f.function,
            freed: Sources(self.f.env.freed),
            maybe_freed: Sources(self.f.env.maybe_freed),
        }
    }

    /// Whether events are to be kept now.
    pub(super) fn recording(&self) -> bool {
        self.record && !self.dry
    }

    /// The source that stands for a forward pass at this place.
    pub(super) fn site(&mut self, range: TextRange) -> Sources {
        let index = self.f.sites.iter().position(|site| *site == range).unwrap_or_else(|| {
            self.f.sites.push(range);
            self.f.sites.len() - 1
        });
        let source = Sources::site(index);
        self.f.env.freed &= !source.0;
        self.f.env.maybe_freed &= !source.0;
        if self.recording() {
            self.log.sites.push(Site { function: self.f.function, source, range });
        }
        source
    }

    pub(super) fn walk_suite(&mut self, suite: &'a [Stmt]) {
        if self.depth > crate::python::MAX_NESTING as u32 {
            return;
        }
        self.depth += 1;
        for (index, stmt) in suite.iter().enumerate() {
            if !self.f.live {
                break;
            }
            self.walk_stmt(stmt, suite, index);
        }
        self.depth -= 1;
    }
}

fn tag(kind: &BlockKind<'_>) -> u8 {
    match kind {
        BlockKind::Module => 0,
        BlockKind::Function(_) => 1,
        BlockKind::Class(_) => 2,
        BlockKind::Lambda => 3,
        BlockKind::Loop(..) => 4,
        BlockKind::LoopElse => 5,
        BlockKind::Comprehension(..) => 6,
        BlockKind::If(_) => 7,
        BlockKind::Else(_) => 8,
        BlockKind::Main => 9,
        BlockKind::With(_) => 10,
        BlockKind::Try => 11,
        BlockKind::Handler(_) => 12,
        BlockKind::Finally => 13,
        BlockKind::Case => 14,
    }
}

/// A returned value as callers see it: parameters stay, forward passes become one.
fn for_callers(value: &Value) -> Value {
    let mut out = value.exported();
    let own = if value.sources.sites().is_empty() { 0 } else { Sources::site(0).0 };
    out.sources = Sources(value.sources.0 & !Sources::SITE_MASK | own);
    out.parts = value.parts.as_ref().map(|parts| parts.iter().map(for_callers).collect());
    out
}

pub(super) fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(found) if found.id.as_str() == name)
}
