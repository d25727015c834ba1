//! Entering a function: its gradient mode and what its parameters are.

use super::branches::mode_of_switch;
use super::events::GradMode;
use super::guesses;
use super::known;
use super::tables::ClassKind;
use super::value::{ClassId, Flags, FunctionId, Graph, Kind, Sources, Value};
use super::walk::{Walker, is_name};
use crate::python::ast::{ParameterWithDefault, StmtFunctionDef};
use crate::python::{Expr, Ranged};

impl<'a> Walker<'a, '_> {
    /// The gradient mode a function's body begins in.
    pub(super) fn mode_of(&mut self, index: u32, node: &'a StmtFunctionDef) -> GradMode {
        if self.outline.volatile.contains(&Some(index)) {
            return GradMode::Depends;
        }
        for decorator in &node.decorator_list {
            let (target, given) = match &decorator.expression {
                Expr::Call(call) => (&*call.func, call.arguments.args.first()),
                other => (other, None),
            };
            let told = match given {
                Some(Expr::BooleanLiteral(literal)) => Some(literal.value),
                _ => None,
            };
            let value = self.quietly(|walker| walker.eval(target));
            let full = match value.kind {
                Kind::External(sym) => self.names.text(sym),
                _ => "",
            };
            match full {
                "torch.no_grad" => return GradMode::NoGrad,
                "torch.inference_mode" if told == Some(false) => return GradMode::On,
                "torch.inference_mode" => return GradMode::Inference,
                "torch.enable_grad" => return GradMode::On,
                "torch.set_grad_enabled" => return mode_of_switch(told),
                _ => {}
            }
            // `@smart_inference_mode()`: a decorator of the project's own that decides.
            let written = self.source.slice(target.range());
            if ["grad", "inference", "eval_mode"].iter().any(|word| written.contains(word)) {
                return GradMode::Depends;
            }
        }
        let name = node.name.as_str();
        if let Some(class) = self.f.class {
            let id = ClassId { file: self.file, index: class };
            match self.tables.kind(id) {
                ClassKind::Lightning if is_lightning_eval(name) => return GradMode::NoGrad,
                // Lightning calls a callback's hooks of evaluation under `no_grad`.
                ClassKind::Framework
                    if matches!(name, "evaluation_loop" | "prediction_step" | "evaluate")
                        || is_lightning_eval(name) =>
                {
                    return GradMode::Depends;
                }
                ClassKind::AutogradFunction if matches!(name, "forward" | "backward") => return GradMode::NoGrad,
                _ => {}
            }
        }
        self.mode_by_callers(index)
    }

    pub(super) fn is_called_both_ways(&self, index: u32) -> bool {
        self.mode_by_callers(index) == GradMode::Depends && !self.outline.volatile.contains(&Some(index))
    }

    fn mode_by_callers(&self, index: u32) -> GradMode {
        self.tables.modes_of(FunctionId { file: self.file, index }).summed_up()
    }

    pub(super) fn bind_parameters(&mut self, index: u32, node: &'a StmtFunctionDef) {
        let is_bound = self.outline.functions[index as usize].is_bound();
        let is_class_method = node.decorator_list.iter().any(|decorator| is_name(&decorator.expression, "classmethod"));
        let parameters = &node.parameters;
        let id = FunctionId { file: self.file, index };
        let given = self.tables.call_sites.get(&id);
        let positional = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        for (place, parameter) in positional.enumerate() {
            let name = parameter.parameter.name.as_str();
            let slot = self.f.env.name(name);
            if place == 0 && self.f.class.is_some() && is_bound {
                let value = if is_class_method { Value::unknown() } else { self.self_value() };
                if !is_class_method {
                    self.f.self_name = Some(name);
                }
                self.f.env.bind(slot, Some(value));
                continue;
            }
            let from_callers = given.and_then(|sites| sites.arguments.get(place)?.clone());
            let mut value = if place == 1 && self.is_lightning_step(node.name.as_str()) {
                Value::data().flagged(Flags::RAW.with(Flags::DATA))
            } else {
                self.parameter_value(parameter, name, from_callers)
            };
            if value.kind == Kind::Unknown || value.is_module() && value.has(Flags::GUESSED) && value.class.is_none() {
                value = self.network_by_methods(node, name).unwrap_or(value);
            }
            value.sources = value.sources.with(Sources::parameter(place));
            self.f.env.bind(slot, Some(value));
        }
        let named = self.outline.functions[index as usize].named_parameters();
        let stars = [(Kind::List, &parameters.vararg), (Kind::Dict, &parameters.kwarg)];
        for (offset, (kind, star)) in stars.into_iter().enumerate() {
            let Some(star) = star else { continue };
            let given = given.and_then(|sites| sites.arguments.get(named + offset)?.clone());
            let mut item = given.map_or_else(Value::unknown, |given| given.element());
            item.sources = item.sources.with(Sources::parameter(named + offset));
            let slot = self.f.env.name(star.name.as_str());
            self.f.env.bind(slot, Some(Value::holder(kind, item)));
        }
    }

    /// Whether Lightning calls the method with a batch: `training_step(self, batch, batch_idx)`.
    fn is_lightning_step(&self, name: &str) -> bool {
        let steps = ["training_step", "validation_step", "test_step", "predict_step"];
        let class = self.f.class.map(|index| ClassId { file: self.file, index });
        steps.contains(&name) && class.is_some_and(|class| self.tables.kind(class) == ClassKind::Lightning)
    }

    fn parameter_value(&mut self, parameter: &'a ParameterWithDefault, name: &'a str, callers: Option<Value>) -> Value {
        if let Some(value) = callers.filter(|value| !matches!(value.kind, Kind::Unknown | Kind::None)) {
            return value;
        }
        if let Some(annotation) = &parameter.parameter.annotation {
            let value = self.quietly(|walker| walker.eval(annotation));
            if let Some(value) = self.annotated(&value) {
                return value;
            }
        }
        match parameter.default.as_deref() {
            Some(Expr::NumberLiteral(_) | Expr::BooleanLiteral(_)) => Value::of(Kind::Number),
            Some(default @ Expr::StringLiteral(_)) => self.quietly(|walker| walker.eval(default)),
            // `mean=[0.485, 0.456, 0.406]`
            Some(default @ Expr::List(list)) if holds_numbers(&list.elts) => {
                self.quietly(|walker| walker.eval(default))
            }
            Some(default @ Expr::Tuple(tuple)) if holds_numbers(&tuple.elts) => {
                self.quietly(|walker| walker.eval(default))
            }
            _ => guesses::guess(name, self.outline.usage(name)),
        }
    }

    /// What something annotated with this is.
    fn annotated(&mut self, annotation: &Value) -> Option<Value> {
        let sym = match annotation.kind {
            Kind::Class(id) => return Some(self.instance_of(id)),
            Kind::External(sym) => sym,
            _ => return None,
        };
        let likely = |kind| Value { graph: Graph::Likely, ..Value::of(kind) };
        Some(match self.names.text(sym) {
            "torch.Tensor" | "torch.FloatTensor" => Value::tensor(),
            "torch.LongTensor" | "torch.IntTensor" | "torch.BoolTensor" => Value::data(),
            "torch.nn.Module" => likely(Kind::Module),
            "torch.optim.Optimizer" => Value::of(Kind::Optimizer),
            "torch.utils.data.DataLoader" => Value::of(Kind::Loader),
            "torch.utils.data.Dataset" => Value::of(Kind::Dataset),
            "int" | "float" | "bool" => Value::of(Kind::Number),
            "str" => Value::of(Kind::Str),
            text if text.starts_with("accelerate.") && text.ends_with("Accelerator") => Value::of(Kind::Engine),
            text if matches!(known::gives(text), known::Gives::Pretrained) => {
                likely(Kind::Module).flagged(Flags::PRETRAINED)
            }
            _ => return None,
        })
    }
}

/// Whether a list is written out in numbers.
fn holds_numbers(items: &[Expr]) -> bool {
    !items.is_empty() && items.iter().all(Expr::is_number_literal_expr)
}

fn is_lightning_eval(name: &str) -> bool {
    let phase = name.starts_with("validation") || name.starts_with("test") || name.starts_with("predict");
    phase && (name.ends_with("_step") || name.ends_with("_epoch_end"))
        || name.starts_with("on_validation")
        || name.starts_with("on_test")
        || name.starts_with("on_predict")
}
