//! What the files of a project know of each other: modules, classes, and what functions do.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{GradMode, StoreKind};
use super::forks::Fork;
use super::freezing::Freezing;
use super::loaders::Loads;
use super::outline::Outline;
use super::spreading::Pass;
use super::value::{ClassId, Flags, FunctionId, Kind, Value};

/// What a class is, by its bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClassKind {
    /// Nothing special.
    #[default]
    Plain,
    /// An `nn.Module`.
    Module,
    /// A `LightningModule`.
    Lightning,
    /// A dataset.
    Dataset,
    /// A `torch.autograd.Function`.
    AutogradFunction,
    /// An optimizer.
    Optimizer,
    /// A scheduler.
    Scheduler,
    /// A trainer or callback of a framework, which calls it at set times.
    Framework,
    /// An exception.
    Exception,
}

impl ClassKind {
    /// Whether instances are modules: calling them is a forward pass.
    #[must_use]
    pub fn is_module(self) -> bool {
        matches!(self, Self::Module | Self::Lightning)
    }

    fn of_base(base: &str) -> Option<Self> {
        let last = base.rsplit('.').next().unwrap_or(base);
        Some(match base {
            "torch.autograd.Function" | "torch.autograd.function.Function" => Self::AutogradFunction,
            "torch.optim.Optimizer" | "torch.optim.optimizer.Optimizer" => Self::Optimizer,
            _ if last == "LightningModule" => Self::Lightning,
            _ if base.starts_with("torch.nn.") => Self::Module,
            _ if base.starts_with("torch.optim.lr_scheduler.") => Self::Scheduler,
            _ if base.starts_with("torch.optim.") => Self::Optimizer,
            _ if base.starts_with("torch.utils.data.") && last.ends_with("Dataset") => Self::Dataset,
            _ if matches!(last, "Dataset" | "IterableDataset") => Self::Dataset,
            _ if matches!(last, "PreTrainedModel" | "MessagePassing" | "ModelMixin") => Self::Module,
            _ if last.ends_with("Trainer") || last.ends_with("Callback") => Self::Framework,
            _ if last.ends_with("Error") || last.ends_with("Exception") => Self::Exception,
            _ => return None,
        })
    }
}

/// A parameter that a function keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Which parameter.
    pub parameter: usize,
    /// How: it is put into a holder, added to a sum, or takes the place of what was there.
    pub kind: StoreKind,
    /// The attribute of `self` it is kept in, or a global's name.
    pub place: String,
    /// The parameter it is appended to, when that is where it goes.
    pub holder: Option<usize>,
}

/// What a call of a function does, as far as callers care.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Summary {
    /// What it returns; sources are its parameters, site 0 stands for forward passes of its own.
    pub returns: Value,
    /// The same where one of its parameters decides.
    pub fork: Option<Box<Fork>>,
    /// Parameters on which it calls `backward`, as a bit each.
    pub backward_parameters: u64,
    /// Whether it calls `backward` at all.
    pub calls_backward: bool,
    /// Whether it steps an optimizer.
    pub steps: bool,
    /// Whether it steps once a call an optimizer that it did not make: it is a step of a loop around the call, not a
    /// training run of its own.
    pub steps_batch: bool,
    /// Whether it clears gradients.
    pub zeroes_grad: bool,
    /// Whether it clears them before its first backward pass.
    pub zeroes_before: bool,
    /// Whether it runs a forward pass under grad.
    pub forwards: bool,
    /// Whether the module of one of these is not known to be in evaluation mode.
    pub trains: bool,
    /// Whether it calls `encode` or `decode` of a module nobody wrote here: a pass, unless that switches recording off.
    pub halves: bool,
    /// Whether it runs one without, or may: what it is given decides.
    pub forwards_off: bool,
    /// Whether it moves something to the GPU.
    pub moves_to_cuda: bool,
    /// Whether it empties the allocator's cache whenever it runs.
    pub empties_cache: bool,
    /// What it keeps of its arguments.
    pub keeps: Vec<Kept>,
    /// The gradient mode its own body begins in.
    pub grad: GradMode,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            returns: Value::unknown(),
            fork: None,
            backward_parameters: 0,
            calls_backward: false,
            steps: false,
            steps_batch: false,
            zeroes_grad: false,
            zeroes_before: false,
            forwards: false,
            trains: false,
            halves: false,
            forwards_off: false,
            moves_to_cuda: false,
            empties_cache: false,
            keeps: Vec::new(),
            grad: GradMode::On,
        }
    }
}

