//! A local function that one place of a loop calls, read as if its body stood there: what rules say of the turns of a
//! loop holds for turns that are written as a function of their own.
//!
//! The body is put into a `with` of nothing that stands where the call stood. Every part keeps its place in the text, and
//! what only the function knew is deleted at the end.

mod putting;

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr, walk_stmt};
use ruff_python_ast::{Decorator, Expr, ExprCall, ExprContext, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::mentions::Mentions;
use super::plain::bodies_of;
use super::root_name;
use putting::{put_in, taken_out};

/// A function that is read in place may hold the only call of another.
const ROUNDS: usize = 4;

/// Reads the functions of a module, and of the functions in it, in place.
pub(super) fn read_in_place(body: &mut [Stmt], is_imported: &impl Fn(&str) -> bool) {
    in_scope(body, Some(is_imported));
    for _ in 0..ROUNDS {
        let plans = plans_across(body, is_imported);
        if plans.is_empty() {
            return;
        }
        carry_out(body, plans);
    }
}

/// Of the scope of a module, it is told what others import.
fn in_scope<F: Fn(&str) -> bool>(body: &mut [Stmt], module: Option<&F>) {
    for stmt in body.iter_mut() {
        in_scopes_within::<F>(stmt);
    }
    for _ in 0..ROUNDS {
        let plans = plans_of(body, module);
        if plans.is_empty() {
            return;
        }
        carry_out(body, plans);
    }
}

fn carry_out(body: &mut [Stmt], plans: Vec<Plan>) {
    for plan in plans {
        if let Some(function) = taken_out(body, plan.function) {
            put_in(body, &plan, function);
        }
    }
}

fn in_scopes_within<F: Fn(&str) -> bool>(stmt: &mut Stmt) {
    if let Stmt::FunctionDef(node) = stmt {
        in_scope::<F>(&mut node.body, None);
        return;
    }
    for suite in bodies_of(stmt) {
        suite.iter_mut().for_each(in_scopes_within::<F>);
    }
}

/// A function and the one place that calls it.
struct Plan {
    function: TextRange,
    /// The statement of the call, and the call.
    statement: TextRange,
    call: TextRange,
    /// Names that end with the body.
    ends: Vec<(Name, TextRange)>,
}

/// Looks for functions of a scope, and for calls in its loops.
#[derive(Default)]
struct Sites<'a> {
    loops: u32,
    /// Where the loop around goes on when the statement is done.
    last: Option<TextRange>,
    functions: FxHashMap<&'a str, Vec<&'a StmtFunctionDef>>,
    calls: Vec<Site<'a>>,
    /// Whether to look into functions too, and those around.
    deep: bool,
    around: Vec<&'a StmtFunctionDef>,
}

/// A call of a name, in a loop.
struct Site<'a> {
    name: &'a str,
    stmt: &'a Stmt,
    call: &'a ExprCall,
    /// Whether the turn is over when the statement is done.
    ends_turn: bool,
    /// The functions around it, the innermost last.
    around: Vec<&'a StmtFunctionDef>,
}

impl<'a> Sites<'a> {
    fn turns(&mut self, stmt: &'a Stmt, body: &'a [Stmt]) {
        let outer = std::mem::replace(&mut self.last, body.last().map(Ranged::range));
        self.loops += 1;
        walk_stmt(self, stmt);
        self.loops -= 1;
        self.last = outer;
    }
}

