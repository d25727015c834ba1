//! Calls that torch refuses, whatever they are given.

use super::Cause;
use crate::analysis::outline::{Usage, dotted};
use crate::facts::Facts;
use crate::python::ast::{ExprCall, StmtClassDef, StmtFunctionDef};
use crate::python::{Expr, Ranged};
use crate::uses::last_name;

/// Modules that have the name of something that can be called, or are named for what is in them.
const MODULES: &[&str] = &[
    "torch",
    "torch.amp",
    "torch.autograd",
    "torch.backends.cudnn",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.distributed",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.parallel",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torchvision.datasets",
    "torchvision.models",
    "torchvision.transforms",
];

impl Facts<'_> {
    /// Why a call raises whenever it runs, where torch has nothing of the name, or nothing that can be called so;
    /// `is_import` says whether the name it begins with may be torch's.
    pub(super) fn refused_by_torch(&self, call: &ExprCall, is_import: bool) -> Option<Cause> {
        let text = if let Some(full) = self.library_name(&call.func).filter(|_| is_import) {
            if MODULES.contains(&full.as_str()) {
                format!("`{full}` is a module, and cannot be called")
            } else if call.arguments.is_empty() && full.starts_with("torch.nn.functional.") {
                format!("`{full}` needs arguments")
            } else {
                return None;
            }
        } else {
            let method = call.func.as_attribute_expr()?;
            let name = method.attr.as_str();
            if !is_slip_of_zero_grad(name) || !self.is_optimizer(&method.value) || self.defines(name) {
                return None;
            }
            format!("an optimizer has no `{name}`")
        };
        Some(Cause { range: call.range(), text: format!("{text}: this raises whenever it runs") })
    }

    /// The full name of something of torch.
    fn library_name(&self, func: &Expr) -> Option<String> {
        let root = crate::python::root_name(func)?;
        let imported = self.outline().imports.get(root)?;
        imported.starts_with("torch").then(|| dotted(func)).flatten().map(|name| self.outline().full_name(&name))
    }

    /// Whether something is stepped and cleared as optimizers are.
    fn is_optimizer(&self, on: &Expr) -> bool {
        let usage = last_name(on).map(|name| self.outline().usage(name)).unwrap_or_default();
        usage.any(Usage::STEP) && usage.any(Usage::ZERO_GRAD)
    }

    /// Whether a function or method of the project has a name.
    fn defines(&self, name: &str) -> bool {
        let mut functions = self.tables.outlines.iter().flat_map(|outline| &outline.functions);
        functions.any(|function| function.node.name.as_str() == name)
    }

    /// Whether some class of the project inherits from one, by its name.
    pub(super) fn has_heirs(&self, node: &StmtClassDef) -> bool {
        let mut classes = self.tables.outlines.iter().flat_map(|outline| &outline.classes);
        classes.any(|class| class.bases.iter().any(|base| base.rsplit('.').next() == Some(node.name.as_str())))
    }

    /// Whether a parameter is `True` unless told otherwise, and no call in view tells it otherwise.
    pub(super) fn is_on_as_called(&self, function: &StmtFunctionDef, name: &str) -> bool {
        let on = |expr: &Expr| expr.as_boolean_literal_expr().is_some_and(|literal| literal.value);
        let mut parameters = function.parameters.iter_non_variadic_params();
        let own = parameters.find(|parameter| parameter.name().as_str() == name);
        let default = own.and_then(|own| own.default.as_deref()).is_some_and(on);
        let bound = || self.binds_of(name).next().is_some();
        default
            && !bound()
            && self.arguments_for(name, None).into_iter().all(on)
            && self.keywords_given(name).into_iter().all(on)
    }
}

/// `zero_grade`, `zerograd`, `zero_grads`: what a hand makes of `zero_grad`.
fn is_slip_of_zero_grad(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    name != "zero_grad" && (plain.starts_with("zerogr") || plain.starts_with("zerosgr") || plain == "zerogard")
}
