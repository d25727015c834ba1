//! The sentences of a plan, the same in text and on the page.

use oomph_explain::bytes::show;
use oomph_plan::facts::{End, LoopKind};
use oomph_plan::{OutcomeKind, Seen, ToCome, seen};

use super::answer::{Answer, Kept};
use crate::numbers::grouped;

/// The answer in one sentence, without the reason where it does not fit.
pub(super) fn sentence(answer: &Answer) -> String {
    let card = answer.card();
    let (title, total) = (card.short_title(), show(card.memory_bytes));
    if answer.trial.ran_out() {
        return format!("does not fit the {title} with {total}{}.", figures(answer));
    }
    let at_end = answer.to_come.as_ref().map_or(answer.peaks, |kept| answer.peaks.raised_by(kept.bytes));
    let takes = show(at_end.device_bytes);
    let kept = answer.to_come.as_ref().map(|kept| format!(" {}", to_come(kept))).unwrap_or_default();
    let others = answer.plan.trials.len() - 1;
    let cards = match others {
        0 => format!("the {title}"),
        _ => format!("all {} cards; on the {title}", others + 1),
    };
    match &answer.growth {
        Some(kept) => growth(kept),
        // A script that forgot to be told the device, say, and has its batches pinned.
        None if others == 0 && answer.is_card_idle() => {
            format!("fits {cards}, but puts no tensor on it: the {takes} that it takes are CUDA's own.")
        }
        None if others == 0 => format!("fits {cards}: takes {takes} of {total}.{kept}"),
        None => format!("fits {cards} it takes {takes} of {total}.{kept}"),
    }
}

/// What it takes where there is room, and the least it runs in.
fn figures(answer: &Answer) -> String {
    match (answer.roomy_bytes(), answer.plan.least_bytes) {
        (Some(roomy), Some(least)) => {
            format!(": it takes {} where there is room, and runs in no less than {}", show(roomy), show(least))
        }
        (Some(roomy), None) => format!(": it takes {} where there is room", show(roomy)),
        _ => String::new(),
    }
}

/// What grows although it fits.
pub(super) fn growth(kept: &Kept) -> String {
    let file = oomph_explain::source::file_name(&kept.file);
    let (each, after) = (show(kept.growth.bytes_per_iteration), grouped(kept.growth.runs_out_after_iterations));
    let length = match kept.growth.total_iterations {
        Some(total) => format!("the loop has {}", grouped(total)),
        None => "nobody knows how many the loop has".to_owned(),
    };
    format!(
        "fits, but {file}:{} keeps {each} from every iteration: out of memory after about {after} iterations on this \
         card; {length}.",
        kept.line
    )
}

/// What a loop keeps until its end, which the runs of a plan do not wait for.
pub(super) fn to_come(to_come: &ToCome) -> String {
    format!(
        "{} of that is what the loop at {}:{} keeps, {} an iteration, until the last of its {}.",
        show(to_come.bytes),
        oomph_explain::source::file_name(&to_come.file),
        to_come.line,
        show(to_come.bytes_per_iteration),
        grouped(to_come.total_iterations)
    )
}

/// How much of the job was run.
pub(super) fn seen_text(answer: &Answer) -> String {
    seen_of(&answer.process.facts.end)
}

/// How much of a process's work was run.
pub(super) fn seen_of(end: &End) -> String {
    let found = seen(end);
    let is_training = found.iter().any(|part| part.kind == LoopKind::Training);
    let mut parts: Vec<String> = found.iter().map(|part| seen_part(part, is_training)).collect();
    if parts.is_empty() {
        parts.push(match (end.steps, end.optimizers, end.batches) {
            (0, 0, 0) => "no call of a model".to_owned(),
            (0, 0, batches) => count(u64::from(batches), "batch"),
            (0, ..) => "a part of the first training step".to_owned(),
            (steps, ..) => count(u64::from(steps), "optimizer step"),
        });
    }
    let how = match end.outcome.kind {
        OutcomeKind::End => "to the end of the script",
        OutcomeKind::Stopped => "then the run was ended as asked",
        OutcomeKind::Interrupted => "then the run was interrupted",
        OutcomeKind::Oom => "then memory ran out",
        _ => "then the script failed",
    };
    format!("{}; {how}", parts.join(", "))
}

/// What was seen of one kind of loop. Batches of a job that trains are its validation's.
fn seen_part(part: &Seen, is_training: bool) -> String {
    let (one, many) = match part.kind {
        LoopKind::Training => ("training step", "training steps"),
        LoopKind::Evaluation if is_training => ("validation batch", "validation batches"),
        LoopKind::Evaluation => ("batch", "batches"),
        LoopKind::Epochs => ("epoch", "epochs"),
        LoopKind::Other => ("iteration", "iterations"),
    };
    match part.total {
        Some(1) => format!("the one {one}"),
        Some(total) if total <= part.seen => format!("all {} {many}", grouped(total)),
        Some(total) => format!("{} of {} {many}", grouped(part.seen), grouped(total)),
        None => format!("{} {}", grouped(part.seen), if part.seen == 1 { one } else { many }),
    }
}

/// Where in the job the moment lies that the tables describe.
pub(super) fn moment(answer: &Answer) -> String {
    let what = if answer.trial.ran_out() { "when memory ran out" } else { "at the peak" };
    let phase = &answer.phase;
    match (phase.step, phase.name) {
        (_, "evaluation") => format!("{what}, in evaluation"),
        (0, _) => format!("{what}, before the first step"),
        (step, "optimizer") => format!("{what}, in the optimizer step {step}"),
        (step, name) => format!("{what}, in the {name} pass of step {step}"),
    }
}

/// `1 step`, `2 steps`, `3 batches`.
fn count(number: u64, one: &str) -> String {
    let ending = if one.ends_with("ch") { "es" } else { "s" };
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { ending })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_plural() {
        assert_eq!([count(1, "batch"), count(2, "batch"), count(3, "step")], ["1 batch", "2 batches", "3 steps"]);
    }

    #[test]
    fn what_was_seen_is_said_of_what_there_is() {
        let part = |seen, total| {
            seen_part(&Seen { kind: LoopKind::Training, file: String::new(), line: 1, seen, total }, true)
        };
        assert_eq!(part(3, Some(1250)), "3 of 1,250 training steps");
        assert_eq!(part(3, Some(3)), "all 3 training steps");
        assert_eq!(part(1, Some(1)), "the one training step");
        assert_eq!(part(4, None), "4 training steps");
    }
}
