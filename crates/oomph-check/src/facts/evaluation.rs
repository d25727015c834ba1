//! What looks like evaluation: names of functions, and modules switched to `eval()` here or for good.

use super::{Effect, Facts};
use crate::analysis::events::{At, Bind, BlockKind, Call, Callee};
use crate::analysis::value::{Graph, Kind, Value};
use crate::python::{Expr, Ranged, Stmt, root_name};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Whether the function a point is in is evaluation, by its name or because it switches a module to `eval()`.
    #[must_use]
    pub fn looks_like_evaluation(&self, at: &At) -> bool {
        self.is_called_evaluation(at) || self.eval_call(at).is_some()
    }

    /// Whether the function a point is in is evaluation by its name.
    #[must_use]
    pub fn is_called_evaluation(&self, at: &At) -> bool {
        says_evaluation(self.function_name(at))
    }

    /// The call that switches the module of a forward pass to evaluation before it in the same function, or another one.
    #[must_use]
    pub fn eval_before(&self, forward: &Call<'a>) -> Option<&Call<'a>> {
        let last = self.eval_call(&forward.at)?;
        let own = self.calls_named("eval").filter(|eval| {
            let before = eval.at.function == last.at.function && eval.at.order <= last.at.order;
            before && eval.node.arguments.is_empty() && self.is_eval_of(eval, forward)
        });
        Some(own.last().unwrap_or(last))
    }

    /// The call that switches a module to evaluation before a point of the same function.
    #[must_use]
    pub fn eval_call(&self, at: &At) -> Option<&Call<'a>> {
        let before = |call: &&Call<'a>| call.at.function == at.function && call.at.order < at.order;
        // A base class makes nothing where another makes the model.
        let module = |call: &&Call<'a>| {
            let kind = call.receiver.as_ref().map(|value| value.kind);
            call.node.arguments.is_empty()
                && matches!(kind, Some(Kind::Module | Kind::Unknown | Kind::None | Kind::Instance(_)))
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
        let called = self.source.slice(forward.runs().range());
        let function = self.function(&forward.at)?;
        let prepares = |at: &At| match self.function(at) {
            None => !called.starts_with("self.") && self.is_global_in(forward.runs(), &forward.at),
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

    /// Whether what a function calls is the file's, not a parameter or a name of its own; a parameter that the file gives
    /// what it calls so is both.
    fn is_global_in(&self, func: &Expr, at: &At) -> bool {
        let (Some(root), Some(function)) = (root_name(func), self.function(at)) else { return true };
        let given = |call: &Call<'a>| {
            let index = at.function;
            let is_it = matches!(call.callee, Callee::Project(id) if self.is_own(id) && Some(id.index) == index);
            is_it && call.node.arguments.args.iter().any(|arg| root_name(arg) == Some(root))
        };
        let parameter = function.node.parameters.iter().any(|parameter| parameter.name().as_str() == root);
        if parameter {
            return self.calls().iter().any(given);
        }
        !self.binds_of(root).any(|bind| bind.at.function == at.function && bind.target.is_name_expr())
    }

    /// Whether an `eval()` is of the module of a forward pass, or of what that was made from.
    #[must_use]
    pub fn is_eval_of(&self, eval: &Call<'a>, forward: &Call<'a>) -> bool {
        let Some(root) = root_name(forward.runs()) else { return true };
        let from = |text: &str| {
            let first = text.split(['.', '[', '(']).next().unwrap_or(text);
            let wraps = |bind: &Bind<'a>| {
                bind.at.function == forward.at.function
                    && bind.value_expr.is_some_and(|value| self.mentions_word(value.range(), first))
            };
            first == root || self.binds_of(root).any(wraps)
        };
        // `for net in nets: net.eval()` switches what others are called by.
        let walked = || {
            eval.receiver_expr().is_some_and(|expr| matches!(expr, Expr::Name(_)))
                && self.loops(&eval.at).next().is_some()
        };
        // `net = Net().eval().cuda()`.
        let bound = match self.statement(eval.at.stmt).map(|statement| statement.node) {
            Some(Stmt::Assign(assign)) => assign.targets.iter().any(|target| root_name(target) == Some(root)),
            _ => false,
        };
        bound || self.modules_of(eval).any(from) || walked()
    }

    /// Whether the file calls the function a point is in under `no_grad`: always, as far as it can be told, or now and
    /// then.
    #[must_use]
    pub fn is_called_without_gradients(&self, at: &At, always: bool) -> bool {
        let name = self.function_name(at);
        let names = std::iter::once(name).chain(self.other_names_of(name));
        let calls = names.flat_map(|name| self.calls_named(name));
        let mut calls = calls.filter(|call| call.at.function != at.function).peekable();
        if name.is_empty() || calls.peek().is_none() {
            return false;
        }
        // `Evaluator(loader, eval_func=lambda x: evaluate(model, x))`: who calls that later decides.
        let is_later = |call: &Call<'a>| {
            let mut around = self.blocks_around(&call.at);
            around.any(|(_, block)| matches!(block.kind, BlockKind::Lambda))
        };
        let off = |call: &Call<'a>| call.at.grad.is_off() || is_later(call);
        if always { calls.all(off) } else { calls.any(|call| call.at.grad.is_off()) }
    }

    /// Other names that the file gives a function: `evaluate = eval_f1 if counted else eval_accuracy`.
    fn other_names_of<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'a str> + 'f {
        let is_it = move |expr: &Expr| matches!(expr, Expr::Name(node) if node.id.as_str() == name);
        self.binds().iter().filter_map(move |bind| {
            let given = match bind.value_expr? {
                Expr::If(either) => is_it(&either.body) || is_it(&either.orelse),
                other => is_it(other),
            };
            match bind.target {
                Expr::Name(other) if given && other.id.as_str() != name => Some(other.id.as_str()),
                _ => None,
            }
        })
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

    /// Whether a function takes plain data out of what a forward pass made: classes, numbers, lists.
    #[must_use]
    pub fn takes_data_out(&self, forward: &Call<'a>) -> bool {
        let takes = |call: &Call<'a>| {
            let mut inputs = call.receiver.iter().chain(call.values());
            call.at.function == forward.at.function && inputs.any(|value| value.sources.overlap(forward.site))
        };
        // `_, classes = scores.max(1)`.
        let picks = |call: &Call<'a>| match self.statement(call.at.stmt).map(|found| found.node) {
            Some(Stmt::Assign(assign)) => {
                let pair = |target: &Expr| target.as_tuple_expr().is_some_and(|pair| pair.elts.len() == 2);
                assign.value.range() == call.node.range() && assign.targets.iter().all(pair)
            }
            _ => false,
        };
        ["item", "tolist", "argmax", "topk", "detach", "numpy", "multinomial"]
            .into_iter()
            .any(|name| self.calls_named(name).any(takes))
            || self.calls_named("max").any(|call| takes(call) && picks(call))
    }

    /// Whether a method of a module turns what another part of it gave into an array as it is: `self.head(x)`.
    fn is_output_of_part(&self, call: &Call<'a>, value: &Value) -> bool {
        let (Some(on), true) = (call.receiver_expr(), value.kind == Kind::Unknown) else { return false };
        let written = self.source.slice(on.range());
        let plain = !["detach", ".data", "arg", "max", "int", "long", "bool"].iter().any(|word| written.contains(word));
        let Some(root) = root_name(on).filter(|_| plain && self.class_kind(&call.at).is_module()) else { return false };
        let given = |expr: &Expr| match expr {
            Expr::Call(call) => matches!(&*call.func, Expr::Attribute(part) if last_name(&part.value) == Some("self")),
            _ => false,
        };
        let mut binds = self.binds_of(root).filter(|bind| bind.at.function == call.at.function);
        binds.any(|bind| bind.value_expr.is_some_and(given) || self.unpacks(bind, given))
    }

    /// Whether a binding is one of several names that an assignment gives parts of such a value.
    fn unpacks(&self, bind: &Bind<'a>, given: impl Fn(&Expr) -> bool) -> bool {
        match self.statement(bind.at.stmt).map(|statement| statement.node) {
            Some(Stmt::Assign(assign)) => given(&assign.value),
            _ => false,
        }
    }

    /// Whether the function of a forward pass turns something with a graph into an array as it is: torch refuses that,
    /// so whoever calls the function must have switched gradients off.
    #[must_use]
    pub fn fails_with_gradients(&self, forward: &Call<'a>) -> bool {
        self.calls_named("numpy").any(|call| {
            // The body of a file is many things; there only what this pass made counts.
            let made = |value: &Value| {
                let here = call.at.function.is_some() || value.sources.overlap(forward.site);
                // What a guess at a module gave in a function is as good as any other output there.
                let output = call.at.function.is_some() && !value.sources.sites().is_empty();
                here && (value.graph >= Graph::Likely || output && value.graph == Graph::Possible)
            };
            let receiver = call.receiver.as_ref();
            call.at.function == forward.at.function
                && (receiver.is_some_and(made) || receiver.is_some_and(|value| self.is_output_of_part(call, value)))
        }) || self.goes_to_numpy(&forward.result, &forward.at)
    }
}

/// Whether a function of this name evaluates.
pub(crate) fn says_evaluation(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["eval", "valid", "predict", "infer", "extract_feat", "get_feat"];
    let whole_words = |word: &str| matches!(word, "val" | "dev" | "calibrate" | "estimate" | "perplexity" | "score");
    // `test_dataloader` is a test of a loader; `test`, `test_epoch` and `run_test` are evaluation.
    let tests = name == "test" || name.ends_with("_test") || name.starts_with("test_") && name.contains("epoch");
    let named = tests || words.iter().any(|word| name.contains(word)) || name.split('_').any(whole_words);
    // `score_matching_loss` is what a model is trained by.
    let trains = name.contains("train") || name.ends_with("loss") || name.ends_with("objective");
    named && !trains
}

/// Whether a function of this name may run a model without training it: evaluation, or something like it.
pub(crate) fn may_only_run(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = ["test", "extract", "visual", "sample"];
    says_evaluation(name) || !lower.contains("train") && words.iter().any(|word| lower.contains(word))
}
