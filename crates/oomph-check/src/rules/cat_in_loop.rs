//! `cat-in-loop`: a tensor grows by concatenation, copied whole each time.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::analysis::value::BlockId;
use crate::facts::{Facts, FunctionKind};
use crate::finding::Level;
use crate::python::{Expr, Ranged, Stmt, count_reads, count_reads_in};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "cat-in-loop",
    group: Group::Data,
    level: Level::Warning,
    fix: None,
    summary: "A tensor is concatenated with itself and something new on every turn of a loop.",
    why: "Each turn copies everything collected so far into a new tensor, with the old one still alive, and every new one \
          has a size the allocator has not seen.",
    cost: "Twice what is collected at the peak, copies that grow with the square of the turns, and odd block sizes.",
    instead: "Append to a list and concatenate once after the loop, or fill a tensor made beforehand.",
    when_not: "The grown tensor is needed whole on every turn, as in decoding token by token.",
    examples: &[Example {
        bad: "\
import torch

preds = torch.tensor([])
with torch.no_grad():
    for x, _ in test_loader:
        preds = torch.cat([preds, model(x)])
",
        good: "\
import torch

parts = []
with torch.no_grad():
    for x, _ in test_loader:
        parts.append(model(x))
preds = torch.cat(parts)
",
    }],
    silent_on: &[
        "\
import torch

for _ in range(max_new_tokens):
    logits = model(ids)
    ids = torch.cat([ids, logits.argmax(-1)], dim=1)
",
        "\
import torch

for x, y in loader:
    x = torch.cat([x, x.flip(0)])
    print(model(x))
",
    ],
    check,
};

const CATS: &[&str] = &["torch.cat", "torch.concat", "torch.concatenate", "torch.vstack", "torch.hstack"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in CATS.iter().flat_map(|name| facts.calls_to(name)) {
        let Some(Stmt::Assign(assign)) = facts.statement(call.at.stmt).map(|statement| statement.node) else {
            continue;
        };
        let (Some(Expr::Name(target)), true) = (assign.targets.first(), assign.value.range() == call.node.range())
        else {
            continue;
        };
        let items = match call.arg(0) {
            Some(Expr::List(list)) => &list.elts,
            Some(Expr::Tuple(tuple)) => &tuple.elts,
            _ => continue,
        };
        let name = target.id.as_str();
        let grows =
            items.len() > 1 && items.iter().any(|item| matches!(item, Expr::Name(found) if found.id.as_str() == name));
        let Some(turns) = facts.loops(&call.at).find(|found| found.kind == LoopKind::Loader) else { continue };
        let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { continue };
        let rebound = is_rebound(facts, call, &assign.targets[0], turns.block);
        // Read only by the concatenation itself and by a first test: nothing needs it whole on every turn.
        let reads = count_reads(&node.body, name) - reads_in_test(facts, call, name);
        if !grows || rebound || reads > 1 || facts.kind_at(&call.at) == FunctionKind::Forward {
            continue;
        }
        report
            .add(call, format!("`{name}` is copied whole on every batch, with the old copy still alive"))
            .because(&turns.head(), "once a batch")
            .because(call, format!("`{name}` goes in and comes out, and nothing else in the loop reads it"));
    }
}

/// Whether another statement of the loop binds the name, but for the other branch of `if x is None: x = first`.
fn is_rebound(facts: &Facts<'_>, call: &Call<'_>, target: &Expr, turns: BlockId) -> bool {
    let text = facts.source.slice(target.range());
    let here = facts.block(call.at.block);
    facts.binds_of(text).any(|bind| {
        let there = facts.block(bind.at.block);
        let other_branch = here.parent == there.parent && matches!(here.kind, BlockKind::Else(_) | BlockKind::If(_));
        bind.at.stmt != call.at.stmt && !other_branch && facts.is_inside(bind.at.block, turns)
    })
}

/// How often the test of the `if` around the call reads the name.
fn reads_in_test(facts: &Facts<'_>, call: &Call<'_>, name: &str) -> usize {
    match facts.block(call.at.block).kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => count_reads_in(test, name),
        _ => 0,
    }
}
