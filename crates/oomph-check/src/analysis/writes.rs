//! Which files a program writes with `torch.save`, one by one, and which of them are known to hold tensors of the CPU.

use rustc_hash::{FxHashMap, FxHashSet};

use super::saving::{file_name, is_cpu};
use crate::python::ast::ExprCall;
use crate::python::{Expr, Ranged, Stmt, TextRange, root_name};
use crate::source::Source;
use crate::uses::last_name;

/// A file that is written.
#[derive(Debug)]
pub struct Saved {
    /// Its name, where that is written out.
    pub file: Option<String>,
    /// Its whole path, where that is one text or a constant of the file.
    pub whole: Option<String>,
    /// Its path as written, where it has some text of its own: two that are written alike are one file.
    pub path: Option<String>,
    /// The parts of models whose weights are in it: `embed` of `net.embed.state_dict()`.
    pub parts: Vec<String>,
    /// Whether they are known to be on the CPU.
    pub on_cpu: bool,
    function: Option<u32>,
    place: Option<TextRange>,
}

/// What is written, and which models nothing can have moved so far, by function; `None` is the file's own body.
#[derive(Debug, Default)]
pub(super) struct Writes {
    saved: Vec<Saved>,
    /// Models just made from their class: nothing that was called since has had them.
    fresh: FxHashSet<(Option<u32>, String)>,
    /// The texts that the file's body gives names.
    constants: FxHashMap<String, String>,
    /// Functions whose `device` is the CPU, and those where it is, or may be, another.
    on_cpu: FxHashSet<Option<u32>>,
    elsewhere: FxHashSet<Option<u32>>,
    /// Whether something is moved by `cuda()`, or everything is made on the GPU.
    calls_cuda: bool,
    makes_on_gpu: bool,
}

impl Writes {
    /// All that is written, with what the whole file says of each.
    pub(super) fn finish(self, source: &Source) -> Vec<Saved> {
        let Self { mut saved, on_cpu, elsewhere, calls_cuda, makes_on_gpu, .. } = self;
        for found in &mut saved {
            let device = on_cpu.contains(&found.function) && !elsewhere.contains(&found.function);
            let path = found.place.map_or("", |place| source.slice(place));
            found.path = is_told_apart(path).then(|| path.to_owned());
            found.on_cpu = !makes_on_gpu && (found.on_cpu || device && !calls_cuda);
        }
        saved
    }

    pub(super) fn note_stmt(&mut self, stmt: &Stmt, function: Option<u32>) {
        let Stmt::Assign(assign) = stmt else { return };
        for target in &assign.targets {
            let Expr::Name(name) = target else { continue };
            if name.id.as_str() == "device" {
                let devices = if is_cpu(&assign.value) { &mut self.on_cpu } else { &mut self.elsewhere };
                devices.insert(function);
            }
            if let (Expr::StringLiteral(text), None) = (&*assign.value, function) {
                self.constants.insert(name.id.to_string(), text.value.to_str().to_owned());
            }
            let key = (function, name.id.to_string());
            if is_plainly_made(&assign.value) {
                self.fresh.insert(key);
            } else if !self.fresh.is_empty() {
                self.fresh.remove(&key);
            }
        }
    }

    pub(super) fn note_call(&mut self, call: &ExprCall, function: Option<u32>) {
        let name = last_name(&call.func).unwrap_or_default();
        self.calls_cuda |= name == "cuda" && call.func.is_attribute_expr();
        self.makes_on_gpu |= name.starts_with("set_default_");
        if name == "save" && is_of_torch(&call.func) {
            self.note_save(call, function);
        } else if !self.fresh.is_empty() && name != "print" {
            self.note_use(call, name, function);
        }
    }

    fn note_save(&mut self, call: &ExprCall, function: Option<u32>) {
        let path = call.arguments.find_argument_value("f", 1);
        let models = call.arguments.find_argument_value("obj", 0).map(models_of).unwrap_or_default();
        let is_fresh = |model: &&Expr| match root_name(model) {
            Some(root) => self.fresh.contains(&(function, root.to_owned())),
            None => false,
        };
        let on_cpu = !models.is_empty() && models.iter().all(is_fresh);
        let parts = models.iter().filter(|model| model.is_attribute_expr() || model.is_subscript_expr());
        let parts = parts.filter_map(|model| last_name(model).map(str::to_owned)).collect();
        let whole = match path {
            Some(Expr::StringLiteral(text)) => Some(text.value.to_str()),
            Some(Expr::Name(name)) => self.constants.get(name.id.as_str()).map(String::as_str),
            _ => None,
        };
        let last = whole.and_then(|path| path.rsplit(['/', '\\']).next());
        let file = path.and_then(file_name).or(last).map(str::to_owned);
        let whole = whole.map(str::to_owned);
        self.saved.push(Saved { file, whole, path: None, parts, on_cpu, function, place: path.map(Ranged::range) });
    }

    /// A call that has a model, as an argument or to run it, may move it.
    fn note_use(&mut self, call: &ExprCall, method: &str, function: Option<u32>) {
        const PLAIN: &[&str] = &[
            "train",
            "eval",
            "parameters",
            "named_parameters",
            "modules",
            "named_modules",
            "children",
            "state_dict",
            "load_state_dict",
            "zero_grad",
            "requires_grad_",
        ];
        let holder = match &*call.func {
            Expr::Attribute(node) if !PLAIN.contains(&method) => root_name(&node.value),
            Expr::Name(node) => Some(node.id.as_str()),
            _ => None,
        };
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        let given = call.arguments.args.iter().chain(keywords).filter_map(root_name);
        for name in given.chain(holder) {
            self.fresh.remove(&(function, name.to_owned()));
        }
    }
}

/// Whether a path that two lines write alike is one file: it has a word of its own, `config.get("Save", "pruned")`.
pub(crate) fn is_told_apart(path: &str) -> bool {
    path.contains(['"', '\'']) && path.contains('(')
}

/// `Net(8)`: an object of a class that is told no device.
fn is_plainly_made(made: &Expr) -> bool {
    let Expr::Call(call) = made else { return false };
    let is_class = last_name(&call.func).is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let keywords = call.arguments.keywords.iter();
    let told = keywords.filter_map(|keyword| keyword.arg.as_deref()).any(|name| name.contains("dev"))
        || call.arguments.args.iter().filter_map(last_name).any(|name| name.contains("dev"));
    is_class && !told
}

/// The models whose weights an expression writes out: `net` of `{"net": net.state_dict(), "epoch": 3}`.
fn models_of(what: &Expr) -> Vec<&Expr> {
    match what {
        Expr::Dict(node) => node.items.iter().flat_map(|item| models_of(&item.value)).collect(),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if method.attr.as_str() == "state_dict" => vec![&*method.value],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `torch.save`, however the library is called.
fn is_of_torch(func: &Expr) -> bool {
    match func {
        Expr::Attribute(node) => {
            matches!(&*node.value, Expr::Name(library) if matches!(library.id.as_str(), "torch" | "th" | "T" | "t"))
        }
        _ => false,
    }
}
