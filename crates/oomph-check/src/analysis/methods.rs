//! The walk over calls of methods and builtins: tensors, modules, lists, optimizers, `enumerate`, `sum`.

use super::events::{Callee, GradMode, StoreKind};
use super::exprs::mixed;
use super::freezing;
use super::given::{Given, Outcome};
use super::known;
use super::names::Sym;
use super::operations::{self, Method};
use super::value::{Device, Flags, FunctionId, Graph, Kind, Sources, Value};
use super::walk::Walker;
use crate::python::{Expr, Ranged};

/// Stands for parameters and modules that a class registers by name.
const REGISTERED: &str = "(registered)";

/// How many items a `deque` may hold and still count as one that forgets.
const RING_ITEMS: u64 = 100;

impl<'a> Walker<'a, '_> {
    /// Whether a method is called on a name that the function being walked binds itself, by more than a parameter.
    fn is_local(&mut self, given: &Given<'a>) -> bool {
        let Expr::Attribute(method) = &*given.node.func else { return false };
        let (Expr::Name(name), Some(index)) = (&*method.value, self.f.function) else { return false };
        let name = name.id.as_str();
        let node = self.outline.functions[index as usize].node;
        let given = node.parameters.iter().any(|parameter| parameter.name().as_str() == name);
        let slot = self.f.env.name(name);
        !given && !self.f.globals.contains(name) && self.f.env.get(slot).is_some()
    }

    fn is_self(&self, expr: &Expr) -> bool {
        self.f.self_name.is_some_and(|name| super::walk::is_name(expr, name))
    }

    pub(super) fn call_method(&mut self, receiver: &Value, given: &Given<'a>) -> Outcome {
        if let Some(value) = self.training_method(receiver, given) {
            return Outcome::other(value);
        }
        match receiver.kind {
            Kind::Tensor => Outcome::other(self.tensor_method(receiver, given)),
            Kind::Module => self.module_method(receiver, given),
            Kind::List | Kind::Set | Kind::Ring | Kind::Dict | Kind::Tuple | Kind::Iterator => {
                Outcome::other(self.holder_method(receiver, given))
            }
            Kind::Optimizer | Kind::Scheduler if given.name == "state_dict" => Outcome::other(Value::of(Kind::Dict)),
            Kind::Scaler if given.name == "scale" => {
                Outcome::other(given.first().cloned().unwrap_or_else(Value::unknown))
            }
            Kind::Engine => Outcome::other(engine_method(given)),
            Kind::Array => Outcome::other(Value::of(if given.name == "item" { Kind::Number } else { Kind::Array })),
            Kind::Str => Outcome::other(Value::of(Kind::Str)),
            Kind::Number => Outcome::other(Value::of(Kind::Number)),
            Kind::Made(sym) if given.name == "from_pretrained" => {
                Outcome { callee: Callee::External(sym), ..Outcome::other(Value::unknown()) }
            }
            _ => Outcome::other(self.unknown_method(receiver, given)),
        }
    }

    /// `backward`, `step` and `zero_grad`, whatever they are called on.
    fn training_method(&mut self, receiver: &Value, given: &Given<'a>) -> Option<Value> {
        match given.name {
            "backward" | "manual_backward" => {
                let retains = given.is_true("retain_graph") || given.is_true("create_graph");
                let on_argument = !receiver.is_tensor() && !given.args.is_empty() && receiver.graph == Graph::No
                    || given.name == "manual_backward"
                    || receiver.is_module();
                let sources = if on_argument { given.first().map(|loss| loss.sources) } else { Some(receiver.sources) };
                self.backward(sources.unwrap_or_default(), retains);
                let on = match &*given.node.func {
                    Expr::Attribute(method) if !on_argument => Some(&*method.value),
                    _ => given.node.arguments.args.first(),
                };
                if let (Some(on), true) = (on, self.outline.imports_torch) {
                    self.went_back(on);
                }
                Some(Value::of(Kind::None))
            }
            "step" if receiver.kind != Kind::Scheduler => {
                let text = self.source.slice(given.node.func.range());
                // A schedule of noise may be a module, and steps as well; a model of the world is given where it stands.
                let alone = given.node.arguments.is_empty();
                let steps = matches!(receiver.kind, Kind::Optimizer | Kind::Scaler | Kind::Engine)
                    || !text.contains("sched") && (receiver.kind == Kind::Module && alone || text.contains("opt"));
                let optimizer =
                    if receiver.kind == Kind::Scaler { given.first().unwrap_or(receiver) } else { receiver };
                self.f.summary.steps |= steps;
                let made_here = self.is_made_here(optimizer) || self.is_local(given);
                self.f.summary.steps_batch |= steps && !self.is_in_loop() && !made_here;
                None
            }
            "enter_context" => {
                let (value, expr) = (given.args.first()?, given.node.arguments.args.first()?);
                if let Some(mode) = self.mode_entered(expr, value) {
                    self.f.grad = mode;
                }
                Some(value.clone())
            }
            "zero_grad" => {
                self.f.summary.zeroes_grad = true;
                self.f.summary.zeroes_before |= !self.f.summary.calls_backward;
                Some(Value::of(Kind::None))
            }
            _ => None,
        }
    }

    fn tensor_method(&mut self, receiver: &Value, given: &Given<'a>) -> Value {
        let range = given.node.range();
        let same = |value: Value| Value { made_at: range, ..value };
        match given.name {
            // `total.add_(loss)` is `total += loss`.
            "add_" => {
                if let (Expr::Attribute(method), Some(value)) = (&*given.node.func, given.args.first())
                    // `mu.pow(2).add_(x)` adds to what nobody keeps.
                    && !method.value.is_call_expr()
                {
                    let sum = self.combined(&[receiver, value], range);
                    self.store(
                        StoreKind::AugAssign,
                        &method.value,
                        receiver,
                        value,
                        &given.node.arguments.args[0],
                        range,
                    );
                    self.assign_quietly(&method.value, sum.clone());
                    return sum;
                }
            }
            // A module's output, or a batch, that is a dict after all; its parts are no batches themselves.
            "items" => return pairs(receiver.clone().flagged(Flags::VIEW)),
            "values" | "keys" => return Value::holder(Kind::Iterator, receiver.clone().flagged(Flags::VIEW)),
            "get" | "pop" => return receiver.clone(),
            _ => {}
        }
        let beside = operations::results_beside(given.name, given.takes_dim(0));
        if beside > 0 {
            return self.combined(&[receiver], range).with_indices(beside);
        }
        match operations::tensor_method(given.name) {
            Method::Detach => Value { graph: Graph::No, sources: Sources::default(), ..same(receiver.clone()) }
                .unflagged(Flags::LEAF.with(Flags::MIXED))
                .flagged(Flags::DETACHED),
            Method::Number => Value::of(Kind::Number),
            Method::Array => Value::of(Kind::Array),
            Method::List => self.new_holder(Kind::List, Some(Value::of(Kind::Number)), range),
            Method::Plain => Value { device: receiver.device, ..Value::data() },
            Method::ToCpu => {
                let moved = Value { device: Device::Cpu, ..same(receiver.clone()) };
                let moved = moved.unflagged(Flags::VIEW.with(Flags::LEAF));
                // A copy that is made while nothing is recorded; what is on the CPU already is no copy.
                let unrecorded = matches!(self.f.grad, GradMode::NoGrad | GradMode::Inference);
                if unrecorded && receiver.device != Device::Cpu { self.under_mode(moved, range) } else { moved }
            }
            Method::ToCuda => {
                self.f.summary.moves_to_cuda = true;
                let moved = Value { device: Device::Cuda, ..same(receiver.clone()) }.flagged(Flags::MOVED);
                moved.unflagged(Flags::VIEW.with(Flags::LEAF))
            }
            Method::To => {
                let device = given.device();
                self.f.summary.moves_to_cuda |= device == Device::Cuda;
                let device = if device == Device::Unknown { receiver.device } else { device };
                // `.to(device)` with an unknown device: no longer known to be on the CPU.
                let device =
                    if device == Device::Cpu && given.device() == Device::Unknown { Device::Unknown } else { device };
                Value { device, ..same(receiver.clone()) }.flagged(Flags::MOVED).unflagged(Flags::LEAF)
            }
            Method::RequiresGrad => match given.node.arguments.args.first() {
                Some(Expr::BooleanLiteral(literal)) if !literal.value => receiver.clone().unflagged(Flags::LEAF),
                _ => receiver.clone().flagged(Flags::LEAF),
            },
            Method::Nothing => Value::of(Kind::None),
            Method::View => {
                // What has such a method is one tensor, not several things that a model gave.
                let may_be_several = !receiver.has(Flags::DATA) && receiver.graph > Graph::No;
                let one = if may_be_several { Flags::RAW } else { Flags::default() };
                same(receiver.clone()).unflagged(one).flagged(Flags::VIEW)
            }
            Method::Reduce => {
                let flags = if given.args.is_empty() { Flags::SCALAR } else { Flags::default() };
                let loss = receiver.flags.has(Flags::LOSS);
                let value = self.combined(&[receiver], range).flagged(flags);
                if loss { value.flagged(Flags::LOSS) } else { value }
            }
            Method::Same => {
                let inputs: Vec<&Value> = std::iter::once(receiver).chain(given.all()).collect();
                let value = self.combined(&inputs, range);
                // A module may give an object with methods of its own; what has those of a tensor is one.
                let own = receiver.has(Flags::RAW) && !operations::is_tensor_operation(given.name);
                let stays = own || receiver.has(Flags::DATA) || value.graph == Graph::No;
                let raw = if stays { Flags::RAW } else { Flags::default() };
                let kept = receiver.flags.0 & (Flags::LOSS.0 | Flags::SCALAR.0 | raw.0 | Flags::DATA.0);
                let device = if value.device == Device::Unknown { receiver.device } else { value.device };
                let value = Value { device, ..value }.flagged(Flags(kept));
                if own { value.at_most(Graph::Possible) } else { value }
            }
        }
    }

    fn module_method(&mut self, receiver: &Value, given: &Given<'a>) -> Outcome {
        let func = match &*given.node.func {
            Expr::Attribute(attribute) => Some(&*attribute.value),
            _ => None,
        };
        let value = match given.name {
            "forward" | "__call__" => return self.forward(receiver, given),
            "parameters" | "named_parameters" | "buffers" | "named_buffers" => {
                let leaf = Value::data().flagged(Flags::LEAF);
                if given.name.starts_with("named") {
                    pairs(leaf).flagged(Flags::LEAF)
                } else {
                    Value::holder(Kind::Iterator, leaf).flagged(Flags::LEAF)
                }
            }
            "modules" | "children" => Value::holder(Kind::Iterator, receiver.part()),
            "named_modules" | "named_children" => pairs(receiver.part()),
            "state_dict" => {
                let value = Value::holder(Kind::Dict, Value::data().flagged(Flags::DETACHED));
                Value { maker: Some(self.names.intern("torch.nn.Module.state_dict")), ..value }
            }
            "register_parameter" | "add_module" | "register_module" => {
                if let (Some(class), true) = (self.f.class, func.is_some_and(|expr| self.is_self(expr))) {
                    let registered = Value { graph: Graph::Certain, ..Value::of(Kind::Module) };
                    self.learnt.attributes[class as usize].insert(REGISTERED, registered);
                }
                Value::of(Kind::None)
            }
            // Lightning's way, and what many call theirs.
            "freeze" if given.node.arguments.is_empty() => {
                if let Some(module) = func {
                    self.set_flag(module, Flags::FROZEN, true);
                }
                receiver.clone().flagged(Flags::FROZEN)
            }
            "generate" => Value::data().flagged(Flags::NO_GRAD.with(Flags::RAW)),
            "requires_grad_" => {
                let off = given.is_first(false);
                if let Some(module) = func {
                    self.set_flag(module, Flags::FROZEN, off);
                }
                if off { receiver.clone().flagged(Flags::FROZEN) } else { receiver.clone().unflagged(Flags::FROZEN) }
            }
            "cuda" => {
                self.f.summary.moves_to_cuda = true;
                Value { device: Device::Cuda, ..receiver.clone() }
            }
            "to" => {
                let device = given.device();
                self.f.summary.moves_to_cuda |= device == Device::Cuda;
                Value { device, ..receiver.clone() }
            }
            "eval" | "train" => {
                let evaluates = given.name == "eval" || given.is_first(false);
                if let Some(module) = func {
                    self.set_flag(module, Flags::EVAL, evaluates);
                }
                if evaluates { receiver.clone().flagged(Flags::EVAL) } else { receiver.clone().unflagged(Flags::EVAL) }
            }
            "apply" if given.node.arguments.args.first().and_then(freezing::set_by_lambda) == Some(false) => {
                if let Some(module) = func {
                    self.set_flag(module, Flags::FROZEN, true);
                }
                receiver.clone().flagged(Flags::FROZEN)
            }
            name if known::returns_module(name) => receiver.clone(),
            _ => {
                if receiver.class.is_none() {
                    self.note_method_call(given.name);
                }
                self.f.summary.halves |= receiver.class.is_none()
                    && super::guesses::is_half_of_pass(given.name)
                    && self.f.grad == GradMode::On
                    && !given.args.is_empty();
                // A method of a module nobody wrote here: a tensor with a graph, perhaps.
                let inputs: Vec<&Value> = given.all().collect();
                let fed = inputs.iter().any(|value| value.is_tensor()) || given.takes_moved();
                if !fed || receiver.class.is_some() {
                    return Outcome::other(Value::unknown());
                }
                if receiver.has(Flags::FROZEN) {
                    let value = self.of_args(given).flagged(Flags::RAW);
                    return Outcome::other(value);
                }
                let evaluates = receiver.has(Flags::EVAL);
                let runs = !runs_without_grad(given.name) || evaluates && super::guesses::is_half_of_pass(given.name);
                self.f.summary.forwards |= runs && self.f.grad == GradMode::On;
                self.f.summary.trains |= runs && self.f.grad == GradMode::On && !evaluates;
                let site = if self.f.grad.is_off() { Sources::default() } else { self.site(given.node.range()) };
                let mut value = self.combined(&inputs, given.node.range());
                let least = if given.takes_moved() && runs { Graph::Likely } else { Graph::Possible };
                value.graph = value.graph.max(least);
                value.sources = value.sources.with(site);
                let value = self.under_mode(value, given.node.range()).flagged(Flags::RAW);
                return Outcome { site, evaluates, ..Outcome::other(value) };
            }
        };
        Outcome::other(value)
    }

    fn holder_method(&mut self, receiver: &Value, given: &Given<'a>) -> Value {
        let target = match &*given.node.func {
            Expr::Attribute(attribute) => &*attribute.value,
            _ => return Value::unknown(),
        };
        let last = given.node.arguments.args.last();
        match given.name {
            "append" | "add" | "insert" | "appendleft" | "put" => {
                if let (Some(value), Some(expr)) = (given.args.last(), last) {
                    self.store(StoreKind::Append, target, receiver, value, expr, given.node.range());
                    self.grow(target, receiver, value);
                }
                Value::of(Kind::None)
            }
            "extend" | "update" | "extendleft" => {
                if let (Some(value), Some(expr)) = (given.args.last(), last) {
                    let element = value.element();
                    self.store(StoreKind::Extend, target, receiver, &element, expr, given.node.range());
                    self.grow(target, receiver, &element);
                }
                Value::of(Kind::None)
            }
            "clear" => {
                if let Some(slot) = self.slot_of(target) {
                    let empty = Value { parts: None, graph: Graph::No, ..receiver.clone() };
                    self.f.env.update(slot, Some(empty));
                }
                Value::of(Kind::None)
            }
            "items" => pairs(receiver.element()),
            "values" => Value::holder(Kind::Iterator, receiver.element()),
            "keys" => Value::holder(Kind::Iterator, Value::of(Kind::Str)),
            "copy" => self.born_here(receiver.clone(), given.node.range()),
            // What is put there lives as long as the dict, whichever turn has made it.
            "setdefault" if receiver.parts.is_none() => {
                let value = given.args.get(1).cloned().unwrap_or_else(Value::unknown);
                self.grow(target, receiver, &value);
                Value { born: receiver.born, ..value }
            }
            "setdefault" => Value { born: receiver.born, ..receiver.element() },
            "pop" | "popleft" | "get" | "popitem" | "__next__" => receiver.element(),
            "index" | "count" => Value::of(Kind::Number),
            _ => Value::unknown(),
        }
    }

    /// Notes the mode that a method of this name is called under.
    fn note_method_call(&mut self, name: &'a str) {
        if !self.dry {
            let caller = self.f.function.map(|index| FunctionId { file: self.file, index });
            let mode = (self.f.grad != self.f.first_grad).then_some(self.f.grad);
            self.learnt.method_calls.push((name, caller, mode));
        }
    }

    fn unknown_method(&mut self, receiver: &Value, given: &Given<'a>) -> Value {
        // A dict, a list or a meter has these too: such a call says nothing about methods of the project.
        let common = matches!(
            given.name,
            "update" | "append" | "extend" | "add" | "get" | "pop" | "copy" | "insert" | "remove" | "clear" | "reset"
        );
        if !common && !matches!(receiver.kind, Kind::Optimizer | Kind::Scheduler | Kind::Loader) {
            self.note_method_call(given.name);
        }
        let target = match &*given.node.func {
            Expr::Attribute(attribute) => &*attribute.value,
            _ => return Value::unknown(),
        };
        match given.name {
            "append" | "appendleft" | "extend" if given.args.len() == 1 => {
                let kind = if given.name == "extend" { StoreKind::Extend } else { StoreKind::Append };
                let value = if kind == StoreKind::Extend { given.args[0].element() } else { given.args[0].clone() };
                let expr = &given.node.arguments.args[0];
                self.store(kind, target, receiver, &value, expr, given.node.range());
                Value::of(Kind::None)
            }
            "item" | "numel" | "size" | "dim" => Value::of(Kind::Number),
            "tolist" => Value::of(Kind::List),
            "numpy" => Value::of(Kind::Array),
            "detach" => Value::data().flagged(Flags::DETACHED),
            "cuda" => {
                self.f.summary.moves_to_cuda = true;
                Value { device: Device::Cuda, ..receiver.clone() }.flagged(Flags::MOVED)
            }
            "to" => {
                self.f.summary.moves_to_cuda |= given.device() == Device::Cuda;
                Value { device: given.device(), ..receiver.clone() }.flagged(Flags::MOVED)
            }
            // Whole numbers have no graph, whatever they were made of.
            "long" | "int" | "bool" | "byte" => Value::data(),
            "cpu" | "float" | "half" | "contiguous" | "view" | "reshape" | "squeeze" | "unsqueeze" | "mean" | "sum"
            | "clone" | "permute" | "transpose" | "flatten" => receiver.clone(),
            "items" => pairs(receiver.element()),
            "values" => Value::holder(Kind::Iterator, receiver.element()),
            // Nothing but a module has an `eval` without arguments that gives itself back.
            "eval" if given.node.arguments.is_empty() && self.outline.imports_torch => {
                Value { graph: Graph::Likely, device: receiver.device, ..Value::of(Kind::Module) }
                    .flagged(Flags::GUESSED.with(Flags::EVAL))
            }
            name if name.ends_with("loss") => {
                let inputs: Vec<&Value> = given.all().collect();
                let value = self.combined(&inputs, given.node.range()).flagged(Flags::LOSS);
                if value.graph == Graph::No { Value { graph: Graph::Unknown, ..value } } else { value }
            }
            // What tensors can do: it is one, whoever gives it.
            name if operations::keeps_graph(name) => Value { sources: receiver.sources, ..Value::unknown() },
            _ => self.of_given_module(given).unwrap_or_else(Value::unknown),
        }
    }

    /// What a builtin, or a function of `collections` and `itertools`, gives.
    pub(super) fn call_builtin(&mut self, sym: Sym, given: &Given<'a>) -> Option<Value> {
        let range = given.node.range();
        let first = given.args.first();
        let element = || first.map_or_else(Value::unknown, Value::element);
        Some(match self.names.text(sym) {
            "len" | "float" | "int" | "bool" | "isinstance" | "hasattr" | "round" | "id" | "hash" | "callable"
            | "any" | "all" => Value::of(Kind::Number),
            "str" | "repr" | "input" => Value::of(Kind::Str),
            "print" => Value::of(Kind::None),
            "list" | "sorted" | "tuple" => self.new_holder(Kind::List, first.map(Value::element), range),
            "set" | "frozenset" => self.new_holder(Kind::Set, first.map(Value::element), range),
            "dict" | "collections.OrderedDict" | "collections.Counter" => {
                let element = given.all().cloned().reduce(|a, b| mixed(&a, &b));
                self.new_holder(Kind::Dict, element, range)
            }
            "collections.defaultdict" => {
                let made = first.and_then(|made| match made.kind {
                    Kind::Class(id) => Some(self.instance_of(id)),
                    _ => None,
                });
                let element = match factory(given) {
                    _ if made.is_some() => made,
                    Some("list") => Some(Value::of(Kind::List)),
                    Some("dict") => Some(Value::of(Kind::Dict)),
                    Some("float" | "int") => Some(Value::of(Kind::Number)),
                    _ => None,
                };
                self.new_holder(Kind::Dict, element, range)
            }
            "collections.deque" => {
                let bound = given.keyword("maxlen").map(|(expr, _)| expr).or_else(|| given.node.arguments.args.get(1));
                // A bound of hundreds is one that memory meets first.
                let few = |bound: &Expr| crate::uses::whole_number(bound).is_none_or(|most| most <= RING_ITEMS);
                let kind = if bound.is_some_and(few) { Kind::Ring } else { Kind::List };
                Value { maker: Some(sym), ..self.new_holder(kind, None, range) }
            }
            "range" => Value::holder(Kind::Iterator, Value::of(Kind::Number)),
            "enumerate" => Value::holder(Kind::Iterator, Value::tuple(vec![Value::of(Kind::Number), element()])),
            "zip" | "itertools.zip_longest" | "itertools.product" => {
                let parts = given.args.iter().map(Value::element).collect();
                Value::holder(Kind::Iterator, Value::tuple(parts))
            }
            "iter" | "reversed" | "itertools.cycle" | "itertools.chain" | "itertools.islice" => {
                Value::holder(Kind::Iterator, element())
            }
            "filter" => Value::holder(Kind::Iterator, given.args.get(1).map_or_else(Value::unknown, Value::element)),
            "next" => element(),
            "sum" | "max" | "min" | "abs" => {
                let item =
                    first.map_or_else(
                        Value::unknown,
                        |value| if value.is_tensor() { value.clone() } else { value.element() },
                    );
                match item.kind {
                    Kind::Tensor => {
                        // `sum(lengths)` of something a module returned is no sum of losses.
                        let raw = first.is_some_and(|value| value.is_tensor() && value.has(Flags::RAW));
                        let sum = Value { flags: item.flags, ..self.combined(&[&item], range) };
                        if raw { Value { graph: sum.graph.min(Graph::Possible), ..sum } } else { sum }
                    }
                    Kind::Unknown => Value { sources: item.sources, ..Value::unknown() },
                    _ => Value::of(Kind::Number),
                }
            }
            "getattr" => Value::unknown(),
            "super" => self.super_value(),
            _ => return None,
        })
    }

    fn super_value(&self) -> Value {
        let Some(index) = self.f.class else { return Value::unknown() };
        let bases = &self.tables.class_bases[self.file as usize][index as usize];
        bases.first().map_or_else(Value::unknown, |base| self.instance_of(*base))
    }
}