impl<'a> SourceOrderVisitor<'a> for Sites<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) if self.deep => {
                self.around.push(node);
                let (loops, last) = (std::mem::take(&mut self.loops), self.last.take());
                node.body.iter().for_each(|stmt| self.visit_stmt(stmt));
                (self.loops, self.last) = (loops, last);
                self.around.pop();
            }
            Stmt::FunctionDef(node) => self.functions.entry(node.name.as_str()).or_default().push(node),
            Stmt::ClassDef(_) if !self.deep => {}
            Stmt::For(node) => self.turns(stmt, &node.body),
            Stmt::While(node) => self.turns(stmt, &node.body),
            Stmt::Expr(_) | Stmt::Assign(_) | Stmt::AugAssign(_) if self.loops > 0 => {
                let mut calls = Calls(Vec::new());
                walk_stmt(&mut calls, stmt);
                // What uses the value goes on after an early `return`.
                let alone = |call: &ExprCall| matches!(stmt, Stmt::Expr(whole) if whole.value.range() == call.range());
                let is_last = self.last == Some(stmt.range());
                let around = || self.around.clone();
                let sites = calls.0.into_iter().map(|(name, call)| {
                    let ends_turn = is_last && alone(call);
                    Site { name, stmt, call, ends_turn, around: around() }
                });
                self.calls.extend(sites);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// Calls of names, where they are made whenever the statement runs.
struct Calls<'a>(Vec<(&'a str, &'a ExprCall)>);

impl<'a> SourceOrderVisitor<'a> for Calls<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_)
            | Expr::If(_)
            | Expr::BoolOp(_) => return,
            Expr::Call(call) => {
                if let Expr::Name(name) = &*call.func {
                    self.0.push((name.id.as_str(), call));
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

fn plans_of<F: Fn(&str) -> bool>(body: &[Stmt], module: Option<&F>) -> Vec<Plan> {
    let mut sites = Sites::default();
    for stmt in body {
        sites.visit_stmt(stmt);
    }
    sites.calls.retain(|site| sites.functions.contains_key(site.name));
    if sites.calls.is_empty() {
        return Vec::new();
    }
    let mentions = Mentions::of(body);
    let mut plans: Vec<Plan> = Vec::new();
    for site in &sites.calls {
        let Some([function]) = sites.functions.get(site.name).map(Vec::as_slice) else { continue };
        // One statement at a time: the next round sees what the first has become.
        if plans.iter().any(|plan| plan.statement == site.stmt.range()) {
            continue;
        }
        let leaves = Leaves::of(function);
        let fits = match module {
            Some(is_imported) => !is_imported(site.name),
            None => !leaves.has_globals,
        };
        if fits {
            plans.extend(plan_of(site, function, &leaves, &mentions));
        }
    }
    plans
}

/// Functions of the module that one place in a loop of another function calls, and nothing else names.
fn plans_across(body: &[Stmt], is_imported: &impl Fn(&str) -> bool) -> Vec<Plan> {
    let mut sites = Sites { deep: true, ..Sites::default() };
    for stmt in body {
        sites.visit_stmt(stmt);
    }
    let mut functions: FxHashMap<&str, Vec<&StmtFunctionDef>> = FxHashMap::default();
    for node in body.iter().filter_map(Stmt::as_function_def_stmt) {
        functions.entry(node.name.as_str()).or_default().push(node);
    }
    sites.calls.retain(|site| !site.around.is_empty() && functions.contains_key(site.name));
    if sites.calls.is_empty() {
        return Vec::new();
    }
    let mut named = Named(sites.calls.iter().map(|site| (site.name, 0)).collect());
    walk_body(&mut named, body);
    let mut plans: Vec<Plan> = Vec::new();
    for site in &sites.calls {
        let (Some([function]), Some(1)) = (functions.get(site.name).map(Vec::as_slice), named.0.get(site.name)) else {
            continue;
        };
        let leaves = Leaves::of(function);
        let fits = !is_imported(site.name)
            && !leaves.has_globals
            && !plans.iter().any(|plan| plan.statement == site.stmt.range());
        let recurs = site.around.iter().any(|around| around.range == function.range);
        let fits = fits && !recurs && !hides_names(function, &site.around);
        let Some(caller) = site.around.last().filter(|_| fits) else { continue };
        plans.extend(plan_of(site, function, &leaves, &Mentions::of_function(caller)));
    }
    plans
}

/// Whether a name that a function finds in its module is another one in the functions it would be read in.
fn hides_names(function: &StmtFunctionDef, around: &[&StmtFunctionDef]) -> bool {
    let inner = Mentions::of_function(function);
    let outer: Vec<Mentions<'_>> = around.iter().map(|node| Mentions::of_function(node)).collect();
    inner.reads.keys().any(|name| !inner.is_own(name) && outer.iter().any(|outer| outer.is_own(name)))
}

/// How often some names are mentioned anywhere.
struct Named<'a>(FxHashMap<&'a str, u32>);

impl<'a> SourceOrderVisitor<'a> for Named<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(node) = expr
            && let Some(count) = self.0.get_mut(node.id.as_str())
        {
            *count += 1;
        }
        walk_expr(self, expr);
    }
}

