//! What the program gives its names and settings: bindings, defaults, arguments, options of the command line.

use super::Facts;
use crate::analysis::events::{At, Bind, Call, Callee};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_keyword};
use crate::python::ast::{Keyword, Operator};
use crate::python::{Expr, Stmt};
use crate::uses::{last_name, string_of, whole_number};

impl<'a> Facts<'a> {
    /// What this file gives a name unless told otherwise: the defaults of parameters and command-line options so named.
    pub fn defaults_of(&self, name: &str) -> impl Iterator<Item = &'a Expr> {
        let options = self.calls_named("add_argument").filter_map(move |call| {
            let is_meant =
                |arg: &Expr| string_of(arg).is_some_and(|flag| flag.trim_start_matches('-').replace('-', "_") == name);
            call.node.arguments.args.iter().any(is_meant).then(|| call.keyword("default")).flatten()
        });
        self.defaults.get(name).into_iter().flatten().copied().chain(options)
    }

    /// The same in all files of the program, the numbers and lists of its dicts and classes of settings too.
    #[must_use]
    pub fn settings_of(&self, name: &str) -> Vec<&'a Expr> {
        let outlines = self.outlines_of_process();
        let options = outlines.iter().flat_map(|outline| &outline.options);
        let options = options.filter(|(option, _)| option == name).map(|(_, default)| *default);
        self.defaults_of(name).chain(options).collect()
    }

    /// What this file assigns to a name; to one of several names, what all of them are made from.
    #[must_use]
    pub fn assigned_to(&self, name: &str) -> Vec<&'a Expr> {
        let whole = |bind: &Bind<'a>| match self.statement(bind.at.stmt)?.node {
            Stmt::Assign(assign) => Some(&*assign.value),
            _ => None,
        };
        self.binds_of(name).filter_map(|bind| bind.value_expr.or_else(|| whole(bind))).collect()
    }

    /// What calls of the project give a parameter of this name, where they name it.
    #[must_use]
    pub fn keywords_given(&self, name: &str) -> Vec<&'a Expr> {
        struct Search<'n, 'w>(&'w str, Vec<&'n Expr>);
        impl<'n> SourceOrderVisitor<'n> for Search<'n, '_> {
            fn visit_keyword(&mut self, keyword: &'n Keyword) {
                let named = keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == self.0);
                self.1.extend(Some(&keyword.value).filter(|_| named));
                walk_keyword(self, keyword);
            }
        }
        let mut search = Search(name, Vec::new());
        for outline in self.outlines_of_process() {
            walk_body(&mut search, outline.body);
        }
        search.1
    }

    /// Whether a count is one as the program is written: every value that something in view gives it. `None` where nothing
    /// does.
    #[must_use]
    pub fn is_one_as_written(&self, count: &'a Expr, at: &At) -> Option<bool> {
        let mut seen = Vec::new();
        let values = self.counts_seen(count, at, &mut seen);
        let given = seen.iter().flat_map(|name| self.keywords_given(name));
        let given: Vec<u64> = given.flat_map(|value| self.counts_handed_on(value, &seen)).collect();
        let mut values = values.into_iter().chain(given).peekable();
        values.peek().is_some().then(|| values.all(|value| value <= 1))
    }

    /// What a call gives a count under another name: `every=args.accumulate`. What is not in view may be anything.
    fn counts_handed_on(&self, value: &'a Expr, seen: &[&str]) -> Vec<u64> {
        const ANYTHING: u64 = u64::MAX;
        match (whole_number(value), setting_name(value)) {
            (Some(number), _) => vec![number],
            (None, Some(name)) if seen.contains(&name) => Vec::new(),
            (None, Some(name)) => {
                let settings: Vec<u64> = self.settings_of(name).into_iter().filter_map(whole_number).collect();
                if settings.is_empty() { vec![ANYTHING] } else { settings }
            }
            (None, None) => vec![ANYTHING],
        }
    }

    /// The numbers that a count is given wherever the program gives it one; `seen` gets the names on the way.
    fn counts_seen(&self, count: &'a Expr, at: &At, seen: &mut Vec<&'a str>) -> Vec<u64> {
        const HOPS: usize = 6;
        if let Some(number) = self.number_of(count, 4) {
            return vec![number];
        }
        let Some(name) = setting_name(count).filter(|name| !seen.contains(name) && seen.len() < HOPS) else {
            return Vec::new();
        };
        seen.push(name);
        let mut values = if count.is_name_expr() { self.given_at(name, at) } else { self.given_to(name).collect() };
        values.extend(self.settings_of(name));
        values.extend(self.arguments_for(name, None));
        values.extend(self.imported(name));
        values.into_iter().flat_map(|value| self.counts_seen(value, at, seen)).collect()
    }

    /// Everything this file gives a name, or an attribute of that name: what it is bound to, and its defaults.
    pub fn given_to(&self, name: &str) -> impl Iterator<Item = &'a Expr> {
        self.binds_of(name).filter_map(|bind| bind.value_expr).chain(self.defaults_of(name))
    }

    /// The same as seen from a point: what its own function gives the name, where it does.
    #[must_use]
    pub fn given_at(&self, name: &str, at: &At) -> Vec<&'a Expr> {
        let own = self.binds_of(name).filter(|bind| bind.at.function == at.function && bind.target.is_name_expr());
        let mut found: Vec<&'a Expr> = own.filter_map(|bind| bind.value_expr).collect();
        let parameters = self.function(at).map(|function| &function.node.parameters);
        let default = parameters.into_iter().flat_map(|all| all.iter_non_variadic_params());
        found.extend(default.filter(|own| own.name().as_str() == name).filter_map(|own| own.default.as_deref()));
        if found.is_empty() { self.given_to(name).collect() } else { found }
    }

    /// The whole numbers an expression may be, as far as this file gives them: through names that only hand a setting on,
    /// as in `self.size = size`, `size=SIZE` and `SIZE = 50_257`.
    #[must_use]
    pub fn numbers_given(&self, expr: &'a Expr, at: &At) -> Vec<u64> {
        let own = last_name(expr).map(|name| self.given_at(name, at)).unwrap_or_default();
        let (mut found, mut seen) = (Vec::new(), vec![self.written(expr)]);
        let mut next: Vec<&'a Expr> = if whole_number(expr).is_some() { vec![expr] } else { own };
        next.extend(self.item_given(expr, at));
        let name = last_name(expr);
        next.extend(
            name.into_iter().flat_map(|name| self.arguments_for(name, Some(at)).into_iter().chain(self.imported(name))),
        );
        while let Some(expr) = next.pop() {
            if let Some(number) = self.number_of(expr, 3) {
                found.push(number);
                continue;
            }
            let text = self.written(expr);
            if let Some(name) = last_name(expr).filter(|_| !seen.contains(&text) && seen.len() < 6) {
                seen.push(text);
                next.extend(self.given_to(name).chain(self.arguments_for(name, None)).chain(self.imported(name)));
            }
        }
        found
    }

    /// The whole number that arithmetic gives, where every name in it has one value: `4 ** K` with `K = 6`,
    /// `max(1, 32 // CFG.batch)`.
    fn number_of(&self, expr: &'a Expr, hops: u32) -> Option<u64> {
        if let Some(number) = whole_number(expr) {
            return Some(number);
        }
        let hops = hops.checked_sub(1)?;
        let side = |side: &'a Expr| match setting_name(side) {
            Some(name) => self.only_number(name, hops),
            None => self.number_of(side, hops),
        };
        if let Expr::Call(call) = expr {
            let numbers: Option<Vec<u64>> = call.arguments.args.iter().map(side).collect();
            let numbers = numbers?;
            return match (last_name(&call.func)?, &*numbers) {
                ("max", _) => numbers.into_iter().max(),
                ("min", _) => numbers.into_iter().min(),
                ("int", [only]) => Some(*only),
                _ => None,
            };
        }
        let Expr::BinOp(node) = expr else { return None };
        let (left, right) = (side(&node.left)?, side(&node.right)?);
        match node.op {
            Operator::Mult => left.checked_mul(right),
            Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
            Operator::Add => left.checked_add(right),
            Operator::Sub => left.checked_sub(right),
            Operator::FloorDiv => left.checked_div(right),
            Operator::LShift => left.checked_mul(1u64.checked_shl(u32::try_from(right).ok()?)?),
            _ => None,
        }
    }

    /// The one number that a setting is given wherever it is given one.
    fn only_number(&self, name: &str, hops: u32) -> Option<u64> {
        let given = self.given_to(name).chain(self.imported(name)).chain(self.settings_of(name));
        let numbers: Option<Vec<u64>> = given.map(|value| self.number_of(value, hops)).collect();
        let numbers = numbers?;
        let first = *numbers.first()?;
        numbers.iter().all(|number| *number == first).then_some(first)
    }

    /// What calls in this file give a parameter of this name: of the function at a point, or of any.
    #[must_use]
    pub fn arguments_for(&self, name: &str, at: Option<&At>) -> Vec<&'a Expr> {
        let takers = self.takers.get(name).into_iter().flatten().copied();
        let takers = takers.filter(|index| at.is_none_or(|at| at.function == Some(*index)));
        let calls = takers.flat_map(|index| {
            let function = &self.outline().functions[index as usize];
            let class = function.class.map(|class| self.outline().classes[class as usize].node.name.as_str());
            let called = function.node.name.as_str();
            let called = class.filter(|_| called == "__init__").unwrap_or(called);
            let is_it = move |call: &&Call<'a>| match call.callee {
                Callee::Project(id) => self.is_own(id) && id.index == index,
                _ => false,
            };
            self.calls_named(called).filter(is_it)
        });
        calls.filter_map(|call| self.argument_of(call, name)).collect()
    }

    /// What another file of the project binds a name to that this one imports: `from settings import VOCABULARY`.
    fn imported(&self, name: &str) -> Option<&'a Expr> {
        let (module, original) = self.outline().imports.get(name)?.rsplit_once('.')?;
        let file = self.tables.find_module(module, self.file)?;
        self.tables.outlines[file as usize].body.iter().find_map(|stmt| match stmt {
            crate::python::Stmt::Assign(assign) => {
                let is_it = |target: &Expr| matches!(target, Expr::Name(found) if found.id.as_str() == original);
                assign.targets.iter().any(is_it).then_some(&*assign.value)
            }
            _ => None,
        })
    }

    /// What a call of a function of this project gives a parameter.
    #[must_use]
    pub fn argument_of(&self, call: &Call<'a>, name: &str) -> Option<&'a Expr> {
        let Callee::Project(id) = call.callee else { return None };
        let function = self.function_def(id);
        let mut parameters = function.node.parameters.iter_non_variadic_params();
        let index = parameters.position(|parameter| parameter.name().as_str() == name)?;
        // A method's first is the object itself, also where a call of the class makes that.
        let bound = usize::from(function.is_bound());
        call.keyword(name).or_else(|| call.arg(index.checked_sub(bound)?))
    }
}

/// The name of a setting: `n`, `args.n`, `config["n"]`.
fn setting_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Subscript(node) => string_of(&node.slice),
        other => last_name(other),
    }
}
