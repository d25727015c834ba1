//! Options of the command line that the parser does not define.

use rustc_hash::FxHashSet;

use super::Cause;
use crate::analysis::events::{Bind, Call};
use crate::facts::Facts;
use crate::python::ast::ExprAttribute;
use crate::python::{Expr, Ranged};
use crate::uses::string_of;

impl<'a> Facts<'a> {
    /// Why reading an attribute of the file's parsed options raises, if it always does: `opt.dec_dir` where the parser
    /// has only `--decoder_dir`.
    pub(super) fn never_given(&self, node: &ExprAttribute) -> Option<Cause> {
        let options = node.value.as_name_expr()?.id.as_str();
        let name = node.attr.as_str();
        let parse = self.call_at(self.only_value(options)?).filter(|call| call.name == "parse_args")?;
        let parser = parse.receiver_expr()?.as_name_expr()?.id.as_str();
        let made = self.call_at(self.only_value(parser)?)?;
        let is_plain = self.full_name(made) == Some("argparse.ArgumentParser")
            && made.keyword("parents").is_none()
            && !made.has_star()
            && parse.node.arguments.is_empty();
        if !is_plain || name.starts_with('_') || self.may_be_extended(parser, options) {
            return None;
        }
        let written = self.tables.outlines.iter().any(|outline| outline.foreign_writes.contains(name));
        let known = self.defined_options()?;
        (!written && !known.contains(name)).then(|| Cause {
            range: node.range(),
            text: format!("no `add_argument` defines `{options}.{name}`: this raises whenever it runs"),
        })
    }

    /// What a name of the file is bound to, where that is done once and outside of functions.
    fn only_value(&self, name: &str) -> Option<&'a Expr> {
        let binds: Vec<&Bind<'a>> = self.binds_of(name).collect();
        match binds.as_slice() {
            [bind] if bind.at.function.is_none() => bind.value_expr,
            _ => None,
        }
    }

    /// Whether code out of sight may define further options, or set some afterwards.
    fn may_be_extended(&self, parser: &str, options: &str) -> bool {
        let is = |expr: &Expr, name: &str| expr.as_name_expr().is_some_and(|found| found.id.as_str() == name);
        self.calls().iter().any(|call| {
            let given = |name: &str| {
                let keywords = call.node.arguments.keywords.iter().map(|keyword| &keyword.value);
                call.node.arguments.args.iter().chain(keywords).any(|argument| is(argument, name))
            };
            let defines = call.receiver_expr().is_some_and(|on| is(on, parser))
                && !matches!(call.name, "add_argument" | "parse_args" | "print_help");
            defines || given(parser) || given(options) && call.name != "print"
        })
    }

    /// The options that the file's parsers define, where all are written out.
    fn defined_options(&self) -> Option<FxHashSet<String>> {
        let mut known = FxHashSet::default();
        for call in self.calls_named("add_argument") {
            known.extend(names_of_option(call)?);
        }
        Some(known)
    }
}

/// The attributes that an option may be found under.
fn names_of_option(call: &Call<'_>) -> Option<Vec<String>> {
    if call.has_star() {
        return None;
    }
    let plain = |expr: &Expr| string_of(expr).map(|text| text.trim_start_matches('-').replace('-', "_"));
    call.node.arguments.args.iter().chain(call.keyword("dest")).map(plain).collect()
}
