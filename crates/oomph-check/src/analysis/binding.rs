//! Binding of names, attributes and items; what loops go over.

use super::env::Slot;
use super::events::{Bind, Callee, LoopKind, Root, StoreKind};
use super::exprs::mixed;
use super::freezing;
use super::given::Given;
use super::guesses;
use super::tables::Kept;
use super::value::{Device, Flags, Graph, Kind, Value};
use super::walk::{Walker, is_name};
use crate::python::ast::StmtFor;
use crate::python::{Expr, Ranged, TextRange};
use crate::uses::{last_name, string_of};

impl<'a> Walker<'a, '_> {
    /// Binds a target to a value and notes what that keeps.
    pub(super) fn assign(&mut self, target: &'a Expr, mut value: Value, expr: Option<&'a Expr>, range: TextRange) {
        match target {
            Expr::Name(node) => {
                let name = node.id.as_str();
                if let (Some(expr), true) = (expr, self.f.globals.contains(name)) {
                    self.note_global(name, "", &value);
                    let holder = self.quietly(|walker| walker.eval(target));
                    self.store(StoreKind::Global, target, &holder, &value, expr, range);
                } else if let Some(expr) = expr.filter(|expr| value.is_tensor() && mentions(expr, name)) {
                    let holder = self.quietly(|walker| walker.eval(target));
                    self.store(StoreKind::Rebind, target, &holder, &value, expr, range);
                } else if let Some(expr) = expr.filter(|expr| adds_to_itself(expr, name, &value)) {
                    let holder = self.quietly(|walker| walker.eval(target));
                    self.store(StoreKind::Extend, target, &holder, &value, expr, range);
                    // The same collection goes on, in a new object.
                    value.born = holder.born;
                }
                let value = self.guessed(name, value);
                self.note_bind(name, target, &value, expr, None);
                let slot = self.f.env.name(name);
                self.f.env.bind(slot, Some(value));
            }
            Expr::Attribute(node) => {
                let name = node.attr.as_str();
                let base = self.eval(&node.value);
                self.switch_requires_grad(&node.value, name, expr);
                if let Some(expr) = expr {
                    let holder = self.quietly(|walker| walker.eval(target));
                    let kind = if self.sums_onto(expr, target) { StoreKind::Rebind } else { StoreKind::Attribute };
                    self.store(kind, target, &holder, &value, expr, range);
                }
                let value = self.guessed(name, value);
                self.note_outside(&base, &node.value, name, &value);
                self.note_bind(name, target, &value, expr, Some(base));
                if let Some(slot) = self.slot_of(&node.value) {
                    let slot = self.f.env.attribute(slot, name);
                    self.f.env.bind(slot, Some(value));
                }
            }
            Expr::Subscript(node) => {
                let holder = self.eval(&node.value);
                self.eval(&node.slice);
                if let (Root::Outer(name), Some(key)) = (self.root(&node.value), string_of(&node.slice)) {
                    self.note_global(name, key, &value);
                }
                if let Some(expr) = expr.filter(|expr| self.sums_onto(expr, target)) {
                    let sum = self.quietly(|walker| walker.eval(target));
                    self.store(StoreKind::Rebind, target, &sum, &value, expr, range);
                } else if let Some(expr) = expr {
                    self.store(StoreKind::Item, &node.value, &holder, &value, expr, range);
                }
                if matches!(holder.kind, Kind::List | Kind::Dict | Kind::Ring) {
                    self.grow(&node.value, &holder, &value);
                }
            }
            Expr::Tuple(node) => self.unpack(&node.elts, &value, expr, range),
            Expr::List(node) => self.unpack(&node.elts, &value, expr, range),
            Expr::Starred(node) => {
                let value = self.new_holder(Kind::List, Some(value.element()), range);
                self.assign(&node.value, value, None, range);
            }
            _ => {}
        }
    }

    /// Notes an attribute of another object that gets a tensor with a graph: `state.loss = loss`.
    fn note_outside(&mut self, base: &Value, owner: &Expr, name: &'a str, value: &Value) {
        let Kind::Instance(class) = base.kind else { return };
        let own = self.f.self_name.is_some_and(|own| is_name(owner, own));
        if !own && !self.dry && value.keeps_graph() {
            let value = self.handed_on(value);
            self.learnt.outside.push((class, name, value));
        }
    }

    /// Notes a module that a function leaves in a global, or in a global dict under a key.
    fn note_global(&mut self, name: &'a str, key: &'a str, value: &Value) {
        if self.f.function.is_some() && !self.dry && value.is_module() {
            let value = value.as_argument();
            let known = self.learnt.global_modules.get(&(name, key));
            let joined = known.map_or_else(|| value.clone(), |old| old.join(&value));
            self.learnt.global_modules.insert((name, key), joined);
        }
    }

    /// The module that a function of this file leaves in a global, or in a global dict under a key.
    pub(super) fn global_module(&self, name: &str, key: &str) -> Option<Value> {
        self.tables.learnt[self.file as usize].global_modules.get(&(name, key)).cloned()
    }

    /// `self.total = self.total + v`: a sum with the target itself in it.
    fn sums_onto(&self, expr: &Expr, target: &Expr) -> bool {
        let is_it = |side: &Expr| self.source.slice(side.range()) == self.source.slice(target.range());
        match expr {
            Expr::BinOp(node) => {
                [&node.left, &node.right].into_iter().any(|side| is_it(side) || self.sums_onto(side, target))
            }
            _ => false,
        }
    }

    /// Binds without events: the caller has noted what happens.
    pub(super) fn assign_quietly(&mut self, target: &'a Expr, value: Value) {
        self.quietly(|walker| walker.assign(target, value, None, target.range()));
    }

    /// Whether a target is called a loss: `loss, accuracy = criterion(...)` gives one and something else.
    fn names_loss(&self, target: &Expr) -> bool {
        let name = self.source.slice(target.range()).to_ascii_lowercase();
        ["loss", "kl", "nll", "mse", "bce"].iter().any(|word| name.contains(word))
    }

    fn unpack(&mut self, targets: &'a [Expr], value: &Value, expr: Option<&'a Expr>, range: TextRange) {
        let exprs: Option<&'a [Expr]> = match expr {
            Some(Expr::Tuple(tuple)) if tuple.elts.len() == targets.len() => Some(&tuple.elts),
            _ => None,
        };
        for (index, target) in targets.iter().enumerate() {
            let part = match (&value.parts, value.kind) {
                (Some(parts), Kind::Tuple) if parts.len() == targets.len() => parts[index].clone(),
                (_, Kind::Unknown) => Value { sources: value.sources, ..Value::unknown() },
                (_, Kind::Tensor) if index > 0 && value.has(Flags::LOSS) && !self.names_loss(target) => {
                    Value { sources: value.sources, ..Value::unknown() }
                }
                (_, Kind::Tensor) => raw_part(value, target, index),
                _ => value.element(),
            };
            self.assign(target, part, exprs.map(|exprs| &exprs[index]), range);
        }
    }

    fn note_bind(
        &mut self,
        name: &'a str,
        target: &'a Expr,
        value: &Value,
        expr: Option<&'a Expr>,
        owner: Option<Value>,
    ) {
        if self.recording() {
            let at = self.at();
            let value = self.seen(value);
            self.log.binds.push(Bind { name, target, value, value_expr: expr, owner, at });
        }
    }

    /// What nothing is known of, by the name it gets and the way that name is used.
    fn guessed(&self, name: &str, value: Value) -> Value {
        let made = match value.kind {
            Kind::Unknown => None,
            // A whole model may have been pickled.
            Kind::Made(sym) if !self.names.text(sym).starts_with("torch.") || self.names.text(sym) == "torch.load" => {
                Some(sym)
            }
            _ => return value,
        };
        let guess = guesses::guess(name, self.outline.usage(name));
        if guess.kind == Kind::Unknown { value } else { Value { sources: value.sources, maker: made, ..guess } }
    }

    /// The slot of a name or of an attribute chain on one.
    pub(super) fn slot_of(&mut self, expr: &'a Expr) -> Option<Slot> {
        match expr {
            Expr::Name(node) => {
                let name = node.id.as_str();
                // Names of outer scopes get a slot only through their attributes: they are not bound here.
                Some(self.f.env.name(name))
            }
            Expr::Attribute(node) => {
                let base = self.slot_of(&node.value)?;
                Some(self.f.env.attribute(base, node.attr.as_str()))
            }
            _ => None,
        }
    }

    /// Where a target lives.
    pub(super) fn root(&self, target: &'a Expr) -> Root<'a> {
        match target {
            Expr::Name(node) => {
                let name = node.id.as_str();
                let bound = self.f.env.known(name).is_some_and(|slot| self.f.env.get(slot).is_some());
                if self.f.globals.contains(name) || !bound && self.f.function.is_some() {
                    Root::Outer(name)
                } else {
                    Root::Local(name)
                }
            }
            Expr::Attribute(node) => match &*node.value {
                Expr::Name(base) if Some(base.id.as_str()) == self.f.self_name => {
                    Root::SelfAttribute(node.attr.as_str())
                }
                inner => self.root(inner),
            },
            Expr::Subscript(node) => self.root(&node.value),
            _ => Root::Other,
        }
    }

    /// Notes in the summary that a parameter is kept beyond the call.
    pub(super) fn note_kept(&mut self, kind: StoreKind, root: Root<'a>, value: &Value) {
        let (place, holder) = match root {
            Root::SelfAttribute(name) | Root::Outer(name) => (name, None),
            Root::Local(name) if kind == StoreKind::Append => match self.parameter_named(name) {
                Some(index) => (name, Some(index)),
                None => return,
            },
            Root::Local(_) | Root::Other => return,
        };
        if value.kind == Kind::Number || value.has(Flags::DETACHED) || self.f.summary.keeps.len() >= 16 {
            return;
        }
        // A sum under `no_grad` has no graph; what an unknown function made of a parameter may be a number.
        let sums = matches!(kind, StoreKind::AugAssign | StoreKind::Rebind);
        if sums && self.f.grad.is_off() || value.kind == Kind::Unknown && value.has(Flags::GUESSED) {
            return;
        }
        // `self.loss = f(x); self.loss = self.loss * w` is made anew each call.
        let anew = |kept: &Kept| kept.kind == StoreKind::Attribute && kept.place == place;
        if sums && self.f.summary.keeps.iter().any(anew) {
            return;
        }
        let overwrites = matches!(kind, StoreKind::Item | StoreKind::Extend);
        let kind = match kind {
            StoreKind::AugAssign | StoreKind::Rebind => StoreKind::AugAssign,
            StoreKind::Attribute | StoreKind::Global => StoreKind::Attribute,
            _ => StoreKind::Append,
        };
        let named = self.f.function.map_or(0, |index| self.outline.functions[index as usize].named_parameters());
        for parameter in value.sources.parameters() {
            // `self.last[name] = value` for each of `**values` is the same few entries on every call.
            if parameter >= named && overwrites {
                continue;
            }
            let kept = Kept { parameter, kind, place: place.to_owned(), holder };
            if !self.f.summary.keeps.contains(&kept) {
                self.f.summary.keeps.push(kept);
            }
        }
    }

    /// Which parameter of the function a name still is.
    fn parameter_named(&self, name: &str) -> Option<usize> {
        let node = self.outline.functions[self.f.function? as usize].node;
        let index = node.parameters.iter_non_variadic_params().position(|known| known.name().as_str() == name)?;
        let now = self.f.env.known(name).and_then(|slot| self.f.env.get(slot))?;
        now.sources.overlap(super::value::Sources::parameter(index)).then_some(index)
    }

    /// Puts a value into a holder: what the holder is said to hold becomes both.
    pub(super) fn grow(&mut self, target: &'a Expr, holder: &Value, value: &Value) {
        let element = if holder.parts.is_some() { mixed(&holder.element(), value) } else { value.clone() };
        let mut grown = Value::holder(holder.kind, element);
        grown.born = holder.born;
        grown.made_at = holder.made_at;
        grown.flags = holder.flags;
        grown.maker = holder.maker;
        match target {
            Expr::Name(_) | Expr::Attribute(_) => {
                let known = match target {
                    Expr::Name(node) => {
                        self.f.env.known(node.id.as_str()).is_some_and(|slot| self.f.env.get(slot).is_some())
                    }
                    _ => true,
                };
                if let (Some(slot), true) = (self.slot_of(target), known) {
                    self.f.env.update(slot, Some(grown));
                }
            }
            Expr::Subscript(node) => {
                let outer = self.quietly(|walker| walker.eval(&node.value));
                if matches!(outer.kind, Kind::List | Kind::Dict | Kind::Ring) {
                    self.grow(&node.value, &outer, &grown);
                }
            }
            _ => {}
        }
    }

    /// `p.requires_grad = False` on a module or tensor by name.
    fn switch_requires_grad(&mut self, base: &'a Expr, name: &str, expr: Option<&'a Expr>) {
        let (true, Some(Expr::BooleanLiteral(literal))) = (name == "requires_grad", expr) else { return };
        let Some(slot) = self.slot_of(base) else { return };
        let Some(value) = self.f.env.get(slot).cloned() else { return };
        if value.kind == Kind::Tensor {
            let value = if literal.value { value.flagged(Flags::LEAF) } else { value.unflagged(Flags::LEAF) };
            self.f.env.update(slot, Some(value));
        }
    }

    /// Takes a module out of training, or puts it back, where a loop does that to all of its parameters.
    pub(super) fn freeze_in_loop(&mut self, node: &'a StmtFor) {
        if let Some((module, on)) = freezing::set_in_loop(node) {
            self.set_flag(module, Flags::FROZEN, !on);
        }
    }

    /// `freeze(model)`, `set_requires_grad([net], False)`: helpers in view are followed, others go by their name.
    pub(super) fn switch_training(&mut self, given: &Given<'a>, callee: Callee) {
        let Some(frozen) = freezing::switches_training(given.name, given.node) else { return };
        let means_it = match callee {
            Callee::Project(id) => {
                freezing::freezes_given(self.tables.outlines[id.file as usize].functions[id.index as usize].node)
            }
            _ => true,
        };
        for module in freezing::handed_over(given.node).filter(|_| means_it) {
            self.set_flag(module, Flags::FROZEN, frozen);
        }
    }

    /// Marks the module an expression names as frozen or trainable, in evaluation mode or not.
    pub(super) fn set_flag(&mut self, module: &'a Expr, flag: Flags, on: bool) {
        let module = itself(module);
        let Some(slot) = self.slot_of(module) else { return };
        // What a function switches of the file's is switched back before others run: the name stays the file's.
        if flag == Flags::EVAL && module.is_name_expr() && self.f.env.get(slot).is_none() {
            return;
        }
        let value = self.quietly(|walker| walker.eval(module));
        // A frozen thing of which nothing is known stays frozen when it turns out to be a module.
        if value.kind == Kind::Module || flag == Flags::FROZEN && value.kind == Kind::Unknown {
            let value = if on { value.flagged(flag) } else { value.unflagged(flag) };
            self.f.env.update(slot, Some(value));
        }
    }

    /// Whether the names of a loop say that it goes over batches: `for x, y in test_data`, `for batch in batches(...)`.
    fn names_batches(&self, target: &'a Expr, iter: &'a Expr) -> bool {
        let named = match unwrapped(iter) {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        let name = match named {
            Expr::Name(node) => node.id.as_str(),
            Expr::Attribute(node) => node.attr.as_str(),
            _ => return false,
        };
        let name = name.to_ascii_lowercase();
        // `for name in args.datasets` goes over several of them.
        if name.ends_with("datasets") {
            return false;
        }
        let batches =
            ["batches", "batched", "data_iter", "dataiter", "loader", "dataset", "minibatch", "chunks", "chunked"]
                .iter()
                .any(|word| name.contains(word))
                || ["_data", "_set", "testset", "trainset", "valset", "_iter", "_iterator", "iterator"]
                    .iter()
                    .any(|word| name.ends_with(word))
                || name == "data";
        let target = self.source.slice(target.range()).to_ascii_lowercase();
        let items = ["batch", "chunk", "data", "image", "img", "input", "sample", "x", "feat", "src"];
        let first = target.trim_start_matches(['(', '[']).split(',').next().unwrap_or_default().trim();
        batches && (target.contains(',') || items.iter().any(|word| first.contains(word)))
    }

    /// What a loop over this goes over.
    pub(super) fn loop_kind(&self, target: &'a Expr, iter: &'a Expr, iterated: &Value) -> LoopKind {
        let target_text = self.source.slice(target.range()).to_ascii_lowercase();
        if iterates_loader(iterated) {
            return LoopKind::Loader;
        }
        if iterated.has(Flags::LEAF) {
            return LoopKind::Parameters;
        }
        let open = matches!(iterated.kind, Kind::Unknown | Kind::Dataset);
        if (open || iterated.kind == Kind::Iterator && makes_batches(iter)) && self.names_batches(target, iter) {
            return LoopKind::Loader;
        }
        let epochs = ["epoch", "fold", "trial", "round", "episode"];
        if epochs.iter().any(|word| target_text.contains(word)) {
            return LoopKind::Epochs;
        }
        let iter = unwrapped(iter);
        let Expr::Call(call) = iter else { return LoopKind::Items };
        let is_range = is_name(&call.func, "range") || is_name(&call.func, "trange");
        if !is_range {
            return LoopKind::Items;
        }
        if goes_in_chunks(&call.arguments.args, |expr| self.source.slice(expr.range())) {
            return LoopKind::Chunks;
        }
        let argument =
            call.arguments.args.last().map_or("", |argument| self.source.slice(argument.range())).to_ascii_lowercase();
        if epochs.iter().any(|word| argument.contains(word)) {
            return LoopKind::Epochs;
        }
        let steps = ["step", "iteration", "iters", "max_iter", "num_iter", "n_iter", "batch"];
        if steps.iter().any(|word| target_text.contains(word) || argument.contains(word)) && !argument.contains("accum")
        {
            return LoopKind::Steps;
        }
        LoopKind::Range
    }
}

/// What iterating a value gives.
pub(super) fn iterate(value: &Value) -> Value {
    let mut element = value.element();
    if value.kind == Kind::Dict {
        element = Value::of(Kind::Str);
    }
    if value.kind == Kind::Unknown {
        element.sources = value.sources;
    }
    if element.kind == Kind::Tensor && value.kind == Kind::Loader {
        element.device = Device::Cpu;
    }
    element
}

/// Whether iterating a value goes over batches of a loader.
fn iterates_loader(value: &Value) -> bool {
    // `enumerate(loader)`, `zip(loader, other)`: the element remembers that it is a batch.
    let is_batch = |part: &Value| part.has(Flags::DATA.with(Flags::RAW)) && !part.has(Flags::VIEW);
    let parts = |value: &Value| value.parts.clone().into_iter().flat_map(|parts| parts.to_vec()).collect::<Vec<_>>();
    value.kind == Kind::Loader
        || value.kind == Kind::Iterator
            && parts(value)
                .iter()
                .any(|part| is_batch(part) || part.kind == Kind::Tuple && parts(part).iter().any(is_batch))
}

/// One of several things a module returned: what is called a length or a metric is seldom an activation.
fn raw_part(value: &Value, target: &Expr, index: usize) -> Value {
    const PLAIN: &[&str] = &[
        "metric", "acc", "len", "ind", "idx", "count", "num", "size", "info", "stats", "label", "target", "ids",
        "names", "meta", "correct", "time", "lr", "log_", "logs", "logging", "shape", "dict",
    ];
    let name = match target {
        Expr::Name(node) => node.id.as_str().to_ascii_lowercase(),
        _ => String::new(),
    };
    let mut part = value.clone();
    if part.graph > Graph::Unknown && PLAIN.iter().any(|word| name.contains(word)) {
        part.graph = Graph::Unknown;
    }
    // What a criterion returns beside its loss are scores to show.
    if part.has(Flags::LOSS) && !["loss", "nll", "kl", "ce", "err", "cost"].iter().any(|word| name.contains(word)) {
        part.graph = part.graph.min(Graph::Unknown);
    }
    part.graph = part.graph.min(Graph::Likely);
    if index > 0 && value.has(Flags::RAW) && !guesses::is_tensor_name(&name) {
        part = part.flagged(Flags::GUESSED);
    }
    if name.contains("loss") {
        part = part.flagged(Flags::LOSS);
    }
    part
}

/// Whether a `range` counts whole batches: `range(0, len(texts), 32)`, `range(0, n, batch_size)`.
fn goes_in_chunks<'s>(arguments: &[Expr], written: impl Fn(&Expr) -> &'s str) -> bool {
    let [Expr::NumberLiteral(_), end, step] = arguments else { return false };
    let (end, step) = (written(end), written(step).to_ascii_lowercase());
    let counts_data = ["len(", ".shape", ".size("].iter().any(|word| end.contains(word));
    let counts_batches = ["batch", "chunk"].iter().any(|word| step.contains(word)) || step == "bs";
    counts_batches || counts_data && !step.starts_with('-')
}

