//! Who takes parameters out of training: classes in their constructor, helpers by their name.

use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr, walk_stmt};
use crate::python::ast::{ExprCall, StmtAssign, StmtFor, StmtFunctionDef};
use crate::python::{Expr, Stmt};
use crate::uses::last_name;

/// A class freezes all of its parameters when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Freezing<'a> {
    /// The parameter of the constructor that keeps them trainable, off unless given: `requires_grad`.
    pub unless: Option<&'a str>,
}

/// Whether a constructor ends by freezing the module: `for p in self.parameters(): p.requires_grad = False`.
pub(super) fn freezing_of(init: &StmtFunctionDef) -> Option<Freezing<'_>> {
    let mut found = None;
    for stmt in &init.body {
        match (freezes(stmt, init), stmt) {
            (Some(freezing), _) => found = Some(freezing),
            // A layer made later is trainable.
            (None, Stmt::Assign(assign)) if assign.value.is_call_expr() && is_of_self(assign.targets.first()) => {
                found = None;
            }
            _ => {}
        }
    }
    found
}

fn is_of_self(target: Option<&Expr>) -> bool {
    matches!(target, Some(Expr::Attribute(node)) if last_name(&node.value) == Some("self"))
}

fn freezes<'a>(stmt: &'a Stmt, init: &'a StmtFunctionDef) -> Option<Freezing<'a>> {
    match stmt {
        Stmt::For(node) => loop_freezes(node, init),
        Stmt::If(node) => match &*node.test {
            Expr::UnaryOp(test) if test.op.is_not() => {
                let unless = last_name(&test.operand).filter(|name| is_off_by_default(init, name))?;
                let inner = node.body.iter().find_map(|stmt| freezes(stmt, init));
                inner.map(|_| Freezing { unless: Some(unless) })
            }
            _ => None,
        },
        Stmt::Expr(node) => match &*node.value {
            Expr::Call(call) => {
                let Expr::Attribute(method) = &*call.func else { return None };
                let on_self = last_name(&method.value) == Some("self");
                let off = match call.arguments.args.first() {
                    Some(Expr::BooleanLiteral(literal)) => !literal.value && method.attr.as_str() == "requires_grad_",
                    None => method.attr.as_str() == "freeze",
                    _ => false,
                };
                (on_self && off).then_some(Freezing { unless: None })
            }
            _ => None,
        },
        _ => None,
    }
}

fn loop_freezes<'a>(node: &'a StmtFor, init: &'a StmtFunctionDef) -> Option<Freezing<'a>> {
    let Expr::Call(call) = &*node.iter else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let all = last_name(&method.value) == Some("self") && matches!(&*method.attr, "parameters" | "named_parameters");
    if !all {
        return None;
    }
    node.body.iter().find_map(|stmt| match stmt {
        Stmt::Assign(assign) => {
            let sets = assign.targets.first().and_then(last_name) == Some("requires_grad");
            match &*assign.value {
                Expr::BooleanLiteral(literal) if sets && !literal.value => Some(Freezing { unless: None }),
                Expr::Name(name) if sets && is_off_by_default(init, name.id.as_str()) => {
                    Some(Freezing { unless: Some(name.id.as_str()) })
                }
                _ => None,
            }
        }
        _ => None,
    })
}

fn is_off_by_default(init: &StmtFunctionDef, name: &str) -> bool {
    init.parameters.iter_non_variadic_params().any(|parameter| {
        let off = matches!(parameter.default.as_deref(), Some(Expr::BooleanLiteral(literal)) if !literal.value);
        off && parameter.name().as_str() == name
    })
}

