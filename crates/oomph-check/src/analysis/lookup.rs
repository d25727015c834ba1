//! The walk over names and attributes: what they stand for.

use super::guesses;
use super::known;
use super::value::{Flags, Graph, Kind, Sources, Value};
use super::walk::Walker;
use crate::python::Expr;
use crate::python::ast::{ExprAttribute, ExprName};

impl<'a> Walker<'a, '_> {
    pub(super) fn name(&mut self, node: &'a ExprName) -> Value {
        let name = node.id.as_str();
        if let Some(value) = self.f.env.known(name).and_then(|slot| self.f.env.get(slot)) {
            return self.refined(name, value.clone());
        }
        if let Some(value) = self.f.outer.iter().find_map(|scope| scope.get(name)) {
            // `model = None`, until a function says `global model`.
            let filled = if value.kind == Kind::None { self.global_module(name, "") } else { None };
            let value = filled.unwrap_or_else(|| value.clone());
            return self.refined(name, value);
        }
        if let Some(full) = self.outline.imports.get(name) {
            let sym = self.names.intern(full);
            return self.external(sym);
        }
        if let Some(&index) = self.outline.top_classes.get(name) {
            return Value::of(Kind::Class(super::value::ClassId { file: self.file, index }));
        }
        if let Some(&index) = self.outline.top_functions.get(name) {
            return Value::of(Kind::Function(super::value::FunctionId { file: self.file, index }));
        }
        if is_builtin(name) {
            return Value::of(Kind::External(self.names.intern(name)));
        }
        if let Some(full) = guesses::usual_alias(name) {
            return Value::of(Kind::External(self.names.intern(full)));
        }
        guesses::guess(name, self.outline.usage(name))
    }

    /// Resolves imports of the project's own things; guesses what nothing is known of.
    fn refined(&mut self, name: &'a str, value: Value) -> Value {
        match value.kind {
            Kind::External(sym) => self.external(sym),
            Kind::Unknown if value.graph == Graph::Unknown => {
                let guess = guesses::guess(name, self.outline.usage(name));
                if guess.kind == Kind::Unknown { value } else { Value { sources: value.sources, ..guess } }
            }
            _ => value,
        }
    }

    /// What an importable name is: a thing of the project, or itself.
    pub(super) fn external(&mut self, sym: super::names::Sym) -> Value {
        let found = if let Some(found) = self.resolved.get(&sym) {
            found.clone()
        } else {
            let found = self.project_thing(self.names.text(sym), 4);
            self.resolved.insert(sym, found.clone());
            found
        };
        found.unwrap_or_else(|| Value::of(Kind::External(sym)))
    }

    fn project_thing(&self, full: &str, hops: u32) -> Option<Value> {
        let (module, name) = full.rsplit_once('.')?;
        let file = self.tables.find_module(module, self.file)?;
        let outline = &self.tables.outlines[file as usize];
        if let Some(&index) = outline.top_classes.get(name) {
            return Some(Value::of(Kind::Class(super::value::ClassId { file, index })));
        }
        if let Some(&index) = outline.top_functions.get(name) {
            return Some(Value::of(Kind::Function(super::value::FunctionId { file, index })));
        }
        if let (Some(further), true) = (outline.imports.get(name), hops > 0) {
            return self.project_thing(further, hops - 1);
        }
        self.tables.learnt[file as usize].globals.get(name).cloned()
    }

    pub(super) fn attribute(&mut self, node: &'a ExprAttribute) -> Value {
        let name = node.attr.as_str();
        let base = self.eval(&node.value);
        if let Some(slot) = self.slot_of(&node.value) {
            let slot = self.f.env.attribute(slot, name);
            if let Some(value) = self.f.env.get(slot) {
                return self.refined(name, value.clone());
            }
        }
        self.attribute_of(&base, name)
    }

    /// What an attribute of a value is, when nothing was bound to it here.
    pub(super) fn attribute_of(&mut self, base: &Value, name: &'a str) -> Value {
        let value = self.plain_attribute_of(base, name);
        // A frozen module's parts are frozen.
        let of_frozen = base.has(Flags::FROZEN) && matches!(base.kind, Kind::Module | Kind::Unknown);
        let part = matches!(value.kind, Kind::Module | Kind::Unknown);
        if of_frozen && part { value.flagged(Flags::FROZEN) } else { value }
    }

    fn plain_attribute_of(&mut self, base: &Value, name: &'a str) -> Value {
        if let Kind::External(sym) = base.kind {
            let sym = self.names.attribute(sym, name);
            return self.external(sym);
        }
        if let Some(class) = base.class.or(match base.kind {
            Kind::Class(id) | Kind::Instance(id) => Some(id),
            _ => None,
        }) {
            if let Some(value) = self.class_attribute(class, name) {
                let value = self.refined(name, value);
                return if base.kind == Kind::Module { as_part(base, value) } else { value };
            }
            if let Some(id) = self.tables.method(class, name) {
                let node = self.tables.outlines[id.file as usize].functions[id.index as usize].node;
                let is_property = node.decorator_list.iter().any(|decorator| is_property(&decorator.expression));
                if is_property && !matches!(base.kind, Kind::Class(_)) {
                    let summary = self.summary(id);
                    return summary.map_or_else(Value::unknown, |summary| summary.returns.as_argument());
                }
                return Value::of(Kind::Function(id));
            }
        }
        match base.kind {
            Kind::Tensor if known::is_plain_attribute(name) => Value::of(Kind::Number),
            Kind::Tensor if name == "data" => {
                Value { graph: Graph::No, sources: Sources::default(), ..base.clone() }.flagged(Flags::DETACHED)
            }
            // Of `torch.max(x, 1)` and the like: whole numbers have no graph.
            Kind::Tensor if matches!(name, "grad" | "indices") => Value::data(),
            // Outputs of transformers' models have it beside the logits: one number, not as much as they are.
            Kind::Tensor if name == "loss" => base.clone().flagged(Flags::RAW.with(Flags::LOSS)),
            Kind::Tensor => Value { flags: base.flags.with(Flags::RAW), ..base.clone() },
            Kind::Tuple if matches!(name, "values" | "indices") => base
                .parts
                .as_ref()
                .and_then(|parts| parts.get(usize::from(name == "indices")).cloned())
                .unwrap_or_else(Value::unknown),
            Kind::Module if name == "module" => base.clone(),
            Kind::Module if matches!(name, "weight" | "bias") => Value::data().flagged(Flags::LEAF),
            Kind::Loader if name == "dataset" => Value::of(Kind::Dataset),
            Kind::Module => as_part(base, guesses::guess(name, self.outline.usage(name))),
            _ => guesses::guess(name, self.outline.usage(name)),
        }
    }

    pub(super) fn class_attribute(&self, class: super::value::ClassId, name: &str) -> Option<Value> {
        for id in self.tables.ancestry(class) {
            if id.file == self.file {
                let now = self.learnt.attributes[id.index as usize].get(name);
                let before = self.tables.learnt[id.file as usize].attributes.get(id.index as usize);
                let before = before.and_then(|attributes| attributes.get(name));
                // A field is `None` until somebody sets it.
                let is_empty = now.is_some_and(|value| value.kind == Kind::None);
                let filled = before.filter(|value| is_empty && value.is_tensor());
                if let Some(value) = filled.or(now).or(before) {
                    return Some(value.clone());
                }
            } else if let Some(value) =
                self.tables.learnt[id.file as usize].attributes.get(id.index as usize).and_then(|a| a.get(name))
            {
                return Some(value.exported());
            }
        }
        None
    }
}

