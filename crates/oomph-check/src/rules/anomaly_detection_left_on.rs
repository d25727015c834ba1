//! `anomaly-detection-left-on`: a debugging aid that stays in the finished program.

use crate::analysis::events::{At, BlockKind, Call};
use crate::analysis::outline::{Outline, Usage};
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts};
use crate::python::{Expr, Ranged, Stmt};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "anomaly-detection-left-on",
    group: Group::GradMode,
    size: Size::per_batch(Amount::Small).wasted(),
    is_opportunity: false,
    fix: None,
    summary: "Anomaly detection is switched on for the whole run, unconditionally.",
    why: "Every node of every graph then records the Python stack that made it, and every backward function is checked \
          for NaN with a synchronisation.",
    cost: "A stack trace per operation in main memory, kept as long as the graph, and training several times slower.",
    instead: "Switch it on only to hunt a NaN, behind a flag: `torch.autograd.set_detect_anomaly(args.debug)`.",
    when_not: "The program exists to debug.",
    programs: include_str!("anomaly_detection_left_on.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() || is_no_training(facts) {
        return;
    }
    let switches = || {
        facts
            .calls_to("torch.autograd.set_detect_anomaly")
            .chain(facts.calls_to("torch.autograd.anomaly_mode.set_detect_anomaly"))
    };
    // Lightning's trainer sets it anew for every fit, off unless told otherwise.
    let is_reset = facts.source.text.contains("LightningModule") || trainers(facts).next().is_some();
    let switched_off = is_reset || switches().any(|call| !is_true(call.arg(0).or_else(|| call.keyword("mode"))));
    for call in switches() {
        let on = is_true(call.arg(0).or_else(|| call.keyword("mode")));
        let tells = on && is_statement(facts, call) && !switched_off && is_unconditional(facts, &call.at);
        if tells && !is_self_check(facts, &call.at) {
            report
                .add(call, "Anomaly detection stays on: every operation of every step records its Python stack")
                .because(call, "switched on without a condition, and never off");
        }
    }
    for item in facts.withs() {
        let Expr::Call(node) = item.expr else { continue };
        let detects = matches!(
            facts.name_of(&item.value),
            Some(
                "torch.autograd.detect_anomaly"
                    | "torch.autograd.set_detect_anomaly"
                    | "torch.autograd.anomaly_mode.detect_anomaly"
            )
        );
        let literal = node.arguments.args.first().is_none_or(|arg| is_true(Some(arg)));
        // Around the loop or in it: either way every step is watched.
        let around = || {
            let inside = |id: &BlockId| {
                facts.is_inside(*id, item.body) && facts.effects_in(Effect::Backward, *id).next().is_some()
            };
            let mut loops = facts.blocks().filter(|(_, block)| block.kind.loop_kind().is_some());
            loops.find(|(id, _)| inside(id)).map(|(_, block)| block.range)
        };
        if !detects {
            continue;
        }
        let Some(turns) = facts.batch_loop(&item.at).map(|batches| batches.head()).or_else(around) else { continue };
        if detects && literal && node.arguments.keywords.is_empty() && is_unconditional(facts, &item.at) {
            report
                .add(item.expr, "Anomaly detection is on in every step: every operation records its Python stack")
                .because(&turns, "once a batch, without a condition");
        }
    }
    for call in trainers(facts).filter(|call| call.keyword_is("detect_anomaly", true)) {
        let Some(flag) = call.keyword("detect_anomaly") else { continue };
        report
            .add(flag, "Anomaly detection is on for the whole fit: every operation records its Python stack")
            .because(call, "the trainer switches it on for every step");
    }
}

/// Trainers of Lightning that the file makes.
fn trainers<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Call<'a>> {
    let is_it = |call: &&Call<'a>| facts.full_name(call).is_some_and(|name| name.starts_with("lightning."));
    facts.calls_named("Trainer").filter(is_it)
}

/// Whether the program, by its name, evaluates or exists to debug, or nothing in the project goes back.
fn is_no_training(facts: &Facts<'_>) -> bool {
    let name = facts.source.name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let words = |word: &str| {
        matches!(word, "demo" | "test" | "testing" | "inference" | "infer" | "predict") || word.starts_with("eval")
    };
    let debugs = stem == "debug" || ["_debug", "_dev"].iter().any(|end| stem.ends_with(end));
    let by_name = stem.split(['_', '-', '.']).any(words) && !stem.contains("train") || debugs;
    by_name || !facts.tables().outlines.iter().any(goes_back)
}

/// Whether it is in a file's own `__main__`, and nothing there or in the file trains or hands on to what does: a check of
/// the code above it.
fn is_self_check(facts: &Facts<'_>, at: &At) -> bool {
    const TRAINS: &[&str] = &["optim", ".step(", ".fit(", "train", "main(", "run(", "launch"];
    let is_main = facts.blocks_around(at).find(|(_, block)| matches!(block.kind, BlockKind::Main));
    is_main.is_some_and(|(_, block)| {
        let text = facts.source.slice(block.range);
        // One pass there and back is a check; in a loop it is training.
        let repeats = text.contains("for ") || text.contains("while ");
        let trains = TRAINS.iter().any(|word| text.contains(word)) || repeats && text.contains("backward()");
        !trains && !facts.source.text.contains("optim.")
    })
}

/// Whether a file computes gradients, or lets a framework do so.
fn goes_back(outline: &Outline<'_>) -> bool {
    let calls = |name: &&str| outline.usage(name).any(Usage::CALLED);
    ["backward", "manual_backward", "grad", "fit", "train", "Trainer"].iter().any(calls)
        || outline.functions.iter().any(|function| function.node.name.as_str() == "training_step")
}

fn is_true(expr: Option<&Expr>) -> bool {
    matches!(expr, Some(Expr::BooleanLiteral(literal)) if literal.value)
}

fn is_statement(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let statement = facts.statement(call.at.stmt).map(|statement| statement.node);
    matches!(statement, Some(Stmt::Expr(node)) if node.value.range() == call.range())
}

/// Whether no `if`, `except` or `case` decides, and nothing named like a test or a debugging helper is around.
fn is_unconditional(facts: &Facts<'_>, at: &At) -> bool {
    let name = facts.function_name(at).to_ascii_lowercase();
    let harmless =
        name.starts_with("test") || name.contains("debug") || name.contains("nan") || name.contains("anomaly");
    !harmless
        && facts
            .blocks_around(at)
            .all(|(_, block)| block.kind.is_unconditional() || matches!(block.kind, BlockKind::Function(_)))
}
