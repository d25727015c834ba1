//! Remedies tried on paper: what the blocks of a run would be with them.

use oomph_trace::EventIndex;

use super::clock::Stretch;
use super::spans::{Span, Spans};
use crate::remedies::{RemedyChoice, Situation, remedy};

/// The most that would be live if remedies came on top of what a run has in it already.
#[must_use]
pub(super) fn peak_bytes(added: &[RemedyChoice], job: &Situation) -> u64 {
    let mut spans = job.spans.clone();
    for choice in added {
        if let Some(remedy) = remedy(&choice.name) {
            remedy.sketch(choice, job, &mut spans);
        }
    }
    spans.peak().0
}

/// By what the time of a step is multiplied with one remedy, about.
#[must_use]
pub(super) fn slowdown(choice: &RemedyChoice, job: &Situation) -> f64 {
    remedy(&choice.name).map_or(1.0, |remedy| remedy.slowdown(choice, job))
}

/// By what several remedies together multiply it. What remedies add to a step adds up, as it did on a card (lazy logits
/// 1.03, checkpointed blocks 1.25, both 1.28); what makes steps shorter shortens all of it.
#[must_use]
pub(super) fn together(factors: &[f64]) -> f64 {
    let (longer, shorter) = factors.iter().fold((1.0, 1.0), |(longer, shorter), factor| {
        if *factor > 1.0 { (longer + factor - 1.0, shorter) } else { (longer, shorter * factor) }
    });
    longer * shorter
}

/// Lets what a forward pass keeps go, and come back when the backward pass gets there: what checkpointing does. Every
/// call comes back by itself, and what comes last of it is the output, which stays.
pub fn recomputed(spans: &mut Spans, is_inside: impl Fn(&Spans, &Span) -> bool) {
    let backwards = spans.backwards.clone();
    // What one backward pass leaves may be for the next: a loss for each of two models.
    let is_used = |until: EventIndex| backwards.iter().any(|(begins, ends)| *begins < until && until <= *ends + 1);
    for (index, (begins, _)) in backwards.iter().enumerate() {
        let after = index.checked_sub(1).map_or(0, |before| backwards[before].1);
        let is_kept = |span: &Span| {
            let is_before = (after..*begins).contains(&span.from) && span.until > *begins;
            span.stretch == Stretch::Forward && span.is_passing() && is_before && is_used(span.until)
        };
        let mut kept: Vec<usize> = (0..spans.all.len()).filter(|&at| is_kept(&spans.all[at])).collect();
        kept.sort_by_key(|&at| spans.all[at].from);
        for call in calls(spans, &kept, &is_inside) {
            let Some((_output, inner)) = call.split_last() else { continue };
            let first_used = call.iter().map(|&at| spans.all[at].until).min().unwrap_or(0);
            let again = first_used.saturating_sub(1);
            for &at in inner {
                spans.all[at].from = spans.all[at].from.max(again);
            }
        }
    }
}

/// What forward passes kept, in order, as far as it is inside a part of the model, call by call: between two calls of the
/// part, others keep something.
fn calls(spans: &Spans, kept: &[usize], is_inside: &impl Fn(&Spans, &Span) -> bool) -> Vec<Vec<usize>> {
    let is_inside = |at: &usize| is_inside(spans, &spans.all[*at]);
    let alike = kept.chunk_by(|left, right| is_inside(left) == is_inside(right));
    alike.filter(|chunk| chunk.first().is_some_and(is_inside)).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Category, StringId};

    use super::*;

    fn span(from: u32, until: u32, bytes: u64, module: u32) -> Span {
        let stretch = if from < 10 { Stretch::Forward } else { Stretch::Backward };
        Span {
            from,
            until,
            bytes,
            category: Category::Unknown,
            module: StringId(module),
            stretch,
            step: 1,
            is_scratch: false,
            may_shrink: false,
        }
    }

    /// Two blocks keep two tensors each for the backward pass from 10 to 20, which frees the second block's first.
    fn two_blocks() -> Spans {
        Spans {
            all: vec![span(1, 19, 40, 0), span(2, 18, 10, 0), span(3, 14, 40, 1), span(4, 13, 10, 1)],
            modules: vec!["blocks.0".into(), "blocks.1".into()],
            backwards: vec![(10, 20)],
        }
    }

    #[test]
    fn what_is_recomputed_is_there_when_its_backward_pass_begins() {
        let mut spans = two_blocks();
        assert_eq!(spans.peak(), (100, 4));
        for block in ["blocks.0", "blocks.1"] {
            recomputed(&mut spans, |spans, span| spans.path(span) == block);
        }
        let from: Vec<u32> = spans.all.iter().map(|span| span.from).collect();
        assert_eq!(from, [17, 2, 12, 4], "outputs stay, the rest comes back before it is first used");
        assert_eq!(spans.peak().0, 60, "one block at a time, and the outputs");
    }

    #[test]
    fn what_is_called_twice_comes_back_call_by_call() {
        // The first block is called again after the second one, so its later call is used first.
        let mut spans = two_blocks();
        spans.all.extend([span(5, 12, 40, 0), span(6, 11, 10, 0)]);
        recomputed(&mut spans, |spans, span| spans.path(span) == "blocks.0");
        let from: Vec<u32> = spans.all.iter().map(|span| span.from).collect();
        assert_eq!(from, [17, 2, 3, 4, 10, 6], "each with an output that stays");
    }

    #[test]
    fn what_is_not_kept_for_the_backward_pass_is_left_alone() {
        let mut spans = two_blocks();
        spans.all.push(span(5, 7, 500, 1));
        recomputed(&mut spans, |_, _| true);
        assert_eq!(spans.peak(), (510, 5), "a temporary is as large as before, beside the one output");
    }
}
