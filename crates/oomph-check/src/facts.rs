//! What is known about one file: everything a rule may ask.
//!
//! See [`crate::rules`] for how a rule is written with it.

use rustc_hash::FxHashMap;

use crate::analysis::events::{
    At, Bare, Bind, Block, BlockKind, Call, Callee, Decorator, Delete, Log, LoopKind, Return, Statement, StmtId, Store,
    WithItem,
};
use crate::analysis::names::{Names, Sym};
use crate::analysis::outline::{FunctionDef, Outline, Usage};
use crate::analysis::tables::{ClassKind, Summary, Tables};
use crate::analysis::value::{BlockId, ClassId, FunctionId, Kind, Sources, Value};
use crate::python::{Expr, Ranged, TextRange};
use crate::source::Source;

/// What part a function plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// None of the below.
    Plain,
    /// `forward` of a module.
    Forward,
    /// `__init__`.
    Init,
    /// `__getitem__` or `__iter__` of a dataset.
    GetItem,
    /// Passed to a loader as `collate_fn`.
    Collate,
    /// Passed to a `register_*_hook`.
    Hook,
    /// `training_step` of a Lightning module.
    TrainingStep,
    /// `validation_step`, `test_step` or `predict_step` of a Lightning module.
    EvaluationStep,
    /// `forward` of a `torch.autograd.Function`.
    AutogradForward,
    /// `backward` of a `torch.autograd.Function`.
    AutogradBackward,
}

/// Something training does, here or in a function called here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// A backward pass.
    Backward,
    /// A step of an optimizer.
    Step,
    /// Gradients cleared.
    ZeroGrad,
}

/// A loop around some point.
#[derive(Debug, Clone, Copy)]
pub struct Loop<'a> {
    /// Its body.
    pub block: BlockId,
    /// What it goes over.
    pub kind: LoopKind,
    /// Its text.
    pub range: TextRange,
    /// The block itself.
    pub node: BlockKind<'a>,
}

impl Loop<'_> {
    /// Whether it runs once a batch or once a training step.
    #[must_use]
    pub fn is_per_batch(&self) -> bool {
        matches!(self.kind, LoopKind::Loader | LoopKind::Steps)
    }

    /// The line that opens the loop.
    #[must_use]
    pub fn head(&self) -> TextRange {
        let head = match self.node {
            BlockKind::Loop(_, crate::python::Stmt::For(node)) => TextRange::new(node.start(), node.iter.end()),
            BlockKind::Loop(_, crate::python::Stmt::While(node)) => TextRange::new(node.start(), node.test.end()),
            _ => self.range,
        };
        head
    }
}

