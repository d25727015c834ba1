//! `logits-upcast`: the largest tensor of a language model exists in two types.

use crate::facts::Facts;
use crate::finding::Level;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "logits-upcast",
    group: Group::Operations,
    level: Level::Info,
    fix: None,
    summary: "Logits over a vocabulary are made 32-bit before the loss.",
    why: "Logits are the largest tensor of a language model. `.float()` makes a second one, and the loss a third for its \
          softmax.",
    cost: "6 bytes a logit in the place of 2, and 4 more for the gradient: 8,192 tokens over 128,000 words are 6 GB.",
    instead: "A loss in chunks or a fused one (`torch.nn.functional.linear_cross_entropy`, Liger), or logits of the labelled \
              tokens alone.",
    when_not: "The vocabulary is small; 32 bits are needed for a stable loss, so do it in chunks rather than not at all.",
    examples: &[Example {
        bad: "\
import torch.nn.functional as F

def loss(model, hidden, labels, config):
    logits = model.lm_head(hidden)
    return F.cross_entropy(logits.float().view(-1, config.vocab_size), labels.view(-1))
",
        good: "\
import torch.nn.functional as F

def loss(model, hidden, labels, config):
    total = 0.0
    for h, y in zip(hidden.chunk(8), labels.chunk(8)):
        total = total + F.cross_entropy(model.lm_head(h).view(-1, config.vocab_size), y.view(-1), reduction='sum')
    return total / labels.numel()
",
    }],
    silent_on: &["\
import torch.nn.functional as F

def loss(head, x, y):
    logits = head(x)
    return F.cross_entropy(logits.float(), y)
"],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    let text = &facts.source.text;
    if !text.contains("lm_head") && !text.contains("vocab_size") || facts.is_test_file() {
        return;
    }
    for call in facts.calls_named("float") {
        let Some(receiver) = call.receiver_expr() else { continue };
        let name = last_name(receiver).unwrap_or_default();
        let of_head = facts.written(receiver).contains("lm_head(");
        if !(name.ends_with("logits") || of_head) || !call.node.arguments.is_empty() || call.at.grad.is_off() {
            continue;
        }
        report
            .add(call, format!("`{}` gets a second, 32-bit copy", facts.written(receiver)))
            .because(receiver, "a score for every token and word");
    }
}
