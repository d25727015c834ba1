//! What a file defines and imports, and how its names are used: found in one look, before anything is walked.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::bindings::Bindings;
use super::freezing::{self, Freezing};
use super::libraries::is_friend_of_torch;
use super::recording;
use super::saving::Saving;
use super::settings::{is_settings, is_settings_name, option_of, settings_of};
use super::writes::{Saved, Writes};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use crate::python::ast::{ExprCall, StmtClassDef, StmtFunctionDef, StmtImportFrom};
use crate::python::{Expr, Ranged, Stmt, root_name};
use crate::source::Source;
use crate::uses::last_name;

/// How a name is used anywhere in a file, whatever scope: names tend to mean one thing in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage(u16);

impl Usage {
    /// `x(...)`.
    pub const CALLED: Self = Self(1);
    /// `for ... in x`.
    pub const ITERATED: Self = Self(1 << 1);
    /// `x.eval()`.
    pub const EVAL: Self = Self(1 << 2);
    /// `x.train()`.
    pub const TRAIN: Self = Self(1 << 3);
    /// `x.parameters()`, `x.named_parameters()`, `x.modules()`.
    pub const PARAMETERS: Self = Self(1 << 4);
    /// `x.step()`.
    pub const STEP: Self = Self(1 << 5);
    /// `x.zero_grad()`.
    pub const ZERO_GRAD: Self = Self(1 << 6);
    /// `x.backward()`.
    pub const BACKWARD: Self = Self(1 << 7);
    /// `x.state_dict()`, `x.load_state_dict()`.
    pub const STATE_DICT: Self = Self(1 << 8);
    /// `x.to(...)`, `x.cuda()`.
    pub const MOVED: Self = Self(1 << 9);
    /// `x.scale(...)`, `x.unscale_(...)`.
    pub const SCALE: Self = Self(1 << 10);
    /// `x.item()`.
    pub const ITEM: Self = Self(1 << 11);
    /// `x.param_groups`.
    pub const PARAM_GROUPS: Self = Self(1 << 12);

    /// Whether any of `other` was seen.
    #[must_use]
    pub fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Either of two.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of_method(method: &str) -> Self {
        match method {
            "eval" => Self::EVAL,
            "train" => Self::TRAIN,
            "parameters" | "named_parameters" | "modules" | "named_modules" | "children" => Self::PARAMETERS,
            "step" => Self::STEP,
            "zero_grad" => Self::ZERO_GRAD,
            "backward" => Self::BACKWARD,
            "state_dict" | "load_state_dict" => Self::STATE_DICT,
            "to" | "cuda" => Self::MOVED,
            "scale" | "unscale_" => Self::SCALE,
            "item" => Self::ITEM,
            _ => Self(0),
        }
    }

    /// Whether it is used as a module is, beyond doubt enough to call it one.
    #[must_use]
    pub fn is_like_module(self) -> bool {
        self.any(Self::PARAMETERS)
            || self.any(Self::CALLED) && self.any(Self::EVAL.or(Self::STATE_DICT).or(Self::ZERO_GRAD).or(Self::TRAIN))
    }
}

/// A function or method.
#[derive(Debug)]
pub struct FunctionDef<'a> {
    /// Its definition.
    pub node: &'a StmtFunctionDef,
    /// The class whose body it is in.
    pub class: Option<u32>,
    /// The function it is nested in.
    pub parent: Option<u32>,
    /// Whether `yield` is in its body.
    pub is_generator: bool,
    /// Whether it switches recording on or off for some of what it does: `with torch.set_grad_enabled(not eval):`.
    pub switches: bool,
    /// Whether it differentiates: `torch.autograd.grad(...)`.
    pub differentiates: bool,
}

