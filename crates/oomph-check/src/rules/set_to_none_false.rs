//! `set-to-none-false`: cleared gradients stay allocated.

use crate::analysis::events::{At, Call, Callee};
use crate::analysis::tables::ClassKind;
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::{Expr, Ranged, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "set-to-none-false",
    group: Group::Optimizer,
    size: Size::per_batch(Amount::Model),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "`zero_grad(set_to_none=False)` fills gradients with zeros instead of dropping them.",
    why: "The zeros take as much room as the gradients did, all through the next forward pass, when the activations are \
          built up. Since torch 2.0 the default drops them.",
    cost: "The size of the trainable parameters, at the time of the peak.",
    instead: "`zero_grad()`.",
    when_not: "The gradients are read before the next backward pass, or must keep their addresses for a CUDA graph.",
    programs: include_str!("set_to_none_false.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_named("zero_grad") {
        let Some(argument) = keeps(call) else { continue };
        if needs_them(facts, call) {
            continue;
        }
        let cleared = call.receiver_expr().map_or("", |expr| facts.source.slice(expr.range()));
        report
            .add(call, format!("`{cleared}` keeps its gradients allocated as zeros through the next forward pass"))
            .because(&argument, "this asks for zeros; the default drops the gradients")
            .unsafe_fix("Drop the gradients", facts.remove_argument(call, argument));
    }
}

/// The argument that asks for zeros.
fn keeps(call: &Call<'_>) -> Option<TextRange> {
    let is_false = |expr: &Expr| matches!(expr, Expr::BooleanLiteral(literal) if !literal.value);
    if let Some(first) = call.arg(0) {
        return is_false(first).then(|| first.range());
    }
    let mut keywords = call.node.arguments.keywords.iter();
    let keyword = keywords.find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "set_to_none"))?;
    is_false(&keyword.value).then(|| keyword.range())
}

/// Whether something here may need the gradients in place.
fn needs_them(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let text = &facts.source.text;
    let near = text_around(facts, &call.at);
    let graphs = ["CUDAGraph", "cuda.graph(", "make_graphed_callables", "reduce-overhead"]
        .iter()
        .any(|word| text.contains(word));
    let reads = [".grad.", ".grad)", ".grad,", ".grad\n", ".grad ", ".grad["]
        .iter()
        .any(|word| near.iter().any(|part| part.contains(word)));
    let of_super = call.receiver_expr().is_some_and(|expr| facts.source.slice(expr.range()).starts_with("super("));
    graphs || reads || of_super || facts.class_kind(&call.at) == ClassKind::Optimizer
}

/// The text that runs around a call: its function, those it calls and those that call it; its class, or the file.
fn text_around<'f>(facts: &'f Facts<'_>, at: &At) -> Vec<&'f str> {
    let outline = facts.outline();
    let Some((index, function)) = at.function.zip(facts.function(at)) else { return vec![&facts.source.text] };
    if let Some(class) = function.class {
        return vec![facts.written(outline.classes[class as usize].node)];
    }
    let own = |call: &Call<'_>| match call.callee {
        Callee::Project(id) if facts.is_own(id) => Some(id.index),
        _ => None,
    };
    let called = facts.calls().iter().filter(|call| call.at.function == at.function).filter_map(own);
    let callers = facts.calls().iter().filter(|call| own(call) == Some(index)).map(|call| call.at.function);
    let mut functions: Vec<u32> = called.collect();
    for place in callers {
        let Some(function) = place else { return vec![&facts.source.text] };
        functions.push(function);
    }
    functions.push(index);
    functions.iter().map(|index| facts.written(outline.functions[*index as usize].node)).collect()
}
