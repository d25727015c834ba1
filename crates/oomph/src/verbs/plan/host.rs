//! The host's memory in the answer of a plan, and the whole answer where the script uses no card.

use std::fmt::Write as _;

use oomph_explain::bytes::{percent, show};
use oomph_explain::html;
use oomph_explain::render::table::{Align, table, wrap};
use oomph_explain::source::file_name;
use oomph_plan::facts::End;
use oomph_plan::host::{HostCategory, HostGrowth, HostPlan};
use oomph_plan::{PlanError, Question};
use serde_json::{Map, Value, json};

use super::text::heading;
use super::{Args, words};
use crate::error::Error;
use crate::numbers::grouped;
use crate::output::{self, Drafts};
use crate::progress::Stage;
use crate::verbs::Verdict;

/// Plans a script that uses no card.
pub(super) fn run(question: &Question, args: &Args) -> Result<Verdict, Error> {
    let run = {
        let mut stage = Stage::start(format!("planning {} without a card", question.job.command.name()));
        question.job.run_on_host(&question.cards, &mut |text| stage.say(text))?
    };
    let processes = question.job.launch.processes_per_node.unwrap_or(1);
    let beside = run.seen.beside(run.facts.end.pid);
    let mut host = HostPlan::of(&run.facts, beside, processes, 0).ok_or(PlanError::NoCuda)?;
    if let Some(growth) = &mut host.growth {
        let mut stage = Stage::start("looking for the line that keeps memory".to_owned());
        growth.kept_at = question.job.line_of_host_growth(&question.cards, &mut |text| stage.say(text));
    }
    let machine_bytes = args.host_memory.map(|memory| memory.0);
    let fits = machine_bytes.is_none_or(|bytes| host.fits(bytes));
    let shown = if args.json {
        output::pretty(&json_alone(&host, &run.facts.end, machine_bytes))
    } else {
        text_alone(&host, &run.facts.end, machine_bytes, output::width())
    };
    if let Some(path) = &args.html {
        let page = page(&host, &run.facts.end, machine_bytes, question.job.command.name());
        let mut drafts = Drafts::default();
        drafts.add(path, |file| html::write_host(&page, file))?;
        drafts.publish()?;
    }
    output::data(&shown)?;
    Ok(if fits { Verdict::Yes } else { Verdict::No })
}

/// The answer as a page.
fn page(host: &HostPlan, end: &End, machine_bytes: Option<u64>, source_name: String) -> html::HostPage {
    let part = |&(category, bytes): &(HostCategory, u64)| html::BytesOf { what: category.title().to_owned(), bytes };
    html::HostPage {
        source_name,
        sentence: takes(host, machine_bytes),
        seen: words::seen_of(end),
        peak_bytes: host.peak_bytes,
        categories: largest_first(host).iter().map(part).collect(),
        notes: end.notes.clone(),
        command_line: super::html::command_line(std::env::args_os().skip(1)),
    }
}

fn largest_first(host: &HostPlan) -> Vec<(HostCategory, u64)> {
    let mut parts = host.categories.clone();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    parts
}

/// The section about the host in the answer about a card.
pub(super) fn section(out: &mut String, host: &HostPlan, machine_bytes: Option<u64>, width: usize) {
    heading(out, &format!("Host memory at its peak: {}", show(host.peak_bytes)));
    out.push_str(&wrap(&sentence(host, machine_bytes), "  ", width));
    tables(out, host, width);
}

fn tables(out: &mut String, host: &HostPlan, width: usize) {
    let parts = largest_first(host);
    let row = |&(category, bytes): &(HostCategory, u64)| {
        vec![show(bytes), percent(bytes, host.peak_bytes), category.title().to_owned()]
    };
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("CATEGORY", Align::Left)];
    out.push_str(&table(&columns, &parts.iter().map(row).collect::<Vec<_>>(), width));
}

