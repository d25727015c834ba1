//! What looks like evaluation: names of functions, and modules switched to `eval()` here or for good.

use super::{Effect, Facts};
use crate::analysis::events::{At, Call, Callee};
use crate::analysis::value::{Graph, Kind, Value};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::{Expr, Ranged, Stmt};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Whether the function a point is in is evaluation, by its name or because it switches a module to `eval()`.
    #[must_use]
    pub fn looks_like_evaluation(&self, at: &At) -> bool {
        let name = self.function_name(at).to_ascii_lowercase();
        let words = ["eval", "valid", "predict", "infer", "extract_feat", "get_feat"];
        let whole_words =
            |word: &str| matches!(word, "val" | "dev" | "calibrate" | "estimate" | "perplexity" | "score");
        // `test_dataloader` is a test of a loader; `test`, `test_epoch` and `run_test` are evaluation.
        let tests = name == "test" || name.ends_with("_test") || name.starts_with("test_") && name.contains("epoch");
        let by_name = (tests || words.iter().any(|word| name.contains(word)) || name.split('_').any(whole_words))
            && !name.contains("train");
        by_name || self.eval_call(at).is_some()
    }

    /// The call that switches a module to evaluation before a point of the same function.
    #[must_use]
    pub fn eval_call(&self, at: &At) -> Option<&Call<'a>> {
        let before = |call: &&Call<'a>| call.at.function == at.function && call.at.order < at.order;
        let module = |call: &&Call<'a>| {
            let kind = call.receiver.as_ref().map(|value| value.kind);
            call.node.arguments.is_empty() && matches!(kind, Some(Kind::Module | Kind::Unknown | Kind::Instance(_)))
        };
        let evals = self.calls_named("eval").filter(before).filter(module).last()?;
        let back = |call: &Call<'a>| call.at.order > evals.at.order && self.is_always_before(&call.at, at);
        let trains = self.calls_named("train").filter(before).any(back);
        (!trains).then_some(evals)
    }

    /// The `eval()` that switches the module of a forward pass for good: in the constructor for `self.net(x)`, at the
    /// top of the file for `net(x)`. Nothing in the file trains.
    #[must_use]
    pub fn lasting_eval(&self, forward: &Call<'a>) -> Option<&Call<'a>> {
        let called = self.source.slice(forward.node.func.range());
        let function = self.function(&forward.at)?;
        let prepares = |at: &At| match self.function(at) {
            None => !called.starts_with("self."),
            Some(other) => {
                let name = other.node.name.as_str();
                let makes =
                    name == "__init__" || ["load", "setup", "init", "build"].iter().any(|word| name.contains(word));
                makes && called.starts_with("self.") && other.class.is_some() && other.class == function.class
            }
        };
        // A helper of the same object runs a module that may have another name.
        let helper = matches!(forward.callee, Callee::Project(_)) && called.starts_with("self.");
        let module = |text: &str| {
            helper && text.starts_with("self.")
                || called == text
                || called.strip_prefix(text).is_some_and(|rest| rest.starts_with('.'))
        };
        let found = self
            .calls_named("eval")
            .find(|eval| eval.node.arguments.is_empty() && prepares(&eval.at) && self.modules_of(eval).any(module))?;
        let trains = self.calls_named("train").next().is_some() || self.effects(Effect::Backward).next().is_some();
        (!trains).then_some(found)
    }

    /// What `x.to(device).eval()` is called on, and what its result is bound to, as written.
    fn modules_of(&self, eval: &Call<'a>) -> impl Iterator<Item = &str> {
        let mut receiver = eval.receiver_expr();
        while let Some(Expr::Call(call)) = receiver {
            receiver = match &*call.func {
                Expr::Attribute(method) => Some(&method.value),
                _ => None,
            };
        }
        let targets = match self.statement(eval.at.stmt).map(|statement| statement.node) {
            Some(Stmt::Assign(assign)) if assign.value.range().end() == eval.range().end() => &assign.targets[..],
            _ => &[],
        };
        receiver.into_iter().chain(targets).map(|expr| self.source.slice(expr.range()))
    }

    /// Whether the module's own `forward` may switch gradients off: `if mode == "inference": with torch.no_grad(): ...`.
    #[must_use]
    pub fn switches_itself_off(&self, forward: &Call<'a>) -> bool {
        struct Search(bool);
        impl<'n> SourceOrderVisitor<'n> for Search {
            fn visit_expr(&mut self, expr: &'n Expr) {
                self.0 |= matches!(last_name(expr), Some("no_grad" | "inference_mode" | "set_grad_enabled"));
                walk_expr(self, expr);
            }
        }
        let class = self.binds_seen(&forward.node.func, &forward.at).iter().find_map(|bind| bind.value.class);
        let Some(id) = class.and_then(|class| self.tables().method(class, "forward")) else { return false };
        let mut search = Search(false);
        walk_body(&mut search, &self.function_def(id).node.body);
        search.0
    }

    /// Whether a function takes plain data out of what a forward pass made: classes, numbers, lists.
    #[must_use]
    pub fn takes_data_out(&self, forward: &Call<'a>) -> bool {
        ["item", "tolist", "argmax", "topk", "detach", "numpy"].into_iter().any(|name| {
            self.calls_named(name).any(|call| {
                let mut inputs = call.receiver.iter().chain(call.values());
                call.at.function == forward.at.function && inputs.any(|value| value.sources.overlap(forward.site))
            })
        })
    }

    /// Whether the function of a forward pass turns something with a graph into an array as it is: torch refuses that,
    /// so whoever calls the function must have switched gradients off.
    #[must_use]
    pub fn fails_with_gradients(&self, forward: &Call<'a>) -> bool {
        self.calls_named("numpy").any(|call| {
            // The body of a file is many things; there only what this pass made counts.
            let made = |value: &Value| {
                let here = call.at.function.is_some() || value.sources.overlap(forward.site);
                value.graph >= Graph::Likely && here
            };
            call.at.function == forward.at.function && call.receiver.as_ref().is_some_and(made)
        })
    }
}
