//! What becomes of a model in `nn.DataParallel`: whether the wrapper itself is run, and whether it can be.

pub(crate) mod cards;
mod losses;
mod spots;

use crate::analysis::events::{Bind, Call, Callee};
use crate::analysis::outline::Usage;
use crate::analysis::value::{ClassId, FunctionId};
use crate::facts::{Effect, Facts, may_only_run};
use crate::python::ast::{ExprIf, StmtFunctionDef};
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange, TextSize, root_name};
use crate::uses::last_name;
use losses::goes_back_as_it_is;
use spots::{Path, Spot, assignments_in, calls_in, spots_in};

/// What is known of a wrapper.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    /// Whether it may be run where gradients are recorded, here or out of sight.
    pub(crate) runs: bool,
    /// Whether it is seen to be: the wrapper itself is called, near a backward pass.
    pub(crate) is_seen: bool,
    /// Whether running it on several cards fails before anything is trained.
    pub(crate) fails: bool,
}

/// Follows what a call of `DataParallel` makes to wherever it is used.
#[must_use]
pub(crate) fn fate_of<'a>(facts: &Facts<'a>, wrapping: &Call<'a>) -> Fate {
    let mut trace = Trace { facts, fate: Fate::default(), seen: Vec::new(), scopes: 0 };
    let Some(made) = made_by(facts, wrapping) else {
        return Fate { runs: true, ..Fate::default() };
    };
    let scope = Scope {
        function: wrapping.at.function,
        ..Scope::of(facts.body_around(&wrapping.at), facts.file_index(), made.range.end())
    };
    match bound_by(&made).and_then(Path::of) {
        Some(path) if path.is_of_self() => trace.attribute(scope, &path),
        Some(path) => trace.local(wrapping, &path),
        None => trace.spot(scope, &Path::of_name(""), &made, &[]),
    }
    trace.fate
}

/// Where a wrapper stands once it is moved, switched or chosen: all of `DataParallel(net).cuda() if many else net`.
fn made_by<'a>(facts: &Facts<'a>, wrapping: &Call<'a>) -> Option<Spot<'a>> {
    let stmt = facts.statement(wrapping.at.stmt)?.node;
    let (range, around) = (wrapping.node.range(), facts.around(wrapping));
    Some(kept(Spot { range, at: range.start(), stmt, around, function: None, is_guarded: false }))
}

/// A spot with the methods that give the module itself, and the choice whether to wrap, taken off what stands around.
fn kept(mut spot: Spot<'_>) -> Spot<'_> {
    let mut taken = 0;
    loop {
        let more = match (spot.around.get(taken), spot.around.get(taken + 1)) {
            (Some(Expr::If(node)), _) if is_choice(node, spot.range) => 1,
            (Some(Expr::Attribute(method)), Some(Expr::Call(call)))
                if is_kept_by(&method.attr) && call.func.range() == method.range() =>
            {
                2
            }
            _ => break,
        };
        taken += more;
        spot.range = spot.around[taken - 1].range();
    }
    spot.around.drain(..taken);
    spot
}

/// `wrapped if many else net`, not `net.module if wrapped else net`.
fn is_choice(node: &ExprIf, arm: TextRange) -> bool {
    node.test.range() != arm && !is_unwrapped(&node.body) && !is_unwrapped(&node.orelse)
}

/// What a statement binds, where that is one thing.
fn target_of(stmt: &Stmt) -> Option<&Expr> {
    match stmt {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [target] => Some(target),
            _ => None,
        },
        Stmt::AnnAssign(assign) => Some(&assign.target),
        _ => None,
    }
}

/// What the statement around a spot binds to just that: itself, or the part of a tuple in its place.
fn bound_by<'a>(spot: &Spot<'a>) -> Option<&'a Expr> {
    let target = target_of(spot.stmt)?;
    match (spot.around.as_slice(), target) {
        ([], target) => Some(target),
        ([Expr::Tuple(given)], Expr::Tuple(targets)) if given.elts.len() == targets.elts.len() => {
            let place = given.elts.iter().position(|part| part.range() == spot.range)?;
            targets.elts.get(place)
        }
        _ => None,
    }
}

/// Methods of a module that give the module itself.
fn is_kept_by(method: &str) -> bool {
    matches!(method, "to" | "cuda" | "train" | "eval" | "float" | "half" | "double" | "bfloat16" | "apply" | "cpu")
}

