//! What becomes of what `torch.load` gives: who reads it, and which model its weights go into.

use crate::analysis::events::{At, Bind, Call, Callee, LoopKind};
use crate::analysis::outline::FunctionDef;
use crate::analysis::tables::ClassKind;
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange, root_name};
use crate::uses::{Use, last_name, string_of, uses_in};

impl<'a> Facts<'a> {
    /// Whether what a call gives can be what a use reads: it comes after, or in a loop around both, not in another branch,
    /// and nothing else is loaded into the name on the way.
    #[must_use]
    pub fn is_read_at(&self, given: &Call<'a>, found: &Use<'a>) -> bool {
        let block = self.statement_id(found.stmt).and_then(|id| self.statement(id)).map(|found| found.block);
        let after = found.name.start() >= given.end();
        let Some(block) = block else { return after };
        // A parameter of that name is another thing.
        let function = self.block(block).function.filter(|function| given.at.function != Some(*function));
        let hidden = function.map(|index| &self.outline().functions[index as usize].node.parameters);
        if hidden.is_some_and(|parameters| parameters.includes(found.name.id.as_str())) {
            return false;
        }
        let around = || self.loops(&given.at).any(|turns| self.is_inside(block, turns.block));
        let name = found.name.id.as_str();
        let replaces = |bind: &Bind<'a>| {
            let between = given.end() <= bind.target.start() && bind.target.end() <= found.name.start();
            let anew = |value: &Expr| {
                let loads = matches!(value, Expr::Call(call) if self.written(&*call.func).contains("load"));
                loads && !self.mentions_word(value.range(), name)
            };
            bind.target.is_name_expr()
                && between
                && bind.value_expr.is_some_and(anew)
                && self.is_inside(block, bind.at.block)
        };
        let is_own = self.bound_name(given) == Some(name);
        (after || around())
            && !self.are_exclusive(given.at.block, block)
            && !(after && is_own && self.binds_of(name).any(replaces))
    }

    /// Whether a `load_state_dict` is that of an object that keeps numbers of its own: a class of the project that is no
    /// module, and hands the weights to none.
    #[must_use]
    pub fn is_of_plain_object(&self, into: &ExprCall) -> bool {
        let mut calls = self.calls_named("load_state_dict");
        let receiver = calls.find(|call| call.node.range() == into.range()).and_then(|call| call.receiver.as_ref());
        let Some(Kind::Instance(class)) = receiver.map(|value| value.kind) else { return false };
        let Some(own) = self.tables().method(class, "load_state_dict") else { return false };
        let function = self.function_def(own);
        !names_load(&function.node.body)
    }

    /// Whether nothing in the file moves a model, makes it on a device, or hands it to what might.
    #[must_use]
    pub fn is_left_where_made(&self, model: &str) -> bool {
        let moves = |call: &Call<'a>| {
            let own = call.receiver_expr().is_some_and(|expr| self.written(expr) == model);
            let given = || call.node.arguments.args.iter().any(|arg| self.written(arg) == model);
            matches!(call.name, "to" | "cuda") && own || given()
        };
        let placed = |bind: &Bind<'a>| {
            let text = bind.value_expr.map_or("", |value| self.written(value));
            [".to(", ".cuda(", "device"].iter().any(|word| text.contains(word))
        };
        let name = model.rsplit('.').next().unwrap_or(model);
        let mut made = self.binds_of(name).peekable();
        made.peek().is_some() && !made.any(placed) && !self.calls().iter().any(moves)
    }

    /// The name that what a call gives is bound to, whole or a part of it: `state = torch.load(path)["model"]`.
    #[must_use]
    pub fn carried_by(&self, call: &Call<'a>) -> Option<&'a str> {
        let Stmt::Assign(assign) = self.statement(call.at.stmt)?.node else { return None };
        let mut value = &*assign.value;
        while value.range() != call.node.range() {
            value = match value {
                Expr::Subscript(part) => &part.value,
                Expr::Call(part) => match &*part.func {
                    Expr::Attribute(method) if matches!(method.attr.as_str(), "get" | "pop") => &method.value,
                    _ => return None,
                },
                _ => return None,
            };
        }
        match assign.targets.as_slice() {
            [Expr::Name(name)] => Some(name.id.as_str()),
            _ => None,
        }
    }

    /// Whether weights may be anybody's: a model fetches them for itself, or they are those of a framework that saves from
    /// the CPU.
    #[must_use]
    pub fn may_be_published(&self, load: &Call<'a>) -> bool {
        let frameworks = ["mmcv", "mmengine", "mmaction", "mmdet", "mmseg", "fairseq"];
        let mut imports = self.outline().imports.values();
        self.class_kind(&load.at) == ClassKind::Module
            || imports.any(|name| frameworks.iter().any(|framework| name.starts_with(framework)))
    }

    /// Names of the same function that tensors of a loaded dict go on to: parts of it, dicts made of its items with other
    /// keys, others that are updated with it.
    #[must_use]
    pub fn carriers_of(&self, name: &'a str, load: &Call<'a>) -> Vec<&'a str> {
        let own = self.statements().iter().filter(|found| {
            let same = self.block(found.block).function == load.at.function;
            same && found.node.end() > load.node.end()
        });
        let mut carriers = vec![name];
        for found in own {
            let next = match found.node {
                Stmt::Assign(assign) if carries(&assign.value, &carriers) => {
                    assign.targets.iter().filter_map(root_name).collect()
                }
                Stmt::For(node) => match items_of(&node.iter).filter(|from| carriers.contains(from)) {
                    Some(_) => match &*node.target {
                        Expr::Tuple(pair) => pair.elts.last().and_then(root_name).into_iter().collect(),
                        _ => Vec::new(),
                    },
                    None => Vec::new(),
                },
                Stmt::Expr(node) => match &*node.value {
                    Expr::Call(call) if call.arguments.args.iter().any(|arg| carries(arg, &carriers)) => {
                        match &*call.func {
                            Expr::Attribute(method) if method.attr.as_str() == "update" => {
                                root_name(&method.value).into_iter().collect()
                            }
                            _ => Vec::new(),
                        }
                    }
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            carriers.extend(next.into_iter().filter(|next| *next != "self"));
        }
        carriers
    }

    /// Whether a model comes out of the very file its weights are taken from, as `model = checkpoint["structure"]`: the
    /// two share their storage, and there is no second copy.
    #[must_use]
    pub fn is_model_of(&self, checkpoint: &str, into: &ExprCall, at: &At) -> bool {
        let Expr::Attribute(method) = &*into.func else { return false };
        let Some(model) = root_name(&method.value) else { return false };
        let found = self.calls().iter().find(|found| found.node.range() == into.range());
        let reaches = |bind: &Bind<'a>| {
            let apart = found.is_some_and(|found| self.are_exclusive(bind.at.block, found.at.block));
            bind.at.function == at.function && bind.target.start() < into.start() && !apart
        };
        let taken_out = |bind: &Bind<'a>| {
            // `checkpoint["class"](**checkpoint["settings"])` makes a model of its own.
            let text = bind.value_expr.filter(|value| !calls_item(value)).map_or("", |value| self.written(value));
            let rest = text.strip_prefix(checkpoint);
            rest.is_some_and(|rest| rest.starts_with('[') || rest.starts_with(".get(") || rest.starts_with(".pop("))
        };
        self.binds_of(model).any(|bind| reaches(bind) && taken_out(bind))
    }

    /// Where an optimizer that was saved whole is taken out of what is loaded, to go on where its tensors land:
    /// `self.optimizer = checkpoint["optimizer"]`.
    #[must_use]
    pub fn optimizer_taken_whole(&self, load: &Call<'a>) -> Option<TextRange> {
        let name = self.bound_name(load)?;
        let taken = self.binds().iter().find(|bind| {
            let Some(Expr::Subscript(part)) = bind.value_expr else { return false };
            let of_checkpoint = matches!(&*part.value, Expr::Name(from) if from.id.as_str() == name);
            let key = string_of(&part.slice).unwrap_or_default().to_ascii_lowercase();
            let optimizer = key.contains("optim") && !key.contains("state") && !key.contains("dict");
            let target = self.written(bind.target);
            let is_own = |call: &Call<'a>| call.receiver_expr().is_some_and(|expr| self.written(expr) == target);
            bind.at.function == load.at.function && of_checkpoint && optimizer && self.calls_named("step").any(is_own)
        });
        taken.map(|bind| bind.target.range())
    }

    /// Where a loop after a load evaluates the model, itself or in a function of the project that is given it, when nothing
    /// reads what was loaded from there on.
    #[must_use]
    pub fn run_in_loop_after(&self, load: &Call<'a>, model: &str, name: &str) -> Option<&Call<'a>> {
        let runs = |call: &Call<'a>| match call.callee {
            Callee::Module => self.written(&*call.node.func) == model,
            Callee::Project(id) => {
                let given = call.node.arguments.args.iter().any(|arg| self.written(arg) == model);
                given && self.summary(id).is_some_and(|summary| summary.forwards || summary.forwards_off)
            }
            _ => false,
        };
        let apart = |call: &Call<'a>| {
            self.loops(&call.at)
                .any(|turns| !self.is_inside(load.at.block, turns.block) && turns.kind != LoopKind::Parameters)
        };
        let found = self.calls().iter().find(|call| {
            let evaluates = call.evaluates || call.at.grad.is_off();
            let after = call.at.function == load.at.function && call.at.order > load.at.order;
            after && evaluates && runs(call) && apart(call)
        })?;
        let start = self.loops(&found.at).last().map_or(found.start(), |turns| turns.range.start());
        let shared = load.at.function.is_none() && self.binds_of(name).count() > 1;
        let uses = uses_in(self.source.body(), name);
        let own = self.function(&load.at).map(|function| function.node.range());
        let here = |read: &Use<'a>| own.is_none_or(|own| own.contains_range(read.name.range()));
        (!shared && !uses.iter().any(|read| here(read) && read.name.start() > start)).then_some(found)
    }

    /// Whether a call that trains may train this model: it is given it, by this name or another, or sees it.
    #[must_use]
    pub fn may_train(&self, training: &Call<'a>, model: &Expr) -> bool {
        let (Callee::Project(id), Some(name)) = (training.callee, root_name(model)) else { return true };
        let of_object = match training.receiver_expr() {
            Some(Expr::Name(owner)) => !self.outline().imports.contains_key(owner.id.as_str()),
            owner => owner.is_some(),
        };
        if name == "self" || of_object || training.has_star() {
            return true;
        }
        let is_alias = |word: &str| {
            let similar = word.contains(name) || name.contains(word);
            let made_of = |bind: &Bind<'a>| {
                let value = bind.value_expr.map(Ranged::range);
                value.is_some_and(|value| self.mentions_word(value, name))
            };
            similar || self.binds_of(word).any(made_of)
        };
        let words = self.written(&training.node.arguments).split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut words = words.filter(|word| word.len() > 2 || *word == name);
        let made_of_model = self.binds_of(training.name).filter_map(|bind| bind.value_expr);
        // A model of the file's body is seen by its functions, however deep, where they have none of their own.
        let binds = |function: &FunctionDef<'a>| {
            let inside = |bind: &Bind<'a>| bind.at.function.is_some() && bind.target.is_name_expr();
            self.binds_of(name).any(|bind| inside(bind) && function.node.range().contains_range(bind.target.range()))
        };
        let sees = |function: &FunctionDef<'a>| {
            let own = function.node.parameters.includes(name);
            !own && self.mentions_word(function.node.range(), name) && !binds(function)
        };
        let is_global = || match training.at.function {
            None => self.outline().functions.iter().any(sees),
            Some(_) => sees(self.function_def(id)),
        };
        words.any(is_alias)
            || self.is_own(id) && is_global()
            || made_of_model.into_iter().any(|value| self.mentions_word(value.range(), name))
    }

    /// Whether a function that steps an optimizer it is given gets none here: it only evaluates then.
    #[must_use]
    pub fn is_without_optimizer(&self, call: &Call<'a>) -> bool {
        let Callee::Project(id) = call.callee else { return false };
        let function = self.function_def(id);
        let mut parameters = function.node.parameters.iter_non_variadic_params().enumerate();
        let is_optimizer = |name: &str| matches!(name, "opt" | "optim") || name.starts_with("optimi");
        let found = parameters.find(|(_, parameter)| is_optimizer(parameter.name().as_str()));
        let Some((index, parameter)) = found.filter(|_| !call.has_star()) else { return false };
        let may_be_left_out = parameter.default.as_deref().is_some_and(Expr::is_none_literal_expr);
        let bound = usize::from(function.class.is_some());
        let by_place = index.checked_sub(bound).and_then(|index| call.arg(index));
        let given = by_place.or_else(|| call.keyword(parameter.name().as_str()));
        may_be_left_out && given.is_none_or(Expr::is_none_literal_expr)
    }

    /// Whether a model that is loaded is switched to evaluation before something trains, never back in this file, and no
    /// optimizer is made for it.
    #[must_use]
    pub fn is_only_evaluated(&self, model: &Expr, load: &Call<'a>, training: &Call<'a>) -> bool {
        let text = self.written(model);
        let same = |call: &&Call<'a>| call.receiver_expr().is_some_and(|expr| self.written(expr) == text);
        let between = |call: &Call<'a>| {
            let here = call.at.function == load.at.function;
            here && load.end() < call.start() && call.end() < training.start()
        };
        let optimizes = |call: &Call<'a>| {
            call.result.kind == Kind::Optimizer && self.mentions_word(call.node.arguments.range(), text)
        };
        self.calls_named("eval").filter(same).any(between)
            && !self.calls_named("train").any(|call| same(&call))
            && !self.calls().iter().any(optimizes)
    }
}

