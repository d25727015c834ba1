//! `--fit` and `--plan`: what is put into the job to make it fit, and what is promised of it then.

use oomph_device::Monitor;
use oomph_explain::bytes::show;
use oomph_job::Command;
use oomph_plan::promise::{Identity, Promise, PromisedTrial, Promises};
use oomph_plan::remedies::RemedyChoice;
use oomph_plan::search::Cards;
use oomph_plan::values::Values;
use oomph_plan::whole_loops::WholeLoops;
use oomph_plan::{Card, Forks, Job, Launch, Plan, Question, Ranks, cards};

use super::Args;
use crate::command_line::{self, JobWords};
use crate::error::Error;
use crate::progress::Stage;
use crate::verbs::plan::fitting;

/// What the job may write while it is planned.
const DISK_LIMIT_BYTES: u64 = 8 << 30;

/// What the user asks for: from a file, from an earlier plan, or from a plan made now. None where nothing is asked for.
pub(super) fn fitted(args: &Args, command: &Command) -> Result<Option<Promise>, Error> {
    if let Some(path) = &args.plan {
        let mut read = fitting::read(path)?;
        read.remedies.splice(..0, args.with.iter().cloned());
        return Ok(Some(read));
    }
    if !args.fit {
        return Ok(None);
    }
    let card = card(args.limit.map(|limit| limit.0))?;
    let identity = Identity::new(&args.job.module, &args.job.command, &std::env::current_dir().unwrap_or_default());
    let is_of_card = |promise: &Promise| {
        let is_of_number = args.gpus.is_none_or(|gpus| gpus == promise.gpus.unwrap_or(1));
        let is_of_kind = |trial: &PromisedTrial| trial.fits && trial.memory_bytes == card.memory_bytes;
        is_of_number && promise.trials.first().is_some_and(is_of_kind)
    };
    if args.with.is_empty()
        && let Some(kept) = Promises::of_user().find(&identity.fitted()).filter(is_of_card)
    {
        return Ok(Some(kept));
    }
    plan_now(args, command, card, &identity).map(Some)
}

/// Plans the job on hollow cards like the real one, and looks for what makes it fit.
fn plan_now(args: &Args, command: &Command, card: Card, identity: &Identity) -> Result<Promise, Error> {
    let job = Job {
        command: command.clone(),
        steps: None,
        batches: None,
        launch: Launch::default(),
        has_all_ranks: false,
        show_output: false,
        disk_limit_bytes: DISK_LIMIT_BYTES,
        remedies: args.with.clone(),
        allocator: None,
        is_surveyed: true,
        values: Values::default(),
        whole_loops: WholeLoops::default(),
        forks: Forks::wanted(),
        is_host_only: false,
        seeks_growth: false,
        needs_card: false,
    };
    let title = card.short_title().to_owned();
    let question = Question { job, cards: vec![card], card_count: None, ranks: Ranks::One(0) };
    let plan = {
        let mut stage = Stage::start(format!("planning {}", question.job.command.name()));
        Plan::make(&question, &mut |text| stage.say(text))?
    };
    let found = fitting::find(&plan, &question, fitting::allowed(args.allow, over_cards(args)))?;
    let promise = fitting::plan_file(&plan, found.as_ref(), &args.with).ok_or(Error::NothingFits { card: title })?;
    if args.with.is_empty() {
        fitting::keep(identity, &promise, found.as_ref(), &plan);
    }
    Ok(promise)
}

/// Over how many cards of this machine the job may be divided.
fn over_cards(args: &Args) -> Cards {
    match (args.gpus, real_cards().len()) {
        _ if command_line::launcher_words(&args.job).is_some() => Cards::One,
        (Some(count), _) if count > 1 => Cards::All(count),
        (None, count) if count > 1 => Cards::IfNeeded(u32::try_from(count).unwrap_or(1)),
        _ => Cards::One,
    }
}

/// The command as so many processes with a card each.
pub(super) fn in_processes(command: &Command, words: &JobWords, gpus: u32) -> Result<Command, Error> {
    let found = real_cards().len();
    if found > 0 && found < gpus as usize {
        return Err(Error::TooFewCards { gpus, found });
    }
    let is_launched = command_line::launcher_words(words).is_some();
    command.in_processes(gpus).filter(|_| !is_launched).ok_or(Error::NotForLauncher { gpus })
}

/// The cards that the driver tells of.
fn real_cards() -> Vec<oomph_device::Card> {
    Monitor::open().ok().and_then(|monitor| monitor.cards().ok()).unwrap_or_default()
}

/// The smallest card of this machine as the catalogue knows it, with the memory it has; less where PyTorch is limited.
fn card(limit_bytes: Option<u64>) -> Result<Card, Error> {
    let smallest = real_cards().into_iter().min_by_key(|card| card.memory.total_bytes().unwrap_or(u64::MAX));
    let real = smallest.ok_or(Error::NoCard)?;
    let memory_bytes = real.memory.total_bytes().ok_or(Error::NoCard)?;
    let same = |known: &&Card| Some(known.title.as_str()) == real.name.as_deref();
    let nearest = || cards::CATALOGUE.iter().min_by_key(|known| known.memory_bytes.abs_diff(memory_bytes));
    let mut card = cards::CATALOGUE.iter().find(same).or_else(nearest).cloned().ok_or(Error::NoCard)?;
    card.memory_bytes = limit_bytes.map_or(memory_bytes, |limit| memory_bytes.min(limit + card.context_bytes));
    Ok(card)
}

/// Remedies as the job is told.
pub(super) fn as_json(remedies: &[RemedyChoice]) -> Vec<serde_json::Value> {
    remedies.iter().filter_map(|choice| serde_json::to_value(choice).ok()).collect()
}

/// What is done to the job, in a sentence.
pub(super) fn sentence(fitted: &Promise) -> String {
    let peak = fitted.trials.first().and_then(|trial| trial.peaks.iter().map(|peaks| peaks.reserved_bytes).max());
    let takes = peak.map(|bytes| format!(": {} reserved are promised", show(bytes))).unwrap_or_default();
    if fitted.remedies.is_empty() && fitted.allocator.is_none() {
        return format!("the job fits as it is{takes}");
    }
    let names: Vec<&str> = fitted.remedies.iter().map(|choice| choice.name.as_str()).collect();
    let cards = fitted.gpus.map(|gpus| format!(" on {gpus} cards")).unwrap_or_default();
    let settings = fitted.allocator.as_deref().map(|conf| format!("allocator {conf}"));
    let what: Vec<&str> = names.into_iter().chain(settings.as_deref()).collect();
    let slowdown = f64::from(fitted.slowdown_percent) / 100.0;
    format!("the job runs{cards} with {}{takes}, at about {slowdown:.2} times the time", what.join(" + "))
}
