//! One transfer function an instruction.

use super::machine::{Machine, Maker, Running};
use crate::domain::{Grad, Kind, State, Sure, Value};
use crate::ir::{Brackets, Const, Inst, Op, Operator, Reg, Test};

impl Machine<'_> {
    /// Runs one instruction; gives whether the program goes on after it.
    pub(super) fn inst(&mut self, running: &mut Running, state: &mut State, inst: &Inst) -> bool {
        let span = inst.span;
        let value = match &inst.op {
            Op::Const(constant) => Value::constant(constant.clone()),
            Op::Load(var) => {
                running.reg_mut(inst.dst).name = self.var_name(var);
                running.reg_mut(inst.dst).var = Some(var.clone());
                self.load(state, var)
            }
            Op::Store(var, value) => {
                let value = self.read(running, state, *value);
                self.store(state, var, value, span);
                return true;
            }
            Op::Forget(var) => {
                self.store(state, var, Value::nothing(), span);
                return true;
            }
            Op::Attr(object, name) => {
                running.reg_mut(inst.dst).name = Some(name.clone());
                running.reg_mut(inst.dst).attr = Some((*object, name.clone()));
                let object = self.read(running, state, *object);
                self.attr(state, &object, name, inst.dst)
            }
            Op::SetAttr(object, name, value) => {
                let var = running.reg(*object).var.clone();
                let (object, value) = (self.read(running, state, *object), self.read(running, state, *value));
                if let (Some(var), "requires_grad") = (var, &**name) {
                    self.require_grad(state, &var, &object, &value);
                }
                self.set_attr(state, &object, name, &value, span);
                return true;
            }
            Op::DelAttr(object, name) => {
                let object = self.read(running, state, *object);
                self.del_attr(state, &object, name);
                return true;
            }
            Op::Index(object, index) => {
                let (object, index) = (self.read(running, state, *object), self.read(running, state, *index));
                running.reg_mut(inst.dst).name = index.as_str().map(Into::into);
                self.index(state, &object, &index, inst.dst)
            }
            Op::SetIndex(object, index, value) => {
                let (object, index) = (self.read(running, state, *object), self.read(running, state, *index));
                let value = self.read(running, state, *value);
                self.set_index(state, &object, &index, &value, span);
                return true;
            }
            Op::DelIndex(object, _) => {
                let object = self.read(running, state, *object);
                self.note_clear(&object);
                return true;
            }
            Op::Part { value, at, of } => {
                let value = self.read(running, state, *value);
                self.part(state, &value, *at, *of, inst.dst)
            }
            Op::Call { func, args } => {
                let args = self.arguments(running, state, args);
                match self.call_inst(running, state, *func, &args, inst) {
                    Some(value) => value,
                    None => return false,
                }
            }
            Op::Build(brackets, parts) => {
                let parts: Vec<(Value, bool)> =
                    parts.iter().map(|(reg, is_spread)| (self.read(running, state, *reg), *is_spread)).collect();
                self.build(state, *brackets, &parts, inst.dst)
            }
            Op::BuildDict(items) => {
                let items: Vec<(Option<Value>, Value)> = items
                    .iter()
                    .map(|(key, value)| {
                        (key.map(|key| self.read(running, state, key)), self.read(running, state, *value))
                    })
                    .collect();
                self.build_dict(state, &items, inst.dst)
            }
            Op::Collect { target, key, value } => {
                let (target, value) = (self.read(running, state, *target), self.read(running, state, *value));
                let key = key.map(|key| self.read(running, state, key));
                self.collect(state, &target, key.as_ref(), &value, span);
                return true;
            }
            Op::Binary { op, left, right, in_place } => {
                let (left, right) = (self.read(running, state, *left), self.read(running, state, *right));
                self.binary(state, (*op, *in_place), &left, &right, inst)
            }
            Op::Iter(value) => {
                if let Some(name) = running.reg(*value).name.clone() {
                    self.iterated.insert((running.func, inst.dst), name);
                }
                self.read(running, state, *value)
            }
            Op::Closure { function, defaults } => {
                let defaults = defaults.iter().map(|reg| self.read(running, state, *reg)).collect();
                self.closure(state, *function, defaults, inst.dst)
            }
            Op::Class { body, bases } => {
                let bases = bases.iter().map(|reg| self.read(running, state, *reg)).collect();
                self.class(state, *body, bases, inst.dst)
            }
            Op::Import(path) => self.import(state, path),
            Op::ImportFrom { module, name, level } => self.import_from(state, module, name, *level),
            Op::Enter(context) => {
                let context = self.read(running, state, *context);
                self.enter(state, &context)
            }
            Op::Exit => {
                if state.grad.len() > 1 {
                    state.grad.pop();
                }
                return true;
            }
            Op::Yield(value) => {
                let value = self.read(running, state, *value);
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields.join(&value);
                }
                Value::unknown()
            }
            Op::Join(regs) => {
                regs.iter().fold(Value::nothing(), |all, reg| all.joined(&self.read(running, state, *reg)))
            }
            Op::Assume { var, test, holds } => {
                let mut value = self.load(state, var);
                let was_nothing = value.is_nothing();
                let is_container = |id: &u32| state.object(*id).is_some_and(crate::domain::Object::is_container);
                if *test == Test::IsContainer {
                    value.refs.retain(|id| is_container(id) == *holds);
                }
                assume(&mut value, *test, *holds);
                if value.is_nothing() && !was_nothing {
                    return false;
                }
                self.store_quietly(state, var, value);
                return true;
            }
            Op::Caught | Op::Unknown => Value::unknown(),
        };
        self.write(running, state, inst.dst, value);
        true
    }

    pub(super) fn write(&self, running: &mut Running, state: &mut State, reg: Reg, value: Value) {
        let plan = self.program.files[running.func.file as usize].plan(running.func.function as usize);
        match plan.shared[reg as usize] {
            Some(slot) => state.regs[slot as usize] = value,
            None => running.reg_mut(reg).value = value,
        }
    }

    fn build(&mut self, state: &mut State, brackets: Brackets, parts: &[(Value, bool)], dst: Reg) -> Value {
        let kind = if brackets == Brackets::Tuple { Kind::Tuple } else { Kind::List { is_bounded: false } };
        let id = self.make(state, Maker::Inst(self.func(), dst, 0), kind);
        let has_spread = parts.iter().any(|(_, is_spread)| *is_spread);
        let elements: Vec<Value> = parts
            .iter()
            .map(|(value, is_spread)| if *is_spread { self.element(state, value) } else { value.clone() })
            .collect();
        if let Some(object) = state.object_mut(id) {
            if has_spread {
                elements.iter().for_each(|element| {
                    object.elem.join(element);
                });
            } else {
                object.items = Some(elements);
            }
        }
        Value::object(id)
    }

    fn build_dict(&mut self, state: &mut State, items: &[(Option<Value>, Value)], dst: Reg) -> Value {
        let id = self.make(state, Maker::Inst(self.func(), dst, 0), Kind::Dict);
        for (key, value) in items {
            let spread = key.is_none().then(|| self.any_inside(state, value));
            let Some(object) = state.object_mut(id) else { continue };
            match (key.as_ref().and_then(Value::as_str), spread) {
                (Some(key), _) => {
                    object.attrs.insert(key.into(), value.clone());
                }
                (None, Some(spread)) => {
                    object.elem.join(&spread);
                }
                (None, None) => {
                    object.elem.join(value);
                }
            }
        }
        Value::object(id)
    }

    fn binary(&mut self, state: &mut State, how: (Operator, bool), left: &Value, right: &Value, inst: &Inst) -> Value {
        let (op, in_place) = how;
        if op == Operator::Compare {
            let is_tensor = left.tensor.is_some() || right.tensor.is_some();
            return if is_tensor { self.cut(state, &[left.clone(), right.clone()]) } else { Value::plain() };
        }
        if op == Operator::Add && self.has_container(state, left) {
            return self.add_lists(state, left, right, in_place, inst);
        }
        if op == Operator::Arithmetic && self.has_container(state, left) {
            return left.clone();
        }
        self.arithmetic(state, op, left, right, inst.span)
    }

    /// `with value`: opens a level of recording.
    fn enter(&mut self, state: &mut State, context: &Value) -> Value {
        let mut now = state.grad_now();
        for &id in &context.refs {
            let Some(object) = state.object(id) else { continue };
            if let Some(mode) = object.attrs.get("<grad>") {
                now = match mode.constant {
                    Some(Const::Bool(false)) => Grad::Off,
                    Some(Const::Bool(true)) => Grad::On,
                    _ => Grad::Unknown,
                };
                // A call of `set_grad_enabled` took effect when it was made; as a context it ends with the block.
                let before = object.attrs.get("<before>").map(|before| before.is_const(&Const::Bool(false)));
                if let (Some(was_off), Some(last)) = (before, state.grad.last_mut()) {
                    *last = if was_off { Grad::Off } else { Grad::On };
                }
            }
        }
        state.grad.push(now);
        let streams: Vec<Value> = context
            .refs
            .iter()
            .filter_map(|id| {
                state.object(*id).filter(|object| object.kind == Kind::Stream).map(|object| object.elem.clone())
            })
            .collect();
        streams.iter().fold(context.clone(), Value::joined)
    }
}

/// Narrows a value to what a test leaves of it.
fn assume(value: &mut Value, test: Test, holds: bool) {
    match (test, holds) {
        (Test::IsTensor, true) => {
            value.is_plain = false;
            value.constant = None;
            value.refs.clear();
        }
        (Test::IsTensor, false) => value.tensor = None,
        // A structure of tensors that is not followed may be a container; a plain value is none.
        (Test::IsContainer, true) => {
            value.is_plain = false;
            value.constant = None;
        }
        (Test::IsContainer, false) => {}
        (Test::IsNone, true) => {
            if value.is_plain || value.is_unknown {
                *value = Value::constant(Const::None);
            } else {
                *value = Value::nothing();
            }
        }
        (Test::IsNone, false) => {
            if value.is_const(&Const::None) {
                *value = Value::nothing();
            }
        }
        (Test::IsTrue, holds) => {
            if let Some(Const::Bool(known)) = value.constant
                && known != holds
            {
                *value = Value::nothing();
            }
            if holds && value.is_const(&Const::None) {
                *value = Value::nothing();
            }
        }
    }
    if value.tensor.as_ref().is_some_and(|tensor| tensor.graph == Sure::No) && value.is_nothing() {
        value.tensor = None;
    }
}