/// Code that sees a wrapper by some path.
#[derive(Clone, Copy)]
struct Scope<'a> {
    body: &'a [Stmt],
    /// The file it is in.
    file: u32,
    /// The function whose body it is.
    function: Option<u32>,
    from: TextSize,
    /// Where the path means something else for certain.
    until: Option<TextSize>,
    /// Where it may.
    surely_until: Option<TextSize>,
    /// Whether all of it runs before anything is trained.
    before: bool,
}

impl<'a> Scope<'a> {
    fn of(body: &'a [Stmt], file: u32, from: TextSize) -> Self {
        Self { body, file, function: None, from, until: None, surely_until: None, before: false }
    }

    fn id(&self) -> Option<FunctionId> {
        self.function.map(|index| FunctionId { file: self.file, index })
    }
}

struct Trace<'f, 'a> {
    facts: &'f Facts<'a>,
    fate: Fate,
    seen: Vec<(FunctionId, String)>,
    /// How many bodies were looked through.
    scopes: u32,
}

impl<'a> Trace<'_, 'a> {
    fn is_own(&self, scope: Scope<'a>) -> bool {
        scope.file == self.facts.file_index()
    }

    /// A wrapper in `self.model`: every method of the class sees it, and what knows the object may.
    fn attribute(&mut self, scope: Scope<'a>, path: &Path) {
        let facts = self.facts;
        let outline = &facts.tables().outlines[scope.file as usize];
        let around = std::iter::successors(scope.function, |index| outline.functions[*index as usize].parent);
        let class = around.into_iter().find_map(|index| outline.functions[index as usize].class);
        let mut reads = 0;
        for (index, function) in outline.functions.iter().enumerate() {
            if class.is_none() || function.class != class {
                continue;
            }
            let own = scope.function == Some(index as u32);
            let from = if own { scope.from } else { TextSize::default() };
            let inner = Scope { function: Some(index as u32), ..Scope::of(&function.node.body, scope.file, from) };
            reads += spots_in(inner.body, path, from).len();
            self.scope(inner, path);
        }
        // Another class, or another file, reads an attribute of that name: perhaps this one.
        if facts.attribute_reads(path.last()) as usize > reads {
            self.by_name(path.last());
        }
    }

    /// A wrapper in a name, or in a part of one: seen until the name means something else.
    fn local(&mut self, wrapping: &Call<'a>, path: &Path) {
        let facts = self.facts;
        let from = wrapping.node.end();
        let others = facts.binds_of(path.last()).filter(|bind| {
            let later = bind.at.function == wrapping.at.function && bind.target.start() > from;
            let same = Path::of(bind.target).is_some_and(|target| target == *path);
            let itself = bind.value_expr.is_some_and(|value| path.is_root_of(value) && !is_unwrapped(value));
            let itself = itself || bind.value_expr.is_some_and(|value| is_handed_back(value, path));
            later && same && !itself && !facts.are_exclusive(bind.at.block, wrapping.at.block)
        });
        let others: Vec<&Bind<'a>> = others.collect();
        // `model = model.module`: the right-hand side is still of the wrapper.
        let end = |bind: &&&Bind<'a>| facts.statement(bind.at.stmt).map(|found| found.node.end());
        let surely_until = others.iter().filter_map(|bind| end(&bind)).min();
        let always = |bind: &&&Bind<'a>| facts.is_inside(wrapping.at.block, bind.at.block);
        let until = others.iter().filter(always).filter_map(|bind| end(&bind)).min();
        let whole = Scope::of(facts.body_around(&wrapping.at), facts.file_index(), from);
        let scope = Scope { until, surely_until, function: wrapping.at.function, ..whole };
        self.scope(scope, path);
        if let Some(root) = path.root_alone() {
            // The whole goes on, and the wrapped part with it.
            let whole = spots_in(scope.body, &root, from);
            if whole.iter().any(|spot| spot.name_is_bare() && spot.at > from) {
                self.by_name(path.last());
            }
        }
        if path.is_global_in(scope.body) {
            self.by_name(path.last());
        }
    }

    /// A wrapper that goes where it cannot be followed: what is called by its name may be it.
    fn by_name(&mut self, name: &str) {
        let facts = self.facts;
        self.fate.runs = true;
        let forwards = |call: &&Call<'a>| call.receiver_expr().and_then(last_name) == Some(name);
        let mut passes = facts.calls_named(name).chain(facts.calls_named("forward").filter(forwards));
        let here = passes.any(|call| self.is_recorded(call) && self.trains_around(call.at.function));
        self.fate.is_seen |= here || facts.is_near_training() && self.is_called_elsewhere(name);
    }

    /// Whether another file of the program calls something by this name, or its `forward`.
    fn is_called_elsewhere(&self, name: &str) -> bool {
        let facts = self.facts;
        let files = facts.tables().files_of_process(facts.file_index());
        files.into_iter().filter(|file| *file != facts.file_index()).any(|file| {
            let outline = &facts.tables().outlines[file as usize];
            let forwards = || outline.attribute_reads.contains_key("forward") && runs_forward(outline.body, name);
            outline.usage(name).any(Usage::CALLED) || outline.attribute_reads.contains_key(name) && forwards()
        })
    }

    fn scope(&mut self, scope: Scope<'a>, path: &Path) {
        const MOST: u32 = 100;
        self.scopes += 1;
        if self.scopes > MOST {
            self.fate.runs = true;
            return;
        }
        let spots: Vec<Spot<'a>> = spots_in(scope.body, path, scope.from).into_iter().map(kept).collect();
        let seen = |spot: &&Spot<'a>| {
            let nested = spot.function.is_some() && wraps_at_top(self.facts, scope);
            (nested || spot.at >= scope.from) && scope.until.is_none_or(|until| nested || spot.at < until)
        };
        let seen: Vec<&Spot<'a>> = spots.iter().filter(seen).collect();
        let given: Vec<&str> =
            seen.iter().filter_map(|spot| spot.attribute().filter(|_| spot.part_is_bound())).collect();
        for spot in seen {
            self.spot(scope, path, spot, &given);
        }
    }

    fn spot(&mut self, scope: Scope<'a>, path: &Path, spot: &Spot<'a>, given: &[&str]) {
        if let Some(call) = spot.pass() {
            self.pass(scope, path, spot, call);
            return;
        }
        if let Some(attribute) = spot.attribute() {
            let sure = !spot.is_guarded && scope.surely_until.is_none_or(|until| spot.at < until);
            let foreign = sure && !is_of_module(attribute) && !given.contains(&attribute);
            self.fate.fails |= foreign && self.is_before_backward(scope, spot);
            return;
        }
        if let Some(call) = spot.given_to() {
            self.handed_on(scope, spot, call);
            return;
        }
        match (spot.around.first(), spot.stmt) {
            (_, Stmt::Assign(_) | Stmt::AnnAssign(_)) if bound_by(spot).is_some() => {
                match bound_by(spot).and_then(Path::of) {
                    Some(alias) if alias == *path => {}
                    Some(alias) => self.stored(scope, spot, &alias),
                    None => self.fate.runs = true,
                }
            }
            (None, Stmt::Return(_)) => self.returned(scope, spot, None),
            (Some(Expr::Tuple(tuple)), Stmt::Return(_)) if spot.around.len() == 1 => {
                let place = tuple.elts.iter().position(|part| part.range() == spot.range);
                self.returned(scope, spot, place);
            }
            (None, Stmt::Expr(_)) | (Some(Expr::Compare(_) | Expr::UnaryOp(_)), _) => {}
            _ => self.fate.runs = true,
        }
    }

    /// `net = model`, `self.net = model`.
    fn stored(&mut self, scope: Scope<'a>, spot: &Spot<'a>, to: &Path) {
        let function = self.function_of(scope, spot);
        let body = spot.function.map_or(scope.body, |function| &function.body);
        let inner =
            Scope { body, function, from: spot.at.max(spot.range.start()), until: None, surely_until: None, ..scope };
        if to.is_of_self() {
            let place = format!("self.{}", to.last());
            let Some(id) = inner.id().filter(|id| !self.is_known(*id, &place)) else { return };
            self.seen.push((id, place));
            self.attribute(inner, to);
        } else if to.root_alone().is_some() {
            self.by_name(to.last());
        } else {
            self.scope(inner, to);
        }
    }

    fn is_known(&self, id: FunctionId, name: &str) -> bool {
        self.seen.iter().any(|(function, given)| *function == id && given == name)
    }

    /// The function that a spot is in.
    fn function_of(&self, scope: Scope<'a>, spot: &Spot<'a>) -> Option<u32> {
        let outline = &self.facts.tables().outlines[scope.file as usize];
        spot.function.and_then(|nested| outline.function_of(nested)).or(scope.function)
    }

    /// `return model`: to whoever calls the function, in this file by what the call is bound to, in others by name.
    fn returned(&mut self, scope: Scope<'a>, spot: &Spot<'a>, place: Option<usize>) {
        let facts = self.facts;
        let Some(index) = self.function_of(scope, spot) else { return };
        let id = FunctionId { file: scope.file, index };
        if self.is_known(id, "return") {
            return;
        }
        self.seen.push((id, "return".to_owned()));
        let name = facts.function_def(id).node.name.as_str();
        let callers = facts.calls_named(name).filter(|call| call.callee == Callee::Project(id));
        let callers: Vec<&Call<'a>> = callers.collect();
        for call in &callers {
            let Some(made) = made_by(facts, call) else { continue };
            let whole = Scope::of(facts.body_around(&call.at), facts.file_index(), made.range.end());
            let inner = Scope { function: call.at.function, ..whole };
            let target = bound_by(&made);
            let part = match (target, place) {
                (Some(Expr::Tuple(parts)), Some(place)) => parts.elts.get(place),
                (target, _) => target,
            };
            match part.and_then(Path::of) {
                Some(path) => self.stored(inner, &made, &path),
                None => self.spot(inner, &Path::of_name(""), &made, &[]),
            }
        }
        let names = match (&spot.around.first(), callers.is_empty()) {
            (_, false) => return,
            _ => facts.source.slice(spot.range),
        };
        // Nobody in this file: what the others call it is likely what it is called here.
        self.by_name(names.rsplit('.').next().unwrap_or(names));
    }

    /// `model(x)`.
    fn pass(&mut self, scope: Scope<'a>, path: &Path, spot: &Spot<'a>, call: &'a ExprCall) {
        let body = spot.function.map_or(scope.body, |function| &function.body);
        self.fate.fails |= goes_back_as_it_is(body, path);
        // `path(x).detach()`; behind `path.forward` stands the call.
        let made = spot.around.iter().skip_while(|around| around.range() != call.range()).nth(1);
        if made.is_some_and(|around| is_detached(around)) {
            return;
        }
        if self.is_own(scope) {
            let found = self.facts.calls().iter().find(|found| found.node.range() == call.range());
            let recorded = found.is_none_or(|found| self.is_recorded(found));
            self.fate.runs |= recorded;
            self.fate.is_seen |= recorded && found.is_some_and(|found| self.trains_around(found.at.function));
            return;
        }
        let goes_back = scope.id().and_then(|id| self.facts.summary(id)).is_some_and(|found| found.calls_backward);
        let name = scope.id().map_or("", |id| self.facts.function_def(id).node.name.as_str());
        if goes_back || !may_only_run(name) {
            self.fate.runs = true;
            let tables = self.facts.tables();
            let near = || tables.files_above(scope.file).into_iter().any(|file| tables.goes_back(file));
            self.fate.is_seen |= goes_back || near();
        }
    }

    /// Whether a pass leaves a graph, in a function that does not only evaluate.
    fn is_recorded(&self, pass: &Call<'a>) -> bool {
        let facts = self.facts;
        let goes_back = |function: Option<u32>| facts.effects_of(Effect::Backward, function).next().is_some();
        let evaluates = || {
            may_only_run(facts.function_name(&pass.at))
                && !facts.callers_of(&pass.at).any(|caller| goes_back(caller.at.function))
        };
        let detached = || facts.around(pass).first().is_some_and(|around| is_detached(around));
        !pass.at.grad.is_off() && !detached() && (goes_back(pass.at.function) || !evaluates())
    }

    /// Whether a function goes back, or its class or a caller of it does, here or in a file that imports this one.
    fn trains_around(&self, function: Option<u32>) -> bool {
        self.facts.effects_of(Effect::Backward, function).next().is_some() || self.facts.is_near_training()
    }

    /// `train(model)`: into the function, where it is one of the project.
    fn handed_on(&mut self, scope: Scope<'a>, spot: &Spot<'a>, call: &'a ExprCall) {
        let name = last_name(&call.func).unwrap_or_default();
        let looks = only_looks(name) || may_only_run(name);
        let Some(id) = self.callee(scope, call) else {
            self.fate.runs |= !looks;
            return;
        };
        let node = self.facts.function_def(id).node;
        let Some(parameter) = parameter_for(node, call, spot) else {
            self.fate.runs |= !looks;
            return;
        };
        if self.is_known(id, parameter) {
            return;
        }
        let known = self.seen.len();
        self.seen.push((id, parameter.to_owned()));
        let before = scope.before || !spot.is_guarded && self.is_before_backward(scope, spot);
        let body = Scope::of(&node.body, id.file, TextSize::default());
        let rebound = assignments_in(&node.body).into_iter().filter(|(name, _)| *name == parameter);
        // `if isinstance(model, DataParallel): model = model.module`.
        let surely_until = rebound.map(|(_, value)| value.end()).min();
        let inner = Scope { function: Some(id.index), before, surely_until, ..body };
        let fate = self.fate;
        self.scope(inner, &Path::of_name(parameter));
        if looks {
            // What only looks at it may hand it back, to where it trains.
            (self.fate.runs, self.fate.is_seen) = (fate.runs, fate.is_seen);
            self.seen.truncate(known);
        }
    }

    /// The project's function that a call calls: in another file, by what that defines and imports.
    fn callee(&self, scope: Scope<'a>, call: &ExprCall) -> Option<FunctionId> {
        let (facts, tables) = (self.facts, self.facts.tables());
        if self.is_own(scope) {
            let found = facts.calls().iter().find(|found| found.node.range() == call.range());
            return match found?.callee {
                Callee::Project(id) => Some(id),
                Callee::Other => self.method_named(last_name(&call.func)?),
                _ => None,
            };
        }
        let outline = &tables.outlines[scope.file as usize];
        let name = last_name(&call.func)?;
        let imported = |local: &str| outline.imports.get(local);
        let (file, name) = match &*call.func {
            Expr::Attribute(method) => match root_name(&method.value) {
                Some("self") => {
                    let class = scope.function.and_then(|index| outline.functions[index as usize].class)?;
                    return tables.method(ClassId { file: scope.file, index: class }, name);
                }
                // `losses.compute(model)`.
                root => (tables.find_module(imported(root?)?, scope.file)?, name),
            },
            _ => match imported(name).and_then(|full| full.rsplit_once('.')) {
                Some((module, original)) => (tables.find_module(module, scope.file)?, original),
                None => (scope.file, name),
            },
        };
        let found = &tables.outlines[file as usize];
        let made = || {
            let index = *found.top_classes.get(name)?;
            tables.method(ClassId { file, index }, "__init__")
        };
        found.top_functions.get(name).map(|index| FunctionId { file, index: *index }).or_else(made)
    }

    /// A method of the program by its name, where it is one that trains: `trainer.fit(model)`.
    fn method_named(&self, name: &str) -> Option<FunctionId> {
        if !["train", "fit"].iter().any(|word| name.starts_with(word)) {
            return None;
        }
        let tables = self.facts.tables();
        tables.files_of_process(self.facts.file_index()).into_iter().find_map(|file| {
            let mut functions = tables.outlines[file as usize].functions.iter();
            let index = functions.position(|found| found.class.is_some() && found.node.name.as_str() == name)?;
            Some(FunctionId { file, index: index as u32 })
        })
    }

    /// Whether a failure here comes before anything is trained: in the function that goes back, before it does.
    fn is_before_backward(&self, scope: Scope<'a>, spot: &Spot<'a>) -> bool {
        if scope.before {
            return true;
        }
        if !self.is_own(scope) {
            let summary = scope.id().and_then(|id| self.facts.summary(id));
            return summary.is_some_and(|summary| summary.calls_backward);
        }
        let function = self.facts.statement_id(spot.stmt).and_then(|id| self.facts.statement(id));
        let function = function.and_then(|found| self.facts.block(found.block).function);
        let passes = self.facts.effects_of(Effect::Backward, function).map(|pass| self.facts.read_at(pass));
        passes.filter(|pass| *pass > scope.from).min().is_some_and(|first| first > spot.at)
    }
}

