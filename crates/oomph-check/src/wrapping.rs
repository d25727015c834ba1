//! What becomes of a model in `nn.DataParallel`: whether the wrapper itself is run, and whether it can be.

mod spots;

use crate::analysis::events::{Bind, Call, Callee};
use crate::analysis::value::FunctionId;
use crate::facts::{Effect, Facts, may_only_run};
use crate::python::ast::{Operator, StmtFunctionDef};
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextSize};
use crate::uses::last_name;
use spots::{Path, Spot, assignments_in, calls_in, spots_in};

/// What is known of a wrapper.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    /// Whether it may be run where gradients are recorded, here or out of sight.
    pub(crate) runs: bool,
    /// Whether running it on several cards fails before anything is trained.
    pub(crate) fails: bool,
}

/// Follows what a call of `DataParallel` makes to wherever it is used.
#[must_use]
pub(crate) fn fate_of<'a>(facts: &Facts<'a>, wrapping: &Call<'a>) -> Fate {
    let mut trace = Trace { facts, fate: Fate::default(), seen: Vec::new() };
    match target_of(facts, wrapping).and_then(Path::of) {
        Some(path) if path.is_of_self() => trace.attribute(wrapping, &path),
        Some(path) => trace.local(wrapping, &path),
        None => trace.fate.runs = true,
    }
    trace.fate
}

/// What a wrapper is bound to, moved or switched first: `model` of `model = DataParallel(net).cuda()`.
fn target_of<'a>(facts: &Facts<'a>, wrapping: &Call<'a>) -> Option<&'a Expr> {
    let Stmt::Assign(assign) = facts.statement(wrapping.at.stmt)?.node else { return None };
    let [target] = assign.targets.as_slice() else { return None };
    let mut value = &*assign.value;
    while value.range() != wrapping.node.range() {
        value = match value {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if is_kept_by(&method.attr) => &method.value,
                _ => return None,
            },
            _ => return None,
        };
    }
    Some(target)
}

/// Methods of a module that give the module itself.
fn is_kept_by(method: &str) -> bool {
    matches!(method, "to" | "cuda" | "train" | "eval" | "float" | "half" | "double" | "bfloat16" | "apply" | "cpu")
}

/// Code that sees a wrapper by some path.
#[derive(Clone, Copy)]
struct Scope<'a> {
    body: &'a [Stmt],
    /// The function, where it is not one of the file in view.
    elsewhere: Option<FunctionId>,
    from: TextSize,
    /// Where the path means something else for certain.
    until: Option<TextSize>,
    /// Where it may.
    surely_until: Option<TextSize>,
    /// Whether all of it runs before anything is trained.
    before: bool,
}

impl<'a> Scope<'a> {
    fn of(body: &'a [Stmt], from: TextSize) -> Self {
        Self { body, elsewhere: None, from, until: None, surely_until: None, before: false }
    }
}

struct Trace<'f, 'a> {
    facts: &'f Facts<'a>,
    fate: Fate,
    seen: Vec<(FunctionId, String)>,
}

