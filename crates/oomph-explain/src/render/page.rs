//! The report as the page's input.

use oomph_heap::{LiveSpan, Timeline};
use oomph_trace::{DeviceTrace, FrameId, StackId};

use crate::html::{
    BytesOf, DeviceInput, LeakRow, LineRow, ModuleRow, PageInput, PageVerdict, PlanPage, ReadSource, Snippet, StepMark,
    marks, snippets,
};
use crate::report::Report;
use crate::steps::StepSource;
use crate::verdict::Remove;

/// What a page shows beside the report itself.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// What the reader calls the job: a file name.
    pub source_name: &'a str,
    /// How many lines each table has.
    pub top: usize,
    /// The answer of a plan, shown first; without it the page explains a job that was recorded.
    pub plan: Option<&'a PlanPage>,
    /// Where the text of source files comes from: a few lines around those that are named are shown.
    pub read_source: &'a ReadSource<'a>,
}

/// Writes the report as one self-contained page.
///
/// # Errors
/// Only what `out` itself answers.
pub fn write(report: &Report, settings: &Settings, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let blame: Vec<Option<FrameId>> = (0..report.case.sources.table().stack_count())
        .map(|at| report.case.sources.line_to_name(StackId(at as u32)).map(|line| line.frame))
        .collect();
    let case = &report.case;
    // A stack that was recorded is the truth, even where it has no line of the user's; only gaps are filled.
    let has_stack = |block: &LiveSpan| !case.sources.table().stack(block.stack).is_empty();
    let stack_of = |block: &LiveSpan| if has_stack(block) { block.stack } else { case.stack_of(block) };
    let block_stacks: Vec<StackId> = case.timeline.blocks.iter().map(stack_of).collect();
    let others = other_devices(report);
    let mut devices = vec![DeviceInput { block_stacks: &block_stacks, ..device(report, settings.top) }];
    devices.extend(others.iter().map(|(index, timeline)| other_device(report, *index, timeline)));
    let verdict = verdict(report);
    let snippets = snippets_of(&verdict, &devices[0], settings.read_source);
    let (source_name, plan) = (settings.source_name, settings.plan);
    let input = PageInput { trace: case.trace, source_name, verdict, blame_frames: &blame, devices, plan, snippets };
    crate::html::write(&input, out)
}

/// The source around every line that the verdict and the tables name.
fn snippets_of(verdict: &PageVerdict, device: &DeviceInput, read: &ReadSource) -> Vec<Snippet> {
    let blamed = verdict.file.as_deref().zip(verdict.line);
    let kept = device.leaks.iter().map(|row| (row.file.as_str(), row.line));
    let held = device.lines.iter().map(|row| (row.file.as_str(), row.line));
    snippets(blamed.into_iter().chain(kept).chain(held), read)
}

/// The devices that were not explained: the page shows their history all the same.
fn other_devices(report: &Report) -> Vec<(usize, Timeline)> {
    let case = &report.case;
    let is_other = |device: &DeviceTrace| device.ordinal != case.device.ordinal;
    let others = case.trace.devices.iter().enumerate().filter(|(_, device)| is_other(device));
    others.map(|(index, device)| (index, Timeline::with_config(device, case.timeline.config()))).collect()
}

fn other_device<'a>(report: &Report<'a>, index: usize, timeline: &'a Timeline) -> DeviceInput<'a> {
    let trace = report.case.trace;
    let device = &trace.devices[index];
    let (steps, phases) = (marks::steps(trace, device), marks::phases(trace, device));
    DeviceInput { steps, phases, ..DeviceInput::of(index, timeline) }
}

fn verdict(report: &Report) -> PageVerdict {
    let accusation = &report.verdict.accusation;
    let place = accusation.line.map(|line| report.case.sources.place(line));
    PageVerdict {
        class: accusation.class.to_owned(),
        summary: accusation.summary.clone(),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
        bytes: (accusation.bytes > 0).then_some(accusation.bytes),
        proof: report.verdict.proof.as_ref().map_or_else(String::new, |proof| proof.text.clone()),
        advice: accusation.advice.clone(),
    }
}

fn device<'a>(report: &'a Report<'a>, top: usize) -> DeviceInput<'a> {
    let case = &report.case;
    let index = case.trace.devices.iter().position(|device| device.ordinal == case.device.ordinal).unwrap_or(0);
    let mut input = DeviceInput::of(index, &case.timeline);
    input.block_categories = case.categories.all();
    if let Remove::Blocks(blocks) = &report.verdict.accusation.remove {
        input.accused_blocks = blocks;
    }
    input.limit_bytes = report.shortage.as_ref().map(|shortage| shortage.limit_bytes_min);
    input.total_bytes = case.total_bytes;
    input.measured_at = report.holders.at;
    input.steps = steps(report);
    input.phases = marks::phases(case.trace, case.device);
    input.lines = report
        .holders
        .lines
        .iter()
        .take(top)
        .filter_map(|held| {
            let line = held.what?;
            let (file, number) = case.sources.place(line);
            let function = case.sources.function(line).to_owned();
            Some(LineRow {
                file: file.to_owned(),
                line: number,
                function,
                bytes: held.bytes,
                blocks: held.blocks as u64,
            })
        })
        .collect();
    input.modules = report.modules.iter().take(top).map(ModuleRow::from).collect();
    input.leaks = report
        .leaks
        .iter()
        .take(top)
        .filter_map(|leak| {
            let (file, line) = case.sources.place(leak.line?);
            Some(LeakRow {
                file: file.to_owned(),
                line,
                bytes: leak.bytes,
                bytes_per_step: Some(leak.bytes_per_step),
                blocks: leak.blocks.len() as u64,
            })
        })
        .collect();
    input.fragmentation = fragmentation(report);
    input
}

/// Steps as the job marked them. Where it marked none, the iterations of the loop that was found; but no loop inside a
/// forward pass, which nobody would call a step.
fn steps(report: &Report) -> Vec<StepMark> {
    let case = &report.case;
    let marked = marks::steps(case.trace, case.device);
    let found = case.steps.as_ref().filter(|steps| marked.is_empty() && !steps.inside_model);
    let Some(found) = found else { return marked };
    let word = if found.source == StepSource::Period { "iteration" } else { "step" };
    let name = |at: usize| format!("{word} {}", at + 1);
    found.starts.iter().enumerate().map(|(at, &event)| StepMark { name: name(at), event }).collect()
}

fn fragmentation(report: &Report) -> Vec<BytesOf> {
    let found = &report.fragmentation;
    [
        ("free beside live blocks: cannot be returned to the driver", found.pinned_bytes),
        ("free in empty segments: cached", found.free_bytes.saturating_sub(found.pinned_bytes)),
        ("freed, but waiting for a stream", found.waiting_bytes),
        ("added by rounding up requests", found.rounding_bytes),
    ]
    .into_iter()
    .filter(|&(_, bytes)| bytes > 0)
    .map(|(what, bytes)| BytesOf { what: what.to_owned(), bytes })
    .collect()
}
