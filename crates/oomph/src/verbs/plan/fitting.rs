//! `--fit`: what makes the job fit, in words, as a table and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use anstyle::Style;
use oomph_explain::bytes::show;
use oomph_explain::render::table::wrap;
use oomph_job::Target;
use oomph_plan::promise::{self, Identity, Promise, Promises};
use oomph_plan::remedies::{Mathematics, RemedyChoice, remedy};
use oomph_plan::search::{self, Allowed, Candidate, Cards, Found, MARGIN_PERCENT};
use oomph_plan::{Card, Job, Plan, Question, ToCome, Trial, cards};
use serde_json::{Value, json};

use super::answer::Answer;
use super::{Allow, words};
use crate::error::Error;
use crate::progress::Stage;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Looks for remedies, where the job does not fit; none where there is nothing to look for or to begin with.
pub(crate) fn find(plan: &Plan, question: &Question, allowed: Allowed) -> Result<Option<Found>, Error> {
    let (false, Some(with_room)) = (plan.trials[0].fits(), plan.with_room()) else { return Ok(None) };
    let mut stage = Stage::start(format!("fitting {}", question.job.command.name()));
    Ok(Some(search::find(question, allowed, with_room, &mut |text| stage.say(text))?))
}

/// What may happen to the numbers, and over how many cards.
pub(crate) fn allowed(allow: Option<Allow>, cards: Cards) -> Allowed {
    let mathematics = if allow == Some(Allow::Numerics) { Mathematics::Numerics } else { Mathematics::Same };
    Allowed { mathematics, cards }
}

/// The answer, what was tried, and what to do.
pub(super) fn text(found: &Found, answer: &Answer, width: usize) -> String {
    let mut out = wrap(&sentence(found, answer), "", width);
    let head = format!("{:>10}  {:>9}  {:>6}        ", "PEAK", "LEAST", "TIME");
    let _ = writeln!(out, "\n{DIM}{head}REMEDIES{DIM:#}");
    for candidate in &found.candidates {
        out.push_str(&row(candidate, head.len(), width));
    }
    let Some(chosen) = found.chosen() else {
        out.push_str(&refusals(found, width));
        out.push_str(&as_it_is());
        return out;
    };
    let _ = writeln!(out, "\n{BOLD}What is changed{BOLD:#}");
    for choice in &chosen.choices {
        let changes = remedy(&choice.name).map_or_else(String::new, |remedy| remedy.changes(choice));
        out.push_str(&item(&format!("{}: {changes}", choice.name), width));
    }
    if let Some(conf) = &chosen.allocator {
        out.push_str(&item(&format!("PYTORCH_CUDA_ALLOC_CONF={conf}"), width));
    }
    out.push_str(&refusals(found, width));
    let gpus = if chosen.cards > 1 { format!(" --gpus {}", chosen.cards) } else { String::new() };
    let _ = writeln!(out, "\n{BOLD}To run it so{BOLD:#}\n  oomph run --fit{gpus} {} ...", typed(&answer.question.job));
    let _ = writeln!(out, "  {DIM}or own it: --emit diff prints it as changes to the script{DIM:#}");
    out.push_str(&as_it_is());
    out
}

/// The job as it is typed behind the options, without its arguments.
pub(super) fn typed(job: &Job) -> String {
    let name = job.command.name();
    let target = if matches!(job.command.target, Target::Module(_)) { format!("-m {name}") } else { name };
    if job.launch.processes_per_node.is_some() { format!("torchrun ... {target}") } else { target }
}

/// What follows speaks of another job than the answer: the one that nothing was put into.
fn as_it_is() -> String {
    format!("\n{BOLD}The job as it is, without remedies{BOLD:#}\n")
}

