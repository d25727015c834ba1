//! State that is kept in one dict or namespace of a scope, read as the variables it stands for: what rules say of `loss`
//! holds for `state["loss"]` and `state.loss`.
//!
//! Only where nothing else is done with the holder: who is given it may keep it, or put anything in.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_parameters, walk_stmt};
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{AtomicNodeIndex, Expr, ExprContext, ExprName, Parameters, Stmt, StmtAssign, StmtPass, Suite};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::plain::{bodies_of, taken};

/// Reads the holders of a module, and of the functions in it, as variables.
pub(super) fn read_as_variables(body: &mut Suite) {
    for stmt in body.iter_mut() {
        in_scopes_within(stmt);
    }
    let made = makers_of(body);
    if made.is_empty() {
        return;
    }
    let mut uses = Uses { lives: living_of(body), makers: made, ..Uses::default() };
    for stmt in body.iter() {
        uses.visit_stmt(stmt);
    }
    let variables = uses.variables();
    if variables.is_empty() {
        return;
    }
    let renamed = Renamed { variables };
    let mut result: Vec<Stmt> = Vec::with_capacity(body.len());
    for mut stmt in std::mem::take(body) {
        renamed.visit_stmt(&mut stmt);
        result.extend(renamed.unfolded(stmt));
    }
    *body = result.into_iter().collect();
}

fn in_scopes_within(stmt: &mut Stmt) {
    if let Stmt::FunctionDef(node) = stmt {
        read_as_variables(&mut node.body);
        return;
    }
    for suite in bodies_of(stmt) {
        suite.iter_mut().for_each(in_scopes_within);
    }
}

/// How a holder is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `state["x"]`.
    Key,
    /// `state.x`.
    Attribute,
}

/// The holders that the statements of a scope make, each once.
fn makers_of(body: &[Stmt]) -> FxHashMap<String, Way> {
    let mut makers = FxHashMap::default();
    for stmt in body {
        let Stmt::Assign(assign) = stmt else { continue };
        let [Expr::Name(target)] = assign.targets.as_slice() else { continue };
        if let Some(way) = way_of(&assign.value) {
            makers.insert(target.id.to_string(), way);
        }
    }
    makers
}

/// Holders of more than settings: something in them is computed.
fn living_of(body: &[Stmt]) -> FxHashSet<String> {
    let mut living = FxHashSet::default();
    for assign in body.iter().filter_map(Stmt::as_assign_stmt) {
        let [Expr::Name(target)] = assign.targets.as_slice() else { continue };
        let computed = match &*assign.value {
            Expr::Dict(dict) => dict.items.iter().any(|item| !item.value.is_literal_expr()),
            Expr::Call(call) => call.arguments.keywords.iter().any(|keyword| !keyword.value.is_literal_expr()),
            _ => false,
        };
        if computed {
            living.insert(target.id.to_string());
        }
    }
    living
}

