//! Containers and attributes that are written: lists, dictionaries, queues, objects.

use super::calls::Args;
use super::machine::{Machine, Maker};
use crate::domain::{Kind, ObjId, Object, State, Sure, Value};
use crate::ir::{Const, Inst, Name, Reg, Span};

impl Machine<'_> {
    pub(super) fn has_container(&self, state: &State, value: &Value) -> bool {
        value.refs.iter().any(|id| state.object(*id).is_some_and(Object::is_container))
    }

    /// Anything that a value holds.
    pub(super) fn any_inside(&mut self, state: &mut State, value: &Value) -> Value {
        let mut all = Value::nothing();
        for &id in &value.refs {
            match state.object(id) {
                Some(object) if object.is_container() => {
                    all.join(&super::access::read_from(id, object.any()));
                }
                _ => {
                    all.join(&self.element(state, &Value::object(id)));
                }
            }
        }
        if value.is_unknown || value.tensor.is_some() {
            all.join(&value.without_refs());
        }
        all
    }

    /// `left + right` of lists, and `left += right`.
    pub(super) fn add_lists(
        &mut self,
        state: &mut State,
        left: &Value,
        right: &Value,
        in_place: bool,
        inst: &Inst,
    ) -> Value {
        let added = self.any_inside(state, right);
        if in_place {
            for &id in &left.refs {
                self.put_into(state, id, &added, inst.span);
            }
            return left.clone();
        }
        let own = self.any_inside(state, left);
        let is_old = left.refs.iter().chain(&right.refs).copied().collect::<Vec<_>>();
        let id = self.id(Maker::Inst(self.func(), inst.dst, 0));
        let birth = is_old
            .iter()
            .filter_map(|id| state.object(*id))
            .map(|object| object.birth.clone())
            .min_by_key(|birth| birth.len());
        let mut object = Object::new(Kind::List { is_bounded: false }, birth.unwrap_or_else(|| self.birth()));
        object.elem = own.joined(&added);
        state.put(id, object);
        // `kept = kept + [new]`: the new list is the old one, grown.
        if is_old.contains(&id) {
            self.note_keep(state, id, &added, inst.span);
        }
        Value::object(id)
    }

    /// Adds an element to what a comprehension builds.
    pub(super) fn collect(
        &mut self,
        state: &mut State,
        target: &Value,
        key: Option<&Value>,
        value: &Value,
        span: Span,
    ) {
        for &id in &target.refs {
            match key {
                Some(key) => self.set_index(state, &Value::object(id), key, value, span),
                None => self.put_into(state, id, value, span),
            }
        }
    }

    /// Puts something into a container for as long as that lives.
    pub(super) fn put_into(&mut self, state: &mut State, id: ObjId, value: &Value, span: Span) {
        self.note_keep(state, id, value, span);
        if let Some(object) = state.object_mut(id) {
            if let Some(items) = object.items.take() {
                items.iter().for_each(|item| {
                    object.elem.join(item);
                });
            }
            object.elem.join(value);
        }
    }

    /// `object[index] = value`.
    pub(super) fn set_index(&mut self, state: &mut State, object: &Value, index: &Value, value: &Value, span: Span) {
        let is_single = object.refs.len() == 1;
        for &id in &object.refs {
            let Some(kind) = state.object(id).map(|object| object.kind.clone()) else { continue };
            match (kind, &index.constant) {
                (Kind::Dict, Some(Const::Str(key))) => {
                    let old = state.object(id).and_then(|object| object.attrs.get(key)).cloned().unwrap_or_default();
                    self.note_replaced(state, &old, value);
                    self.note_slot(state, id, key, value, span);
                    if let Some(object) = state.object_mut(id) {
                        let new = if is_single { value.clone() } else { old.joined(value) };
                        object.attrs.insert(key.clone(), new);
                    }
                }
                (Kind::List { .. } | Kind::Dict, constant) => {
                    // Replacing all by a slice empties first.
                    let is_slice = matches!(constant, Some(Const::Other));
                    if is_slice {
                        self.note_clear(&Value::object(id));
                    }
                    let inside = if is_slice { self.any_inside(state, value) } else { value.clone() };
                    let is_fixed = matches!(constant, Some(Const::Int(_)));
                    if is_fixed || is_slice {
                        if let Some(object) = state.object_mut(id) {
                            object.elem.join(&inside);
                        }
                    } else {
                        self.put_into(state, id, &inside, span);
                    }
                }
                (Kind::Instance(_) | Kind::Made(_), _) => {
                    if let Some(object) = state.object_mut(id) {
                        object.elem.join(value);
                    }
                }
                _ => {}
            }
        }
    }

    /// `object.name = value`.
    pub(super) fn set_attr(&mut self, state: &mut State, object: &Value, name: &Name, value: &Value, span: Span) {
        if let Some(owner) = object.tensor.as_ref().and_then(|tensor| tensor.parameter_of)
            && &**name == "requires_grad"
        {
            self.set_frozen(state, owner, value.is_const(&Const::Bool(false)));
        }
        let is_single = object.refs.len() == 1;
        for &id in &object.refs {
            let old = state.object(id).and_then(|object| object.attrs.get(name)).cloned().unwrap_or_default();
            self.note_replaced(state, &old, value);
            self.note_attr(state, id, name, value, span);
            self.note_load_kept(value);
            if let Some(module) = value.single().filter(|module| self.is_recording && self.is_module(state, *module)) {
                self.note_module_name(module, name.clone());
            }
            let is_class = matches!(state.object(id).map(|object| &object.kind), Some(Kind::Class { .. }));
            if is_class && self.is_recording {
                for &kept in &value.refs {
                    self.log.objects[kept as usize].is_shared = true;
                }
            }
            if let Some(object) = state.object_mut(id)
                && object.kind != Kind::Dict
            {
                let new = if is_single { value.clone() } else { old.joined(value) };
                object.attrs.insert(name.clone(), new);
            }
        }
    }

    pub(super) fn del_attr(&mut self, state: &mut State, object: &Value, name: &Name) {
        for &id in &object.refs {
            let old = state.object(id).and_then(|object| object.attrs.get(name)).cloned().unwrap_or_default();
            self.note_replaced(state, &old, &Value::nothing());
            if let Some(object) = state.object_mut(id) {
                object.attrs.remove(name);
            }
        }
    }

    /// A method of a list, dictionary, queue or stream; `None` if it has no such.
    pub(super) fn container_method(
        &mut self,
        state: &mut State,
        id: ObjId,
        name: &str,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Option<Value> {
        let this = Value::object(id);
        Some(match name {
            "append" | "add" | "appendleft" | "put" | "put_nowait" => {
                self.put_into(state, id, &args.first(), span);
                Value::constant(Const::None)
            }
            "insert" => {
                self.put_into(state, id, &args.plain.get(1).cloned().unwrap_or_default(), span);
                Value::constant(Const::None)
            }
            "extend" | "extendleft" => {
                let inside = self.any_inside(state, &args.first());
                self.put_into(state, id, &inside, span);
                Value::constant(Const::None)
            }
            "update" => {
                let given = args.first();
                let pairs: Vec<(Name, Value)> = given
                    .refs
                    .iter()
                    .filter_map(|other| state.object(*other))
                    .filter(|other| other.kind == Kind::Dict)
                    .flat_map(|other| other.attrs.iter().map(|(name, value)| (name.clone(), value.clone())))
                    .chain(args.named.iter().cloned())
                    .collect();
                let rest = given
                    .refs
                    .iter()
                    .filter_map(|other| state.object(*other))
                    .fold(Value::nothing(), |all, other| all.joined(&other.elem));
                if let Some(object) = state.object_mut(id) {
                    object.attrs.extend(pairs);
                }
                if !rest.is_nothing() {
                    self.put_into(state, id, &rest, span);
                }
                Value::constant(Const::None)
            }
            "setdefault" => {
                let default = args.plain.get(1).cloned().unwrap_or_default();
                let key = args.first();
                let known = self.index(state, &this, &key, dst);
                self.set_index(state, &this, &key, &default, span);
                if known.is_unknown && known.refs.is_empty() { default } else { known.joined(&default) }
            }
            "get" => {
                let found = self.index(state, &this, &args.first(), dst);
                args.plain.get(1).map_or_else(|| found.clone(), |default| found.clone().joined(default))
            }
            "clear" => {
                self.note_clear(&this);
                if let Some(object) = state.object_mut(id) {
                    object.attrs.clear();
                    object.elem = Value::nothing();
                    object.items = Some(Vec::new());
                }
                Value::constant(Const::None)
            }
            "pop" | "popleft" | "popitem" | "remove" | "get_nowait" => {
                self.note_clear(&this);
                self.any_inside(state, &this)
            }
            "values" => {
                let inside = self.any_inside(state, &this);
                self.stream(state, inside, &this, dst)
            }
            "items" => {
                let inside = self.any_inside(state, &this);
                let pair = self.tuple(state, vec![Value::plain(), inside], dst, 4);
                self.stream(state, pair, &this, dst)
            }
            "keys" => {
                let plain = Value::plain();
                self.stream(state, plain, &this, dst)
            }
            "copy" => this,
            "sort" | "reverse" => Value::constant(Const::None),
            "index" | "count" | "qsize" => Value::plain(),
            _ => return None,
        })
    }

    /// A tuple of known parts.
    pub(super) fn tuple(&mut self, state: &mut State, items: Vec<Value>, dst: Reg, which: u8) -> Value {
        let id = self.make(state, Maker::Inst(self.func(), dst, which), Kind::Tuple);
        if let Some(object) = state.object_mut(id) {
            object.items = Some(items);
        }
        Value::object(id)
    }

    /// An iterator that gives such elements, as often as `over` has them.
    pub(super) fn stream(&mut self, state: &mut State, elem: Value, over: &Value, dst: Reg) -> Value {
        let id = self.make(state, Maker::Inst(self.func(), dst, 5), Kind::Stream);
        if let Some(object) = state.object_mut(id) {
            object.elem = elem;
            object.attrs.insert("<over>".into(), over.clone());
        }
        Value::object(id)
    }

    /// Freezes a module and all its parts, or the other way.
    pub(super) fn set_frozen(&mut self, state: &mut State, id: ObjId, is_frozen: bool) {
        self.change_module(state, id, &|facts| facts.is_frozen = if is_frozen { Sure::Yes } else { Sure::No });
    }
}