/// What remedies refused in any of the runs, each sentence once; nothing where none did.
fn refusals(found: &Found, width: usize) -> String {
    let told: BTreeSet<&str> = found.candidates.iter().flat_map(|tried| &tried.refusals).map(String::as_str).collect();
    if told.is_empty() {
        return String::new();
    }
    let items: String = told.into_iter().map(|refusal| item(refusal, width)).collect();
    format!("\n{BOLD}What was tried and could not be done{BOLD:#}\n{items}")
}

fn item(text: &str, width: usize) -> String {
    wrap(text, "    ", width).replacen("    ", "  - ", 1)
}

/// The answer in one sentence, or two.
pub(super) fn sentence(found: &Found, answer: &Answer) -> String {
    let (card, total) = (answer.card().short_title(), show(answer.card().memory_bytes));
    let Some(chosen) = found.chosen() else {
        return format!(
            "nothing makes it fit {} with {total}{}",
            several(found.cards, card),
            miss(found, answer.card())
        );
    };
    let proof = found.proof.as_ref();
    let peak = proof.and_then(Trial::peaks_at_end).map(|peaks| show(peaks.device_bytes)).unwrap_or_default();
    let kept = proof.and_then(Trial::to_come).map(|to_come| format!(" {}", words::to_come(&to_come)));
    format!(
        "fits {} with {}: {}takes {peak} of {total}, at about {:.2} times the time.{}",
        several(chosen.cards, card),
        names(&chosen.choices),
        if chosen.cards > 1 { "each " } else { "" },
        chosen.slowdown,
        kept.unwrap_or_default()
    )
}

/// By how much the nearest set misses a card, and the smallest card that would do: the end of a sentence, and others.
fn miss(found: &Found, card: &Card) -> String {
    let tried = found.candidates.iter().filter(|candidate| candidate.cards <= found.cards);
    // What replay cannot serve again on a smaller card is known by its peak on one with room.
    let needs = |candidate: &Candidate| candidate.least_bytes.or(candidate.peaks.map(|peaks| peaks.device_bytes));
    let Some((needed_bytes, nearest)) = tried
        .filter_map(|candidate| Some((needs(candidate)?, candidate)))
        .min_by_key(|(needed_bytes, _)| *needed_bytes)
    else {
        return ".".to_owned();
    };
    let count = if nearest.cards == 1 { "a card".to_owned() } else { format!("{} cards", nearest.cards) };
    let needs =
        if nearest.least_bytes.is_some() { format!("needs {count} of") } else { "takes, where there is room,".into() };
    let over = match needed_bytes.saturating_sub(card.memory_bytes) {
        0 => format!(", which leaves less than {MARGIN_PERCENT} % of it free"),
        over_bytes => format!(", {} more than there is", show(over_bytes)),
    };
    format!(
        ": {} it still {needs} {}{over}.{}{}",
        if nearest.choices.is_empty() {
            "whatever was tried,".to_owned()
        } else {
            format!("with {}", names(&nearest.choices))
        },
        show(needed_bytes),
        smallest_card(needed_bytes).unwrap_or_default(),
        found.on_more_cards().map(enough_cards).unwrap_or_default(),
    )
}

/// One card of a kind, or several.
fn several(cards: u32, card: &str) -> String {
    match (cards, card) {
        (1, _) => format!("the {card}"),
        // A card that nobody has named.
        (_, "card") => format!("{cards} cards"),
        _ => format!("{cards} cards like the {card}"),
    }
}

/// On how many cards it fits.
fn enough_cards(candidate: &Candidate) -> String {
    format!(" It fits {} such cards with {} (--gpus {0}).", candidate.cards, names(&candidate.choices))
}

/// The smallest card of the catalogue that has so much and the margin.
fn smallest_card(least_bytes: u64) -> Option<String> {
    let needed_bytes = least_bytes / (100 - MARGIN_PERCENT) * 100;
    let enough = cards::CATALOGUE.iter().filter(|card| card.memory_bytes >= needed_bytes);
    let card = enough.min_by_key(|card| (card.memory_bytes, card.name.as_str()))?;
    Some(format!(" The smallest GPU that has as much is the {} ({}).", card.short_title(), show(card.memory_bytes)))
}

