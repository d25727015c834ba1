//! Something is kept from step to step.

use oomph_heap::{BlockId, LiveSpan};
use oomph_trace::StackId;

use super::{Accusation, Class, Evidence, Remove};
use crate::analyses::retention::{Kind, Retention};
use crate::bytes::show;
use crate::case::Case;

/// See [`Class::summary`].
pub(super) struct Leak;

// Where these come from: each was halved and doubled, and every recorded failure and every generated job was explained
// again (tests/corpus.rs, tests/generated.rs). "Insensitive" means that no verdict changed either way; then the value
// follows from the reason given alone.

/// What is kept must be at least this part of what PyTorch may use, to be what the job died of: with less gone, most jobs
/// would only have died some steps later. Insensitive.
const SHARE_OF_LIMIT: f64 = 0.1;
/// From this part on it is, whatever else the step needs: it outweighs all the rest together. Doubled, two leaks that
/// fill the card are called too big; halved, nothing changes.
const DOMINANT_SHARE: f64 = 0.5;
/// A step that needs this much more than any before it died of its own size. Below 1 ordinary steps count as outgrown
/// (halved, leaks are missed); doubled, nothing changes.
const USUAL_STEP: f64 = 1.25;
/// Without a failure: what is kept must be at least this part of the peak before it raises an alarm. Insensitive.
const ALARM_SHARE: f64 = 0.05;
/// Without a failure: and it must have been kept in at least this many iterations. Doubled, a leak that was recorded for
/// six steps raises no alarm; halved, nothing changes, but two steps may be the filling of a queue.
pub(crate) const ALARM_STEPS: usize = 4;

/// Places of a model that must be kept before it is called a graph: an output and its inputs make two. Changes words, not
/// verdicts.
const GRAPH_PLACES: usize = 3;

impl Class for Leak {
    fn name(&self) -> &'static str {
        "leak"
    }

    fn summary(&self) -> &'static str {
        "something is kept from step to step"
    }

    fn page(&self) -> &'static str {
        "Every iteration leaves tensors behind that nothing frees. Usually a list, a running sum or an attribute holds \
         a tensor that still carries its graph, and the graph holds every activation of that step: \
         `total += loss`, `outputs.append(model(x))`, a hidden state carried on without `detach()`, a validation loop \
         without `no_grad`, gradients kept in a list, a reference cycle that Python's garbage collector has not broken yet.\n\n\
         The blamed line is the line of your loop that made the newest of what each iteration left behind: a graph \
         hangs on its newest node, so that is what the program still holds, and the rest is kept alive by it.\n\n\
         What helps: `loss.item()` or `loss.detach()` where a number is meant; `.detach().cpu()` for outputs; \
         `with torch.no_grad()` (or `inference_mode`) around evaluation; `h = h.detach()` between chunks."
    }

    fn rank(&self) -> u32 {
        2
    }

    fn accuse(&self, evidence: &Evidence) -> Option<Accusation> {
        let leak = heaviest(evidence, Kind::Leak)?;
        let case = evidence.case;
        let place = leak.line.map_or_else(|| "The loop".to_owned(), |line| case.sources.short(line));
        let made_at = leak.made_at.map_or_else(String::new, |line| format!(" (made at {})", case.sources.short(line)));
        let without_no_grad = is_inference_with_graphs(case, leak);
        let what = if without_no_grad { ", the graph of a forward pass that ran without torch.no_grad()" } else { "" };
        Some(Accusation {
            class: self.name(),
            summary: format!(
                "{place} keeps {} from every iteration{made_at}{what}: {} after {} iterations{}",
                show(leak.bytes_per_step),
                show(leak.bytes),
                leak.steps,
                how_it_ended(evidence),
            ),
            line: leak.line,
            stack: leak.stack,
            bytes: leak.bytes,
            remove: removal(evidence, &leak.blocks),
            advice: advice(case, leak, &place, without_no_grad),
        })
    }
}

/// Whether what is kept are graphs of a loop that never runs a backward pass: inference that records for autograd.
///
/// One block kept an iteration may be a plain result. Blocks from several places of a model are kept by a graph.
fn is_inference_with_graphs(case: &Case, leak: &Retention) -> bool {
    let Some(steps) = &case.steps else { return false };
    let mut places: Vec<StackId> = leak
        .blocks
        .iter()
        .map(|&id| case.stack_of(case.block(id)))
        .filter(|&stack| case.sources.outermost_first(stack).any(|frame| case.sources.is_module_call(frame)))
        .collect();
    places.sort_unstable();
    places.dedup();
    let training = case.timeline.blocks.iter().filter(|block| case.is_of_training(block));
    let mut training_steps: Vec<usize> =
        training.filter_map(|block| block.alloc.filter(|&at| at <= case.moment)).map(|at| steps.of_event(at)).collect();
    training_steps.sort_unstable();
    training_steps.dedup();
    // What comes before the loop may be training; and a pass of it may be counted to the first iteration.
    let trains = training_steps.iter().filter(|&&step| step > 1).count() * 2 > steps.starts.len();
    places.len() >= GRAPH_PLACES && !trains
}

