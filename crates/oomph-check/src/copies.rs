//! Networks that run beside the one that is trained: targets, averages of its weights, encoders that only give features.

use crate::analysis::events::{At, Bind, Call, Callee};
use crate::analysis::value::{Flags, Kind};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, TextRange};
use crate::uses::{last_name, string_of, uses_in};

impl<'a> Facts<'a> {
    /// Where a network was copied from another or fetched ready-made, when no optimizer of this file is given its
    /// parameters and nothing in the file takes any out of training.
    #[must_use]
    pub fn stands_by(&self, module: &Expr) -> Option<TextRange> {
        let last = last_name(module)?;
        let same = |bind: &&Bind<'a>| bind.target.is_attribute_expr() == module.is_attribute_expr();
        let mut made = self.binds_of(last).filter(same).peekable();
        let first = made.peek()?.target.range();
        let of_file = module.is_name_expr();
        let apart = |bind: &Bind<'a>| {
            let copied = bind.value_expr.is_some_and(|value| self.is_deep_copy(value)) || self.takes_over(bind);
            // What a class keeps may be trained from outside, unless it trains the others itself.
            copied || bind.value.has(Flags::PRETRAINED) && (of_file || self.optimizes_parts(bind))
        };
        let other = last.to_ascii_lowercase().contains("sched");
        let alone = made.all(apart) && !other && self.is_only_averaged(last) && self.is_left_untrained(module, last);
        alone.then_some(first)
    }

    /// Whether a network is given its weights where it is made, those of another or from a file, and is then only run,
    /// switched and moved: `target.load_state_dict(online.state_dict())`.
    fn takes_over(&self, bind: &Bind<'a>) -> bool {
        let target = self.written(bind.target);
        let loads = |load: &Call<'a>| {
            load.at.function == bind.at.function && load.receiver_expr().is_some_and(|on| self.written(on) == target)
        };
        let hands_on = |call: &Call<'a>| {
            let takes = |arg: &Expr| self.written(arg) == target;
            let given = call.node.arguments.args.iter().any(takes);
            let known =
                matches!(call.name, "deepcopy" | "DataParallel" | "DistributedDataParallel" | "prepare" | "print");
            given && !known && call.callee != Callee::Module
        };
        bind.value.is_module()
            && bind.value_expr.is_some_and(Expr::is_call_expr)
            && self.calls_named("load_state_dict").any(loads)
            && !self.calls().iter().any(hands_on)
    }

    /// Where a module of this name is switched to evaluation.
    #[must_use]
    pub fn switched_to_eval(&self, module: &str) -> Option<TextRange> {
        let last = module.rsplit('.').next().unwrap_or(module);
        let mut calls = self.calls_named("eval");
        let on_it = calls.find(|call| {
            let mut on = call.receiver_expr();
            // `encoder.cuda().eval()`.
            while let Some(Expr::Call(moved)) = on {
                let Expr::Attribute(method) = &*moved.func else { break };
                on = matches!(method.attr.as_str(), "to" | "cuda" | "half" | "float").then_some(&*method.value);
            }
            on.is_some_and(|on| self.written(on).rsplit('.').next() == Some(last))
        });
        // `vgg = vgg16().features.eval()`.
        let made = || {
            let mut made = self.binds_of(last).filter_map(|bind| self.call_at(bind.value_expr?));
            made.find(|call| call.name == "eval" && call.node.arguments.is_empty())
        };
        on_it.or_else(made).map(Ranged::range)
    }

    /// Whether the class that keeps a network makes optimizers itself.
    fn optimizes_parts(&self, bind: &Bind<'a>) -> bool {
        let class = self.class_around(&bind.at);
        let is_own = |call: &&Call<'a>| call.result.kind == Kind::Optimizer && self.class_around(&call.at) == class;
        class.is_some() && self.calls().iter().any(|call| is_own(&call))
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
    #[must_use]
    pub fn is_left_untrained(&self, module: &Expr, last: &str) -> bool {
        let is_optimizer = |call: &&Call<'a>| call.result.kind == Kind::Optimizer && call.arg(0).is_some();
        let mut optimizers = self.calls().iter().filter(is_optimizer).peekable();
        let others = |call: &Call<'a>| {
            let trained = call.arg(0).map_or_else(Vec::new, |given| self.networks_in(given, &call.at));
            // `model.parameters()` are those of all its parts.
            let another = |owner: &&str| {
                let part = owner.contains('.') || module.is_name_expr();
                // `model.head.parameters()` are some of `model`'s, and what was made with the network has it.
                let apart = owner.split('.').all(|word| word != last) && !self.is_made_with(owner, last);
                part && *owner != "self" && *owner != self.written(module) && apart
            };
            !trained.is_empty() && trained.iter().all(another)
        };
        // `make_optimizer(net)`, out of view.
        let by_helper = |call: &Call<'a>| {
            let given = || call.node.arguments.args.iter().any(|arg| self.written(arg) == self.written(module));
            call.name.to_ascii_lowercase().contains("optim") && given()
        };
        optimizers.peek().is_some() && optimizers.all(others) && !self.calls().iter().any(by_helper)
    }

    /// Whether a network was made with another in it: `model = Classifier(encoder)`.
    fn is_made_with(&self, whole: &str, part: &str) -> bool {
        let name = whole.rsplit('.').next().unwrap_or(whole);
        self.binds_of(name).any(|bind| {
            let made = bind.value_expr.filter(|value| value.is_call_expr() && !self.is_deep_copy(value));
            made.is_some_and(|made| self.mentions_word(made.range(), part))
        })
    }

    /// The networks whose parameters an optimizer is given, when all of them are named: `a` and `b` of
    /// `list(a.parameters()) + list(b.parameters())`, of a chain or of groups of them, or of a name bound to that.
    #[must_use]
    pub fn networks_in(&self, given: &Expr, at: &At) -> Vec<&str> {
        self.networks_within(given, at, 4)
    }

    fn networks_within(&self, given: &Expr, at: &At, hops: u32) -> Vec<&str> {
        // `params = list(params)` goes in circles.
        let Some(next) = hops.checked_sub(1) else { return Vec::new() };
        match given {
            Expr::BinOp(sum) => {
                all_of(&[self.networks_within(&sum.left, at, hops), self.networks_within(&sum.right, at, hops)])
            }
            Expr::List(list) => {
                all_of(&list.elts.iter().map(|part| self.networks_within(part, at, hops)).collect::<Vec<_>>())
            }
            // `[p for p in net.parameters() if p.requires_grad]`.
            Expr::ListComp(comp) => match comp.generators.as_slice() {
                [only] if comp.elt.is_name_expr() => self.networks_within(&only.iter, at, hops),
                _ => Vec::new(),
            },
            // `{"params": net.parameters(), "lr": 1e-4}`.
            Expr::Dict(group) => {
                let given = group.items.iter().find(|item| item.key.as_ref().and_then(string_of) == Some("params"));
                given.map_or_else(Vec::new, |item| self.networks_within(&item.value, at, hops))
            }
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(all) if all.attr.as_str() == "parameters" && call.arguments.is_empty() => {
                    vec![self.source.slice(all.value.range())]
                }
                func if matches!(last_name(func), Some("list" | "chain")) => all_of(
                    &call.arguments.args.iter().map(|part| self.networks_within(part, at, hops)).collect::<Vec<_>>(),
                ),
                // `filter(lambda p: p.requires_grad, net.parameters())`.
                func if last_name(func) == Some("filter") => {
                    call.arguments.args.get(1).map_or_else(Vec::new, |part| self.networks_within(part, at, hops))
                }
                _ => Vec::new(),
            },
            Expr::Name(_) => match self.binds_seen(given, at).as_slice() {
                [only] if only.value_expr.is_some_and(|value| !value.is_name_expr()) => {
                    // What can be gone over once, and is read elsewhere too, may be at its end.
                    let once = only.value_expr.is_some_and(|value| {
                        matches!(value, Expr::Call(call) if matches!(last_name(&call.func), Some("filter" | "chain")))
                    });
                    let shared = once && uses_in(self.body_around(&only.at), only.name).len() > 1;
                    only.value_expr
                        .filter(|_| !shared)
                        .map_or_else(Vec::new, |value| self.networks_within(value, &only.at, next))
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

/// What all parts name, when each names something.
fn all_of<'s>(parts: &[Vec<&'s str>]) -> Vec<&'s str> {
    if parts.iter().any(Vec::is_empty) { Vec::new() } else { parts.concat() }
}