/// What a module calls, and calls a network, is one of its parts: it runs in the mode of the whole.
fn as_part(whole: &Value, value: Value) -> Value {
    let guessed = value.kind == Kind::Module && value.has(Flags::GUESSED) && !value.has(Flags::CRITERION);
    let value = if guessed { Value { graph: value.graph.max(Graph::Likely), ..value } } else { value };
    if value.is_module() && whole.has(Flags::EVAL) { value.flagged(Flags::EVAL) } else { value }
}

fn is_property(decorator: &Expr) -> bool {
    match decorator {
        Expr::Name(name) => name.id.as_str().ends_with("property"),
        Expr::Attribute(attribute) => attribute.attr.as_str().ends_with("property"),
        _ => false,
    }
}

fn is_builtin(name: &str) -> bool {
    matches!(
        name,
        "print"
            | "len"
            | "range"
            | "enumerate"
            | "zip"
            | "list"
            | "dict"
            | "set"
            | "tuple"
            | "float"
            | "int"
            | "str"
            | "bool"
            | "sum"
            | "max"
            | "min"
            | "abs"
            | "round"
            | "iter"
            | "next"
            | "map"
            | "filter"
            | "sorted"
            | "reversed"
            | "isinstance"
            | "super"
            | "open"
            | "getattr"
            | "setattr"
            | "hasattr"
            | "type"
            | "any"
            | "all"
            | "exit"
            | "quit"
            | "frozenset"
            | "Exception"
            | "RuntimeError"
            | "MemoryError"
            | "ValueError"
            | "KeyboardInterrupt"
            | "BaseException"
            | "repr"
            | "id"
            | "vars"
            | "callable"
            | "staticmethod"
            | "classmethod"
            | "property"
            | "divmod"
            | "pow"
            | "input"
            | "hash"
            | "slice"
            | "object"
            | "globals"
            | "locals"
            | "StopIteration"
            | "TypeError"
            | "OSError"
            | "IOError"
            | "KeyError"
            | "IndexError"
            | "AttributeError"
            | "ImportError"
            | "NotImplementedError"
    )
}