impl<'a> Trace<'_, 'a> {
    /// A wrapper in `self.model`: every method of the class sees it, and what knows the object may.
    fn attribute(&mut self, wrapping: &Call<'a>, path: &Path) {
        let facts = self.facts;
        let class = facts.class_around(&wrapping.at);
        let mut reads = 0;
        for (index, function) in facts.outline().functions.iter().enumerate() {
            if class.is_none_or(|class| function.class != Some(class.index)) {
                continue;
            }
            let own = wrapping.at.function == Some(index as u32);
            let from = if own { wrapping.node.end() } else { TextSize::default() };
            let scope = Scope::of(&function.node.body, from);
            reads += spots_in(scope.body, path, from).len();
            self.scope(scope, path);
        }
        // Another class, or another file, reads an attribute of that name: perhaps this one.
        self.fate.runs |= facts.attribute_reads(path.last()) as usize > reads;
    }

    /// A wrapper in a name, or in a part of one: seen until the name means something else.
    fn local(&mut self, wrapping: &Call<'a>, path: &Path) {
        let facts = self.facts;
        let from = wrapping.node.end();
        let others = facts.binds_of(path.last()).filter(|bind| {
            let later = bind.at.function == wrapping.at.function && bind.target.start() > from;
            let same = Path::of(bind.target).is_some_and(|target| target == *path);
            let itself = bind.value_expr.is_some_and(|value| path.is_root_of(value) && !is_unwrapped(value));
            later && same && !itself && !facts.are_exclusive(bind.at.block, wrapping.at.block)
        });
        let others: Vec<&Bind<'a>> = others.collect();
        // `model = model.module`: the right-hand side is still of the wrapper.
        let end = |bind: &&&Bind<'a>| facts.statement(bind.at.stmt).map(|found| found.node.end());
        let surely_until = others.iter().filter_map(|bind| end(&bind)).min();
        let always = |bind: &&&Bind<'a>| facts.is_inside(wrapping.at.block, bind.at.block);
        let until = others.iter().filter(always).filter_map(|bind| end(&bind)).min();
        let scope = Scope { until, surely_until, ..Scope::of(facts.body_around(&wrapping.at), from) };
        self.scope(scope, path);
        if let Some(root) = path.root_alone() {
            // The whole goes on, and the wrapped part with it.
            let whole = spots_in(scope.body, &root, from);
            self.fate.runs |= whole.iter().any(|spot| spot.name_is_bare() && spot.range.start() > from);
        }
        if path.is_global_in(scope.body) {
            self.fate.runs = true;
        }
    }

    fn scope(&mut self, scope: Scope<'a>, path: &Path) {
        let spots = spots_in(scope.body, path, scope.from);
        let seen = |spot: &&Spot<'a>| {
            let nested = spot.function.is_some() && wraps_at_top(self.facts, scope);
            (nested || spot.range.start() >= scope.from)
                && scope.until.is_none_or(|until| nested || spot.range.start() < until)
        };
        let seen: Vec<&Spot<'a>> = spots.iter().filter(seen).collect();
        let given: Vec<&str> =
            seen.iter().filter_map(|spot| spot.attribute().filter(|_| spot.part_is_bound())).collect();
        for spot in &seen {
            self.spot(scope, path, spot, &given);
        }
    }

    fn spot(&mut self, scope: Scope<'a>, path: &Path, spot: &Spot<'a>, given: &[&str]) {
        if let Some(call) = spot.pass() {
            self.pass(scope, path, spot, call);
            return;
        }
        if let Some(attribute) = spot.attribute() {
            let sure = !spot.is_guarded && scope.surely_until.is_none_or(|until| spot.range.start() < until);
            let foreign = sure && !is_of_module(attribute) && !given.contains(&attribute);
            self.fate.fails |= foreign && self.is_before_backward(scope, spot);
            return;
        }
        if let Some(call) = spot.given_to() {
            self.handed_on(scope, spot, call);
            return;
        }
        match (spot.around.first(), spot.stmt) {
            (None, Stmt::Assign(assign)) => match assign.targets.as_slice() {
                [Expr::Name(name)] => {
                    let alias = Path::of_name(name.id.as_str());
                    let body = spot.function.map_or(scope.body, |function| &function.body);
                    if alias != *path {
                        self.scope(
                            Scope { body, from: spot.range.end(), until: None, surely_until: None, ..scope },
                            &alias,
                        );
                    }
                }
                _ => self.fate.runs = true,
            },
            (None, Stmt::Expr(_)) | (Some(Expr::Compare(_) | Expr::UnaryOp(_)), _) => {}
            _ => self.fate.runs = true,
        }
    }

    /// `model(x)`.
    fn pass(&mut self, scope: Scope<'a>, path: &Path, spot: &Spot<'a>, call: &'a ExprCall) {
        let body = spot.function.map_or(scope.body, |function| &function.body);
        self.fate.fails |= goes_back_as_it_is(body, path);
        self.fate.runs |= if let Some(id) = scope.elsewhere {
            let name = self.facts.function_def(id).node.name.as_str();
            self.facts.summary(id).is_some_and(|summary| summary.calls_backward) || !may_only_run(name)
        } else {
            let found = self.facts.calls().iter().find(|found| found.node.range() == call.range());
            found.is_none_or(|found| {
                let goes_back = self.facts.effects_of(Effect::Backward, found.at.function).next().is_some();
                let evaluates = !goes_back && may_only_run(self.facts.function_name(&found.at));
                !found.at.grad.is_off() && !evaluates
            })
        };
    }

    /// `train(model)`: into the function, where it is one of the project.
    fn handed_on(&mut self, scope: Scope<'a>, spot: &Spot<'a>, call: &'a ExprCall) {
        let name = last_name(&call.func).unwrap_or_default();
        let looks = only_looks(name) || may_only_run(name);
        let found = self.facts.calls().iter().find(|found| found.node.range() == call.range());
        let callee = found.filter(|_| scope.elsewhere.is_none()).map(|found| found.callee);
        let Some(Callee::Project(id)) = callee else {
            self.fate.runs |= !looks;
            return;
        };
        let node = self.facts.function_def(id).node;
        let Some(parameter) = parameter_for(node, call, spot) else {
            self.fate.runs |= !looks;
            return;
        };
        if self.seen.iter().any(|(function, given)| *function == id && given == parameter) {
            return;
        }
        self.seen.push((id, parameter.to_owned()));
        let elsewhere = (!self.facts.is_own(id)).then_some(id);
        let before = scope.before || !spot.is_guarded && self.is_before_backward(scope, spot);
        let inner = Scope { elsewhere, before, ..Scope::of(&node.body, TextSize::default()) };
        let runs = self.fate.runs;
        self.scope(inner, &Path::of_name(parameter));
        if looks {
            self.fate.runs = runs;
        }
    }

    /// Whether a failure here comes before anything is trained: in the function that goes back, before it does.
    fn is_before_backward(&self, scope: Scope<'a>, spot: &Spot<'a>) -> bool {
        if scope.before {
            return true;
        }
        if let Some(id) = scope.elsewhere {
            return self.facts.summary(id).is_some_and(|summary| summary.calls_backward);
        }
        let function = self.facts.statement_id(spot.stmt).and_then(|id| self.facts.statement(id));
        let function = function.and_then(|found| self.facts.block(found.block).function);
        let passes = self.facts.effects_of(Effect::Backward, function).map(|pass| pass.node.start());
        passes.filter(|pass| *pass > scope.from).min().is_some_and(|first| first > spot.range.start())
    }
}

