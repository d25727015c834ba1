//! Whether it is seen, and not only likely, that a forward pass leaves a graph: what made the network, and that nothing
//! out of view had it in hand.
//!
//! A program that keeps all activations of a loader dies, and its author mends it: where such a program seems to be found,
//! it is more likely that something was read wrongly. So a finding of that kind rests on what is seen.

use rustc_hash::FxHashSet;

use super::Facts;
use super::origins::is_known_name;
use crate::analysis::events::{At, Bind, Call, Callee, Store, StoreKind};
use crate::analysis::operations::is_tensor_operation;
use crate::analysis::outline::Usage;
use crate::analysis::value::{Flags, FunctionId, Graph, Value};
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::uses::last_name;

/// Packages that are given networks and leave them as they are: they count, draw and log.
const ONLOOKERS: &[&str] =
    &["torchsummary", "torchinfo", "thop", "ptflops", "fvcore", "wandb", "mlflow", "tensorboardX"];

impl<'a> Facts<'a> {
    /// Whether a forward pass that a value comes from is seen to record; of a value that callers give, one of theirs.
    #[must_use]
    pub fn is_seen_to_record(&self, value: &Value, at: &At) -> bool {
        let passes: FxHashSet<TextRange> = self.forward_passes(value, at).collect();
        let recorded = |call: &Call<'a>| {
            let direct = call.callee == Callee::Module && self.is_detached_later(value, at);
            self.records_in_sight(call) || direct && !self.records_nothing(call)
        };
        let here = self.calls().iter().any(|call| passes.contains(&call.node.range()) && recorded(call));
        here || passes.is_empty() && self.is_given_with_graph(value, at)
    }

    /// Whether a function detaches what comes from the same passes after a point: that is of use only where a graph is.
    fn is_detached_later(&self, value: &Value, at: &At) -> bool {
        let same = |other: &Value| other.sources.sites().overlap(value.sources.sites());
        self.calls_named("detach").any(|call| {
            call.at.function == at.function && call.at.order > at.order && call.receiver.as_ref().is_some_and(same)
        })
    }

    /// Whether what callers give for a parameter that a value is made from is seen to have a graph.
    fn is_given_with_graph(&self, value: &Value, at: &At) -> bool {
        let id = at.function.map(|index| FunctionId { file: self.file, index });
        let Some(sites) = id.and_then(|id| self.tables.call_sites.get(&id)) else { return false };
        let mut given = value.sources.parameters().filter_map(|place| sites.arguments.get(place)?.as_ref());
        given.any(|given| given.graph == Graph::Certain && !given.has(Flags::GUESSED) && !given.has(Flags::MIXED))
    }

    /// Whether what is kept is a part of what a call out of view gave, and nothing uses that, or the sum of it, as a tensor:
    /// beside a loss, such calls give counts and rates, which are plain numbers.
    #[must_use]
    pub fn is_unseen_part(&self, store: &Store<'a>) -> bool {
        let own = |call: &&Call<'a>| call.at.function == store.at.function;
        let keeper = self.written(self.keeper(store));
        let on_sum = |call: &Call<'a>| call.receiver_expr().is_some_and(|on| self.written(on) == keeper);
        let sums = matches!(store.kind, StoreKind::AugAssign | StoreKind::Rebind);
        self.is_part_unseen(store.value_expr, &store.at) && !(sums && self.calls().iter().filter(own).any(on_sum))
    }

    fn is_part_unseen(&self, expr: &Expr, at: &At) -> bool {
        let name = match expr {
            Expr::BinOp(node) => {
                let plain = |side: &Expr| side.is_number_literal_expr() || self.is_part_unseen(side, at);
                return plain(&node.left) && plain(&node.right);
            }
            Expr::Name(name) => name.id.as_str(),
            _ => return false,
        };
        let unpacked = |bind: &Bind<'a>| match self.statement(bind.at.stmt).map(|statement| statement.node) {
            Some(Stmt::Assign(assign)) if bind.value_expr.is_none() => {
                self.call_at(&assign.value).is_some_and(|call| self.is_unseen_call(call))
            }
            _ => false,
        };
        let mut binds = self.binds_of(name).filter(|bind| bind.at.function == at.function).peekable();
        let is_it = |expr: &Expr| matches!(expr, Expr::Name(found) if found.id.as_str() == name);
        let as_tensor = |call: &Call<'a>| {
            let goes_back = || call.name == "backward" && call.node.arguments.args.iter().any(is_it);
            call.at.function == at.function && (call.receiver_expr().is_some_and(is_it) || goes_back())
        };
        binds.peek().is_some() && binds.all(unpacked) && !self.calls().iter().any(as_tensor)
    }

    /// Whether nobody can look into what a call runs.
    fn is_unseen_call(&self, call: &Call<'a>) -> bool {
        match call.callee {
            // What tensors themselves do is known: `values, _ = out.max(1)`.
            Callee::Other => !call.receiver.as_ref().is_some_and(|on| on.is_tensor() && is_tensor_operation(call.name)),
            Callee::Module => self.class_called(call).is_none(),
            Callee::External(_) => self.full_name(call).is_some_and(|full| !is_known_name(full)),
            Callee::Project(_) => false,
        }
    }

    /// Whether the network of a forward pass is of a class in view or of a known library, or is trained in view; or the
    /// program has no other part that could have changed it. Nothing that is out of view had it in hand.
    #[must_use]
    pub fn records_in_sight(&self, pass: &Call<'a>) -> bool {
        self.records_within(pass, 2)
    }

    fn records_within(&self, pass: &Call<'a>, hops: u32) -> bool {
        let on = match pass.runs() {
            Expr::Attribute(method) if self.binds_seen(pass.runs(), &pass.at).is_empty() => &*method.value,
            other => other,
        };
        let made = self.module_called(pass).is_some_and(|module| self.has_parameters_in_sight(module));
        let inside = || match pass.callee {
            Callee::Project(id) if hops > 0 && self.is_own(id) => {
                let own = |call: &&Call<'a>| call.at.function == Some(id.index) && !call.site.is_empty();
                self.calls().iter().filter(own).any(|call| self.records_within(call, hops - 1))
            }
            _ => false,
        };
        (made || self.is_trained_as(on) || self.is_left_to_user(on, &pass.at) || inside())
            && !self.records_nothing(pass)
            && !self.may_switch_itself_off(pass)
            && !self.is_out_of_hand(on)
            && !self.is_frozen_in_program(on)
    }

    /// Whether some file of the program takes what goes by the name of a network out of training.
    fn is_frozen_in_program(&self, on: &Expr) -> bool {
        let Some(name) = last_name(on) else { return false };
        self.outlines_of_process().iter().any(|outline| outline.frozen.contains(name))
    }

    /// Whether a module is of a class in view that has parameters, or was made by a library that is known.
    fn has_parameters_in_sight(&self, module: &Value) -> bool {
        match module.class {
            Some(class) => !self.tables.has_no_parameters(class),
            None => module.graph == Graph::Certain && !module.has(Flags::GUESSED) && !module.has(Flags::CRITERION),
        }
    }

    /// Whether a network comes from where nobody can look: it is given to code that nothing in view calls, or made by a
    /// file beside this one that was left out. The program in view freezes nothing, and either uses it as a module or
    /// switches recording off nowhere.
    fn is_left_to_user(&self, on: &Expr, at: &At) -> bool {
        let Some(name) = last_name(on) else { return false };
        let process = self.outlines_of_process();
        let is_module = self.usage(name).any(Usage::EVAL.or(Usage::TRAIN).or(Usage::PARAMETERS).or(Usage::STATE_DICT));
        let switches = || process.iter().flat_map(|outline| &outline.functions).any(|function| function.switches);
        (self.is_given_from_outside(on, at, 2) || self.is_of_missing_file(on, at))
            && (is_module || !switches())
            && process.iter().all(|outline| outline.frozen.is_empty())
    }

    /// Whether all that an expression is bound to was made by a file that is missing: `from net import Net`.
    fn is_of_missing_file(&self, on: &Expr, at: &At) -> bool {
        let binds = self.binds_seen(on, at);
        let mut made = binds.iter().filter_map(|bind| self.maker_of_bound(bind, on)).peekable();
        made.peek().is_some() && made.all(|full| self.is_missing_name(full))
    }

    /// Whether an expression is a parameter of a function that nothing in view calls, or kept from one by an object that
    /// nothing in view makes; or of a function that all callers give such a thing.
    fn is_given_from_outside(&self, on: &Expr, at: &At, hops: u32) -> bool {
        let functions = &self.outline().functions;
        let takes = |index: u32, name: &str| functions[index as usize].node.parameters.includes(name);
        match on {
            Expr::Name(name) => {
                let name = name.id.as_str();
                let mut around = std::iter::successors(at.function, |index| functions[*index as usize].parent);
                let Some(index) = around.find(|index| takes(*index, name)) else { return false };
                let mut callers = self.calls().iter().filter(|call| self.runs_own(call, index)).peekable();
                if callers.peek().is_none() {
                    return !self.is_called(index);
                }
                let given = |call: &Call<'a>| {
                    let argument = self.argument_of(call, name);
                    argument.is_some_and(|argument| self.is_given_from_outside(argument, &call.at, hops - 1))
                };
                hops > 0 && callers.all(given)
            }
            Expr::Attribute(_) => {
                let given = |bind: &&Bind<'a>| {
                    let root = bind.value_expr.and_then(root_name);
                    bind.at.function.zip(root).is_some_and(|(index, root)| takes(index, root) && !self.is_called(index))
                };
                let binds = self.binds_seen(on, at);
                !binds.is_empty() && binds.iter().all(given)
            }
            _ => false,
        }
    }

    /// Whether a call runs a function of this file.
    fn runs_own(&self, call: &Call<'a>, index: u32) -> bool {
        matches!(call.callee, Callee::Project(id) if self.is_own(id) && id.index == index)
    }

    /// Whether a network is handed to something that is neither in view nor known: it may freeze it.
    fn is_out_of_hand(&self, on: &Expr) -> bool {
        let text = self.written(on);
        let given = |call: &Call<'a>| {
            let mut given =
                call.node.arguments.args.iter().chain(call.node.arguments.keywords.iter().map(|k| &k.value));
            given.any(|arg| self.written(arg) == text)
        };
        let unknown = |call: &Call<'a>| match call.callee {
            Callee::External(_) => self.full_name(call).is_some_and(|full| {
                self.is_foreign_name(full) && !full.split('.').next().is_some_and(|root| ONLOOKERS.contains(&root))
            }),
            _ => false,
        };
        self.calls().iter().any(|call| unknown(call) && given(call))
    }
}
