//! What training does: backward passes, steps, gradients cleared, forward passes.

use rustc_hash::FxHashSet;

use super::{Effect, Facts};
use crate::analysis::events::{At, Bind, Call, Callee};
use crate::analysis::value::{BlockId, Kind, Sources, Value};
use crate::python::{Expr, Ranged, TextRange, count_reads_in};

impl<'a> Facts<'a> {
    /// Calls that do something, directly or through a function of the project, in the order of the walk.
    pub fn effects(&self, effect: Effect) -> impl Iterator<Item = &Call<'a>> {
        let found = self.effects.iter().filter(move |(kind, _)| *kind == effect);
        found.map(|(_, index)| &self.log.calls[*index as usize])
    }

    /// The same within a block.
    pub fn effects_in(&self, effect: Effect, block: BlockId) -> impl Iterator<Item = &Call<'a>> {
        self.effects(effect).filter(move |call| self.is_inside(call.at.block, block))
    }

    /// Whether a backward pass may leave what the graph saved alive: `backward(retain_graph=True)`. Of a helper that goes
    /// back, this is said where any backward pass of the file does.
    #[must_use]
    pub fn may_retain_graph(&self, back: &Call<'a>) -> bool {
        let retains = |call: &Call<'a>| {
            let by_place = [1, 2].into_iter().filter_map(|place| call.arg(place));
            let by_name = ["retain_graph", "create_graph"].into_iter().filter_map(|name| call.keyword(name));
            let is_off = |given: &Expr| match given {
                Expr::BooleanLiteral(literal) => !literal.value,
                other => other.is_none_literal_expr(),
            };
            call.has_star() || by_place.chain(by_name).any(|given| !is_off(given))
        };
        if back.name == "backward" { retains(back) } else { self.calls_named("backward").any(retains) }
    }

    /// The same within a function and those nested in it; `None` is the module's body.
    pub fn effects_of(&self, effect: Effect, function: Option<u32>) -> impl Iterator<Item = &Call<'a>> {
        self.effects(effect).filter(move |call| self.is_part_of(call.at.function, function))
    }

    /// Whether a function uses gradients: it goes back, steps, says what needs them, or calls one of `names`.
    #[must_use]
    pub fn uses_gradients(&self, function: Option<u32>, names: &[&str]) -> bool {
        let calls = |name: &&str| self.calls_named(name).any(|found| found.at.function == function);
        self.effects_of(Effect::Backward, function).next().is_some()
            || self.effects_of(Effect::Step, function).next().is_some()
            || self.binds_of("requires_grad").any(|bind| bind.at.function == function)
            || ["requires_grad_", "enable_grad", "set_grad_enabled", "grad", "jacobian"].iter().chain(names).any(calls)
    }

    /// Whether `inner` is `outer` or a function nested in it.
    fn is_part_of(&self, inner: Option<u32>, outer: Option<u32>) -> bool {
        let mut now = inner;
        while now != outer {
            match now.and_then(|index| self.outline().functions.get(index as usize)) {
                Some(function) if function.parent.is_some() => now = function.parent,
                _ => return false,
            }
        }
        true
    }

    /// What a call of `backward` goes back through.
    #[must_use]
    pub fn backward_sources(&self, call: &Call<'_>) -> Sources {
        let own = call.receiver.as_ref().filter(|value| value.is_tensor() || value.kind == Kind::Unknown);
        let from_arguments = || call.values().fold(Sources::default(), |all, value| Sources(all.0 | value.sources.0));
        match (own, call.callee) {
            (_, Callee::Project(_)) => from_arguments(),
            (Some(value), _) if !value.sources.is_empty() || call.args.is_empty() => value.sources,
            _ => from_arguments(),
        }
    }

    /// A backward pass, anywhere in the function, over something that shares a forward pass with `value`.
    #[must_use]
    pub fn backward_of(&self, value: &Value, at: &At) -> Option<&Call<'a>> {
        let mut calls = self.effects_of(Effect::Backward, at.function);
        calls.find(|call| self.backward_sources(call).overlap(value.sources))
    }

    /// The backward pass that every caller in this file runs over what the function of a point returns of `value`.
    #[must_use]
    pub fn backward_by_callers(&self, value: &Value, at: &At) -> Option<&Call<'a>> {
        at.function?;
        let mut returns = self.returns().iter().filter(|ret| ret.at.function == at.function && !ret.is_yield);
        if !returns.any(|ret| ret.value.sources.sites().overlap(value.sources)) {
            return None;
        }
        let mut found = None;
        for call in self.callers_of(at).filter(|call| call.at.function != at.function) {
            let over_it = |back: &&Call<'a>| {
                back.at.order > call.at.order
                    && self.backward_sources(back).overlap(call.result.sources.sites())
                    && !matches!(back.callee, Callee::Project(_))
            };
            found = Some(self.effects_of(Effect::Backward, call.at.function).find(over_it)?);
        }
        found
    }

    /// Whether a backward pass has freed everything `value` hangs on, on every path to `at`.
    #[must_use]
    pub fn is_freed(&self, value: &Value, at: &At) -> bool {
        let sites = value.sources.sites();
        !sites.is_empty() && sites.0 & !at.freed.0 == 0
    }

    /// The same on some path.
    #[must_use]
    pub fn may_be_freed(&self, value: &Value, at: &At) -> bool {
        value.sources.sites().0 & at.maybe_freed.0 != 0
    }

    /// Whether a forward pass that a value comes from takes what the same pass gave on an earlier turn.
    #[must_use]
    pub fn feeds_itself(&self, value: &Value, at: &At) -> bool {
        let passes: Vec<TextRange> = self.forward_passes(value, at).collect();
        self.calls().iter().any(|call| {
            let fed = call.values().any(|input| input.sources.sites().overlap(call.site));
            passes.contains(&call.node.range()) && (fed || self.gets_its_own(call))
        })
    }

    /// Whether a call in a loop is given what its own statement bound on the turn before: `y, h = cell(x, h)`.
    fn gets_its_own(&self, call: &Call<'a>) -> bool {
        let Some(turns) = self.loops(&call.at).next() else { return false };
        let given = |name: &str| call.node.arguments.args.iter().any(|arg| count_reads_in(arg, name) > 0);
        let bound: Vec<&Bind<'a>> =
            self.binds().iter().filter(|bind| bind.at.stmt == call.at.stmt && bind.at.block == call.at.block).collect();
        // What is set anew before the call is another item on every turn.
        let set_before = |name: &str| {
            self.binds_of(name).any(|other| {
                other.at.order < call.at.order
                    && other.at.stmt != call.at.stmt
                    && self.is_inside(other.at.block, turns.block)
            })
        };
        bound.iter().any(|bind| bind.target.is_name_expr() && given(bind.name) && !set_before(bind.name))
    }

    /// Whether the function hands what comes from the same passes to numpy or scikit-learn as it is: torch refuses that
    /// to what has a graph, so it has none.
    #[must_use]
    pub fn goes_to_numpy(&self, value: &Value, at: &At) -> bool {
        let same = |other: &Value| other.holds_graph() && other.sources.sites().overlap(value.sources.sites());
        let converts = |call: &Call<'a>| {
            let receives = call.name == "numpy" && call.receiver.as_ref().is_some_and(same);
            call.at.function == at.function && (receives || call.name != "numpy" && call.values().any(same))
        };
        self.conversions.iter().any(|index| converts(&self.log.calls[*index as usize]))
    }

    /// Whether something says that a value kept out of training has no graph after all: torch would refuse what is done
    /// with it, or whoever calls the function, the model itself or a helper switches recording off.
    #[must_use]
    pub fn may_have_no_graph(&self, value: &Value, at: &At) -> bool {
        let passes: FxHashSet<TextRange> = self.forward_passes(value, at).collect();
        let off = |call: &Call<'a>| self.fails_with_gradients(call) || self.records_nothing(call);
        // Before torch 0.4 a helper of another file may have made the inputs `volatile`.
        let old = || self.outlines_of_process().iter().any(|outline| !outline.volatile.is_empty());
        // A framework that runs a loop of its subclass may do so under a mode of its own.
        let by_framework = self.loops(at).next().is_some() && self.is_called_from_elsewhere(at);
        self.goes_to_numpy(value, at)
            || by_framework
            || old()
            || self.is_called_without_gradients(at, true)
            || self.calls().iter().filter(|call| passes.contains(&call.node.range())).any(off)
    }

    /// What `torch` is called in this file.
    #[must_use]
    pub fn torch_name(&self) -> Option<&'a str> {
        let imports = &self.outline().imports;
        if imports.get("torch").is_some_and(|full| full == "torch") {
            return Some("torch");
        }
        let mut names: Vec<&str> = imports.iter().filter(|(_, full)| *full == "torch").map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.first().copied()
    }

    /// The forward passes a value's graph comes from.
    pub fn forward_passes(&self, value: &Value, at: &At) -> impl Iterator<Item = TextRange> {
        let (sources, function) = (value.sources.sites(), at.function);
        let sites = self.log.sites.iter();
        sites.filter(move |site| site.function == function && site.source.overlap(sources)).map(|site| site.range)
    }

    /// Whether all of these are of models there to be compared with, which helpers out of view freeze.
    #[must_use]
    pub fn comes_from_reference(&self, value: &Value, at: &At) -> bool {
        let mut passes = self.forward_passes(value, at).peekable();
        let is_reference = |pass: TextRange| {
            let text = self.source.slice(pass);
            is_reference_name(text.split('(').next().unwrap_or(text))
        };
        passes.peek().is_some() && passes.all(is_reference)
    }

    /// Whether this file, or one that imports it, takes a module of this name out of training.
    #[must_use]
    pub fn is_frozen_by_callers(&self, name: &str) -> bool {
        let files = self.tables.files_above(self.file);
        files.into_iter().any(|file| self.tables.outlines[file as usize].frozen.contains(name))
    }

    /// The first of these: where to point.
    #[must_use]
    pub fn forward_pass(&self, value: &Value, at: &At) -> Option<TextRange> {
        self.forward_passes(value, at).next()
    }
}

/// Whether the name says that the model is there to be compared with, not trained.
#[must_use]
pub fn is_reference_name(module: &str) -> bool {
    let last = module.rsplit('.').next().unwrap_or(module).to_ascii_lowercase();
    ["teacher", "ref_model", "reference_model", "ref_policy", "frozen", "model_ref", "net_t", "model_t", "tmodel"]
        .iter()
        .any(|word| {
            last == *word
                || last.contains("teacher")
                || last.contains("frozen")
                || last.contains("ref_model")
                || last.contains(word) && word.len() > 8
        })
}
