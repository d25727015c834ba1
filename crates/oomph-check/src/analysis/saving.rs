//! What a file writes to disk with `torch.save`, and whether the weights come from the CPU.

use rustc_hash::FxHashSet;

use crate::python::ast::{Comprehension, ExprCall, InterpolatedStringElement, StmtAssign};
use crate::python::{Expr, Stmt};

/// What is saved and what is brought to the CPU, by function; `None` is the file's own body.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// Whether anything is saved that looks like weights: somebody asks for a `state_dict`, or a model is saved whole.
    pub(super) weights: bool,
    saved: FxHashSet<Option<u32>>,
    brought: FxHashSet<Option<u32>>,
    straight: bool,
    /// In the body of a file: names that stand for the CPU or for another device, and models last moved to the CPU.
    cpu_names: FxHashSet<String>,
    other_names: FxHashSet<String>,
    resting: FxHashSet<String>,
    /// How many times models are saved in the body, and how many of those times from the CPU.
    saves_in_body: u32,
    resting_saves: u32,
}

impl Saving {
    /// Whether the file saves anything.
    pub(super) fn saves(&self) -> bool {
        !self.saved.is_empty()
    }

    /// Whether weights are brought to the CPU where they are saved.
    pub(super) fn saves_from_cpu(&self) -> bool {
        self.straight && self.saves()
            || self.saved.iter().any(|function| self.brought.contains(function))
            || self.saves_in_body > 0 && self.saves_in_body == self.resting_saves
    }

    pub(super) fn note_call(&mut self, call: &ExprCall, function: Option<u32>) {
        let Expr::Attribute(method) = &*call.func else { return };
        match (method.attr.as_str(), &*method.value) {
            ("save", Expr::Name(library)) if matches!(library.id.as_str(), "torch" | "th" | "T" | "t") => {
                self.saved.insert(function);
                if let Some(what) = call.arguments.find_argument_value("obj", 0) {
                    self.note_saved(what, function);
                }
            }
            // `model.cpu().state_dict()`
            ("state_dict", receiver) => {
                self.weights = true;
                self.straight |= is_to_cpu(receiver);
            }
            _ => {}
        }
    }

    fn note_saved(&mut self, what: &Expr, function: Option<u32>) {
        self.weights |= names_state(what) || is_model_name(what);
        if function.is_none() {
            self.saves_in_body += 1;
            let models = match what {
                Expr::Dict(node) => node.items.iter().filter_map(|item| model_of_state(&item.value)).collect(),
                _ => model_of_state(what).map_or_else(Vec::new, |model| vec![model]),
            };
            self.resting_saves += u32::from(models.iter().any(|model| self.resting.contains(*model)));
        }
    }

    /// `{k: v.cpu() for k, v in model.state_dict().items()}`, `OrderedDict([[k, v.cpu()] for ...])`
    pub(super) fn note_comprehension(&mut self, item: &Expr, generators: &[Comprehension]) {
        let brings = match item {
            Expr::List(node) => node.elts.iter().any(is_to_cpu),
            Expr::Tuple(node) => node.elts.iter().any(is_to_cpu),
            _ => is_to_cpu(item),
        };
        self.straight |= brings && generators.iter().any(|generator| names_state(&generator.iter));
    }

    pub(super) fn note_stmt(&mut self, stmt: &Stmt, function: Option<u32>) {
        if function.is_none() {
            self.note_move(stmt);
        }
        let brings = match stmt {
            Stmt::Assign(assign) => is_weight_on_cpu(assign) || is_brought_by_helper(assign),
            Stmt::Expr(expr) => match &*expr.value {
                // A tensor's copy would be lost: `model.cpu()` moves a module.
                Expr::Call(call) => is_to_cpu(&expr.value) || says_cpu(call),
                _ => false,
            },
            _ => false,
        };
        // The body of a file is many things: a move there may be for something else.
        if brings && function.is_some() {
            self.brought.insert(function);
        }
    }

    /// Follows where the models of a file's body are: `model.to(cpu)` before they are saved.
    fn note_move(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                self.straight |= is_weight_on_cpu(assign) && assign.targets.iter().any(Expr::is_subscript_expr);
                let [Expr::Name(target)] = assign.targets.as_slice() else { return };
                let name = target.id.as_str();
                let names = if is_cpu(&assign.value) { &mut self.cpu_names } else { &mut self.other_names };
                names.insert(name.to_owned());
                self.mark(name, is_to_cpu(&assign.value));
            }
            Stmt::Expr(expr) => {
                let Expr::Call(call) = &*expr.value else { return };
                let Expr::Attribute(method) = &*call.func else { return };
                let Expr::Name(model) = &*method.value else { return };
                let named = |device: &Expr| match device {
                    Expr::Name(name) => {
                        let name = name.id.as_str();
                        self.cpu_names.contains(name) && !self.other_names.contains(name)
                    }
                    _ => false,
                };
                let rests = is_to_cpu(&expr.value) || call.arguments.args.first().is_some_and(named);
                if matches!(method.attr.as_str(), "to" | "cpu" | "cuda") {
                    self.mark(model.id.as_str(), rests);
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, model: &str, rests: bool) {
        if rests {
            self.resting.insert(model.to_owned());
        } else {
            self.resting.remove(model);
        }
    }
}

/// `model` of `model.state_dict()`.
fn model_of_state(expr: &Expr) -> Option<&str> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    match &*method.value {
        Expr::Name(model) if method.attr.as_str() == "state_dict" => Some(model.id.as_str()),
        _ => None,
    }
}

