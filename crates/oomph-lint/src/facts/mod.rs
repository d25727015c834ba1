//! The questions that rules ask. Each is answered here, once.

use rustc_hash::FxHashSet;

use crate::domain::{FuncRef, ObjId, Origins, Sure};
use crate::hints::is_evaluation_name;
use crate::interp::{
    At, AttrKeep, Backward, Chain, Forward, Keep, Loading, Log, LoopFacts, LoopKind, Program, Trip, chain_tag,
};
use crate::ir::{FunctionKind, Name, Span};

/// What makes a place one of evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evaluation {
    /// The module is in evaluation mode.
    Mode,
    /// The name of a function or loader says so.
    Name,
}

/// What the analysis knows of a group of files.
pub(crate) struct Facts<'a> {
    program: &'a Program,
    log: &'a Log,
    trained: FxHashSet<u32>,
    trained_tags: FxHashSet<u32>,
}

impl<'a> Facts<'a> {
    /// Reads a log.
    pub(crate) fn new(program: &'a Program, log: &'a Log) -> Self {
        let trained = log.backwards.values().flat_map(|backward| backward.origins.sites().collect::<Vec<_>>());
        let tags = log.backwards.values().flat_map(|backward| backward.via.iter().collect::<Vec<_>>());
        Self { program, log, trained: trained.collect(), trained_tags: tags.collect() }
    }

    // --- what happened