/// Whether a scope is the file itself: its functions see the name too, whenever they are called.
fn wraps_at_top(facts: &Facts<'_>, scope: Scope<'_>) -> bool {
    scope.elsewhere.is_none() && std::ptr::eq(scope.body, facts.source.body())
}

/// `model.module`, `model.module.net`.
fn is_unwrapped(expr: &Expr) -> bool {
    match expr {
        Expr::Attribute(node) => node.attr.as_str() == "module" || is_unwrapped(&node.value),
        Expr::Call(call) => is_unwrapped(&call.func),
        _ => false,
    }
}

/// Whether a function only looks at a model, or at its weights.
fn only_looks(name: &str) -> bool {
    const WORDS: &[&str] =
        &["print", "save", "summary", "param", "count", "flops", "unwrap", "load", "checkpoint", "restore", "log"];
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "isinstance" | "hasattr" | "getattr" | "len" | "type" | "str" | "repr" | "id" | "info")
        || WORDS.iter().any(|word| name.contains(word))
}

/// Whether `DataParallel` has an attribute: all others it refuses, those of what it wraps too.
fn is_of_module(attribute: &str) -> bool {
    const OWN: &[&str] = &[
        "module",
        "device_ids",
        "output_device",
        "dim",
        "src_device_obj",
        "replicate",
        "scatter",
        "parallel_apply",
        "gather",
        "forward",
        "training",
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "children",
        "named_children",
        "modules",
        "named_modules",
        "requires_grad_",
        "zero_grad",
        "share_memory",
        "extra_repr",
        "xpu",
        "type",
        "to_empty",
        "state_dict",
        "load_state_dict",
        "add_module",
        "get_parameter",
        "get_submodule",
        "set_submodule",
        "get_buffer",
        "get_extra_state",
        "set_extra_state",
        "compile",
        "ipu",
        "mtia",
        "dump_patches",
    ];
    is_kept_by(attribute)
        || OWN.contains(&attribute)
        || attribute.starts_with('_')
        || attribute.starts_with("register_")
}

