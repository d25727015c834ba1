//! The walk over calls: what is called, what comes back, what changes.

use super::branches::mode_of_switch;
use super::events::{BlockKind, Call, Callee, GradMode, Store};
use super::given::{Given, Outcome};
use super::guesses;
use super::known::{self, Gives};
use super::names::Sym;
use super::operations;
use super::tables::Summary;
use super::value::{Device, Flags, FunctionId, Graph, Kind, Sources, Value};
use super::walk::Walker;
use crate::python::ast::ExprCall;
use crate::python::{Expr, Ranged};

impl<'a> Walker<'a, '_> {
    pub(super) fn call(&mut self, node: &'a ExprCall) -> Value {
        let (callee, receiver, name) = self.callee(&node.func);
        let args = node.arguments.args.iter().map(|arg| self.eval(arg)).collect();
        let keywords = node.arguments.keywords.iter().map(|keyword| self.eval(&keyword.value)).collect();
        let given = Given { node, name, args, keywords };
        let mut outcome = match (&callee, &receiver) {
            (Some(callee), _) if callee.kind != Kind::Unknown => self.call_value(callee, receiver.as_ref(), &given),
            // Whatever it is, somebody took its parameters out of training.
            (Some(callee), _) if callee.has(Flags::FROZEN) => {
                self.forward(&Value { kind: Kind::Module, ..callee.clone() }, &given)
            }
            (_, Some(receiver)) => self.call_method(receiver, &given),
            _ => self.call_unknown(&given),
        };
        self.note_collate(&given);
        self.note_hooks(&given, outcome.callee, receiver.is_some());
        self.switch_training(&given, outcome.callee);
        outcome.value.made_at = node.range();
        if outcome.value.born == super::value::BlockId::ELSEWHERE && name != "setdefault" {
            outcome.value.born = self.f.block;
        }
        if self.recording() {
            let at = self.at();
            let Given { mut args, mut keywords, .. } = given;
            let Outcome { callee, value, site, evaluates } = outcome;
            let result = self.seen(&value);
            if self.f.called_both_ways {
                for value in args.iter_mut().chain(&mut keywords) {
                    *value = value.at_most(Graph::Possible);
                }
            }
            self.log.calls.push(Call { node, callee, name, receiver, args, keywords, result, site, evaluates, at });
            return value;
        }
        outcome.value
    }

    /// What is called, on what, and by which name.
    fn callee(&mut self, func: &'a Expr) -> (Option<Value>, Option<Value>, &'a str) {
        match func {
            Expr::Attribute(node) => {
                let name = node.attr.as_str();
                let base = self.eval(&node.value);
                let bound = self.slot_of(&node.value).and_then(|slot| {
                    let slot = self.f.env.attribute(slot, name);
                    self.f.env.get(slot).cloned()
                });
                let callee = match bound {
                    Some(value) => Some(value),
                    None => self.member(&base, name),
                };
                let callee = callee.map(|value| match value.kind {
                    Kind::External(sym) => self.external(sym),
                    _ => value,
                });
                (callee, Some(base), name)
            }
            Expr::Name(node) => (Some(self.eval(func)), None, node.id.as_str()),
            _ => (Some(self.eval(func)), None, ""),
        }
    }

    /// A member of a value that the project defines, or that can be imported.
    fn member(&mut self, base: &Value, name: &'a str) -> Option<Value> {
        match base.kind {
            Kind::External(_) => Some(self.attribute_of(base, name)),
            Kind::Tensor | Kind::List | Kind::Dict | Kind::Set | Kind::Ring | Kind::Str | Kind::Number => None,
            _ => {
                let class = base.class.or(match base.kind {
                    Kind::Class(id) | Kind::Instance(id) => Some(id),
                    _ => None,
                })?;
                let value = self.attribute_of(base, name);
                let found = !matches!(value.kind, Kind::Unknown) && !value.has(Flags::GUESSED)
                    || self.tables.method(class, name).is_some()
                    || value.has(Flags::GUESSED) && !is_module_method(name);
                found.then_some(value)
            }
        }
    }

    fn call_value(&mut self, callee: &Value, receiver: Option<&Value>, given: &Given<'a>) -> Outcome {
        match callee.kind {
            Kind::External(sym) => {
                if let Some(predictor) = self.predictor_of(sym, given) {
                    return self.forward(&predictor, given);
                }
                let value = self.call_external(sym, given);
                Outcome { callee: Callee::External(sym), ..Outcome::other(value) }
            }
            Kind::Function(id) => self.call_function(id, receiver, given),
            Kind::Class(id) => self.construct(id, given),
            Kind::Module => self.forward(callee, given),
            Kind::Instance(id) => match self.tables.method(id, "__call__") {
                Some(function) => self.call_function(function, Some(callee), given),
                None => Outcome::other(made_from(given)),
            },
            _ => match receiver {
                Some(receiver) if callee.has(Flags::GUESSED) => self.call_method(receiver, given),
                _ => Outcome::other(made_from(given)),
            },
        }
    }

    fn call_unknown(&mut self, given: &Given<'a>) -> Outcome {
        if let ("backward", Some(loss)) = (given.name, given.first()) {
            self.backward(loss.sources, false);
        }
        if given.name.ends_with("loss") {
            let value = self.of_args(given);
            return Outcome::other(value.flagged(Flags::LOSS));
        }
        let is_named = matches!(&*given.node.func, Expr::Name(_));
        if is_named && self.outline.imports_torch && given.takes_moved() && !guesses::is_helper_name(given.name) {
            let mut outcome = self.forward(&Value::of(Kind::Module).flagged(Flags::GUESSED), given);
            // Models are handed to functions; what a function found elsewhere may be anything.
            if !self.is_parameter(given.name) {
                outcome.value = outcome.value.flagged(Flags::GUESSED);
            }
            return outcome;
        }
        if guesses::makes_criterion(given.name) {
            return Outcome::other(Value::of(Kind::Module).flagged(Flags::CRITERION.with(Flags::GUESSED)));
        }
        if guesses::makes_model(given.name) {
            let module = Value { graph: Graph::Likely, ..Value::of(Kind::Module) };
            return Outcome::other(module.flagged(Flags::GUESSED));
        }
        Outcome::other(made_from(given))
    }

    /// Whether a name is a parameter of the function being walked.
    fn is_parameter(&self, name: &str) -> bool {
        let function = self.f.function.map(|index| self.outline.functions[index as usize].node);
        function.is_some_and(|node| node.parameters.iter().any(|parameter| parameter.name().as_str() == name))
    }

    /// What a function nobody wrote here makes of a module and of what else it is given: a backward pass over it will
    /// show whether it ran the module.
    pub(super) fn of_given_module(&mut self, given: &Given<'a>) -> Option<Value> {
        let runs = |value: &Value| value.is_module() && !value.has(Flags::CRITERION) && !value.has(Flags::FROZEN);
        let fed = given.all().any(runs) && given.node.arguments.len() > 1 && self.outline.imports_torch;
        if !fed || self.f.grad.is_off() {
            return None;
        }
        let (value, site) = (made_from(given), self.site(given.node.range()));
        self.f.env.unknown_sites |= site.0;
        Some(Value { sources: value.sources.with(site), ..value })
    }

    /// A tensor computed from the arguments.
    pub(super) fn of_args(&mut self, given: &Given<'a>) -> Value {
        let inputs: Vec<&Value> = given.all().collect();
        let mut value = self.combined(&inputs, given.node.range());
        let runs_module = inputs.iter().any(|input| input.is_module() && !input.has(Flags::CRITERION));
        if runs_module && !self.f.grad.is_off() {
            // `checkpoint(block, x)`, `criterion(model, batch)`: the forward pass is in there.
            value.sources = value.sources.with(self.site(given.node.range()));
        }
        value
    }

    /// Whether this point is in a loop over batches.
    pub(super) fn is_per_batch(&self) -> bool {
        let mut block = self.f.block;
        loop {
            let found = &self.log.blocks[block.0 as usize];
            match found.kind {
                BlockKind::Loop(super::events::LoopKind::Loader, _) => return true,
                kind if kind.is_unconditional() && found.parent != block => block = found.parent,
                _ => return false,
            }
        }
    }

    /// Whether this point is in a loop that plays in an environment, on every turn of it.
    pub(super) fn is_played(&self) -> bool {
        let mut block = self.f.block;
        loop {
            let found = &self.log.blocks[block.0 as usize];
            match found.kind {
                BlockKind::Loop(_, stmt) if super::batches::is_played(stmt) => return true,
                BlockKind::Loop(..) => return false,
                kind if kind.is_unconditional() && found.parent != block => block = found.parent,
                _ => return false,
            }
        }
    }

    /// Whether this point is in a loop of its function.
    pub(super) fn is_in_loop(&self) -> bool {
        let mut block = self.f.block;
        loop {
            let found = &self.log.blocks[block.0 as usize];
            if found.kind.loop_kind().is_some() {
                return true;
            }
            if matches!(found.kind, BlockKind::Function(_) | BlockKind::Module) || found.parent == block {
                return false;
            }
            block = found.parent;
        }
    }

    /// Whether a value was made in the function being walked.
    pub(super) fn is_made_here(&self, value: &Value) -> bool {
        let born =
            self.log.blocks.get(value.born.0 as usize).filter(|_| value.born != super::value::BlockId::ELSEWHERE);
        self.f.function.is_some() && born.is_some_and(|block| block.function == self.f.function)
    }

    /// A forward pass.
    pub(super) fn forward(&mut self, module: &Value, given: &Given<'a>) -> Outcome {
        // `psnr_model(a.numpy(), b.numpy())`: a name promised a module, but no module takes arrays.
        let arrays = !given.args.is_empty() && given.args.iter().all(|arg| arg.kind == Kind::Array);
        if arrays && module.has(Flags::GUESSED) && module.class.is_none() {
            return Outcome::other(Value::unknown());
        }
        let forward = module.class.and_then(|class| self.tables.method(class, "forward"));
        if let Some(forward) = forward {
            self.note_call(forward, Some(module), given);
        }
        let summary = forward.and_then(|forward| self.summary(forward));
        let evaluates = module.has(Flags::EVAL);
        let outcome = |value: Value, site: Sources| Outcome { callee: Callee::Module, value, site, evaluates };
        let range = given.node.range();
        let passes_on = module.has(Flags::CRITERION)
            || module.has(Flags::FROZEN)
            || module.maker.is_some_and(|maker| known::has_no_parameters(self.names.text(maker)))
            || module.class.is_some_and(|class| self.tables.has_no_parameters(class));
        if passes_on {
            let is_count = |result: &Value| result.kind == Kind::Tensor && result.graph == Graph::No;
            let tells = |summary: &Summary| summary.returns.kind == Kind::Tuple || is_count(&summary.returns);
            if let Some(summary) = summary.filter(|summary| tells(summary)) {
                // A loss and what it was made of: each has a graph of its own, or none; a metric counts, and has none.
                let arguments = self.by_parameter(forward, Some(module), given);
                let value = self.instantiate(&summary.returns, &arguments, Sources::default());
                return outcome(value, Sources::default());
            }
            let value = self.of_args(given);
            let flags = if module.has(Flags::CRITERION) { Flags::LOSS.with(Flags::SCALAR) } else { Flags::RAW };
            // What a criterion takes are predictions, whoever made them.
            let value = if module.has(Flags::CRITERION) { value.unflagged(Flags::GUESSED) } else { value };
            return outcome(value.flagged(flags), Sources::default());
        }
        let site = if self.f.grad.is_off() { Sources::default() } else { self.site(range) };
        // A module of the project that only drives others records what they record.
        let records = summary.as_ref().is_none_or(|summary| summary.forwards || summary.returns.graph >= Graph::Likely);
        self.f.summary.forwards |= records && self.f.grad == GradMode::On;
        self.f.summary.trains |= records && self.f.grad == GradMode::On && !evaluates;
        self.f.summary.forwards_off |= records && self.f.grad != GradMode::On;
        if let Some(summary) =
            summary.filter(|summary| summary.returns.kind != Kind::Unknown && summary.returns.kind != Kind::None)
        {
            let arguments = self.by_parameter(forward, Some(module), given);
            let value = self.instantiate(&summary.returns, &arguments, site);
            return outcome(value, site);
        }
        let inputs = given.all().fold(site, |sources, input| sources.with(input.sources));
        // A guess that is fed a batch is a good one.
        let least = if given.takes_batch() && self.outline.imports_torch { Graph::Likely } else { Graph::Possible };
        let mut value = Value { graph: module.graph.max(least), sources: inputs, ..Value::data() };
        value = value.flagged(Flags::RAW);
        if module.device == Device::Cuda || given.all().any(|input| input.device == Device::Cuda) {
            value.device = Device::Cuda;
        }
        let value = self.under_mode(value, range);
        outcome(value, site)
    }

    fn call_function(&mut self, id: FunctionId, receiver: Option<&Value>, given: &Given<'a>) -> Outcome {
        let of_class = receiver.and_then(|value| match value.kind {
            Kind::Class(class) => Some(class).filter(|class| self.tables.kind(*class).is_module()),
            _ => None,
        });
        let takes_class = self.tables.outlines[id.file as usize].functions[id.index as usize].is_of_class();
        let receiver = receiver.filter(|value| match value.kind {
            Kind::External(_) => false,
            Kind::Class(_) => takes_class,
            _ => true,
        });
        self.note_call(id, receiver, given);
        let is_forward = given.name == "forward" && receiver.is_some_and(Value::is_module);
        if let (true, Some(frozen)) = (is_forward, receiver.filter(|module| module.has(Flags::FROZEN))) {
            return self.forward(frozen, given);
        }
        let Some(summary) = self.summary(id) else {
            let value =
                if given.name.ends_with("loss") { self.of_args(given).flagged(Flags::LOSS) } else { Value::unknown() };
            return Outcome { callee: Callee::Project(id), ..Outcome::other(value) };
        };
        let arguments = self.by_parameter(Some(id), receiver, given);
        let returns = self.returned_to(given, id, &summary);
        let own = returns.sources.overlap(Sources::site(0)) || is_forward;
        let site = if own && !self.f.grad.is_off() { self.site(given.node.range()) } else { Sources::default() };
        let mut value = self.instantiate(&returns, &arguments, site);
        // `Net.from_pretrained(name)` gives one of its own.
        if value.kind == Kind::Module && value.class.is_none() {
            value.class = of_class;
        }
        self.apply(&summary, id, &arguments, given);
        let evaluates = runs_evaluated(&summary, &arguments);
        Outcome { callee: Callee::Project(id), value, site, evaluates }
    }

    /// Takes over what a called function does.
    fn apply(&mut self, summary: &Summary, id: FunctionId, arguments: &[Option<Value>], given: &Given<'a>) {
        let once = !self.is_in_loop();
        let mine = &mut self.f.summary;
        mine.zeroes_before |= summary.zeroes_before && !mine.calls_backward;
        mine.calls_backward |= summary.calls_backward;
        mine.steps |= summary.steps;
        mine.steps_batch |= summary.steps_batch && once;
        mine.zeroes_grad |= summary.zeroes_grad;
        mine.forwards |= summary.forwards && self.f.grad == GradMode::On;
        mine.halves |= summary.halves && self.f.grad == GradMode::On;
        mine.trains |= summary.trains && self.f.grad == GradMode::On && !runs_evaluated(summary, arguments);
        mine.forwards_off |= summary.forwards_off || summary.forwards && self.f.grad != GradMode::On;
        mine.moves_to_cuda |= summary.moves_to_cuda;
        if summary.empties_cache {
            self.empties_cache();
        }
        for (parameter, argument) in arguments.iter().enumerate() {
            let Some(argument) = argument else { continue };
            if summary.backward_parameters >> parameter.min(63) & 1 == 1 {
                self.backward(argument.sources, false);
            }
        }
        self.fill_arguments(summary, id, arguments, given);
        if !self.recording() {
            return;
        }
        for kept in summary.keeps.iter().filter(|kept| kept.holder.is_none()) {
            let Some(Some(value)) = arguments.get(kept.parameter) else { continue };
            let (Some(value_expr), target) = (self.argument_expr(id, kept.parameter, given), &*given.node.func) else {
                continue;
            };
            let kind = kept.kind;
            let star = kept.parameter
                >= self.tables.outlines[id.file as usize].functions[id.index as usize].named_parameters();
            let value = &if star { value.element() } else { value.clone() };
            let root = match target {
                Expr::Attribute(attribute) => self.root(&attribute.value),
                _ => super::events::Root::Other,
            };
            let holder = Value::unknown();
            let at = self.at();
            let range = given.node.range();
            let value = self.seen(value);
            self.log.stores.push(Store { kind, range, target, root, holder, value, value_expr, via: Some(id), at });
        }
    }

    /// Puts arguments into lists that are arguments too, where the function called does: `log(history, loss)`.
    fn fill_arguments(&mut self, summary: &Summary, id: FunctionId, arguments: &[Option<Value>], given: &Given<'a>) {
        for kept in &summary.keeps {
            let Some(place) = kept.holder else { continue };
            let (Some(Some(value)), Some(Some(holder))) = (arguments.get(kept.parameter), arguments.get(place)) else {
                continue;
            };
            let (Some(value_expr), Some(target)) =
                (self.argument_expr(id, kept.parameter, given), self.argument_expr(id, place, given))
            else {
                continue;
            };
            if matches!(target, Expr::Name(_) | Expr::Attribute(_)) {
                self.store(kept.kind, target, holder, value, value_expr, given.node.range());
                self.grow(target, holder, value);
            }
        }
    }

    /// What a summed-up result is for these arguments.
    pub(super) fn instantiate(&mut self, result: &Value, arguments: &[Option<Value>], site: Sources) -> Value {
        let mut value = result.clone();
        let mut sources = Sources::default();
        let mut given: Vec<&Value> = Vec::new();
        for parameter in result.sources.parameters() {
            if let Some(Some(argument)) = arguments.get(parameter) {
                sources = sources.with(argument.sources);
                given.push(argument);
            }
        }
        if result.kind == Kind::Unknown && given.iter().any(|argument| argument.kind == Kind::Tensor) {
            let range = value.made_at;
            return self.combined(&given, range);
        }
        if result.sources.overlap(Sources::site(0)) {
            sources = sources.with(site);
        }
        if let (Graph::Unknown, Some(graph)) = (value.graph, given.iter().map(|argument| argument.graph).max()) {
            value.graph = graph;
        }
        value.sources = sources;
        value.parts = result
            .parts
            .as_ref()
            .map(|parts| parts.iter().map(|part| self.instantiate(part, arguments, site)).collect());
        if value.kind == Kind::Tensor && value.graph > Graph::No {
            let range = value.made_at;
            value = self.under_mode(value, range);
        }
        value.born = super::value::BlockId::ELSEWHERE;
        value
    }

    /// A backward pass over what comes from these sources.
    pub(super) fn backward(&mut self, sources: Sources, retains: bool) {
        let env = &mut self.f.env;
        let sites = sources.sites().0;
        if !retains {
            env.freed |= sites;
        }
        env.maybe_freed |= if sources.is_empty() { Sources::SITE_MASK } else { sites };
        self.f.env.show_graph(sites);
        self.f.summary.calls_backward = true;
        for parameter in sources.parameters() {
            self.f.summary.backward_parameters |= 1 << parameter.min(63);
        }
    }

    fn call_external(&mut self, sym: Sym, given: &Given<'a>) -> Value {
        if let Some(value) = self.call_builtin(sym, given) {
            return value;
        }
        let full = self.names.text(sym);
        match full {
            "torch.set_grad_enabled" => {
                let literal = match given.node.arguments.args.first() {
                    Some(Expr::BooleanLiteral(literal)) => Some(literal.value),
                    _ => None,
                };
                self.f.grad = mode_of_switch(literal);
                return Value::of(Kind::Made(sym));
            }
            "torch.autograd.backward" | "torch.autograd.grad" => {
                let sources = given.first().map(|value| value.sources).unwrap_or_default();
                let retains = given.is_true("retain_graph") || given.is_true("create_graph");
                self.backward(sources, retains);
                let value =
                    if given.is_true("create_graph") { self.of_args(given) } else { Value::data().flagged(Flags::RAW) };
                return value;
            }
            "torch.cuda.empty_cache" => {
                self.empties_cache();
                return Value::of(Kind::None);
            }
            // `partial(criterion, weight=w)` runs what it is given.
            "functools.partial" if given.first().is_some_and(Value::is_module) => {
                return given.first().cloned().unwrap_or_else(Value::unknown);
            }
            "torch.device" => {
                let device = given.first().map_or(Device::Unknown, |value| value.device);
                return Value { device, ..Value::of(Kind::Str) };
            }
            "deepspeed.initialize" => {
                let engine = Value { graph: Graph::Certain, ..Value::of(Kind::Module) };
                return Value::tuple(vec![
                    engine,
                    Value::of(Kind::Optimizer),
                    Value::of(Kind::Loader),
                    Value::of(Kind::Scheduler),
                ]);
            }
            _ => {}
        }
        let result = known::gives(full);
        let value = self.given_by(result, sym, given);
        Value { maker: value.maker.or(Some(sym)), ..value }
    }

    fn given_by(&mut self, result: Gives, sym: Sym, given: &Given<'a>) -> Value {
        match result {
            Gives::NewTensor => {
                let mut value = Value::data();
                value.device = given.device();
                self.f.summary.moves_to_cuda |= value.device == Device::Cuda;
                if given.is_true("requires_grad") {
                    value = value.flagged(Flags::LEAF);
                }
                self.born_here(value, given.node.range())
            }
            // `torch.where(mask)` gives places.
            Gives::TensorOfArgs if given.name == "where" && given.node.arguments.len() == 1 => Value::data(),
            Gives::TensorOfArgs => {
                let value = self.of_args(given);
                match operations::results_beside(given.name, given.takes_dim(1)) {
                    0 => value,
                    beside => value.with_indices(beside),
                }
            }
            Gives::LossOfArgs => self.of_args(given).unflagged(Flags::GUESSED).flagged(Flags::LOSS.with(Flags::SCALAR)),
            Gives::Plain => Value::data(),
            Gives::Module => Value { graph: Graph::Certain, ..Value::of(Kind::Module) },
            Gives::Criterion => Value::of(Kind::Module).flagged(Flags::CRITERION),
            Gives::Pretrained => Value { graph: Graph::Certain, ..Value::of(Kind::Module) }.flagged(Flags::PRETRAINED),
            Gives::Optimizer => Value::of(Kind::Optimizer),
            Gives::Scheduler => Value::of(Kind::Scheduler),
            Gives::Loader => Value::of(Kind::Loader),
            Gives::Dataset => Value::of(Kind::Dataset),
            Gives::Scaler => Value::of(Kind::Scaler),
            Gives::Engine => Value::of(Kind::Engine),
            // `Parameter(x, requires_grad=False)` is data that moves with its module.
            Gives::Parameter if given.is_false("requires_grad") => Value::data().flagged(Flags::FROZEN),
            Gives::Parameter => Value::data().flagged(Flags::LEAF),
            Gives::Number => Value::of(Kind::Number),
            Gives::Str => Value::of(Kind::Str),
            Gives::Array => Value::of(Kind::Array),
            Gives::FirstArg => given.first().cloned().unwrap_or_else(Value::unknown),
            Gives::Unknown => {
                let full = self.names.text(sym);
                let last = full.rsplit('.').next().unwrap_or(full);
                if last.ends_with("loss") {
                    return self.of_args(given).flagged(Flags::LOSS);
                }
                if guesses::makes_criterion(last) {
                    return Value::of(Kind::Module).flagged(Flags::CRITERION.with(Flags::GUESSED));
                }
                if guesses::makes_model(last) && !full.starts_with("torch.") {
                    let module = Value { graph: Graph::Likely, ..Value::of(Kind::Module) };
                    return module.flagged(Flags::GUESSED);
                }
                let is_class = last.starts_with(|c: char| c.is_ascii_uppercase());
                let plain = is_class || full.starts_with("torch.");
                let run = if plain { None } else { self.of_given_module(given) };
                run.unwrap_or_else(|| if plain { Value::of(Kind::Made(sym)) } else { made_from(given) })
            }
        }
    }
}

/// Whether all that a function runs is in evaluation mode: the modules it is given, or those it finds itself.
fn runs_evaluated(summary: &Summary, arguments: &[Option<Value>]) -> bool {
    let modules = || arguments.iter().flatten().filter(|value| value.is_module() && !value.has(Flags::CRITERION));
    let evaluated = modules().all(|value| value.has(Flags::EVAL) && !value.has(Flags::FROZEN));
    if modules().next().is_some() {
        return evaluated && (summary.forwards || summary.halves);
    }
    summary.forwards && !summary.trains
}

/// Something unknown made from the arguments: what it comes from is known all the same.
fn made_from(given: &Given<'_>) -> Value {
    let sources = given.all().fold(Sources::default(), |sources, input| sources.with(input.sources));
    Value { sources, ..Value::unknown() }.flagged(Flags::GUESSED)
}

fn is_module_method(name: &str) -> bool {
    known::returns_module(name)
        || matches!(
            name,
            "parameters"
                | "named_parameters"
                | "state_dict"
                | "load_state_dict"
                | "zero_grad"
                | "step"
                | "modules"
                | "children"
                | "backward"
        )
}
