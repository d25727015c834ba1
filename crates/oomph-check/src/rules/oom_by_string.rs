//! `oom-by-string`: running out of memory is told from the words of an error.

use crate::analysis::events::{BlockKind, Callee};
use crate::analysis::value::BlockId;
use crate::facts::Facts;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_expr};
use crate::python::ast::{CmpOp, ExceptHandlerExceptHandler};
use crate::python::{Expr, Ranged, Stmt, TextRange, count_reads_in};
use crate::questions::string_literal;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "oom-by-string",
    group: Group::Recovery,
    size: Size::once(Amount::Small),
    is_opportunity: false,
    fix: None,
    summary: "A handler looks for \"out of memory\" in the text of a `RuntimeError`.",
    why: "Running out of memory has a class of its own, `torch.OutOfMemoryError`. The text is no promise: when it changes, \
          or comes from another library, the recovery never runs, or runs for an error that has nothing to do with memory.",
    cost: "None while the words match; a job that ends where it should recover when they do not.",
    instead: "`except torch.OutOfMemoryError`; `torch.cuda.OutOfMemoryError` is the same class and exists since 1.13.",
    when_not: "Errors of other libraries, such as cuBLAS or NCCL, are meant too, or torch is older than 1.13.",
    programs: include_str!("oom_by_string.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let mut helpers: Vec<TextRange> = Vec::new();
    for (id, block) in facts.blocks() {
        let BlockKind::Handler(handler) = block.kind else { continue };
        let kind = handler.type_.as_deref().map_or("", |kind| facts.source.slice(kind.range()));
        let general = kind.is_empty() || kind.split(|c: char| !c.is_alphanumeric() && c != '.').any(is_general);
        // A handler that raises in any case only words its report by it.
        let leaves = facts.statements().iter().any(|statement| {
            let leaves = matches!(statement.node, Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_));
            leaves && facts.is_inside(statement.block, id)
        });
        let reports = handler.body.last().is_some_and(ends_program) && !leaves;
        if !general || reports || means_others(facts.source.slice(handler.range())) {
            continue;
        }
        let tested = match words_tested(facts, &handler.body).first() {
            Some(word) => Some(*word),
            None => told_by_helper(facts, id, handler).filter(|word| !helpers.contains(word)),
        };
        let Some(word) = tested.filter(|word| recovers(facts, &handler.body, *word)) else { continue };
        helpers.push(word);
        let place = handler.type_.as_deref().map_or(word, Ranged::range);
        report
            .add(&word, "Running out of memory is told by its words: catch `torch.OutOfMemoryError`")
            .because(&place, "this catches every error of its kind");
    }
}

/// Whether a class of errors has running out of memory among much else.
fn is_general(class: &str) -> bool {
    matches!(class, "RuntimeError" | "Exception" | "BaseException")
}

/// Whether more than running out of memory is meant: errors of other libraries, or the class too, with the words as a
/// second net.
fn means_others(text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "CUBLAS",
        "cublas",
        "CUDNN",
        "cuDNN",
        "cudnn",
        "NCCL",
        "ALLOC",
        "Allocator",
        "MPS",
        "XLA",
        "HIP",
        "XPU",
        "OutOfMemoryError",
    ];
    OTHERS.iter().any(|word| text.contains(word))
}

/// Where a function that a handler asks about its error tests for the words: `if is_oom(error):`.
fn told_by_helper(facts: &Facts<'_>, block: BlockId, handler: &ExceptHandlerExceptHandler) -> Option<TextRange> {
    let caught = handler.name.as_ref()?.as_str();
    let asked = facts.calls().iter().filter(|call| facts.is_inside(call.at.block, block)).find_map(|call| {
        let given = call.node.arguments.args.iter().any(|arg| count_reads_in(arg, caught) > 0);
        match call.callee {
            Callee::Project(id) if given && facts.is_own(id) => Some(facts.function_def(id).node),
            _ => None,
        }
    })?;
    let answers = asked.body.iter().all(|stmt| !stmt.is_raise_stmt()) && !means_others(facts.written(asked));
    words_tested(facts, &asked.body).first().copied().filter(|_| answers)
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
    let negated = [" not in ", "== -1", "< 0"].iter().any(|way| test.contains(way)) || test.starts_with("not ");
    negated || !branch.body.last().is_some_and(ends_program)
}

fn is_oom_text(text: &str) -> bool {
    text.to_ascii_lowercase().contains("out of memory")
}

/// The strings of a list or tuple, written out or by its name.
fn literals<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Vec<&'a str> {
    let items = match expr {
        Expr::Tuple(tuple) => &tuple.elts[..],
        Expr::List(list) => &list.elts[..],
        Expr::Set(set) => &set.elts[..],
        Expr::Name(name) => {
            let mut given = facts.given_to(name.id.as_str());
            let found = given.next().filter(|found| !found.is_name_expr() && given.next().is_none());
            return found.map_or_else(Vec::new, |found| literals(facts, found));
        }
        _ => &[],
    };
    let texts: Vec<&str> = items.iter().filter_map(string_literal).collect();
    if texts.len() == items.len() { texts } else { Vec::new() }
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

/// Where a body tests for the words: `"..." in str(e)`, `startswith("...")`.
fn words_tested(facts: &Facts<'_>, body: &[Stmt]) -> Vec<TextRange> {
    struct Tests<'f, 's>(&'f Facts<'s>, Vec<TextRange>);
    impl<'a> SourceOrderVisitor<'a> for Tests<'_, '_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            // The words may have a name: `OOM = "CUDA out of memory"`.
            let named = |name: &str| self.0.given_to(name).any(|given| string_literal(given).is_some_and(is_oom_text));
            let says =
                |expr: &Expr| string_literal(expr).is_some_and(is_oom_text) || last_name(expr).is_some_and(named);
            // `"out of memory" in text or "cudaalloc" in text` means more than the class has.
            if matches!(expr, Expr::BoolOp(node) if node.op.is_or()) && names_another_error(expr) {
                return;
            }
            let found = match expr {
                // `any(word in text for word in ("out of memory", ...))`.
                Expr::Generator(node) => {
                    let tests =
                        matches!(&*node.elt, Expr::Compare(test) if matches!(test.ops.first(), Some(CmpOp::In)));
                    let mut words = node.generators.iter().flat_map(|part| literals(self.0, &part.iter)).peekable();
                    let short = |text: &str| text.to_ascii_lowercase().trim_start_matches("cuda ") == "oom";
                    tests && words.peek().is_some() && words.all(|text| is_oom_text(text) || short(text))
                }
                Expr::Compare(test) => says(&test.left) && matches!(test.ops.first(), Some(CmpOp::In | CmpOp::NotIn)),
                Expr::Call(call) => {
                    let method = matches!(&*call.func, Expr::Attribute(method) if matches!(method.attr.as_str(), "startswith" | "find" | "__contains__" | "search" | "match"));
                    method && call.arguments.args.first().is_some_and(says)
                }
                _ => false,
            };
            if found {
                self.1.push(expr.range());
            }
            walk_expr(self, expr);
        }
    }
    let mut tests = Tests(facts, Vec::new());
    walk_body(&mut tests, body);
    tests.1
}
