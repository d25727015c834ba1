//! `pin-memory-in-loop`: main memory is page-locked again for every batch.

use crate::analysis::events::LoopKind;
use crate::analysis::value::Kind;
use crate::facts::{Facts, FunctionKind};
use crate::finding::Level;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "pin-memory-in-loop",
    group: Group::Data,
    level: Level::Warning,
    fix: None,
    summary: "`pin_memory()` is called for every batch or sample.",
    why: "Pinning copies the tensor into page-locked memory, on the thread that waits for it, and torch caches such memory \
          and seldom gives it back. In a worker process it also opens a CUDA context.",
    cost: "Page-locked main memory, rounded up to powers of two, and half a gigabyte on the GPU for each worker that does \
           it.",
    instead: "`DataLoader(..., pin_memory=True)`: a thread pins ahead of time. Or fill one pinned buffer again and again.",
    when_not: "A batch type of your own with a `pin_memory` method, which the loader's thread calls.",
    examples: &[
        Example {
            bad: "\
import torch

for x, y in loader:
    x = x.pin_memory().cuda(non_blocking=True)
    print(x.mean().item())
",
            good: "\
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
for x, y in loader:
    x = x.cuda(non_blocking=True)
    print(x.mean().item())
",
        },
        Example {
            bad: "\
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __getitem__(self, index):
        return torch.from_numpy(self.points[index]).pin_memory()
",
            good: "\
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __getitem__(self, index):
        return torch.from_numpy(self.points[index])
",
        },
    ],
    silent_on: &[
        "\
import torch

class Batch:
    def pin_memory(self):
        for name in self.names:
            setattr(self, name, getattr(self, name).pin_memory())
        return self
",
        "\
import torch

buffer = torch.empty(64, 3, 224, 224).pin_memory()
for x, _ in loader:
    buffer.copy_(x)
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_named("pin_memory") {
        let module_like =
            matches!(call.receiver.as_ref().map(|value| value.kind), None | Some(Kind::Loader | Kind::External(_)));
        if module_like || !call.node.arguments.is_empty() || facts.function_name(&call.at).contains("pin_memory") {
            continue;
        }
        let what = call.receiver_expr().map_or("the batch", |expr| facts.written(expr));
        let what = if what.contains('\n') || what.len() > 40 { "the batch" } else { what };
        let turns = facts.loops(&call.at).find(|turns| turns.kind == LoopKind::Loader);
        let in_worker = matches!(facts.kind_at(&call.at), FunctionKind::GetItem | FunctionKind::Collate);
        if let Some(turns) = turns {
            report
                .add(
                    call,
                    format!("`{what}` is copied into page-locked memory on every batch, and that is seldom given back"),
                )
                .because(&turns.head(), "once a batch");
        } else if in_worker {
            report
                .add(call, format!("`{what}` is pinned in a worker: each worker opens a CUDA context for it"))
                .because(call, "this function runs in the loader's workers");
        }
    }
}