/// The module whose parameters a loop sets `requires_grad` of, all of them, and to what; also one part after the other.
pub(super) fn set_in_loop(node: &StmtFor) -> Option<(&Expr, bool)> {
    let Expr::Call(call) = &*node.iter else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let item = match &*node.target {
        Expr::Tuple(pair) => last_name(pair.elts.last()?)?,
        target => last_name(target)?,
    };
    let set = match method.attr.as_str() {
        "parameters" | "named_parameters" => node.body.iter().rev().find_map(|stmt| set_by(stmt, item)),
        "modules" | "named_modules" | "children" | "named_children" => {
            node.body.iter().rev().find_map(|stmt| match stmt {
                Stmt::For(inner) => {
                    set_in_loop(inner).filter(|(part, _)| last_name(part) == Some(item)).map(|(_, on)| on)
                }
                _ => set_by(stmt, item),
            })
        }
        _ => None,
    };
    Some((&*method.value, set?))
}

/// `[p.requires_grad_(False) for p in model.parameters()]`: the same in one line.
pub(super) fn set_in_comprehension(expr: &Expr) -> Option<(&Expr, bool)> {
    let Expr::ListComp(made) = expr else { return None };
    let ([turns], Expr::Call(call)) = (&made.generators[..], &*made.elt) else { return None };
    let Expr::Call(iter) = &turns.iter else { return None };
    let Expr::Attribute(method) = &*iter.func else { return None };
    let all = turns.ifs.is_empty() && matches!(method.attr.as_str(), "parameters" | "modules" | "children");
    let set = set_by_call(call, last_name(&turns.target)?).filter(|_| all)?;
    Some((&*method.value, set))
}

/// What `model.apply(lambda part: part.requires_grad_(False))` sets.
pub(super) fn set_by_lambda(expr: &Expr) -> Option<bool> {
    let Expr::Lambda(lambda) = expr else { return None };
    let item = lambda.parameters.as_deref()?.iter().next()?;
    match &*lambda.body {
        Expr::Call(call) => set_by_call(call, item.name().as_str()),
        _ => None,
    }
}

/// `p.requires_grad = False`, `p.requires_grad_(False)`.
fn set_by(stmt: &Stmt, item: &str) -> Option<bool> {
    match stmt {
        Stmt::Assign(assign) if sets_requires_grad(assign) => match (&*assign.value, assign.targets.first()) {
            (Expr::BooleanLiteral(literal), Some(Expr::Attribute(target))) => {
                (last_name(&target.value) == Some(item)).then_some(literal.value)
            }
            _ => None,
        },
        Stmt::Expr(node) => match &*node.value {
            Expr::Call(call) => set_by_call(call, item),
            _ => None,
        },
        _ => None,
    }
}

/// `p.requires_grad_(False)`, and `p.detach_()`, which comes to the same.
fn set_by_call(call: &ExprCall, item: &str) -> Option<bool> {
    let Expr::Attribute(method) = &*call.func else { return None };
    let on = match (method.attr.as_str(), call.arguments.args.first()) {
        ("requires_grad_", None) => true,
        ("requires_grad_", Some(Expr::BooleanLiteral(literal))) => literal.value,
        ("detach_", None) => false,
        _ => return None,
    };
    (last_name(&method.value) == Some(item)).then_some(on)
}

/// Whether a helper of this name takes all of a model out of training (`Some(true)`) or puts it back, by its words and
/// the flag it is given: `freeze(model)`, `deactivate_requires_grad(model)`, `toggle_grad(model, False)`. `freeze_bn`
/// and `freeze_encoder` are about a part.
pub(crate) fn switches_training(name: &str, call: &ExprCall) -> Option<bool> {
    const WHOLE: &[&str] = &[
        "model",
        "models",
        "module",
        "modules",
        "net",
        "nets",
        "network",
        "networks",
        "param",
        "params",
        "parameter",
        "parameters",
        "weight",
        "weights",
        "all",
        "of",
        "for",
        "the",
    ];
    const GRADIENTS: &[&str] = &["grad", "grads", "gradient", "gradients", "requiresgrad"];
    const SWITCHES: &[&str] =
        &["toggle", "switch", "requires", "require", "disable", "deactivate", "enable", "activate", "turn"];
    let has = |words: &[&str]| name.split('_').any(|word| words.contains(&word));
    let known = |word: &str| {
        matches!(word, "" | "freeze" | "unfreeze" | "set" | "off" | "on")
            || WHOLE.contains(&word)
            || GRADIENTS.contains(&word)
            || SWITCHES.contains(&word)
    };
    let by_gradients = has(GRADIENTS) && has(SWITCHES);
    if name.ends_with('_') || !(has(&["freeze", "unfreeze"]) || by_gradients) || !name.split('_').all(known) {
        return None;
    }
    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
    let flag = call.arguments.args.iter().chain(keywords).find_map(|value| match value {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        _ => None,
    });
    let puts_back = has(&["unfreeze", "enable", "activate", "on"]);
    let says_off = has(&["freeze", "disable", "deactivate", "off"]);
    Some(match flag {
        // `freeze(model, False)` puts it back, `set_requires_grad(model, False)` takes it out.
        Some(flag) if says_off => flag,
        Some(flag) => !flag,
        None => !puts_back,
    })
}

