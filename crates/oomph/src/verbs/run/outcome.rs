//! From what was seen of a job to its account, on stderr and in files.

use std::path::Path;

use oomph_explain::host::{HostAccount, HostFacts, HostKept, host_kept, host_verdict};
use oomph_explain::render::page;
use oomph_explain::{Options, Report, explain};
use oomph_job::{Recorded, Remedied, phase_at};
use oomph_plan::promise::Promise;
use oomph_trace::{Trace, write_oomph_trace};

use super::account::{Account, End, Explained, Promised, Share, StepTime, json, text};
use super::follow::Seen;
use super::watched::Watched;
use super::{Args, beside};
use crate::error::Error;
use crate::output::{self, Drafts};
use crate::source_text;

/// Lines of each table on the page and in JSON.
const TOP: usize = 20;

/// A share, and which of the processes it is of.
type Place = (usize, Share);

/// What was known of the job before it ran.
pub(super) struct Known<'a> {
    /// What a plan promised.
    pub(super) promise: Option<&'a Promise>,
    /// What a step took in an earlier run without remedies.
    pub(super) plain_step_us: Option<u64>,
    /// Which allocator settings were chosen, and why.
    pub(super) allocator: Option<&'a str>,
    /// The remedies that it was to have, by name.
    pub(super) remedies: &'a [String],
}

/// Prints the account and writes the files that were asked for. Nothing here can fail the job, which has ended.
pub(super) fn tell(args: &Args, job: &str, seen: &Seen, known: &Known) {
    let mut recorded: Vec<Option<Recorded>> = seen.processes.iter().map(record_of).collect();
    let places = shares(seen, &recorded);
    add_others(&mut recorded, &places);
    let decisive = decisive(&places);
    let report = decisive.and_then(|at| explained(&places[at], &recorded));
    let notes = notes(&recorded, args, known.remedies);
    let host_facts = host_facts(seen);
    let account = Account {
        job,
        end: seen.end,
        seconds: seen.seconds,
        explained: report.as_ref().zip(decisive).map(|(report, share)| of_report(report, share, &places, &recorded)),
        promise: decisive.and_then(|at| promised(known.promise?, &places[at].1)),
        step: decisive.and_then(|at| step_time(&seen.processes[places[at].0], known)),
        shares: places.iter().map(|(_, share)| share.clone()).collect(),
        host: Some(HostAccount::of(&seen.host)).filter(|host| host.peak_bytes > 0),
        host_kept: kept_on_host(seen, &recorded, &host_facts),
        host_verdict: host_verdict(&seen.host, &host_facts),
        allocator: known.allocator,
        has_remedies: args.fit || args.plan.is_some() || !args.with.is_empty(),
        notes: &notes,
    };
    let written = write_files(args, job, &account, report.as_ref(), &places, &recorded);
    output::aside(&text::render(&account, output::width_aside()));
    if let Err(problem) = written {
        output::error(&problem);
    }
}

/// The history of a process; none where it cannot be made out.
fn record_of(process: &Watched) -> Option<Recorded> {
    match &process.kept {
        Some(kept) => Recorded::with_events(&process.the_box, kept),
        None => Recorded::of(&process.the_box),
    }
    .ok()
}

/// What each process took of each card that it used.
fn shares(seen: &Seen, recorded: &[Option<Recorded>]) -> Vec<Place> {
    let mut found = Vec::new();
    for (at, (process, recorded)) in seen.processes.iter().zip(recorded).enumerate() {
        let ((steps, batches), pid) = (process.progress(), process.the_box.process().pid);
        let ran_out = ran_out(process, seen.end);
        let devices = process.the_box.devices();
        let last_refused = devices.iter().max_by_key(|device| refusals(device)).map(|device| device.ordinal);
        for device in devices.iter().filter(|device| is_used(device)) {
            let rank = recorded.as_ref().and_then(|recorded| recorded.watched.process.rank);
            let share = Share {
                pid,
                rank,
                device: device.ordinal.into(),
                steps,
                batches,
                allocated_bytes: device.stats.allocated_peak_bytes.max(device.requested_peak_bytes),
                reserved_bytes: device.stats.reserved_peak_bytes.max(device.reserved_peak_bytes),
                retries: device.stats.retries,
                ooms: refusals(device),
                ran_out: ran_out && last_refused == Some(device.ordinal),
                total_bytes: device.total_bytes,
                card: seen.card_peaks.get(&(at, device.ordinal)).copied(),
            };
            found.push((at, share));
        }
    }
    // Which process was first differs from run to run; those without a rank stay in the order in which they came.
    found.sort_by_key(|(_, share)| share.rank);
    found
}

/// Whether a process ended because memory ran out: it said so; or it caught the error and did nothing more before the job
/// gave up, as scripts do that print a line of their own and call `sys.exit(1)`.
fn ran_out(process: &Watched, end: End) -> bool {
    let how = process.the_box.state().ended.and_then(|ended| ended.how);
    let gave_up = matches!(end, End::Code(code) if code != 0);
    how == Some(oomph_box::EndedHow::OutOfMemory) || (gave_up && process.was_short_at_last())
}

/// Whether PyTorch took anything of a card, or tried to.
fn is_used(device: &oomph_box::DeviceState) -> bool {
    device.reserved_peak_bytes.max(device.stats.reserved_peak_bytes) > 0 || refusals(device) > 0
}

fn refusals(device: &oomph_box::DeviceState) -> u64 {
    device.stats.ooms.max(device.counts[oomph_box::Action::Oom as usize])
}

