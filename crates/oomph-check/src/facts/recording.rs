//! Whether a forward pass is recorded at all, and whether the record is needed, as far as other functions decide that.

use super::{Facts, FunctionKind};
use crate::analysis::events::{At, Call, Callee, GradMode};
use crate::analysis::value::{ClassId, Flags, FunctionId, Value};
use crate::facts::Loop;
use crate::python::{Expr, Ranged, root_name};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Whether a network of the file runs without recording by itself: its layers keep nothing for backward.
    #[must_use]
    pub fn only_infers(&self) -> bool {
        self.decorators().iter().any(|found| {
            let name = found.name.map_or("", |name| self.text(name));
            let forward = self.function_kind(found.function) == FunctionKind::Forward;
            forward && matches!(name, "torch.no_grad" | "torch.inference_mode")
        })
    }

    /// Whether code for a torch before 0.4 switches recording off by `volatile=True` somewhere in the file: what is fed
    /// to a model elsewhere in it may be so too.
    #[must_use]
    pub fn uses_volatile(&self) -> bool {
        !self.outline().volatile.is_empty()
    }

    /// The same of this file and of the functions of the project that it calls.
    #[must_use]
    pub fn is_fed_volatile(&self) -> bool {
        let says = |id: FunctionId| self.tables().outlines[id.file as usize].volatile.contains(&Some(id.index));
        // `to_var(x)` is not what `to_var(x, volatile=True)` is.
        let told = |call: &Call<'a>| call.node.arguments.len() > 1;
        let feeds = |call: &Call<'a>| matches!(call.callee, Callee::Project(id) if says(id)) && told(call);
        self.uses_volatile() || self.calls().iter().any(feeds)
    }

    /// Whether the network of a forward pass differentiates within its own pass, also in evaluation: normals of a
    /// surface, forces of an energy. Without a record that fails. Where its class is not known, any in the files around
    /// may be it, and any of the project where settings name it.
    #[must_use]
    pub fn differentiates_in_pass(&self, call: &Call<'a>) -> bool {
        match self.module_called(call) {
            Some(Value { class: Some(class), .. }) => return self.tables().class_differentiates(*class),
            // A library's.
            Some(module) if module.is_module() && module.maker.is_some() && !module.has(Flags::GUESSED) => {
                return false;
            }
            _ => {}
        }
        let made = |value: &Expr| matches!(value, Expr::Call(maker) if maker.func.is_call_expr());
        let by_settings = root_name(&call.node.func).is_some_and(|root| {
            let bound = if root == "self" { last_name(&call.node.func).unwrap_or(root) } else { root };
            self.binds_of(bound).any(|bind| bind.value_expr.is_some_and(made))
        });
        let files = if by_settings {
            (0..self.tables().outlines.len() as u32).collect()
        } else {
            self.tables().files_around(self.file_index())
        };
        files.into_iter().any(|file| self.tables().file_differentiates(file))
    }

    /// Whether what is called may switch recording off itself: the function, the module's own `forward`, or a function of
    /// the project that is told to by an argument so named, as in `step(model, batch, eval=True)`.
    pub(super) fn callee_decides(&self, call: &Call<'a>) -> bool {
        if let Callee::Project(id) = call.callee {
            return self.summary(id).is_some_and(|summary| summary.forwards && summary.forwards_off);
        }
        if let Some(class) = self.class_called(call)
            && let Some(forward) = self.tables().method(class, "forward")
        {
            return self.function_def(forward).switches || self.tables().class_infers_off(class);
        }
        let literal = |value: &Expr| matches!(value, Expr::BooleanLiteral(_) | Expr::StringLiteral(_));
        let keywords = call.node.arguments.keywords.iter().filter(|keyword| literal(&keyword.value));
        let flags: Vec<&str> = keywords.filter_map(|keyword| Some(keyword.arg.as_ref()?.as_str())).collect();
        !flags.is_empty()
            && self.tables().outlines.iter().flat_map(|outline| &outline.functions).any(|function| {
                let parameters = &function.node.parameters;
                function.switches && parameters.iter().any(|parameter| flags.contains(&parameter.name().as_str()))
            })
    }

    /// Whether it is not seen which network a forward pass runs, and one of the program's infers without recording by itself.
    #[must_use]
    pub fn may_switch_itself_off(&self, call: &Call<'a>) -> bool {
        let module = self.module_called(call);
        let seen = module
            .is_some_and(|module| module.class.is_some() || module.maker.is_some() || module.has(Flags::PRETRAINED));
        let files = || self.tables().files_of_process(self.file_index()).into_iter();
        !seen && files().any(|file| self.tables().file_infers_off(file))
    }

    /// Whether a function of another file runs networks that take themselves out of training when they are made, as far
    /// as the files it stands on tell: a metric such as LPIPS. What it gives has no graph then.
    pub(super) fn runs_frozen_network(&self, call: &Call<'a>) -> bool {
        let Callee::Project(id) = call.callee else { return false };
        let below = || self.tables().files_below(id.file).into_iter();
        !self.is_own(id) && below().any(|file| self.tables().outlines[file as usize].frozen.contains("self"))
    }

    /// Whether a library that explains what a model does by its gradients is used where a forward pass is, or put into
    /// the model: `model = medcam.inject(model)`. It goes back through forward passes.
    #[must_use]
    pub fn is_explained_by_gradients(&self, pass: &Call<'a>) -> bool {
        const LIBRARIES: &[&str] = &["captum", "medcam", "gcam", "pytorch_grad_cam", "torchcam", "gradcam", "grad_cam"];
        let mut roots = self.outline().imports.values().filter_map(|full| full.split('.').next());
        if !roots.any(|root| LIBRARIES.contains(&root)) {
            return false;
        }
        let explainers = self.calls().iter().filter(|call| {
            let root = self.full_name(call).and_then(|name| name.split('.').next());
            root.is_some_and(|root| LIBRARIES.contains(&root))
        });
        let replaces = |call: &Call<'a>| {
            self.binds().iter().any(|bind| {
                let made = bind.value_expr.is_some_and(|value| value.range() == call.node.range());
                made && call.node.arguments.args.iter().any(|arg| last_name(arg) == Some(bind.name))
            })
        };
        explainers.into_iter().any(|call| call.at.function == pass.at.function || replaces(call))
    }

    /// The project's class of the module that a call runs.
    #[must_use]
    pub fn class_called(&self, call: &Call<'a>) -> Option<ClassId> {
        self.module_called(call)?.class
    }

    /// The module that a call runs: by what is bound to its name, or by what callers give.
    pub(super) fn module_called<'s>(&'s self, call: &'s Call<'a>) -> Option<&'s Value> {
        if let Callee::Project(_) = call.callee {
            return call.values().find(|value| value.is_module());
        }
        let on = match &*call.node.func {
            Expr::Attribute(method) if method.attr.as_str() == "forward" => &*method.value,
            other => other,
        };
        let mut bound = self.binds_seen(on, &call.at).into_iter().map(|bind| &bind.value);
        bound.rfind(|value| value.is_module()).or_else(|| self.given_by_callers(on, &call.at))
    }

    /// What callers give a function for one of its parameters.
    fn given_by_callers(&self, expr: &Expr, at: &At) -> Option<&Value> {
        let (name, function) = (root_name(expr)?, self.function(at)?);
        let parameters = &function.node.parameters;
        let mut places = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        let place = places.position(|parameter| parameter.parameter.name.as_str() == name)?;
        let id = FunctionId { file: self.file_index(), index: at.function? };
        self.tables().call_sites.get(&id)?.arguments.get(place)?.as_ref()
    }

    /// Whether another forward pass of a loop runs without recording: who wrote it knows, and what is left recorded is
    /// a metric, or needs to be.
    #[must_use]
    pub fn switches_in_loop(&self, call: &Call<'a>, batches: &Loop<'_>) -> bool {
        let is_helper = matches!(call.callee, Callee::Project(_));
        self.calls().iter().any(|other| {
            let off = other.at.grad != GradMode::On;
            let runs_model = || match other.callee {
                Callee::Module => off && !other.result.has(Flags::LOSS),
                Callee::Project(id) => {
                    let summary = self.summary(id);
                    is_helper && summary.is_some_and(|summary| summary.forwards_off || off && summary.forwards)
                }
                _ => off && other.values().any(|value| value.is_module() && !value.has(Flags::CRITERION)),
            };
            !std::ptr::eq(other, call) && runs_model() && self.is_inside(other.at.block, batches.block)
        })
    }
}
