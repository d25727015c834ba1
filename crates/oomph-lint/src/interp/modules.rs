//! Modules: forward passes, their methods, hooks.

use super::calls::Args;
use super::events::{Forward, LoopKind};
use super::machine::{Machine, Maker};
use crate::domain::{FuncRef, Grad, Kind, ModuleFacts, ObjId, Size, State, Sure, Tensor, Value};
use crate::ir::{Const, Name, Reg, Span};

impl Machine<'_> {
    /// A forward pass.
    pub(super) fn forward(
        &mut self,
        state: &mut State,
        id: ObjId,
        name: Option<&Name>,
        args: &Args,
        span: Span,
        dst: Reg,
    ) -> Value {
        let Some(facts) = state.object(id).and_then(|object| object.module) else { return Value::unknown() };
        let given = args.all();
        let is_input_recorded = given
            .iter()
            .filter_map(|value| self.deep(state, value))
            .any(|input| input.is_leaf || input.graph > Sure::Maybe || input.parameter_of.is_some());
        let own = self.attr_of_object(state, id, "forward").and_then(|method| method.single());
        let value = match own {
            Some(method) if self.budget > 0 => {
                let base = self.enter_forward();
                let mut with_this = args.clone();
                with_this.plain.insert(0, Value::object(id));
                let value = self.call_object(state, method, &with_this, span, dst).unwrap_or_default();
                self.leave_forward(base);
                self.mark_output(state, value, facts)
            }
            _ if state.object(id).is_some_and(|object| object.items.is_some()) => {
                self.forward_all(state, id, args, span, dst)
            }
            _ => self.compute_as(state, facts, &given, span),
        };
        if facts.has_parameters && self.forward_depth == 0 && self.is_recording {
            self.note_forward(state, id, name, facts, &value, is_input_recorded, span);
        }
        value
    }

    /// Begins a forward pass; what lives no longer than it is not kept.
    pub(super) fn enter_forward(&mut self) -> usize {
        let before = self.forward_base;
        if self.forward_depth == 0 {
            self.forward_base = self.loops.len();
        }
        self.forward_depth += 1;
        before
    }

    pub(super) fn leave_forward(&mut self, before: usize) {
        self.forward_depth -= 1;
        self.forward_base = before;
    }

    /// What a module of the program gives is its output, of a graph unless it is frozen all over.
    fn mark_output(&mut self, state: &State, mut value: Value, facts: ModuleFacts) -> Value {
        if let Some(tensor) = value.tensor_mut() {
            tensor.is_output = true;
            tensor.card = tensor.card.max(facts.card);
            if state.grad_now() == Grad::Off {
                *tensor = tensor.detached();
            }
        }
        value
    }

    /// A `Sequential`: one after another.
    fn forward_all(&mut self, state: &mut State, id: ObjId, args: &Args, span: Span, dst: Reg) -> Value {
        let items = state.object(id).and_then(|object| object.items.clone()).unwrap_or_default();
        let facts = state.object(id).and_then(|object| object.module).unwrap_or(ModuleFacts::new(Sure::Yes));
        let base = self.enter_forward();
        let mut value = self.compute_as(state, ModuleFacts { has_parameters: false, ..facts }, &args.all(), span);
        for item in &items {
            let given = Args::of(vec![value.clone()]);
            value = self.call_value(state, item, None, &given, span, dst).unwrap_or_default();
        }
        self.leave_forward(base);
        value
    }

    #[expect(clippy::too_many_arguments, reason = "one note of one pass, taken in one place")]
    fn note_forward(
        &mut self,
        state: &State,
        id: ObjId,
        name: Option<&Name>,
        facts: ModuleFacts,
        value: &Value,
        is_input_recorded: bool,
        span: Span,
    ) {
        let output = self.deep(state, value).unwrap_or_default();
        let at = self.at(span);
        let new = Forward {
            at: at.clone(),
            module: id,
            name: name.cloned(),
            is_eval: facts.is_eval,
            graph: output.graph,
            is_input_recorded,
            origins: output.origins,
            loops: self.loops.clone(),
            calls: self.calls(),
        };
        let called_at = self.frames.last().map_or(Span::default(), |frame| frame.called_at);
        let known = self.log.forwards.entry((at, id, called_at)).or_insert_with(|| new.clone());
        known.graph = known.graph.max(new.graph);
        known.is_eval = known.is_eval.min(new.is_eval);
        known.is_input_recorded |= is_input_recorded;
        known.origins.join(&new.origins);
    }

    /// Changes what is known of a module and its parts.
    pub(super) fn change_module(&mut self, state: &mut State, id: ObjId, change: &dyn Fn(&mut ModuleFacts)) {
        let mut waiting = vec![id];
        let mut seen = Vec::new();
        while let Some(id) = waiting.pop() {
            if seen.contains(&id) || seen.len() > 64 {
                continue;
            }
            seen.push(id);
            let Some(object) = state.object_mut(id) else { continue };
            let Some(facts) = &mut object.module else { continue };
            change(facts);
            let parts = object.attrs.values().chain(object.items.iter().flatten()).chain([&object.elem]);
            waiting.extend(parts.flat_map(|part| part.refs.to_vec()));
        }
    }

    /// A method of a module; `None` if modules have no such.
    pub(super) fn module_method(
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
            "eval" => {
                self.change_module(state, id, &|facts| facts.is_eval = Sure::Yes);
                this
            }
            "train" => {
                let mode = match args.plain.first().map(|value| &value.constant) {
                    Some(Some(Const::Bool(false))) => Sure::Yes,
                    Some(None) => Sure::Maybe,
                    _ => Sure::No,
                };
                self.change_module(state, id, &|facts| facts.is_eval = mode);
                this
            }
            "cuda" => {
                self.change_module(state, id, &|facts| facts.card = Sure::Yes);
                this
            }
            "cpu" => {
                self.change_module(state, id, &|facts| facts.card = Sure::No);
                this
            }
            "to" => {
                let card = self.is_card(&args.first());
                self.change_module(state, id, &|facts| facts.card = card);
                this
            }
            "half" | "float" | "bfloat16" | "double" | "apply" | "requires_grad" | "share_memory" | "compile" => this,
            "requires_grad_" => {
                let is_frozen = args.plain.first().is_some_and(|value| value.is_const(&Const::Bool(false)));
                self.set_frozen(state, id, is_frozen);
                this
            }
            "parameters" | "named_parameters" => {
                let parameter =
                    Value::tensor(Tensor { parameter_of: Some(id), size: Size::Unknown, ..Tensor::default() });
                let elem = if name == "parameters" {
                    parameter
                } else {
                    self.tuple(state, vec![Value::plain(), parameter], dst, 6)
                };
                self.stream(state, elem, &this, dst)
            }
            "modules" | "children" => {
                let part = self.module_part(state, id, "[]");
                self.stream(state, part, &this, dst)
            }
            "named_modules" | "named_children" => {
                let part = self.module_part(state, id, "[]");
                let pair = self.tuple(state, vec![Value::plain(), part], dst, 6);
                self.stream(state, pair, &this, dst)
            }
            "load_state_dict" => {
                self.note_loaded_into(state, id, &args.first());
                Value::unknown()
            }
            "state_dict" => {
                let made = self.make(state, Maker::Inst(self.func(), dst, 3), Kind::Made("state_dict".into()));
                Value::object(made)
            }
            // Decorated with `no_grad` where it is defined.
            "generate" => self.cut(state, &args.all()),
            "zero_grad" | "register_buffer" | "gradient_checkpointing_enable" => Value::constant(Const::None),
            "register_forward_hook" | "register_forward_pre_hook" | "register_full_backward_hook" => {
                self.hook(state, id, &args.first(), name, span, dst);
                Value::unknown()
            }
            _ => return None,
        })
    }

    /// Runs a hook as a forward pass would, again and again.
    fn hook(&mut self, state: &mut State, module: ObjId, callee: &Value, name: &str, span: Span, dst: Reg) {
        if name != "register_forward_hook" {
            return;
        }
        let facts = state.object(module).and_then(|object| object.module).unwrap_or(ModuleFacts::new(Sure::Yes));
        let output = self.compute_as(state, ModuleFacts { is_loss: false, ..facts }, &[], span);
        let given = Args::of(vec![Value::object(module), Value::unknown(), output]);
        let number = self.loop_number(LoopKind::Hook(FuncRef { file: self.file(), function: span.start }));
        self.loops.push(number);
        let was_hook = std::mem::replace(&mut self.is_hook, true);
        let mut attempt = state.clone();
        if self.call_value(&mut attempt, callee, None, &given, span, dst).is_some() {
            state.join(&attempt);
        }
        self.is_hook = was_hook;
        self.loops.pop();
    }

    fn note_loaded_into(&mut self, state: &State, id: ObjId, given: &Value) {
        let card = state.object(id).and_then(|object| object.module).map_or(Sure::Maybe, |facts| facts.card);
        let sources: Vec<ObjId> = given.refs.to_vec();
        let tags: Vec<u32> = self.deep(state, given).map(|tensor| tensor.via.iter().collect()).unwrap_or_default();
        if !self.is_recording {
            return;
        }
        for loading in self.log.loadings.values_mut() {
            if sources.contains(&loading.object) || tags.contains(&loading.object) {
                loading.is_into_module = true;
                loading.is_into_card = loading.is_into_card.max(card);
            }
        }
    }

    /// Whether a device is the card.
    pub(super) fn is_card(&self, device: &Value) -> Sure {
        match device.as_str() {
            Some(text) if text.starts_with("cuda") => Sure::Yes,
            Some(text) if text.starts_with("cpu") || text.starts_with("meta") => Sure::No,
            Some(_) => Sure::Maybe,
            None if device.is_const(&Const::None) => Sure::Maybe,
            // A device that is computed is the card where there is one.
            None if device.is_unknown || device.is_plain => Sure::Likely,
            None => Sure::Maybe,
        }
    }
}
