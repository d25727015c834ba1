//! `one-hot-large`: a huge one-hot tensor where indices would do.

use crate::facts::Facts;
use crate::finding::Level;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{last_name, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "one-hot-large",
    group: Group::Operations,
    level: Level::Warning,
    fix: None,
    summary: "Indices are spread out over thousands of classes.",
    why: "`F.one_hot` makes 64-bit integers, one for every index and class, and nearly all of them are zero. `.float()` \
          makes a second tensor of that shape.",
    cost: "8 bytes x indices x classes, 12 with the float copy: 8,192 tokens over a vocabulary of 50,000 are 3 GB, 5 GB \
           with the copy.",
    instead: "Losses take class indices; `gather` and `index_select` pick, `scatter_` and `index_add_` add up; an \
              `nn.Embedding` is the product with a one-hot matrix.",
    when_not: "There are few classes.",
    examples: &[
        Example {
            bad: "\
import torch.nn.functional as F

def loss(logits, tokens, config):
    targets = F.one_hot(tokens, config.vocab_size).float()
    return -(targets * logits.log_softmax(-1)).sum(-1).mean()
",
            good: "\
import torch.nn.functional as F

def loss(logits, tokens, config):
    return F.cross_entropy(logits.view(-1, config.vocab_size), tokens.view(-1))
",
        },
        Example {
            bad: "\
import torch

def encode(ids):
    return torch.nn.functional.one_hot(ids, num_classes=30522).to(torch.float32)
",
            good: "\
import torch

table = torch.nn.Embedding(30522, 768)

def encode(ids):
    return table(ids)
",
        },
    ],
    silent_on: &[
        "\
import torch.nn.functional as F

targets = F.one_hot(labels, 10).float()
experts = F.one_hot(chosen, num_classes=num_experts)
",
        "\
import torch.nn.functional as F

targets = F.one_hot(labels)
letters = F.one_hot(text, vocab_size)
",
    ],
    check,
};

/// Fewer classes than this are no matter.
const MANY: u64 = 4096;

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_to("torch.nn.functional.one_hot") {
        let Some(classes) = call.keyword("num_classes").or_else(|| call.arg(1)) else { continue };
        let text = facts.written(classes);
        let many = whole_number(classes).map_or_else(|| is_vocabulary(facts, classes), |number| number >= MANY);
        if !many {
            continue;
        }
        report
            .add(call, format!("`one_hot` makes an 8-byte number for every index and each of `{text}` classes"))
            .because(classes, "that many classes");
    }
}

/// Whether it is the size of a language model's vocabulary, or a name this file gives a large number.
fn is_vocabulary(facts: &Facts<'_>, classes: &Expr) -> bool {
    let text = facts.written(classes);
    let of_model = text.contains("tokenizer") || text.contains("config.vocab_size") || text.contains("cfg.vocab_size");
    let large = |value: &Expr| whole_number(value).is_some_and(|number| number >= MANY);
    let bound = |name: &str| facts.binds_of(name).filter_map(|bind| bind.value_expr).any(large);
    of_model || last_name(classes).is_some_and(bound)
}
