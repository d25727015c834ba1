//! Who decides whether operations are recorded, and who needs the record: seen in the text of a function alone.

use super::tables::Tables;
use super::value::{ClassId, FunctionId};
use crate::python::ast::statement_visitor::{StatementVisitor, walk_stmt};
use crate::python::ast::{ExprCall, StmtFunctionDef};
use crate::python::{Expr, Stmt};
use crate::uses::last_name;

/// Whether a call takes something out of recording, or may: `Variable(x, volatile=True)`, `to_var(x, volatile=test)`.
pub(super) fn is_volatile(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        let named = keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "volatile");
        named && !matches!(&keyword.value, Expr::BooleanLiteral(literal) if !literal.value)
    })
}

/// Whether a call switches recording: `torch.no_grad()`.
pub(super) fn switches(call: &ExprCall) -> bool {
    matches!(last_name(&call.func), Some("no_grad" | "inference_mode" | "set_grad_enabled" | "enable_grad"))
}

/// Whether a call needs what was recorded, other than a backward pass: `torch.autograd.grad(...)`.
pub(super) fn differentiates(call: &ExprCall) -> bool {
    match &*call.func {
        Expr::Attribute(method) => {
            let on = last_name(&method.value);
            match method.attr.as_str() {
                "grad" => matches!(on, Some("autograd" | "ag" | "func")),
                "jacobian" | "hessian" | "vjp" | "jvp" | "jacrev" | "jacfwd" => true,
                _ => false,
            }
        }
        Expr::Name(name) => matches!(name.id.as_str(), "grad" | "jacobian" | "hessian" | "vjp"),
        _ => false,
    }
}

/// Whether a function always runs without recording: `@torch.no_grad()`.
fn is_switched_off(node: &StmtFunctionDef) -> bool {
    node.decorator_list.iter().any(|decorator| {
        let name = match &decorator.expression {
            Expr::Call(call) => last_name(&call.func),
            other => last_name(other),
        };
        matches!(name, Some("no_grad" | "inference_mode"))
    })
}

/// Whether statements return what a method of `self` gives that is one of these.
fn returns_own(body: &[Stmt], methods: &[&str]) -> bool {
    struct Search<'m>(&'m [&'m str], bool);
    impl<'n> StatementVisitor<'n> for Search<'_> {
        fn visit_stmt(&mut self, stmt: &'n Stmt) {
            if let Stmt::Return(node) = stmt
                && let Some(Expr::Call(call)) = node.value.as_deref()
                && let Expr::Attribute(method) = &*call.func
            {
                self.1 |= last_name(&method.value) == Some("self") && self.0.contains(&method.attr.as_str());
            }
            walk_stmt(self, stmt);
        }
    }
    let mut search = Search(methods, false);
    search.visit_body(body);
    search.1
}

impl Tables<'_> {
    /// Whether a class of networks runs its own pass without recording where it infers: `forward` gives back what a method
    /// gives that does.
    #[must_use]
    pub(crate) fn class_infers_off(&self, class: ClassId) -> bool {
        let Some(forward) = self.method(class, "forward") else { return false };
        let node = |file: u32, index: u32| self.outlines[file as usize].functions[index as usize].node;
        let own = self.ancestry(class).into_iter().flat_map(|class| {
            let methods = &self.outlines[class.file as usize].classes[class.index as usize].methods;
            methods.iter().filter(move |(_, index)| is_switched_off(node(class.file, **index))).map(|(name, _)| *name)
        });
        let off: Vec<&str> = own.collect();
        !off.is_empty() && returns_own(&node(forward.file, forward.index).body, &off)
    }

    /// Whether a file has such a class.
    #[must_use]
    pub(crate) fn file_infers_off(&self, file: u32) -> bool {
        let classes = self.outlines[file as usize].classes.len() as u32;
        (0..classes).any(|index| self.class_infers_off(ClassId { file, index }))
    }

    /// Whether a class of networks, or one of its parts, differentiates within its own pass.
    #[must_use]
    pub(crate) fn class_differentiates(&self, class: ClassId) -> bool {
        let mut found = vec![class];
        let mut at = 0;
        while let Some(&class) = found.get(at).filter(|_| at < 64) {
            at += 1;
            for class in self.ancestry(class) {
                let methods = &self.outlines[class.file as usize].classes[class.index as usize].methods;
                if methods.values().any(|&index| self.differentiates_inside(FunctionId { file: class.file, index })) {
                    return true;
                }
                let parts = self.learnt[class.file as usize].attributes.get(class.index as usize);
                let mut parts: Vec<ClassId> =
                    parts.into_iter().flat_map(|parts| parts.values()).filter_map(|part| part.class).collect();
                parts.sort_unstable_by_key(|part| (part.file, part.index));
                parts.retain(|part| !found.contains(part));
                found.append(&mut parts);
            }
        }
        false
    }

    /// Whether a function of a file differentiates within a pass.
    #[must_use]
    pub(crate) fn file_differentiates(&self, file: u32) -> bool {
        let functions = self.outlines[file as usize].functions.len() as u32;
        (0..functions).any(|index| self.differentiates_inside(FunctionId { file, index }))
    }

    /// Whether a function needs gradients for what it returns: normals of a surface, forces of an energy. Penalties and
    /// losses need them too, but for training alone.
    #[must_use]
    pub(crate) fn differentiates_inside(&self, id: FunctionId) -> bool {
        const TRAINING: &[&str] = &[
            "penalty",
            "loss",
            "regular",
            "gp",
            "r1",
            "train",
            "optim",
            "update",
            "step",
            "discrim",
            "critic",
            "attack",
            "adv",
            "influence",
            "hessian",
            "fisher",
        ];
        let outline = &self.outlines[id.file as usize];
        let function = &outline.functions[id.index as usize];
        let trains = |name: &str| {
            let lower = name.to_ascii_lowercase();
            TRAINING.iter().any(|word| {
                if word.len() > 3 { lower.contains(word) } else { lower.split('_').any(|part| part == *word) }
            })
        };
        let name = function.node.name.as_str();
        if !function.differentiates || trains(name) {
            return false;
        }
        match function.class {
            Some(index) => {
                let class = outline.classes[index as usize].node.name.as_str();
                self.kind(ClassId { file: id.file, index }).is_module() && !trains(class)
            }
            None => ["normal", "gradient", "force", "laplac", "diverg", "jacob"].iter().any(|word| name.contains(word)),
        }
    }
}