impl FunctionDef<'_> {
    /// Whether its first parameter is the object or class it is called on.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        let is_static = |name: &Expr| matches!(name, Expr::Name(name) if name.id.as_str() == "staticmethod");
        self.class.is_some() && !self.node.decorator_list.iter().any(|found| is_static(&found.expression))
    }

    /// Whether it is called on its class: `@classmethod`.
    #[must_use]
    pub fn is_of_class(&self) -> bool {
        let decorated = |name: &Expr| matches!(name, Expr::Name(name) if name.id.as_str() == "classmethod");
        self.class.is_some() && self.node.decorator_list.iter().any(|found| decorated(&found.expression))
    }

    /// How many parameters have a name of their own: `*args` and `**kwargs` come after them.
    pub(crate) fn named_parameters(&self) -> usize {
        let parameters = &self.node.parameters;
        parameters.posonlyargs.len() + parameters.args.len() + parameters.kwonlyargs.len()
    }
}

/// A class.
#[derive(Debug)]
pub struct ClassDef<'a> {
    /// Its definition.
    pub node: &'a StmtClassDef,
    /// The function it is nested in.
    pub parent: Option<u32>,
    /// Its methods.
    pub methods: FxHashMap<&'a str, u32>,
    /// Whether making one freezes all of its parameters.
    pub freezes: Option<Freezing<'a>>,
    /// Full names of its bases, as far as imports tell; a project's own class keeps its bare name.
    pub bases: Vec<String>,
}

/// What a file defines, imports and does with its names.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Outline<'a> {
    /// Functions and methods, in the order of the text.
    pub functions: Vec<FunctionDef<'a>>,
    /// Classes, in the order of the text.
    pub classes: Vec<ClassDef<'a>>,
    /// What each imported name stands for, wherever in the file it is imported.
    pub imports: FxHashMap<&'a str, String>,
    /// Modules of `from x import *`.
    pub stars: Vec<String>,
    /// How often an attribute of each name is read: `x.name`, whatever `x` is.
    pub attribute_reads: FxHashMap<&'a str, u32>,
    /// How often an attribute of each name is bound: `x.name = ...`.
    pub attribute_writes: FxHashMap<&'a str, u32>,
    /// Module-level functions by name.
    pub top_functions: FxHashMap<&'a str, u32>,
    /// Module-level classes by name.
    pub top_classes: FxHashMap<&'a str, u32>,
    /// How names are used.
    pub usage: FxHashMap<&'a str, Usage>,
    by_start: FxHashMap<u32, u32>,
    /// The dotted name of the module, from its path.
    pub module: String,
    /// Whether it imports torch, or a library that stands on it: a mention in a comment is not enough to guess by.
    pub imports_torch: bool,
    /// Whether it names torch without importing it, as an excerpt does, or does what only torch understands:
    /// `batch.cuda()`, `os.environ["PYTORCH_ALLOC_CONF"]`.
    pub names_torch: bool,
    /// Names of what it takes out of training, or lets a helper do so: `freeze(teacher)`.
    pub frozen: FxHashSet<&'a str>,
    /// Whether it reads attributes of some object by names that are computed: `getattr(model, name)`.
    pub reads_by_name: bool,
    /// Classes that read their own so: `getattr(self, name)`.
    pub self_readers: Vec<u32>,
    /// Functions that say `volatile=True`, `None` for the body of the file: before torch 0.4 that is what switched
    /// recording off, and no later torch runs such code as it was meant.
    pub volatile: FxHashSet<Option<u32>>,
    /// Whether it saves anything with `torch.save`.
    pub saves: bool,
    /// Whether it saves what looks like weights.
    pub saves_weights: bool,
    /// The files it saves.
    pub saved: Vec<Saved>,
    /// Whether it brings weights to the CPU before it saves them.
    pub saves_from_cpu: bool,
    /// Whether it tells the program not to use the GPU, whatever the command line says: `args.no_cuda = True`.
    pub turns_gpu_off: bool,
    /// The options of its command line, as they are read later, and what each is unless told otherwise; the numbers and
    /// lists of its dicts and classes of settings too.
    pub options: Vec<(String, &'a Expr)>,
    /// Attributes it binds on anything but the `self` of a method: `model.name = ...`, `setattr(model, "name", ...)`.
    pub foreign_writes: FxHashSet<&'a str>,
    /// Whether it binds attributes of some object by names that are computed: `setattr(model, name, ...)`.
    pub writes_by_name: bool,
    /// Its statements.
    pub body: &'a [Stmt],
    /// The package its relative imports begin at.
    pub package: String,
    /// Whether all of it could be parsed.
    pub is_whole: bool,
    /// The names its body binds, found when first asked for.
    pub(crate) bindings: OnceLock<Bindings>,
}

