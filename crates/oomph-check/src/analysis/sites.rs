//! Calls as the functions they call see them on their next walk: what parameters are given, how often, in which mode.

use rustc_hash::FxHashMap;

use super::events::Callee;
use super::given::Given;
use super::names::Sym;
use super::outline::Outline;
use super::tables::{CallSites, Edge};
use super::value::{ClassId, FunctionId, Kind, Value};
use super::walk::Walker;
use crate::uses::string_of;

/// More methods of one name than this are no callbacks of one trainer.
const MOST_HOOKS: usize = 24;

impl<'a> Walker<'a, '_> {
    /// Notes a call for the function's next walk.
    pub(super) fn note_call(&mut self, id: FunctionId, receiver: Option<&Value>, given: &Given<'a>) {
        if self.dry {
            return;
        }
        let arguments = self.by_parameter(Some(id), receiver, given);
        self.note_arguments(id, &arguments, self.is_per_batch());
    }

    fn note_arguments(&mut self, id: FunctionId, arguments: &[Option<Value>], per_batch: bool) {
        let caller = self.f.function.map(|index| FunctionId { file: self.file, index });
        if let Some(caller) = caller {
            self.note_passes(caller, id, arguments);
        }
        let arguments = arguments.iter().map(|value| value.as_ref().map(|value| self.handed_on(value))).collect();
        let sites = CallSites { arguments, per_batch, per_step: self.is_played(), ..Default::default() };
        let mode = (self.f.grad != self.f.first_grad).then_some(self.f.grad);
        self.learnt.edges.push(Edge { callee: id, caller, mode });
        self.learnt.call_sites.entry(id).or_default().add(&sites);
    }

    /// Notes which of the caller's own parameters it hands on.
    fn note_passes(&mut self, caller: FunctionId, id: FunctionId, arguments: &[Option<Value>]) {
        for (to, value) in arguments.iter().enumerate() {
            let Some(value) = value.as_ref().filter(|value| value.kind == Kind::Unknown) else { continue };
            let mut from = value.sources.parameters();
            if let (Some(from), None, true) = (from.next(), from.next(), value.sources.sites().is_empty()) {
                self.learnt.passes.push(super::spreading::Pass { caller, from, callee: id, to });
            }
        }
    }

    /// A value as others get it, who do not see that a backward pass runs over its graph here.
    pub(super) fn handed_on(&self, value: &Value) -> Value {
        let value = value.as_argument();
        if self.f.summary.calls_backward { value.freed() } else { value }
    }

    /// Notes what callbacks nobody can tell apart are given: `for hook in hooks: hook.on_batch_end(self, loss)`, and by
    /// name, `self.fire("on_batch_end", loss)`.
    pub(super) fn note_hooks(&mut self, given: &Given<'a>, callee: Callee, on_something: bool) {
        if self.dry {
            return;
        }
        // Their name says when they run, whatever the loop goes over.
        let (tables, often) = (self.tables, self.is_in_loop());
        if let (Callee::Other, true, Some(hooks)) = (callee, on_something, tables.hooks.get(given.name)) {
            for &id in hooks {
                let arguments = self.by_parameter(Some(id), self.owner_of(id).as_ref(), given);
                self.note_arguments(id, &arguments, often);
            }
        }
        let named = given.node.arguments.args.first().and_then(string_of);
        let Some(hooks) = named.and_then(|name| tables.hooks.get(name)) else { return };
        for &id in hooks {
            let wanted = tables.outlines[id.file as usize].functions[id.index as usize].named_parameters();
            let whole = given.args.len();
            // Who calls back may put itself first.
            let first =
                if wanted == whole + 1 { vec![self.owner_of(id), self.own_value()] } else { vec![self.owner_of(id)] };
            if wanted == whole || wanted == whole + 1 {
                let rest = given.args.iter().skip(1).cloned().map(Some);
                let arguments: Vec<Option<Value>> = first.into_iter().chain(rest).collect();
                self.note_arguments(id, &arguments, often);
            }
        }
    }

    fn owner_of(&self, id: FunctionId) -> Option<Value> {
        let index = self.tables.outlines[id.file as usize].functions[id.index as usize].class?;
        Some(self.instance_of(ClassId { file: id.file, index }))
    }

    /// What `self` is in the function being walked.
    fn own_value(&self) -> Option<Value> {
        let index = self.outline.functions.get(self.f.function? as usize)?.class?;
        Some(self.instance_of(ClassId { file: self.file, index }))
    }

    /// Notes the function that a loader runs in its workers to make a batch.
    pub(super) fn note_collate(&mut self, given: &Given<'a>) {
        let Some((_, Value { kind: Kind::Function(id), .. })) = given.keyword("collate_fn") else { return };
        let workers = given.keyword("num_workers").is_some_and(|(number, _)| !crate::uses::is_number(number, 0));
        if workers && !self.dry {
            self.learnt.collates.push(*id);
        }
    }

    /// The module that a function of a library runs over the windows of an image.
    pub(super) fn predictor_of(&self, sym: Sym, given: &Given<'a>) -> Option<Value> {
        let by_windows = self.names.text(sym).ends_with(".sliding_window_inference");
        let named = given.keyword("predictor").map(|(_, value)| value);
        named.or_else(|| given.args.get(3)).filter(|value| by_windows && value.is_module()).cloned()
    }
}

/// Methods that a trainer calls back once a batch, by name: `on_batch_end`, `after_step`.
pub(super) fn hooks<'a>(outlines: &[Outline<'a>]) -> FxHashMap<&'a str, Vec<FunctionId>> {
    let mut found: FxHashMap<&'a str, Vec<FunctionId>> = FxHashMap::default();
    for (file, outline) in outlines.iter().enumerate() {
        for (index, function) in outline.functions.iter().enumerate() {
            let name = function.node.name.as_str();
            if function.class.is_some() && is_hook(name) {
                found.entry(name).or_default().push(FunctionId { file: file as u32, index: index as u32 });
            }
        }
    }
    found.retain(|_, hooks| hooks.len() <= MOST_HOOKS);
    found
}

fn is_hook(name: &str) -> bool {
    let when = ["on_", "after_", "before_"].iter().any(|word| name.starts_with(word));
    when && ["batch", "step", "iter"].iter().any(|word| name.contains(word))
}
