//! The live set of one healthy step exceeds the card.

use oomph_heap::LiveSpan;
use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::peak::sum_by;
use crate::bytes::{percent, show};

/// See [`Class::summary`].
pub(super) struct TooBig;

impl Class for TooBig {
    fn name(&self) -> &'static str {
        "too_big"
    }

    fn summary(&self) -> &'static str {
        "the live set of one healthy step exceeds the card"
    }

    fn page(&self) -> &'static str {
        "Nothing leaks and little is wasted: what one step must hold at the same time is more than there is. \
         Parameters, gradients, optimizer state and the activations of one batch add up to it.\n\n\
         The blamed line is the line of your loop that holds most of it; the table by category says which lever moves \
         most.\n\n\
         What helps, by category: *activations*: a smaller batch with accumulation, checkpointing, lower precision; \
         *optimizer*: a leaner optimizer (8-bit, Adafactor, SGD), sharding; *gradients*: \
         `zero_grad(set_to_none=True)`, fused backward and step; *parameters*: lower precision, adapters, sharding."
    }

    fn rank(&self) -> u32 {
        1
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let shortage = evidence.shortage?;
        let case = evidence.case;
        let live: Vec<&LiveSpan> = case.timeline.live_at(case.moment).collect();
        let by_line = sum_by(&live, |block| case.blame(case.stack_of(block)));
        let top = by_line.iter().find(|held| held.what.is_some())?;
        let blocks: Vec<&&LiveSpan> =
            live.iter().filter(|block| case.blame(case.stack_of(block)) == top.what).collect();
        let stack =
            blocks.iter().max_by_key(|block| block.bytes).map_or(StackId::MISSING, |block| case.stack_of(block));
        let place = top.what.map_or_else(String::new, |line| case.sources.short(line));
        let categories = largest_categories(evidence);
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "One step needs more than there is: {} of tensors were live and {} more was asked for; {place} holds \
                 {} of it ({}).",
                show(shortage.allocated_bytes),
                show(shortage.request_bytes),
                show(top.bytes),
                percent(top.bytes, shortage.allocated_bytes),
            ),
            line: top.what,
            stack,
            bytes: top.bytes,
            remove: Remove::Blocks(blocks.iter().map(|block| block.id).collect()),
            advice: advice(&categories),
        })
    }
}

fn largest_categories(evidence: &Evidence) -> Vec<oomph_trace::Category> {
    let mut categories = evidence.holders.categories.clone();
    categories.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
    let half = evidence.holders.allocated_bytes / 4;
    categories.into_iter().filter(|&(_, bytes)| bytes > half).map(|(category, _)| category).collect()
}

fn advice(categories: &[oomph_trace::Category]) -> Vec<String> {
    use oomph_trace::Category;
    let mut advice: Vec<String> = categories
        .iter()
        .filter_map(|category| match category {
            Category::Activation => Some("Activations weigh most: halve the batch and accumulate twice as often, or checkpoint them."),
            Category::Optimizer => Some("Optimizer state weighs most: Adam keeps two copies of the weights; use an 8-bit or factored optimizer."),
            Category::Gradient => Some("Gradients weigh most: zero_grad(set_to_none=True) before the forward pass keeps them out of its peak."),
            Category::Parameter => Some("The weights weigh most: load them in bfloat16, or shard them."),
            Category::Input => Some("The input weighs most: move one batch at a time to the card."),
            _ => None,
        })
        .map(str::to_owned)
        .collect();
    if advice.is_empty() {
        advice.push(
            "Make the step smaller: a smaller batch with accumulation, lower precision, checkpointing.".to_owned(),
        );
    }
    advice
}