fn names(choices: &[RemedyChoice]) -> String {
    match choices {
        [] => "nothing".to_owned(),
        choices => choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join(" + "),
    }
}

/// A line of figures, with the remedies beside them on as many lines as they take.
fn row(candidate: &Candidate, indent: usize, width: usize) -> String {
    let size = |bytes: Option<u64>| bytes.map(show).unwrap_or_default();
    let figures = format!(
        "{:>10}  {:>9}  {:>6}  {:<4}  ",
        size(candidate.peaks.map(|peaks| peaks.device_bytes)),
        size(candidate.least_bytes),
        format!("{:.2}x", candidate.slowdown),
        if candidate.fits { "fits" } else { "" },
    );
    let wrapped = wrap(&described(candidate), &" ".repeat(indent), width);
    figures + wrapped.trim_start()
}

/// A set with its numbers.
pub(super) fn described(candidate: &Candidate) -> String {
    if candidate.choices.is_empty() {
        return "as it is".to_owned();
    }
    let cards = candidate.cards;
    let one = |choice: &RemedyChoice| match (choice.number("parts"), choice.options.get("blocks")) {
        _ if choice.name == "fsdp" => {
            let on_host = if choice.options.contains_key("cpu_offload") { " and the host" } else { "" };
            format!("fsdp on {cards} cards{on_host}")
        }
        (Some(parts), _) => format!("{} {parts}", choice.name),
        (None, Some(Value::Array(blocks))) => format!("{} {}", choice.name, blocks.len()),
        _ => choice.name.clone(),
    };
    candidate.choices.iter().map(one).collect::<Vec<_>>().join(" + ")
}

/// What `--json` says under `fit`.
pub(super) fn json(plan: &Plan, found: Option<&Found>) -> Value {
    let Some(found) = found else {
        return json!({ "fits": plan.fits(), "remedies": [], "predicted_slowdown": 1.0, "candidates": [] });
    };
    let chosen = found.chosen();
    let proof = found.proof.as_ref().filter(|_| chosen.is_some());
    let peaks = proof.and_then(Trial::peaks_at_end);
    json!({
        "fits": chosen.is_some(),
        "remedies": chosen.map(|candidate| names_list(&candidate.choices)).unwrap_or_default(),
        "choices": chosen.map(|candidate| &candidate.choices),
        "gpus": chosen.map(|candidate| candidate.cards),
        "allocator": chosen.and_then(|candidate| candidate.allocator.as_ref()),
        "peak_allocated_bytes": peaks.map(|peaks| peaks.allocated_bytes),
        "peak_reserved_bytes": peaks.map(|peaks| peaks.reserved_bytes),
        "peak_device_bytes": peaks.map(|peaks| peaks.device_bytes),
        "kept_until_end": proof.and_then(Trial::to_come).map(|to_come| to_come_json(&to_come)),
        "predicted_slowdown": chosen.map(|candidate| candidate.slowdown),
        "margin_percent": MARGIN_PERCENT,
        "candidates": found.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "on_more_gpus": found.on_more_cards().map(candidate),
    })
}

/// What a loop keeps until its end.
pub(super) fn to_come_json(to_come: &ToCome) -> Value {
    json!({
        "file": to_come.file,
        "line": to_come.line,
        "bytes_per_iteration": to_come.bytes_per_iteration,
        "total_iterations": to_come.total_iterations,
        "bytes": to_come.bytes,
    })
}

fn names_list(choices: &[RemedyChoice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.name.as_str()).collect()
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "remedies": names_list(&candidate.choices),
        "choices": candidate.choices,
        "gpus": candidate.cards,
        "allocator": candidate.allocator,
        "fits": candidate.fits,
        "peak_allocated_bytes": candidate.peaks.map(|peaks| peaks.allocated_bytes),
        "peak_reserved_bytes": candidate.peaks.map(|peaks| peaks.reserved_bytes),
        "least_memory_bytes": candidate.least_bytes,
        "predicted_slowdown": candidate.slowdown,
        "refusals": candidate.refusals,
    })
}