/// The heaviest retention of a kind, if it weighs enough to be what the job died of (or to raise an alarm).
pub(super) fn heaviest<'a>(evidence: &'a Evidence, kind: Kind) -> Option<&'a Retention> {
    let retention = evidence.retained.iter().find(|retention| retention.kind == kind)?;
    let all: u64 = evidence.retained.iter().filter(|other| other.kind == kind).map(|other| other.bytes).sum();
    let enough = match evidence.shortage {
        None => {
            retention.steps >= ALARM_STEPS
                && does_work(evidence.case)
                && all as f64 >= ALARM_SHARE * evidence.case.timeline.peak_allocated.bytes as f64
        }
        Some(shortage) => {
            let case = evidence.case;
            let failed_at = case.oom.as_ref().map(|oom| case.attribution.of_event(oom.event));
            // A structure that asks for its next size is the cause even of the holes its last sizes left, and it needs
            // both sizes at once.
            let asks_itself = kind == Kind::Growth && failed_at == Some(retention.stack);
            let weight = if asks_itself { all + shortage.request_bytes } else { all };
            let share = weight as f64 / shortage.limit_bytes_max as f64;
            let explained =
                share >= DOMINANT_SHARE || (share >= SHARE_OF_LIMIT && is_usual_step(evidence, shortage.request_bytes));
            let would_fit_packed = shortage.active_bytes + shortage.request_bytes <= shortage.limit_bytes_min;
            let holes_explain =
                would_fit_packed && shortage.holes_bytes() as f64 > holes_share(evidence, kind) * all as f64;
            explained && (asks_itself || !holes_explain)
        }
    };
    enough.then_some(retention)
}

/// Whether the loop does more than make what it keeps: a loop that does not, builds something, such as a list of batches
/// that are worked on later.
fn does_work(case: &Case) -> bool {
    let Some(steps) = &case.steps else { return false };
    let made_in_loop = |block: &&LiveSpan| block.alloc.is_some_and(|at| at <= case.moment && steps.of_event(at) > 0);
    let freed = |block: &&LiveSpan| block.free_requested.is_some_and(|free| free <= case.moment);
    case.timeline.blocks.iter().filter(made_in_loop).filter(freed).nth(steps.starts.len()).is_some()
}

/// Holes that weigh more than this many times what is kept explain the failure better.
///
/// What a loop keeps lies scattered and pins segments, so a leak makes holes too, and a growing structure leaves one
/// of every size it had. But a request that is no part of the loop fails for want of one large piece.
fn holes_share(evidence: &Evidence, kind: Kind) -> f64 {
    let case = evidence.case;
    let in_the_loop = case.oom.as_ref().zip(case.steps.as_ref()).is_some_and(|(oom, steps)| {
        let stack = case.attribution.of_event(oom.event);
        let of_earlier =
            |block: &&LiveSpan| block.alloc.is_some_and(|at| steps.of_event(at) < steps.of_event(oom.event));
        case.timeline.blocks.iter().filter(of_earlier).any(|block| case.stack_of(block) == stack)
    });
    match kind {
        _ if in_the_loop => 2.0,
        Kind::Growth => 1.0,
        Kind::Leak => 0.5,
    }
}

/// Whether the failing iteration needed no more than those before it.
pub(super) fn is_usual_step(evidence: &Evidence, request_bytes: u64) -> bool {
    let case = evidence.case;
    let Some(steps) = &case.steps else { return false };
    let curve = &case.timeline.allocated_bytes;
    let need = |from: u32, to: u32| {
        let stretch = &curve[from as usize..=(to as usize).max(from as usize)];
        stretch.iter().max().map_or(0, |peak| peak.saturating_sub(stretch[0]))
    };
    let usual = steps.starts.windows(2).map(|pair| need(pair[0], pair[1] - 1)).max().unwrap_or(0);
    let Some(&start) = steps.starts.last() else { return false };
    let now = curve[case.moment as usize].saturating_sub(curve[start as usize]) + request_bytes;
    now as f64 <= USUAL_STEP * usual as f64
}

pub(super) fn how_it_ended(evidence: &Evidence) -> String {
    match evidence.shortage {
        Some(shortage) => format!(", until {} more did not fit.", show(shortage.request_bytes)),
        None => "; memory has not run out yet.".to_owned(),
    }
}

pub(super) fn removal(evidence: &Evidence, blocks: &[BlockId]) -> Remove {
    if evidence.shortage.is_some() { Remove::Blocks(blocks.to_vec()) } else { Remove::Nothing }
}

fn advice(case: &Case, leak: &Retention, place: &str, without_no_grad: bool) -> Vec<String> {
    if without_no_grad {
        return vec![
            "This is inference without no_grad: wrap the loop in torch.no_grad() or torch.inference_mode(). Calling \
             model.eval() does not do that."
                .to_owned(),
        ];
    }
    let newest = leak.blocks.last().map(|&id| case.block(id));
    let tiny_root = newest.is_some_and(|block| block.bytes * 100 < leak.bytes_per_step);
    vec![if tiny_root {
        format!("{place} keeps a small tensor whose graph holds the rest: use .item() or .detach().")
    } else {
        format!("Let go of what {place} makes before the next iteration: .detach(), .cpu(), or do not store it.")
    }]
}