fn plan_of(site: &Site<'_>, function: &StmtFunctionDef, leaves: &Leaves, outer: &Mentions<'_>) -> Option<Plan> {
    let once = outer.reads_of(site.name) == 1;
    let plain = !function.is_async && function.type_params.is_none() && function.decorator_list.iter().all(is_mode);
    let returns = function.body.last().is_some_and(Stmt::is_return_stmt);
    let early = leaves.returns > u32::from(returns);
    let bound = names_bound(function);
    let is_turn = !leaves.has_loop && !leaves.differentiates && !bound.is_empty() && is_step(function);
    let is_left = leaves.suspends || early && (!site.ends_turn || leaves.returns_from_loop);
    if !once || !plain || !is_turn || is_left || deletes_parameter(function) {
        return None;
    }
    let given = arguments_of(function, site.call)?;
    let inner = Mentions::of_function(function);
    let mut ends = Vec::new();
    for (name, range) in bound {
        if inner.declared.contains(name) || is_handed_back(site.stmt, function, name) {
            continue;
        }
        let is_given = |(parameter, value): &(&str, &Expr)| {
            // `x` of `step(x.cuda())` goes on as what the step makes of it.
            let goes_on = root_name(value) == Some(name);
            *parameter == name && (goes_on || is_lasting(value) && !is_rebound(function, name))
        };
        if given.iter().any(is_given) {
            continue;
        }
        if outer.reads_of(name) > 0 {
            return None;
        }
        if !ends.iter().any(|(known, _): &(Name, TextRange)| known == name) {
            ends.push((Name::new(name), range));
        }
    }
    Some(Plan { function: function.range, statement: site.stmt.range(), call: site.call.range(), ends })
}

/// Whether a function does several things, as a turn of a loop does: one thing is a word for that, and what calls it is
/// where it is told of. A function with loops goes over batches itself.
fn is_step(function: &StmtFunctionDef) -> bool {
    let is_said = |stmt: &&Stmt| match stmt {
        Stmt::Nonlocal(_) | Stmt::Global(_) | Stmt::Pass(_) => false,
        Stmt::Expr(node) => !node.value.is_literal_expr(),
        _ => true,
    };
    let computes = |value: &Expr| {
        let mut calls = Calls(Vec::new());
        calls.visit_expr(value);
        !calls.0.is_empty()
    };
    let single = |stmt: &Stmt| match stmt {
        Stmt::Return(_) => true,
        // `outputs.append(model(x))`.
        Stmt::Expr(node) => !matches!(&*node.value, Expr::Call(call) if call.arguments.args.iter().any(computes)),
        Stmt::AugAssign(node) => !computes(&node.value),
        Stmt::Assign(node) => !computes(&node.value),
        _ => false,
    };
    let mut said = function.body.iter().filter(is_said);
    match (said.next(), said.next()) {
        (Some(only), None) => !single(only),
        (first, _) => first.is_some(),
    }
}

/// `@torch.no_grad()`: a context as well.
fn is_mode(decorator: &Decorator) -> bool {
    let Expr::Call(call) = &decorator.expression else { return false };
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return false,
    };
    matches!(name, "no_grad" | "inference_mode" | "enable_grad" | "autocast")
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(node) if node.id.as_str() == name)
}

/// How a function may be left.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Leaves {
    returns: u32,
    returns_from_loop: bool,
    /// `yield` and `await`.
    suspends: bool,
    has_loop: bool,
    /// `global` declarations.
    has_globals: bool,
    /// `torch.autograd.grad(...)`: a pass back that is no step.
    differentiates: bool,
    loops: u32,
}

