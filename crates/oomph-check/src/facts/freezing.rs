//! Models that were taken out of training: their forward passes record nothing.

use rustc_hash::FxHashSet;

use super::Facts;
use crate::analysis::events::{At, BlockKind, Call, Callee};
use crate::analysis::freezing;
use crate::analysis::value::{Flags, Value};
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};

impl<'a> Facts<'a> {
    /// Whether a forward pass records nothing, or may not: its network was taken out of training, or what is called
    /// switches recording off itself. Every rule that says that a graph is recorded or kept asks this.
    #[must_use]
    pub fn records_nothing(&self, forward: &Call<'a>) -> bool {
        self.callee_decides(forward)
            || self.is_frozen_by_helper(forward)
            || self.is_frozen_by_method(forward)
            || self.is_parameter_for_frozen(forward)
            || self.runs_only_frozen(forward)
            || self.is_switched_off_for_good()
            || self.runs_frozen_network(forward)
            || self.is_quantized(forward)
            || self.is_loaded_frozen(forward)
            || self.is_unpickled(forward)
    }

    /// Whether a forward pass that a value comes from records nothing.
    #[must_use]
    pub fn comes_from_unrecorded(&self, value: &Value, at: &At) -> bool {
        let passes: FxHashSet<TextRange> = self.forward_passes(value, at).collect();
        self.calls().iter().any(|call| passes.contains(&call.node.range()) && self.records_nothing(call))
    }

    /// Whether a function's parameter is called what the file calls a module that is always made frozen.
    fn is_parameter_for_frozen(&self, forward: &Call<'a>) -> bool {
        let Some(root) = root_name(&forward.node.func) else { return false };
        // Of the function it stands in, or of one around that.
        let around = self.outline().functions.iter().filter(|found| found.node.range().contains_range(forward.range()));
        let parameter = around.into_iter().any(|found| found.node.parameters.includes(root));
        let mut made = self.binds_of(root).filter(|bind| bind.value.is_module()).peekable();
        parameter && made.peek().is_some() && made.all(|bind| bind.value.has(Flags::FROZEN))
    }

