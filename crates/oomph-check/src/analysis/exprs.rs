//! The walk over expressions: what each one is.

use super::events::{BlockKind, GradMode, LoopKind, Return, StoreKind};
use super::known;
use super::value::{Device, Flags, Graph, Kind, Sources, Value};
use super::walk::Walker;
use crate::python::ast::{
    BoolOp, CmpOp, Comprehension, ExprBinOp, ExprDict, ExprLambda, ExprSubscript, Operator, UnaryOp,
};
use crate::python::{Expr, Ranged, TextRange};
use crate::uses::{string_of, whole_literal};

impl<'a> Walker<'a, '_> {
    /// What an expression is; everything in it is walked in the order it runs.
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Value {
        if self.depth > crate::python::MAX_NESTING as u32 {
            return Value::unknown();
        }
        self.depth += 1;
        let value = self.eval_inner(expr);
        self.depth -= 1;
        value
    }

    fn eval_inner(&mut self, expr: &'a Expr) -> Value {
        match expr {
            Expr::Name(node) => self.name(node),
            Expr::Attribute(node) => self.attribute(node),
            Expr::Call(node) => self.call(node),
            Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) => Value::of(Kind::Number),
            Expr::NoneLiteral(_) => Value::of(Kind::None),
            Expr::StringLiteral(node) => {
                Value { device: known::device_of(node.value.to_str()), ..Value::of(Kind::Str) }
            }
            Expr::FString(node) => {
                for element in node.value.elements() {
                    if let Some(inner) = element.as_interpolation() {
                        self.eval(&inner.expression);
                    }
                }
                Value::of(Kind::Str)
            }
            Expr::BinOp(node) => self.binary(node),
            Expr::UnaryOp(node) => {
                let value = self.eval(&node.operand);
                if value.kind == Kind::Tensor { value } else { Value::of(Kind::Number) }
            }
            Expr::BoolOp(node) => self.boolean(node.op, &node.values),
            Expr::Compare(node) => {
                let left = self.eval(&node.left);
                let mut tensor = left.kind == Kind::Tensor;
                for other in &node.comparators {
                    tensor |= self.eval(other).kind == Kind::Tensor;
                }
                if tensor { Value::data() } else { Value::of(Kind::Number) }
            }
            Expr::If(node) => self.conditional(&node.test, &node.body, &node.orelse),
            Expr::Subscript(node) => self.subscript(node),
            Expr::List(node) => self.display(Kind::List, &node.elts, expr.range()),
            Expr::Set(node) => self.display(Kind::Set, &node.elts, expr.range()),
            Expr::Tuple(node) => {
                let parts = node.elts.iter().map(|item| self.eval(item)).collect();
                self.born_here(Value::tuple(parts), expr.range())
            }
            Expr::Dict(node) => self.dict(node),
            Expr::ListComp(node) => self.comprehension(Kind::List, &node.generators, None, &node.elt, expr),
            Expr::SetComp(node) => self.comprehension(Kind::Set, &node.generators, None, &node.elt, expr),
            Expr::Generator(node) => self.comprehension(Kind::Iterator, &node.generators, None, &node.elt, expr),
            Expr::DictComp(node) => {
                self.comprehension(Kind::Dict, &node.generators, node.key.as_deref(), &node.value, expr)
            }
            Expr::Lambda(node) => self.lambda(node),
            Expr::Named(node) => {
                let value = self.eval(&node.value);
                self.assign(&node.target, value.clone(), Some(&node.value), expr.range());
                value
            }
            Expr::Starred(node) => self.eval(&node.value).element(),
            Expr::Await(node) => self.eval(&node.value),
            Expr::Yield(node) => {
                if let Some(inner) = &node.value {
                    let value = self.eval(inner);
                    self.yields(inner, value);
                }
                Value::unknown()
            }
            Expr::YieldFrom(node) => {
                let value = self.eval(&node.value).element();
                self.yields(&node.value, value);
                Value::unknown()
            }
            Expr::Slice(node) => {
                for part in [&node.lower, &node.upper, &node.step].into_iter().flatten() {
                    self.eval(part);
                }
                Value::of(Kind::Number)
            }
            Expr::BytesLiteral(_) | Expr::EllipsisLiteral(_) | Expr::TString(_) | Expr::IpyEscapeCommand(_) => {
                Value::unknown()
            }
        }
    }

    fn dict(&mut self, node: &'a ExprDict) -> Value {
        let mut element: Option<Value> = None;
        for item in &node.items {
            if let Some(key) = &item.key {
                self.eval(key);
            }
            let mut value = self.eval(&item.value);
            if item.key.is_none() {
                value = value.element();
            }
            element = Some(element.map_or_else(|| value.clone(), |old| mixed(&old, &value)));
        }
        self.new_holder(Kind::Dict, element, node.range())
    }

    fn lambda(&mut self, node: &'a ExprLambda) -> Value {
        let mark = self.f.env.mark();
        self.inside(BlockKind::Lambda, node.range(), |walker| {
            if let Some(parameters) = &node.parameters {
                walker.eval_defaults(parameters);
                for parameter in &**parameters {
                    let slot = walker.f.env.name(parameter.name().as_str());
                    walker.f.env.bind(slot, Some(Value::unknown()));
                }
            }
            walker.eval(&node.body);
        });
        self.f.env.undo(mark);
        Value::unknown()
    }

    fn yields(&mut self, expr: &'a Expr, value: Value) {
        if self.recording() {
            let at = self.at();
            self.log.returns.push(Return { expr, value: value.clone(), is_yield: true, at });
        }
        self.returns(value);
    }

    fn subscript(&mut self, node: &'a ExprSubscript) -> Value {
        let base = self.eval(&node.value);
        self.eval(&node.slice);
        if let (Expr::Name(name), Some(key), Kind::Dict) = (&*node.value, string_of(&node.slice), base.kind)
            && let Some(module) = self.global_module(name.id.as_str(), key)
        {
            return module;
        }
        match base.kind {
            // The second thing a module returned may be anything.
            Kind::Tensor if base.has(Flags::RAW) && literal_index(&node.slice).is_some_and(|index| index > 0) => {
                base.flagged(Flags::VIEW.with(Flags::GUESSED))
            }
            // A criterion that gives several things gives the loss first; the others may be there to be logged.
            Kind::Tensor if base.has(Flags::LOSS) && takes_others(&node.slice) => {
                base.at_most(Graph::Possible).flagged(Flags::VIEW)
            }
            Kind::Tensor => base.flagged(Flags::VIEW),
            Kind::Tuple => match (&base.parts, literal_index(&node.slice)) {
                (Some(parts), Some(index)) if index < parts.len() => parts[index].clone(),
                _ => base.element(),
            },
            Kind::List | Kind::Ring if matches!(&*node.slice, Expr::Slice(_)) => base,
            Kind::List | Kind::Dict | Kind::Ring | Kind::Iterator => base.element(),
            Kind::Dataset => Value::data().flagged(Flags::RAW.with(Flags::DATA)),
            // `Optional[Tensor]`, `List[int]`: the annotation's head is what it is.
            Kind::External(_) => Value::unknown(),
            Kind::Array => base,
            Kind::Module if base.maker.is_some_and(|maker| known::holds_parameters(self.names.text(maker))) => {
                Value::data().flagged(Flags::LEAF)
            }
            Kind::Module => base.part(),
            _ => Value { sources: base.sources, ..Value::unknown() },
        }
    }

    fn binary(&mut self, node: &'a ExprBinOp) -> Value {
        let left = self.eval(&node.left);
        let right = self.eval(&node.right);
        if matches!(left.kind, Kind::List | Kind::Tuple) && matches!(node.op, Operator::Add) {
            let empty = left.parts.as_ref().is_none_or(|parts| parts.is_empty());
            let element = if empty { right.element() } else { mixed(&left.element(), &right.element()) };
            return self.new_holder(left.kind, Some(element), node.range());
        }
        if matches!(left.kind, Kind::List) && matches!(node.op, Operator::Mult) {
            return self.born_here(left, node.range());
        }
        if left.kind == Kind::Str {
            return Value::of(Kind::Str);
        }
        // Bits have no graph.
        if matches!(node.op, Operator::BitAnd | Operator::BitOr | Operator::BitXor) {
            let tensor = left.kind == Kind::Tensor || right.kind == Kind::Tensor;
            return if tensor { Value::data() } else { Value::unknown() };
        }
        self.arithmetic(&left, &right, node.range())
    }

    /// What arithmetic on two values gives.
    pub(super) fn arithmetic(&mut self, left: &Value, right: &Value, range: TextRange) -> Value {
        if left.kind == Kind::Array || right.kind == Kind::Array && left.kind != Kind::Tensor {
            return Value::of(Kind::Array);
        }
        if left.kind == Kind::Number && right.kind == Kind::Number {
            return Value::of(Kind::Number);
        }
        if left.kind == Kind::Tensor || right.kind == Kind::Tensor {
            let mut value = self.combined(&[left, right], range);
            let loss = left.has(Flags::LOSS) || right.has(Flags::LOSS);
            if loss {
                value = value.flagged(Flags::LOSS);
            }
            return value;
        }
        let sources = left.sources.with(right.sources);
        let flags = Flags((left.flags.0 | right.flags.0) & Flags::GUESSED.0);
        Value { flags, sources, ..Value::unknown() }
    }

    /// A tensor computed from others.
    pub(super) fn combined(&mut self, inputs: &[&Value], range: TextRange) -> Value {
        let mut value = Value::data();
        let tensors = inputs.iter().filter(|input| input.kind == Kind::Tensor || input.graph > Graph::No);
        let (mut sources, mut graph, mut mixed) = (Sources::default(), Graph::No, false);
        let (mut leaf, mut guessed, mut told) = (false, false, false);
        let (mut freed, mut alive) = (false, false);
        for input in tensors {
            sources = sources.with(input.sources);
            graph = graph.max(input.graph);
            mixed |= input.has(Flags::MIXED);
            leaf |= input.has(Flags::LEAF);
            if input.graph >= Graph::Likely {
                guessed |= input.has(Flags::GUESSED);
                told |= !input.has(Flags::GUESSED);
                freed |= input.has(Flags::FREED);
                alive |= !input.has(Flags::FREED);
            }
            if input.device != Device::Unknown {
                value.device = input.device;
            }
        }
        if value.device == Device::Unknown {
            value.device = place_of_items(inputs);
        }
        value.graph = graph;
        value.sources = sources;
        if mixed {
            value = value.flagged(Flags::MIXED);
        }
        if guessed && !told {
            value = value.flagged(Flags::GUESSED);
        }
        if freed && !alive {
            value = value.flagged(Flags::FREED);
        }
        if leaf && graph < Graph::Likely {
            // Arithmetic on parameters makes a graph too, but no forward pass hangs on it.
            value.graph = Graph::Possible;
        }
        self.under_mode(value, range)
    }

    /// What the gradient mode leaves of a computed tensor's graph.
    pub(super) fn under_mode(&mut self, mut value: Value, range: TextRange) -> Value {
        match self.f.grad {
            GradMode::On => {}
            GradMode::Depends => {
                value.graph = value.graph.min(Graph::Possible);
                value = value.flagged(Flags::MIXED);
            }
            GradMode::NoGrad | GradMode::Inference => {
                value.graph = Graph::No;
                value = value.flagged(Flags::NO_GRAD);
            }
        }
        value.made_at = range;
        value.born = self.f.block;
        value
    }

    fn boolean(&mut self, op: BoolOp, values: &'a [Expr]) -> Value {
        let mut whole: Option<Value> = None;
        for (index, expr) in values.iter().enumerate() {
            let value = if index == 0 {
                self.eval(expr)
            } else {
                self.inside(BlockKind::If(None), expr.range(), |walker| walker.eval(expr))
            };
            whole = Some(match whole {
                None => value,
                Some(_) if op == BoolOp::And => value,
                Some(old) => old.join(&value),
            });
        }
        whole.unwrap_or_else(Value::unknown)
    }

    /// What a test asks to be a tensor, and whether it holds when it is one.
    pub(super) fn tensor_asked_for(&self, test: &Expr) -> Option<(&'a str, bool)> {
        match test {
            Expr::UnaryOp(node) if matches!(node.op, UnaryOp::Not) => {
                self.tensor_asked_for(&node.operand).map(|(asked, holds)| (asked, !holds))
            }
            Expr::Call(call) => {
                let (asked, kind) = (call.arguments.args.first()?, call.arguments.args.get(1));
                let kinds = match kind {
                    Some(Expr::Tuple(kinds)) => &kinds.elts[..],
                    Some(kind) => std::slice::from_ref(kind),
                    None => &[],
                };
                let of_tensors = kinds.iter().any(|kind| self.source.slice(kind.range()).ends_with("Tensor"));
                let kind = kind.map_or("", |kind| self.source.slice(kind.range()));
                let holds = match self.source.slice(call.func.range()).rsplit('.').next()? {
                    "is_tensor" => true,
                    "isinstance" if of_tensors => true,
                    "isinstance" if kind.contains("float") || kind.contains("int") => false,
                    "hasattr" if kind.contains("item") || kind.contains("detach") => true,
                    _ => return None,
                };
                Some((self.source.slice(asked.range()), holds))
            }
            // `type(x) is torch.Tensor`, `type(x) == float`.
            Expr::Compare(compare) => {
                let Expr::Call(call) = &*compare.left else { return None };
                let same = matches!(compare.ops[..], [CmpOp::Is | CmpOp::Eq]);
                let (asked, kind) =
                    (call.arguments.args.first()?, self.source.slice(compare.comparators.first()?.range()));
                if !same || self.source.slice(call.func.range()) != "type" {
                    return None;
                }
                let holds = kind.ends_with("Tensor");
                (holds || matches!(kind, "float" | "int")).then(|| (self.source.slice(asked.range()), holds))
            }
            _ => None,
        }
    }

    fn conditional(&mut self, test: &'a Expr, body: &'a Expr, orelse: &'a Expr) -> Value {
        self.eval(test);
        let yes = self.inside(BlockKind::If(Some(test)), body.range(), |walker| walker.eval(body));
        let no = self.inside(BlockKind::Else(test), orelse.range(), |walker| walker.eval(orelse));
        // `x.item() if isinstance(x, Tensor) else x`: what is no tensor has no graph.
        match self.tensor_asked_for(test) {
            Some((asked, true)) if self.source.slice(orelse.range()) == asked => yes,
            Some((asked, false)) if self.source.slice(body.range()) == asked => no,
            _ => yes.join(&no),
        }
    }

    fn display(&mut self, kind: Kind, items: &'a [Expr], range: TextRange) -> Value {
        let mut element: Option<Value> = None;
        for item in items {
            let value = self.eval(item);
            element = Some(element.map_or_else(|| value.clone(), |old| beside(&old, &value)));
        }
        self.new_holder(kind, element, range)
    }

    /// A new list, dict or set of something.
    pub(super) fn new_holder(&mut self, kind: Kind, element: Option<Value>, range: TextRange) -> Value {
        let value = element.map_or_else(|| Value::of(kind), |element| Value::holder(kind, element));
        self.born_here(value, range)
    }

    pub(super) fn born_here(&self, mut value: Value, range: TextRange) -> Value {
        value.made_at = range;
        value.born = self.f.block;
        value
    }

    fn comprehension(
        &mut self,
        kind: Kind,
        generators: &'a [Comprehension],
        key: Option<&'a Expr>,
        element: &'a Expr,
        whole: &'a Expr,
    ) -> Value {
        let mark = self.f.env.mark();
        let made = self.new_holder(kind, None, whole.range());
        let value = self.generator(generators, key, element, whole, &made);
        self.f.env.undo(mark);
        self.new_holder(kind, Some(value), whole.range())
    }

    fn generator(
        &mut self,
        generators: &'a [Comprehension],
        key: Option<&'a Expr>,
        element: &'a Expr,
        whole: &'a Expr,
        made: &Value,
    ) -> Value {
        let Some((first, rest)) = generators.split_first() else {
            if let Some(key) = key {
                self.eval(key);
            }
            let value = self.eval(element);
            if made.is_growing_holder() {
                self.store(StoreKind::Collect, whole, made, &value, element, whole.range());
            }
            return value;
        };
        let iterated = self.eval(&first.iter);
        let kind: LoopKind = self.loop_kind(&first.target, &first.iter, &iterated);
        let item = super::binding::iterate(&iterated);
        // The block is known by the generator's own text, so that several generators are several blocks.
        self.inside(BlockKind::Comprehension(kind, whole), first.range(), |walker| {
            walker.assign(&first.target, item, None, first.target.range());
            for test in &first.ifs {
                walker.eval(test);
            }
            walker.generator(rest, key, element, whole, made)
        })
    }
}

