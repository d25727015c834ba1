//! Calls: what is called, what it is given, and following it.

use super::machine::{CALLS_DEEP_MAX, Frame, Machine, Maker, Running};
use crate::domain::{FuncRef, Kind, ModuleFacts, ObjId, Object, Size, State, Sure, Value};
use crate::hints::{is_loss_function_name, is_module_name};
use crate::ir::{Arg, ArgKind, Const, Inst, Name, ParamKind, Reg, Span};
use crate::torch::{MethodEffect, method_effect};

/// What a call is given.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    pub plain: Vec<Value>,
    pub named: Vec<(Name, Value)>,
    /// What `*args` and `**kwargs` may give.
    pub rest: Option<Value>,
}

impl Args {
    /// Arguments by place.
    pub(super) fn of(plain: Vec<Value>) -> Self {
        Self { plain, ..Self::default() }
    }

    /// One by its name.
    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        self.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Value> {
        self.plain.iter().chain(self.named.iter().map(|(_, value)| value)).chain(&self.rest).cloned().collect()
    }

    pub(super) fn first(&self) -> Value {
        self.plain
            .first()
            .or_else(|| self.named.first().map(|(_, value)| value))
            .or(self.rest.as_ref())
            .cloned()
            .unwrap_or_default()
    }

    fn with_first(&self, first: Value) -> Self {
        let mut with = self.clone();
        with.plain.insert(0, first);
        with
    }
}

