//! Networks that run beside the one that is trained: targets, averages of its weights, encoders that only give features.

use crate::analysis::events::{Bind, Call};
use crate::analysis::value::{Flags, Kind};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::uses::last_name;

impl<'a> Facts<'a> {
    /// Where a network was copied from another or fetched ready-made, when no optimizer of this file is given its
    /// parameters and nothing in the file takes any out of training.
    #[must_use]
    pub fn stands_by(&self, module: &Expr) -> Option<TextRange> {
        let last = last_name(module)?;
        let same = |bind: &&Bind<'a>| bind.target.is_attribute_expr() == module.is_attribute_expr();
        let mut made = self.binds_of(last).filter(same).peekable();
        let first = made.peek()?.target.range();
        let apart = |bind: &Bind<'a>| {
            let copied = bind.value_expr.is_some_and(|value| self.is_deep_copy(value));
            copied || bind.value.has(Flags::PRETRAINED) && module.is_name_expr()
        };
        let other = last.to_ascii_lowercase().contains("sched");
        let alone = made.all(apart) && !other && self.is_only_averaged(last) && self.is_left_untrained(module, last);
        (alone && !self.freezes_anything()).then_some(first)
    }

    /// `deepcopy(net)`, moved or switched.
    fn is_deep_copy(&self, value: &Expr) -> bool {
        let Some(call) = self.call_at(value) else { return false };
        match call.name {
            "to" | "cuda" | "eval" | "train" => call.receiver_expr().is_some_and(|inner| self.is_deep_copy(inner)),
            _ => self.full_name(call) == Some("copy.deepcopy"),
        }
    }

    /// Whether the parameters of a network are gone over where they are read, alone or beside others, and never handed on.
    fn is_only_averaged(&self, last: &str) -> bool {
        let reads = format!("{last}.parameters()");
        self.source.text.lines().filter(|line| line.contains(&reads)).all(|line| {
            let line = line.trim_start();
            line.starts_with("for ") && (line.contains("zip(") || line.ends_with(&format!("{reads}:")))
        })
    }

    /// Whether every optimizer of the file is given the parameters of other networks, by name.
    fn is_left_untrained(&self, module: &Expr, last: &str) -> bool {
        let is_optimizer = |call: &&Call<'a>| call.result.kind == Kind::Optimizer && call.arg(0).is_some();
        let mut optimizers = self.calls().iter().filter(is_optimizer).peekable();
        let others = |call: &Call<'a>| {
            let given = call.arg(0).map_or("", |given| self.written(given));
            let mut owners = given.match_indices(".parameters()").map(|(at, _)| {
                let start = given[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
                &given[start.map_or(0, |start| start + 1)..at]
            });
            let named = given.contains(".parameters()");
            // `model.parameters()` are those of all its parts.
            named
                && owners.all(|owner| {
                    let part = owner.contains('.') || module.is_name_expr();
                    part && owner != "self" && owner.rsplit('.').next() != Some(last)
                })
        };
        optimizers.peek().is_some() && optimizers.all(others)
    }

    /// Whether the file takes parameters out of training anywhere, as it is written.
    fn freezes_anything(&self) -> bool {
        let text = &self.source.text;
        let sets = |rest: &str| {
            let rest = rest.trim_start();
            rest.starts_with('=') && !rest.starts_with("==")
        };
        ["requires_grad_(", "freeze", "set_requires_grad", "toggle_grad"].iter().any(|way| text.contains(way))
            || text.match_indices(".requires_grad").any(|(at, found)| sets(&text[at + found.len()..]))
    }
}