/// What others held is no part of a process's own record.
fn add_others(recorded: &mut [Option<Recorded>], places: &[Place]) {
    for (at, share) in places {
        let Some(recorded) = &mut recorded[*at] else { continue };
        let device = recorded.trace.devices.iter_mut().find(|device| device.ordinal == share.device);
        if let Some(device) = device {
            device.other_process_bytes = share.card.and_then(|card| card.others_bytes);
        }
    }
}

/// The share that decides: one that ran out, else the largest.
fn decisive(places: &[Place]) -> Option<usize> {
    (0..places.len()).max_by_key(|&at| {
        let share = &places[at].1;
        (share.ran_out, share.reserved_bytes, std::cmp::Reverse(at))
    })
}

fn explained<'a>((at, share): &Place, recorded: &'a [Option<Recorded>]) -> Option<Report<'a>> {
    let trace = &recorded[*at].as_ref()?.trace;
    let options = Options {
        device: Some(share.device),
        total_bytes: Some(share.total_bytes).filter(|bytes| *bytes > 0),
        is_about_peak: !share.ran_out,
        ..Options::default()
    };
    explain(trace, &options).ok()
}

fn of_report<'a>(
    report: &'a Report<'a>,
    share: usize,
    places: &[Place],
    recorded: &[Option<Recorded>],
) -> Explained<'a> {
    let watched = recorded[places[share].0].as_ref().map(|recorded| &recorded.watched);
    let phase = watched.map_or(oomph_job::Phase { step: 0, name: "setup" }, |watched| {
        phase_at(report.case.device, report.holders.at, watched)
    });
    Explained { share, report, phase }
}

fn promised(promise: &Promise, share: &Share) -> Option<Promised> {
    let trial = promise.on_card_of(share.total_bytes)?;
    let rank = share.rank.unwrap_or(0);
    let peaks = trial.peaks_of(rank, share.device).or_else(|| trial.peaks_of(0, 0)).or(trial.peaks.first())?;
    Some(Promised { card: trial.card.clone(), fits: trial.fits, peaks: *peaks })
}

fn step_time(process: &Watched, known: &Known) -> Option<StepTime> {
    let is_changed = |promise: &&Promise| !promise.remedies.is_empty();
    let promised_percent = known.promise.filter(is_changed).map(|promise| promise.slowdown_percent);
    Some(StepTime { median_us: process.step_us()?, promised_percent, plain_us: known.plain_step_us })
}

/// What else the reader should know.
fn notes(recorded: &[Option<Recorded>], args: &Args, remedies: &[String]) -> Vec<String> {
    let told: Vec<_> = recorded.iter().flatten().flat_map(|recorded| recorded.watched.remedies.clone()).collect();
    let mut notes: Vec<String> = Remedied::all(remedies.iter().map(String::as_str), &told)
        .into_iter()
        .filter(|remedy| !remedy.is_applied || !remedy.sentences.is_empty())
        .map(|remedy| format!("{}: {}", remedy.name, remedy.sentence()))
        .collect();
    for recorded in recorded.iter().flatten() {
        for note in &recorded.watched.notes {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
    }
    let is_cut = recorded.iter().flatten().any(|recorded| !recorded.is_whole);
    if is_cut && args.record.is_none() {
        notes.push(
            "the tables are about the last part of the run, as much as is always kept; --record FILE keeps all of it"
                .to_owned(),
        );
    }
    notes
}

fn host_facts(seen: &Seen) -> HostFacts {
    let mut facts = HostFacts::default();
    for process in &seen.processes {
        let pid = process.the_box.process().pid;
        process.the_box.facts().iter().for_each(|fact| facts.add(pid, fact));
    }
    facts
}

fn kept_on_host(seen: &Seen, recorded: &[Option<Recorded>], facts: &HostFacts) -> Vec<HostKept> {
    let pids = seen.processes.iter().map(|process| process.the_box.process().pid);
    let hosts: Vec<_> =
        pids.zip(recorded).filter_map(|(pid, recorded)| Some((pid, &recorded.as_ref()?.host))).collect();
    host_kept(&hosts, facts)
}

/// Writes every file the user asked for, all or none.
fn write_files(
    args: &Args,
    job: &str,
    account: &Account,
    report: Option<&Report>,
    places: &[Place],
    recorded: &[Option<Recorded>],
) -> Result<(), Error> {
    let mut drafts = Drafts::default();
    if let Some(path) = &args.json {
        let shown = output::pretty(&json::render(account, TOP));
        drafts.add(path, |file| std::io::Write::write_all(file, shown.as_bytes()))?;
    }
    if let Some((path, report)) = args.html.as_ref().zip(report) {
        let settings = page::Settings { source_name: job, top: TOP, plan: None, read_source: &source_text::read };
        drafts.add(path, |file| page::write(report, &settings, file))?;
    }
    if let Some(path) = &args.record {
        let main = account.explained.as_ref().map(|explained| places[explained.share].0);
        for (at, recorded) in recorded.iter().enumerate() {
            let Some(recorded) = recorded else { continue };
            if Some(at) == main {
                add_trace(&mut drafts, path, &recorded.trace)?;
            } else if recorded.trace.event_count() > 0 {
                let rank = recorded.watched.process.rank.map(|rank| format!("rank{rank}"));
                let name = rank.unwrap_or_else(|| format!("process{at}"));
                add_trace(&mut drafts, &beside(path, &name), &recorded.trace)?;
            }
        }
    }
    drafts.publish()
}

fn add_trace(drafts: &mut Drafts, path: &Path, trace: &Trace) -> Result<(), Error> {
    drafts.add(path, |file| write_oomph_trace(trace, file).map_err(std::io::Error::other))
}