/// What `oomph run --plan` reads: what was promised, with what is put into the job for it.
pub(crate) fn plan_file(plan: &Plan, found: Option<&Found>, by_name: &[RemedyChoice]) -> Option<Promise> {
    let mut promise = match found {
        Some(found) => Promise::of_found(found, made_us())?,
        None if plan.fits() => Promise::of(plan, made_us()),
        None => return None,
    };
    promise.remedies.splice(..0, by_name.iter().cloned());
    Some(promise)
}

/// The time now, in microseconds since the Unix epoch.
pub(crate) fn made_us() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Keeps what makes a job fit for the next `oomph run --fit` of it.
pub(crate) fn keep(job: &Identity, promise: &Promise, found: Option<&Found>, plan: &Plan) {
    let proof = found.and_then(|found| found.proof.as_ref());
    let trace = proof.map_or_else(|| promise::trace_to_keep(plan), |proof| &proof.decisive().1.trace);
    // What cannot be kept is found again.
    let _ = Promises::of_user().keep(&job.fitted(), promise, trace);
}

/// Reads what `--save-plan` wrote.
pub(crate) fn read(path: &Path) -> Result<Promise, Error> {
    let text = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|problem| Error::NoPlanFile { path: path.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use oomph_plan::Peaks;

    use super::*;

    fn tried(names: &[&str], least_bytes: Option<u64>, device_bytes: u64) -> Candidate {
        Candidate {
            choices: names.iter().map(|name| RemedyChoice::new(name)).collect(),
            cards: 1,
            allocator: None,
            peaks: Some(Peaks { allocated_bytes: device_bytes, reserved_bytes: device_bytes, device_bytes }),
            least_bytes,
            slowdown: 1.0,
            fits: false,
            refusals: Vec::new(),
        }
    }

    fn said(candidates: Vec<Candidate>) -> String {
        let card = Card { memory_bytes: 10 << 30, ..Card::named("h200").expect("h200") };
        miss(&Found { candidates, chosen: None, proof: None, cards: 1, on_more_cards: None }, &card)
    }

    #[test]
    fn what_was_refused_is_told_once_and_apart_from_what_is_changed() {
        let refusal = || vec!["chunk_calls: Net has batch norms".to_owned()];
        let refused = Candidate { refusals: refusal(), ..tried(&["lazy_logits"], None, 1) };
        let found = |candidates| Found { candidates, chosen: None, proof: None, cards: 1, on_more_cards: None };
        assert_eq!(refusals(&found(vec![tried(&[], None, 1)]), 80), "");
        let text = refusals(&found(vec![refused.clone(), refused]), 80);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("What was tried and could not be done"), "{text}");
        assert_eq!(lines[2..], ["  - chunk_calls: Net has batch norms"]);
    }

    #[test]
    fn a_miss_says_by_how_much_and_which_card_would_do() {
        let found = said(vec![tried(&[], Some(30 << 30), 32 << 30), tried(&["lazy_logits"], Some(11 << 30), 13 << 30)]);
        let expected = ": with lazy_logits it still needs a card of 11.00GiB, 1.00GiB more than there is. The smallest";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn a_miss_that_no_replay_can_size_goes_by_the_peak() {
        let found = said(vec![tried(&[], None, 12 << 30)]);
        let expected =
            ": whatever was tried, it still takes, where there is room, 12.00GiB, 2.00GiB more than there is.";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn a_miss_by_the_margin_says_so() {
        let found = said(vec![tried(&["lazy_logits"], Some(10 << 30), 11 << 30)]);
        assert!(found.contains("of 10.00GiB, which leaves less than 2 % of it free."), "{found}");
    }
}
