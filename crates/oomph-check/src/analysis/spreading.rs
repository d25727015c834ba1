//! What flows from file to file once all were walked: tensors handed on by one function to the next, and attributes
//! that others set.

use super::tables::{Edge, Tables};
use super::value::{Flags, FunctionId, Graph, Kind, Value};

/// A parameter that a function hands on to another as it is.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    /// Whose parameter.
    pub(crate) caller: FunctionId,
    /// Which of them.
    pub(crate) from: usize,
    /// To whom.
    pub(crate) callee: FunctionId,
    /// As which parameter.
    pub(crate) to: usize,
}

impl Tables<'_> {
    /// Whether anything in a file goes back.
    #[must_use]
    pub fn goes_back(&self, file: u32) -> bool {
        let learnt = &self.learnt[file as usize];
        learnt.goes_back || learnt.summaries.iter().flatten().any(|summary| summary.calls_backward)
    }

    /// Gives the attributes of classes what other code binds to them.
    pub(super) fn set_from_outside(&mut self) {
        let outside: Vec<_> = self.learnt.iter_mut().flat_map(|file| std::mem::take(&mut file.outside)).collect();
        for (class, name, value) in outside {
            let Some(attributes) = self.learnt[class.file as usize].attributes.get_mut(class.index as usize) else {
                continue;
            };
            let known = attributes.get(name).filter(|old| old.kind != Kind::Unknown);
            let joined = known.map_or_else(|| value.clone(), |old| old.join(&value));
            attributes.insert(name, joined);
        }
    }

    /// Hands tensors with a graph on through functions that pass their own parameters to others.
    pub(super) fn spread_arguments(&mut self) {
        const ROUNDS: usize = 4;
        let passes: Vec<Pass> = self.learnt.iter_mut().flat_map(|file| std::mem::take(&mut file.passes)).collect();
        for _ in 0..ROUNDS {
            let mut changed = false;
            for pass in &passes {
                let Some(value) = self.tensor_given(pass.caller, pass.from) else { continue };
                let sites = self.call_sites.entry(pass.callee).or_default();
                if sites.arguments.len() <= pass.to {
                    sites.arguments.resize(pass.to + 1, None);
                }
                let known = &mut sites.arguments[pass.to];
                if known.as_ref().is_none_or(|old| matches!(old.kind, Kind::Unknown | Kind::Number)) {
                    *known = Some(value);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// What a function that runs once a batch calls runs as often.
    pub(super) fn spread_turns(&mut self, edges: &[Edge]) -> bool {
        let mut changed = false;
        for edge in edges {
            let runs = |id: FunctionId| self.call_sites.get(&id).is_some_and(|sites| sites.per_batch);
            if edge.caller.is_some_and(runs) && !runs(edge.callee) {
                self.call_sites.entry(edge.callee).or_default().per_batch = true;
                changed = true;
            }
        }
        changed
    }

    /// The files whose functions are given tensors with a graph.
    pub(super) fn files_given_graphs(&self) -> Vec<u32> {
        let given =
            self.call_sites.iter().filter(|(_, sites)| sites.arguments.iter().flatten().any(Value::holds_graph));
        given.map(|(id, _)| id.file).collect()
    }

    /// The tensor with a graph that a function is given for a parameter, or among those of a star.
    fn tensor_given(&self, id: FunctionId, parameter: usize) -> Option<Value> {
        let value = self.call_sites.get(&id)?.arguments.get(parameter)?.as_ref()?;
        let star = parameter >= self.outlines[id.file as usize].functions[id.index as usize].named_parameters();
        let value = if star { value.element() } else { value.clone() };
        (value.is_tensor() && value.graph >= Graph::Likely && !value.has(Flags::LEAF)).then_some(value)
    }
}
