//! `torchmetrics-unbinned-curves`: a metric stores every score of an epoch.

use crate::facts::Facts;
use crate::finding::{Level, Safety};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "torchmetrics-unbinned-curves",
    group: Group::Frameworks,
    level: Level::Info,
    fix: Some(Safety::Unsafe),
    summary: "A curve metric of torchmetrics keeps all scores and targets.",
    why: "Without `thresholds` the exact curve needs every score and target of the epoch, and the metric keeps them on the \
          GPU it was moved to, in a list that `compute` concatenates.",
    cost: "12 bytes a score, and as much again in `compute`: 10 million pixels are a quarter of a gigabyte, an epoch of \
           segmentation is far more.",
    instead: "`AUROC(task=\"binary\", thresholds=200)` needs a fixed table; `compute_on_cpu=True` moves the scores away.",
    when_not: "The validation set is small, or the exact value is required.",
    examples: &[Example {
        bad: "\
import torch
from torchmetrics import AUROC

auroc = AUROC(task='binary').cuda()
for x, y in loader:
    auroc.update(scores(x), y)
print(auroc.compute())
",
        good: "\
import torch
from torchmetrics import AUROC

auroc = AUROC(task='binary', thresholds=200).cuda()
for x, y in loader:
    auroc.update(scores(x), y)
print(auroc.compute())
",
    }],
    silent_on: &[
        "\
from torchmetrics import Accuracy, AUROC

accuracy = Accuracy(task='binary')
auroc = AUROC(task='binary', compute_on_cpu=True)
other = AUROC(**options)
",
        "\
from torchmetrics.functional import auroc
from sklearn.metrics import PrecisionRecallDisplay

print(auroc(scores, targets, task='binary'))
",
    ],
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
            .because(&call.node.arguments, "no `thresholds`: the exact curve needs them all")
            .unsafe_fix("Use a table of 200 thresholds", edits);
    }
}
