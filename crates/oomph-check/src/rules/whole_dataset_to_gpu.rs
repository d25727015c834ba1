//! `whole-dataset-to-gpu`: all of the data is on the GPU from the start.

use crate::analysis::events::Call;
use crate::analysis::tables::ClassKind;
use crate::analysis::value::Device;
use crate::facts::{Facts, FunctionKind};
use crate::python::{Expr, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "whole-dataset-to-gpu",
    group: Group::Data,
    size: Size::once(Amount::Batch),
    is_opportunity: true,
    fix: None,
    summary: "A dataset keeps all its tensors on the GPU.",
    why: "The data takes room for the whole run that one batch at a time would not. Workers and `pin_memory` do not work \
          with it either.",
    cost: "The size of the data: 50,000 images of 3 x 224 x 224 floats are 30 GB.",
    instead: "Keep it on the CPU and move each batch: `batch.to(device, non_blocking=True)`.",
    when_not: "The data is small, and then this is the fastest way.",
    programs: include_str!("whole_dataset_to_gpu.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.utils.data.TensorDataset") {
        let mut args = call.node.arguments.args.iter().zip(&call.args);
        let moved = args.find(|(expr, value)| value.device == Device::Cuda || is_move(facts, expr));
        if let Some((expr, _)) = moved {
            report.add(call, "The whole dataset is on the GPU for the whole run").because(expr, "moved to the GPU");
        }
    }
    for call in facts.calls() {
        let init = facts.kind_at(&call.at) == FunctionKind::Init && facts.class_kind(&call.at) == ClassKind::Dataset;
        if !init || !facts.moves_to_gpu(call) {
            continue;
        }
        if let Some(name) = kept_as(facts, call) {
            report
                .add(call, format!("`{name}` is on the GPU for the whole run"))
                .because(call, "moved when the dataset is made, not batch by batch");
        }
    }
}

fn is_move(facts: &Facts<'_>, expr: &Expr) -> bool {
    facts.call_at(expr).is_some_and(|call| facts.moves_to_gpu(call))
}

/// The attribute of `self` the moved tensor is kept in.
fn kept_as<'f>(facts: &'f Facts<'_>, call: &Call<'_>) -> Option<&'f str> {
    match facts.statement(call.at.stmt)?.node {
        Stmt::Assign(assign) => {
            let target = assign.targets.first()?;
            let text = facts.written(target);
            let model = call.receiver.as_ref().is_some_and(crate::analysis::value::Value::is_module);
            (target.is_attribute_expr() && text.starts_with("self.") && !model).then_some(text)
        }
        _ => None,
    }
}
