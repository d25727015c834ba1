//! `torchmetrics-unbinned-curves`: a metric stores every score of an epoch.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, last_name};

pub(super) static RULE: Rule = Rule {
    name: "torchmetrics-unbinned-curves",
    group: Group::Frameworks,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A curve metric of torchmetrics keeps all scores and targets.",
    why: "Without `thresholds` the exact curve needs every score and target of the epoch, and the metric keeps them on the \
          GPU it was moved to, in a list that `compute` concatenates.",
    cost: "12 bytes a score, and as much again in `compute`: 10 million pixels are a quarter of a gigabyte, an epoch of \
           segmentation is far more.",
    instead: "`AUROC(task=\"binary\", thresholds=200)` needs a fixed table; `compute_on_cpu=True` moves the scores away.",
    when_not: "The validation set is small, or the exact value is required.",
    programs: include_str!("torchmetrics_unbinned_curves.py"),
    check,
};

const CURVES: &[&str] = &[
    "AUROC",
    "ROC",
    "PrecisionRecallCurve",
    "AveragePrecision",
    "BinaryAUROC",
    "MulticlassAUROC",
    "MultilabelAUROC",
    "BinaryROC",
    "MulticlassROC",
    "MultilabelROC",
    "BinaryPrecisionRecallCurve",
    "MulticlassPrecisionRecallCurve",
    "MultilabelPrecisionRecallCurve",
    "BinaryAveragePrecision",
    "MulticlassAveragePrecision",
    "MultilabelAveragePrecision",
    "SpearmanCorrCoef",
];

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_under("torchmetrics.") {
        let functional = facts.full_name(call).is_some_and(|name| name.contains(".functional."));
        let told = call.keyword("thresholds").is_some() || call.keyword("compute_on_cpu").is_some() || call.has_star();
        if functional || told || !CURVES.contains(&call.name) {
            continue;
        }
        let edits =
            if call.name == "SpearmanCorrCoef" { Vec::new() } else { facts.add_argument(call, "thresholds=200") };
        report
            .add(call, format!("`{}` keeps every score and target of the epoch on the GPU", call.name))
            .doubtful_if(!takes_pixels(facts, call))
            .because(&call.node.arguments, "no `thresholds`: the exact curve needs them all")
            .unsafe_fix("Use a table of 200 thresholds", edits);
    }
}

/// Whether a metric is fed every pixel: a flattened map in a file about segmentation.
fn takes_pixels(facts: &Facts<'_>, made: &Call<'_>) -> bool {
    let Some(Stmt::Assign(assign)) = facts.statement(made.at.stmt).map(|found| found.node) else { return false };
    let Some(name) = assign.targets.first().and_then(last_name) else { return false };
    let text = facts.source.text.to_ascii_lowercase();
    let maps = ["segmentation", "unet", "voxel", "pixel"].iter().any(|word| text.contains(word));
    let flat = |call: &Call<'_>| {
        let given = call.arg(0).and_then(|given| facts.call_at(given));
        given.is_some_and(|given| match given.name {
            "flatten" | "ravel" => given.node.arguments.is_empty(),
            "view" | "reshape" => given.arg(0).is_some_and(|size| is_number(size, -1)) && given.args.len() == 1,
            _ => false,
        })
    };
    let fed = |call: &&Call<'_>| match &*call.node.func {
        Expr::Attribute(method) if matches!(call.name, "update" | "forward") => last_name(&method.value) == Some(name),
        func => last_name(func) == Some(name),
    };
    maps && facts.calls().iter().filter(fed).any(flat)
}
