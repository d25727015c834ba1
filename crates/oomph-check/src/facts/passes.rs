//! Loops that evaluate with gradients recorded: forward passes in them, and whether anything needs their graph.

use rustc_hash::FxHashSet;

use super::turns::{has_few_turns, has_many_turns};
use super::{Effect, Facts, Loop};
use crate::analysis::events::{At, BlockKind, Call, Callee, GradMode, LoopKind};
use crate::analysis::guesses::is_half_of_pass;
use crate::analysis::tables::Summary;
use crate::analysis::value::{Device, Flags, Graph, Value};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::uses::string_of;

impl<'a> Facts<'a> {
    /// The loop over batches around a call, or over other items where a module was switched to evaluation before.
    #[must_use]
    pub fn evaluation_loop(&self, call: &Call<'a>) -> Option<Loop<'a>> {
        let loader = self.loops(&call.at).find(|found| matches!(found.kind, LoopKind::Loader | LoopKind::Chunks));
        let loader = loader.or_else(|| self.evaluated_turns(call));
        if loader.is_some() || call.callee != Callee::Module {
            return loader;
        }
        let items = self.loops(&call.at).find(|found| found.kind == LoopKind::Items)?;
        // `[layer(x) for layer in layers]` is one pass; `[net(x) for x in texts]` is one a text.
        let over_data = !self.varies_in(&call.node.func, items.block)
            && call.node.arguments.args.iter().any(|arg| self.varies_in(arg, items.block));
        // A network's own method goes over its levels, with a frozen part in evaluation mode.
        let of_network = self.class_kind(&call.at).is_module();
        if !over_data && (of_network || !matches!(items.node, BlockKind::Loop(..))) {
            return None;
        }
        let own = self.eval_call(&call.at).filter(|eval| self.is_eval_of(eval, call));
        let switched = own.or_else(|| self.lasting_eval(call).filter(|_| over_data))?;
        (!self.is_inside(switched.at.block, items.block)).then_some(items)
    }

    /// The loop around a pass of modules in evaluation mode that runs the same ones on every turn, on something else.
    fn evaluated_turns(&self, call: &Call<'a>) -> Option<Loop<'a>> {
        // What a function gives back without a graph, it has made of passes of its own: those are found there.
        let helper = matches!(call.callee, Callee::Project(_)) && !call.result.holds_graph();
        if !call.evaluates || helper || !self.outline().imports_torch || self.class_kind(&call.at).is_module() {
            return None;
        }
        let mut turns = self.loops(&call.at).filter(|found| !matches!(found.kind, LoopKind::Parameters));
        // `for net in nets: net(x)` is one pass of each.
        let found = turns.find(|turns| !self.varies_in(&call.node.func, turns.block))?;
        let mut given = call.node.arguments.args.iter().chain(call.node.arguments.keywords.iter().map(|k| &k.value));
        let another = given.any(|arg| self.varies_in(arg, found.block));
        // A whole experiment each turn is no evaluation, and what stays in main memory is small.
        let few = matches!(found.node, BlockKind::Loop(_, Stmt::For(node)) if has_few_turns(&node.iter));
        let of_data = found.kind != LoopKind::Epochs && !few && is_fed_from_card(call);
        (another && of_data && !self.plays_in(&found)).then_some(found)
    }

    /// Whether a loop takes steps in an environment or a game: each pass is of one small state.
    fn plays_in(&self, turns: &Loop<'_>) -> bool {
        ["step", "reset", "render", "push", "act"]
            .into_iter()
            .any(|name| self.calls_named(name).any(|call| self.is_inside(call.at.block, turns.block)))
    }

    /// The loop that evaluates, with gradients recorded that nobody needs, around a forward pass a value comes from.
    #[must_use]
    pub fn evaluating_loop_of(&self, value: &Value, at: &At) -> Option<Loop<'a>> {
        let passes: FxHashSet<TextRange> = self.forward_passes(value, at).collect();
        self.calls().iter().filter(|call| passes.contains(&call.node.range())).find_map(|call| {
            let turns = self.evaluation_loop(call).filter(|turns| !self.ends_at_once(turns))?;
            let switched = || call.evaluates || self.eval_before(call).is_some_and(|eval| self.is_eval_of(eval, call));
            let kept_inside = self.is_inside(at.block, turns.block);
            let over_data = matches!(turns.kind, LoopKind::Loader | LoopKind::Chunks) || is_fed_from_card(call);
            // A recurrent pass keeps the graph of all its turns, stored or not.
            (kept_inside
                && over_data
                && !self.feeds_itself(value, at)
                && switched()
                && !self.needs_gradients(call, &turns))
            .then_some(turns)
        })
    }

    /// A loop of many turns, by its count, around a forward pass a value comes from, in a program that never goes back:
    /// `for i in range(1000): features.append(model(x))`.
    #[must_use]
    pub fn counted_loop_of(&self, value: &Value, at: &At) -> Option<Loop<'a>> {
        let goes_back = self.effects(Effect::Backward).next().is_some() || self.class_kind(at).is_module();
        let passes: FxHashSet<TextRange> = self.forward_passes(value, at).collect();
        let turns = self.loops(at).next().filter(|turns| {
            let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return false };
            has_many_turns(&node.iter) && !self.is_on_few_turns(at, turns)
        })?;
        let inside = |call: &Call<'a>| self.is_inside(call.at.block, turns.block) && self.is_forward_with_graph(call);
        let runs_here = self.calls().iter().any(|call| passes.contains(&call.node.range()) && inside(call));
        (runs_here && !goes_back && !self.feeds_itself(value, at)).then_some(turns)
    }

    /// A forward pass that leaves a graph: of a module, or in a function of the project.
    #[must_use]
    pub fn is_forward_with_graph(&self, call: &Call<'_>) -> bool {
        let module = call.callee == Callee::Module
            && !call.site.is_empty()
            && call.result.holds_graph()
            && call.result.graph >= Graph::Likely;
        // `model.encode(x)` of a model nobody wrote here.
        let half = call.callee == Callee::Other
            && call.evaluates
            && is_half_of_pass(call.name)
            && !call.site.is_empty()
            && call.result.graph >= Graph::Likely
            && self.loops(&call.at).any(|found| matches!(found.kind, LoopKind::Loader | LoopKind::Chunks));
        let helper = matches!(call.callee, Callee::Project(id) if {
            let name = self.function_def(id).node.name.as_str();
            // What a function of another file runs inside is told by what comes back.
            let seen = self.is_own(id) || call.result.holds_graph();
            name != "__init__" && seen && !self.class_kind(&call.at).is_module()
        });
        let runs = |summary: &Summary| {
            (summary.forwards || summary.halves && call.evaluates) && !summary.calls_backward && !summary.steps
        };
        call.at.grad == GradMode::On && (module || half || helper && self.callee_summary(call).is_some_and(runs))
    }

    /// Whether a call has an object that is not in view train: `ppo_trainer.step(...)`, `agent.learn()`.
    fn is_step_of_trainer(&self, call: &Call<'a>) -> bool {
        const WAYS: &[&str] = &["step", "learn", "fit", "train_step", "train_batch", "train_on_batch"];
        let on = call.receiver_expr().filter(|_| WAYS.contains(&call.name) && call.callee == Callee::Other);
        let on = on.map(|expr| self.written(expr).to_ascii_lowercase()).unwrap_or_default();
        ["train", "agent", "learner", "algo"].iter().any(|word| on.contains(word))
    }

    /// Whether gradients are used: by the loop where a module is switched to evaluation before it, else by the function.
    #[must_use]
    pub fn needs_gradients(&self, call: &Call<'a>, batches: &Loop<'_>) -> bool {
        const NAMES: &[&str] = &["vjp", "attack", "perturb"];
        let here = call.at.function;
        // Attacks and adaptation go back within what they call.
        let goes_back_inside = |found: &Call<'a>| {
            // `options["attack"](x)` is called by the name of an item.
            let item = found.node.func.as_subscript_expr().and_then(|item| string_of(&item.slice));
            let trains = is_gradient_name(item.unwrap_or(found.name)) || self.is_step_of_trainer(found);
            trains && self.is_inside(found.at.block, batches.block)
        };
        if self.calls().iter().any(goes_back_inside) {
            return true;
        }
        if self.eval_call(&call.at).is_none() && !self.holds_out(call, batches) {
            let keeps = || self.returns().iter().any(|ret| ret.at.function == here && ret.value.holds_graph());
            // Where nothing in view goes back, nobody needs the graph of what a module in evaluation mode gave.
            let wanted = || !call.evaluates || self.is_near_training();
            return self.uses_gradients(here, NAMES) || wanted() && keeps();
        }
        // Training in the same function is no use of these passes.
        let inside = |at: &At| self.is_inside(at.block, batches.block);
        let goes_back = self
            .effects_of(Effect::Backward, here)
            .any(|back| inside(&back.at) || self.backward_sources(back).overlap(call.result.sources.sites()));
        let asks =
            ["requires_grad_", "enable_grad", "set_grad_enabled", "grad", "jacobian", "train"].iter().chain(NAMES);
        goes_back
            || self.effects_in(Effect::Step, batches.block).next().is_some()
            || self.binds_of("requires_grad").any(|bind| inside(&bind.at))
            || asks.into_iter().any(|name| self.calls_named(name).any(|found| inside(&found.at)))
    }

    /// Whether a loop goes over data held out from training, in a function that trains elsewhere: nobody calls that with
    /// recording switched off, and the loop takes plain data out of what its passes give.
    #[must_use]
    pub fn holds_out(&self, call: &Call<'a>, batches: &Loop<'_>) -> bool {
        let BlockKind::Loop(LoopKind::Loader, Stmt::For(node)) = batches.node else { return false };
        let held_out = |expr: &Expr| {
            let name = crate::uses::last_name(expr).unwrap_or_default().to_ascii_lowercase();
            let mut words = name.split('_');
            let says = words.any(|word| {
                ["val", "valid", "validation", "test", "eval", "dev"].contains(&word.trim_end_matches("loader"))
            });
            says && ["loader", "dl", "iter", "dataloader"].iter().any(|end| name.ends_with(end))
        };
        let mut walked = &*node.iter;
        while let Expr::Call(wrapper) = walked {
            let Some(first) = wrapper.arguments.args.first() else { break };
            walked = first;
        }
        let returned = |value: &Value| value.holds_graph() && value.sources.sites().overlap(call.site);
        let trains = |back: &Call<'a>| back.at.function == call.at.function;
        held_out(walked)
            && call.callee == Callee::Module
            && self.effects(Effect::Backward).any(trains)
            && self.takes_data_out(call)
            && !self.returns().iter().any(|ret| ret.at.function == call.at.function && returned(&ret.value))
    }

    /// Whether this file, or one that imports it, goes back anywhere.
    #[must_use]
    pub fn is_near_training(&self) -> bool {
        self.tables.files_above(self.file).into_iter().any(|file| self.tables.goes_back(file))
    }
}

/// Whether a call is given something that was moved to a card.
fn is_fed_from_card(call: &Call<'_>) -> bool {
    call.values().any(|value| value.has(Flags::MOVED) || value.is_tensor() && value.device == Device::Cuda)
}

/// Whether a function's name says that it uses gradients: `gradient_update_parameters`, `get_adversary`, `pgd`.
fn is_gradient_name(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "attack",
        "adversar",
        "gradient",
        "inner_loop",
        "inner_step",
        "saliency",
        "grad_cam",
        "gradcam",
        "finetune",
        "fine_tune",
    ];
    let lower = name.to_ascii_lowercase();
    let adapts = lower.split('_').any(|word| matches!(word, "adapt" | "adaptation" | "adv" | "fgsm" | "pgd" | "maml"));
    !lower.ends_with("loss") && (adapts || WORDS.iter().any(|word| lower.contains(word)))
}