impl Leaves {
    fn of(function: &StmtFunctionDef) -> Self {
        let mut leaves = Self::default();
        for stmt in &function.body {
            leaves.visit_stmt(stmt);
        }
        leaves
    }
}

impl<'a> SourceOrderVisitor<'a> for Leaves {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Return(_) => {
                self.returns += 1;
                self.returns_from_loop |= self.loops > 0;
            }
            Stmt::Global(_) => self.has_globals = true,
            Stmt::For(_) | Stmt::While(_) => self.has_loop = true,
            _ => {}
        }
        let turns = u32::from(matches!(stmt, Stmt::For(_) | Stmt::While(_)));
        self.loops += turns;
        walk_stmt(self, stmt);
        self.loops -= turns;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.suspends |= matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_));
        if let Expr::Call(call) = expr {
            self.differentiates |= matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "grad");
        }
        if !expr.is_lambda_expr() {
            walk_expr(self, expr);
        }
    }
}

/// Whether a function deletes what it was given: the caller's name holds that on.
fn deletes_parameter(function: &StmtFunctionDef) -> bool {
    let is_given = |target: &Expr| matches!(target, Expr::Name(name) if function.parameters.includes(name.id.as_str()));
    function.body.iter().any(|stmt| matches!(stmt, Stmt::Delete(delete) if delete.targets.iter().any(is_given)))
}

/// What each parameter is given, in their order; `None` where that cannot be told.
fn arguments_of<'a>(function: &'a StmtFunctionDef, call: &'a ExprCall) -> Option<Vec<(&'a str, &'a Expr)>> {
    let parameters = &function.parameters;
    let arguments = &call.arguments;
    let starred = arguments.args.iter().any(Expr::is_starred_expr);
    let by_position = parameters.posonlyargs.len() + parameters.args.len();
    let open = parameters.vararg.is_some() || parameters.kwarg.is_some();
    if open || starred || arguments.args.len() > by_position {
        return None;
    }
    let mut named = 0;
    let mut given = Vec::new();
    for (index, parameter) in parameters.iter_non_variadic_params().enumerate() {
        let keyword = || {
            let name = parameter.name().as_str();
            arguments.keywords.iter().find(|found| found.arg.as_deref() == Some(name)).map(|found| &found.value)
        };
        let value = match arguments.args.get(index) {
            Some(value) => value,
            None => match keyword() {
                Some(value) => {
                    named += 1;
                    value
                }
                None => parameter.default.as_deref()?,
            },
        };
        given.push((parameter.name().as_str(), value));
    }
    (named == arguments.keywords.len()).then_some(given)
}

/// The names a function binds for itself, and where each is first bound.
fn names_bound(function: &StmtFunctionDef) -> Vec<(&str, TextRange)> {
    struct Bound<'a>(Vec<(&'a str, TextRange)>);
    impl<'a> SourceOrderVisitor<'a> for Bound<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(node) => self.0.push((node.name.as_str(), node.name.range())),
                Stmt::ClassDef(node) => self.0.push((node.name.as_str(), node.name.range())),
                _ => walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(node) if node.ctx == ExprContext::Store => self.0.push((node.id.as_str(), node.range)),
                Expr::Lambda(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {}
                _ => walk_expr(self, expr),
            }
        }
    }
    let own = function.parameters.iter().map(|parameter| (parameter.name().as_str(), parameter.name().range()));
    let mut bound = Bound(own.collect());
    for stmt in &function.body {
        bound.visit_stmt(stmt);
    }
    bound.0
}

/// Whether a name comes back to the caller under the same name: `loss = step(x)` of what ends in `return loss`.
fn is_handed_back(stmt: &Stmt, function: &StmtFunctionDef, name: &str) -> bool {
    let (Stmt::Assign(assign), Some(Stmt::Return(last))) = (stmt, function.body.last()) else { return false };
    let ([target], Some(value)) = (assign.targets.as_slice(), last.value.as_deref()) else { return false };
    if !assign.value.is_call_expr() {
        return false;
    }
    match (target, value) {
        (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
            let mut pairs = targets.elts.iter().zip(&values.elts);
            pairs.any(|(target, value)| is_name(target, name) && is_name(value, name))
        }
        _ => is_name(target, name) && is_name(value, name),
    }
}

