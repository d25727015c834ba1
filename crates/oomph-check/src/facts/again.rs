//! Why something happens again and again while a program runs: on every batch, for every request, at every step.

use super::{Facts, FunctionKind};
use crate::analysis::batches::is_played;
use crate::analysis::events::{At, Bind, BlockKind};
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in};
use crate::uses::last_name;

/// A function is called by one that is called by one that runs once a batch; nobody goes further down.
const HOPS: u32 = 4;

impl<'a> Facts<'a> {
    /// What reaches a point again and again, and on every turn: a loop over batches or jobs, a route of a service, a step
    /// of training that a framework or this function takes, or a call of this function, in this file, that is reached so
    /// itself.
    #[must_use]
    pub fn comes_again(&self, at: &At) -> Option<(TextRange, &'static str)> {
        self.comes_again_in(at, HOPS)
    }

    fn comes_again_in(&self, at: &At, hops: u32) -> Option<(TextRange, &'static str)> {
        let hops = hops.checked_sub(1)?;
        let turns = self.batch_loop(at).map(|turns| (turns, "this loop runs once a batch"));
        let turns = turns.or_else(|| self.model_loop(at).map(|turns| (turns, "this loop runs once for every item")));
        if let Some((turns, why)) = turns {
            return self.is_unconditional_in(at, turns.block).then(|| (turns.head(), why));
        }
        if let Some(turns) =
            self.loops(at).find(|turns| matches!(turns.node, BlockKind::Loop(_, stmt) if is_played(stmt)))
        {
            let always = self.is_unconditional_in(at, turns.block);
            return always.then(|| (turns.head(), "this loop runs once for every move in an environment"));
        }
        let function = self.function(at)?;
        let always = self.is_unconditional_in(at, self.function_block(at));
        if !always || self.is_cached(at) || self.may_return_before(at) {
            return None;
        }
        if let Some(route) = self.request_handler(at) {
            return Some((route, "called once a request"));
        }
        let stepped = matches!(self.kind_at(at), FunctionKind::TrainingStep | FunctionKind::EvaluationStep);
        if stepped || self.runs_per_batch(at) {
            return Some((function.node.name.range(), "called once a batch"));
        }
        if self.is_training_step(at) {
            return Some((function.node.name.range(), "called for every step of training"));
        }
        let mut callers = self.callers_of(at).filter(|call| call.at.function != at.function);
        callers.find_map(|call| self.comes_again_in(&call.at, hops))
    }

    /// Whether the function of a point keeps what it gives for the next call.
    fn is_cached(&self, at: &At) -> bool {
        let Some(function) = self.function(at) else { return false };
        function.node.decorator_list.iter().any(|decorator| {
            let named = match &decorator.expression {
                Expr::Call(call) => last_name(&call.func),
                other => last_name(other),
            };
            named.is_some_and(|name| name.contains("cache") || name.contains("memo") || name == "once")
        })
    }

    /// Whether the function of a point may have ended before it, by a test of something that was there before the call:
    /// `if self.stream is not None: return self.stream`. What the call itself has fetched says nothing of the kind.
    fn may_return_before(&self, at: &At) -> bool {
        let Some(here) = self.statement(at.stmt).map(|found| found.node.start()) else { return true };
        let own = |bind: &&Bind<'a>| bind.at.function == at.function;
        self.body_around(at).iter().take_while(|stmt| stmt.end() <= here).any(|stmt| {
            let Stmt::If(node) = stmt else { return false };
            let leaves = node.body.iter().any(|inner| matches!(inner, Stmt::Return(_) | Stmt::Raise(_)));
            let mut fetched = self.binds().iter().filter(own).filter(|bind| bind.target.end() <= node.start());
            let asks_for_it = fetched.any(|bind| match bind.target {
                Expr::Name(_) => count_reads_in(&node.test, bind.name) > 0,
                target => self.written(&*node.test).contains(self.written(target)),
            });
            leaves && !asks_for_it
        })
    }
}
