//! `oom-by-string`: running out of memory is told from the words of an error.

use crate::analysis::events::BlockKind;
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::ast::{CmpOp, ExceptHandlerExceptHandler};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::questions::string_literal;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "oom-by-string",
    group: Group::Recovery,
    level: Level::Warning,
    fix: None,
    summary: "A handler looks for \"out of memory\" in the text of a `RuntimeError`.",
    why: "Running out of memory has a class of its own, `torch.OutOfMemoryError`. The text is no promise: when it changes, \
          or comes from another library, the recovery never runs, or runs for an error that has nothing to do with memory.",
    cost: "None while the words match; a job that ends where it should recover when they do not.",
    instead: "`except torch.OutOfMemoryError`; `torch.cuda.OutOfMemoryError` is the same class and exists since 1.13.",
    when_not: "Errors of other libraries, such as cuBLAS or NCCL, are meant too, or torch is older than 1.13.",
    examples: &[
        Example {
            bad: "\
import torch

def step(model, batch):
    try:
        model(batch).sum().backward()
    except RuntimeError as error:
        if 'out of memory' in str(error):
            print('skipping a batch')
            model.zero_grad()
        else:
            raise
",
            good: "\
import torch

def step(model, batch):
    try:
        model(batch).sum().backward()
    except torch.OutOfMemoryError:
        print('skipping a batch')
        model.zero_grad()
",
        },
        Example {
            bad: "\
import torch

def probe(run, size):
    try:
        run(size)
        return True
    except Exception as e:
        if not e.args[0].startswith('CUDA out of memory'):
            raise
        return False
",
            good: "\
import torch

def probe(run, size):
    try:
        run(size)
        return True
    except torch.cuda.OutOfMemoryError:
        return False
",
        },
    ],
    silent_on: &[
        "\
import torch

def load(build, fall_back):
    try:
        return build()
    except Exception as error:
        text = str(error).lower()
        if 'expandable_segment' in text or 'cudaalloc' in text or 'out of memory' in text:
            return fall_back()
        raise
",
        "\
import sys
import torch

def main(run):
    try:
        run()
    except RuntimeError as error:
        print('failed:', error)
        if 'CUDA out of memory' in str(error):
            print('try a smaller batch')
        sys.exit(1)
",
        "\
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if 'out of memory' in str(error):
            raise RuntimeError('reduce the batch size') from error
        raise
",
        "\
import torch

def step(run, batch):
    try:
        run(batch)
    except Exception as error:
        if 'out of memory' in str(error):
            print('reduce the batch size')
        raise
",
        "\
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if 'out of memory' in str(error) or 'CUBLAS_STATUS_ALLOC_FAILED' in str(error):
            return None
        raise
",
        "\
import torch

def step(run):
    try:
        run()
    except torch.OutOfMemoryError:
        print('out of memory')
",
        "\
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        print('perhaps out of memory:', error)
        raise
",
        "\
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if isinstance(error, torch.cuda.OutOfMemoryError) or 'out of memory' in str(error):
            return None
        raise
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for (id, block) in facts.blocks() {
        let BlockKind::Handler(handler) = block.kind else { continue };
        let kind = handler.type_.as_deref().map_or("", |kind| facts.source.slice(kind.range()));
        let general = kind.is_empty() || kind == "RuntimeError" || kind == "Exception" || kind == "(RuntimeError,)";
        let text = facts.source.slice(handler.range());
        let others =
            ["CUBLAS", "cublas", "CUDNN", "cuDNN", "cudnn", "NCCL", "ALLOC", "Allocator", "MPS", "XLA", "HIP", "XPU"];
        // A handler that raises in any case only words its report by it.
        let leaves = facts.statements().iter().any(|statement| {
            let leaves = matches!(statement.node, Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_));
            leaves && facts.is_inside(statement.block, id)
        });
        let reports = handler.body.last().is_some_and(ends_program) && !leaves;
        let words: Vec<TextRange> = words_tested(handler);
        let recovers = words.first().is_some_and(|word| recovers(facts, &handler.body, *word));
        if !general || reports || !recovers || words.is_empty() || others.iter().any(|word| text.contains(word)) {
            continue;
        }
        // The class is asked for too: the words are a second net.
        if text.contains("OutOfMemoryError") {
            continue;
        }
        let place = handler.type_.as_deref().map_or(words[0], Ranged::range);
        report
            .add(&words[0], "Running out of memory is told by its words: catch `torch.OutOfMemoryError`")
            .because(&place, "this catches every error of its kind");
    }
}

/// Whether a statement raises, or ends the program.
fn ends_program(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Raise(_) => true,
        Stmt::Expr(node) => match &*node.value {
            Expr::Call(call) => matches!(last_name(&call.func), Some("exit" | "_exit" | "quit" | "abort")),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the program goes on where the words are found. A branch that ends in an error only words a report.
fn recovers(facts: &Facts<'_>, body: &[Stmt], word: TextRange) -> bool {
    let branch = body.iter().find_map(|stmt| match stmt {
        Stmt::If(node) if node.test.range().contains_range(word) => Some(node),
        _ => None,
    });
    // Tested elsewhere: in a helper variable, or deeper.
    let Some(branch) = branch else { return true };
    let test = facts.written(&*branch.test);
    let negated = test.contains(" not in ") || test.starts_with("not ");
    negated || !branch.body.last().is_some_and(ends_program)
}

fn is_oom_text(text: &str) -> bool {
    text.to_ascii_lowercase().contains("out of memory")
}

/// Whether a test looks for other words than those of running out of memory too.
fn names_another_error(test: &Expr) -> bool {
    struct Others(bool);
    impl<'a> SourceOrderVisitor<'a> for Others {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0 |= string_literal(expr).is_some_and(|text| !is_oom_text(text));
            walk_expr(self, expr);
        }
    }
    let mut others = Others(false);
    others.visit_expr(test);
    others.0
}

/// Where a handler tests for the words: `"..." in str(e)`, `startswith("...")`.
fn words_tested(handler: &ExceptHandlerExceptHandler) -> Vec<TextRange> {
    struct Tests(Vec<TextRange>);
    impl<'a> SourceOrderVisitor<'a> for Tests {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let says = |expr: &Expr| string_literal(expr).is_some_and(is_oom_text);
            // `"out of memory" in text or "cudaalloc" in text` means more than the class has.
            if matches!(expr, Expr::BoolOp(node) if node.op.is_or()) && names_another_error(expr) {
                return;
            }
            let found = match expr {
                Expr::Compare(test) => says(&test.left) && matches!(test.ops.first(), Some(CmpOp::In | CmpOp::NotIn)),
                Expr::Call(call) => {
                    let method = matches!(&*call.func, Expr::Attribute(method) if matches!(method.attr.as_str(), "startswith" | "find" | "__contains__"));
                    method && call.arguments.args.first().is_some_and(says)
                }
                _ => false,
            };
            if found {
                self.0.push(expr.range());
            }
            walk_expr(self, expr);
        }
    }
    let mut tests = Tests(Vec::new());
    walk_body(&mut tests, &handler.body);
    tests.0
}
