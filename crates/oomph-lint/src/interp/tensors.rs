//! Operations on tensors: what they are given, whether the result has a graph, where that begins.

use std::rc::Rc;

use super::events::{Backward, Chain, ChainOp};
use super::machine::Machine;
use crate::domain::{Grad, Kind, ModuleFacts, Origins, Size, State, Sure, Tensor, Value};
use crate::hints::{is_backward_like, may_train_elsewhere};
use crate::ir::{Const, Operator, Span};

/// Containers in containers are looked into this deep.
const DEEP_MAX: usize = 4;

/// What an operation makes of its inputs.
#[derive(Clone, Copy)]
pub(super) struct Making {
    /// The graph the operation adds itself: that of its parameters.
    pub own: Sure,
    pub op: ChainOp,
    /// The size of the result; that of the inputs if none.
    pub size: Option<Size>,
    pub is_output: bool,
}

impl Making {
    pub(super) fn of(op: ChainOp) -> Self {
        Self { own: Sure::No, op, size: None, is_output: false }
    }
}

impl Machine<'_> {
    /// All that a value and what it holds may be, as one tensor.
    pub(super) fn deep(&self, state: &State, value: &Value) -> Option<Tensor> {
        let mut found: Option<Value> = None;
        self.deep_into(state, value, 0, &mut found);
        found.and_then(|value| value.tensor).map(Rc::unwrap_or_clone)
    }

    fn deep_into(&self, state: &State, value: &Value, deep: usize, found: &mut Option<Value>) {
        if let Some(tensor) = &value.tensor {
            found.get_or_insert_with(Value::nothing).join(&Value { tensor: Some(tensor.clone()), ..Value::default() });
        }
        if deep >= DEEP_MAX {
            return;
        }
        for &id in &value.refs {
            let Some(object) = state.object(id) else { continue };
            let is_record = matches!(object.kind, Kind::Instance(_)) && object.module.is_none();
            if !object.is_container() && !is_record {
                continue;
            }
            let mut inside = object.any();
            if is_record {
                object.attrs.iter().filter(|(name, _)| !name.starts_with('<')).for_each(|(_, value)| {
                    inside.join(value);
                });
            }
            let mut own = None;
            self.deep_into(state, &inside, deep + 1, &mut own);
            if let Some(mut own) = own {
                if let Some(tensor) = own.tensor_mut() {
                    tensor.via.insert(id);
                }
                found.get_or_insert_with(Value::nothing).join(&own);
            }
        }
    }

    /// The inputs of an operation as one tensor.
    fn inputs(&self, state: &State, values: &[Value]) -> Tensor {
        let mut all = Value::nothing();
        for tensor in values.iter().filter_map(|value| self.deep(state, value)) {
            all.join(&Value::tensor(tensor));
        }
        all.tensor.map(Rc::unwrap_or_clone).unwrap_or_default()
    }

    /// The result of an operation.
    pub(super) fn compute(&mut self, state: &mut State, inputs: &[Value], making: Making, span: Span) -> Value {
        let inputs = self.inputs(state, inputs);
        let mut graph = inputs.graph.max(making.own);
        if inputs.is_leaf || inputs.parameter_of.is_some() {
            graph = Sure::Yes;
        }
        graph = match state.grad_now() {
            Grad::Off => Sure::No,
            Grad::Unknown => graph.min(Sure::Maybe),
            Grad::On => graph,
        };
        let mut result = Tensor {
            graph,
            origins: Origins::default(),
            via: inputs.via.clone(),
            card: inputs.card,
            size: making.size.unwrap_or(inputs.size),
            parameter_of: None,
            is_output: making.is_output || inputs.is_output,
            is_leaf: false,
        };
        if graph > Sure::No {
            result.origins = inputs.origins.clone();
            if inputs.origins.is_empty() || inputs.origins.has_carried() {
                let site = self.site(span);
                let carried = inputs.origins.carried(site);
                if carried != 0 {
                    let joined = Tensor { graph: graph.min(inputs.graph), ..result.clone() };
                    self.note_chain(site, carried, &joined, making.op, span);
                    result.via.insert(chain_tag(site));
                }
                state.freed.retain(|freed| *freed != site);
                result.origins.join(&Origins::at(site));
            }
        }
        Value::tensor(result)
    }

    /// A call that is not followed: it may give back a graph of what it is given, and may train with it.
    pub(super) fn not_followed(&mut self, state: &mut State, name: Option<&str>, given: &[Value], span: Span) -> Value {
        self.not_followed_as(state, name, given, span, false)
    }

    /// The same for something that may be a module itself.
    pub(super) fn not_followed_as(
        &mut self,
        state: &mut State,
        name: Option<&str>,
        given: &[Value],
        span: Span,
        may_be_module: bool,
    ) -> Value {
        let inputs = self.inputs(state, given);
        let has_module =
            given.iter().flat_map(|value| &value.refs).any(|id| self.is_module(state, *id)) || may_be_module;
        if name.is_some_and(is_backward_like) {
            self.backward(state, given.first().unwrap_or(&Value::nothing()), span, &super::calls::Args::default());
            return Value::unknown();
        }
        if self.is_recording && name.is_some_and(may_train_elsewhere) {
            self.log.may_train.extend(inputs.origins.sites());
        }
        let mut graph = if inputs.graph > Sure::No || has_module { Sure::Maybe } else { Sure::No };
        let site = self.site(span);
        if graph == Sure::Maybe && self.proven.contains(&self.at(span)) {
            graph = Sure::Likely;
        }
        if state.grad_now() == Grad::Off {
            graph = Sure::No;
        }
        let mut value = Value::unknown();
        if graph > Sure::No {
            let mut origins = inputs.origins.clone();
            state.freed.retain(|freed| *freed != site);
            origins.join(&Origins::at(site));
            let size = inputs.size.max(Size::Unknown);
            let tensor = Tensor {
                graph,
                origins,
                via: inputs.via,
                card: inputs.card,
                size,
                is_output: has_module,
                ..Tensor::default()
            };
            value.tensor = Some(tensor.into());
        } else if inputs != Tensor::default() {
            value.tensor = Some(Tensor { size: inputs.size.max(Size::Unknown), ..inputs.detached() }.into());
        }
        value
    }

    /// What a module or loss function not in sight gives.
    pub(super) fn compute_as(&mut self, state: &mut State, facts: ModuleFacts, inputs: &[Value], span: Span) -> Value {
        let own = if !facts.has_parameters || facts.is_frozen == Sure::Yes { Sure::No } else { facts.sure };
        let making = if facts.is_loss {
            Making { size: Some(Size::Small), ..Making::of(ChainOp::Other) }
        } else if facts.has_parameters {
            Making { own, op: ChainOp::Forward, size: Some(Size::Batch), is_output: true }
        } else {
            Making::of(ChainOp::Other)
        };
        let mut value = self.compute(state, inputs, making, span);
        if let Some(tensor) = value.tensor_mut() {
            tensor.card = tensor.card.max(facts.card);
            if facts.is_loss && tensor.graph == Sure::Maybe {
                tensor.graph = Sure::Maybe;
            }
        }
        value
    }

    pub(super) fn arithmetic(
        &mut self,
        state: &mut State,
        op: Operator,
        left: &Value,
        right: &Value,
        span: Span,
    ) -> Value {
        let is_tensor = left.tensor.is_some() || right.tensor.is_some();
        if !is_tensor {
            return if left.is_unknown || right.is_unknown { Value::unknown() } else { Value::plain() };
        }
        let op = if op == Operator::Add { ChainOp::Sum } else { ChainOp::Other };
        let mut value = self.compute(state, &[left.clone(), right.clone()], Making::of(op), span);
        value.is_unknown = left.is_unknown && right.is_unknown;
        value
    }

    /// A result no graph goes through.
    pub(super) fn cut(&self, state: &State, inputs: &[Value]) -> Value {
        let inputs = self.inputs(state, inputs);
        Value::tensor(Tensor { size: inputs.size.min(Size::Unknown), ..inputs.detached() })
    }

    /// A backward pass over a value.
    pub(super) fn backward(&mut self, state: &mut State, root: &Value, span: Span, args: &super::calls::Args) {
        let root = self.deep(state, root).unwrap_or_default();
        let flag = |name: &str| match args.named(name).map(|value| &value.constant) {
            None => Some(false),
            Some(Some(Const::Bool(flag))) => Some(*flag),
            Some(_) => None,
        };
        let (retain, create_graph) = (flag("retain_graph"), flag("create_graph"));
        if self.is_recording {
            if root.graph == Sure::Maybe || root.graph == Sure::Likely {
                let proven: Vec<_> = root.origins.sites().map(|site| self.place_of(site)).collect();
                self.log.proven.extend(proven);
            }
            let at = self.at(span);
            let loops = self.loops.clone();
            let new = Backward {
                at: at.clone(),
                origins: root.origins.clone(),
                via: root.via.clone(),
                retain,
                create_graph,
                is_grad: false,
                loops,
            };
            let known = self.log.backwards.entry(at).or_insert_with(|| new.clone());
            known.origins.join(&new.origins);
            known.via.join(&new.via);
        }
        if retain == Some(false) && create_graph != Some(true) {
            for site in root.origins.sites() {
                if !state.freed.contains(&site) {
                    state.freed.push(site);
                }
            }
            state.freed.sort_unstable();
        }
    }

    fn note_chain(&mut self, site: u32, carried: u16, tensor: &Tensor, op: ChainOp, span: Span) {
        if !self.is_recording {
            return;
        }
        let end = if self.forward_depth > 0 { self.forward_base } else { self.loops.len() };
        let carried = (0..end).filter(|depth| carried & (1 << (*depth).min(15)) != 0);
        let carried: Vec<u32> = carried.map(|depth| self.loops[depth]).collect();
        if carried.is_empty() {
            return;
        }
        let at = self.at(span);
        let new = Chain {
            at: at.clone(),
            site,
            op,
            graph: tensor.graph,
            origins: tensor.origins.clone(),
            size: tensor.size,
            carried,
            loops: self.loops.clone(),
            calls: self.calls(),
        };
        let known = self.log.chains.entry(at).or_insert_with(|| new.clone());
        known.graph = known.graph.max(new.graph);
        known.origins.join(&new.origins);
        for number in new.carried {
            if !known.carried.contains(&number) {
                known.carried.push(number);
            }
        }
    }
}

/// Marks a tag as one of a chain's site, not of a container.
pub(super) const CHAIN_TAG: u32 = 1 << 31;

/// The tag of values that a chain at a site made.
pub(crate) fn chain_tag(site: u32) -> u32 {
    CHAIN_TAG | site
}
