//! `--max OPTION`: the largest value that fits.

use std::fmt::Write as _;

use oomph_explain::bytes::show;
use oomph_explain::render::table::wrap;
use oomph_plan::largest::{self, Knob, Largest};
use oomph_plan::remedies::RemedyChoice;
use oomph_plan::search::{self, Candidate, Cards};
use oomph_plan::{Card, Question};
use serde_json::{Value, json};

use super::{Args, fitting};
use crate::error::Error;
use crate::output;
use crate::progress::Stage;
use crate::verbs::Verdict;

/// Loaders batch so many samples at first, where the script's own number is not known.
const LOADER_BATCH: u64 = 8;
/// Words that mean the loaders' batch size where the script has no such option.
const BATCH_WORDS: [&str; 3] = ["batch", "batch-size", "bs"];

/// What was found, without and with remedies.
struct Answer<'a> {
    option: &'a str,
    card: &'a Card,
    plain: Option<Largest>,
    fitted: Option<(Candidate, Largest)>,
}

pub(super) fn run(question: &Question, option: &str, args: &Args) -> Result<Verdict, Error> {
    let option = option.trim_start_matches('-');
    let is_batch = BATCH_WORDS.contains(&option.replace('_', "-").as_str());
    let (knob, now) = Knob::find(option, &question.job.command.arguments)
        .or_else(|| is_batch.then_some((Knob::LoaderBatch, LOADER_BATCH)))
        .ok_or_else(|| Error::UnknownKnob { option: option.to_owned() })?;
    let mut stage = Stage::start(format!("looking for the largest {option}"));
    let plain = largest::find(question, &knob, now, &mut |text| stage.say(text))?;
    let fitted = if args.fit { fitted(question, &knob, plain.as_ref(), args, &mut stage)? } else { None };
    drop(stage);
    let answer = Answer { option, card: &question.cards[0], plain, fitted };
    output::data(&if args.json { output::pretty(&json(&answer)) } else { text(&answer, output::width()) })?;
    Ok(if answer.plain.is_some() || answer.fitted.is_some() { Verdict::Yes } else { Verdict::No })
}

/// The largest value with what makes twice the plain one fit.
fn fitted(
    question: &Question,
    knob: &Knob,
    plain: Option<&Largest>,
    args: &Args,
    stage: &mut Stage,
) -> Result<Option<(Candidate, Largest)>, Error> {
    let beyond = plain.map_or(1, |plain| plain.value * 2);
    let turned = knob.turned(question, beyond);
    let roomy = turned.run_roomy(&mut |text| stage.say(text))?;
    let allowed = fitting::allowed(args.allow, Cards::One);
    let found = search::find(&turned, allowed, &roomy, &mut |text| stage.say(text))?;
    let Some(chosen) = found.chosen().cloned() else { return Ok(None) };
    let remedied = question.with_remedies(&own(&chosen.choices), chosen.allocator.as_deref());
    let largest = largest::find(&remedied, knob, beyond, &mut |text| stage.say(text))?;
    Ok(largest.map(|largest| (Candidate { choices: own(&chosen.choices), ..chosen }, largest)))
}

/// A set without what only turns the knob.
fn own(choices: &[RemedyChoice]) -> Vec<RemedyChoice> {
    choices.iter().filter(|choice| choice.name != "loader_batch").cloned().collect()
}

fn text(answer: &Answer, width: usize) -> String {
    let mut out = String::new();
    let (title, total) = (answer.card.short_title(), show(answer.card.memory_bytes));
    let takes = |largest: &Largest| largest.peaks.map(|peaks| show(peaks.device_bytes)).unwrap_or_default();
    let sentence = match &answer.plain {
        Some(largest) => format!(
            "{} {} is the largest that fits the {title}: takes {} of {total}.",
            answer.option,
            largest.value,
            takes(largest)
        ),
        None => format!("no {} fits the {title} with {total}, not even 1.", answer.option),
    };
    out.push_str(&wrap(&sentence, "", width));
    if let Some((candidate, largest)) = &answer.fitted {
        let names: Vec<&str> = candidate.choices.iter().map(|choice| choice.name.as_str()).collect();
        let sentence = format!(
            "With {} it is {}: takes {} at about {:.2} times the time for each sample.",
            names.join(" + "),
            largest.value,
            takes(largest),
            candidate.slowdown
        );
        let _ = write!(out, "{}", wrap(&sentence, "", width));
    }
    out
}

fn json(answer: &Answer) -> Value {
    let largest = |found: &Largest| {
        json!({
            "value": found.value,
            "too_much": found.too_much,
            "runs": found.runs,
            "peak_allocated_bytes": found.peaks.map(|peaks| peaks.allocated_bytes),
            "peak_reserved_bytes": found.peaks.map(|peaks| peaks.reserved_bytes),
            "peak_device_bytes": found.peaks.map(|peaks| peaks.device_bytes),
        })
    };
    let with = |(candidate, found): &(Candidate, Largest)| {
        let mut value = largest(found);
        value["remedies"] = json!(candidate.choices);
        value["predicted_slowdown"] = json!(candidate.slowdown);
        value
    };
    json!({
        "option": answer.option,
        "gpu": answer.card.name,
        "capacity_bytes": answer.card.memory_bytes,
        "largest": answer.plain.as_ref().map(largest),
        "largest_with_remedies": answer.fitted.as_ref().map(with),
    })
}
