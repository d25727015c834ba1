//! What a parameter is by what is called on it: the one network of the file that can do all of that.

use super::tables::ClassKind;
use super::value::{ClassId, Value};
use super::walk::{Walker, is_name};
use crate::python::Expr;
use crate::python::ast::StmtFunctionDef;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};

impl<'a> Walker<'a, '_> {
    /// The network of this file that a parameter must be, as nothing else here has the methods called on it.
    pub(super) fn network_by_methods(&self, node: &'a StmtFunctionDef, name: &'a str) -> Option<Value> {
        let networks = if self.outline.imports_torch { self.networks() } else { Vec::new() };
        if networks.is_empty() {
            return None;
        }
        let mut called = Called { name, methods: Vec::new() };
        walk_body(&mut called, &node.body);
        let has = |class: ClassId, method: &str| {
            self.tables.method(class, method).is_some() || self.class_attribute(class, method).is_some()
        };
        let own = |class: ClassId| called.methods.iter().any(|method| self.is_own_method(class, method));
        let can_all = |class: ClassId| called.methods.iter().all(|method| is_of_any(method) || has(class, method));
        let mut able = networks.into_iter().filter(|class| own(*class) && can_all(*class));
        match (able.next(), able.next()) {
            (Some(only), None) => Some(self.instance_of(only)),
            _ => None,
        }
    }

    fn networks(&self) -> Vec<ClassId> {
        let classes = (0..self.outline.classes.len()).map(|index| ClassId { file: self.file, index: index as u32 });
        classes.filter(|class| matches!(self.tables.kind(*class), ClassKind::Module | ClassKind::Lightning)).collect()
    }

    /// Whether a class in view defines a method that not every network has.
    fn is_own_method(&self, class: ClassId, method: &str) -> bool {
        !is_of_any(method) && self.tables.method(class, method).is_some()
    }
}

/// Whether every network has a method of this name, or many things that are none.
fn is_of_any(method: &str) -> bool {
    super::known::returns_module(method)
        || matches!(
            method,
            "forward"
                | "parameters"
                | "named_parameters"
                | "state_dict"
                | "load_state_dict"
                | "zero_grad"
                | "modules"
                | "named_modules"
                | "children"
                | "named_children"
                | "buffers"
                | "train"
                | "eval"
                | "step"
                | "update"
                | "reset"
                | "save"
                | "load"
                | "get"
                | "add"
                | "fit"
                | "run"
                | "sample"
        )
}

/// The methods called on a name.
struct Called<'n> {
    name: &'n str,
    methods: Vec<&'n str>,
}

impl<'n> SourceOrderVisitor<'n> for Called<'n> {
    fn visit_expr(&mut self, expr: &'n Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(method) = &*call.func
            && is_name(&method.value, self.name)
            && !self.methods.contains(&method.attr.as_str())
        {
            self.methods.push(method.attr.as_str());
        }
        walk_expr(self, expr);
    }
}