/// Whether what goes by a name, written small, is no network: its state is shared, or is no weights.
pub(crate) fn is_no_network(holder: &str) -> bool {
    const OTHERS: &[&str] = &[
        "opt",
        "sched",
        "scaler",
        "normalizer",
        "normaliser",
        "_rms",
        "running_stat",
        "statistics",
        "tokenizer",
        "vocab",
        "replay",
        "logger",
    ];
    OTHERS.iter().any(|word| holder.contains(word))
}

/// Whether statements call something that loads weights.
fn names_load(body: &[Stmt]) -> bool {
    struct Loads(bool);
    impl<'n> SourceOrderVisitor<'n> for Loads {
        fn visit_expr(&mut self, expr: &'n Expr) {
            let name = expr.as_call_expr().and_then(|call| last_name(&call.func)).unwrap_or_default();
            self.0 |= name.contains("load") || name == "copy_";
            walk_expr(self, expr);
        }
    }
    let mut loads = Loads(false);
    walk_body(&mut loads, body);
    loads.0
}

/// Whether an expression calls an item of something, whatever is done with what it gives.
fn calls_item(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    match &*call.func {
        Expr::Attribute(method) => calls_item(&method.value),
        func => func.is_subscript_expr(),
    }
}

/// Whether an expression holds tensors that one of these names holds: a part of it, or a dict of its items.
fn carries(expr: &Expr, names: &[&str]) -> bool {
    match expr {
        Expr::Name(name) => names.contains(&name.id.as_str()),
        Expr::Subscript(part) => carries(&part.value, names),
        Expr::DictComp(dict) => {
            dict.generators.iter().any(|turns| items_of(&turns.iter).is_some_and(|from| names.contains(&from)))
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "get" | "pop" | "copy") => {
                carries(&method.value, names)
            }
            func => {
                let makes = matches!(last_name(func), Some("dict" | "OrderedDict"));
                makes && call.arguments.args.iter().any(|arg| carries(arg, names))
            }
        },
        _ => false,
    }
}

/// The dict whose items are gone over: `state` of `state.items()`.
fn items_of(expr: &Expr) -> Option<&str> {
    let Expr::Call(call) = expr else { return None };
    match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "items" => root_name(&method.value),
        // `list(state.items())`.
        func if last_name(func) == Some("list") => call.arguments.args.first().and_then(items_of),
        _ => None,
    }
}
