//! Arguments that a call is given in a dict: `TrainingArguments(**settings)`.

use super::Facts;
use crate::analysis::events::{At, Call};
use crate::python::{Expr, ExprCall};
use crate::uses::string_of;

impl<'a> Facts<'a> {
    /// A keyword argument of a call, be it an item of a dict that is spread there.
    #[must_use]
    pub fn keyword_given(&self, call: &Call<'a>, name: &str) -> Option<&'a Expr> {
        call.keyword(name).or_else(|| self.spread(call).into_iter().flatten().find_map(|dict| item_of(dict, name)))
    }

    /// Whether something is spread into a call that is not written out in this file: it may give any argument.
    #[must_use]
    pub fn hides_arguments(&self, call: &Call<'a>) -> bool {
        let starred = call.node.arguments.args.iter().any(Expr::is_starred_expr);
        starred || self.spread(call).iter().any(Option::is_none)
    }

    /// What `settings["size"]` is, where the dict is written out in this file.
    #[must_use]
    pub fn item_given(&self, expr: &Expr, at: &At) -> Option<&'a Expr> {
        let Expr::Subscript(node) = expr else { return None };
        let binds = self.binds_seen(&node.value, at);
        let [only] = binds.as_slice() else { return None };
        item_of(only.value_expr?, string_of(&node.slice)?)
    }

    /// The dicts that are spread into a call; `None` for one that is not known whole.
    fn spread(&self, call: &Call<'a>) -> Vec<Option<&'a Expr>> {
        let keywords = call.node.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none());
        let known = |given: &'a Expr| {
            if is_written_out(given) {
                return Some(given);
            }
            let Expr::Name(name) = given else { return None };
            let binds = self.binds_seen(given, &call.at);
            let [only] = binds.as_slice() else { return None };
            let changes = |method: &str| {
                let mut calls = self.calls_named(method);
                calls.any(|other| matches!(other.receiver_expr(), Some(Expr::Name(own)) if own.id == name.id))
            };
            let is_it = |target: &Expr| matches!(target, Expr::Name(own) if own.id == name.id);
            let grows = self.stores().iter().any(|store| is_it(store.target));
            let differs = grows || ["update", "setdefault", "pop"].into_iter().any(changes);
            only.value_expr.filter(|dict| is_written_out(dict) && !differs)
        };
        keywords.map(|keyword| known(&keyword.value)).collect()
    }
}

/// `{"a": 1}` and `dict(a=1)`, nothing spread in it.
fn is_written_out(expr: &Expr) -> bool {
    match expr {
        Expr::Dict(dict) => dict.items.iter().all(|item| item.key.is_some()),
        Expr::Call(call) => {
            is_dict(call)
                && call.arguments.args.is_empty()
                && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some())
        }
        _ => false,
    }
}

fn is_dict(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "dict")
}

/// What a dict that is written out holds under a key.
fn item_of<'a>(dict: &'a Expr, key: &str) -> Option<&'a Expr> {
    match dict {
        Expr::Dict(dict) => {
            let found = dict.items.iter().find(|item| item.key.as_ref().and_then(string_of) == Some(key));
            found.map(|item| &item.value)
        }
        Expr::Call(call) if is_dict(call) => {
            let mut keywords = call.arguments.keywords.iter();
            keywords.find(|given| given.arg.as_ref().is_some_and(|arg| arg.as_str() == key)).map(|given| &given.value)
        }
        _ => None,
    }
}
