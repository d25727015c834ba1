//! One step needs more memory than the card has.

use oomph_heap::LiveSpan;
use oomph_trace::{Category, StackId};

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::peak::{Held, sum_by};
use crate::analyses::shortage::Shortage;
use crate::bytes::{percent, show};
use crate::source::Line;

/// See [`Class::summary`].
pub(super) struct TooBig;

impl Class for TooBig {
    fn name(&self) -> &'static str {
        "too_big"
    }

    fn summary(&self) -> &'static str {
        "one step needs more memory than the card has"
    }

    fn page(&self) -> &'static str {
        "Nothing leaks and little is wasted: what one step must hold at the same time is more than the card has. \
         Parameters, gradients, optimizer state and the activations of one batch add up to it.\n\n\
         The blamed line is the line of your loop that holds most of it; the table by category says where there is most \
         to gain.\n\n\
         What helps, by category: *activations*: a smaller batch with gradient accumulation, activation checkpointing, \
         lower precision, and in inference `torch.no_grad()`; *optimizer*: a leaner optimizer (8-bit, Adafactor, SGD), \
         sharding; *gradients*: `zero_grad(set_to_none=True)`, an optimizer step fused into the backward pass; \
         *parameters*: lower precision, adapters, sharding."
    }

    fn is_helped_by_remedies(&self) -> bool {
        true
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
        let accused = enough_lines(shortage, &by_line);
        let is_accused = |block: &&&LiveSpan| accused.contains(&case.blame(case.stack_of(block)));
        let blocks: Vec<&&LiveSpan> = live.iter().filter(is_accused).collect();
        let bytes = blocks.iter().map(|block| block.bytes).sum();
        let of_top = blocks.iter().filter(|block| case.blame(case.stack_of(block)) == top.what);
        let stack = of_top.max_by_key(|block| block.bytes).map_or(StackId::MISSING, |block| case.stack_of(block));
        let place = top.what.map_or_else(String::new, |line| case.sources.short(line));
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "One step needs more memory than there is: live tensors held {} when {} more was requested; {place} \
                 holds {} of them ({}).",
                show(shortage.allocated_bytes),
                show(shortage.request_bytes),
                show(top.bytes),
                percent(top.bytes, shortage.allocated_bytes),
            ),
            line: top.what,
            stack,
            bytes,
            remove: Remove::Blocks(blocks.iter().map(|block| block.id).collect()),
            advice: advice(evidence),
        })
    }
}

/// The lines whose bytes are enough to serve the request if they were gone, largest first: one, as a rule.
fn enough_lines(shortage: &Shortage, by_line: &[Held<Line>]) -> Vec<Option<Line>> {
    let missing = (shortage.reserved_bytes + shortage.segment_bytes).saturating_sub(shortage.limit_bytes_min);
    let mut lines = Vec::new();
    let mut freed = 0;
    for held in by_line.iter().filter(|held| held.what.is_some()) {
        lines.push(held.what);
        freed += held.bytes;
        if freed >= missing {
            break;
        }
    }
    lines
}

/// What helps against the largest category, and only against that one.
fn advice(evidence: &Evidence) -> Vec<String> {
    let case = evidence.case;
    let holders = evidence.holders;
    let largest = holders.categories.iter().max_by_key(|&&(_, bytes)| bytes);
    let (category, bytes) = largest.copied().unwrap_or((Category::Other, 0));
    let share = percent(bytes, holders.allocated_bytes);
    let training = case.trains();
    let help = match category {
        Category::Activation if !training => {
            return vec![
                format!(
                    "Activations are the largest part ({share}), and no backward pass was seen: if this is inference, \
                     wrap it in torch.no_grad() or torch.inference_mode()."
                ),
                "If it is training: halve the batch and accumulate gradients over twice as many, or use activation \
                 checkpointing."
                    .to_owned(),
            ];
        }
        Category::Activation => {
            format!(
                "Activations are the largest part ({share}): halve the batch and accumulate gradients over twice as \
                 many, or use activation checkpointing."
            )
        }
        Category::Optimizer => format!(
            "Optimizer state is the largest part ({share}); Adam keeps two values for every weight. Use an 8-bit or \
             factored optimizer."
        ),
        Category::Gradient => format!(
            "Gradients are the largest part ({share}): call zero_grad(set_to_none=True) before the forward pass, so that \
             they are not there while activations are."
        ),
        Category::Parameter if case.sources.is_sharded() => format!(
            "Weights are the largest part ({share}), sharded as they are: shard them over more cards, or offload them to \
             the host."
        ),
        Category::Parameter => format!(
            "Weights are the largest part ({share}): shard them over several cards (FSDP), offload them to the host, or \
             train adapters only."
        ),
        Category::Input => format!("Inputs are the largest part ({share}): move one batch at a time to the card."),
        Category::Workspace | Category::Other | Category::Unknown => {
            "Make the step smaller: a smaller batch with gradient accumulation, or activation checkpointing.".to_owned()
        }
    };
    vec![help]
}