/// How often something is called with gradients recorded, and how often not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// Calls with gradients on.
    pub on: u32,
    /// Calls under `no_grad` or `inference_mode`.
    pub off: u32,
    /// Calls of which nothing is known.
    pub depends: u32,
}

impl Modes {
    pub(crate) fn count(&mut self, mode: GradMode) {
        match mode {
            GradMode::On => self.on += 1,
            GradMode::Depends => self.depends += 1,
            GradMode::NoGrad | GradMode::Inference => self.off += 1,
        }
    }

    /// The one mode, if there is one.
    pub(crate) fn summed_up(self) -> GradMode {
        match (self.on, self.off, self.depends) {
            (_, 0, 0) => GradMode::On,
            (0, _, 0) => GradMode::NoGrad,
            _ => GradMode::Depends,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.on += other.on;
        self.off += other.off;
        self.depends += other.depends;
    }
}

/// Every known call of one function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSites {
    /// What its parameters are given, joined over the calls; `None` where never given.
    pub arguments: Vec<Option<Value>>,
    /// The gradient modes it is called under.
    pub modes: Modes,
    /// Whether it is called in a loop over batches.
    pub per_batch: bool,
    /// Whether it is called in a loop that plays in an environment.
    pub per_step: bool,
}

/// One call of a function of the project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) callee: FunctionId,
    /// The function that calls; `None` for a module's body.
    pub(crate) caller: Option<FunctionId>,
    /// The mode at the call; `None` when it is the mode the caller itself is called under.
    pub(crate) mode: Option<GradMode>,
}

impl CallSites {
    pub(crate) fn add(&mut self, other: &Self) {
        if self.arguments.len() < other.arguments.len() {
            self.arguments.resize(other.arguments.len(), None);
        }
        for (mine, theirs) in self.arguments.iter_mut().zip(&other.arguments) {
            *mine = match (mine.take(), theirs) {
                // Of several things that `**values` may hold, the one with a graph matters.
                (Some(a), Some(b))
                    if a.kind == Kind::Dict && b.kind == Kind::Dict && a.holds_graph() != b.holds_graph() =>
                {
                    Some(if a.holds_graph() { a } else { b.clone() })
                }
                (Some(a), Some(b)) => Some(a.join(b)),
                (a, b) => a.or_else(|| b.clone()),
            };
        }
        self.modes.add(other.modes);
        self.per_batch |= other.per_batch;
        self.per_step |= other.per_step;
    }
}

/// What one walk over a file learnt for the others.
#[derive(Debug, Default)]
pub(crate) struct Learnt<'a> {
    pub(crate) summaries: Vec<Option<Arc<Summary>>>,
    pub(crate) attributes: Vec<FxHashMap<&'a str, Value>>,
    pub(crate) globals: FxHashMap<&'a str, Value>,
    pub(crate) call_sites: FxHashMap<FunctionId, CallSites>,
    pub(crate) edges: Vec<Edge>,
    /// Functions given to a loader with workers as `collate_fn`.
    pub(crate) collates: Vec<FunctionId>,
    /// Whether anything in the file goes back.
    pub(crate) goes_back: bool,
    /// Where a function hands one of its own parameters on.
    pub(crate) passes: Vec<Pass>,
    /// Attributes that get a tensor with a graph outside of their class: `state.loss = loss`.
    pub(crate) outside: Vec<(ClassId, &'a str, Value)>,
    /// Modules that functions bind to a global name, or put into a global dict by a key.
    pub(crate) global_modules: FxHashMap<(&'a str, &'a str), Value>,
    /// Calls of methods whose object is unknown: the method's name, the caller, and the mode as in [`Edge`].
    pub(crate) method_calls: Vec<(&'a str, Option<FunctionId>, Option<GradMode>)>,
}

/// What all files know of each other.
#[derive(Debug)]
pub struct Tables<'a> {
    /// What each file defines; empty for files that have nothing to do with torch.
    pub outlines: Vec<Outline<'a>>,
    /// What each class is.
    pub class_kinds: Vec<Vec<ClassKind>>,
    /// The project's classes among each class's bases.
    pub class_bases: Vec<Vec<Vec<ClassId>>>,
    pub(crate) learnt: Vec<Learnt<'a>>,
    pub(crate) call_sites: FxHashMap<FunctionId, CallSites>,
    pub(crate) method_modes: FxHashMap<&'a str, Modes>,
    /// Functions that a loader anywhere in the project runs in its workers.
    pub(crate) collates: FxHashSet<FunctionId>,
    /// Methods that trainers call back once a batch, by name.
    pub(super) hooks: FxHashMap<&'a str, Vec<FunctionId>>,
    by_last: FxHashMap<String, Vec<u32>>,
    /// The project's files that each file imports, found when first asked for.
    pub(super) imported: OnceLock<Vec<Vec<u32>>>,
    /// What constructors get from loaders that freeze, found when first asked for.
    pub(super) loaded_frozen: OnceLock<Loads>,
}

