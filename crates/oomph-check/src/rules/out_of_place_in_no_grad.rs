//! `out-of-place-in-no-grad`: one temporary an operator on a large GPU tensor.

use crate::analysis::events::Call;
use crate::analysis::value::Device;
use crate::facts::Facts;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "out-of-place-in-no-grad",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "A GPU tensor is replaced by arithmetic on itself where nothing is recorded.",
    why: "Each operator makes a new tensor of the same size; without a graph the old values are of no further use and could \
          be overwritten.",
    cost: "One temporary of the tensor's size an operator.",
    instead: "`img.sub_(mean).div_(std)`, `out=`.",
    when_not: "The old tensor is used elsewhere, or gradients are recorded.",
    programs: include_str!("out_of_place_in_no_grad.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for bind in facts.binds() {
        let Some(value) = bind.value_expr else { continue };
        let chain = matches!(value, Expr::BinOp(outer) if begins_with(&outer.left, bind.name));
        if !chain || !bind.at.grad.is_off() {
            continue;
        }
        let earlier = facts.binds_of(bind.name).filter(|before| {
            before.at.function == bind.at.function && before.at.order < bind.at.order && before.target.is_name_expr()
        });
        let moved = earlier.filter_map(|before| before.value_expr).any(|before| {
            let within = |call: &&Call<'_>| before.range().contains_range(call.node.range());
            facts.calls().iter().filter(within).any(|call| facts.goes_to_gpu(call) || facts.makes_on_gpu(call))
        });
        let on_gpu = bind.value.device == Device::Cuda || moved;
        if !on_gpu || !bind.target.is_name_expr() {
            continue;
        }
        report
            .add(value, format!("`{}` is replaced through temporaries of its own size", bind.name))
            .because(value, "on the GPU, and nothing is recorded here");
    }
}

/// Whether an operation's leftmost operand is the name, at least one operator deep.
fn begins_with(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::BinOp(node) => {
            matches!(&*node.left, Expr::Name(found) if found.id.as_str() == name) || begins_with(&node.left, name)
        }
        _ => false,
    }
}