/// The iterable inside `tqdm(...)` and the like.
fn unwrapped(iter: &Expr) -> &Expr {
    match iter {
        Expr::Call(call) if matches!(last_name(&call.func), Some("tqdm" | "enumerate" | "track")) => {
            call.arguments.args.first().map_or(iter, unwrapped)
        }
        _ => iter,
    }
}

/// Whether a loop goes over what a generator by such a name gives: `batched(files, 32)`, `self.get_batches(x)`.
fn makes_batches(iter: &Expr) -> bool {
    let Expr::Call(call) = unwrapped(iter) else { return false };
    let name = last_name(&call.func).unwrap_or_default().to_ascii_lowercase();
    ["batches", "batched", "minibatch", "chunks", "chunked"].iter().any(|word| name.contains(word))
}

/// `x = x + [v]`, `x = [*x, v]`: a list or tuple that grows.
fn adds_to_itself(expr: &Expr, name: &str, value: &Value) -> bool {
    let grows = match expr {
        Expr::BinOp(node) => is_name(&node.left, name),
        Expr::List(node) => {
            node.elts.iter().any(|item| matches!(item, Expr::Starred(star) if is_name(&star.value, name)))
        }
        Expr::Tuple(node) => {
            node.elts.iter().any(|item| matches!(item, Expr::Starred(star) if is_name(&star.value, name)))
        }
        _ => false,
    };
    grows && matches!(value.kind, Kind::List | Kind::Tuple)
}

/// Whether an expression reads a name.
pub(super) fn mentions(expr: &Expr, name: &str) -> bool {
    use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
    struct Search<'n> {
        name: &'n str,
        found: bool,
    }
    impl<'a> SourceOrderVisitor<'a> for Search<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.found |= is_name(expr, self.name);
            if !self.found {
                walk_expr(self, expr);
            }
        }
    }
    let mut search = Search { name, found: false };
    search.visit_expr(expr);
    search.found
}

/// `model` of `model.cuda().eval()`: these give the module back.
fn itself(module: &Expr) -> &Expr {
    match module {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if super::known::returns_module(method.attr.as_str()) => itself(&method.value),
            _ => module,
        },
        _ => module,
    }
}