/// Libraries that are never part of the project, even when their source is checked.
const LIBRARIES: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "numpy",
    "transformers",
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "timm",
    "tqdm",
    "os",
    "sys",
    "math",
    "random",
    "copy",
    "gc",
    "time",
    "json",
    "logging",
    "collections",
    "itertools",
    "functools",
    "typing",
    "pathlib",
    "argparse",
    "datasets",
    "diffusers",
    "peft",
    "deepspeed",
    "scipy",
    "sklearn",
];

impl<'a> Tables<'a> {
    /// Links the files of a project.
    pub(crate) fn link(outlines: Vec<Outline<'a>>) -> Self {
        let mut by_last: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (file, outline) in outlines.iter().enumerate() {
            let last = outline.module.rsplit('.').next().unwrap_or_default();
            if !last.is_empty() {
                by_last.entry(last.to_owned()).or_default().push(file as u32);
            }
        }
        let learnt = outlines.iter().map(|_| Learnt::default()).collect();
        let kinds = outlines.iter().map(|outline| vec![ClassKind::Plain; outline.classes.len()]).collect();
        let bases = outlines.iter().map(|outline| vec![Vec::new(); outline.classes.len()]).collect();
        let hooks = super::sites::hooks(&outlines);
        let mut tables = Self {
            outlines,
            class_kinds: kinds,
            class_bases: bases,
            learnt,
            call_sites: FxHashMap::default(),
            method_modes: FxHashMap::default(),
            collates: FxHashSet::default(),
            hooks,
            by_last,
            imported: OnceLock::new(),
            loaded_frozen: OnceLock::new(),
        };
        tables.link_classes();
        tables
    }

    fn link_classes(&mut self) {
        for file in 0..self.outlines.len() {
            for index in 0..self.outlines[file].classes.len() {
                let class = &self.outlines[file].classes[index];
                let bases = class.bases.iter().filter_map(|base| self.find_class(base, file as u32));
                self.class_bases[file][index] = bases.collect();
            }
        }
        for file in 0..self.outlines.len() {
            for index in 0..self.outlines[file].classes.len() {
                let id = ClassId { file: file as u32, index: index as u32 };
                self.class_kinds[file][index] = self.kind_by_bases(id);
            }
        }
    }

    fn kind_by_bases(&self, id: ClassId) -> ClassKind {
        let mut names = super::names::Names::default();
        for class in self.ancestry(id) {
            for base in &self.outlines[class.file as usize].classes[class.index as usize].bases {
                let sym = names.intern(base);
                if let Some(kind) = ClassKind::of_base(names.text(sym)) {
                    return kind;
                }
            }
        }
        let class = &self.outlines[id.file as usize].classes[id.index as usize];
        let looks_like_module = class.methods.contains_key("forward") && !class.bases.is_empty();
        if looks_like_module { ClassKind::Module } else { ClassKind::Plain }
    }

    /// A class and its bases within the project, nearest first; safe against cycles.
    #[must_use]
    pub fn ancestry(&self, id: ClassId) -> Vec<ClassId> {
        let mut found = vec![id];
        let mut next = 0;
        while next < found.len() && found.len() < 32 {
            let class = found[next];
            for base in &self.class_bases[class.file as usize][class.index as usize] {
                if !found.contains(base) {
                    found.push(*base);
                }
            }
            next += 1;
        }
        found
    }

    /// How often the project reads an attribute of this name, whatever it is an attribute of.
    #[must_use]
    pub fn attribute_reads(&self, name: &str) -> u32 {
        self.outlines.iter().filter_map(|outline| outline.attribute_reads.get(name)).sum()
    }

    /// How often the project binds an attribute of this name.
    #[must_use]
    pub fn attribute_writes(&self, name: &str) -> u32 {
        self.outlines.iter().filter_map(|outline| outline.attribute_writes.get(name)).sum()
    }

    /// The kind of a class.
    #[must_use]
    pub fn kind(&self, id: ClassId) -> ClassKind {
        self.class_kinds[id.file as usize][id.index as usize]
    }

