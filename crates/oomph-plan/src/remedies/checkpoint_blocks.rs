//! Activations of chosen blocks computed again in the backward pass instead of kept.

use super::{ByHand, Remedy, RemedyChoice, Situation};
use crate::search::{Spans, Stretch, recomputed};
use crate::survey::{Model, Survey};

/// See the page.
pub(super) struct CheckpointBlocks;

/// A block of a model with what its forward pass leaves for the backward pass.
struct Block<'a> {
    model: &'a Model,
    path: &'a str,
    kept_bytes: u64,
    share: f64,
}

fn blocks<'a>(job: &'a Situation) -> Vec<Block<'a>> {
    let mut found: Vec<Block> = Vec::new();
    for model in job.survey.models.iter().filter(|model| model.is_training) {
        for path in &model.blocks {
            // Of two models of one class, what runs at a path is both's.
            if found.iter().any(|block| block.path == path && block.model.is_alike(model)) {
                continue;
            }
            let kept = job.live_at_peak().filter(|span| {
                span.stretch == Stretch::Forward && span.is_passing() && model.holds(path, job.spans.path(span))
            });
            let kept_bytes = kept.map(|span| span.bytes).sum();
            let share = job.work.recomputed_share(model, &[path], job.card);
            found.push(Block { model, path, kept_bytes, share });
        }
    }
    found.retain(|block| block.kept_bytes > 0);
    // What saves most for the time it costs comes first.
    let worth = |block: &Block| block.kept_bytes as f64 / block.share.max(1e-6);
    found.sort_by(|left, right| worth(right).total_cmp(&worth(left)));
    found
}

fn chosen(choice: &RemedyChoice) -> Vec<&str> {
    let listed = choice.options.get("blocks").and_then(|value| value.as_array());
    listed.map(|paths| paths.iter().filter_map(|path| path.as_str()).collect()).unwrap_or_default()
}

/// Blocks by their numbers, so that the same ones are the same choice however they were come by.
fn in_order(mut paths: Vec<&str>) -> Vec<&str> {
    paths.sort_by_key(|path| (path.len(), *path));
    // Two models may have parts of one name.
    paths.dedup();
    paths
}

impl Remedy for CheckpointBlocks {
    fn name(&self) -> &'static str {
        "checkpoint_blocks"
    }

    fn summary(&self) -> &'static str {
        "activations of the model's blocks computed again in the backward pass instead of kept"
    }

    fn page(&self) -> &'static str {
        include_str!("checkpoint_blocks.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let blocks = blocks(job);
        let mut counts: Vec<usize> = (1..=4).map(|quarter| (blocks.len() * quarter).div_ceil(4)).collect();
        counts.retain(|count| *count > 0);
        counts.dedup();
        let choice = |count: usize| {
            let paths = blocks[..count].iter().map(|block| block.path).collect();
            RemedyChoice::new(self.name()).with("blocks", in_order(paths))
        };
        counts.into_iter().map(choice).collect()
    }

    fn on_top_of(&self, before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        let (mut all, more) = (chosen(before), chosen(choice));
        all.extend(more.into_iter().filter(|path| !chosen(before).contains(path)));
        RemedyChoice::new(self.name()).with("blocks", in_order(all))
    }

    fn sketch(&self, choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let paths = chosen(choice);
        for block in blocks(job).iter().filter(|block| paths.contains(&block.path)) {
            recomputed(spans, |spans, span| block.model.holds(block.path, spans.path(span)));
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64 {
        let paths = chosen(choice);
        // Of a job whose peak is elsewhere too: blocks take the time they take.
        let mut models: Vec<&Model> = Vec::new();
        for model in job.survey.models.iter().filter(|model| model.is_training) {
            if !models.iter().any(|counted| counted.is_alike(model)) {
                models.push(model);
            }
        }
        1.0 + models.into_iter().map(|model| job.work.recomputed_share(model, &paths, job.card)).sum::<f64>()
    }

    fn by_hand(&self, choice: &RemedyChoice, survey: &Survey) -> Option<ByHand> {
        let has_all = survey.models.iter().any(|model| model.blocks.len() == chosen(choice).len());
        if has_all {
            return Some(ByHand::Model("checkpoint_blocks", String::new()));
        }
        let blocks: Vec<String> = chosen(choice).iter().map(|path| format!("{path:?}")).collect();
        Some(ByHand::Model("checkpoint_blocks", format!(", [{}]", blocks.join(", "))))
    }

    fn changes(&self, choice: &RemedyChoice) -> String {
        format!("{} blocks are computed twice; the numbers stay the same", chosen(choice).len())
    }
}