/// Whether an expression can be written wherever a parameter is that is given it: a path, or a literal.
fn is_lasting(expr: &Expr) -> bool {
    match expr {
        Expr::Attribute(node) => is_lasting(&node.value),
        Expr::Subscript(node) => node.slice.is_literal_expr() && is_lasting(&node.value),
        _ => expr.is_name_expr() || expr.is_literal_expr(),
    }
}

/// Whether a function binds a name in its body.
fn is_rebound(function: &StmtFunctionDef, name: &str) -> bool {
    Mentions::of(&function.body).bound.contains(name)
}

#[cfg(test)]
mod tests {
    use super::read_in_place;
    use crate::python::body_elsewhere;
    use ruff_python_ast::Stmt;
    use ruff_python_parser::parse_module;

    /// The loop at the end of the last function of a module.
    fn turns(text: &str) -> Vec<Stmt> {
        let mut body = parse_module(text).expect("valid").into_suite();
        read_in_place(&mut body, &|name: &str| name == "imported");
        let last = body.last().and_then(Stmt::as_function_def_stmt).and_then(|node| node.body.last());
        last.and_then(Stmt::as_for_stmt).expect("a loop").body.iter().cloned().collect()
    }

    fn is_read_in_place(text: &str) -> bool {
        turns(text).first().and_then(Stmt::as_with_stmt).is_some_and(|node| body_elsewhere(node).is_some())
    }

    #[test]
    fn a_step_that_one_loop_calls_is_read_there() {
        let step = "def step(x, y):\n    z = f(x)\n    return z + y\n";
        assert!(is_read_in_place(&format!("{step}def g(xs):\n    for x in xs:\n        total = step(x, 1)\n")));
        let nested =
            "def g(xs):\n    def step(x):\n        z = f(x)\n        h(z)\n    for x in xs:\n        step(x)\n";
        assert!(is_read_in_place(nested));
    }

    #[test]
    fn an_early_return_ends_a_turn_only_where_nothing_uses_the_value() {
        let plain = "def plain(x):\n    z = f(x)\n    if z:\n        return 0\n    return x\n";
        assert!(is_read_in_place(&format!("{plain}def g(xs):\n    for x in xs:\n        plain(x)\n")));
        assert!(!is_read_in_place(&format!("{plain}def g(xs):\n    for x in xs:\n        h(plain(x))\n")));
    }

    #[test]
    fn what_deletes_a_parameter_stays_a_function() {
        let free = "def free(x):\n    del x\n    z = f()\n    h(z)\n";
        assert!(!is_read_in_place(&format!("{free}def g(xs):\n    for x in xs:\n        free(x)\n")));
    }

    #[test]
    fn what_others_call_stays_a_function() {
        let caller = "def g(xs):\n    for x in xs:\n        ";
        let twice = "def step(x):\n    z = f(x)\n    h(z)\nstep(0)\n";
        assert!(!is_read_in_place(&format!("{twice}{caller}step(x)\n")));
        let imported = "def imported(x):\n    z = f(x)\n    h(z)\n";
        assert!(!is_read_in_place(&format!("{imported}{caller}imported(x)\n")));
    }

    #[test]
    fn what_goes_over_batches_itself_or_means_other_names_stays_a_function() {
        let epoch = "def epoch(x):\n    for y in x:\n        h(y)\n    z = 1\n";
        assert!(!is_read_in_place(&format!("{epoch}def g(xs):\n    for x in xs:\n        epoch(x)\n")));
        let hidden = "def step(x):\n    z = f(x)\n    h(z, xs)\n";
        assert!(!is_read_in_place(&format!("{hidden}def g(xs):\n    for x in xs:\n        step(x)\n")));
    }
}