/// The parameter that takes an argument of a call.
fn parameter_for<'n>(node: &'n StmtFunctionDef, call: &ExprCall, spot: &Spot<'_>) -> Option<&'n str> {
    let keyword = call.arguments.keywords.iter().find(|keyword| keyword.value.range() == spot.range);
    let mut parameters = node.parameters.iter_non_variadic_params().map(|parameter| parameter.name().as_str());
    if let Some(keyword) = keyword {
        let wanted = keyword.arg.as_ref()?.as_str();
        return parameters.find(|name| *name == wanted);
    }
    let index = call.arguments.args.iter().position(|arg| arg.range() == spot.range)?;
    if call.arguments.args[..index].iter().any(Expr::is_starred_expr) {
        return None;
    }
    let mut parameters = parameters.skip_while(|name| matches!(*name, "self" | "cls"));
    parameters.nth(index)
}

/// Whether a function goes back from what the wrapper gave, as it is: from several cards that is one number each, and
/// torch refuses to go back from more than one.
fn goes_back_as_it_is(body: &[Stmt], path: &Path) -> bool {
    let assigned = assignments_in(body);
    calls_in(body).into_iter().any(|call| {
        let Expr::Attribute(method) = &*call.func else { return false };
        if method.attr.as_str() != "backward" || !call.arguments.args.is_empty() {
            return false;
        }
        let from = match &*method.value {
            // `scaler.scale(loss).backward()`.
            Expr::Call(scaled) if last_name(&scaled.func) == Some("scale") => scaled.arguments.args.first(),
            other => Some(other),
        };
        from.is_some_and(|from| is_given_by(from, path, &assigned, 4))
    })
}

/// Whether an expression is what the wrapper gave, a part of it, or that times a number.
fn is_given_by<'a>(expr: &'a Expr, path: &Path, assigned: &[(&'a str, &'a Expr)], hops: u32) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return false };
    let given = |expr: &'a Expr| is_given_by(expr, path, assigned, hops);
    match expr {
        Expr::Call(call) => path.is(&call.func),
        Expr::Attribute(node) => given(&node.value),
        Expr::Subscript(node) => given(&node.value),
        Expr::BinOp(node) => matches!(node.op, Operator::Div | Operator::Mult) && given(&node.left),
        Expr::Name(node) => {
            let name = node.id.as_str();
            let mut values = assigned.iter().filter(|(target, _)| *target == name).peekable();
            // `loss = loss / 4` is as wide as it was.
            let scales = |value: &'a Expr| match value {
                Expr::BinOp(scaled) => matches!(&*scaled.left, Expr::Name(left) if left.id.as_str() == name),
                _ => false,
            };
            values.peek().is_some()
                && values.clone().any(|(_, value)| given(value))
                && values.all(|(_, value)| scales(value) || given(value))
        }
        _ => false,
    }
}
