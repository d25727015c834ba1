//! Method calls: by what the object is.

use super::calls::Args;
use super::events::ChainOp;
use super::machine::Machine;
use super::tensors::Making;
use crate::domain::{Kind, ObjId, Size, State, Sure, Tensor, Value};
use crate::ir::{Const, Inst, Name};
use crate::torch::{MethodEffect, method_effect};

impl Machine<'_> {
    /// `this.name(args)`; `callee` is what reading the attribute gave. `None` if it never returns.
    pub(super) fn call_method(
        &mut self,
        state: &mut State,
        this: &Value,
        callee: &Value,
        name: &Name,
        args: &Args,
        inst: &Inst,
    ) -> Option<Value> {
        let (span, dst) = (inst.span, inst.dst);
        let mut result = Value::nothing();
        let mut ends = this.is_unknown || this.tensor.is_some() || this.refs.is_empty();
        for &id in &this.refs {
            let value = self.call_method_of(state, id, callee, name, args, inst);
            ends |= value.is_some();
            result.join(&value.unwrap_or_default());
        }
        if this.tensor.is_some() {
            let value = self.tensor_method(state, &this.without_refs(), name, args, inst);
            result.join(&value);
        } else if this.is_unknown || (this.refs.is_empty() && !this.is_plain) {
            let value = self.unknown_method(state, this, callee, name, args, inst);
            result.join(&value);
        } else if this.is_plain && this.refs.is_empty() {
            result.join(&Value::plain());
        }
        let _ = (span, dst);
        ends.then_some(result)
    }

    fn call_method_of(
        &mut self,
        state: &mut State,
        id: ObjId,
        callee: &Value,
        name: &Name,
        args: &Args,
        inst: &Inst,
    ) -> Option<Value> {
        let (span, dst) = (inst.span, inst.dst);
        let Some(object) = state.object(id) else { return Some(Value::unknown()) };
        // What the program defines comes first: the attribute was read from this very object.
        let is_own = self.attr_of_object(state, id, name).is_some();
        let (is_container, is_module) = (object.is_container(), object.module.is_some());
        match object.kind.clone() {
            Kind::External(path) if matches!(&**name, "register_forward_hook") => {
                let _ = path;
                Some(Value::unknown())
            }
            Kind::External(_) | Kind::File(_) | Kind::Class { .. } => {
                if callee.refs.is_empty() {
                    return Some(self.not_followed(state, Some(name), &args.all(), span));
                }
                self.call_value(state, callee, Some(name), args, span, dst)
            }
            _ if is_own => self.call_value(state, callee, Some(name), args, span, dst),
            _ if is_container => Some(match self.container_method(state, id, name, args, span, dst) {
                Some(value) => value,
                None => self.not_followed(state, Some(name), &args.all(), span),
            }),
            _ if is_module => match self.module_method(state, id, name, args, span, dst) {
                Some(value) => Some(value),
                // Another way to run it: `encode`, `generate`, `forward`, a part that is called.
                None => Some(self.forward(state, id, Some(name), args, span, dst)),
            },
            Kind::Made(path) => Some(self.made_method(state, id, &path, name, args, inst)),
            _ => {
                let mut given = args.all();
                given.push(Value::object(id));
                Some(self.not_followed(state, Some(name), &given, span))
            }
        }
    }

    /// A method of something that is not followed.
    fn unknown_method(
        &mut self,
        state: &mut State,
        this: &Value,
        callee: &Value,
        name: &Name,
        args: &Args,
        inst: &Inst,
    ) -> Value {
        let span = inst.span;
        match &**name {
            "backward" => {
                self.backward(state, this, span, args);
                Value::constant(Const::None)
            }
            "cuda" => Value {
                tensor: Some(Tensor { card: Sure::Yes, size: Size::Batch, ..Tensor::default() }.into()),
                ..this.clone()
            },
            "to" => {
                let card = self.is_card(&args.first());
                Value { tensor: Some(Tensor { card, size: Size::Batch, ..Tensor::default() }.into()), ..this.clone() }
            }
            "eval" | "train" | "cpu" | "half" | "detach" => this.clone(),
            "item" | "tolist" | "numpy" | "size" | "format" | "join" | "split" => Value::plain(),
            _ if !callee.refs.is_empty() => {
                self.call_value(state, callee, Some(name), args, span, inst.dst).unwrap_or_default()
            }
            _ => self.call_unknown(state, this, Some(name), args, span),
        }
    }

    /// A method of a tensor, or of a structure of tensors.
    fn tensor_method(&mut self, state: &mut State, this: &Value, name: &Name, args: &Args, inst: &Inst) -> Value {
        let span = inst.span;
        let Some(tensor) = this.tensor.as_deref() else { return Value::unknown() };
        let keep = |tensor: Tensor| Value { is_unknown: this.is_unknown, ..Value::tensor(tensor) };
        match method_effect(name) {
            MethodEffect::Plain => Value::plain(),
            MethodEffect::Detaches => keep(tensor.detached()),
            MethodEffect::CutsGraph => self.cut(state, std::slice::from_ref(this)),
            MethodEffect::ToHost => keep(Tensor { card: Sure::No, ..tensor.clone() }),
            MethodEffect::ToCard => keep(Tensor { card: Sure::Yes, ..tensor.clone() }),
            MethodEffect::ToDevice => {
                let device = args.named("device").cloned().unwrap_or_else(|| args.first());
                let card = self.is_card(&device);
                keep(Tensor { card: if card == Sure::Maybe { tensor.card } else { card }, ..tensor.clone() })
            }
            MethodEffect::Reduces => {
                let has_dim = !args.plain.is_empty() || args.named("dim").is_some();
                let size = if has_dim { None } else { Some(Size::Small) };
                self.with_this(state, this, args, Making { size, ..Making::of(ChainOp::Other) }, inst)
            }
            MethodEffect::Backward => {
                self.backward(state, this, span, args);
                Value::constant(Const::None)
            }
            MethodEffect::RequiresGrad => {
                if let Some(owner) = tensor.parameter_of {
                    let is_frozen = args.plain.first().is_some_and(|flag| flag.is_const(&Const::Bool(false)));
                    self.set_frozen(state, owner, is_frozen);
                }
                let is_leaf = !args.plain.first().is_some_and(|flag| flag.is_const(&Const::Bool(false)));
                keep(Tensor { is_leaf, ..tensor.clone() })
            }
            MethodEffect::InPlace => {
                let op = if &**name == "add_" { ChainOp::Sum } else { ChainOp::Other };
                self.with_this(state, this, args, Making::of(op), inst)
            }
            MethodEffect::Computes if matches!(&**name, "items" | "values" | "keys") => {
                let pair = if &**name == "items" {
                    self.tuple(state, vec![Value::plain(), this.clone()], inst.dst, 4)
                } else {
                    this.clone()
                };
                self.stream(state, pair, this, inst.dst)
            }
            MethodEffect::Computes => {
                let op = if &**name == "add" { ChainOp::Sum } else { ChainOp::Other };
                self.with_this(state, this, args, Making::of(op), inst)
            }
        }
    }

    fn with_this(&mut self, state: &mut State, this: &Value, args: &Args, making: Making, inst: &Inst) -> Value {
        let mut given = args.all();
        given.push(this.clone());
        let mut value = self.compute(state, &given, making, inst.span);
        value.is_unknown = this.is_unknown;
        value
    }
}
