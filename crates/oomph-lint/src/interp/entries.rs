//! Where the program starts: bodies of files, then every function and method that nothing has called.

use rustc_hash::FxHashSet;

use super::calls::Args;
use super::events::{At, Log, LoopKind};
use super::machine::{Frame, Machine, Maker};
use super::program::Program;
use crate::domain::{FuncRef, Grad, Kind, ModuleFacts, ObjId, Object, Size, State, Sure, Tensor, Value};
use crate::hints::{is_loader_name, is_loss_function_name, is_module_name};
use crate::ir::{FunctionKind, ParamKind, Span};
use crate::torch::runs_without_grad;

/// Blocks run for one entry, counted with what their states cost.
const BUDGET: usize = 5_000;
/// Methods of a class are tried in this many rounds: what one leaves in the object, another finds.
const ROUNDS: usize = 2;

/// Runs a group of files, importers first; the second run knows what backward passes of the first have proven.
pub(crate) fn analyse(program: &Program, files: &[u32]) -> Log {
    let first = run(program, files, FxHashSet::default());
    if first.proven.is_empty() {
        return first;
    }
    let proven = first.proven.iter().cloned().collect();
    run(program, files, proven)
}

fn run(program: &Program, files: &[u32], proven: FxHashSet<At>) -> Log {
    let mut machine = Machine::new(program, proven);
    for &file in files {
        machine.file_entry(file);
    }
    machine.log
}

