//! What a plan cannot know, one sentence each: values nobody read from a card, estimates, calls without a model.

use oomph_explain::bytes::show;
use oomph_explain::source::file_name;
use oomph_plan::cards::Figure;
use oomph_plan::facts::{Assumed, ValuesFacts};
use oomph_plan::{Card, OutcomeKind};

use super::answer::Answer;
use crate::numbers::grouped;

/// Every estimate in use, the most important first; empty only where there is none.
pub(super) fn sentences(answer: &Answer, top: usize) -> Vec<String> {
    let end = &answer.process.facts.end;
    let mut said = Vec::new();
    if end.outcome.kind == OutcomeKind::Error {
        let message = end.outcome.message.clone().unwrap_or_default();
        let has_assumed = answer.reads().iter().any(|read| !read.assumed.is_as_meant());
        let or_assumed = if has_assumed { ", or a value from the card taken for another" } else { "" };
        said.push(format!(
            "the script raised {message}, perhaps because a loop was ended early{or_assumed}; what would have come after it \
             was not seen"
        ));
    }
    said.extend(end.values.as_ref().map(worked_out));
    let reads = answer.reads();
    for read in reads.iter().take(top) {
        let times = if read.count == 1 { "once".to_owned() } else { format!("{} times", grouped(read.count)) };
        said.push(format!("{} {}", place(&read.file, read.line), of_read(read.assumed, &times)));
    }
    if reads.len() > top {
        said.push(format!("{} more lines read values from the card", reads.len() - top));
    }
    if let Some((scaled, peaks)) = answer.while_skipped() {
        let place = place(&scaled.file, scaled.line);
        let (allocated, reserved) = (show(peaks.peak_allocated_bytes), show(peaks.peak_reserved_bytes));
        said.push(format!(
            "{place} may skip optimizer steps until its scale suits the gradients; the plan takes every step, and as \
             long as all are skipped the peak is {allocated} allocated, {reserved} reserved"
        ));
    }
    said.extend(end.estimates.iter().map(|estimate| estimate.what.clone()));
    for (name, count) in &end.unmodelled {
        let times = if *count == 1 { "once".to_owned() } else { format!("{} times", grouped(*count)) };
        said.push(format!("{name} was called {times}, and oomph has no model of it"));
    }
    said.extend(of_card(answer.card()));
    said.extend(end.notes.iter().cloned());
    said
}

/// What the figures of a card rest on, unless all were measured.
fn of_card(card: &Card) -> Option<String> {
    if card.measured {
        return None;
    }
    let (title, name) = (card.short_title(), &card.name);
    Some(if card.sources.is_empty() {
        format!("the figures of the {title} are as its file has them: it does not say that they were measured")
    } else if card.is_measured(Figure::ContextBytes) {
        format!(
            "the figures of the {title}, what its CUDA context takes among them, are from public sources: 'oomph doc {name}'"
        )
    } else {
        format!(
            "the figures of the {title} are from public sources, and what its CUDA context takes is an estimate: \
             'oomph doc {name}'"
        )
    })
}

/// What it took to know values that decide about something.
fn worked_out(values: &ValuesFacts) -> String {
    let weights = if values.updates { "with gradients and updates" } else { "with the weights as they were drawn" };
    format!(
        "values by which the script decides were worked out on the host, {weights}: {} of {} operators in {:.1} s, and {:.1} s \
         for writing them down, with at most {} of host memory",
        grouped(values.worked_out),
        grouped(values.records),
        values.seconds,
        values.recording_seconds,
        show(values.most_host_bytes)
    )
}

fn place(file: &str, line: u32) -> String {
    if file.is_empty() { "a library".to_owned() } else { format!("{}:{line}", file_name(file)) }
}

/// What a line did with values that nobody knows, and what the plan took them for.
fn of_read(assumed: Assumed, times: &str) -> String {
    match assumed {
        Assumed::Zeros => format!("reads values from the card ({times}); the plan gave it zeros"),
        Assumed::All => {
            format!("selects by values on the card ({times}); the plan took every element, the most there can be")
        }
        Assumed::Earlier => {
            format!("decides by values on the card ({times}); the plan took what the same line had found before")
        }
        Assumed::Some => {
            format!("asks whether any or all values on the card are true ({times}); the plan took some to be true")
        }
        Assumed::Finite => format!("looks for NaN or infinity ({times}); the plan took every value to be finite"),
        Assumed::Held => {
            format!("raises unless a condition on values of the card holds ({times}); the plan took it to hold")
        }
        Assumed::Drawn => format!("reads random numbers from the card ({times}); the plan drew its own"),
    }
}