/// Whether a model's method by this name is likely to switch gradients off itself: `predict`, `sample`.
fn runs_without_grad(name: &str) -> bool {
    const WORDS: &[&str] = &["predict", "infer", "generate", "sampl", "embed", "get_", "prepare", "process", "stat"];
    super::guesses::is_half_of_pass(name) || WORDS.iter().any(|word| name.contains(word))
}

/// What `items()` of a holder of this gives.
fn pairs(value: Value) -> Value {
    Value::holder(Kind::Iterator, Value::tuple(vec![Value::of(Kind::Str), value]))
}

fn engine_method(given: &Given<'_>) -> Value {
    match given.name {
        "prepare" | "setup" | "setup_dataloaders" | "setup_module" | "setup_optimizers" | "prepare_model" => {
            if given.args.len() == 1 { given.args[0].clone() } else { Value::tuple(given.args.clone()) }
        }
        // On several cards what is gathered has no graph, on one it is the tensor itself.
        "gather" | "gather_for_metrics" | "reduce" | "pad_across_processes" | "all_gather" | "all_reduce" => {
            given.first().map_or_else(Value::unknown, |value| on_card(&value.at_most(Graph::Possible)))
        }
        "unwrap_model" | "to_device" => given.first().cloned().unwrap_or_else(Value::unknown),
        _ => Value::unknown(),
    }
}

/// What came from all cards is on this one.
fn on_card(value: &Value) -> Value {
    let device = if value.is_tensor() { Device::Cuda } else { value.device };
    Value { device, parts: value.parts.as_ref().map(|parts| parts.iter().map(on_card).collect()), ..value.clone() }
}

/// What a `defaultdict` makes.
fn factory<'a>(given: &Given<'a>) -> Option<&'a str> {
    match given.node.arguments.args.first() {
        Some(Expr::Name(name)) => Some(name.id.as_str()),
        Some(Expr::Lambda(lambda)) => match &*lambda.body {
            Expr::List(_) => Some("list"),
            Expr::NumberLiteral(_) => Some("float"),
            _ => None,
        },
        _ => None,
    }
}