impl Machine<'_> {
    /// The arguments of a call.
    pub(super) fn arguments(&mut self, running: &Running, state: &mut State, args: &[Arg]) -> Args {
        let mut given = Args::default();
        for arg in args {
            let value = self.read(running, state, arg.value);
            match &arg.kind {
                ArgKind::Plain if given.rest.is_none() => given.plain.push(value),
                ArgKind::Named(name) => given.named.push((name.clone(), value)),
                ArgKind::Plain | ArgKind::Spread | ArgKind::SpreadNamed => {
                    let items = value.single().and_then(|id| state.object(id)?.items.clone());
                    match items {
                        Some(items) if arg.kind == ArgKind::Spread && given.rest.is_none() => given.plain.extend(items),
                        _ => {
                            let inside =
                                if arg.kind == ArgKind::Plain { value } else { self.any_inside(state, &value) };
                            given.rest.get_or_insert_with(Value::nothing).join(&inside);
                        }
                    }
                }
            }
        }
        given
    }

    /// A call as it is written; `None` if it never returns.
    pub(super) fn call_inst(
        &mut self,
        running: &mut Running,
        state: &mut State,
        func: Reg,
        args: &Args,
        inst: &Inst,
    ) -> Option<Value> {
        let callee = self.read(running, state, func);
        let (span, dst) = (inst.span, inst.dst);
        if let Some((object, name)) = running.reg(func).attr.clone() {
            let this = self.read(running, state, object);
            let var = running.reg(object).var.clone();
            let value = self.call_method(state, &this, &callee, &name, args, inst)?;
            if &*name == "requires_grad_"
                && let Some(var) = var
            {
                let flag = args.plain.first().cloned().unwrap_or(Value::constant(Const::Bool(true)));
                self.require_grad(state, &var, &this, &flag);
            }
            // The name of a call is that of what it is a method of: `loader.batches()` is about the loader.
            running.reg_mut(dst).name = Some(name);
            return Some(value);
        }
        let name = running.reg(func).name.clone();
        let passes = callee
            .single()
            .is_some_and(|id| matches!(&state.object(id).map(|object| &object.kind), Some(Kind::External(_))));
        if let (true, crate::ir::Op::Call { args: given, .. }) = (passes, &inst.op) {
            running.reg_mut(dst).name = given.first().and_then(|arg| running.reg(arg.value).name.clone());
        } else {
            running.reg_mut(dst).name.clone_from(&name);
        }
        self.call_value(state, &callee, name.as_ref(), args, span, dst)
    }

    /// Calls whatever a value may be.
    pub(super) fn call_value(
        &mut self,
        state: &mut State,
        callee: &Value,
        name: Option<&Name>,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Option<Value> {
        let mut result = Value::nothing();
        let mut ends = callee.is_unknown || callee.refs.is_empty();
        for &id in &callee.refs {
            if let Some(value) = self.call_object_named(state, id, name, args, span, dst) {
                result.join(&value);
                ends = true;
            }
        }
        if callee.is_unknown || callee.refs.is_empty() {
            let value = self.call_unknown(state, callee, name.map(|name| &**name), args, span);
            result.join(&value);
        }
        ends.then_some(result)
    }

    /// A call of something not followed: by its name a module or a loss, else it may carry the graph of its arguments.
    pub(super) fn call_unknown(
        &mut self,
        state: &mut State,
        callee: &Value,
        name: Option<&str>,
        args: &Args,
        span: Span,
    ) -> Value {
        if let Some(name) = name {
            if method_effect(name) == MethodEffect::Plain {
                return Value::plain();
            }
            if is_loss_function_name(name) {
                let mut facts = ModuleFacts::new(Sure::Likely);
                (facts.has_parameters, facts.is_loss) = (false, true);
                return self.compute_as(state, facts, &args.all(), span);
            }
            if is_module_name(name) && name.starts_with(char::is_lowercase) {
                return self.compute_as(state, ModuleFacts::new(Sure::Likely), &args.all(), span);
            }
        }
        let mut given = args.all();
        given.push(callee.clone());
        let has_batch =
            args.plain.iter().any(|arg| arg.tensor.as_ref().is_some_and(|tensor| tensor.size == Size::Batch));
        self.not_followed_as(state, name, &given, span, super::binding::is_open(callee) && has_batch)
    }

    pub(super) fn call_object(
        &mut self,
        state: &mut State,
        id: ObjId,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Option<Value> {
        self.call_object_named(state, id, None, args, span, dst)
    }

    fn call_object_named(
        &mut self,
        state: &mut State,
        id: ObjId,
        name: Option<&Name>,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Option<Value> {
        let Some(object) = state.object(id) else { return Some(Value::unknown()) };
        match object.kind.clone() {
            Kind::Function { func, frame, grad, defaults } => {
                self.call_function(state, func, (frame, grad), &defaults, args, span)
            }
            Kind::Bound { func, this } => self.call_object(state, func, &args.with_first(*this), span, dst),
            Kind::Class { body, .. } => Some(self.instantiate(state, id, body, args, span, dst)),
            Kind::External(path) => Some(self.call_external(state, &path, args, span, dst)),
            Kind::Made(path) => Some(self.call_made(state, id, &path, args, span, dst)),
            Kind::Module | Kind::Instance(_) if object.module.is_some() => {
                Some(self.forward(state, id, name, args, span, dst))
            }
            Kind::Instance(_) => match self.attr_of_object(state, id, "__call__").and_then(|method| method.single()) {
                Some(method) => self.call_object(state, method, &args.with_first(Value::object(id)), span, dst),
                None => Some(self.not_followed(state, name.map(|name| &**name), &args.all(), span)),
            },
            _ => Some(self.not_followed(state, name.map(|name| &**name), &args.all(), span)),
        }
    }

    /// Follows a call of a function of the program.
    fn call_function(
        &mut self,
        state: &mut State,
        func: FuncRef,
        (frame, grad): (Option<ObjId>, Option<bool>),
        defaults: &[Value],
        args: &Args,
        span: Span,
    ) -> Option<Value> {
        let recursive = self.frames.iter().filter(|running| running.func == func).count();
        if self.frames.len() >= CALLS_DEEP_MAX || recursive > 1 || self.budget == 0 {
            return Some(self.not_followed(state, None, &args.all(), span));
        }
        let function = self.program.function(func);
        let mut inner = self.suspend(state, func, grad);
        let kept = (inner.heap.clone(), inner.freed.clone());
        let cells = if function.has_cells {
            let id = self.make(&mut inner, Maker::Cells(func), Kind::Frame);
            if let (Some(outer), Some(object)) = (frame, inner.object_mut(id)) {
                object.attrs.insert("^".into(), Value::object(outer));
            }
            Some(id)
        } else {
            frame
        };
        let this = function.is_method.then(|| args.plain.first().cloned()).flatten();
        self.frames.push(Frame { func, cells, class: None, called_at: span, this, yields: Value::nothing() });
        self.bind_parameters(&mut inner, func, defaults, args);
        let (outcome, yields) = self.run_or_redo(func, inner);
        self.frames.pop();
        let Some(after) = outcome.state else {
            // It never returns normally: what it did before it raised is not followed.
            state.heap.take_back(kept.0);
            state.freed = kept.1;
            return if function.is_generator { Some(Value::unknown()) } else { None };
        };
        Self::resume(state, after, grad.is_some());
        if function.is_generator {
            let id = self.make(
                state,
                Maker::Cells(FuncRef { file: func.file, function: u32::MAX - func.function }),
                Kind::Stream,
            );
            if let Some(object) = state.object_mut(id) {
                object.elem = yields;
            }
            return Some(Value::object(id));
        }
        Some(outcome.value)
    }

    fn bind_parameters(&mut self, state: &mut State, func: FuncRef, defaults: &[Value], args: &Args) {
        let function = self.program.function(func);
        let mut plain = args.plain.iter();
        for param in &function.params {
            let value = match param.kind {
                ParamKind::Plain | ParamKind::KeywordOnly => {
                    let by_place = if param.kind == ParamKind::Plain { plain.next() } else { None };
                    let default = param.default.and_then(|at| defaults.get(at));
                    match by_place.or_else(|| args.named(&param.name)) {
                        Some(value) => value.clone(),
                        None => {
                            let rest = args.rest.clone().map(|rest| rest.joined(&Value::unknown()));
                            rest.into_iter()
                                .chain(default.cloned())
                                .fold(Value::nothing(), |all, value| all.joined(&value))
                        }
                    }
                }
                ParamKind::Rest => {
                    let id = self.make(state, Maker::Param(func, 900), Kind::Tuple);
                    let items: Vec<Value> = plain.by_ref().cloned().collect();
                    if let Some(object) = state.object_mut(id) {
                        object.elem = args.rest.clone().unwrap_or_default();
                        object.items = args.rest.is_none().then_some(items);
                    }
                    Value::object(id)
                }
                ParamKind::Keywords => {
                    let id = self.make(state, Maker::Param(func, 901), Kind::Dict);
                    if let Some(object) = state.object_mut(id) {
                        object.elem = args.rest.clone().unwrap_or_default();
                        let known = |name: &Name| function.params.iter().any(|param| param.name == *name);
                        object.attrs = args.named.iter().filter(|(name, _)| !known(name)).cloned().collect();
                    }
                    Value::object(id)
                }
            };
            let value = if value.is_nothing() { Value::unknown() } else { value };
            self.store_quietly(state, &param.var, value);
        }
    }

    /// A function object.
    pub(super) fn closure(&mut self, state: &mut State, function: usize, defaults: Vec<Value>, dst: Reg) -> Value {
        let func = FuncRef { file: self.file(), function: function as u32 };
        let frame = self.frames.last().and_then(|frame| frame.cells);
        let kind = Kind::Function { func, frame, grad: None, defaults };
        Value::object(self.make(state, Maker::Inst(self.func(), dst, 0), kind))
    }

    /// A class object: its body runs now.
    pub(super) fn class(&mut self, state: &mut State, body: usize, bases: Vec<Value>, dst: Reg) -> Value {
        let func = FuncRef { file: self.file(), function: body as u32 };
        let id = self.make(state, Maker::Inst(self.func(), dst, 0), Kind::Class { body: func, bases });
        let cells = self.frames.last().and_then(|frame| frame.cells);
        let inner = self.suspend(state, func, None);
        let kept = inner.heap.clone();
        self.frames.push(Frame {
            func,
            cells,
            class: Some(id),
            called_at: Span::default(),
            this: None,
            yields: Value::nothing(),
        });
        let outcome = self.run_graph(func, inner);
        self.frames.pop();
        match outcome.state {
            Some(after) => Self::resume(state, after, true),
            None => state.heap.take_back(kept),
        }
        Value::object(id)
    }

    /// A new object of a class of the program.
    fn instantiate(
        &mut self,
        state: &mut State,
        class: ObjId,
        body: FuncRef,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Value {
        let id = self.make(state, Maker::Inst(self.func(), dst, 2), Kind::Instance(body));
        self.initialise(state, id, class, args, span);
        Value::object(id)
    }

    /// Runs `__init__` of a fresh object.
    pub(super) fn initialise(&mut self, state: &mut State, id: ObjId, class: ObjId, args: &Args, span: Span) {
        let is_module = self.is_module_class(state, class, 0);
        if let Some(object) = state.object_mut(id) {
            object.attrs.insert("<class>".into(), Value::object(class));
            object.module = is_module.then(|| ModuleFacts::new(Sure::Yes));
        }
        match self.attr_of_class(state, class, "__init__", 0).and_then(|method| method.single()) {
            Some(init) => {
                self.call_object(state, init, &args.with_first(Value::object(id)), span, 0);
            }
            None => {
                let rest = args.plain.iter().chain(&args.rest).fold(Value::nothing(), Value::joined);
                if let Some(object) = state.object_mut(id) {
                    object.elem = rest;
                    object.attrs.extend(args.named.iter().cloned());
                }
                self.make_fields(state, id, class, span);
            }
        }
    }

    /// Fields of a dataclass that are made anew for each object.
    fn make_fields(&mut self, state: &mut State, id: ObjId, class: ObjId, span: Span) {
        let Some(fields) = state.object(class).map(|object| object.attrs.clone()) else { return };
        for (name, value) in fields.iter() {
            let factory = value.single().and_then(|field| state.object(field)?.attrs.get("<factory>").cloned());
            let Some(factory) = factory else { continue };
            let made = self.call_value(state, &factory, None, &Args::default(), span, 0).unwrap_or_default();
            // The call made it under its own number: each field of each object gets one.
            let Some(object) = made.single().and_then(|made| state.object(made)).cloned() else { continue };
            let own = self.id(Maker::Part(id, super::imports::number_of(name)));
            state.put(own, object);
            if let Some(object) = state.object_mut(id).filter(|object| !object.attrs.contains_key(name)) {
                object.attrs.insert(name.clone(), Value::object(own));
            }
        }
    }

    /// Whether a class is one of modules, by its bases.
    pub(super) fn is_module_class(&self, state: &State, class: ObjId, deep: usize) -> bool {
        let Some(Object { kind: Kind::Class { bases, .. }, .. }) = state.object(class) else { return false };
        deep < 8
            && bases.iter().flat_map(|base| &base.refs).any(|base| {
                match state.object(*base).map(|object| &object.kind) {
                    Some(Kind::External(path)) => path.ends_with("Module") || path.ends_with("PreTrainedModel"),
                    _ => self.is_module_class(state, *base, deep + 1),
                }
            })
    }
}
