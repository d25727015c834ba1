//! Calls of torch, of its friends and of Python's builtins, by the tables in `torch`.

use super::calls::Args;
use super::events::ChainOp;
use super::machine::{Machine, Maker};
use super::tensors::Making;
use crate::domain::{FuncRef, Grad, Kind, ModuleFacts, ObjId, Size, State, Sure, Tensor, Value};
use crate::hints::Duck;
use crate::ir::{Const, Inst, Name, Reg, Span};
use crate::torch::{Effect, effect_of_call, is_module_method};

impl Machine<'_> {
    /// A call of something imported.
    pub(super) fn call_external(&mut self, state: &mut State, path: &Name, args: &Args, span: Span, dst: Reg) -> Value {
        let Some(effect) = effect_of_call(path) else {
            if path.starts_with("torch.distributed") || path.ends_with("Accelerator") {
                self.log.is_distributed |= self.is_recording;
            }
            return self.call_not_known(state, path, args, span, dst);
        };
        let given = args.all();
        match effect {
            Effect::Creates | Effect::Copies => {
                let card = args.named("device").map_or(Sure::No, |device| self.is_card(device));
                let is_leaf = args.named("requires_grad").is_some_and(|flag| flag.is_const(&Const::Bool(true)));
                Value::tensor(Tensor { card, is_leaf, size: Size::Unknown, ..Tensor::default() })
            }
            Effect::Plain => Value::plain(),
            Effect::Nothing => Value::constant(Const::None),
            Effect::Computes => {
                let op = if path.ends_with(".add") { ChainOp::Sum } else { ChainOp::Other };
                self.compute(state, &given, Making::of(op), span)
            }
            Effect::Reduces => {
                let keeps = args.named("reduction").is_some_and(|kind| kind.as_str() == Some("none"));
                let size = if keeps { None } else { Some(Size::Small) };
                self.compute(state, &given, Making { size, ..Making::of(ChainOp::Other) }, span)
            }
            Effect::Gathers => self.compute(state, &given, Making::of(ChainOp::Gather), span),
            Effect::CutsGraph => self.cut(state, &given),
            Effect::Passes => args.first(),
            Effect::PassesAll => given.iter().fold(Value::nothing(), Value::joined),
            Effect::Sum => self.sum(state, args, span),
            Effect::Load => self.load_file(state, args, span, dst),
            Effect::Backward => {
                self.backward(state, &args.first(), span, args);
                Value::constant(Const::None)
            }
            Effect::Gradients => self.gradients(state, args, span),
            Effect::NoGrad | Effect::EnableGrad | Effect::SetGrad => self.grad_context(state, effect, path, args, dst),
            Effect::Checkpoint => {
                let inner = Args { plain: args.plain.get(1..).unwrap_or_default().to_vec(), ..args.clone() };
                self.call_value(state, &args.first(), None, &inner, span, dst).unwrap_or_default()
            }
            Effect::Field => {
                let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made(path.clone()));
                if let (Some(object), Some(factory)) = (state.object_mut(id), args.named("default_factory")) {
                    object.attrs.insert("<factory>".into(), factory.clone());
                }
                args.named("default").cloned().unwrap_or(Value::object(id))
            }
            Effect::Partial => self.partial(state, args, dst),
            Effect::Super => self.super_object(state, dst),
            Effect::Spawns => {
                self.log.is_distributed |= self.is_recording;
                Value::unknown()
            }
            Effect::DeepCopy => self.deep_copy(state, &args.first(), dst),
            Effect::Parameter => Value::tensor(Tensor { is_leaf: true, size: Size::Unknown, ..Tensor::default() }),
            Effect::List
            | Effect::Tuple
            | Effect::Dict
            | Effect::DefaultDict
            | Effect::Deque
            | Effect::Range
            | Effect::Enumerate
            | Effect::Zip
            | Effect::Elements
            | Effect::Map
            | Effect::Next => self.call_python(state, effect, args, span, dst),
            Effect::Module
            | Effect::PlainModule
            | Effect::LossModule
            | Effect::WrapsModule
            | Effect::ModuleContainer
            | Effect::Optimizer
            | Effect::Loader => self.make_known(state, effect, path, args, dst),
        }
    }

    fn call_not_known(&mut self, state: &mut State, path: &Name, args: &Args, span: Span, dst: Reg) -> Value {
        let last = path.rsplit('.').next().unwrap_or(path);
        if last.starts_with(char::is_uppercase) {
            let value = self.not_followed(state, None, &args.all(), span);
            if value.tensor.is_none() {
                let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made(path.clone()));
                return Value::object(id);
            }
            return value;
        }
        self.call_unknown(state, &Value::nothing(), Some(last), args, span)
    }

    fn call_python(&mut self, state: &mut State, effect: Effect, args: &Args, span: Span, dst: Reg) -> Value {
        let first = args.first();
        match effect {
            Effect::List | Effect::Tuple => {
                let inside = if first.is_nothing() { Value::nothing() } else { self.any_inside(state, &first) };
                let kind = if effect == Effect::Tuple { Kind::Tuple } else { Kind::List { is_bounded: false } };
                let items = first.single().and_then(|id| state.object(id)?.items.clone());
                let id = self.make(state, Maker::Inst(self.func(), dst, 0), kind);
                if let Some(object) = state.object_mut(id) {
                    object.elem = if items.is_some() { Value::nothing() } else { inside };
                    object.items = items;
                }
                Value::object(id)
            }
            Effect::Dict | Effect::DefaultDict => {
                let id = self.make(state, Maker::Inst(self.func(), dst, 0), Kind::Dict);
                let default = if effect == Effect::DefaultDict && !first.is_nothing() {
                    self.call_value(state, &first, None, &Args::default(), span, dst + 1_000_000).unwrap_or_default()
                } else {
                    self.any_inside(state, &first)
                };
                if let Some(object) = state.object_mut(id) {
                    object.elem = default;
                    object.attrs = args.named.iter().cloned().collect();
                }
                Value::object(id)
            }
            Effect::Deque => {
                let limit = args.named("maxlen").or_else(|| args.plain.get(1));
                let is_bounded = limit.is_some_and(|limit| !limit.is_const(&Const::None));
                let inside = if args.plain.is_empty() { Value::nothing() } else { self.any_inside(state, &first) };
                let id = self.make(state, Maker::Inst(self.func(), dst, 0), Kind::List { is_bounded });
                if let Some(object) = state.object_mut(id) {
                    object.elem = inside;
                }
                Value::object(id)
            }
            Effect::Range => {
                let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made("builtins.range".into()));
                let count = if args.plain.len() > 1 { args.plain[1].clone() } else { first };
                if let Some(object) = state.object_mut(id) {
                    object.attrs.insert("<count>".into(), count);
                    object.elem = Value::plain();
                }
                Value::object(id)
            }
            Effect::Enumerate => {
                let inside = self.element(state, &first);
                let pair = self.tuple(state, vec![Value::plain(), inside], dst, 4);
                self.stream(state, pair, &first, dst)
            }
            Effect::Zip => {
                let items = args.plain.iter().map(|arg| self.element(state, arg)).collect();
                let items = self.tuple(state, items, dst, 4);
                self.stream(state, items, &first, dst)
            }
            Effect::Map => {
                let inside = args.plain.get(1).map(|values| self.element(state, values)).unwrap_or_default();
                let value =
                    self.call_value(state, &first, None, &Args::of(vec![inside]), span, dst).unwrap_or_default();
                self.stream(state, value, args.plain.get(1).unwrap_or(&first), dst)
            }
            Effect::Next => self.element(state, &first),
            _ => {
                let inside = self.element(state, args.plain.last().unwrap_or(&first));
                self.stream(state, inside, &first, dst)
            }
        }
    }

    /// `sum(values)`: one graph over all of them.
    fn sum(&mut self, state: &mut State, args: &Args, span: Span) -> Value {
        match self.deep(state, &args.first()) {
            Some(_) => self.compute(state, &args.all(), Making::of(ChainOp::Other), span),
            None => Value::plain(),
        }
    }

    fn gradients(&mut self, state: &mut State, args: &Args, span: Span) -> Value {
        self.backward(state, &args.first(), span, args);
        if let Some(backward) = self
            .log
            .backwards
            .get_mut(&crate::interp::At { file: self.frames.last().map_or(0, |frame| frame.func.file), span })
        {
            backward.is_grad = true;
        }
        let has_graph = args.named("create_graph").is_some_and(|flag| !flag.is_const(&Const::Bool(false)));
        let root = self.deep(state, &args.first()).unwrap_or_default();
        Value::tensor(if has_graph { root } else { root.detached() })
    }

    fn load_file(&mut self, state: &mut State, args: &Args, span: Span, dst: Reg) -> Value {
        let target = args.named("map_location").or_else(|| args.plain.get(1));
        let card = target.map_or(Sure::Maybe, |target| self.is_card(target));
        let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made("torch.load".into()));
        self.note_loading(id, target.is_some(), card, span);
        Value::object(id)
    }

    fn grad_context(&mut self, state: &mut State, effect: Effect, path: &Name, args: &Args, dst: Reg) -> Value {
        let mode = match effect {
            Effect::EnableGrad => Value::constant(Const::Bool(true)),
            // `@torch.no_grad` without a call is given the function itself; `inference_mode(False)` records.
            Effect::NoGrad => {
                let off = args.plain.first().is_some_and(|flag| flag.is_const(&Const::Bool(false)));
                Value::constant(Const::Bool(off && path.ends_with("inference_mode")))
            }
            _ => args.first(),
        };
        if effect != Effect::SetGrad && args.plain.first().is_some_and(|arg| !arg.refs.is_empty()) {
            return self.with_grad(state, &args.first(), mode.is_const(&Const::Bool(true)));
        }
        let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made(path.clone()));
        let before = state.grad_now();
        if let Some(object) = state.object_mut(id) {
            object.attrs.insert("<grad>".into(), mode.clone());
            if effect == Effect::SetGrad {
                object.attrs.insert("<before>".into(), Value::constant(Const::Bool(before != Grad::Off)));
            }
        }
        if let (Effect::SetGrad, Some(last)) = (effect, state.grad.last_mut()) {
            *last = match mode.constant {
                Some(Const::Bool(true)) => Grad::On,
                Some(Const::Bool(false)) => Grad::Off,
                _ => Grad::Unknown,
            };
        }
        Value::object(id)
    }

    /// Functions that record graphs, or not, whatever their caller does.
    fn with_grad(&mut self, state: &mut State, functions: &Value, records: bool) -> Value {
        for &id in &functions.refs {
            if let Some(object) = state.object_mut(id)
                && let Kind::Function { grad, .. } = &mut object.kind
            {
                *grad = Some(records);
            }
        }
        functions.clone()
    }

    /// Calls what a call of something imported gave: a context used as a decorator, a transform, a partial function.
    pub(super) fn call_made(
        &mut self,
        state: &mut State,
        id: ObjId,
        path: &Name,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Value {
        let attrs = state.object(id).map(|object| object.attrs.clone()).unwrap_or_default();
        if let Some(mode) = attrs.get("<grad>") {
            return self.with_grad(state, &args.first(), mode.is_const(&Const::Bool(true)));
        }
        if let Some(inner) = attrs.get("<function>") {
            let items = state.object(id).and_then(|object| object.items.clone()).unwrap_or_default();
            let mut all = args.clone();
            all.plain.splice(0..0, items);
            all.named.extend(
                attrs
                    .iter()
                    .filter(|(name, _)| !name.starts_with('<'))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            return self.call_value(state, inner, None, &all, span, dst).unwrap_or_default();
        }
        let is_decorated = args.plain.len() == 1
            && args
                .first()
                .single()
                .is_some_and(|id| matches!(state.object(id).map(|object| &object.kind), Some(Kind::Function { .. })));
        if is_decorated {
            return args.first();
        }
        self.call_unknown(state, &Value::nothing(), path.rsplit('.').next(), args, span)
    }

    /// A method of what a call of something imported gave.
    pub(super) fn made_method(
        &mut self,
        state: &mut State,
        id: ObjId,
        path: &Name,
        name: &Name,
        args: &Args,
        inst: &Inst,
    ) -> Value {
        let this = Value::object(id);
        if self.is_of_unknown_class(state, &this) {
            if is_module_method(name) || (args.plain.is_empty() && matches!(&**name, "eval" | "train")) {
                self.refine_object(state, id, Duck { is_module: true, ..Duck::default() }, name);
                return self.module_method(state, id, name, args, inst.span, inst.dst).unwrap_or_else(Value::unknown);
            }
            if matches!(&**name, "to" | "cuda" | "cpu" | "half" | "float" | "bfloat16") {
                if let (true, Some(object)) = (matches!(&**name, "to" | "cuda"), state.object_mut(id)) {
                    object.attrs.insert("<card>".into(), Value::plain());
                }
                return this;
            }
        }
        match (&**path, &**name) {
            ("torch.load" | "state_dict", _) => match &**name {
                "items" | "values" | "keys" | "get" | "pop" | "state_dict" => this,
                _ => Value::unknown(),
            },
            (path, "sample" | "rsample" | "log_prob" | "entropy") if path.starts_with("torch.distributions") => {
                self.compute(state, &args.all(), Making::of(ChainOp::Other), inst.span)
            }
            (path, "prepare") if path.ends_with("Accelerator") => {
                if args.plain.len() == 1 {
                    args.first()
                } else {
                    self.tuple(state, args.plain.clone(), inst.dst, 4)
                }
            }
            (_, "scale" | "gather" | "gather_for_metrics" | "unwrap_model" | "prepare_model" | "reduce") => {
                args.first()
            }
            (_, "backward") => {
                self.backward(state, &args.first(), inst.span, args);
                Value::constant(Const::None)
            }
            (path, "step" | "zero_grad") if path.starts_with("torch.optim") => match args.plain.first() {
                Some(closure) => {
                    self.call_value(state, closure, None, &Args::default(), inst.span, inst.dst).unwrap_or_default()
                }
                None => Value::constant(Const::None),
            },
            _ => self.call_unknown(state, &Value::nothing(), Some(name), args, inst.span),
        }
    }

    fn make_known(&mut self, state: &mut State, effect: Effect, path: &Name, args: &Args, dst: Reg) -> Value {
        let maker = Maker::Inst(self.func(), dst, 3);
        match effect {
            Effect::WrapsModule => args.first(),
            Effect::Optimizer => {
                let owners: Vec<ObjId> = self.parameter_owners(state, &args.first());
                for owner in owners {
                    if self.is_recording {
                        self.log.objects[owner as usize].is_optimized = true;
                    }
                    self.change_module(state, owner, &|facts| facts.is_optimized = true);
                }
                Value::object(self.make(state, maker, Kind::Made(path.clone())))
            }
            Effect::Loader => Value::object(self.make(state, maker, Kind::Made("torch.utils.data.DataLoader".into()))),
            Effect::ModuleContainer => {
                let inside = args.plain.iter().chain(&args.rest).cloned().collect::<Vec<_>>();
                let given = match &*inside {
                    [one] if self.has_container(state, one) => {
                        one.single().and_then(|id| state.object(id)?.items.clone())
                    }
                    _ => Some(inside.clone()),
                };
                let elem =
                    inside.iter().fold(Value::nothing(), |all, value| all.joined(&self.any_inside(state, value)));
                let id = self.make(state, maker, Kind::Module);
                if let Some(object) = state.object_mut(id) {
                    object.module = Some(ModuleFacts::new(Sure::Yes));
                    object.items = given.filter(|items| path.ends_with("Sequential") && !items.is_empty());
                    object.elem = elem;
                }
                Value::object(id)
            }
            _ => {
                let id = self.make(state, maker, Kind::Module);
                if let Some(object) = state.object_mut(id) {
                    let mut facts = ModuleFacts::new(Sure::Yes);
                    facts.has_parameters = effect == Effect::Module;
                    facts.is_loss = effect == Effect::LossModule;
                    object.module = Some(facts);
                }
                Value::object(id)
            }
        }
    }

    /// The modules whose parameters a value holds.
    fn parameter_owners(&mut self, state: &mut State, value: &Value) -> Vec<ObjId> {
        let mut owners = Vec::new();
        let mut waiting = vec![(value.clone(), 0)];
        while let Some((value, deep)) = waiting.pop() {
            owners.extend(value.tensor.as_ref().and_then(|tensor| tensor.parameter_of));
            if deep < 5 && !value.refs.is_empty() {
                let inside = self.any_inside(state, &value);
                waiting.push((inside, deep + 1));
            }
        }
        owners.dedup();
        owners
    }

    fn partial(&mut self, state: &mut State, args: &Args, dst: Reg) -> Value {
        let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made("functools.partial".into()));
        if let Some(object) = state.object_mut(id) {
            object.attrs = args.named.iter().cloned().collect();
            object.attrs.insert("<function>".into(), args.first());
            object.items = Some(args.plain.get(1..).unwrap_or_default().to_vec());
        }
        Value::object(id)
    }

    /// `super()`: the object, read through the bases of the class whose method runs.
    fn super_object(&mut self, state: &mut State, dst: Reg) -> Value {
        let Some(frame) = self.frames.last() else { return Value::unknown() };
        let (Some(this), Some(class)) = (frame.this.clone(), self.program.function(frame.func).parent) else {
            return Value::unknown();
        };
        let body = FuncRef { file: frame.func.file, function: class as u32 };
        let bases = state.heap.iter().find_map(|(_, object)| match &object.kind {
            Kind::Class { body: known, bases } if *known == body => Some(bases.clone()),
            _ => None,
        });
        let base = bases
            .iter()
            .flatten()
            .flat_map(|base| &base.refs)
            .copied()
            .find(|id| matches!(state.object(*id).map(|object| &object.kind), Some(Kind::Class { .. })));
        let Some(base) = base else { return Value::unknown() };
        let id = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made("builtins.super".into()));
        if let Some(object) = state.object_mut(id) {
            object.attrs.insert("<this>".into(), this);
            object.attrs.insert("<class>".into(), Value::object(base));
        }
        Value::object(id)
    }

    fn deep_copy(&mut self, state: &mut State, value: &Value, dst: Reg) -> Value {
        let mut copy = value.without_refs();
        for (at, &id) in value.refs.iter().enumerate() {
            let Some(object) = state.object(id).cloned() else { continue };
            let new = self.id(Maker::Inst(self.func(), dst, 10 + at as u8));
            state.put(new, object);
            copy.join(&Value::object(new));
        }
        copy
    }
}