/// What a display with both items holds: numbers beside tensors do not hide the tensors.
pub(super) fn mixed(a: &Value, b: &Value) -> Value {
    if a.kind == b.kind || a.kind == Kind::Unknown || b.kind == Kind::Unknown {
        return a.join(b);
    }
    match (a.kind, b.kind) {
        (Kind::Tensor, _) => a.clone(),
        (_, Kind::Tensor) => b.clone(),
        _ => a.join(b),
    }
}

/// What a list holds that is written with both: a graph that one of them has is held, whatever the other is.
fn beside(a: &Value, b: &Value) -> Value {
    let known = |value: &Value, other: &Value| value.is_tensor() && value.holds_graph() && other.kind == Kind::Unknown;
    match (a, b) {
        (a, b) if known(a, b) => a.clone(),
        (a, b) if known(b, a) => b.clone(),
        (a, b) => mixed(a, b),
    }
}

/// Whether a subscript takes something else than the first of several: `losses[2]`, `losses[1:]`.
fn takes_others(slice: &Expr) -> bool {
    let from = match slice {
        Expr::Slice(node) => node.lower.as_deref().and_then(literal_index),
        other => literal_index(other),
    };
    from.is_some_and(|index| index > 0)
}

fn literal_index(expr: &Expr) -> Option<usize> {
    usize::try_from(whole_literal(expr)?).ok()
}

/// Where the tensors of a list are: `torch.cat(parts)` is there too.
fn place_of_items(inputs: &[&Value]) -> Device {
    let lists = inputs.iter().filter(|input| matches!(input.kind, Kind::List | Kind::Tuple));
    let items = lists.flat_map(|list| list.parts.iter().flat_map(|parts| parts.iter()));
    items.map(|item| item.device).find(|device| *device != Device::Unknown).unwrap_or(Device::Unknown)
}