/// How what an expression makes is read, if it is a holder of named things.
fn way_of(value: &Expr) -> Option<Way> {
    match value {
        Expr::Dict(dict) => {
            let named = dict.items.iter().all(|item| item.key.as_ref().and_then(key_of).is_some());
            named.then_some(Way::Key)
        }
        Expr::Call(call) => {
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(node) => node.attr.as_str(),
                _ => return None,
            };
            let named =
                call.arguments.args.is_empty() && call.arguments.keywords.iter().all(|found| found.arg.is_some());
            match name {
                "SimpleNamespace" if named => Some(Way::Attribute),
                "dict" if named && call.func.is_name_expr() => Some(Way::Key),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A key that could be a name.
fn key_of(expr: &Expr) -> Option<&str> {
    let Expr::StringLiteral(literal) = expr else { return None };
    let text = literal.value.to_str();
    let first = text.chars().next()?;
    let is_word = text.chars().all(|c| c.is_alphanumeric() || c == '_') && !first.is_numeric();
    is_word.then_some(text)
}

/// The part of a holder that an expression is, as a name.
fn part_of(expr: &Expr, way: impl Fn(&str) -> Option<Way>) -> Option<(&str, &str)> {
    match expr {
        Expr::Subscript(node) => {
            let Expr::Name(holder) = &*node.value else { return None };
            let key = key_of(&node.slice)?;
            (way(holder.id.as_str())? == Way::Key).then_some((holder.id.as_str(), key))
        }
        Expr::Attribute(node) => {
            let Expr::Name(holder) = &*node.value else { return None };
            (way(holder.id.as_str())? == Way::Attribute).then_some((holder.id.as_str(), node.attr.as_str()))
        }
        _ => None,
    }
}

/// What a scope does with its holders, and which names it has.
#[derive(Default)]
struct Uses {
    makers: FxHashMap<String, Way>,
    /// Holders of more than settings, made so or bound so later.
    lives: FxHashSet<String>,
    /// Holders that something else is done with.
    given_away: FxHashSet<String>,
    bound: FxHashMap<String, u32>,
    parts: Vec<(String, String)>,
    names: FxHashSet<String>,
    /// How many functions are around.
    depth: u32,
}

impl Uses {
    /// The variable each part stands for.
    fn variables(self) -> FxHashMap<(String, String), Name> {
        let mut variables: FxHashMap<(String, String), Name> = FxHashMap::default();
        let mut taken_names = self.names;
        for part in self.parts {
            let (holder, key) = &part;
            let once = self.bound.get(holder) == Some(&1);
            if !once
                || !self.lives.contains(holder)
                || self.given_away.contains(holder)
                || variables.contains_key(&part)
            {
                continue;
            }
            let name = if taken_names.contains(key) { format!("{holder}_{key}") } else { key.clone() };
            if taken_names.insert(name.clone()) {
                variables.insert(part, Name::new(name));
            }
        }
        variables
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                self.names.insert(node.name.to_string());
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
                return;
            }
            Stmt::ClassDef(node) => {
                self.names.insert(node.name.to_string());
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
                return;
            }
            Stmt::Global(node) => self.given_away.extend(node.names.iter().map(ToString::to_string)),
            Stmt::Nonlocal(node) => self.given_away.extend(node.names.iter().map(ToString::to_string)),
            Stmt::Import(node) => self.names.extend(node.names.iter().map(|alias| {
                alias.asname.as_ref().unwrap_or(&alias.name).as_str().split('.').next().unwrap_or_default().to_owned()
            })),
            Stmt::ImportFrom(node) => {
                let name = |alias: &ruff_python_ast::Alias| alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                self.names.extend(node.names.iter().map(name));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        self.names.extend(parameters.iter().map(|parameter| parameter.name().to_string()));
        walk_parameters(self, parameters);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some((holder, key)) = part_of(expr, |name| self.makers.get(name).copied()) {
            let context = match expr {
                Expr::Subscript(node) => node.ctx,
                Expr::Attribute(node) => node.ctx,
                _ => ExprContext::Load,
            };
            if self.depth > 0 && context != ExprContext::Load {
                // There it would be a variable of another scope.
                self.given_away.insert(holder.to_owned());
            }
            if context != ExprContext::Load {
                self.lives.insert(holder.to_owned());
            }
            self.parts.push((holder.to_owned(), key.to_owned()));
            return;
        }
        if let Expr::Name(node) = expr {
            let name = node.id.as_str();
            if self.makers.contains_key(name) {
                if node.ctx == ExprContext::Store && self.depth == 0 {
                    *self.bound.entry(name.to_owned()).or_default() += 1;
                } else {
                    self.given_away.insert(name.to_owned());
                }
            } else {
                self.names.insert(name.to_owned());
            }
        }
        walk_expr(self, expr);
    }
}

/// Writes parts as names.
struct Renamed {
    variables: FxHashMap<(String, String), Name>,
}

impl Renamed {
    fn variable(&self, holder: &str, key: &str) -> Option<&Name> {
        self.variables.get(&(holder.to_owned(), key.to_owned()))
    }

    fn is_holder(&self, name: &str) -> bool {
        self.variables.keys().any(|(holder, _)| holder == name)
    }

    /// The statement that makes a holder as one for each thing it holds.
    fn unfolded(&self, mut stmt: Stmt) -> Vec<Stmt> {
        let range = stmt.range();
        let Stmt::Assign(assign) = &mut stmt else { return vec![stmt] };
        let [Expr::Name(target)] = assign.targets.as_slice() else { return vec![stmt] };
        let holder = target.id.to_string();
        if !self.is_holder(&holder) || way_of(&assign.value).is_none() {
            return vec![stmt];
        }
        let mut parts: Vec<(String, TextRange, Expr)> = Vec::new();
        match &mut *assign.value {
            Expr::Dict(dict) => {
                for item in &mut dict.items {
                    let Some((key, at)) = item.key.as_ref().and_then(|key| Some((key_of(key)?, key.range()))) else {
                        continue;
                    };
                    parts.push((key.to_owned(), at, taken(&mut item.value)));
                }
            }
            Expr::Call(call) => {
                for keyword in &mut call.arguments.keywords {
                    let Some(name) = &keyword.arg else { continue };
                    parts.push((name.to_string(), name.range, taken(&mut keyword.value)));
                }
            }
            _ => {}
        }
        let node_index = AtomicNodeIndex::NONE;
        if parts.is_empty() {
            return vec![Stmt::Pass(StmtPass { range: TextRange::empty(range.start()), node_index })];
        }
        let bound = parts.into_iter().map(|(key, at, value)| {
            // What nobody reads gets a name all the same: making it may cost something.
            let id = self.variable(&holder, &key).cloned().unwrap_or_else(|| Name::new(format!("{holder}_{key}")));
            let ctx = ExprContext::Store;
            let target = Expr::Name(ExprName { id, ctx, range: at, node_index: AtomicNodeIndex::NONE });
            let range = at.cover(value.range());
            let (targets, value) = (vec![target], Box::new(value));
            Stmt::Assign(StmtAssign { targets, value, range, node_index: AtomicNodeIndex::NONE })
        });
        bound.collect()
    }
}

impl Transformer for Renamed {
    fn visit_expr(&self, expr: &mut Expr) {
        let part = match &*expr {
            Expr::Subscript(node) => match &*node.value {
                Expr::Name(holder) if self.is_holder(holder.id.as_str()) => {
                    key_of(&node.slice).and_then(|key| self.variable(holder.id.as_str(), key)).map(|id| (id, node.ctx))
                }
                _ => None,
            },
            Expr::Attribute(node) => match &*node.value {
                Expr::Name(holder) if self.is_holder(holder.id.as_str()) => {
                    self.variable(holder.id.as_str(), node.attr.as_str()).map(|id| (id, node.ctx))
                }
                _ => None,
            },
            _ => None,
        };
        if let Some((id, ctx)) = part.map(|(id, ctx)| (id.clone(), ctx)) {
            *expr = Expr::Name(ExprName { id, ctx, range: expr.range(), node_index: AtomicNodeIndex::NONE });
            return;
        }
        transformer::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::read_as_variables;
    use ruff_python_ast::{Expr, Stmt};
    use ruff_python_parser::parse_module;

    fn read(text: &str) -> Vec<Stmt> {
        let mut body = parse_module(text).expect("valid").into_suite();
        read_as_variables(&mut body);
        body.into_iter().collect()
    }

    fn target(stmt: &Stmt) -> Option<&str> {
        match stmt.as_assign_stmt()?.targets.first()? {
            Expr::Name(name) => Some(name.id.as_str()),
            _ => None,
        }
    }

    #[test]
    fn entries_and_attributes_are_variables() {
        let body = read("s = {\"a\": 1, \"b\": []}\ns[\"a\"] = 2\n");
        assert_eq!(body.iter().map(target).collect::<Vec<_>>(), [Some("a"), Some("s_b"), Some("a")]);
        let body = read("s = types.SimpleNamespace(a=1)\ns.a = 2\n");
        assert_eq!(body.iter().map(target).collect::<Vec<_>>(), [Some("a"), Some("a")]);
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let body = read("s = {\"a\": a}\ns[\"a\"] = 2\n");
        assert_eq!(body.iter().map(target).collect::<Vec<_>>(), [Some("s_a"), Some("s_a")]);
    }

    #[test]
    fn a_holder_that_others_see_stays_one() {
        assert_eq!(target(&read("s = {\"a\": 1}\nf(s[\"a\"])\n")[0]), Some("s"), "settings");
        for rest in ["save(s)", "print(s[k])", "s = {}", "def f():\n    s[\"a\"] = 3"] {
            let body = read(&format!("s = {{\"a\": 1}}\ns[\"a\"] = 2\n{rest}\n"));
            assert_eq!(target(&body[0]), Some("s"), "{rest}");
        }
    }
}
