//! `ddp-bucket-view-off`: gradients exist twice under DDP.

use crate::facts::Facts;
use crate::finding::Safety;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};

pub(super) static RULE: Rule = Rule {
    name: "ddp-bucket-view-off",
    group: Group::Distributed,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "`DistributedDataParallel` keeps gradients and buckets apart.",
    why: "DDP copies each gradient into a bucket to send it. With `gradient_as_bucket_view=True` the gradients are views \
          of the buckets and the second copy never exists.",
    cost: "The size of all gradients: 4 bytes a trained parameter in float32.",
    instead: "`DistributedDataParallel(model, gradient_as_bucket_view=True)`.",
    when_not: "An optimizer or hook calls `detach_()` on gradients or puts other tensors in their place.",
    programs: include_str!("ddp_bucket_view_off.py"),
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.nn.parallel.DistributedDataParallel") {
        if call.keyword("gradient_as_bucket_view").is_some() || call.has_star() || call.args.is_empty() {
            continue;
        }
        let model = call.arg(0).map_or("the model", |model| facts.written(model));
        report
            .add(call, format!("Gradients of `{model}` exist twice: once in `.grad`, once in DDP's buckets"))
            .because(&call.node.arguments, "`gradient_as_bucket_view` is off unless asked for")
            .unsafe_fix(
                "Let gradients be views of the buckets",
                facts.add_argument(call, "gradient_as_bucket_view=True"),
            );
    }
}