    /// Whether a statement of the file switches recording off, and none switches it on again: `torch.set_grad_enabled(False)`
    /// in a constructor. What runs before that is not told either.
    fn is_switched_off_for_good(&self) -> bool {
        let is_off = |call: &Call<'a>| matches!(call.arg(0), Some(Expr::BooleanLiteral(literal)) if !literal.value);
        let is_statement = |call: &Call<'a>| {
            let found = self.statement(call.at.stmt).map(|statement| statement.node);
            matches!(found, Some(Stmt::Expr(whole)) if whole.value.range() == call.node.range())
        };
        let mut switches = self.calls_to("torch.set_grad_enabled").filter(|call| is_statement(call)).peekable();
        switches.peek().is_some() && switches.all(is_off)
    }

    /// Whether a function of the file runs networks, and all of them are frozen: `predict(x)`, which is defined beside
    /// the loop and knows what the functions around it were given.
    fn runs_only_frozen(&self, forward: &Call<'a>) -> bool {
        let Callee::Project(id) = forward.callee else { return false };
        let inside = |call: &&Call<'a>| call.at.function == Some(id.index) && call.callee == Callee::Module;
        let mut passes = self.calls().iter().filter(inside).filter(|_| self.is_own(id)).peekable();
        passes.peek().is_some() && passes.all(|pass| pass.site.is_empty() || self.is_parameter_for_frozen(pass))
    }

    /// Whether the file hands a module, or what it was taken from, to a helper that freezes it: `freeze(model)`, then
    /// `backbone = model.backbone`. Helpers in view are followed, others go by their name.
    fn is_frozen_by_helper(&self, forward: &Call<'a>) -> bool {
        if self.freezers.is_empty() {
            return false;
        }
        let run = self.holder_of(&forward.node.func);
        let taken_from = |bind: &crate::analysis::events::Bind<'a>| {
            let own = bind.at.function == forward.at.function || bind.at.function.is_none();
            let from = bind.value_expr.filter(|value| own && !value.is_call_expr());
            from.map_or("", |value| self.holder_of(value))
        };
        let sources: Vec<&str> = self.binds_of(run).map(taken_from).collect();
        let is_it = |expr: &Expr| {
            let given = self.holder_of(expr);
            !matches!(given, "" | "self") && (given == run || sources.contains(&given))
        };
        self.freezers.iter().map(|index| &self.log.calls[*index as usize]).any(|call| {
            let same_class = !run.starts_with("self.") || self.class_around(&call.at) == self.class_around(&forward.at);
            let on_it = || call.receiver_expr().is_some_and(is_it);
            same_class && (freezing::handed_over(call.node).any(is_it) || on_it())
        })
    }

    /// Whether the file hands what has this name to a helper that freezes it, and never has the same helper put it back.
    #[must_use]
    pub fn is_given_to_freezer(&self, name: &str) -> bool {
        let is_given = |call: &Call<'a>| {
            let mut given = freezing::handed_over(call.node).chain(call.receiver_expr());
            given.any(|expr| self.holder_of(expr) == name)
        };
        self.freezers.iter().map(|index| &self.log.calls[*index as usize]).any(|call| {
            let back = |other: &Call<'a>| !self.is_freezer(other) && is_given(other);
            is_given(call) && !self.calls_named(call.name).any(back)
        })
    }

    /// Whether a loop of the file takes all parameters of what has this name out of training, and none puts them back.
    #[must_use]
    pub fn is_frozen_in_loop(&self, name: &str) -> bool {
        let loops = self.blocks().filter_map(|(_, block)| match block.kind {
            BlockKind::Loop(_, Stmt::For(node)) => {
                freezing::switched_in(node).filter(|module| *module == name).map(|_| node)
            }
            _ => None,
        });
        let mut loops = loops.peekable();
        loops.peek().is_some() && loops.all(|node| freezing::frozen_in(node).is_some())
    }

    /// Whether what runs was converted to whole numbers before: packed weights take no gradient, and nothing is recorded.
    fn is_quantized(&self, forward: &Call<'a>) -> bool {
        let run = self.written(&*forward.node.func);
        ["convert", "quantize", "quantize_dynamic", "convert_fx"].into_iter().any(|name| {
            self.calls_named(name).any(|call| {
                let known = self.full_name(call).is_some_and(|full| full.contains(".quantization."));
                let before = call.at.function != forward.at.function || call.at.order < forward.at.order;
                let in_place =
                    call.keyword_is("inplace", true) && call.arg(0).is_some_and(|arg| self.written(arg) == run);
                let gives = || {
                    let mut binds = self.binds().iter().filter(|bind| self.written(bind.target) == run);
                    binds.any(|bind| bind.value_expr.is_some_and(|value| value.range() == call.node.range()))
                };
                known && before && (in_place || gives())
            })
        })
    }

    /// Whether the model comes whole out of a file, in a program that freezes models: it may have been saved frozen.
    fn is_unpickled(&self, forward: &Call<'a>) -> bool {
        let loads = |expr: &Expr| self.written(expr).starts_with("torch.load(");
        let on = match &*forward.node.func {
            Expr::Attribute(method) if !matches!(&*method.value, Expr::Name(owner) if owner.id.as_str() == "self") => {
                &*method.value
            }
            other => other,
        };
        let loaded = |expr: &Expr| {
            let part = expr.as_subscript_expr().and_then(|part| root_name(&part.value));
            loads(expr) || part.is_some_and(|whole| self.binds_of(whole).filter_map(|bind| bind.value_expr).any(loads))
        };
        // `parameter.requires_grad_(False)` alone is of some parameters.
        let is_module = |name: &&str| name.len() > 1 && !name.starts_with("param");
        let mut bound = self.binds_seen(on, &forward.at).into_iter().filter_map(|bind| bind.value_expr);
        bound.any(loaded) && self.outlines_of_process().iter().any(|file| file.frozen.iter().any(is_module))
    }

    /// Whether what runs is kept by an object that got it from a loader of the project, and that loader takes all
    /// parameters out of training: `kge.model(x)` after `self.model = load_model(path)`.
    fn is_loaded_frozen(&self, forward: &Call<'a>) -> bool {
        let Expr::Attribute(part) = &*forward.node.func else { return false };
        let of_parameter = matches!(&*part.value, Expr::Name(owner) if self.function(&forward.at)
            .is_some_and(|function| function.node.parameters.includes(owner.id.as_str())));
        if !of_parameter || part.value.as_name_expr().is_some_and(|owner| owner.id.as_str() == "self") {
            return false;
        }
        let loads = self.tables.loaded_frozen(part.attr.as_str());
        if loads.is_empty() {
            return false;
        }
        let process = self.tables.files_of_process(self.file);
        loads.iter().any(|load| process.contains(&load.holder) && process.contains(&load.loader))
    }

    /// Whether the last method of the same object that was called before a forward pass, of those that set
    /// `requires_grad` of all the module's parameters, took them out of training: `self.set_model_eval_mode()`.
    fn is_frozen_by_method(&self, forward: &Call<'a>) -> bool {
        let Some(module) = self.holder_of(&forward.node.func).strip_prefix("self.") else { return false };
        let before = self.log.calls.iter().filter(|call| {
            let same = call.at.function == forward.at.function && call.node.end() <= forward.node.start();
            same && matches!(call.receiver_expr(), Some(Expr::Name(name)) if name.id.as_str() == "self")
        });
        let switches = before.filter_map(|call| match call.callee {
            Callee::Project(id) => {
                Some((call.node.start(), freezing::switched_by(self.function_def(id).node, module)?))
            }
            _ => None,
        });
        switches.max_by_key(|(start, _)| *start).is_some_and(|(_, trains)| !trains)
    }

    /// Whether a call takes all of what it is given out of training.
    pub(super) fn is_freezer(&self, call: &Call<'a>) -> bool {
        let by_name = freezing::switches_training(call.name, call.node) == Some(true);
        let Callee::Project(id) = call.callee else { return by_name };
        let function = self.function_def(id).node;
        by_name && (call.receiver.is_some() || freezing::freezes_given(function))
            || freezing::freezes_by_flag(function, call.node)
    }

    /// What holds a module, as written: `model` of `model.backbone.encode`, `self.net` of `self.net.head`.
    fn holder_of(&self, expr: &Expr) -> &str {
        let text = self.written(expr);
        let ends = |rest: &str| rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        match text.strip_prefix("self.") {
            Some(rest) => &text[.."self.".len() + ends(rest)],
            None => &text[..ends(text)],
        }
    }
}
