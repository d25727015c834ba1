//! What a file writes to disk with `torch.save`, and whether the weights come from the CPU.

use rustc_hash::FxHashSet;

use crate::python::ast::{ExprCall, ExprDictComp, InterpolatedStringElement, StmtAssign};
use crate::python::{Expr, Stmt};

/// What is saved and what is brought to the CPU, by function; `None` is the file's own body.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// The names of files that are saved, where they are written out.
    pub(super) files: Vec<String>,
    saved: FxHashSet<Option<u32>>,
    brought: FxHashSet<Option<u32>>,
    straight: bool,
}

impl Saving {
    /// Whether the file saves anything.
    pub(super) fn saves(&self) -> bool {
        !self.saved.is_empty()
    }

    /// Whether weights are brought to the CPU where they are saved.
    pub(super) fn saves_from_cpu(&self) -> bool {
        self.straight && self.saves() || self.saved.iter().any(|function| self.brought.contains(function))
    }

    pub(super) fn note_call(&mut self, call: &ExprCall, function: Option<u32>) {
        let Expr::Attribute(method) = &*call.func else { return };
        match (method.attr.as_str(), &*method.value) {
            ("save", Expr::Name(library)) if matches!(library.id.as_str(), "torch" | "th" | "T" | "t") => {
                self.saved.insert(function);
                self.files.extend(call.arguments.args.get(1).and_then(file_name).map(str::to_owned));
            }
            // `model.cpu().state_dict()`
            ("state_dict", receiver) => self.straight |= is_to_cpu(receiver),
            _ => {}
        }
    }

    /// `{k: v.cpu() for k, v in model.state_dict().items()}`
    pub(super) fn note_dict(&mut self, node: &ExprDictComp) {
        let of_weights = node.generators.iter().any(|generator| names_state(&generator.iter));
        self.straight |= of_weights && is_to_cpu(&node.value);
    }

    pub(super) fn note_stmt(&mut self, stmt: &Stmt, function: Option<u32>) {
        let brings = match stmt {
            Stmt::Assign(assign) => is_weight_on_cpu(assign),
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
}

/// `state_dict[key] = param.cpu()`, `model = model.cpu()`
fn is_weight_on_cpu(assign: &StmtAssign) -> bool {
    let of_weights = |target: &Expr| match target {
        Expr::Subscript(node) => names_state(&node.value),
        Expr::Name(node) => ["model", "net", "coder"].iter().any(|word| node.id.contains(word)),
        _ => false,
    };
    is_to_cpu(&assign.value) && assign.targets.iter().any(of_weights)
}

/// Whether an expression ends in `.cpu()` or `.to("cpu")`, or in `.cpu().half().clone()`.
fn is_to_cpu(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    let Expr::Attribute(method) = &*call.func else { return false };
    match (method.attr.as_str(), &*call.arguments.args) {
        ("cpu", _) => true,
        ("to", [device, ..]) => is_cpu(device),
        ("to", []) => says_cpu(call),
        ("half" | "float" | "bfloat16" | "clone" | "detach" | "contiguous", _) => is_to_cpu(&method.value),
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
fn is_cpu(device: &Expr) -> bool {
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
