//! What is known about one file: everything a rule may ask.
//!
//! See [`crate::rules`] for how a rule is written with it.

mod again;
mod arrays;
mod evaluation;
mod freezing;
mod functions;
mod keeping;
mod origins;
mod passes;
mod places;
mod proof;
mod reach;
mod recording;
mod settings;
mod spread;
mod training;
mod turns;
mod unreached;

pub(crate) use evaluation::may_only_run;
pub use training::is_reference_name;
pub(crate) use turns::has_few_turns;
pub use unreached::{Cause, Often, Unreached};

use rustc_hash::FxHashMap;

use crate::analysis::events::{
    Bare, Bind, Block, BlockKind, Call, Callee, Decorator, Delete, Log, LoopKind, Return, Statement, Store, WithItem,
};
use crate::analysis::names::{Names, Sym};
use crate::analysis::tables::Tables;
use crate::analysis::value::{BlockId, FunctionId, Kind, Value};
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
    /// The loop as what runs once a batch.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn { block: self.block, head: self.head() }
    }

    /// The line that opens the loop.
    #[must_use]
    pub fn head(&self) -> TextRange {
        match self.node {
            BlockKind::Loop(_, crate::python::Stmt::For(node)) => crate::python::head_of(node),
            BlockKind::Loop(_, crate::python::Stmt::While(node)) => TextRange::new(node.start(), node.test.end()),
            _ => self.range,
        }
    }
}

/// What runs once a batch: the body of a loop, or a function.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Its body.
    pub block: BlockId,
    /// The line that opens it.
    pub head: TextRange,
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
    defaults: FxHashMap<&'a str, Vec<&'a Expr>>,
    /// Functions of the file by the names of their parameters.
    takers: FxHashMap<&'a str, Vec<u32>>,
    effects: Vec<(Effect, u32)>,
    collates: Vec<FunctionId>,
    hooks: Vec<FunctionId>,
    /// Calls that turn tensors into arrays: `.numpy()` and the functions of numpy and scikit-learn.
    conversions: Vec<u32>,
    /// Calls that take what they are given out of training.
    freezers: Vec<u32>,
    /// Functions whose bodies are read where they are called: the block there, and their text.
    read_in_place: Vec<(BlockId, TextRange)>,
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
            defaults: FxHashMap::default(),
            takers: FxHashMap::default(),
            effects: Vec::new(),
            collates: Vec::new(),
            hooks: Vec::new(),
            conversions: Vec::new(),
            freezers: Vec::new(),
            read_in_place: Vec::new(),
        };
        facts.index();
        facts
    }

    fn index(&mut self) {
        for (index, block) in self.log.blocks.iter().enumerate() {
            if let BlockKind::With(node) = block.kind
                && let Some(text) = crate::python::body_elsewhere(node)
            {
                self.read_in_place.push((BlockId(index as u32), text));
            }
        }
        for (index, bind) in self.log.binds.iter().enumerate() {
            self.binds_by_name.entry(bind.name).or_default().push(index as u32);
        }
        for (index, call) in self.log.calls.iter().enumerate() {
            self.by_name.entry(call.name).or_default().push(index as u32);
            if let Callee::External(sym) = call.callee {
                self.by_full_name.entry(sym).or_default().push(index as u32);
            }
            let full_name = || self.full_name(call).unwrap_or_default();
            if call.name == "numpy" || full_name().starts_with("numpy.") || full_name().starts_with("sklearn.") {
                self.conversions.push(index as u32);
            }
            if self.is_freezer(call) {
                self.freezers.push(index as u32);
            }
            if call.name.ends_with("_hook") {
                self.hooks.extend(call.values().filter_map(function_of));
            }
            self.collates.extend(call.keyword_value("collate_fn").and_then(|value| self.called_later(call, value)));
        }
        for (index, function) in self.tables.outlines[self.file as usize].functions.iter().enumerate() {
            for parameter in function.node.parameters.iter_non_variadic_params() {
                self.takers.entry(parameter.name().as_str()).or_default().push(index as u32);
                if let Some(default) = parameter.default.as_deref() {
                    self.defaults.entry(parameter.name().as_str()).or_default().push(default);
                }
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

    /// The function that runs when what a loader is given to collate is called: itself, or its `__call__`.
    fn called_later(&self, loader: &Call<'a>, collate: &Value) -> Option<FunctionId> {
        if let Kind::Instance(class) = collate.kind {
            return self.tables.method(class, "__call__");
        }
        let bound = || {
            let partial = loader.keyword("collate_fn").and_then(|expr| self.call_at(expr))?;
            let is_partial = self.full_name(partial) == Some("functools.partial");
            partial.args.first().filter(|_| is_partial).and_then(function_of)
        };
        function_of(collate).or_else(bound)
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
                let alone = call.node.arguments.is_empty();
                call.name == "step"
                    && kind != Some(Kind::Scheduler)
                    && (matches!(kind, Some(Kind::Optimizer | Kind::Scaler))
                        // A schedule of noise may be a module, and steps as well.
                        || !text.contains("sched") && (kind == Some(Kind::Module) && alone || text.contains("opt")))
            }
        }
    }

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

    /// Every statement within a block.
    pub fn statements_in(&self, block: BlockId) -> impl Iterator<Item = &Statement<'a>> {
        self.statements().iter().filter(move |statement| self.is_inside(statement.block, block))
    }

    /// Every block.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, &Block<'a>)> {
        self.log.blocks.iter().enumerate().map(|(index, block)| (BlockId(index as u32), block))
    }
}

fn function_of(value: &Value) -> Option<FunctionId> {
    match value.kind {
        Kind::Function(id) => Some(id),
        _ => None,
    }
}