/// What a call hands to a helper: `model` of `freeze(model)`, both of `set_requires_grad([net_a, net_b], False)`.
pub(crate) fn handed_over(call: &ExprCall) -> impl Iterator<Item = &Expr> {
    call.arguments.args.iter().flat_map(|arg| match arg {
        Expr::List(list) => list.elts.iter().collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        other => vec![other],
    })
}

/// Whether a function of the project takes all parameters of what it is given out of training, or may: some loop of it
/// sets `requires_grad` of every one, or it calls what does.
pub(crate) fn freezes_given(function: &StmtFunctionDef) -> bool {
    struct Search(bool);
    impl<'n> SourceOrderVisitor<'n> for Search {
        fn visit_stmt(&mut self, stmt: &'n Stmt) {
            self.0 |= matches!(stmt, Stmt::For(node) if frozen_in(node).is_some());
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'n Expr) {
            if let Expr::Call(call) = expr {
                let name = last_name(&call.func).unwrap_or_default();
                self.0 |= switches_off(call) || switches_training(name, call) == Some(true);
            }
            walk_expr(self, expr);
        }
    }
    let mut search = Search(false);
    walk_body(&mut search, &function.body);
    search.0
}

/// Whether a function of the project sets `requires_grad` of parameters, in a loop over them, to a flag of its own that
/// a call gives as `False`: `check_frozen(net, change=True, after=False)`.
pub(crate) fn freezes_by_flag(function: &StmtFunctionDef, call: &ExprCall) -> bool {
    struct Search<'n>(Vec<&'n str>);
    impl<'n> SourceOrderVisitor<'n> for Search<'n> {
        fn visit_stmt(&mut self, stmt: &'n Stmt) {
            match stmt {
                Stmt::Assign(assign) if sets_requires_grad(assign) => self.0.extend(last_name(&assign.value)),
                _ => walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'n Expr) {
            if let Expr::Call(call) = expr
                && last_name(&call.func) == Some("requires_grad_")
            {
                self.0.extend(call.arguments.args.first().and_then(last_name));
            }
            walk_expr(self, expr);
        }
    }
    let is_off = |value: &Expr| matches!(value, Expr::BooleanLiteral(literal) if !literal.value);
    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
    if !call.arguments.args.iter().chain(keywords).any(is_off) {
        return false;
    }
    let mut flags = Search(Vec::new());
    for stmt in function.body.iter().filter(|stmt| stmt.is_for_stmt()) {
        flags.visit_stmt(stmt);
    }
    flags.0.into_iter().any(|flag| {
        let place = function.parameters.iter_non_variadic_params().position(|found| found.name().as_str() == flag);
        let by_name = || call.arguments.find_keyword(flag).map(|keyword| &keyword.value);
        place.and_then(|place| call.arguments.args.get(place).or_else(by_name)).is_some_and(is_off)
    })
}