/// Whether a scope is the file itself: its functions see the name too, whenever they are called.
fn wraps_at_top(facts: &Facts<'_>, scope: Scope<'_>) -> bool {
    scope.file == facts.file_index() && std::ptr::eq(scope.body, facts.source.body())
}

/// `.detach()`, `.data`: what a pass gave goes no way back from there.
fn is_detached(around: &Expr) -> bool {
    matches!(around, Expr::Attribute(part) if matches!(part.attr.as_str(), "detach" | "detach_" | "data"))
}

/// `model = prepare(model)`: most likely the same, on its card.
fn is_handed_back(value: &Expr, path: &Path) -> bool {
    let Expr::Call(call) = value else { return false };
    let name = last_name(&call.func).unwrap_or_default().to_ascii_lowercase();
    let unwraps = ["unwrap", "inner", "module", "parallel", "load"].iter().any(|word| name.contains(word));
    !unwraps && call.arguments.args.iter().any(|arg| path.is(arg))
}

/// Whether statements call the `forward` of something of this name: `self.net.forward(x)`.
fn runs_forward(body: &[Stmt], name: &str) -> bool {
    calls_in(body).into_iter().any(|call| match &*call.func {
        Expr::Attribute(method) => method.attr.as_str() == "forward" && last_name(&method.value) == Some(name),
        _ => false,
    })
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