    /// A method of a class or of its bases.
    #[must_use]
    pub fn method(&self, id: ClassId, name: &str) -> Option<FunctionId> {
        self.ancestry(id).into_iter().find_map(|class| {
            let methods = &self.outlines[class.file as usize].classes[class.index as usize].methods;
            methods.get(name).map(|&index| FunctionId { file: class.file, index })
        })
    }

    /// Whether making an instance of a class freezes all of its parameters.
    #[must_use]
    pub fn freezing(&self, id: ClassId) -> Option<Freezing<'a>> {
        let classes = self.ancestry(id).into_iter();
        let mut made = classes.map(|class| &self.outlines[class.file as usize].classes[class.index as usize]);
        made.find(|class| class.methods.contains_key("__init__"))?.freezes
    }

    /// What a function does, as learnt in the last round.
    #[must_use]
    pub fn summary(&self, id: FunctionId) -> Option<&Arc<Summary>> {
        self.learnt[id.file as usize].summaries.get(id.index as usize)?.as_ref()
    }

    /// What an attribute of a class's instances is, as learnt in the last round.
    #[must_use]
    pub fn attribute(&self, id: ClassId, name: &str) -> Option<&Value> {
        let ancestry = self.ancestry(id);
        ancestry
            .into_iter()
            .find_map(|class| self.learnt[class.file as usize].attributes.get(class.index as usize)?.get(name))
    }

    /// Whether a class has a base that is neither in the project nor plain: a framework may call its methods.
    #[must_use]
    pub fn has_foreign_base(&self, id: ClassId) -> bool {
        let plain = |base: &&String| {
            let root = base.split('.').next().unwrap_or_default();
            matches!(root, "torch" | "object" | "abc" | "ABC" | "typing" | "Generic" | "Protocol" | "enum")
        };
        self.ancestry(id).into_iter().any(|class| {
            let bases = &self.outlines[class.file as usize].classes[class.index as usize].bases;
            let known = self.class_bases[class.file as usize][class.index as usize].len();
            known + bases.iter().filter(plain).count() < bases.len()
        })
    }

    /// Whether a module of the project certainly has no parameters: its forward passes make no graph of their own.
    #[must_use]
    pub fn has_no_parameters(&self, id: ClassId) -> bool {
        self.is_parameterless(id, 4)
    }

    fn is_parameterless(&self, id: ClassId, hops: u32) -> bool {
        let mut own = self
            .ancestry(id)
            .into_iter()
            .filter_map(|class| self.learnt[class.file as usize].attributes.get(class.index as usize));
        // A class that takes its parameters out of training keeps sizes and the like beside them.
        let frozen = own.any(|found| found.values().any(|value| value.is_tensor() && value.has(Flags::FROZEN)));
        let written_out = |value: &Value| {
            let parts = value.parts.as_deref().unwrap_or_default();
            !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, Kind::Number | Kind::Str))
        };
        let plain = |value: &Value| match value.kind {
            Kind::Tuple | Kind::List if written_out(value) => true,
            Kind::Unknown | Kind::Tuple | Kind::List => frozen,
            Kind::Number | Kind::Str | Kind::None | Kind::Array | Kind::Function(_) => true,
            Kind::Tensor => !value.has(Flags::LEAF),
            Kind::Module => hops > 0 && value.class.is_some_and(|class| self.is_parameterless(class, hops - 1)),
            _ => false,
        };
        self.ancestry(id).into_iter().all(|class| {
            let definition = &self.outlines[class.file as usize].classes[class.index as usize];
            let known = self.class_bases[class.file as usize][class.index as usize].len();
            let torch = definition.bases.iter().filter(|base| *base == "torch.nn.Module").count();
            let attributes = self.learnt[class.file as usize].attributes.get(class.index as usize);
            known + torch == definition.bases.len() && attributes.is_some_and(|found| found.values().all(plain))
        })
    }

    /// The file a dotted module name means, seen from a file.
    #[must_use]
    pub fn find_module(&self, name: &str, from: u32) -> Option<u32> {
        let first = name.split('.').next()?;
        if LIBRARIES.contains(&first) {
            return None;
        }
        let candidates = self.by_last.get(name.rsplit('.').next()?)?;
        let here = &self.outlines[from as usize].module;
        let fits = |file: &&u32| {
            let module = &self.outlines[**file as usize].module;
            let Some(before) = module.strip_suffix(name) else { return false };
            before.is_empty() || before.ends_with('.') && here.starts_with(before)
        };
        let near = candidates.iter().filter(|file| **file != from).find(fits).copied();
        near.or_else(|| self.find_on_path(name, from, candidates))
    }

    /// Every file that a dotted module name could mean, wherever it is imported.
    #[must_use]
    pub fn modules_named(&self, name: &str) -> Vec<u32> {
        let candidates = self.by_last.get(name.rsplit('.').next().unwrap_or_default()).into_iter().flatten();
        let fits = |file: &&u32| {
            let before = self.outlines[**file as usize].module.strip_suffix(name);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        candidates.filter(fits).copied().collect()
    }

    /// The class a full name means, seen from a file.
    pub(crate) fn find_class(&self, name: &str, from: u32) -> Option<ClassId> {
        let Some((module, class)) = name.rsplit_once('.') else {
            let index = *self.outlines[from as usize].top_classes.get(name)?;
            return Some(ClassId { file: from, index });
        };
        self.find_class_in(self.find_module(module, from)?, class, 4)
    }

    fn find_class_in(&self, file: u32, class: &str, hops: u32) -> Option<ClassId> {
        let outline = &self.outlines[file as usize];
        if let Some(&index) = outline.top_classes.get(class) {
            return Some(ClassId { file, index });
        }
        let (module, class) = outline.imports.get(class)?.rsplit_once('.')?;
        if hops == 0 { None } else { self.find_class_in(self.find_module(module, file)?, class, hops - 1) }
    }

    /// Takes in what a round over all files learnt.
    pub(crate) fn absorb(&mut self, learnt: Vec<Learnt<'a>>) {
        self.call_sites.clear();
        for file in &learnt {
            #[expect(clippy::iter_over_hash_type, reason = "joins do not depend on the order of functions")]
            for (id, sites) in &file.call_sites {
                self.call_sites.entry(*id).or_default().add(sites);
            }
        }
        self.collates = learnt.iter().flat_map(|file| file.collates.iter().copied()).collect();
        self.learnt = learnt;
        self.set_from_outside();
        self.spread_arguments();
        self.spread_modes();
    }

    /// Works out the modes functions are called under, through callers that only pass theirs on.
    fn spread_modes(&mut self) {
        const ROUNDS: usize = 4;
        let edges: Vec<Edge> = self.learnt.iter().flat_map(|file| file.edges.iter().copied()).collect();
        let by_name: Vec<_> = self.learnt.iter().flat_map(|file| file.method_calls.iter().copied()).collect();
        for _ in 0..ROUNDS {
            let at_call = |caller: Option<FunctionId>, mode: Option<GradMode>| {
                mode.or_else(|| caller.map(|caller| self.mode_of_caller(caller))).unwrap_or(GradMode::On)
            };
            let mut modes: FxHashMap<FunctionId, Modes> = FxHashMap::default();
            for edge in &edges {
                modes.entry(edge.callee).or_default().count(at_call(edge.caller, edge.mode));
            }
            let mut method_modes: FxHashMap<&'a str, Modes> = FxHashMap::default();
            for &(name, caller, mode) in &by_name {
                method_modes.entry(name).or_default().count(at_call(caller, mode));
            }
            let mut changed = self.method_modes != method_modes;
            self.method_modes = method_modes;
            changed |= self.spread_turns(&edges);
            #[expect(clippy::iter_over_hash_type, reason = "each entry goes to its own function")]
            for (id, modes) in modes {
                let sites = self.call_sites.entry(id).or_default();
                changed |= sites.modes != modes;
                sites.modes = modes;
            }
            if !changed {
                break;
            }
        }
    }

    /// The modes a function is called under, by calls that mean it and calls of methods of its name on unknown objects.
    pub(crate) fn modes_of(&self, id: FunctionId) -> Modes {
        let mut modes = self.call_sites.get(&id).map(|sites| sites.modes).unwrap_or_default();
        let function = &self.outlines[id.file as usize].functions[id.index as usize];
        let name = function.node.name.as_str();
        // Half of all objects have an `update`: calls of others say nothing about this one.
        let common =
            matches!(name, "update" | "add" | "append" | "log" | "record" | "push" | "put" | "reset" | "write");
        if function.class.is_some() && !(common && modes != Modes::default()) {
            modes.add(self.method_modes.get(name).copied().unwrap_or_default());
        }
        modes
    }

    /// The mode a function's body begins in: what it declares, or what its callers give it.
    fn mode_of_caller(&self, id: FunctionId) -> GradMode {
        let declared = self.summary(id).map_or(GradMode::On, |summary| summary.grad);
        if declared != GradMode::On {
            return declared;
        }
        self.modes_of(id).summed_up()
    }
}
