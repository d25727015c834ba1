//! Variables: where they are kept, and what their uses say of values that are not followed.

use std::rc::Rc;

use super::imports::number_of;
use super::machine::{Machine, Maker};
use crate::domain::{Grad, Kind, ModuleFacts, ObjId, Object, Origins, Size, State, Sure, Tensor, Value};
use crate::hints::{Duck, is_module_name};
use crate::ir::{Const, Name, Span, Var};
use crate::torch::effect_of_call;

impl Machine<'_> {
    /// The name of a variable.
    pub(super) fn var_name(&self, var: &Var) -> Option<Name> {
        match var {
            Var::Local(slot) => self.program.function(self.func()).locals.get(*slot as usize).cloned(),
            Var::Cell(_, name) | Var::Global(name) | Var::ClassAttr(name) => Some(name.clone()),
        }
    }

    /// The object and attribute that hold a variable that is not local.
    fn home(&mut self, state: &State, var: &Var) -> Option<(ObjId, Name)> {
        match var {
            Var::Local(_) => None,
            Var::Cell(out, name) => {
                let mut cells = self.frames.last()?.cells?;
                for _ in 0..*out {
                    cells = state.object(cells)?.attrs.get("^")?.single()?;
                }
                Some((cells, name.clone()))
            }
            Var::Global(name) => Some((self.file_object(self.file()), name.clone())),
            Var::ClassAttr(name) => Some((self.frames.last()?.class?, name.clone())),
        }
    }

    /// The value of a variable.
    pub(super) fn load(&mut self, state: &mut State, var: &Var) -> Value {
        let known = match var {
            Var::Local(slot) => state.locals[*slot as usize].clone(),
            _ => {
                let found = self.home(state, var).and_then(|(id, name)| state.object(id)?.attrs.get(&name).cloned());
                match (found, var) {
                    (Some(value), _) => value,
                    (None, Var::ClassAttr(name) | Var::Global(name)) => self.global_or_builtin(state, name),
                    (None, _) => Value::unknown(),
                }
            }
        };
        let may_be_anything = known.is_unknown && known.refs.is_empty();
        if !may_be_anything && !self.is_of_unknown_class(state, &known) {
            return known;
        }
        let duck = self.program.files[self.file() as usize].ducks.var(self.func().function as usize, var);
        // What was moved may be a tensor; who asks for its parameters knows better.
        if may_be_anything && !is_open(&known) && !duck.is_module {
            return known;
        }
        let name = self.var_name(var).unwrap_or_else(|| "".into());
        let scope = if matches!(var, Var::Global(_)) { 0 } else { self.func().function };
        if let Some(id) = known.single() {
            self.refine_object(state, id, duck, &name);
            return known;
        }
        let Some(module) = self.duck_module(state, duck, &name, number_of((scope, &name))) else { return known };
        self.store_quietly(state, var, module.clone());
        module
    }

    fn global_or_builtin(&mut self, state: &mut State, name: &Name) -> Value {
        let file = self.file_object(self.file());
        if let Some(value) = state.object(file).and_then(|object| object.attrs.get(name)) {
            return value.clone();
        }
        let path = format!("builtins.{name}");
        if effect_of_call(&path).is_some() {
            return self.external(state, &path);
        }
        // A class that an `import *` brings is as good as one imported by name.
        if name.starts_with(char::is_uppercase) { self.external(state, name) } else { Value::unknown() }
    }

    /// A module, where uses or the name say that something not followed is one.
    pub(super) fn duck_module(&mut self, state: &mut State, duck: Duck, name: &str, key: u64) -> Option<Value> {
        let is_named = is_module_name(name) && (duck.is_called || duck.is_perhaps_module);
        if !duck.is_module && !is_named {
            return None;
        }
        let sure = if duck.is_module { Sure::Yes } else { Sure::Likely };
        let id = self.id(Maker::Duck(self.file(), key));
        if state.object(id).is_none() {
            let mut object = Object::new(Kind::Module, [].into());
            object.module = Some(ModuleFacts::new(sure));
            state.put(id, object);
        }
        self.note_module_name(id, name.into());
        Some(Value::object(id))
    }

    /// Whether a value is an object of a class that is not in sight.
    pub(super) fn is_of_unknown_class(&self, state: &State, value: &Value) -> bool {
        let kind = value.single().and_then(|id| state.object(id)).map(|object| &object.kind);
        matches!(kind, Some(Kind::Made(path)) if effect_of_call(path).is_none() && path.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_uppercase)))
    }

    /// An object of a class not in sight is a module where its uses say so, or its name, or that of its class.
    pub(super) fn refine_object(&mut self, state: &mut State, id: ObjId, duck: Duck, name: &str) {
        let Some(Kind::Made(path)) = state.object(id).map(|object| object.kind.clone()) else { return };
        let class = path.rsplit('.').next().unwrap_or_default();
        let is_named = (is_module_name(name) || is_module_name(class)) && (duck.is_called || duck.is_perhaps_module);
        if !duck.is_module && !is_named {
            return;
        }
        if let Some(object) = state.object_mut(id) {
            let card = object.attrs.contains_key("<card>");
            object.kind = Kind::Module;
            let mut facts = ModuleFacts::new(if duck.is_module { Sure::Yes } else { Sure::Likely });
            facts.card = if card { Sure::Likely } else { Sure::Maybe };
            object.module = Some(facts);
        }
    }

    /// Sets a variable.
    pub(super) fn store(&mut self, state: &mut State, var: &Var, mut value: Value, span: Span) {
        let duck = self.program.files[self.file() as usize].ducks.var(self.func().function as usize, var);
        if duck.is_loss && state.grad_now() != Grad::Off {
            self.prove_graph(state, &mut value, span);
        }
        let old = match var {
            Var::Local(slot) => Some(state.locals[*slot as usize].clone()),
            _ => self.home(state, var).and_then(|(id, name)| state.object(id)?.attrs.get(&name).cloned()),
        };
        if let Some(old) = old {
            self.note_replaced(state, &old, &value);
        }
        if let (Var::Global(_) | Var::ClassAttr(_), true) = (var, self.is_recording) {
            for &id in &value.refs {
                self.log.objects[id as usize].is_shared = true;
            }
        }
        self.note_name(state, &value, var);
        self.store_quietly(state, var, value);
    }

    /// A variable's name says what a module is for.
    fn note_name(&mut self, state: &State, value: &Value, var: &Var) {
        let Some(id) = value.single().filter(|id| self.is_recording && self.is_module(state, *id)) else { return };
        if let Some(name) = self.var_name(var) {
            self.note_module_name(id, name);
        }
    }

    pub(super) fn note_module_name(&mut self, id: ObjId, name: Name) {
        let names = &mut self.log.objects[id as usize].names;
        if names.len() < 4 && !names.contains(&name) {
            names.push(name);
        }
    }

    /// Sets a variable to something it already may be.
    pub(super) fn store_quietly(&mut self, state: &mut State, var: &Var, value: Value) {
        if let Var::Local(slot) = var {
            state.locals[*slot as usize] = value;
        } else if let Some((id, name)) = self.home(state, var) {
            if state.object(id).is_none() {
                let kind = if matches!(var, Var::Global(_)) { Kind::File(self.file()) } else { Kind::Frame };
                state.put(id, Object::new(kind, [].into()));
            }
            if let Some(object) = state.object_mut(id) {
                object.attrs.insert(name, value);
            }
        }
    }

    /// A backward pass starts from this value: it has a graph, whatever made it.
    fn prove_graph(&mut self, state: &mut State, value: &mut Value, span: Span) {
        let is_unknown = value.is_unknown;
        match value.tensor_mut() {
            Some(tensor) if tensor.graph >= Sure::Maybe => tensor.graph = tensor.graph.max(Sure::Likely),
            Some(tensor) if is_unknown => tensor.graph = Sure::Yes,
            None if is_unknown => {
                let tensor = Tensor { graph: Sure::Yes, ..Tensor::default() };
                value.tensor = Some(tensor.into());
            }
            _ => return,
        }
        if let Some(tensor) = value.tensor_mut()
            && tensor.origins.is_empty()
        {
            let site = self.site(span);
            state.freed.retain(|freed| *freed != site);
            tensor.origins = Origins::at(site);
        }
    }

    /// `x.requires_grad = flag` changes the variable that was read.
    pub(super) fn require_grad(&mut self, state: &mut State, var: &Var, object: &Value, flag: &Value) {
        if !object.refs.is_empty() || object.tensor.as_ref().is_some_and(|tensor| tensor.parameter_of.is_some()) {
            return;
        }
        let mut value = object.clone();
        let tensor = value.tensor.get_or_insert_with(|| Rc::new(Tensor { size: Size::Batch, ..Tensor::default() }));
        Rc::make_mut(tensor).is_leaf = !flag.is_const(&Const::Bool(false));
        self.store_quietly(state, var, value);
    }
}

/// Whether nothing at all is known of a value.
pub(super) fn is_open(value: &Value) -> bool {
    value.is_unknown && value.refs.is_empty() && value.tensor.is_none() && !value.is_plain
}
