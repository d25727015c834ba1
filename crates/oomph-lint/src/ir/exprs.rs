//! Expressions to instructions.

use super::lower::{DEPTH_MAX, Header, Lowering, lambda_scope, span_of};
use super::{Arg, ArgKind, BlockId, Brackets, Const, FunctionKind, Name, Op, Operator, Reg, Span, Term, Test, Var};
use crate::syntax::tree::{self, CmpOp, Expr, Number, UnaryOp};

impl<'t> Lowering<'_, 't> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &'t Expr) -> Reg {
        if self.depth >= DEPTH_MAX {
            return self.emit(Op::Unknown, span_of(expr));
        }
        self.depth += 1;
        let value = self.shallow(expr);
        self.depth -= 1;
        value
    }

    fn shallow(&mut self, expr: &'t Expr) -> Reg {
        let span = span_of(expr);
        match expr {
            Expr::BoolOp(node) => {
                let values = node.values.iter().map(|value| self.expr(value)).collect();
                self.emit(Op::Join(values), span)
            }
            Expr::Named(node) => {
                let value = self.expr(&node.value);
                self.assign(&node.target, value, span);
                value
            }
            Expr::BinOp(node) => self.binary(node, span),
            Expr::UnaryOp(node) => {
                let left = self.expr(&node.operand);
                let op = if node.op == UnaryOp::Not { Operator::Compare } else { Operator::Arithmetic };
                self.emit(Op::Binary { op, left, right: left, in_place: false }, span)
            }
            Expr::Lambda(node) => self.lambda(node, span),
            Expr::If(node) => self.choice(node, span),
            Expr::Dict(node) => {
                let items = node.items.iter().map(|item| {
                    let key = item.key.as_ref().map(|key| self.expr(key));
                    (key, self.expr(&item.value))
                });
                let items = items.collect();
                self.emit(Op::BuildDict(items), span)
            }
            Expr::Set(node) => self.brackets(Brackets::Set, &node.elts, span),
            Expr::List(node) => self.brackets(Brackets::List, &node.elts, span),
            Expr::Tuple(node) => self.brackets(Brackets::Tuple, &node.elts, span),
            Expr::ListComp(node) => self.comprehension(Brackets::List, None, &node.elt, &node.generators, span),
            Expr::SetComp(node) => self.comprehension(Brackets::Set, None, &node.elt, &node.generators, span),
            Expr::Generator(node) => self.comprehension(Brackets::List, None, &node.elt, &node.generators, span),
            Expr::DictComp(node) => {
                self.comprehension(Brackets::Set, node.key.as_deref(), &node.value, &node.generators, span)
            }
            Expr::Await(node) => self.expr(&node.value),
            Expr::Yield(node) => {
                let value = match &node.value {
                    Some(value) => self.expr(value),
                    None => self.emit(Op::Const(Const::None), span),
                };
                self.emit(Op::Yield(value), span)
            }
            Expr::YieldFrom(node) => self.yield_from(&node.value, span),
            Expr::Compare(node) => {
                let left = self.expr(&node.left);
                let mut last = left;
                for right in &node.comparators {
                    let right = self.expr(right);
                    last = self.emit(Op::Binary { op: Operator::Compare, left, right, in_place: false }, span);
                }
                last
            }
            Expr::Call(node) => self.call(node, span),
            Expr::FString(node) => {
                for part in node.value.elements().filter_map(|element| element.as_interpolation()) {
                    self.expr(&part.expression);
                }
                self.emit(Op::Const(Const::Other), span)
            }
            Expr::StringLiteral(node) => {
                let text = self.name(node.value.to_str());
                self.emit(Op::Const(Const::Str(text)), span)
            }
            Expr::NumberLiteral(node) => {
                let number = match &node.value {
                    Number::Int(int) => int.as_i64().map_or(Const::Number, Const::Int),
                    _ => Const::Number,
                };
                self.emit(Op::Const(number), span)
            }
            Expr::BooleanLiteral(node) => self.emit(Op::Const(Const::Bool(node.value)), span),
            Expr::NoneLiteral(_) => self.emit(Op::Const(Const::None), span),
            Expr::TString(_) | Expr::BytesLiteral(_) | Expr::EllipsisLiteral(_) => {
                self.emit(Op::Const(Const::Other), span)
            }
            Expr::Attribute(node) => {
                let value = self.expr(&node.value);
                let name = self.name(&node.attr);
                self.emit(Op::Attr(value, name), span)
            }
            Expr::Subscript(node) => {
                let value = self.expr(&node.value);
                let index = self.expr(&node.slice);
                self.emit(Op::Index(value, index), span)
            }
            Expr::Starred(node) => self.expr(&node.value),
            Expr::Name(node) => {
                let var = self.var(&node.id);
                self.emit(Op::Load(var), span)
            }
            Expr::Slice(node) => {
                for part in [&node.lower, &node.upper, &node.step].into_iter().flatten() {
                    self.expr(part);
                }
                self.emit(Op::Const(Const::Other), span)
            }
            Expr::IpyEscapeCommand(_) => self.emit(Op::Unknown, span),
        }
    }

    /// Long chains such as `a + b + c` lean to the left: they are walked, not recursed into.
    fn binary(&mut self, node: &'t tree::ExprBinOp, span: Span) -> Reg {
        let mut chain = vec![node];
        while let Expr::BinOp(left) = &*chain[chain.len() - 1].left {
            chain.push(left);
        }
        let mut left = self.expr(&chain[chain.len() - 1].left);
        for node in chain.into_iter().rev() {
            let right = self.expr(&node.right);
            let op = if node.op == tree::Operator::Add { Operator::Add } else { Operator::Arithmetic };
            let span = Span { start: span.start, end: span_of(node).end };
            left = self.emit(Op::Binary { op, left, right, in_place: false }, span);
        }
        left
    }

    fn lambda(&mut self, node: &'t tree::ExprLambda, span: Span) -> Reg {
        let parameters = node.parameters.as_deref();
        let mut defaults = Vec::new();
        if let Some(parameters) = parameters {
            for parameter in parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs) {
                if let Some(default) = parameter.default() {
                    defaults.push(self.expr(default));
                }
            }
        }
        let header =
            Header { name: "<lambda>", kind: FunctionKind::Lambda, is_method: false, decorators: Vec::new(), span };
        let function = self.nested(header, parameters, lambda_scope(node), |inner| {
            let value = inner.expr(&node.body);
            inner.end(Term::Return(value));
        });
        self.emit(Op::Closure { function, defaults }, span)
    }

    fn choice(&mut self, node: &'t tree::ExprIf, span: Span) -> Reg {
        let (yes, no, after) = (self.block(), self.block(), self.block());
        let result = self.hidden("<choice>");
        self.condition(&node.test, yes, no);
        for (block, value) in [(yes, &node.body), (no, &node.orelse)] {
            self.at(block);
            let value = self.expr(value);
            self.emit(Op::Store(result.clone(), value), span);
            self.end(Term::Goto(after));
        }
        self.at(after);
        self.emit(Op::Load(result), span)
    }

    fn brackets(&mut self, kind: Brackets, elts: &'t [Expr], span: Span) -> Reg {
        let parts = elts.iter().map(|elt| (self.expr(elt), elt.is_starred_expr())).collect();
        self.emit(Op::Build(kind, parts), span)
    }

    fn comprehension(
        &mut self,
        kind: Brackets,
        key: Option<&'t Expr>,
        value: &'t Expr,
        generators: &'t [tree::Comprehension],
        span: Span,
    ) -> Reg {
        let is_dict = key.is_some();
        let target = if is_dict {
            self.emit(Op::BuildDict(Vec::new()), span)
        } else {
            self.emit(Op::Build(kind, Vec::new()), span)
        };
        let mut names = Vec::new();
        generators.iter().for_each(|generator| bound_names(&generator.target, &mut names));
        // The first iterable is read outside the comprehension's own scope.
        let first = generators.first().map(|generator| self.expr(&generator.iter));
        self.rename(names);
        let mut ends = Vec::new();
        for (at, generator) in generators.iter().enumerate() {
            let values = match first {
                Some(first) if at == 0 => first,
                _ => self.expr(&generator.iter),
            };
            let iter = self.emit(Op::Iter(values), span_of(&generator.iter));
            let (head, body, exit) = (self.block(), self.block(), self.block());
            self.end(Term::Goto(head));
            self.at(head);
            let item = self.reg();
            self.end(Term::For { iter, item, body, exit });
            self.at(body);
            self.assign(&generator.target, item, span_of(&generator.target));
            for test in &generator.ifs {
                let yes = self.block();
                self.condition(test, yes, head);
                self.at(yes);
            }
            ends.push((head, exit));
        }
        let key = key.map(|key| self.expr(key));
        let value = self.expr(value);
        self.emit(Op::Collect { target, key, value }, span);
        for (head, exit) in ends.into_iter().rev() {
            self.end(Term::Goto(head));
            self.at(exit);
        }
        self.unrename();
        target
    }

    fn yield_from(&mut self, value: &'t Expr, span: Span) -> Reg {
        let values = self.expr(value);
        let iter = self.emit(Op::Iter(values), span);
        let (head, body, exit) = (self.block(), self.block(), self.block());
        self.end(Term::Goto(head));
        self.at(head);
        let item = self.reg();
        self.end(Term::For { iter, item, body, exit });
        self.at(body);
        self.emit(Op::Yield(item), span);
        self.end(Term::Goto(head));
        self.at(exit);
        self.emit(Op::Unknown, span)
    }

    fn call(&mut self, node: &'t tree::ExprCall, span: Span) -> Reg {
        let func = self.expr(&node.func);
        let mut args = Vec::new();
        for arg in &node.arguments.args {
            let kind = if arg.is_starred_expr() { ArgKind::Spread } else { ArgKind::Plain };
            args.push(Arg { kind, value: self.expr(arg) });
        }
        for keyword in &node.arguments.keywords {
            let kind = match &keyword.arg {
                Some(name) => ArgKind::Named(self.name(name)),
                None => ArgKind::SpreadNamed,
            };
            args.push(Arg { kind, value: self.expr(&keyword.value) });
        }
        self.emit(Op::Call { func, args }, span)
    }

    /// Stores a value where a target says.
    pub(super) fn assign(&mut self, target: &'t Expr, value: Reg, span: Span) {
        match target {
            Expr::Name(name) => {
                let var = self.var(&name.id);
                self.emit(Op::Store(var, value), span);
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                self.emit(Op::SetAttr(object, name, value), span);
            }
            Expr::Subscript(subscript) => {
                let object = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                self.emit(Op::SetIndex(object, index, value), span);
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, value, span),
            Expr::List(list) => self.unpack(&list.elts, value, span),
            Expr::Starred(starred) => self.assign(&starred.value, value, span),
            _ => {}
        }
    }

    fn unpack(&mut self, targets: &'t [Expr], value: Reg, span: Span) {
        let star = targets.iter().position(Expr::is_starred_expr);
        for (at, target) in targets.iter().enumerate() {
            let part = if star.is_some_and(|star| star <= at) { None } else { Some(at) };
            let part = self.emit(Op::Part { value, at: part, of: targets.len() }, span);
            self.assign(target, part, span);
        }
    }

    /// Branches on a condition; each side knows what the test says of a variable.
    pub(super) fn condition(&mut self, test: &'t Expr, yes: BlockId, no: BlockId) {
        if let Expr::UnaryOp(node) = test
            && node.op == UnaryOp::Not
            && self.depth < DEPTH_MAX
        {
            self.depth += 1;
            self.condition(&node.operand, no, yes);
            self.depth -= 1;
            return;
        }
        let cond = self.expr(test);
        let told = self.told_by(test);
        self.end(Term::Branch { cond, yes, no });
        let span = span_of(test);
        if let Some((var, test, holds)) = told {
            for (block, side) in [(yes, holds), (no, !holds)] {
                let kept = self.current;
                self.at(block);
                self.emit(Op::Assume { var: var.clone(), test, holds: side }, span);
                self.current = kept;
            }
        }
    }

    /// What a test says of a variable: which, what, and whether that holds where the test is true.
    fn told_by(&mut self, test: &'t Expr) -> Option<(Var, Test, bool)> {
        match test {
            Expr::Name(name) => Some((self.var(&name.id), Test::IsTrue, true)),
            Expr::Compare(node) => {
                let (Expr::Name(name), [op], [Expr::NoneLiteral(_)]) = (&*node.left, &*node.ops, &*node.comparators)
                else {
                    return None;
                };
                let holds = match op {
                    CmpOp::Is | CmpOp::Eq => true,
                    CmpOp::IsNot | CmpOp::NotEq => false,
                    _ => return None,
                };
                Some((self.var(&name.id), Test::IsNone, holds))
            }
            Expr::Call(call) => {
                let function: Name = super::lower::dotted(&call.func)?.into();
                let Some(Expr::Name(name)) = call.arguments.args.first() else { return None };
                let test = match &*function {
                    "isinstance" => test_of_class(call.arguments.args.get(1)?)?,
                    other if other.ends_with("is_tensor") => Test::IsTensor,
                    _ => return None,
                };
                Some((self.var(&name.id), test, true))
            }
            _ => None,
        }
    }
}

/// What `isinstance` with a class, or a tuple of classes, tests for.
fn test_of_class(class: &Expr) -> Option<Test> {
    if let Expr::Tuple(classes) = class {
        let mut tests = classes.elts.iter().map(test_of_class);
        let first = tests.next()??;
        return tests.all(|test| test == Some(first)).then_some(first);
    }
    let name = super::lower::dotted(class)?;
    match name.rsplit('.').next()? {
        "Tensor" => Some(Test::IsTensor),
        "tuple" | "list" | "dict" | "Sequence" | "Mapping" => Some(Test::IsContainer),
        _ => None,
    }
}

/// The names a target binds.
fn bound_names(target: &Expr, names: &mut Vec<String>) {
    match target {
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|elt| bound_names(elt, names)),
        Expr::List(list) => list.elts.iter().for_each(|elt| bound_names(elt, names)),
        Expr::Starred(starred) => bound_names(&starred.value, names),
        _ => {}
    }
}