impl Machine<'_> {
    /// Runs a file's body, then what nothing called.
    fn file_entry(&mut self, file: u32) {
        let body = FuncRef { file, function: 0 };
        self.start_entry();
        let mut state = State::new();
        let id = self.file_object(file);
        state.put(id, Object::new(Kind::File(file), [].into()));
        let entry = self.suspend(&mut state, body, None);
        self.frames.push(frame(body));
        let outcome = self.run_graph(body, entry);
        self.frames.pop();
        let Some(after) = outcome.state else { return };
        // Recording that a file switches off stays off for what runs later.
        Self::resume(&mut state, after, false);
        self.function_entries(&mut state, file, false);
        self.class_entries(&mut state, file);
        self.function_entries(&mut state, file, true);
    }

    /// Work for one entry; what calls of earlier ones did is forgotten, so that memory is bounded as work is.
    fn start_entry(&mut self) {
        self.budget = BUDGET;
        self.calls_done.clear();
    }

    /// Functions that nothing has called: first those that nothing names, which lead to the others.
    fn function_entries(&mut self, state: &mut State, file: u32, is_named: bool) {
        let functions = &self.program.files[file as usize].unit.functions;
        for number in 0..functions.len() as u32 {
            let func = FuncRef { file, function: number };
            let function = self.program.function(func);
            let is_reachable =
                function.kind == FunctionKind::Def && !function.is_method && !self.visited.contains(&func);
            if !is_reachable || (!is_named && self.program.files[file as usize].names_read.contains(&function.name)) {
                continue;
            }
            let mut after = state.clone();
            let Some(callee) = self.function_object(&after, func) else { continue };
            self.start_entry();
            self.enter_entry(&mut after, callee, LoopKind::Calls(func), func, None);
            // What it leaves in globals, those tried later find.
            state.join(&after);
        }
    }

    /// The object of a function in the state after its file's body.
    fn function_object(&mut self, state: &State, func: FuncRef) -> Option<ObjId> {
        let is_it = |object: &Object| matches!(object.kind, Kind::Function { func: known, .. } if known == func);
        state.heap.iter().find(|(_, object)| is_it(object)).map(|(id, _)| id)
    }

    /// Calls a function nobody in sight calls, with what its parameters' names say.
    fn enter_entry(&mut self, state: &mut State, callee: ObjId, kind: LoopKind, func: FuncRef, this: Option<Value>) {
        let number = self.loop_number(kind);
        self.loops.push(number);
        let mut args = Args::default();
        let has_this = this.is_some();
        args.plain.extend(this);
        let function = self.program.function(func);
        for (at, param) in function.params.iter().enumerate().skip(usize::from(has_this)) {
            if matches!(param.kind, ParamKind::Plain | ParamKind::KeywordOnly) {
                let value = self.parameter(state, func, at as u32);
                args.named.push((param.name.clone(), value));
            }
        }
        self.frames.push(frame(FuncRef { file: func.file, function: 0 }));
        let value = self.call_object(state, callee, &args, Span::default(), 0);
        self.frames.pop();
        if let (Some(value), true) = (value, self.is_recording) {
            self.note_escape(state, &value);
        }
        self.loops.pop();
    }

    /// What a parameter's name, annotation and uses say of it.
    fn parameter(&mut self, state: &mut State, func: FuncRef, at: u32) -> Value {
        let function = self.program.function(func);
        let param = &function.params[at as usize];
        let duck = self.program.files[func.file as usize].ducks.var(func.function as usize, &param.var);
        let annotation = param.annotation.as_deref().unwrap_or_default();
        let is_module = duck.is_module || annotation == "Module";
        let id = self.id(Maker::Param(func, at));
        if is_module || (is_module_name(&param.name) && !matches!(annotation, "str" | "int" | "Tensor")) {
            let mut object = Object::new(Kind::Module, [].into());
            object.module = Some(ModuleFacts::new(if is_module { Sure::Yes } else { Sure::Likely }));
            state.put(id, object);
            self.note_module_name(id, param.name.clone());
            return Value::object(id);
        }
        if duck.is_called && is_loss_function_name(&param.name) {
            let mut facts = ModuleFacts::new(Sure::Likely);
            (facts.has_parameters, facts.is_loss) = (false, true);
            let mut object = Object::new(Kind::Module, [].into());
            object.module = Some(facts);
            state.put(id, object);
            return Value::object(id);
        }
        if annotation == "Tensor" {
            return Value::tensor(Tensor { size: Size::Batch, ..Tensor::default() });
        }
        if annotation == "DataLoader" || param.name.to_lowercase().ends_with("loader") && is_loader_name(&param.name) {
            state.put(id, Object::new(Kind::Made("torch.utils.data.DataLoader".into()), [].into()));
            return Value { is_unknown: true, ..Value::object(id) };
        }
        Value::unknown()
    }

    /// Tries the methods of each class on one object of it.
    fn class_entries(&mut self, state: &mut State, file: u32) {
        let classes: Vec<(ObjId, FuncRef)> = state
            .heap
            .iter()
            .filter_map(|(id, object)| match object.kind {
                Kind::Class { body, .. } if body.file == file => Some((id, body)),
                _ => None,
            })
            .collect();
        for (class, body) in classes {
            let methods = self.methods(state, class);
            if methods.iter().all(|(_, func)| self.visited.contains(func)) {
                continue;
            }
            self.start_entry();
            let mut tried = state.clone();
            self.try_class(&mut tried, class, body, &methods);
        }
    }

    fn methods(&self, state: &State, class: ObjId) -> Vec<(ObjId, FuncRef)> {
        let Some(object) = state.object(class) else { return Vec::new() };
        let functions = object.attrs.values().flat_map(|value| value.refs.to_vec());
        functions
            .filter_map(|id| match state.object(id)?.kind {
                Kind::Function { func, .. } => Some((id, func)),
                _ => None,
            })
            .collect()
    }

    fn try_class(&mut self, state: &mut State, class: ObjId, body: FuncRef, methods: &[(ObjId, FuncRef)]) {
        let id = self.make(state, Maker::This(body), Kind::Instance(body));
        let this = Value::object(id);
        let init = self.attr_of_class(state, class, "__init__", 0).and_then(|method| method.single());
        let mut args = Args::default();
        if let Some(Kind::Function { func, .. }) =
            init.and_then(|init| state.object(init)).map(|object| object.kind.clone())
        {
            for (at, param) in self.program.function(func).params.iter().enumerate().skip(1) {
                if matches!(param.kind, ParamKind::Plain | ParamKind::KeywordOnly) {
                    let value = self.parameter(state, func, at as u32);
                    args.named.push((param.name.clone(), value));
                }
            }
        }
        self.frames.push(frame(FuncRef { file: body.file, function: 0 }));
        self.initialise(state, id, class, &args, Span::default());
        self.frames.pop();
        let already: FxHashSet<FuncRef> = self.visited.clone();
        for round in 0..ROUNDS {
            self.is_recording = round + 1 == ROUNDS;
            for (method, func) in methods {
                let name = self.program.function(*func).name.clone();
                if &*name == "__init__" || (self.is_recording && already.contains(func)) {
                    continue;
                }
                let is_forward = &*name == "forward" && self.is_module(state, id);
                let mut after = state.clone();
                if runs_without_grad(&name) && self.is_module(state, id) {
                    after.grad = vec![Grad::Off];
                }
                self.start_entry();
                // The loop of uses is outside the forward pass.
                let base = is_forward.then(|| self.enter_forward());
                self.forward_base += usize::from(is_forward);
                self.enter_entry(&mut after, *method, LoopKind::Uses(body), *func, Some(this.clone()));
                if let Some(base) = base {
                    self.leave_forward(base);
                }
                after.grad.clone_from(&state.grad);
                state.join(&after);
            }
        }
        self.is_recording = true;
    }
}

fn frame(func: FuncRef) -> Frame {
    Frame { func, cells: None, class: None, called_at: Span::default(), this: None, yields: Value::nothing() }
}
