//! `cudnn-benchmark-with-varying-shapes`: every new shape is tried with large workspaces.

use crate::facts::Facts;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "cudnn-benchmark-with-varying-shapes",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "`cudnn.benchmark` is on though batches differ in shape.",
    why: "With `benchmark` cuDNN tries its algorithms at each new shape, some with very large workspaces, and the allocator \
          keeps blocks of those sizes.",
    cost: "Workspaces of up to a gigabyte or more at each new shape, and the time of the trials.",
    instead: "Pad to a few fixed shapes, or leave `benchmark` off.",
    when_not: "Shapes are fixed.",
    programs: include_str!("cudnn_benchmark_with_varying_shapes.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let varying = facts.calls_named("pad_sequence").next().or_else(|| facts.calls_named("pack_padded_sequence").next());
    let Some(varying) = varying else { return };
    for bind in facts.binds_of("benchmark") {
        let on = matches!(bind.value_expr, Some(Expr::BooleanLiteral(literal)) if literal.value);
        if !on || !facts.written(bind.target).contains("cudnn") {
            continue;
        }
        report
            .add(bind.target, "cuDNN tries its algorithms, some with large workspaces, at every new shape")
            .because(varying, "batches are as long as their longest sequence");
    }
}
