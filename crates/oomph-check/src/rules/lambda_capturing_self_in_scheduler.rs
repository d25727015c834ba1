//! `lambda-capturing-self-in-scheduler`: a schedule that holds the trainer that holds the schedule.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::ast::ExprLambda;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "lambda-capturing-self-in-scheduler",
    group: Group::Graph,
    size: Size::once(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "A scheduler's lambda refers to `self`, which keeps the scheduler.",
    why: "`self` holds the scheduler, the scheduler its lambda, and the lambda `self`: a cycle over the optimizer with all \
          its state and the model. Counting references frees none of it.",
    cost: "Parameters and optimizer state (three copies with Adam) of a finished run, until the cycle collector runs.",
    instead: "Give the lambda plain values: `lambda step, warmup=self.warmup: min(1.0, step / warmup)`.",
    when_not: "One trainer lives as long as the process.",
    programs: include_str!("lambda_capturing_self_in_scheduler.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let schedulers = ["torch.optim.lr_scheduler.LambdaLR", "torch.optim.lr_scheduler.MultiplicativeLR"];
    for call in schedulers.iter().flat_map(|name| facts.calls_to(name)) {
        if !is_kept_on_self(facts, call) {
            continue;
        }
        let Some(own) = self_name(facts, call) else { continue };
        let given = call.arg(1).or_else(|| call.keyword("lr_lambda"));
        let Some(Expr::Lambda(lambda)) = given else { continue };
        let captured = attributes_of(&lambda.body, own);
        let Some(first) = captured.first() else { continue };
        // One object for the whole run is freed with the program.
        let turns = facts.class_at(&call.at).and_then(|class| facts.made_again(class));
        report
            .add(lambda, format!("The lambda holds `{own}`, which holds the scheduler: optimizer state and model are freed only by the cycle collector"))
            .doubtful_if(turns.is_none())
            .because_if(turns, "another one is made each time around here")
            .because(first, format!("the lambda reads `{own}` each time it is called"))
            .because(call, format!("the scheduler is kept on `{own}`"))
            .unsafe_fix("Bind the values when the lambda is made", bound_values(facts, lambda, &captured, own));
    }
}

fn self_name<'a>(facts: &Facts<'a>, call: &Call<'_>) -> Option<&'a str> {
    let function = facts.function(&call.at)?;
    function.class?;
    Some(function.node.parameters.args.first()?.parameter.name.as_str())
}

/// Whether the scheduler, directly or in a list, becomes an attribute of `self`.
fn is_kept_on_self(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let Some(own) = self_name(facts, call) else { return false };
    match facts.statement(call.at.stmt).map(|statement| statement.node) {
        Some(Stmt::Assign(assign)) => assign.targets.iter().any(|target| {
            matches!(target, Expr::Attribute(node) if matches!(&*node.value, Expr::Name(base) if base.id.as_str() == own))
        }),
        _ => false,
    }
}

/// Every use of `self` in an expression: the attribute read, or `self` itself.
fn attributes_of<'a>(expr: &'a Expr, own: &str) -> Vec<&'a Expr> {
    struct Search<'a, 'n> {
        own: &'n str,
        found: Vec<&'a Expr>,
    }
    impl<'a> SourceOrderVisitor<'a> for Search<'a, '_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let is_self = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id.as_str() == self.own);
            match expr {
                Expr::Attribute(node) if is_self(&node.value) => self.found.push(expr),
                _ if is_self(expr) => self.found.push(expr),
                _ => walk_expr(self, expr),
            }
        }
    }
    let mut search = Search { own, found: Vec::new() };
    search.visit_expr(expr);
    search.found
}

/// `lambda s: s / self.n` becomes `lambda s, n=self.n: s / n`, when every use is a plain attribute that is not called.
fn bound_values(facts: &Facts<'_>, lambda: &ExprLambda, captured: &[&Expr], own: &str) -> Vec<Edit> {
    let Some(parameters) = lambda.parameters.as_deref() else { return Vec::new() };
    let mut names: Vec<&str> = Vec::new();
    let mut edits = Vec::new();
    for found in captured {
        let Expr::Attribute(node) = found else { return Vec::new() };
        let after = facts.source.slice(TextRange::new(found.end(), lambda.end()));
        let clash = parameters.iter().any(|parameter| parameter.name().as_str() == node.attr.as_str());
        if after.trim_start().starts_with('(') || clash {
            return Vec::new();
        }
        if !names.contains(&node.attr.as_str()) {
            names.push(node.attr.as_str());
        }
        edits.push(Edit::replace(found.range(), node.attr.as_str()));
    }
    let defaults = names.iter().map(|name| format!("{name}={own}.{name}")).collect::<Vec<_>>().join(", ");
    edits.insert(0, Edit::insert(parameters.end(), format!(", {defaults}")));
    edits
}