impl<'a> Outline<'a> {
    fn stands_on_torch(&self) -> bool {
        let stars = self.stars.iter().map(String::as_str);
        self.imports.values().map(String::as_str).chain(stars).any(is_friend_of_torch)
    }

    /// Looks a file over.
    pub(crate) fn of(source: &'a Source) -> Self {
        let body = source.body();
        let (module, package) = module_name(&source.name);
        let outline = Self { module, body, package, is_whole: source.is_whole(), ..Self::default() };
        let mut look =
            Look { outline, class: None, function: None, saving: Saving::default(), writes: Writes::default() };
        for stmt in body {
            look.visit_stmt(stmt);
        }
        let mut outline = look.outline;
        (outline.saves, outline.saves_from_cpu) = (look.saving.saves(), look.saving.saves_from_cpu());
        (outline.saves_weights, outline.saved) =
            (look.saving.saves() && look.saving.weights, look.writes.finish(source));
        outline.turns_gpu_off = body.iter().any(super::saving::turns_gpu_off);
        outline.imports_torch = outline.stands_on_torch();
        for index in 0..outline.classes.len() {
            let class = &outline.classes[index];
            let arguments = class.node.arguments.as_ref();
            let bases = arguments.map(|arguments| arguments.args.iter().filter_map(dotted).collect::<Vec<_>>());
            outline.classes[index].bases =
                bases.unwrap_or_default().iter().map(|base| outline.full_name(base)).collect();
        }
        outline
    }

    /// What a dotted name stands for, by the imports.
    pub(crate) fn full_name(&self, name: &str) -> String {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        match (self.imports.get(first), rest) {
            (Some(full), Some(rest)) => format!("{full}.{rest}"),
            (Some(full), None) => full.clone(),
            (None, _) => name.to_owned(),
        }
    }

    /// The names its body binds.
    pub(crate) fn bindings(&self) -> &Bindings {
        self.bindings.get_or_init(|| Bindings::of(self.body))
    }

    /// The dotted name of the module that a `from` imports from.
    pub(crate) fn module_of(&self, import: &StmtImportFrom) -> String {
        let named = import.module.as_ref().map_or("", |module| module.as_str());
        if import.level == 0 {
            return named.to_owned();
        }
        let above = ancestor(&self.package, import.level);
        [above.as_str(), named].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".")
    }

    /// The index of a function by its definition.
    pub(crate) fn function_of(&self, node: &StmtFunctionDef) -> Option<u32> {
        self.by_start.get(&node.range().start().to_u32()).copied()
    }

    /// The index of a class by its definition.
    pub(crate) fn class_of(&self, node: &StmtClassDef) -> Option<u32> {
        self.by_start.get(&node.range().start().to_u32()).copied()
    }

    /// How a name is used in the file.
    #[must_use]
    pub fn usage(&self, name: &str) -> Usage {
        self.usage.get(name).copied().unwrap_or_default()
    }
}

/// `a.b.c` for an expression of names and attributes.
pub(crate) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        Expr::Subscript(subscript) => dotted(&subscript.value),
        _ => None,
    }
}

/// The dotted module name and package of a path.
fn module_name(path: &str) -> (String, String) {
    let path = path.strip_suffix(".py").or_else(|| path.strip_suffix(".ipynb")).unwrap_or(path);
    let parts: Vec<&str> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != "." && *part != "..").collect();
    let package = parts[..parts.len().saturating_sub(1)].join(".");
    if parts.last() == Some(&"__init__") { (package.clone(), package) } else { (parts.join("."), package) }
}

/// The package `level` dots above.
fn ancestor(package: &str, level: u32) -> String {
    let mut parts: Vec<&str> = package.split('.').collect();
    for _ in 1..level {
        parts.pop();
    }
    parts.join(".")
}

struct Look<'a> {
    outline: Outline<'a>,
    class: Option<u32>,
    function: Option<u32>,
    saving: Saving,
    writes: Writes,
}

