//! How long something that is kept lives: what empties, resets or back-propagates its holder.

use super::{Effect, Facts, Loop, Turn};
use crate::analysis::events::{At, Bind, Call, Callee, LoopKind, Root, Store};
use crate::analysis::value::{BlockId, Kind};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// What a store keeps things in, as written: the object itself where one of its methods does the keeping.
    #[must_use]
    pub fn keeper(&self, store: &Store<'a>) -> &'a Expr {
        match (store.via, store.target) {
            (Some(_), Expr::Attribute(method)) => &method.value,
            _ => store.target,
        }
    }

    /// Whether something of the object that keeps is back-propagated in the same function: `meter.total.backward()`.
    #[must_use]
    pub fn keeper_goes_back(&self, store: &Store<'a>) -> bool {
        let keeper = self.source.slice(self.keeper(store).range());
        store.via.is_some()
            && self.effects_of(Effect::Backward, store.at.function).any(|call| {
                let mut on = call.receiver_expr().into_iter().chain(call.node.arguments.args.iter());
                on.any(|expr| self.mentions_word(expr.range(), keeper))
            })
    }

    /// Whether more than a name says that what is kept has a graph: where it came from, or a backward pass over it.
    #[must_use]
    pub fn surely_keeps_graph(&self, store: &Store<'a>) -> bool {
        let by_name = |call: &Call<'a>| {
            let mut on = call.receiver_expr().into_iter().chain(call.node.arguments.args.iter());
            on.any(|expr| self.mentions_word(store.value_expr.range(), self.source.slice(expr.range())))
        };
        let sure =
            store.value.surely_holds_graph() || self.effects_of(Effect::Backward, store.at.function).any(by_name);
        sure && !self.is_no_tensor(store)
    }

    /// Whether the function does with what is kept what no tensor can: `image.save(path)` is of a picture. Of several
    /// things kept together, those with a graph matter.
    fn is_no_tensor(&self, store: &Store<'a>) -> bool {
        let foreign = |expr: &Expr| match expr {
            Expr::Name(name) => self.is_used_as_no_tensor(name.id.as_str(), store.at.function),
            _ => false,
        };
        match (store.value_expr, &store.value.parts) {
            (Expr::Tuple(tuple), Some(parts)) if tuple.len() == parts.len() => {
                let mut kept = tuple.elts.iter().zip(parts.iter()).filter(|(_, part)| part.holds_graph()).peekable();
                kept.peek().is_some() && kept.all(|(expr, _)| foreign(expr))
            }
            (expr, _) => foreign(expr),
        }
    }

    /// Whether what a forward pass gives is used as no tensor can be: what looks like a network is a pipeline, which
    /// switches recording off itself.
    #[must_use]
    pub fn gives_no_tensor(&self, forward: &Call<'a>) -> bool {
        let statement = self.statement(forward.at.stmt).map(|statement| statement.node);
        let Some(Stmt::Assign(assign)) = statement else { return false };
        let whole = assign.value.range() == forward.node.range();
        let used = |target: &Expr| matches!(target, Expr::Name(name) if self.is_used_as_no_tensor(name.id.as_str(), forward.at.function));
        whole && assign.targets.iter().any(used)
    }

    /// Whether a function calls methods of a name that tensors lack: those of pictures and texts.
    fn is_used_as_no_tensor(&self, name: &str, function: Option<u32>) -> bool {
        const FOREIGN: &[&str] =
            &["save", "convert", "paste", "strip", "lower", "upper", "startswith", "endswith", "replace", "encode"];
        let on_it = |call: &Call<'a>| {
            let on = call.receiver_expr().and_then(Expr::as_name_expr);
            call.at.function == function && on.is_some_and(|on| on.id.as_str() == name)
        };
        FOREIGN.iter().any(|method| self.calls_named(method).any(on_it))
    }

    /// Whether what is kept is dropped with the step it belongs to: a few items, made in the turn of a loop around or
    /// in a function that takes one step.
    #[must_use]
    pub fn is_dropped_with_step(&self, store: &Store<'a>, turn: &Turn) -> bool {
        let Some(name) = last_name(self.keeper(store)) else { return false };
        let mut around = self.loops(&store.at).skip_while(|turns| turns.block != turn.block);
        let Some(own) = around.next() else { return false };
        let made = |outer: &Loop<'a>| {
            let mut binds = self.binds_of(name);
            binds.any(|bind| self.is_inside(bind.at.block, outer.block) && !self.is_inside(bind.at.block, turn.block))
        };
        let in_outer = around.any(|outer| self.is_per_batch(&outer) && made(&outer));
        let function = self.function_name(&store.at);
        let updates = ["update", "learn", "optimize", "replay"].iter().any(|word| function.contains(word));
        let local = matches!(store.root, Root::Local(_)) && own.kind != LoopKind::Loader;
        // One step after the loop: its items are parts of that step.
        let steps_after = matches!(store.root, Root::Local(_))
            && self.effects(Effect::Step).any(|call| {
                call.at.function.is_some()
                    && call.at.function == store.at.function
                    && self.loops(&call.at).next().is_none()
            });
        in_outer || steps_after || local && (updates || self.is_called_per_batch(&store.at))
    }

    /// Whether what a store adds to is carried from one turn to the next: it is not made, emptied or reset on every one.
    #[must_use]
    pub fn is_carried(&self, store: &Store<'a>, turn: &Turn) -> bool {
        let keeper = self.keeper(store);
        // A sum is a new tensor each time it grows; a list goes on being the same one.
        let collects = matches!(store.holder.kind, Kind::List | Kind::Dict | Kind::Set | Kind::Ring | Kind::Tuple);
        let made_here =
            collects && store.holder.born != BlockId::ELSEWHERE && self.is_inside(store.holder.born, turn.block);
        let bound = |bind: &Bind<'_>| {
            bind.at.stmt != store.at.stmt
                && self.source.slice(bind.target.range()) == self.source.slice(keeper.range())
                && self.is_inside(bind.at.block, turn.block)
                && !self.is_reset_now_and_then(bind, store, turn)
        };
        let name = match keeper {
            Expr::Name(node) => Some(node.id.as_str()),
            Expr::Attribute(node) => Some(node.attr.as_str()),
            _ => None,
        };
        let rebound = name.is_some_and(|name| self.binds_of(name).any(bound));
        let resets = |call: &Call<'a>| {
            let on_it = call
                .receiver_expr()
                .is_some_and(|expr| self.source.slice(expr.range()) == self.source.slice(keeper.range()));
            on_it && self.is_inside(call.at.block, turn.block)
        };
        let emptied =
            ["clear", "pop", "popleft", "popitem", "reset"].into_iter().any(|name| self.calls_named(name).any(resets));
        let subscript = matches!(keeper, Expr::Subscript(_)) && self.is_rebound_in(keeper, turn.block, store.at.stmt);
        let deleted = self.deletes().iter().any(|delete| {
            let text = self.source.slice(keeper.range());
            self.source.slice(delete.target.range()).starts_with(text) && self.is_inside(delete.at.block, turn.block)
        });
        !made_here && !rebound && !emptied && !subscript && !deleted
    }

    /// Whether a binding sets a sum back to a number on some turns only: `if step % 100 == 0: total = 0`.
    fn is_reset_now_and_then(&self, bind: &Bind<'_>, store: &Store<'a>, turn: &Turn) -> bool {
        let to_number = bind.value_expr.is_some_and(Expr::is_number_literal_expr);
        let first = self.is_always_before(&bind.at, &store.at);
        to_number && !first && !self.is_unconditional_in(&bind.at, turn.block) && bind.at.block != store.at.block
    }

    /// Whether what is kept outlives the function: it belongs to `self`, to a parameter's object or to the module.
    #[must_use]
    pub fn is_kept_beyond_call(&self, store: &Store<'a>) -> bool {
        matches!(store.root, Root::SelfAttribute(_) | Root::Outer(_))
    }

    /// Whether another function that goes back reads the attribute or global a store keeps something in.
    #[must_use]
    pub fn is_back_propagated_elsewhere(&self, store: &Store<'a>) -> bool {
        let (Root::SelfAttribute(name) | Root::Outer(name)) = store.root else { return false };
        // Whoever calls the function that keeps it goes back in there, and reads the sum to show it.
        let by_keeper = |call: &Call<'a>| matches!(call.callee, Callee::Project(id) if self.is_own(id) && Some(id.index) == store.at.function);
        let elsewhere = |call: &&Call<'a>| call.at.function != store.at.function && !by_keeper(call);
        self.effects(Effect::Backward).filter(elsewhere).any(|call| {
            let around = self.function(&call.at).map_or_else(|| call.range(), |function| function.node.range());
            // What is read only when the last backward pass is over does not go back.
            let end = self.loops(&call.at).last().map_or_else(|| call.range().end(), |turns| turns.range.end());
            self.mentions_word(TextRange::new(around.start(), end.max(around.start())), name)
        })
    }

    /// Calls, in this file, of the function a point is in.
    pub fn callers_of(&self, at: &At) -> impl Iterator<Item = &Call<'a>> {
        let (file, index) = (self.file_index(), at.function);
        self.calls().iter().filter(move |call| match call.callee {
            Callee::Project(id) => id.file == file && Some(id.index) == index,
            _ => false,
        })
    }

    /// Whether what is kept leaves the function with its graph, from a function that does not look like evaluation.
    #[must_use]
    pub fn may_be_used_later(&self, store: &Store<'a>) -> bool {
        let returned = self.returns().iter().any(|ret| {
            ret.at.function == store.at.function
                && ret.value.holds_graph()
                && ret.value.sources.overlap(store.value.sources)
        });
        // Nobody back-propagates a whole loader, unless a caller is seen to.
        let over_loader = self.batch_loop(&store.at).is_some_and(|batches| batches.kind == LoopKind::Loader);
        let goes_back = |call: &Call<'a>| self.effects_of(Effect::Backward, call.at.function).next().is_some();
        returned
            && !self.looks_like_evaluation(&store.at)
            && (!over_loader || self.callers_of(&store.at).any(goes_back))
    }

    /// Whether the text of a range has a word in it.
    #[must_use]
    pub fn mentions_word(&self, range: TextRange, word: &str) -> bool {
        let text = self.source.slice(range);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
    }
}
