//! Options of the command line, and dicts and classes of settings.

use crate::python::ast::ExprCall;
use crate::python::{Expr, Stmt};
use crate::uses::string_of;

/// The option a call adds to the command line, by the name its value has, where it has a default.
pub(super) fn option_of(call: &ExprCall) -> Option<(String, &Expr)> {
    let name = call.arguments.args.iter().filter_map(string_of).find(|text| text.len() > 2)?;
    let default = call.arguments.keywords.iter().find(|found| found.arg.as_deref() == Some("default"))?;
    Some((name.trim_start_matches('-').replace('-', "_"), &default.value))
}

/// What a file that holds settings says of each that is a number or a list: `CONFIG = {"every": 1}`, and
/// `every: int = 1` of a class.
pub(super) fn settings_of(stmt: &Stmt, in_class: bool) -> Vec<(String, &Expr)> {
    let (target, value) = match stmt {
        Stmt::Assign(assign) => (assign.targets.first(), Some(&*assign.value)),
        Stmt::AnnAssign(assign) => (Some(&*assign.target), assign.value.as_deref()),
        _ => return Vec::new(),
    };
    match (target, value) {
        (Some(Expr::Name(_)), Some(Expr::Dict(dict))) => {
            let entries = dict.items.iter().filter(|entry| is_setting(&entry.value));
            entries
                .filter_map(|entry| Some((entry.key.as_ref().and_then(string_of)?.to_owned(), &entry.value)))
                .collect()
        }
        (Some(Expr::Name(name)), Some(value)) if in_class && is_setting(value) => {
            vec![(name.id.to_string(), value)]
        }
        _ => Vec::new(),
    }
}

fn is_setting(value: &Expr) -> bool {
    value.is_number_literal_expr() || value.is_list_expr() || value.is_tuple_expr()
}

/// Whether a target is a name that settings are called by.
pub(super) fn is_settings(target: &Expr) -> bool {
    target.as_name_expr().is_some_and(|name| is_settings_name(name.id.as_str()))
}

/// Whether a name is what settings are called.
pub(super) fn is_settings_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["arg", "opt", "cfg", "conf", "param", "flag", "setting"].iter().any(|word| lower.contains(word))
}