/// Where it fits, and what grows.
pub(super) fn sentence(host: &HostPlan, machine_bytes: Option<u64>) -> String {
    let mut text = match machine_bytes {
        Some(bytes) if host.fits(bytes) => format!("fits a machine of {}", show(bytes)),
        Some(bytes) => format!("does not fit a machine of {}", show(bytes)),
        None => String::new(),
    };
    if let Some(smallest) = host.smallest_machine_bytes() {
        let start = if text.is_empty() { "fits" } else { "; it fits" };
        let _ = write!(text, "{start} machines of {}, 5 % left to the system", show(smallest));
    }
    text.push('.');
    if let Some(growth) = &host.growth {
        let _ = write!(text, " {}", grows(host, growth, machine_bytes));
    }
    text
}

fn grows(host: &HostPlan, growth: &HostGrowth, machine_bytes: Option<u64>) -> String {
    let (place, each) = (format!("{}:{}", file_name(&growth.file), growth.line), show(growth.bytes_per_iteration));
    let length = match growth.total_iterations {
        Some(total) => format!("the loop has {}, all of which are counted", grouped(total)),
        None => "nobody knows how many the loop has".to_owned(),
    };
    let machine = machine_bytes.or_else(|| host.smallest_machine_bytes());
    let end = machine.zip(machine.and_then(|bytes| host.runs_out_after(bytes)));
    let end = end.map_or(String::new(), |(bytes, after)| {
        format!(": {} are full after about {} iterations", show(bytes), grouped(after))
    });
    let keeps = match &growth.kept_at {
        Some(line) => {
            let kept_at = format!("{}:{}", file_name(&line.file), line.line);
            format!("{kept_at} keeps {each} in every iteration of the loop at {place}")
        }
        None => format!("The loop at {place} keeps {each} from every iteration"),
    };
    format!("{keeps}{end}; {length}.")
}

/// For other programs.
pub(super) fn json(host: &HostPlan, machine_bytes: Option<u64>) -> Value {
    let categories: Map<String, Value> =
        host.categories.iter().map(|(category, bytes)| (category.name().to_owned(), (*bytes).into())).collect();
    json!({
        "peak_bytes": host.peak_bytes,
        "process_bytes": host.process_bytes,
        "tensor_bytes": host.tensor_bytes,
        "pinned_bytes": host.pinned_bytes,
        "categories": categories,
        "estimated": host.categories.iter().filter(|(category, _)| category.is_estimate())
            .map(|(category, _)| category.name()).collect::<Vec<_>>(),
        "workers": host.workers,
        "processes": host.processes,
        "machine_bytes": machine_bytes,
        "fits": machine_bytes.map(|bytes| host.fits(bytes)),
        "smallest_machine_bytes": host.smallest_machine_bytes(),
        "growth": host.growth.as_ref().map(|growth| json!({
            "file": growth.file,
            "line": growth.line,
            "kept_at": growth.kept_at,
            "bytes_per_iteration": growth.bytes_per_iteration,
            "total_iterations": growth.total_iterations,
            "seen_iterations": growth.seen_iterations,
            "runs_out_after_iterations": machine_bytes.and_then(|bytes| host.runs_out_after(bytes)),
        })),
    })
}

fn json_alone(host: &HostPlan, end: &End, machine_bytes: Option<u64>) -> Value {
    json!({
        "outcome": "ok",
        "uses_card": false,
        "fits": machine_bytes.is_none_or(|bytes| host.fits(bytes)),
        "host": json(host, machine_bytes),
        "steps": end.steps,
        "batches": end.batches,
        "loops": end.loops,
        "notes": end.notes,
        "torch": end.torch,
        "python": end.python,
    })
}

fn takes(host: &HostPlan, machine_bytes: Option<u64>) -> String {
    let whole = show(host.peak_bytes);
    format!("uses no card, and takes {whole} of the host's memory: {}", sentence(host, machine_bytes))
}

fn text_alone(host: &HostPlan, end: &End, machine_bytes: Option<u64>, width: usize) -> String {
    let mut out = String::new();
    out.push_str(&wrap(&takes(host, machine_bytes), "", width));
    let seen = wrap(&words::seen_of(end), "             ", width);
    let _ = write!(out, "  {:<10} {}", "seen", seen.trim_start());
    heading(&mut out, "Host memory at its peak");
    tables(&mut out, host, width);
    out
}
