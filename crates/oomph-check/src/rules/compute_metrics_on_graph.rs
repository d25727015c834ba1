//! `compute-metrics-on-graph`: a metric that records its own graph beside the loss's.

use crate::analysis::events::{Bind, Call};
use crate::analysis::value::Flags;
use crate::facts::{Effect, Facts};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::{Expr, Ranged, Stmt, count_reads_in};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "compute-metrics-on-graph",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "A metric is computed from outputs with their graph, before the backward pass that does not need it.",
    why: "Each operation of the metric saves its inputs for a backward pass that never goes there. The name holds them \
          through the backward pass of the loss, which is where memory peaks.",
    cost: "What the metric's operations save, usually one or two tensors of the output's size, at the peak.",
    instead: "Compute it from `logits.detach()`, or under `torch.no_grad()`, or after the backward pass.",
    when_not: "The term is part of the loss.",
    programs: include_str!("compute_metrics_on_graph.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for bind in facts.binds() {
        let (Expr::Name(_), Some(value_expr)) = (bind.target, bind.value_expr) else { continue };
        let Some(batches) = facts.innermost_batch_loop(&bind.at) else { continue };
        if !bind.value.keeps_graph()
            || bind.value.has(Flags::LOSS)
            || bind.value.has(Flags::RAW)
            || facts.call_at(value_expr).is_some_and(is_forward)
        {
            continue;
        }
        if facts.may_be_freed(&bind.value, &bind.at) || !saves_much(facts.source.slice(value_expr.range())) {
            continue;
        }
        let mut backwards = facts.effects_in(Effect::Backward, batches.block);
        let Some(backward) = backwards.find(|call| call.at.order > bind.at.order) else { continue };
        if !is_only_logged(facts, bind) {
            continue;
        }
        report
            .add(
                value_expr,
                format!("`{}` is only logged, but records a graph that is held through the backward pass", bind.name),
            )
            .because_if(facts.forward_pass(&bind.value, &bind.at), "the outputs come with their graph from here")
            .because(backward, "the backward pass does not need it");
    }
}

fn is_forward(call: &Call<'_>) -> bool {
    !call.site.is_empty()
}

/// Whether an expression has operations that save tensors of the output's size.
fn saves_much(text: &str) -> bool {
    ["softmax", "sigmoid", "tanh", "exp(", "log(", "pow(", "abs(", "norm(", "sqrt(", "*"]
        .iter()
        .any(|word| text.contains(word))
}

/// Whether every read of the name takes a number out of it.
fn is_only_logged(facts: &Facts<'_>, bind: &Bind<'_>) -> bool {
    let body: &[Stmt] = match bind.at.function {
        Some(index) => &facts.outline().functions[index as usize].node.body,
        None => facts.source.body(),
    };
    let mut uses = Uses { name: bind.name, all: 0, numbers: 0 };
    walk_body(&mut uses, body);
    let bound_once = facts.binds_of(bind.name).filter(|other| other.at.function == bind.at.function).count() == 1;
    bound_once && uses.all > 0 && uses.all == uses.numbers
}

/// Reads of a name: all of them, and those that take a number out.
struct Uses<'n> {
    name: &'n str,
    all: usize,
    numbers: usize,
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.all += usize::from(name.id.as_str() == self.name && name.ctx.is_load());
        }
        if let Expr::Call(call) = expr
            && let Expr::Attribute(method) = &*call.func
        {
            let itself = matches!(&*method.value, Expr::Name(name) if name.id.as_str() == self.name);
            // `(probs > 0.5).float().mean().item()`: whatever is made of it ends as a number.
            let reads = count_reads_in(&method.value, self.name);
            let ends = matches!(method.attr.as_str(), "item" | "tolist");
            if ends && reads > 0 {
                self.all += reads;
                self.numbers += reads;
                return;
            }
            self.numbers += usize::from(itself && method.attr.as_str() == "detach");
        }
        walk_expr(self, expr);
    }
}
