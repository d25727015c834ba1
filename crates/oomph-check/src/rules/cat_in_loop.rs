//! `cat-in-loop`: a tensor grows by concatenation, copied whole each time.

use crate::analysis::events::{BlockKind, Call, Callee, LoopKind};
use crate::analysis::value::{BlockId, Device, Value};
use crate::facts::{Effect, Facts, FunctionKind, Loop};
use crate::python::{Expr, Ranged, Stmt, count_reads, count_reads_in, root_name};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "cat-in-loop",
    group: Group::Data,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A tensor is concatenated with itself and something new on every turn of a loop.",
    why: "Each turn copies everything collected so far into a new tensor, with the old one still alive, and every new one \
          has a size the allocator has not seen.",
    cost: "Twice what is collected at the peak, copies that grow with the square of the turns, and odd block sizes.",
    instead: "Append to a list and concatenate once after the loop, or fill a tensor made beforehand.",
    when_not: "The grown tensor is needed whole on every turn, as in decoding token by token.",
    programs: include_str!("cat_in_loop.py"),
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
        if facts.kind_at(&call.at) == FunctionKind::Forward {
            continue;
        }
        let items = || facts.model_loop(&call.at).filter(|turns| grows_on_gpu(facts, call, target, turns));
        let Some(turns) = facts.loops(&call.at).find(many).or_else(items) else {
            grows_by_call(facts, report, call, target);
            continue;
        };
        if is_rebound(facts, call, target, turns.block) || is_of_turn(facts, target, &turns) {
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
        let each = match turns.kind {
            LoopKind::Steps => "step",
            LoopKind::Loader | LoopKind::Chunks => "batch",
            _ => "turn",
        };
        report
            .add(call, format!("`{text}` is copied whole on every {each}, with the old copy still alive"))
            .because(&turns.head(), format!("once a {each}"))
            .because(call, format!("`{text}` goes in and comes out, and nothing else in the loop reads it"));
    }
}

/// Whether a loop over items, outside of any network, adds something on the GPU on each of its turns.
fn grows_on_gpu(facts: &Facts<'_>, call: &Call<'_>, target: &Expr, turns: &Loop<'_>) -> bool {
    let text = facts.source.slice(target.range());
    // `if bank is None: bank = first`, `else: bank = torch.cat(...)`.
    let first = |test: &Expr| facts.mentions_word(test.range(), text);
    let always =
        facts.blocks_around(&call.at).take_while(|(id, _)| *id != turns.block).all(|(_, block)| match block.kind {
            BlockKind::If(Some(asked)) | BlockKind::Else(asked) => first(asked),
            kind => kind.is_unconditional(),
        });
    let in_main_memory = |value: &Value| value.device == Device::Cpu;
    let items = call.args.first().and_then(|items| items.parts.clone());
    let moved = facts.written(call).contains("cpu") || items.is_some_and(|items| items.iter().any(in_main_memory));
    let on_gpu = |pass: &Call<'_>| {
        let runs = pass.callee == Callee::Module && pass.result.device == Device::Cuda;
        runs && facts.is_inside(pass.at.block, turns.block)
    };
    always
        && !moved
        && facts.calls().iter().any(on_gpu)
        && !facts.class_kind(&call.at).is_module()
        && !adds_number(facts, call, target)
}

/// A method that adds to a tensor of its object, called once a batch: `bank.add(features)`.
fn grows_by_call(facts: &Facts<'_>, report: &mut Report, call: &Call<'_>, target: &Expr) {
    let own = matches!(target, Expr::Attribute(node) if matches!(&*node.value, Expr::Name(name) if name.id.as_str() == "self"));
    let block = facts.function_block(&call.at);
    let number = adds_number(facts, call, target);
    if !own || number || facts.loops(&call.at).next().is_some() || is_rebound(facts, call, target, block) {
        return;
    }
    let Some(function) = facts.function(&call.at).filter(|_| facts.is_called_per_batch(&call.at)) else { return };
    let text = facts.source.slice(target.range());
    report
        .add(call, format!("`{text}` is copied whole on every batch, with the old copy still alive"))
        .because(&function.node.name, "called once a batch")
        .because(call, format!("`{text}` goes in and comes out"));
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

/// Whether the target is a part of what the loop gives each turn: `batch.x = torch.cat([batch.x, extra])`.
fn is_of_turn(facts: &Facts<'_>, target: &Expr, turns: &Loop<'_>) -> bool {
    let BlockKind::Loop(_, Stmt::For(node)) = turns.node else { return false };
    root_name(target).is_some_and(|name| facts.target_binds(&node.target, name))
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