/// Everything known about a file.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The file.
    pub source: &'a Source,
    file: u32,
    tables: &'a Tables<'a>,
    log: Log<'a>,
    names: Names,
    by_name: FxHashMap<&'a str, Vec<u32>>,
    by_full_name: FxHashMap<Sym, Vec<u32>>,
    binds_by_name: FxHashMap<&'a str, Vec<u32>>,
    effects: Vec<(Effect, u32)>,
    collates: Vec<FunctionId>,
    hooks: Vec<FunctionId>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(source: &'a Source, file: u32, tables: &'a Tables<'a>, log: Log<'a>, names: Names) -> Self {
        let mut facts = Self {
            source,
            file,
            tables,
            log,
            names,
            by_name: FxHashMap::default(),
            by_full_name: FxHashMap::default(),
            binds_by_name: FxHashMap::default(),
            effects: Vec::new(),
            collates: Vec::new(),
            hooks: Vec::new(),
        };
        facts.index();
        facts
    }

    fn index(&mut self) {
        for (index, bind) in self.log.binds.iter().enumerate() {
            self.binds_by_name.entry(bind.name).or_default().push(index as u32);
        }
        for (index, call) in self.log.calls.iter().enumerate() {
            self.by_name.entry(call.name).or_default().push(index as u32);
            if let Callee::External(sym) = call.callee {
                self.by_full_name.entry(sym).or_default().push(index as u32);
            }
            if call.name.ends_with("_hook") {
                self.hooks.extend(call.values().filter_map(function_of));
            }
            if let Some(id) = call.keyword_value("collate_fn").and_then(function_of) {
                self.collates.push(id);
            }
        }
        for index in 0..self.log.calls.len() {
            for effect in [Effect::Backward, Effect::Step, Effect::ZeroGrad] {
                if self.call_does(&self.log.calls[index], effect) {
                    self.effects.push((effect, index as u32));
                }
            }
        }
    }

    fn call_does(&self, call: &Call<'a>, effect: Effect) -> bool {
        if let Callee::Project(id) = call.callee {
            return self.tables.summary(id).is_some_and(|summary| match effect {
                Effect::Backward => summary.calls_backward,
                Effect::Step => summary.steps,
                Effect::ZeroGrad => summary.zeroes_grad,
            });
        }
        match effect {
            Effect::Backward => {
                matches!(call.name, "backward" | "manual_backward")
                    || self.full_name(call).is_some_and(|name| name == "torch.autograd.grad")
            }
            Effect::ZeroGrad => call.name == "zero_grad",
            Effect::Step => {
                let kind = call.receiver.as_ref().map(|value| value.kind);
                let text = self.source.slice(call.node.func.range());
                call.name == "step"
                    && kind != Some(Kind::Scheduler)
                    && (matches!(kind, Some(Kind::Optimizer | Kind::Scaler | Kind::Module))
                        || text.contains("opt") && !text.contains("sched"))
            }
        }
    }

    // ---- events ----

    /// Every call, in the order of the walk.
    #[must_use]
    pub fn calls(&self) -> &[Call<'a>] {
        &self.log.calls
    }

    /// Calls whose last part is `name`: `step` finds `self.opt.step()` and `step()`.
    pub fn calls_named(&self, name: &str) -> impl Iterator<Item = &Call<'a>> {
        self.by_name.get(name).into_iter().flatten().map(|&index| &self.log.calls[index as usize])
    }

    /// Calls of something importable by its full name: `torch.cuda.empty_cache`, however it is spelt here.
    pub fn calls_to(&self, full_name: &str) -> impl Iterator<Item = &Call<'a>> {
        let found = self.names.find(full_name).and_then(|sym| self.by_full_name.get(&sym));
        found.into_iter().flatten().map(|&index| &self.log.calls[index as usize])
    }

    /// Calls whose full name begins with `prefix`.
    pub fn calls_under(&self, prefix: &str) -> impl Iterator<Item = &Call<'a>> {
        self.log.calls.iter().filter(move |call| self.full_name(call).is_some_and(|name| name.starts_with(prefix)))
    }

    /// The full name of what a call calls, if it is importable.
    #[must_use]
    pub fn full_name(&self, call: &Call<'_>) -> Option<&str> {
        match call.callee {
            Callee::External(sym) => Some(self.names.text(sym)),
            _ => None,
        }
    }

    /// The full name a value stands for, or of what made it: `torch.nn.functional`, `torch.utils.data.DataLoader`.
    #[must_use]
    pub fn name_of(&self, value: &Value) -> Option<&str> {
        match value.kind {
            Kind::External(sym) | Kind::Made(sym) => Some(self.names.text(sym)),
            _ => value.maker.map(|sym| self.names.text(sym)),
        }
    }

    /// A name's text.
    #[must_use]
    pub fn text(&self, sym: Sym) -> &str {
        self.names.text(sym)
    }

    /// The call an expression is.
    #[must_use]
    pub fn call_at(&self, expr: &Expr) -> Option<&Call<'a>> {
        let Expr::Call(node) = expr else { return None };
        self.log.calls.iter().find(|call| call.node.range() == node.range())
    }

    /// Everything kept in something: sums, lists, dicts, attributes.
    #[must_use]
    pub fn stores(&self) -> &[Store<'a>] {
        &self.log.stores
    }

    /// Every binding of a name or attribute.
    #[must_use]
    pub fn binds(&self) -> &[Bind<'a>] {
        &self.log.binds
    }

    /// Every `return` and `yield` of something.
    #[must_use]
    pub fn returns(&self) -> &[Return<'a>] {
        &self.log.returns
    }

    /// Bare expressions that are no calls.
    #[must_use]
    pub fn bares(&self) -> &[Bare<'a>] {
        &self.log.bares
    }

    /// Every `del`.
    #[must_use]
    pub fn deletes(&self) -> &[Delete<'a>] {
        &self.log.deletes
    }

    /// Every item of a `with`.
    #[must_use]
    pub fn withs(&self) -> &[WithItem<'a>] {
        &self.log.withs
    }

    /// Every decorator of a function.
    #[must_use]
    pub fn decorators(&self) -> &[Decorator<'a>] {
        &self.log.decorators
    }

    /// Every statement.
    #[must_use]
    pub fn statements(&self) -> &[Statement<'a>] {
        &self.log.statements
    }

    /// Every block.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, &Block<'a>)> {
        self.log.blocks.iter().enumerate().map(|(index, block)| (BlockId(index as u32), block))
    }

    // ---- places ----

    /// A statement.
    #[must_use]
    pub fn statement(&self, id: StmtId) -> Option<&Statement<'a>> {
        self.log.statements.get(id.0 as usize)
    }

    /// The index of a statement.
    #[must_use]
    pub fn statement_id(&self, node: &crate::python::Stmt) -> Option<StmtId> {
        let index = self.log.statements.iter().position(|statement| std::ptr::eq(statement.node, node))?;
        Some(StmtId(index as u32))
    }

    /// A block.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block<'a> {
        self.log.blocks.get(id.0 as usize).unwrap_or(&self.log.blocks[0])
    }

    /// The blocks around a point within its function, innermost first; the function's own comes last.
    pub fn blocks_around(&self, at: &At) -> impl Iterator<Item = (BlockId, &Block<'a>)> {
        let mut next = Some(at.block);
        std::iter::from_fn(move || {
            let id = next?;
            let block = self.block(id);
            let ends = matches!(block.kind, BlockKind::Function(_) | BlockKind::Module);
            next = (!ends).then_some(block.parent);
            Some((id, block))
        })
    }

    /// The loops around a point within its function, innermost first, comprehensions among them.
    pub fn loops(&self, at: &At) -> impl Iterator<Item = Loop<'a>> {
        self.blocks_around(at).filter_map(|(block, found)| {
            let kind = found.kind.loop_kind()?;
            Some(Loop { block, kind, range: found.range, node: found.kind })
        })
    }

    /// The innermost loop over batches or training steps around a point.
    #[must_use]
    pub fn batch_loop(&self, at: &At) -> Option<Loop<'a>> {
        self.loops(at).find(Loop::is_per_batch)
    }

    /// Whether `block` is `outer` or inside it.
    #[must_use]
    pub fn is_inside(&self, block: BlockId, outer: BlockId) -> bool {
        let mut now = block;
        loop {
            if now == outer {
                return true;
            }
            let parent = self.block(now).parent;
            if parent == now || now == BlockId::ELSEWHERE {
                return false;
            }
            now = parent;
        }
    }

    /// The `except` a point is in.
    #[must_use]
    pub fn handler(&self, at: &At) -> Option<&'a crate::python::ast::ExceptHandlerExceptHandler> {
        self.blocks_around(at).find_map(|(_, block)| match block.kind {
            BlockKind::Handler(node) => Some(node),
            _ => None,
        })
    }

    /// Whether a point is in a `with` over what has this full name: `torch.autocast`.
    #[must_use]
    pub fn is_within(&self, at: &At, full_name: &str) -> bool {
        let mut items = self.log.withs.iter();
        items.any(|item| self.name_of(&item.value) == Some(full_name) && self.is_inside(at.block, item.body))
    }

    /// Whether, within `outer`, a point is reached on every path: under no `if`, `except` or `case` of it.
    #[must_use]
    pub fn is_unconditional_in(&self, at: &At, outer: BlockId) -> bool {
        let mut blocks = self.blocks_around(at).take_while(|(id, _)| *id != outer);
        self.is_inside(at.block, outer) && blocks.all(|(_, block)| block.kind.is_unconditional())
    }

    /// Whether `first` happens before `second` on every path to it.
    #[must_use]
    pub fn is_always_before(&self, first: &At, second: &At) -> bool {
        if first.function != second.function || first.order >= second.order {
            return false;
        }
        let mut common = first.block;
        while !self.is_inside(second.block, common) {
            common = self.block(common).parent;
        }
        self.is_unconditional_in(first, common)
    }

    /// Whether a value was made before a loop, or elsewhere, on every path: it outlives the loop's turns.
    #[must_use]
    pub fn outlives(&self, value: &Value, turn_of: &Loop<'_>) -> bool {
        value.born == BlockId::ELSEWHERE || !self.is_inside(value.born, turn_of.block)
    }

    /// Bindings of a name, or of an attribute of that name.
    pub fn binds_of(&self, name: &str) -> impl Iterator<Item = &Bind<'a>> {
        self.binds_by_name.get(name).into_iter().flatten().map(|&index| &self.log.binds[index as usize])
    }

    /// Whether a name or attribute is bound anew within a block, by another statement than `except`.
    #[must_use]
    pub fn is_rebound_in(&self, target: &Expr, block: BlockId, except: StmtId) -> bool {
        let name = match target {
            Expr::Name(node) => node.id.as_str(),
            Expr::Attribute(node) => node.attr.as_str(),
            Expr::Subscript(node) => return self.is_rebound_in(&node.value, block, except),
            _ => return false,
        };
        let text = self.source.slice(target.range());
        self.binds_of(name).any(|bind| {
            bind.at.stmt != except
                && self.source.slice(bind.target.range()) == text
                && self.is_inside(bind.at.block, block)
        })
    }

    /// Whether a holder is bound anew, cleared, popped from or deleted within a block.
    #[must_use]
    pub fn is_emptied_in(&self, target: &Expr, block: BlockId, except: StmtId) -> bool {
        let text = self.source.slice(target.range());
        let empties = |name: &str| {
            self.calls_named(name).any(|call| {
                call.receiver_expr().is_some_and(|expr| self.source.slice(expr.range()) == text)
                    && self.is_inside(call.at.block, block)
            })
        };
        let deletes = |delete: &Delete<'_>| {
            self.source.slice(delete.target.range()).starts_with(text) && self.is_inside(delete.at.block, block)
        };
        self.is_rebound_in(target, block, except)
            || ["clear", "pop", "popleft", "popitem"].into_iter().any(empties)
            || self.log.deletes.iter().any(deletes)
    }

    // ---- functions ----

    /// The function a point is in.
    #[must_use]
    pub fn function(&self, at: &At) -> Option<&FunctionDef<'a>> {
        self.outline().functions.get(at.function? as usize)
    }

    /// The name of the function a point is in; empty at module level.
    #[must_use]
    pub fn function_name(&self, at: &At) -> &'a str {
        self.function(at).map_or("", |function| function.node.name.as_str())
    }

    /// What part a function of this file plays.
    #[must_use]
    pub fn function_kind(&self, index: u32) -> FunctionKind {
        let Some(function) = self.outline().functions.get(index as usize) else { return FunctionKind::Plain };
        let id = FunctionId { file: self.file, index };
        let name = function.node.name.as_str();
        if self.collates.contains(&id) {
            return FunctionKind::Collate;
        }
        if self.hooks.contains(&id) {
            return FunctionKind::Hook;
        }
        let Some(class) = function.class else { return FunctionKind::Plain };
        match (self.tables.kind(ClassId { file: self.file, index: class }), name) {
            (_, "__init__") => FunctionKind::Init,
            (ClassKind::AutogradFunction, "forward") => FunctionKind::AutogradForward,
            (ClassKind::AutogradFunction, "backward") => FunctionKind::AutogradBackward,
            (ClassKind::Module | ClassKind::Lightning, "forward") => FunctionKind::Forward,
            (ClassKind::Dataset, "__getitem__" | "__iter__" | "__getitems__") => FunctionKind::GetItem,
            (ClassKind::Lightning, "training_step") => FunctionKind::TrainingStep,
            (ClassKind::Lightning, "validation_step" | "test_step" | "predict_step") => FunctionKind::EvaluationStep,
            _ => FunctionKind::Plain,
        }
    }

    /// The same for the function a point is in.
    #[must_use]
    pub fn kind_at(&self, at: &At) -> FunctionKind {
        at.function.map_or(FunctionKind::Plain, |index| self.function_kind(index))
    }

    /// What kind of class the method a point is in belongs to.
    #[must_use]
    pub fn class_kind(&self, at: &At) -> ClassKind {
        let class = self.function(at).and_then(|function| function.class);
        class.map_or(ClassKind::Plain, |index| self.tables.kind(ClassId { file: self.file, index }))
    }

    /// What a function of the project does.
    #[must_use]
    pub fn summary(&self, id: FunctionId) -> Option<&Summary> {
        self.tables.summary(id).map(AsRef::as_ref)
    }

    /// What the project's function that a call calls does.
    #[must_use]
    pub fn callee_summary(&self, call: &Call<'_>) -> Option<&Summary> {
        match call.callee {
            Callee::Project(id) => self.summary(id),
            _ => None,
        }
    }

    /// A function of the project.
    #[must_use]
    pub fn function_def(&self, id: FunctionId) -> &FunctionDef<'a> {
        &self.tables.outlines[id.file as usize].functions[id.index as usize]
    }

    /// Whether some call of a function is known.
    #[must_use]
    pub fn is_called(&self, function: u32) -> bool {
        self.tables.call_sites.contains_key(&FunctionId { file: self.file, index: function })
    }

    /// What the file defines and imports.
    #[must_use]
    pub fn outline(&self) -> &Outline<'a> {
        &self.tables.outlines[self.file as usize]
    }

    /// How a name is used in the file.
    #[must_use]
    pub fn usage(&self, name: &str) -> Usage {
        self.outline().usage(name)
    }

    /// What the project's files know of each other.
    #[must_use]
    pub fn tables(&self) -> &Tables<'a> {
        self.tables
    }

    // ---- training ----

    /// Calls that do something, directly or through a function of the project, in the order of the walk.
    pub fn effects(&self, effect: Effect) -> impl Iterator<Item = &Call<'a>> {
        let found = self.effects.iter().filter(move |(kind, _)| *kind == effect);
        found.map(|(_, index)| &self.log.calls[*index as usize])
    }

    /// The same within a block.
    pub fn effects_in(&self, effect: Effect, block: BlockId) -> impl Iterator<Item = &Call<'a>> {
        self.effects(effect).filter(move |call| self.is_inside(call.at.block, block))
    }

    /// The same within a function; `None` is the module's body.
    pub fn effects_of(&self, effect: Effect, function: Option<u32>) -> impl Iterator<Item = &Call<'a>> {
        self.effects(effect).filter(move |call| call.at.function == function)
    }

    /// What a call of `backward` goes back through.
    #[must_use]
    pub fn backward_sources(&self, call: &Call<'_>) -> Sources {
        let own = call.receiver.as_ref().filter(|value| value.is_tensor() || value.kind == Kind::Unknown);
        let from_arguments = || call.values().fold(Sources::default(), |all, value| Sources(all.0 | value.sources.0));
        match (own, call.callee) {
            (_, Callee::Project(_)) => from_arguments(),
            (Some(value), _) if !value.sources.is_empty() || call.args.is_empty() => value.sources,
            _ => from_arguments(),
        }
    }

    /// A backward pass, anywhere in the function, over something that shares a forward pass with `value`.
    #[must_use]
    pub fn backward_of(&self, value: &Value, at: &At) -> Option<&Call<'a>> {
        let mut calls = self.effects_of(Effect::Backward, at.function);
        calls.find(|call| self.backward_sources(call).overlap(value.sources))
    }

    /// Whether a backward pass has freed everything `value` hangs on, on every path to `at`.
    #[must_use]
    pub fn is_freed(&self, value: &Value, at: &At) -> bool {
        let sites = value.sources.sites();
        !sites.is_empty() && sites.0 & !at.freed.0 == 0
    }

    /// The same on some path.
    #[must_use]
    pub fn may_be_freed(&self, value: &Value, at: &At) -> bool {
        value.sources.sites().0 & at.maybe_freed.0 != 0
    }

    /// Whether the function a point is in is evaluation, by its name or because it switches a module to `eval()`.
    #[must_use]
    pub fn looks_like_evaluation(&self, at: &At) -> bool {
        let name = self.function_name(at).to_ascii_lowercase();
        let words = ["eval", "valid", "test", "predict", "infer", "extract_feat", "get_feat", "score"];
        let by_name = words.iter().any(|word| name.contains(word)) && !name.contains("train");
        by_name || self.eval_call(at).is_some()
    }

    /// The call that switches a module to evaluation before a point of the same function.
    #[must_use]
    pub fn eval_call(&self, at: &At) -> Option<&Call<'a>> {
        let before = |call: &&Call<'a>| call.at.function == at.function && call.at.order < at.order;
        let module = |call: &&Call<'a>| {
            let kind = call.receiver.as_ref().map(|value| value.kind);
            call.node.arguments.is_empty() && matches!(kind, Some(Kind::Module | Kind::Unknown | Kind::Instance(_)))
        };
        let evals = self.calls_named("eval").filter(before).filter(module).last()?;
        let back = |call: &Call<'a>| call.at.order > evals.at.order && self.is_always_before(&call.at, at);
        let trains = self.calls_named("train").filter(before).any(back);
        (!trains).then_some(evals)
    }

    /// What `torch` is called in this file.
    #[must_use]
    pub fn torch_name(&self) -> Option<&'a str> {
        let imports = &self.outline().imports;
        if imports.get("torch").is_some_and(|full| full == "torch") {
            return Some("torch");
        }
        let mut names: Vec<&str> = imports.iter().filter(|(_, full)| *full == "torch").map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.first().copied()
    }

    /// The forward passes a value's graph comes from.
    pub fn forward_passes(&self, value: &Value, at: &At) -> impl Iterator<Item = TextRange> {
        let (sources, function) = (value.sources.sites(), at.function);
        let sites = self.log.sites.iter();
        sites.filter(move |site| site.function == function && site.source.overlap(sources)).map(|site| site.range)
    }

    /// The first of these: where to point.
    #[must_use]
    pub fn forward_pass(&self, value: &Value, at: &At) -> Option<TextRange> {
        self.forward_passes(value, at).next()
    }
}

fn function_of(value: &Value) -> Option<FunctionId> {
    match value.kind {
        Kind::Function(id) => Some(id),
        _ => None,
    }
}