/// `state_dict[key] = param.cpu()`, `model = model.cpu()`
fn is_weight_on_cpu(assign: &StmtAssign) -> bool {
    let of_weights = |target: &Expr| match target {
        Expr::Subscript(node) => names_state(&node.value),
        Expr::Name(_) => is_model_name(target),
        _ => false,
    };
    is_to_cpu(&assign.value) && assign.targets.iter().any(of_weights)
}

/// `state = to_device(state, "cpu")`: a function gives back what it is given, on the CPU.
fn is_brought_by_helper(assign: &StmtAssign) -> bool {
    let ([Expr::Name(target)], Expr::Call(call)) = (assign.targets.as_slice(), &*assign.value) else { return false };
    let itself = |arg: &Expr| matches!(arg, Expr::Name(name) if name.id == target.id);
    let weights = names_state(&assign.targets[0]) || matches!(target.id.as_str(), "sd" | "ckpt" | "checkpoint");
    let args = &call.arguments.args;
    weights && args.iter().any(itself) && (args.iter().any(is_cpu) || says_cpu(call))
}

/// Whether an expression is a model by its name: `net`, `self.encoder`.
fn is_model_name(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Name(node) => node.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return false,
    };
    ["model", "net", "coder"].iter().any(|word| name.contains(word))
}

/// Whether an expression ends in `.cpu()` or `.to("cpu")`, or in `.cpu().half().clone()`.
fn is_to_cpu(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    let Expr::Attribute(method) = &*call.func else { return false };
    match (method.attr.as_str(), &*call.arguments.args) {
        ("cpu", _) => true,
        ("to", [device, ..]) => is_cpu(device),
        ("to", []) => says_cpu(call),
        ("half" | "float" | "bfloat16" | "clone" | "detach" | "contiguous" | "share_memory" | "eval", _) => {
            is_to_cpu(&method.value)
        }
        _ => false,
    }
}

/// `args.no_cuda = True`, `opt.cuda = False` in the body of a program.
pub(super) fn turns_gpu_off(stmt: &Stmt) -> bool {
    let Stmt::Assign(assign) = stmt else { return false };
    let ([Expr::Attribute(target)], Expr::BooleanLiteral(value)) = (assign.targets.as_slice(), &*assign.value) else {
        return false;
    };
    match target.attr.as_str() {
        "no_cuda" | "disable_cuda" => value.value,
        "cuda" | "use_cuda" | "use_gpu" => !value.value,
        _ => false,
    }
}

/// The last part of a path that is written out at its end: `ema.pt` of `f"{folder}/ema.pt"`.
pub(crate) fn file_name(path: &Expr) -> Option<&str> {
    let text = match path {
        Expr::StringLiteral(node) => node.value.to_str(),
        Expr::FString(node) => match node.value.elements().last()? {
            InterpolatedStringElement::Literal(text) => &text.value,
            InterpolatedStringElement::Interpolation(_) => return None,
        },
        Expr::BinOp(node) => return file_name(&node.right),
        Expr::Call(call) => return call.arguments.args.last().and_then(file_name),
        _ => return None,
    };
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let whole = text.contains('/') || !path.is_f_string_expr() && !path.is_bin_op_expr();
    (whole && name.contains('.') && !name.starts_with('.') && name.is_ascii()).then_some(name)
}

/// `move(device="cpu")`
fn says_cpu(call: &ExprCall) -> bool {
    let device = |name: &str| name == "device";
    call.arguments.keywords.iter().any(|keyword| keyword.arg.as_deref().is_some_and(device) && is_cpu(&keyword.value))
}

/// `"cpu"`, `torch.device("cpu")`
pub(crate) fn is_cpu(device: &Expr) -> bool {
    match device {
        Expr::StringLiteral(node) => node.value.to_str() == "cpu",
        Expr::Call(call) => call.arguments.args.first().is_some_and(is_cpu),
        _ => false,
    }
}

/// Whether an expression is weights by its name: `state_dict`, `model.state_dict().items()`.
fn names_state(expr: &Expr) -> bool {
    match expr {
        Expr::Name(node) => node.id.contains("state") || node.id.contains("param") || node.id.contains("weight"),
        Expr::Attribute(node) => node.attr.contains("state") || names_state(&node.value),
        Expr::Call(node) => names_state(&node.func),
        Expr::Subscript(node) => names_state(&node.value),
        _ => false,
    }
}
