//! `cat-in-loop`: a tensor grows by concatenation, copied whole each time.

use crate::analysis::events::{BlockKind, Call, LoopKind};
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts, FunctionKind, Loop};
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
        let Some(target) = grown(facts, call) else { continue };
        let many = |found: &Loop<'_>| match found.kind {
            LoopKind::Loader | LoopKind::Chunks => true,
            // Thousands of steps of training, but one number from each is no memory.
            LoopKind::Steps => {
                facts.effects_in(Effect::Backward, found.block).next().is_some() && !adds_number(facts, call, target)
            }
            _ => false,
        };
        let Some(turns) = facts.loops(&call.at).find(many) else { continue };
        if facts.kind_at(&call.at) == FunctionKind::Forward || is_rebound(facts, call, target, turns.block) {
            continue;
        }
        // Read only by the concatenation itself and by a first test: nothing needs it whole on every turn.
        if let Expr::Name(name) = target {
            let reads = count_reads(facts.body_of(&turns), name.id.as_str());
            if reads > 1 + reads_in_test(facts, call, name.id.as_str()) {
                continue;
            }
        }
        let text = facts.source.slice(target.range());
        let each = if turns.kind == LoopKind::Steps { "step" } else { "batch" };
        report
            .add(call, format!("`{text}` is copied whole on every {each}, with the old copy still alive"))
            .because(&turns.head(), format!("once a {each}"))
            .because(call, format!("`{text}` goes in and comes out, and nothing else in the loop reads it"));
    }
}

/// What is bound to a concatenation of itself and more.
fn grown<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let Stmt::Assign(assign) = facts.statement(call.at.stmt)?.node else { return None };
    let whole = match &*assign.value {
        Expr::If(choice) => [&*choice.body, &*choice.orelse].iter().any(|arm| arm.range() == call.node.range()),
        value => value.range() == call.node.range(),
    };
    let items = match call.arg(0)? {
        Expr::List(list) => &list.elts[..],
        Expr::Tuple(tuple) => &tuple.elts[..],
        _ => return None,
    };
    let [target @ (Expr::Name(_) | Expr::Attribute(_))] = &assign.targets[..] else { return None };
    let text = facts.source.slice(target.range());
    let itself = items.iter().any(|item| facts.source.slice(item.range()) == text);
    (whole && itself && items.len() > 1).then_some(target)
}

/// Whether what is added is a number, by what makes it or by its name: `torch.cat([curve, loss.view(1)])`.
fn adds_number(facts: &Facts<'_>, call: &Call<'_>, target: &Expr) -> bool {
    let text = call.arg(0).map_or("", |items| facts.source.slice(items.range())).to_ascii_lowercase();
    let names = ["loss", "acc", "mean(", "sum(", "item(", "norm(", "unsqueeze(0)", "tensor(", "[none"];
    names.iter().any(|name| text.contains(name)) || facts.source.slice(target.range()).contains("loss")
}

/// Whether another statement of the loop binds the target, but for the other branch of `if x is None: x = first`.
fn is_rebound(facts: &Facts<'_>, call: &Call<'_>, target: &Expr, turns: BlockId) -> bool {
    let text = facts.source.slice(target.range());
    let name = text.rsplit('.').next().unwrap_or(text);
    let here = facts.block(call.at.block);
    facts.binds_of(name).any(|bind| {
        let there = facts.block(bind.at.block);
        let other_branch = here.parent == there.parent && matches!(here.kind, BlockKind::Else(_) | BlockKind::If(_));
        let same = facts.source.slice(bind.target.range()) == text;
        same && bind.at.stmt != call.at.stmt && !other_branch && facts.is_inside(bind.at.block, turns)
    })
}

/// How often the test of the `if` around the call, or of the choice it is an arm of, reads the name.
fn reads_in_test(facts: &Facts<'_>, call: &Call<'_>, name: &str) -> usize {
    let tests = facts.blocks_around(&call.at).take_while(|(_, block)| !matches!(block.kind, BlockKind::Loop(..)));
    let reads = tests.map(|(_, block)| match block.kind {
        BlockKind::If(Some(test)) | BlockKind::Else(test) => count_reads_in(test, name),
        _ => 0,
    });
    reads.sum()
}
