//! Whether a checkpoint that `torch.load` puts back on the card it was saved from costs anything there: beside a model that
//! is on the card already, in each of several processes, or for as long as the loaded dict lives.

use crate::analysis::events::{At, Bind, Call, Callee};
use crate::facts::{Effect, Facts, FunctionKind};
use crate::python::{Expr, ExprCall, Ranged, Stmt, TextRange};

/// What makes a second copy matter.
#[derive(Debug, Clone, Copy)]
pub struct SecondCopy {
    /// Where that is seen.
    pub range: TextRange,
    /// What is seen there.
    pub text: &'static str,
}

/// How many calls up a model that is a parameter is looked for.
const CALLERS_UP: usize = 2;

impl<'a> Facts<'a> {
    /// What makes the copy that a load puts on a card matter, where its weights go into a model; nothing where it is given
    /// back before the model comes there.
    #[must_use]
    pub fn second_copy(&self, load: &Call<'a>, into: &'a ExprCall) -> Option<SecondCopy> {
        let Expr::Attribute(method) = &*into.func else { return None };
        let found = |range: Option<TextRange>, text| range.map(|range| SecondCopy { range, text });
        found(self.on_card(&method.value, &load.at, CALLERS_UP), "the model is on the GPU already")
            .or_else(|| self.copy_in_each_process(load))
            .or_else(|| found(self.alive_beside_model(load), "the loaded dict is still alive when this runs"))
    }

    /// What shows that several processes load the same file, each onto the same card.
    #[must_use]
    pub fn copy_in_each_process(&self, load: &Call<'a>) -> Option<SecondCopy> {
        let text = "this program runs as several processes, and each puts its copy on the same GPU";
        self.several_processes(load).map(|range| SecondCopy { range, text })
    }

    /// Where a model was put on a GPU before a point is reached.
    fn on_card(&self, model: &'a Expr, at: &At, callers_up: usize) -> Option<TextRange> {
        if let Some(call) = self.call_at(model) {
            return self.goes_to_gpu(call).then(|| call.range());
        }
        // `model.module` is what a wrapper has inside.
        let text = self.written(model);
        let text = text.strip_suffix(".module").unwrap_or(text);
        let moved = self.calls().iter().find(|call| {
            let puts = self.goes_to_gpu(call) && self.comes_before(&call.at, at, text);
            puts && (call.receiver_expr().is_some_and(|expr| self.written(expr) == text)
                || self.is_part_of_bind(call, text))
        });
        let given = || {
            let function = self.function(at).filter(|_| callers_up > 0)?;
            let parameter = model.as_name_expr().map(|name| name.id.as_str())?;
            let own = function.node.parameters.includes(parameter);
            let mut callers = self.callers_of(at).filter(|_| own);
            callers.find_map(|caller| self.on_card(self.argument_of(caller, parameter)?, &caller.at, callers_up - 1))
        };
        moved.map(Ranged::range).or_else(given)
    }

    /// Whether a place is passed before another of the same function; for an attribute, a constructor before every other
    /// method; for what belongs to the file, the file's body before its functions.
    fn comes_before(&self, first: &At, second: &At, name: &str) -> bool {
        if first.function == second.function {
            return first.order < second.order && !self.are_exclusive(first.block, second.block);
        }
        let constructs = || self.kind_at(first) == FunctionKind::Init && self.class_at(first) == self.class_at(second);
        if name.starts_with("self.") { constructs() } else { first.function.is_none() }
    }

    /// Whether a call is, or stands in, what a name is bound to: `model = Net().cuda()`.
    fn is_part_of_bind(&self, call: &Call<'a>, text: &str) -> bool {
        let holds = |bind: &Bind<'a>| {
            let value = bind.value_expr.map(Ranged::range);
            value.is_some_and(|value| value.contains_range(call.range())) && self.written(bind.target) == text
        };
        self.binds_of(text.rsplit('.').next().unwrap_or(text)).any(holds)
    }

    /// What shows that the program runs as several processes: libraries for that in this file or in one that imports it, or
    /// the number of a process.
    fn several_processes(&self, load: &Call<'a>) -> Option<TextRange> {
        const LIBRARIES: &[&str] = &["torch.distributed", "horovod", "deepspeed", "accelerate"];
        const NAMES: &[&str] = &["DistributedDataParallel", "local_rank", "LOCAL_RANK"];
        let says = |text: &str| LIBRARIES.iter().chain(NAMES).any(|word| text.contains(word));
        let simple =
            |stmt: &Stmt| matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Assign(_) | Stmt::Expr(_));
        let mut own = self.statements().iter().filter(|found| simple(found.node));
        let here = own.find(|found| says(self.written(found.node))).map(|found| found.node.range());
        let above = || {
            let outlines = &self.tables().outlines;
            let mut files = self.tables().files_above(self.file_index()).into_iter();
            files.any(|file| outlines[file as usize].imports.values().any(|name| says(name))).then(|| load.range())
        };
        here.or_else(above)
    }

    /// Where the model works while what was loaded is alive: bound to a name that nothing deletes or binds again, or to an
    /// attribute.
    fn alive_beside_model(&self, load: &Call<'a>) -> Option<TextRange> {
        let name = self.bound_name(load).or_else(|| self.carried_by(load));
        let Some(name) = name else { return self.kept_by_attribute(load) };
        let own = |at: &At| at.function == load.at.function;
        let deleted = self.deletes().iter().any(|found| own(&found.at) && self.written(found.target) == name);
        let rebound = self
            .binds_of(name)
            .any(|bind| own(&bind.at) && bind.at.stmt != load.at.stmt && bind.at.order > load.at.order);
        if deleted || rebound {
            return None;
        }
        let works = |call: &&Call<'a>| match call.callee {
            Callee::Module => true,
            Callee::Project(id) => self.summary(id).is_some_and(|all| all.forwards || all.forwards_off || all.steps),
            _ => false,
        };
        let after = |call: &&Call<'a>| {
            own(&call.at) && call.at.order > load.at.order && !self.are_exclusive(call.at.block, load.at.block)
        };
        let backward = self.effects(Effect::Backward).find(after);
        backward.or_else(|| self.calls().iter().filter(after).find(works)).map(Ranged::range)
    }

    fn kept_by_attribute(&self, load: &Call<'a>) -> Option<TextRange> {
        let Stmt::Assign(assign) = self.statement(load.at.stmt)?.node else { return None };
        let target = assign.targets.iter().find(|target| target.is_attribute_expr())?;
        (assign.value.range() == load.range()).then(|| target.range())
    }
}
