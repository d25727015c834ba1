//! Where networks come from: classes in view, libraries that are known, or packages of which nothing is known.

use super::{Effect, Facts};
use crate::analysis::events::{At, Bind, Call};
use crate::analysis::outline::Usage;
use crate::analysis::value::Kind;
use crate::python::{Expr, Ranged, Stmt, root_name};
use crate::uses::last_name;

/// Packages whose networks have parameters that train, and record every pass unless somebody switches that off; those
/// that build what the project's own settings name; and what comes with Python.
const KNOWN: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "timm",
    "transformers",
    "pytorch_transformers",
    "pytorch_pretrained_bert",
    "pytorch_pretrained_vit",
    "sentence_transformers",
    "diffusers",
    "peft",
    "adapters",
    "segmentation_models_pytorch",
    "efficientnet_pytorch",
    "pretrainedmodels",
    "monai",
    "torch_geometric",
    "dgl",
    "open_clip",
    "clip",
    "vit_pytorch",
    "x_transformers",
    "einops",
    "facenet_pytorch",
    "resnest",
    "esm",
    "lightning",
    "pytorch_lightning",
    "hydra",
    "importlib",
    "pickle",
    "joblib",
    "dill",
    "copy",
];

impl<'a> Facts<'a> {
    /// Whether the network of a forward pass comes from a package that is neither in view nor known, and nothing in view
    /// trains it: it may come frozen, or switch recording off in its own pass.
    #[must_use]
    pub fn is_out_of_view(&self, forward: &Call<'a>) -> bool {
        let on = match &*forward.node.func {
            Expr::Attribute(method) if self.binds_seen(&forward.node.func, &forward.at).is_empty() => &*method.value,
            other => other,
        };
        self.is_foreign(on, &forward.at, 2)
    }

    /// Whether all that an expression is bound to was made by such packages; a parameter is what callers give.
    fn is_foreign(&self, on: &Expr, at: &At, hops: u32) -> bool {
        if self.is_trained_as(on) {
            return false;
        }
        if on.is_call_expr() {
            return self.maker_of(on).is_some_and(|maker| self.is_foreign_name(maker));
        }
        let binds = self.binds_seen(on, at);
        let mut made = binds.iter().filter_map(|bind| self.maker_of_bound(bind, on)).peekable();
        if made.peek().is_some() {
            return made.all(|maker| self.is_foreign_name(maker));
        }
        let (Expr::Name(name), Some(function), true) = (on, self.function(at), hops > 0) else { return false };
        let parameters = &function.node.parameters;
        let mut places = parameters.posonlyargs.iter().chain(&parameters.args);
        let place = places.position(|parameter| parameter.parameter.name.as_str() == name.id.as_str());
        let mut given = self.callers_of(at).filter(|call| call.at.function != at.function).peekable();
        given.peek().is_some()
            && given.all(|call| {
                let argument = call.keyword(name.id.as_str()).or_else(|| call.node.arguments.args.get(place?));
                argument.is_some_and(|argument| self.is_foreign(argument, &call.at, hops - 1))
            })
    }

    /// The full name of what made the thing that a binding binds; `None` where it is the same thing in another form, as
    /// in `net = net.to(device)` and `net = Parallel(net)`.
    pub(super) fn maker_of_bound(&self, bind: &Bind<'a>, on: &Expr) -> Option<&str> {
        let whole = match self.statement(bind.at.stmt).map(|statement| statement.node) {
            Some(Stmt::Assign(assign)) => Some(&*assign.value),
            _ => None,
        };
        let value = bind.value_expr.or(whole)?;
        let same = |expr: &Expr| last_name(expr) == last_name(on);
        let again = match value {
            Expr::Call(call) => root_name(&call.func) == root_name(on) || call.arguments.args.first().is_some_and(same),
            other => same(other),
        };
        if again { None } else { self.maker_of(value) }
    }

    /// The full name of what a chain of calls begins with; the empty name where something in view does, `None` for `None`.
    fn maker_of(&self, value: &Expr) -> Option<&str> {
        let mut expr = value;
        loop {
            let Expr::Call(call) = expr else { return (!expr.is_none_literal_expr()).then_some("") };
            // `Net().to(device)`; a name before the dot is a package or a class.
            if let Expr::Attribute(method) = &*call.func
                && method.value.is_call_expr()
            {
                expr = &method.value;
                continue;
            }
            let found = self.call_at(expr).and_then(|call| self.full_name(call)).unwrap_or_default();
            // `maybe_cuda(get_model())` gives what it is given.
            match call.arguments.args.first() {
                Some(inner @ Expr::Call(_)) if self.is_foreign_name(found) => expr = inner,
                _ => return Some(found),
            }
        }
    }

    /// Whether a full name is of a package that is neither known nor in view.
    pub(super) fn is_foreign_name(&self, full: &str) -> bool {
        self.is_out_of_project(full) && self.is_of_package(full)
    }

    /// Whether a full name is of a file beside this one that was left out.
    pub(super) fn is_missing_name(&self, full: &str) -> bool {
        self.is_out_of_project(full) && !self.is_of_package(full)
    }

    /// Whether a full name is of a package, not of a file beside this one: `from net import Net` is, unless the script puts
    /// other folders on the path.
    fn is_of_package(&self, full: &str) -> bool {
        let (root, rest) = full.split_once('.').unwrap_or((full, ""));
        let mut paths = self.calls_to("sys.path.append").chain(self.calls_to("sys.path.insert"));
        let whole = || self.outline().imports.values().any(|import| import == root);
        rest.contains('.') || whole() || paths.next().is_some()
    }

    fn is_out_of_project(&self, full: &str) -> bool {
        let Some((root, _)) = full.split_once('.') else { return false };
        let in_view = |module: &str| module.split('.').any(|part| part == root);
        !is_known_name(full) && !self.tables.outlines.iter().any(|outline| in_view(&outline.module))
    }

    /// Whether the program trains what goes by a name: it is switched to training, or an optimizer has its parameters.
    pub(super) fn is_trained_as(&self, on: &Expr) -> bool {
        let Some(name) = last_name(on) else { return false };
        let mut optimizers = self.calls().iter().filter(|call| call.result.kind == Kind::Optimizer);
        let named = |call: &Call<'a>| call.arg(0).is_some_and(|arg| self.mentions_word(arg.range(), name));
        let switched = || self.outlines_of_process().iter().any(|outline| outline.usage(name).any(Usage::TRAIN));
        let goes_back = || self.effects(Effect::Backward).next().is_some();
        optimizers.any(named) || switched() && goes_back()
    }
}

/// Whether a full name is of a package that is known.
pub(super) fn is_known_name(full: &str) -> bool {
    full.split('.').next().is_some_and(|root| KNOWN.contains(&root))
}