    pub(crate) fn forwards(&self) -> impl Iterator<Item = &'a Forward> {
        self.log.forwards.values()
    }

    pub(crate) fn keeps(&self) -> impl Iterator<Item = &'a Keep> {
        self.log.keeps.values()
    }

    pub(crate) fn attr_keeps(&self) -> impl Iterator<Item = &'a AttrKeep> {
        self.log.attr_keeps.values()
    }

    pub(crate) fn chains(&self) -> impl Iterator<Item = &'a Chain> {
        self.log.chains.values()
    }

    pub(crate) fn backwards(&self) -> impl Iterator<Item = &'a Backward> {
        self.log.backwards.values()
    }

    pub(crate) fn loadings(&self) -> impl Iterator<Item = &'a Loading> {
        self.log.loadings.values()
    }

    // --- graphs

    /// Whether a backward pass in sight starts from a graph that begins at one of these sites.
    pub(crate) fn is_trained(&self, origins: &Origins) -> bool {
        origins.sites().any(|site| self.trained.contains(&site))
    }

    /// Whether a function that is not in sight may run that backward pass.
    pub(crate) fn may_be_trained_elsewhere(&self, origins: &Origins) -> bool {
        origins.sites().any(|site| self.log.may_train.contains(&site))
    }

    /// Whether what a container holds is the root of a backward pass.
    pub(crate) fn is_container_trained(&self, container: ObjId) -> bool {
        self.trained_tags.contains(&container)
    }

    /// Whether a running sum is the root of a backward pass.
    pub(crate) fn is_chain_trained(&self, chain: &Chain) -> bool {
        self.trained_tags.contains(&chain_tag(chain.site))
    }

    /// Whether values of these graphs are returned to a caller that is not in sight.
    pub(crate) fn is_returned(&self, origins: &Origins) -> bool {
        origins.sites().any(|site| self.log.returned.contains(&site))
    }

    /// Whether a backward pass frees these graphs in every round of a loop.
    pub(crate) fn is_freed_in(&self, number: u32, origins: &Origins) -> bool {
        let freed = self.log.loops[number as usize].freed.as_deref().unwrap_or_default();
        !origins.is_empty() && origins.sites().all(|site| freed.contains(&site))
    }

    /// Whether a backward pass over one of these graphs runs inside a loop.
    pub(crate) fn is_trained_in(&self, number: u32, origins: &Origins) -> bool {
        self.backwards().any(|backward| {
            backward.loops.contains(&number)
                && backward.origins.sites().any(|site| origins.sites().any(|own| own == site))
        })
    }

    // --- loops

    pub(crate) fn loop_facts(&self, number: u32) -> &'a LoopFacts {
        &self.log.loops[number as usize]
    }

    /// Whether a loop runs often enough to matter.
    pub(crate) fn is_long(&self, number: u32) -> bool {
        self.log.loops[number as usize].trip > Trip::Few
    }

    /// The loops around which a container grows: those in which nothing empties it, and that run often.
    pub(crate) fn growth(&self, keep: &Keep) -> Vec<u32> {
        let cleared = &self.log.objects[keep.container as usize].cleared_in;
        keep.grows.iter().copied().filter(|number| !cleared.contains(number) && self.is_long(*number)).collect()
    }

    /// Whether a loop is one over calls or uses that nothing in sight makes.
    pub(crate) fn is_open_loop(&self, number: u32) -> bool {
        !matches!(self.log.loops[number as usize].kind, LoopKind::Written(..))
    }

    // --- objects

    /// Whether an object is a global of a file or an attribute of a class.
    pub(crate) fn is_shared(&self, object: ObjId) -> bool {
        self.log.objects[object as usize].is_shared
    }

    /// Whether an object is handed to a caller that is not in sight.
    pub(crate) fn escapes(&self, object: ObjId) -> bool {
        self.log.objects[object as usize].escapes
    }

    /// Whether an optimizer in sight has a module's parameters.
    pub(crate) fn is_optimized(&self, module: ObjId) -> bool {
        self.log.objects[module as usize].is_optimized
    }

    /// The names of variables that hold an object.
    pub(crate) fn names_of(&self, object: ObjId) -> &'a [Name] {
        &self.log.objects[object as usize].names
    }

    /// Whether any optimizer in sight has parameters of a known module.
    pub(crate) fn has_optimizer(&self) -> bool {
        self.log.objects.iter().any(|object| object.is_optimized)
    }

    /// Whether several processes run.
    pub(crate) fn is_distributed(&self) -> bool {
        self.log.is_distributed
    }

    // --- places

    /// What says that a forward pass is one of evaluation.
    pub(crate) fn evaluation(&self, forward: &Forward) -> Option<Evaluation> {
        if forward.is_eval == Sure::Yes {
            return Some(Evaluation::Mode);
        }
        self.is_evaluation_by_name(&forward.calls, &forward.loops).then_some(Evaluation::Name)
    }

    /// Whether the names of running functions or of what the loops run over say that this is evaluation.
    pub(crate) fn is_evaluation_by_name(&self, calls: &[(FuncRef, Span)], loops: &[u32]) -> bool {
        let innermost = loops.iter().rev().find_map(|number| self.loop_facts(*number).over.as_ref());
        let function = calls.last().map(|(func, _)| self.program.function(*func));
        innermost.is_some_and(|name| is_evaluation_name(name))
            || function.is_some_and(|function| function.kind == FunctionKind::Def && is_evaluation_name(&function.name))
    }

    /// Where, in the function of the innermost long loop, something happens that runs deeper in calls.
    pub(crate) fn place_in_loop(&self, at: &At, calls: &[(FuncRef, Span)], loops: &[u32]) -> At {
        let innermost = loops.iter().rev().filter(|number| self.is_long(**number)).find_map(|number| {
            match self.loop_facts(*number).kind {
                LoopKind::Written(func, _) => Some(func),
                _ => None,
            }
        });
        let Some(func) = innermost else { return at.clone() };
        // A helper for evaluation is to blame itself.
        let own = calls.last().map(|(func, _)| self.program.function(*func));
        if own.is_some_and(|own| own.kind == FunctionKind::Def && is_evaluation_name(&own.name)) {
            return at.clone();
        }
        match calls.iter().rposition(|(known, _)| *known == func) {
            Some(frame) if frame + 1 < calls.len() => At { file: func.file, span: calls[frame + 1].1 },
            _ => at.clone(),
        }
    }
}
