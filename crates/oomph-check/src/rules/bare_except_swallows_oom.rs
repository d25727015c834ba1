//! `bare-except-swallows-oom`: a training step that failed half-way is passed over.

use crate::analysis::events::Call;
use crate::analysis::value::BlockId;
use crate::facts::{Effect, Facts, Loop};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::ast::{ExceptHandler, ExceptHandlerExceptHandler};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, string_of};

pub(super) static RULE: Rule = Rule {
    name: "bare-except-swallows-oom",
    group: Group::Recovery,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: false,
    fix: None,
    summary: "A training loop catches every error of its step and goes on.",
    why: "Running out of memory is among those errors. The step may have stopped in the midst of `backward()`: some \
          gradients are there, some are not, and the next step adds to them. The names of the failed step still hold its \
          tensors when the next one begins, so it runs out of memory too, and the loop runs to its end having trained \
          nothing.",
    cost: "Part of the gradients and the activations of the failed step at the start of the next one.",
    instead: "Catch what is expected. For running out of memory: `except torch.OutOfMemoryError`, then clear gradients.",
    when_not: "Only reading the data stands in the `try`.",
    programs: include_str!("bare_except_swallows_oom.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    check_suppressed(facts, report);
    for (block, handler) in facts.handlers() {
        let Some(caught) = catches_all(facts, handler) else { continue };
        let Some(tried) = facts.tried(block).filter(|_| !is_caught_before(facts, handler)) else { continue };
        let Some(backward) = facts.effects_in(Effect::Backward, tried).next() else { continue };
        let Some(batches) = facts.batch_loop(&backward.at).filter(|turns| facts.is_inside(block, turns.block)) else {
            continue;
        };
        if !goes_on(facts, block, handler) {
            continue;
        }
        let Some(consequence) = consequence(facts, backward, &batches) else { continue };
        report
            .add(&caught, format!("This passes over running out of memory too: {consequence}"))
            .because(backward, "this may have stopped half-way")
            .because(&batches.head(), "the loop goes on with the next batch");
    }
}

/// `with suppress(RuntimeError):` around a step: a handler that does nothing.
fn check_suppressed(facts: &Facts<'_>, report: &mut Report) {
    for item in facts.withs() {
        let Some(call) = facts.call_at(item.expr) else { continue };
        let all = |class: &Expr| matches!(facts.written(class), "Exception" | "BaseException" | "RuntimeError");
        let suppresses = facts.full_name(call) == Some("contextlib.suppress");
        let Some(caught) = call.node.arguments.args.iter().find(|class| all(class)).filter(|_| suppresses) else {
            continue;
        };
        let Some(backward) = facts.effects_in(Effect::Backward, item.body).next() else { continue };
        let Some(batches) = facts.batch_loop(&backward.at).filter(|turns| facts.is_inside(item.body, turns.block))
        else {
            continue;
        };
        let Some(consequence) = consequence(facts, backward, &batches) else { continue };
        report
            .add(caught, format!("This passes over running out of memory too: {consequence}"))
            .because(backward, "this may have stopped half-way")
            .because(&batches.head(), "the loop goes on with the next batch");
    }
}

/// What the next step begins with; nothing where a helper clears gradients itself and takes its names with it.
fn consequence(facts: &Facts<'_>, backward: &Call<'_>, batches: &Loop<'_>) -> Option<&'static str> {
    let before = |zero: &Call<'_>| zero.at.order <= backward.at.order && facts.is_always_before(&zero.at, &backward.at);
    let helper = facts.callee_summary(backward);
    if helper.is_some_and(|summary| summary.zeroes_before) {
        return None;
    }
    let cleared = facts.effects_in(Effect::ZeroGrad, batches.block).any(before);
    if cleared && facts.read_in_place(backward.range()).is_some() {
        return None;
    }
    Some(if cleared {
        "the graph of the failed step is still alive when the next one begins"
    } else {
        "the next step begins with half of this one's gradients"
    })
}

/// The head of a handler that catches everything.
fn catches_all(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
    match handler.type_.as_deref() {
        None => Some(TextRange::at(handler.range().start(), crate::python::TextSize::from(6))),
        Some(kind) => matches!(facts.source.slice(kind.range()), "Exception" | "BaseException" | "RuntimeError")
            .then(|| kind.range()),
    }
}

/// Whether an earlier handler of the same `try` takes running out of memory: this one never sees it.
fn is_caught_before(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> bool {
    let takes = |earlier: &ExceptHandler| {
        let ExceptHandler::ExceptHandler(earlier) = earlier;
        let kind = earlier.type_.as_deref().map_or("", |kind| facts.source.slice(kind.range()));
        earlier.end() <= handler.start()
            && ["RuntimeError", "OutOfMemoryError", "Exception"].iter().any(|name| has_word(kind, name))
    };
    facts.statements().iter().any(|statement| match statement.node {
        Stmt::Try(node) => {
            node.handlers.iter().any(|own| own.range() == handler.range()) && node.handlers.iter().any(takes)
        }
        _ => false,
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// Whether the handler only reports and goes on: nothing is cleared, freed, raised or left.
fn goes_on(facts: &Facts<'_>, block: BlockId, handler: &ExceptHandlerExceptHandler) -> bool {
    // What is only printed mends nothing.
    let text = without_strings(facts, handler);
    let mends = [
        "zero_grad",
        "raise",
        "exit(",
        "del ",
        "abort",
        "kill",
        "grad = None",
        "return",
        "fail(",
        "failed",
        "failure = ",
        "break",
        "recover",
        "restore",
        "load",
        "set_trace",
        "breakpoint",
        "embed(",
    ];
    // Only code tells errors apart: a remark about running out of memory does not.
    let by_words = compares_words(handler);
    let leaves = facts.statements().iter().any(|statement| {
        matches!(statement.node, Stmt::Raise(_) | Stmt::Return(_) | Stmt::Break(_))
            && facts.is_inside(statement.block, block)
    });
    !leaves && !by_words && !mends.iter().any(|word| text.contains(word))
}

/// Whether a handler asks the error for the words of running out of memory.
fn compares_words(handler: &ExceptHandlerExceptHandler) -> bool {
    struct Words(bool);
    impl<'a> SourceOrderVisitor<'a> for Words {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Compare(test) = expr {
                let sides = std::iter::once(&*test.left).chain(&test.comparators);
                self.0 |= sides.into_iter().filter_map(string_of).any(|text| text.contains("memory"));
            }
            if let Expr::Call(call) = expr {
                let name = last_name(&call.func).unwrap_or_default().to_ascii_lowercase();
                self.0 |= name.contains("oom") || name.contains("out_of_memory");
            }
            walk_expr(self, expr);
        }
    }
    let mut words = Words(false);
    walk_body(&mut words, &handler.body);
    words.0
}

/// The code of a handler without its strings.
fn without_strings(facts: &Facts<'_>, handler: &ExceptHandlerExceptHandler) -> String {
    struct Strings(Vec<TextRange>);
    impl<'a> SourceOrderVisitor<'a> for Strings {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if matches!(expr, Expr::StringLiteral(_) | Expr::FString(_)) {
                self.0.push(expr.range());
            } else {
                walk_expr(self, expr);
            }
        }
    }
    let mut strings = Strings(Vec::new());
    walk_body(&mut strings, &handler.body);
    let mut text = String::new();
    let mut from = handler.start();
    for string in strings.0 {
        text.push_str(facts.source.slice(TextRange::new(from, string.start())));
        from = string.end();
    }
    text.push_str(facts.source.slice(TextRange::new(from, handler.end())));
    text
}
