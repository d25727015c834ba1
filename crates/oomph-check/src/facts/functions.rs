//! Which function something is in, what part that plays, and what the project's functions do.

use super::{Effect, Facts, FunctionKind, Loop};
use crate::analysis::events::{At, BlockKind, Call, Callee};
use crate::analysis::outline::{FunctionDef, Outline, Usage};
use crate::analysis::tables::{ClassKind, Summary, Tables};
use crate::analysis::value::{ClassId, FunctionId};
use crate::python::{Expr, Ranged, TextRange};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// The function a point is in.
    #[must_use]
    pub fn function(&self, at: &At) -> Option<&FunctionDef<'a>> {
        self.outline().functions.get(at.function? as usize)
    }

    /// The name of the function a point is in; empty at module level.
    #[must_use]
    pub fn function_name(&self, at: &At) -> &'a str {
        self.function(at).map_or("", |function| function.node.name.as_str())
    }

    /// What part a function of this file plays.
    #[must_use]
    pub fn function_kind(&self, index: u32) -> FunctionKind {
        let Some(function) = self.outline().functions.get(index as usize) else { return FunctionKind::Plain };
        let id = FunctionId { file: self.file, index };
        let name = function.node.name.as_str();
        if self.collates.contains(&id) || self.tables.collates.contains(&id) {
            return FunctionKind::Collate;
        }
        if self.hooks.contains(&id) {
            return FunctionKind::Hook;
        }
        let Some(class) = function.class else { return FunctionKind::Plain };
        match (self.tables.kind(ClassId { file: self.file, index: class }), name) {
            (_, "__init__") => FunctionKind::Init,
            (ClassKind::AutogradFunction, "forward") => FunctionKind::AutogradForward,
            (ClassKind::AutogradFunction, "backward") => FunctionKind::AutogradBackward,
            (ClassKind::Module | ClassKind::Lightning, "forward") => FunctionKind::Forward,
            (ClassKind::Dataset, "__getitem__" | "__iter__" | "__getitems__") => FunctionKind::GetItem,
            (ClassKind::Lightning, "training_step") => FunctionKind::TrainingStep,
            (ClassKind::Lightning, "validation_step" | "test_step" | "predict_step") => FunctionKind::EvaluationStep,
            _ => FunctionKind::Plain,
        }
    }

    /// The same for the function a point is in.
    #[must_use]
    pub fn kind_at(&self, at: &At) -> FunctionKind {
        at.function.map_or(FunctionKind::Plain, |index| self.function_kind(index))
    }

    /// The class the method a point is in belongs to.
    #[must_use]
    pub fn class_at(&self, at: &At) -> Option<ClassId> {
        let index = self.function(at)?.class?;
        Some(ClassId { file: self.file, index })
    }

    /// The same for a function nested in a method too.
    #[must_use]
    pub fn class_around(&self, at: &At) -> Option<ClassId> {
        let mut function = at.function;
        while let Some(found) = function.and_then(|index| self.outline().functions.get(index as usize)) {
            if let Some(index) = found.class {
                return Some(ClassId { file: self.file, index });
            }
            function = found.parent;
        }
        None
    }

    /// What kind of class the method a point is in belongs to.
    #[must_use]
    pub fn class_kind(&self, at: &At) -> ClassKind {
        let class = self.function(at).and_then(|function| function.class);
        class.map_or(ClassKind::Plain, |index| self.tables.kind(ClassId { file: self.file, index }))
    }

    /// What a function of the project does.
    #[must_use]
    pub fn summary(&self, id: FunctionId) -> Option<&Summary> {
        self.tables.summary(id).map(AsRef::as_ref)
    }

    /// What the project's function that a call calls does.
    #[must_use]
    pub fn callee_summary(&self, call: &Call<'_>) -> Option<&Summary> {
        match call.callee {
            Callee::Project(id) => self.summary(id),
            _ => None,
        }
    }

    /// A function of the project.
    #[must_use]
    pub fn function_def(&self, id: FunctionId) -> &FunctionDef<'a> {
        &self.tables.outlines[id.file as usize].functions[id.index as usize]
    }

    /// This file's index in the project.
    #[must_use]
    pub fn file_index(&self) -> u32 {
        self.file
    }

    /// Whether the function a point is in makes batches in the workers of a loader, in this file or another.
    #[must_use]
    pub fn is_collate_of_workers(&self, at: &At) -> bool {
        at.function.is_some_and(|index| self.tables.collates.contains(&FunctionId { file: self.file, index }))
    }

    /// Whether a function is in this file.
    #[must_use]
    pub fn is_own(&self, id: FunctionId) -> bool {
        id.file == self.file
    }

    /// Whether some call of a function is known.
    #[must_use]
    pub fn is_called(&self, function: u32) -> bool {
        self.tables.call_sites.contains_key(&FunctionId { file: self.file, index: function })
    }

    /// Whether a point is in a method that nothing in view names, and that no framework calls by its name.
    #[must_use]
    pub fn is_never_called(&self, at: &At) -> bool {
        let name = self.function_name(at);
        let known = self.kind_at(at) != FunctionKind::Plain || name.starts_with("__");
        self.class_at(at).is_some() && !known && self.attribute_reads(name) == 0
    }

    /// Whether code that is not in view may call the method a point is in, under `no_grad` or not: one of its class's
    /// bases is not in view either, and nothing in view calls the method; or it is a step, which some engine calls.
    #[must_use]
    pub fn is_called_from_elsewhere(&self, at: &At) -> bool {
        let (Some(function), Some(class)) = (at.function, self.class_at(at)) else { return false };
        let derived = || self.outline().classes[class.index as usize].bases.iter().any(|base| base != "object");
        let is_step = self.function_name(at).ends_with("_step") && derived();
        is_step || !self.is_called(function) && self.tables.has_foreign_base(class)
    }

    /// Whether a point is in a unit test: what it runs is tiny on purpose.
    #[must_use]
    pub fn is_unit_test(&self, at: &At) -> bool {
        let mut folders = self.source.name.rsplit(['/', '\\']).skip(1);
        let of_case = || {
            let class = self.class_at(at).map(|class| &self.outline().classes[class.index as usize]);
            class.is_some_and(|class| class.bases.iter().any(|base| base.ends_with("TestCase")))
        };
        folders.any(|part| matches!(part, "test" | "tests" | "testing" | "unittests")) || of_case()
    }

    /// Where a new object of a class of this file is made again and again, to train with or on the GPU: by itself, or as a
    /// part of another object made so.
    #[must_use]
    pub fn made_again(&self, class: ClassId) -> Option<TextRange> {
        self.made_in_turns(class, 3)
    }

    fn made_in_turns(&self, class: ClassId, hops: u32) -> Option<TextRange> {
        let hops = hops.checked_sub(1)?;
        let name = self.outline().classes.get(class.index as usize)?.node.name.as_str();
        self.calls_named(name).find_map(|call| {
            if let Some(whole) = self.class_at(&call.at) {
                // A part of another object lives as long as that.
                return (self.function_name(&call.at) == "__init__" && whole != class)
                    .then(|| self.made_in_turns(whole, hops))?;
            }
            let made = self.statement(call.at.stmt).and_then(|found| found.node.as_assign_stmt())?;
            let kept = made.value.range().contains_range(call.range()) && made.targets.iter().all(Expr::is_name_expr);
            let on_gpu = self.calls().iter().any(|moved| moved.at.stmt == call.at.stmt && self.moves_to_gpu(moved));
            let is_loop = |turns: &Loop<'a>| matches!(turns.node, BlockKind::Loop(..));
            let trains = |turns: &Loop<'a>| on_gpu || self.effects_in(Effect::Step, turns.block).next().is_some();
            let turns = self.loops(&call.at).find(|turns| is_loop(turns) && trains(turns)).map(|turns| turns.head());
            let trained =
                || call.at.function.is_some() && self.effects_of(Effect::Step, call.at.function).next().is_some();
            turns.or_else(|| trained().then(|| self.called_again(call))?).filter(|_| kept)
        })
    }

    /// Where the function of a call runs again and again: a loop around a call of it, or `study.optimize(objective)`.
    fn called_again(&self, call: &Call<'a>) -> Option<TextRange> {
        let name = self.function_name(&call.at);
        let looped = self.callers_of(&call.at).find_map(|caller| self.loops(&caller.at).last());
        let sweeps = self.calls_named("optimize").find(|sweep| {
            let given = sweep.arg(0).and_then(last_name) == Some(name);
            given && self.outline().imports.values().any(|full| full.split('.').next() == Some("optuna"))
        });
        looped.map(|turns| turns.head()).or_else(|| sweeps.map(Ranged::range))
    }

    /// Whether the function a point is in is called in a loop over batches somewhere in the project.
    #[must_use]
    pub fn is_called_per_batch(&self, at: &At) -> bool {
        let id = at.function.map(|index| FunctionId { file: self.file, index });
        id.and_then(|id| self.tables.call_sites.get(&id)).is_some_and(|sites| sites.per_batch)
    }

    /// Whether the function a point is in is called in a loop that plays in an environment.
    #[must_use]
    pub fn is_called_per_step(&self, at: &At) -> bool {
        let id = at.function.map(|index| FunctionId { file: self.file, index });
        id.and_then(|id| self.tables.call_sites.get(&id)).is_some_and(|sites| sites.per_step)
    }

    /// Whether a framework calls the method a point is in once a batch: `on_step_end` of a callback, `training_step`.
    #[must_use]
    pub fn runs_per_batch(&self, at: &At) -> bool {
        let name = self.function_name(at);
        let of_callback = matches!(
            name,
            "on_step_begin"
                | "on_step_end"
                | "on_substep_end"
                | "on_pre_optimizer_step"
                | "on_optimizer_step"
                | "on_train_batch_start"
                | "on_train_batch_end"
                | "on_validation_batch_start"
                | "on_validation_batch_end"
                | "on_test_batch_end"
                | "on_predict_batch_end"
                | "on_before_backward"
                | "on_after_backward"
                | "on_before_zero_grad"
                | "on_before_optimizer_step"
                | "on_prediction_step"
        );
        let of_trainer = matches!(
            name,
            "training_step" | "validation_step" | "test_step" | "predict_step" | "prediction_step" | "compute_loss"
        );
        match self.class_kind(at) {
            ClassKind::Lightning | ClassKind::Framework if of_callback || of_trainer => true,
            _ => self.is_called_back_per_batch(at),
        }
    }

    /// Whether a loop over batches of this file calls a method of this name on whatever callbacks it was given:
    /// `for callback in self.callbacks: callback.on_batch_end(self)`.
    fn is_called_back_per_batch(&self, at: &At) -> bool {
        let name = self.function_name(at);
        let says_when = ["batch", "step", "iter"].iter().any(|word| name.contains(word));
        let Some(class) = self.class_at(at).filter(|_| says_when) else { return false };
        let derived = self.outline().classes[class.index as usize].bases.iter().any(|base| base != "object");
        let by_unknown = |call: &&Call<'a>| call.callee == Callee::Other && call.receiver.is_some();
        derived && self.calls_named(name).filter(by_unknown).any(|call| self.batch_loop(&call.at).is_some())
    }

    /// The route of a web service that the function of a point answers: `@app.post("/embed")`.
    #[must_use]
    pub fn request_handler(&self, at: &At) -> Option<TextRange> {
        let mut routes = self.function(at)?.node.decorator_list.iter().filter(|decorator| {
            let Expr::Call(call) = &decorator.expression else { return false };
            let Expr::Attribute(method) = &*call.func else { return false };
            matches!(method.attr.as_str(), "get" | "post" | "put" | "route" | "api_route" | "websocket")
                && call.arguments.args.first().is_some_and(Expr::is_string_literal_expr)
        });
        routes.next().map(|decorator| decorator.expression.range())
    }

    /// Where the function of a point is made to run once a message: a route, `rospy.Subscriber(topic, Image, self.on_image)`.
    #[must_use]
    pub fn message_handler(&self, at: &At) -> Option<TextRange> {
        const REGISTER: &[&str] = &["Subscriber", "create_subscription", "subscribe", "create_timer", "Timer"];
        let name = self.function_name(at);
        let mut calls = REGISTER.iter().flat_map(|register| self.calls_named(register));
        let subscribed = calls.find(|call| call.node.arguments.args.iter().any(|arg| last_name(arg) == Some(name)));
        self.request_handler(at).or_else(|| subscribed.filter(|_| !name.is_empty()).map(Ranged::range))
    }

    /// How often the program this file is part of reads an attribute of this name.
    #[must_use]
    pub fn attribute_reads(&self, name: &str) -> u32 {
        let files = self.tables.files_of_process(self.file);
        let counts = files.iter().map(|file| self.tables.outlines[*file as usize].attribute_reads.get(name));
        counts.flatten().sum()
    }

    /// What the files of the program this one is part of define and import.
    #[must_use]
    pub fn outlines_of_process(&self) -> Vec<&Outline<'a>> {
        let files = self.tables.files_of_process(self.file);
        files.into_iter().map(|file| &self.tables.outlines[file as usize]).collect()
    }

    /// What the file defines and imports.
    #[must_use]
    pub fn outline(&self) -> &Outline<'a> {
        &self.tables.outlines[self.file as usize]
    }

    /// How a name is used in the file.
    #[must_use]
    pub fn usage(&self, name: &str) -> Usage {
        self.outline().usage(name)
    }

    /// What the project's files know of each other.
    #[must_use]
    pub fn tables(&self) -> &Tables<'a> {
        self.tables
    }
}