impl<'a> Look<'a> {
    fn used(&mut self, expr: &'a Expr, usage: Usage) {
        let name = match expr {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        let seen = self.outline.usage.entry(name).or_default();
        *seen = seen.or(usage);
    }

    fn import(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let full = alias.name.as_str();
                    if let Some(name) = &alias.asname {
                        self.outline.imports.insert(name, full.to_owned());
                    } else {
                        let first = full.split('.').next().unwrap_or(full);
                        self.outline.imports.insert(first, first.to_owned());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let module = self.outline.module_of(import);
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        self.outline.stars.push(module.clone());
                        continue;
                    }
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.outline.imports.insert(name, format!("{module}.{}", alias.name));
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, node: &'a StmtFunctionDef) {
        let index = self.outline.functions.len() as u32;
        self.outline.by_start.insert(node.range().start().to_u32(), index);
        let function = FunctionDef {
            node,
            class: self.class,
            parent: self.function,
            is_generator: false,
            switches: false,
            differentiates: false,
        };
        self.outline.functions.push(function);
        if let Some(class) = self.class {
            // A property's setter has the getter's name: the first one counts.
            self.outline.classes[class as usize].methods.entry(node.name.as_str()).or_insert(index);
        } else if self.function.is_none() {
            self.outline.top_functions.insert(node.name.as_str(), index);
        }
        let outer = (self.class.take(), self.function.replace(index));
        for stmt in &node.body {
            self.visit_stmt(stmt);
        }
        (self.class, self.function) = outer;
        if let (Some(class), "__init__") = (self.class, node.name.as_str()) {
            self.outline.classes[class as usize].freezes = freezing::freezing_of(node);
        }
    }

    fn class(&mut self, node: &'a StmtClassDef) {
        let index = self.outline.classes.len() as u32;
        self.outline.by_start.insert(node.range().start().to_u32(), index);
        let class =
            ClassDef { node, parent: self.function, methods: FxHashMap::default(), freezes: None, bases: Vec::new() };
        self.outline.classes.push(class);
        if self.class.is_none() && self.function.is_none() {
            self.outline.top_classes.insert(node.name.as_str(), index);
        }
        let outer = (self.class.replace(index), self.function);
        for stmt in &node.body {
            self.visit_stmt(stmt);
        }
        (self.class, self.function) = outer;
    }

    fn call(&mut self, call: &'a ExprCall) {
        self.writes.note_call(call, self.function);
        match &*call.func {
            Expr::Attribute(attribute) => {
                self.saving.note_call(call, self.function);
                // `frame.eval("a + b")` is a table's.
                let of_table = attribute.attr.as_str() == "eval" && !call.arguments.is_empty();
                if !of_table {
                    self.used(&attribute.value, Usage::of_method(&attribute.attr));
                }
                self.used(&call.func, Usage::CALLED);
                if matches!(attribute.attr.as_str(), "add_argument" | "option") {
                    self.outline.options.extend(option_of(call));
                }
            }
            Expr::Name(_) => self.used(&call.func, Usage::CALLED),
            _ => {}
        }
        let goes_over =
            matches!(last_name(&call.func), Some("enumerate" | "tqdm" | "iter" | "zip" | "trange" | "track"));
        for argument in call.arguments.args.iter().filter(|_| goes_over) {
            self.used(argument, Usage::ITERATED);
        }
    }

    /// What a call says about recording.
    fn note_recording(&mut self, call: &ExprCall) {
        if recording::is_volatile(call) {
            self.outline.volatile.insert(self.function);
        }
        let (switches, differentiates) = (recording::switches(call), recording::differentiates(call));
        let mut function = self.function.filter(|_| switches || differentiates);
        while let Some(index) = function {
            let found = &mut self.outline.functions[index as usize];
            found.switches |= switches;
            found.differentiates |= differentiates;
            function = found.parent;
        }
    }

    /// `setattr(model, name, value)`: any attribute may be meant.
    fn note_computed_write(&mut self, call: &'a ExprCall) {
        let takes_name = matches!(
            last_name(&call.func),
            Some("setattr" | "__setattr__" | "register_buffer" | "register_parameter" | "add_module")
        );
        if !takes_name {
            return;
        }
        let texts = call.arguments.args.iter().filter_map(Expr::as_string_literal_expr);
        let before = self.outline.foreign_writes.len();
        self.outline.foreign_writes.extend(texts.map(|text| text.value.to_str()));
        let on = call.arguments.args.first().and_then(root_name).unwrap_or_default();
        let settings = is_settings_name(on) || self.outline.imports.contains_key(on);
        self.outline.writes_by_name |= before == self.outline.foreign_writes.len() && !settings;
    }

    /// Whether what runs here is a method, or a function inside one.
    fn is_in_method(&self) -> bool {
        let mut function = self.function;
        while let Some(found) = function.map(|index| &self.outline.functions[index as usize]) {
            if found.class.is_some() {
                return true;
            }
            function = found.parent;
        }
        false
    }

    /// `getattr(model, name)`: any attribute may be meant. Settings and libraries are read so too.
    fn note_computed_read(&mut self, call: &ExprCall) {
        let [Expr::Name(on), name, ..] = &*call.arguments.args else { return };
        let (on, computed) = (on.id.as_str(), last_name(&call.func) == Some("getattr"));
        if !computed || name.is_string_literal_expr() {
            return;
        }
        if on == "self" {
            let function = self.function.map(|index| &self.outline.functions[index as usize]);
            self.outline.self_readers.extend(function.and_then(|function| function.class));
            return;
        }
        self.outline.reads_by_name |= !self.outline.imports.contains_key(on)
            && !is_settings_name(on)
            && !on.to_ascii_lowercase().contains("module");
    }
}

impl<'a> SourceOrderVisitor<'a> for Look<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.saving.note_stmt(stmt, self.function);
        self.writes.note_stmt(stmt, self.function);
        match stmt {
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(stmt),
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::For(node) => {
                self.used(&node.iter, Usage::ITERATED);
                self.outline.frozen.extend(freezing::frozen_in(node));
                walk_stmt(self, stmt);
            }
            _ => {
                let settings =
                    || stmt.as_assign_stmt().and_then(|assign| assign.targets.first()).is_some_and(is_settings);
                if self.function.is_none() || settings() {
                    let in_class = self.function.is_none() && self.class.is_some();
                    self.outline.options.extend(settings_of(stmt, in_class));
                }
                walk_stmt(self, stmt);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                self.note_recording(call);
                self.outline.frozen.extend(freezing::frozen_by(call));
                self.note_computed_read(call);
                self.note_computed_write(call);
                self.call(call);
            }
            Expr::StringLiteral(text) => {
                let variable = text.value.to_str().starts_with("PYTORCH_");
                self.outline.names_torch |= variable && text.value.to_str().ends_with("_CONF");
            }
            Expr::Attribute(attribute) => {
                let root = attribute.value.as_name_expr();
                let moves = attribute.attr.as_str() == "cuda";
                self.outline.names_torch |= moves || root.is_some_and(|name| name.id.as_str() == "torch");
                if attribute.attr.as_str() == "param_groups" {
                    self.used(&attribute.value, Usage::PARAM_GROUPS);
                }
                if attribute.ctx.is_load() {
                    *self.outline.attribute_reads.entry(attribute.attr.as_str()).or_default() += 1;
                } else {
                    if attribute.attr.as_str() == "volatile" {
                        self.outline.volatile.insert(self.function);
                    }
                    *self.outline.attribute_writes.entry(attribute.attr.as_str()).or_default() += 1;
                    let own = attribute.value.as_name_expr().is_some_and(|name| name.id.as_str() == "self");
                    if !own || !self.is_in_method() {
                        self.outline.foreign_writes.insert(attribute.attr.as_str());
                    }
                }
            }
            Expr::DictComp(node) => self.saving.note_comprehension(&node.value, &node.generators),
            Expr::ListComp(node) => self.saving.note_comprehension(&node.elt, &node.generators),
            Expr::Generator(node) => self.saving.note_comprehension(&node.elt, &node.generators),
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(function) = self.function {
                    self.outline.functions[function as usize].is_generator = true;
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
