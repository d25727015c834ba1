//! `one-hot-large`: a huge one-hot tensor where indices would do.

use crate::analysis::events::Call;
use crate::facts::Facts;
use crate::finding::Level;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::uses::{is_number, last_name, whole_number};

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
import torch.nn.functional as F

def smooth(logits, target, vocabulary=128256, eps=0.1):
    hot = F.one_hot(target, vocabulary).float() * (1 - eps) + eps / vocabulary
    return -(hot * logits.log_softmax(-1)).sum(-1).mean()
",
            good: "\
import torch.nn.functional as F

def smooth(logits, target, vocabulary=128256, eps=0.1):
    return F.cross_entropy(logits.view(-1, vocabulary), target.view(-1), label_smoothing=eps)
",
        },
        Example {
            bad: "\
import torch

VOCABULARY = 32_000

def bag(ids):
    return torch.zeros(ids.size(0), VOCABULARY, device=ids.device).scatter_(1, ids, 1.0)
",
            good: "\
import torch

VOCABULARY = 32_000
table = torch.nn.EmbeddingBag(VOCABULARY, 64)

def bag(ids):
    return table(ids)
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
import torch
import torch.nn.functional as F

def smooth(logits, target, classes=10):
    return F.one_hot(target, classes).float() + torch.zeros(8, classes).scatter_(1, target, 1)

def other(tokens, classes=50257):
    return tokens % classes
",
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
        if !is_many(facts, call, classes) {
            continue;
        }
        report
            .add(call, format!("`one_hot` makes an 8-byte number for every index and each of `{text}` classes"))
            .because(classes, "that many classes");
    }
    for call in facts.calls_named("scatter_") {
        let Some(classes) = zeros_spread_over(facts, call) else { continue };
        if !is_many(facts, call, classes) {
            continue;
        }
        let text = facts.written(classes);
        report
            .add(call, format!("This one-hot table has a number for every index and each of `{text}` classes"))
            .because(classes, "that many classes");
    }
}

/// The last size of `torch.zeros(..., classes).scatter_(dim, index, 1)`.
fn zeros_spread_over<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let ones = call.keyword("value").or_else(|| call.arg(2))?;
    let zeros = facts.call_at(call.receiver_expr()?).filter(|zeros| facts.full_name(zeros) == Some("torch.zeros"))?;
    let sizes = match zeros.arg(0)? {
        Expr::Tuple(sizes) => &sizes.elts[..],
        Expr::List(sizes) => &sizes.elts[..],
        _ => &zeros.node.arguments.args[..],
    };
    let is_one = is_number(ones, 1) || facts.written(ones) == "1.";
    sizes.last().filter(|_| is_one && sizes.len() > 1)
}

/// Whether it is a large number, the size of a language model's vocabulary, or a name that is given a large number.
fn is_many(facts: &Facts<'_>, call: &Call<'_>, classes: &Expr) -> bool {
    let large = |value: &Expr| whole_number(value).is_some_and(|number| number >= MANY);
    let text = facts.written(classes);
    let of_model = ["config.vocab_size", "cfg.vocab_size"].iter().any(|word| text.contains(word))
        || text.contains("tokenizer") && knows_subwords(facts);
    let bound = |name: &str| facts.given_at(name, &call.at).into_iter().any(large);
    large(classes) || of_model && whole_number(classes).is_none() || last_name(classes).is_some_and(bound)
}

/// Whether the file has to do with tokenizers of language models; one of its own may have an alphabet's few letters.
fn knows_subwords(facts: &Facts<'_>) -> bool {
    ["transformers", "tokenizers", "sentencepiece", "tiktoken"].iter().any(|word| facts.source.text.contains(word))
}