/// The attributes a constructor puts results of functions into, each with the function: `model` and `names`, both with
/// `load`, of `self.model, self.names = load(path)`.
pub(super) fn loads_of(init: &StmtFunctionDef) -> Vec<(&str, &str)> {
    struct Search<'n>(Vec<(&'n str, &'n str)>);
    impl<'n> SourceOrderVisitor<'n> for Search<'n> {
        fn visit_stmt(&mut self, stmt: &'n Stmt) {
            if let Stmt::Assign(assign) = stmt
                && let Expr::Call(call) = &*assign.value
                && let Some(loader) = last_name(&call.func)
            {
                let targets = assign.targets.iter().flat_map(|target| match target {
                    Expr::Tuple(parts) => parts.elts.iter().collect(),
                    other => vec![other],
                });
                let own = targets.filter(|target| is_of_self(Some(target)));
                self.0.extend(own.filter_map(last_name).map(|attribute| (attribute, loader)));
            }
            walk_stmt(self, stmt);
        }
    }
    let mut search = Search(Vec::new());
    walk_body(&mut search, &init.body);
    search.0
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::BooleanLiteral(literal) if literal.value)
}

/// What a call takes out of training, or may: `freeze(teacher)`, `set_requires_grad([netD], False)`,
/// `teacher.requires_grad_(False)`.
pub(super) fn frozen_by(call: &ExprCall) -> Vec<&str> {
    let Some(name) = last_name(&call.func) else { return Vec::new() };
    // `x.requires_grad_()` asks for gradients.
    let asks = name == "requires_grad_" && !switches_off(call);
    let by_name = !asks && (name.contains("freeze") || name.contains("requires_grad"));
    if !by_name && switches_training(name, call) != Some(true) {
        return Vec::new();
    }
    let receiver = match &*call.func {
        Expr::Attribute(method) => Some(&*method.value),
        _ => None,
    };
    receiver.into_iter().chain(handed_over(call)).filter_map(last_name).collect()
}

/// What a method leaves all parameters of a module with as `requires_grad`, where a loop of its own body sets it.
pub(crate) fn switched_by(method: &StmtFunctionDef, module: &str) -> Option<bool> {
    let sets = |stmt: &Stmt| match stmt {
        Stmt::Assign(assign) => match &*assign.value {
            Expr::BooleanLiteral(literal) => Some(literal.value),
            _ => None,
        },
        _ => None,
    };
    method.body.iter().rev().find_map(|stmt| match stmt {
        Stmt::For(node) if switched_in(node) == Some(module) => node.body.iter().find_map(sets),
        _ => None,
    })
}

/// The module whose parameters a loop takes out of training, or may.
pub(crate) fn frozen_in(node: &StmtFor) -> Option<&str> {
    let may_freeze = node.body.iter().any(|stmt| match stmt {
        Stmt::Assign(assign) => sets_requires_grad(assign) && !is_true(&assign.value),
        Stmt::Expr(node) => matches!(&*node.value, Expr::Call(call) if switches_off(call)),
        _ => false,
    });
    switched_in(node).filter(|_| may_freeze)
}

fn sets_requires_grad(assign: &StmtAssign) -> bool {
    assign.targets.first().and_then(last_name) == Some("requires_grad")
}

/// `parameter.requires_grad_(False)`, or with what may be that.
fn switches_off(call: &ExprCall) -> bool {
    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
    let mut given = call.arguments.args.iter().chain(keywords);
    last_name(&call.func) == Some("requires_grad_") && given.next().is_some_and(|value| !is_true(value))
}

/// The module whose parameters a loop sets `requires_grad` of.
pub(crate) fn switched_in(node: &StmtFor) -> Option<&str> {
    let Expr::Call(call) = &*node.iter else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let over = matches!(method.attr.as_str(), "parameters" | "named_parameters");
    let sets = node.body.iter().any(|stmt| match stmt {
        Stmt::Assign(assign) => sets_requires_grad(assign),
        Stmt::Expr(node) => {
            matches!(&*node.value, Expr::Call(call) if last_name(&call.func) == Some("requires_grad_"))
        }
        _ => false,
    });
    last_name(&method.value).filter(|_| over && sets)
}
