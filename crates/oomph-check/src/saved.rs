//! Where the tensors of a file were when the program saved it: `torch.load` brings them back there.

use crate::analysis::events::{At, Bind, Call};
use crate::analysis::outline::Outline;
use crate::analysis::saving::{file_name, is_cpu};
use crate::analysis::value::Device;
use crate::analysis::writes::{Saved, is_told_apart};
use crate::facts::{Effect, Facts};
use crate::python::{Expr, ExprCall, Ranged, TextRange};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Whether what a `torch.load` reads was saved from the CPU.
    #[must_use]
    pub fn is_from_cpu(&self, load: &Call<'a>) -> bool {
        self.program_saves_from_cpu()
            || self.file_is_saved_from_cpu(load)
            || self.neighbours_save_from_cpu()
            || self.is_saved_before_moving(load)
            || self.gpu_is_off()
            || self.works_on_cpu(&load.at)
    }

    /// Whether the weights go into a model that this function makes, runs and never moves, from a file that the function
    /// has named before: it was written from that model, on the CPU.
    #[must_use]
    pub fn is_for_model_on_cpu(&self, load: &Call<'a>, into: &ExprCall) -> bool {
        let Expr::Attribute(method) = &*into.func else { return false };
        let (Expr::Name(model), Some(path), Some(function)) = (&*method.value, load.arg(0), self.function(&load.at))
        else {
            return false;
        };
        let model = model.id.as_str();
        let before = self.source.slice(TextRange::new(function.node.start().min(load.start()), load.start()));
        let made = |bind: &&Bind<'a>| bind.at.function == load.at.function;
        let mut binds = self.binds_of(model).filter(made).peekable();
        let is_class = |bind: &Bind<'a>| match bind.value_expr {
            Some(Expr::Call(call)) => last_name(&call.func).is_some_and(is_class_name),
            _ => false,
        };
        let of_class = binds.peek().is_some() && binds.all(is_class);
        let runs = self.calls_named(model).any(|call| call.at.function == load.at.function);
        let named_before = before.contains(self.source.slice(path.range()));
        of_class && runs && named_before && !self.is_moved(model, &load.at, None)
    }

    /// Whether the weights go into a model that this function makes, and neither moves nor hands to what might.
    #[must_use]
    pub fn is_never_moved(&self, load: &Call<'a>, into: &ExprCall) -> bool {
        let Expr::Attribute(method) = &*into.func else { return false };
        let Expr::Name(model) = &*method.value else { return false };
        let model = model.id.as_str();
        let mut made = self.binds_of(model).filter(|bind| bind.at.function == load.at.function).peekable();
        // What makes the model may make it on the GPU.
        let plain = |bind: &Bind<'a>| {
            let call = bind.value_expr.and_then(|made| self.call_at(made));
            call.and_then(|call| self.callee_summary(call)).is_some_and(|summary| !summary.moves_to_cuda)
        };
        let is_made = made.peek().is_some() && made.all(plain);
        let given = |call: &Call<'a>| {
            let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value);
            let mut given = call.node.arguments.args.iter().chain(keywords);
            given.any(|arg| self.source.slice(arg.range()) == model)
        };
        is_made && !self.is_moved(model, &load.at, None) && !self.calls().iter().any(given)
    }

    /// Whether the model that the weights go into is on the CPU, and stays there: moved there before, and not back after.
    #[must_use]
    pub fn rests_on_cpu(&self, load: &Call<'a>, into: &ExprCall) -> bool {
        let Expr::Attribute(method) = &*into.func else { return false };
        let model = self.source.slice(method.value.range());
        let own = |call: &&Call<'a>| {
            let same = call.receiver_expr().is_some_and(|expr| self.source.slice(expr.range()) == model);
            same && call.at.function == load.at.function
        };
        let to_cpu = |call: &Call<'a>| call.name == "cpu" || call.arg(0).is_some_and(is_cpu);
        let moves = ["cpu", "cuda", "to"].iter().flat_map(|method| self.calls_named(method)).filter(own);
        let mut last = None;
        for moved in moves {
            if moved.at.order > load.at.order && !to_cpu(moved) {
                return false;
            }
            let before = moved.at.order < load.at.order;
            if before && last.is_none_or(|last: &Call<'a>| last.at.order < moved.at.order) {
                last = Some(moved);
            }
        }
        last.is_some_and(|moved| to_cpu(moved) && self.is_always_before(&moved.at, &load.at))
    }

    /// Whether the program brings weights to the CPU where it saves them, in this file or in a package of its own.
    fn program_saves_from_cpu(&self) -> bool {
        let own = self.outline();
        own.saves_from_cpu
    }

    /// Whether the project saves this very file, by its name or by a path that is written alike, and always from the CPU.
    fn file_is_saved_from_cpu(&self, load: &Call<'a>) -> bool {
        let Some(path) = load.arg(0).or_else(|| load.keyword("f")).map(|path| self.path_at(path, &load.at)) else {
            return false;
        };
        let (name, text) = (file_name(path), self.source.slice(path.range()));
        let same = |saved: &Saved| match name {
            Some(name) => saved.file.as_deref() == Some(name),
            None => is_told_apart(text) && saved.path.as_deref() == Some(text),
        };
        let outlines = self.tables().outlines.iter();
        let found = outlines.flat_map(|outline| outline.saved.iter().map(move |saved| (outline, saved)));
        let mut found = found.filter(|(_, saved)| same(saved)).peekable();
        found.peek().is_some() && found.all(|(outline, saved)| saved.on_cpu || outline.saves_from_cpu)
    }

    /// Whether the weights go into a part of a model, and all that saves such a part alone does so from the CPU.
    #[must_use]
    pub fn is_part_saved_from_cpu(&self, load: &Call<'a>, into: &ExprCall) -> bool {
        let Expr::Attribute(method) = &*into.func else { return false };
        let part = match &*method.value {
            Expr::Subscript(item) => last_name(&item.value),
            Expr::Attribute(part) => Some(part.attr.as_str()),
            _ => None,
        };
        // `layers[i]` is read from what was saved of a `layer`.
        let alike = |saved: &String, part: &str| saved.trim_end_matches('s') == part.trim_end_matches('s');
        let written_out = load.arg(0).is_some_and(|path| file_name(self.path_at(path, &load.at)).is_some());
        // `self.model` is no part but the whole, and another one in every file.
        let is_part = |part: &str| {
            let whole = ["model", "net", "module"].iter().any(|word| part.contains(word));
            let same = |saved: &&Saved| saved.parts.iter().any(|saved| alike(saved, part));
            let all = self.tables().outlines.iter().flat_map(|outline| &outline.saved);
            let mut found = all.filter(same).peekable();
            !whole && found.peek().is_some() && found.all(|saved| saved.on_cpu)
        };
        !written_out && part.is_some_and(is_part)
    }

    /// Whether the nearest files that save weights, in this folder or the first around it that has some, all bring them
    /// to the CPU: `test.py` reads what `train.py` beside it has written.
    fn neighbours_save_from_cpu(&self) -> bool {
        let own = self.outline();
        if own.saves_weights {
            return false;
        }
        let savers: Vec<&Outline<'_>> = self.tables().outlines.iter().filter(|other| other.saves_weights).collect();
        let mut folder = own.module.as_str();
        loop {
            folder = folder.rsplit_once('.').map_or("", |(around, _)| around);
            let is_inside = |other: &&&Outline<'_>| {
                let rest = other.module.strip_prefix(folder);
                rest.is_some_and(|rest| folder.is_empty() || rest.starts_with('.'))
            };
            let mut inside = savers.iter().filter(is_inside).peekable();
            if inside.peek().is_some() || folder.is_empty() {
                return inside.peek().is_some() && inside.all(|other| other.saves_from_cpu);
            }
        }
    }

    /// Whether the function names the CPU as its device, and never another: what it loads it has saved there too.
    fn works_on_cpu(&self, at: &At) -> bool {
        let mut devices = self.binds_of("device").filter(|bind| bind.at.function == at.function);
        let is_cpu = |bind: &Bind<'a>| bind.value_expr.is_some_and(is_cpu) && bind.target.is_name_expr();
        let first = devices.next().filter(|bind| is_cpu(bind) && self.is_always_before(&bind.at, at));
        at.function.is_some() && first.is_some() && devices.all(is_cpu)
    }

    /// Whether the program this file is part of turns the GPU off where it starts.
    fn gpu_is_off(&self) -> bool {
        let outlines = &self.tables().outlines;
        // Few programs do: who imports whom is asked of those alone.
        outlines.iter().any(|other| other.turns_gpu_off)
            && self.tables().files_above(self.file_index()).iter().any(|file| outlines[*file as usize].turns_gpu_off)
    }

    /// Whether this function writes the file too, from a model that nothing has moved to the GPU or trained by then.
    fn is_saved_before_moving(&self, load: &Call<'a>) -> bool {
        let Some(path) = load.arg(0).or_else(|| load.keyword("f")).map(|path| self.path_text(path, &load.at)) else {
            return false;
        };
        let saves = self.calls_to("torch.save").filter(|save| {
            let to = save.arg(1).or_else(|| save.keyword("f")).map(|path| self.path_text(path, &save.at));
            save.at.function == load.at.function && to == Some(path)
        });
        let (before, after): (Vec<_>, Vec<_>) = saves.partition(|save| save.at.order < load.at.order);
        // The last one before the load has written what is read; one after it writes it for the next run.
        let written = before.into_iter().max_by_key(|save| save.at.order);
        let mut saves = written.map_or(after, |save| vec![save]).into_iter();
        saves.any(|save| {
            let trained = self.effects_of(Effect::Backward, save.at.function).any(|pass| pass.at.order < save.at.order);
            let written_out = self.saved_range(save);
            let states = self.calls_named("state_dict").filter(|state| written_out.contains_range(state.range()));
            let models: Vec<&str> =
                states.filter_map(Call::receiver_expr).map(|model| self.source.slice(model.range())).collect();
            let moved = |model: &&str| self.is_moved(model, &save.at, Some(save.at.order));
            // What is handed in may be on the GPU already, unless it is to be loaded in this very state.
            let instead = self.is_other_branch(load, save);
            let known = |model: &&str| instead || self.is_untouched(model, save);
            let untrained = || !trained && models.iter().all(|model| known(model) && !moved(model));
            !models.is_empty() && (untrained() || models.iter().all(|model| self.stays_on_cpu(model, save)))
        })
    }

    /// Where what is saved is written out: in the call, or where its name is given it.
    fn saved_range(&self, save: &Call<'a>) -> TextRange {
        let Some(Expr::Name(name)) = save.arg(0) else { return save.range() };
        let given = self.binds_of(name.id.as_str());
        let given = given.filter(|bind| bind.at.function == save.at.function && bind.at.order < save.at.order);
        let value = given.max_by_key(|bind| bind.at.order).and_then(|bind| bind.value_expr);
        value.map_or_else(|| save.range(), Ranged::range)
    }

    /// Whether a model is made in the function that saves it, and nothing on the way there, and no loop, has had it.
    fn is_untouched(&self, model: &str, save: &Call<'a>) -> bool {
        let is_made = self.binds_of(model).any(|bind| bind.at.function == save.at.function);
        let has_had = |call: &Call<'a>| {
            let given = call.node.arguments.args.iter().any(|arg| self.source.slice(arg.range()) == model);
            given && self.is_always_before(&call.at, &save.at)
        };
        is_made && self.loops(&save.at).next().is_none() && !self.calls().iter().any(has_had)
    }

    /// Whether a model is made in the body of the file that saves it, and the file neither moves it nor hands it on.
    fn stays_on_cpu(&self, model: &str, save: &Call<'a>) -> bool {
        let everywhere = self.source.text.contains("set_default_");
        let is_made = self.binds_of(model).any(|bind| bind.at.function == save.at.function);
        save.at.function.is_none()
            && is_made
            && !everywhere
            && !self.is_moved(model, &save.at, None)
            && !self.calls().iter().any(|call| self.may_move(call, model))
    }

    /// Whether a call is given a model, or is one of its methods that may move it: `net.fit(loader)`.
    fn may_move(&self, call: &Call<'a>, model: &str) -> bool {
        let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value);
        let mut given = call.node.arguments.args.iter().chain(keywords);
        let plain = ["train", "eval", "parameters", "named_parameters", "state_dict", "zero_grad"];
        let own = call.receiver_expr().is_some_and(|expr| self.source.slice(expr.range()) == model);
        own && !plain.contains(&call.name) || given.any(|arg| self.source.slice(arg.range()) == model)
    }

    /// Whether a model, as written, is put on the GPU: in the function of `at`, before `order` where that is given, or by
    /// another method for an attribute.
    fn is_moved(&self, model: &str, at: &At, order: Option<u32>) -> bool {
        let attribute = model.contains('.');
        let counts = |place: &At| {
            let here = place.function == at.function;
            here && order.is_none_or(|order| place.order < order) || attribute && !here
        };
        let by_call = |call: &Call<'a>| {
            let own = call.receiver_expr().is_some_and(|expr| self.source.slice(expr.range()) == model);
            own && matches!(call.name, "cuda" | "to") && counts(&call.at)
        };
        let name = model.rsplit('.').next().unwrap_or(model);
        let by_bind = |bind: &Bind<'a>| {
            let text = bind.value_expr.map_or("", |expr| self.source.slice(expr.range()));
            let puts = text.contains(".cuda(") || text.contains(".to(") || text.contains("device");
            let same = !attribute || self.source.slice(bind.target.range()) == model;
            same && counts(&bind.at) && (puts || bind.value.device == Device::Cuda)
        };
        ["cuda", "to"].iter().any(|method| self.calls_named(method).any(by_call)) || self.binds_of(name).any(by_bind)
    }

    /// A path's text; that of what a name is bound to in the function, where it is bound once.
    fn path_text(&self, path: &Expr, at: &At) -> &str {
        let Expr::Name(name) = path else { return self.source.slice(path.range()) };
        let mut binds = self.binds_of(name.id.as_str()).filter(|bind| bind.at.function == at.function);
        match (binds.next().and_then(|bind| bind.value_expr), binds.next()) {
            (Some(expr), None) => self.source.slice(expr.range()),
            _ => self.source.slice(path.range()),
        }
    }

    /// A path, seen through a name that is given one value only.
    fn path_at<'e>(&self, path: &'e Expr, at: &At) -> &'e Expr
    where
        'a: 'e,
    {
        let Expr::Name(name) = path else { return path };
        match self.given_at(name.id.as_str(), at)[..] {
            [only] => only,
            _ => path,
        }
    }
}

fn is_class_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}
