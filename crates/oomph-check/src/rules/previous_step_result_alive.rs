//! `previous-step-result-alive`: last step's output is still there while the next one is computed.

use crate::analysis::events::{Bind, BlockKind};
use crate::facts::{Effect, Facts, Loop};
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, count_reads};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "previous-step-result-alive",
    group: Group::Graph,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: true,
    fix: Some(Safety::Safe),
    summary: "The output of a step stays bound while the next step's forward pass runs.",
    why: "A name keeps its tensor until it is bound anew, and that happens only after the next forward pass has made the \
          new one. For that long, both exist.",
    cost: "One output more at the peak: 8 sequences of 2,048 tokens over 128,000 words are 4 GB of logits in bfloat16.",
    instead: "`del out, loss` at the end of the loop's body, or put the step into a function: its names end with it.",
    when_not: "The names are read after the loop or at the start of the next turn.",
    programs: include_str!("previous_step_result_alive.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut seen = Vec::new();
    for bind in facts.binds() {
        let Some(batches) = facts.innermost_batch_loop(&bind.at) else { continue };
        if seen.contains(&batches.block) || facts.effects_in(Effect::Backward, batches.block).next().is_none() {
            continue;
        }
        let names = lingering(facts, &batches);
        let Some(first) = names.first().filter(|first| first.target.range() == bind.target.range()) else { continue };
        seen.push(batches.block);
        let list = names.iter().map(|found| found.name).collect::<Vec<_>>().join(", ");
        report
            .add(first.target, format!("`{list}` of one step stays alive through the next forward pass"))
            .because(&batches.head(), "bound anew only when the next turn has made its own")
            .safe_fix("Delete it at the end of the turn", deleted(facts, &batches, &list));
    }
}

/// Names bound straight in the loop's body to outputs with a graph, and read nowhere but in that body, after they are bound.
fn lingering<'f, 'a>(facts: &'f Facts<'a>, batches: &Loop<'a>) -> Vec<&'f Bind<'a>> {
    let BlockKind::Loop(_, Stmt::For(node)) = batches.node else { return Vec::new() };
    let mut found: Vec<&Bind<'a>> = Vec::new();
    let whole = match facts.block(batches.block).function {
        Some(index) => &facts.outline().functions[index as usize].node.body[..],
        None => facts.source.body(),
    };
    for bind in facts.binds() {
        let Expr::Name(_) = bind.target else { continue };
        let direct = facts.loops(&bind.at).next().is_some_and(|inner| inner.block == batches.block)
            && facts.is_unconditional_in(&bind.at, batches.block);
        let swallowed = facts
            .blocks_around(&bind.at)
            .take_while(|(id, _)| *id != batches.block)
            .any(|(_, block)| !matches!(block.kind, BlockKind::With(_)));
        if !direct
            || swallowed
            || bind.name == "_"
            || !bind.value.keeps_graph()
            || found.iter().any(|other| other.name == bind.name)
        {
            continue;
        }
        let inside = count_reads(&node.body, bind.name);
        let elsewhere = count_reads(whole, bind.name) > inside || is_global(facts, bind.name, batches);
        let deleted = facts.deletes().iter().any(|delete| facts.source.slice(delete.target.range()) == bind.name);
        let early = reads_before(facts, bind, node.body.first().map_or(node.start(), Ranged::start));
        if !elsewhere && !deleted && !early {
            found.push(bind);
        }
    }
    found
}

/// Whether the name is read in the loop before it is bound.
fn reads_before(facts: &Facts<'_>, bind: &Bind<'_>, start: crate::python::TextSize) -> bool {
    let Some(statement) = facts.statement(bind.at.stmt) else { return true };
    if statement.node.start() < start {
        return true;
    }
    let text = facts.source.slice(crate::python::TextRange::new(start, statement.node.start()));
    let own = match statement.node {
        Stmt::Assign(assign) => facts.source.slice(assign.value.range()),
        _ => return true,
    };
    [text, own].iter().any(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == bind.name))
}

/// Whether others may see the name: it is declared global, or later cells of a notebook may read it.
fn is_global(facts: &Facts<'_>, name: &str, batches: &Loop<'_>) -> bool {
    let at_module = facts.block(batches.block).function.is_none();
    let declared = facts.source.text.lines().map(str::trim_start).any(|line| {
        let names = line.strip_prefix("global ").or_else(|| line.strip_prefix("nonlocal "));
        names.is_some_and(|names| names.split(',').any(|found| found.trim() == name))
    });
    declared || at_module && facts.source.kind == crate::source::Kind::Notebook
}

fn deleted(facts: &Facts<'_>, batches: &Loop<'_>, list: &str) -> Vec<Edit> {
    let BlockKind::Loop(_, Stmt::For(node)) = batches.node else { return Vec::new() };
    let Some(ending) = node.body.last() else { return Vec::new() };
    let reaches = !matches!(ending, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_));
    // A closure may outlive the turn, and `locals()` shows every name.
    let text = facts.source.slice(batches.range);
    let captured = ["lambda", "def ", "locals()", "globals()", "exec("].iter().any(|word| text.contains(word));
    let simple = node.orelse.is_empty() && reaches && !captured;
    match facts.statement_id(ending).filter(|_| simple) {
        Some(stmt) => facts.insert_after(stmt, &format!("del {list}")),
        None => Vec::new(),
    }
}
