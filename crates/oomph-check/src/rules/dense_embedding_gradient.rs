//! `dense-embedding-gradient`: a huge table gets a gradient of its size.

use crate::facts::Facts;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "dense-embedding-gradient",
    group: Group::Operations,
    size: Size::per_batch(Amount::Model),
    is_opportunity: true,
    fix: None,
    summary: "An embedding of a million rows or more has dense gradients.",
    why: "Each step touches a few rows, but the gradient has all of them, and so has the optimizer's state.",
    cost: "Three more tables with Adam: 50 million rows of 64 floats are 12.8 GB, and 51.2 GB in all.",
    instead: "`sparse=True` with `torch.optim.SparseAdam` or `SGD`, `nn.EmbeddingBag`, or a sharded table.",
    when_not: "The weight is tied to an output layer, or the optimizer knows no sparse gradients.",
    programs: include_str!("dense_embedding_gradient.py"),
    check,
};

const MANY_ROWS: u64 = 1_000_000;

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in ["torch.nn.Embedding", "torch.nn.EmbeddingBag"].iter().flat_map(|name| facts.calls_to(name)) {
        let Some(rows) = call.arg(0).or_else(|| call.keyword("num_embeddings")) else { continue };
        let large = |rows: &Expr| whole_number(rows).is_some_and(|rows| rows >= MANY_ROWS);
        let named = |name: &str| facts.given_at(name, &call.at).into_iter().any(large);
        let many = large(rows) || last_name(rows).is_some_and(named);
        let chosen = call.keyword("sparse").is_some() && !call.keyword_is("sparse", false);
        if !many || chosen || call.has_star() {
            continue;
        }
        let text = facts.written(rows);
        report
            .add(call, format!("Every step makes a gradient for all {text} rows of this table"))
            .because(rows, "this many rows, and `sparse` is not given");
    }
}
