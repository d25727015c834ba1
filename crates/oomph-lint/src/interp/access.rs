//! Attributes, elements, parts.

use super::binding::is_open;
use super::events::{LoopKind, Trip};
use super::imports::{canonical, number_of};
use super::machine::{Machine, Maker};
use crate::domain::{Kind, ModuleFacts, ObjId, Object, Size, State, Sure, Tensor, Value};
use crate::hints::is_loader_name;
use crate::ir::{BlockId, Const, Name, Reg};
use crate::torch::{attribute_keeps_tensor, is_module_method};

/// Loops that run at most this often are not worth a finding.
const FEW: i64 = 16;
/// Methods of modules and tensors: read as attributes, they are no parts.
const METHODS: &[&str] = &[
    "eval",
    "train",
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "double",
    "bfloat16",
    "zero_grad",
    "requires_grad_",
    "apply",
    "forward",
    "add_module",
    "register_buffer",
    "register_parameter",
    "register_module",
    "backward",
    "step",
    "log",
    "generate",
];

impl Machine<'_> {
    /// `value.name`.
    pub(super) fn attr(&mut self, state: &mut State, value: &Value, name: &Name, dst: Reg) -> Value {
        let mut result = Value::nothing();
        for &id in &value.refs {
            let found = self.attr_of_ref(state, id, name, dst);
            result.join(&found);
        }
        if let Some(tensor) = &value.tensor {
            result.join(&attr_of_tensor(tensor, name, value.is_unknown));
        }
        if value.is_unknown || result.is_nothing() {
            result.join(&Value::unknown());
        }
        if let Some(id) = result.single().filter(|_| self.is_of_unknown_class(state, &result)) {
            let duck = self.program.files[self.file() as usize].ducks.attr(name);
            self.refine_object(state, id, duck, name);
        }
        if is_open(&result) && value.refs.iter().all(|id| !self.is_module(state, *id)) {
            let duck = self.program.files[self.file() as usize].ducks.attr(name);
            let owner = value.single().map_or(u64::MAX, u64::from);
            if let Some(module) = self.duck_module(state, duck, name, number_of((owner, name))) {
                if let Some(object) = value.single().and_then(|id| state.object_mut(id)) {
                    object.attrs.insert(name.clone(), module.clone());
                }
                return module;
            }
        }
        result
    }

    pub(super) fn is_module(&self, state: &State, id: ObjId) -> bool {
        state.object(id).is_some_and(|object| object.module.is_some())
    }

    fn attr_of_ref(&mut self, state: &mut State, id: ObjId, name: &Name, dst: Reg) -> Value {
        if let Some(found) = self.attr_of_object(state, id, name) {
            return self.bind(state, id, name, found, dst);
        }
        let Some(object) = state.object(id) else { return Value::unknown() };
        match &object.kind {
            Kind::External(path) => {
                let path = canonical(&format!("{path}.{name}"));
                self.external(state, &path)
            }
            Kind::Dict | Kind::List { .. } | Kind::Tuple => Value::unknown(),
            _ if METHODS.contains(&&**name) || is_module_method(name) => Value::unknown(),
            Kind::Module | Kind::Instance(_) if object.module.is_some() => self.module_part(state, id, name),
            _ => Value::unknown(),
        }
    }

    /// A part of a module that nothing in sight sets: a module itself.
    pub(super) fn module_part(&mut self, state: &mut State, owner: ObjId, name: &str) -> Value {
        let id = self.id(Maker::Part(owner, number_of(name)));
        if state.object(id).is_none() {
            let facts = state.object(owner).and_then(|object| object.module);
            let mut object = Object::new(Kind::Module, [].into());
            // Whether an attribute nothing sets is a module is not known; calling it says so.
            object.module = Some(ModuleFacts { sure: Sure::Likely, ..facts.unwrap_or(ModuleFacts::new(Sure::Likely)) });
            state.put(id, object);
        }
        Value::object(id)
    }

    /// What is stored as an attribute, in the object or its classes.
    pub(super) fn attr_of_object(&self, state: &State, id: ObjId, name: &str) -> Option<Value> {
        let object = state.object(id)?;
        if object.kind != Kind::Dict
            && let Some(value) = object.attrs.get(name)
        {
            return Some(value.clone());
        }
        let class = object.attrs.get("<class>")?.single()?;
        self.attr_of_class(state, class, name, 0)
    }

    /// What a class or its bases define.
    pub(super) fn attr_of_class(&self, state: &State, class: ObjId, name: &str, deep: usize) -> Option<Value> {
        let object = state.object(class)?;
        if let Some(value) = object.attrs.get(name) {
            return Some(value.clone());
        }
        let Kind::Class { bases, .. } = &object.kind else { return None };
        if deep > 8 {
            return None;
        }
        bases.iter().flat_map(|base| &base.refs).find_map(|base| self.attr_of_class(state, *base, name, deep + 1))
    }

    /// Binds functions that are read through an object to it.
    fn bind(&mut self, state: &mut State, this: ObjId, name: &str, found: Value, dst: Reg) -> Value {
        let (is_instance, this) = match state.object(this) {
            Some(object) if matches!(object.kind, Kind::Instance(_) | Kind::Module) => (true, this),
            // What `super()` gave binds to the object it was called for.
            Some(object) => match object.attrs.get("<this>").and_then(Value::single) {
                Some(inner) => (true, inner),
                None => (false, this),
            },
            None => (false, this),
        };
        if !is_instance {
            return found;
        }
        let own = state.object(this).is_some_and(|object| object.attrs.get(name) == Some(&found));
        let mut result = found.without_refs();
        for &id in &found.refs {
            let is_method = match state.object(id).map(|object| &object.kind) {
                Some(Kind::Function { func, .. }) => {
                    let function = self.program.function(*func);
                    let is_static = function.decorators.iter().any(|name| &**name == "staticmethod");
                    function.is_method && !is_static && !own
                }
                _ => false,
            };
            let is_property = is_method && self.is_property(state, id);
            if is_property {
                let args = super::calls::Args::of(vec![Value::object(this)]);
                result.join(&self.call_object(state, id, &args, crate::ir::Span::default(), dst).unwrap_or_default());
            } else if is_method {
                let maker = Maker::Inst(self.func(), dst, 1);
                let bound = self.make(state, maker, Kind::Bound { func: id, this: Box::new(Value::object(this)) });
                result.join(&Value::object(bound));
            } else {
                result.join(&Value::object(id));
            }
        }
        result
    }

    fn is_property(&self, state: &State, id: ObjId) -> bool {
        match state.object(id).map(|object| &object.kind) {
            Some(Kind::Function { func, .. }) => {
                let decorators = &self.program.function(*func).decorators;
                decorators.iter().any(|name| name.ends_with("property"))
            }
            _ => false,
        }
    }

    /// `value[index]`.
    pub(super) fn index(&mut self, state: &mut State, value: &Value, index: &Value, _dst: Reg) -> Value {
        let mut result = Value::nothing();
        for &id in &value.refs {
            let Some(object) = state.object(id) else { continue };
            let found = match (&object.kind, &index.constant, &object.items) {
                (Kind::Dict, Some(Const::Str(key)), _) => {
                    object.attrs.get(key).cloned().unwrap_or_default().joined(&object.elem)
                }
                (_, Some(Const::Int(at)), Some(items)) => {
                    let at = if *at < 0 { items.len() as i64 + at } else { *at };
                    usize::try_from(at).ok().and_then(|at| items.get(at).cloned()).unwrap_or_else(|| object.any())
                }
                // A slice of a container is one again.
                (Kind::List { .. } | Kind::Tuple, Some(Const::Other), _) => Value::object(id),
                (Kind::Module, ..) if object.elem.is_nothing() => self.module_part(state, id, "[]"),
                (Kind::Made(path), ..) if matches!(&**path, "torch.load" | "state_dict") => Value::object(id),
                (Kind::Made(_), ..) => Value::unknown(),
                _ => object.any(),
            };
            result.join(&read_from(id, found));
        }
        if let Some(tensor) = &value.tensor {
            result.join(&Value { is_unknown: value.is_unknown, tensor: Some(tensor.clone()), ..Value::default() });
        }
        if result.is_nothing() {
            result = if value.is_plain && !value.is_unknown { Value::plain() } else { Value::unknown() };
        }
        result
    }

    /// One part of what is unpacked.
    pub(super) fn part(&mut self, state: &mut State, value: &Value, at: Option<usize>, of: usize, dst: Reg) -> Value {
        let index = match at {
            Some(at) if value.refs.iter().all(|id| state.object(*id).is_some_and(|object| has_parts(object, of))) => {
                Value::constant(Const::Int(at as i64))
            }
            _ => Value::plain(),
        };
        if value.refs.iter().any(|id| matches!(state.object(*id).map(|object| &object.kind), Some(Kind::Made(_)))) {
            return self.element(state, value);
        }
        self.index(state, value, &index, dst)
    }

    /// What a loop over a value gives each round.
    pub(super) fn element(&mut self, state: &mut State, value: &Value) -> Value {
        let mut result = Value::nothing();
        for &id in &value.refs {
            let Some(object) = state.object(id) else { continue };
            let found = match &object.kind {
                Kind::Dict if !object.attrs.contains_key("<values>") => Value::plain(),
                Kind::Made(path) if path.ends_with("DataLoader") => {
                    Value::tensor(Tensor { size: Size::Batch, ..Tensor::default() })
                }
                Kind::Module | Kind::Instance(_)
                    if object.module.is_some() && object.items.is_none() && object.elem.is_nothing() =>
                {
                    self.module_part(state, id, "[]")
                }
                Kind::Instance(_) => self.iterate_instance(state, id),
                _ => object.any(),
            };
            result.join(&read_from(id, found));
        }
        if let Some(tensor) = &value.tensor {
            result.join(&Value { is_unknown: value.is_unknown, tensor: Some(tensor.clone()), ..Value::default() });
        }
        if value.is_unknown || result.is_nothing() {
            result.join(&Value::unknown());
        }
        result
    }

    fn iterate_instance(&mut self, state: &mut State, id: ObjId) -> Value {
        for name in ["__iter__", "__getitem__"] {
            let Some(method) = self.attr_of_object(state, id, name).and_then(|method| method.single()) else {
                continue;
            };
            let args = super::calls::Args::of(vec![Value::object(id), Value::plain()]);
            let value = self.call_object(state, method, &args, crate::ir::Span::default(), 0).unwrap_or_default();
            let is_stream =
                value.refs.iter().any(|id| state.object(*id).is_some_and(|object| object.kind == Kind::Stream));
            return if is_stream { self.element(state, &value) } else { value };
        }
        Value::unknown()
    }

    /// Starts a round of a `for` loop: what it gives, and how often it runs.
    pub(super) fn start_round(&mut self, state: &mut State, values: &Value, iter: Reg, head: BlockId) -> Value {
        let func = self.func();
        let flow = &self.program.files[func.file as usize].plan(func.function as usize).flow;
        if let Some(at) = flow.loops.iter().position(|found| found.head == head) {
            let over = self.iterated.get(&(func, iter)).cloned();
            let mut trip = self.trip(state, values);
            if trip == Trip::Unknown && over.as_ref().is_some_and(|name| is_loader_name(name)) {
                trip = Trip::Batches;
            }
            let number = self.loop_number(LoopKind::Written(func, at));
            let facts = &mut self.log.loops[number as usize];
            facts.trip = facts.trip.max(trip);
            facts.over = facts.over.take().or(over);
            if facts.trip > Trip::Few {
                self.note_still_held(state);
            }
        }
        self.element(state, values)
    }

    fn trip(&self, state: &State, values: &Value) -> Trip {
        let mut trip = Trip::Few;
        if values.is_unknown || values.refs.is_empty() {
            trip = Trip::Unknown;
        }
        for id in &values.refs {
            let Some(object) = state.object(*id) else { continue };
            let known = match &object.kind {
                Kind::Made(path) if path.ends_with("DataLoader") => Trip::Batches,
                Kind::Made(path) if &**path == "builtins.range" => {
                    match object.attrs.get("<count>").and_then(|count| count.constant.clone()) {
                        Some(Const::Int(count)) if count <= FEW => Trip::Few,
                        Some(Const::Int(_)) => Trip::Many,
                        _ => Trip::Unknown,
                    }
                }
                Kind::Stream => match object.attrs.get("<over>") {
                    Some(over) => self.trip(state, over),
                    None => Trip::Unknown,
                },
                Kind::List { .. } | Kind::Tuple | Kind::Dict if object.items.is_some() || object.elem.is_nothing() => {
                    Trip::Few
                }
                _ if object.module.is_some() => Trip::Few,
                _ => Trip::Unknown,
            };
            trip = trip.max(known);
        }
        trip
    }
}

fn has_parts(object: &Object, of: usize) -> bool {
    object.items.as_ref().is_some_and(|items| items.len() == of)
}

/// Marks tensors as read from a container.
pub(super) fn read_from(id: ObjId, mut value: Value) -> Value {
    if let Some(tensor) = value.tensor_mut() {
        tensor.via.insert(id);
    }
    value
}

fn attr_of_tensor(tensor: &Tensor, name: &str, is_unknown: bool) -> Value {
    if !attribute_keeps_tensor(name) {
        return Value::plain();
    }
    let mut part = if matches!(name, "data" | "grad") { tensor.detached() } else { tensor.clone() };
    if name == "loss" {
        part.size = Size::Small;
    }
    Value { is_unknown, ..Value::tensor(part) }
}
