//! `logits-upcast`: the largest tensor of a language model exists in two types.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "logits-upcast",
    group: Group::Operations,
    size: Size::per_batch(Amount::Activations),
    is_opportunity: true,
    fix: None,
    summary: "Logits over a vocabulary are made 32-bit before the loss.",
    why: "Logits are the largest tensor of a language model. `.float()` makes a second one, and the loss a third for its \
          softmax.",
    cost: "6 bytes a logit in the place of 2, and 4 more for the gradient: 8,192 tokens over 128,000 words are 6 GB.",
    instead: "A loss in chunks or a fused one (`torch.nn.functional.linear_cross_entropy`, Liger), or logits of the labelled \
              tokens alone.",
    when_not: "The vocabulary is small; 32 bits are needed for a stable loss, so do it in chunks rather than not at all.",
    programs: include_str!("logits_upcast.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    const LANGUAGE: &[&str] = &["lm_head", "vocab_size", "CausalLM", "LMHead", "Seq2SeqLM", "MaskedLM", "n_vocab"];
    let text = &facts.source.text;
    let named = LANGUAGE.iter().any(|word| text.contains(word));
    if facts.is_test_file() {
        return;
    }
    let calls = ["float", "to", "type"].into_iter().flat_map(|name| facts.calls_named(name));
    for call in calls.filter(|call| widens(facts, call)) {
        let Some(receiver) = call.receiver_expr() else { continue };
        let name = scores(receiver).unwrap_or_default();
        let of_head = facts.written(receiver).contains("lm_head(");
        if !(name.ends_with("logits") || name == "lm_logits" || of_head) || call.at.grad.is_off() {
            continue;
        }
        // `logits.float().view(-1, vocab)` says what the scores are for.
        let of_words =
            || facts.statement(call.at.stmt).is_some_and(|found| facts.written(found.node).contains("vocab"));
        if !named && !of_words() {
            continue;
        }
        report
            .add(call, format!("`{name}` gets a second, 32-bit copy"))
            .because(receiver, "a score for every token and word");
    }
}

/// Whether a call makes a 32-bit copy of its receiver.
fn widens(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let to_float = |expr: &Expr| matches!(facts.written(expr), "torch.float32" | "torch.float");
    match call.name {
        "float" => call.node.arguments.is_empty(),
        _ => call.arg(0).or_else(|| call.keyword("dtype")).is_some_and(to_float),
    }
}

/// What the scores are called, seen through slices and changes of shape: `logits` of `logits[:, :-1].flatten(0, 1)`.
fn scores(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Subscript(node) => scores(&node.value),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if is_reshape(&method.attr) => scores(&method.value),
            _ => None,
        },
        _ => last_name(expr),
    }
}

fn is_reshape(method: &str) -> bool {
    matches!(
        method,
        "view" | "reshape" | "flatten" | "contiguous" | "squeeze" | "unsqueeze" | "transpose" | "permute" | "narrow"
    )
}
