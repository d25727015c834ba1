//! The report as the page's input.

use oomph_heap::{LiveSpan, Timeline};
use oomph_trace::{DeviceTrace, FrameId, StackId};

use crate::html::{BytesOf, DeviceInput, LeakRow, LineRow, PageInput, PageVerdict, StepMark};
use crate::report::Report;
use crate::verdict::Remove;

/// Writes the report as one self-contained page.
///
/// # Errors
/// Only what `out` itself answers.
pub fn write(report: &Report, source_name: &str, top: usize, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let blame: Vec<Option<FrameId>> = (0..report.case.sources.table().stack_count())
        .map(|at| report.case.sources.line_to_name(StackId(at as u32)).map(|line| line.frame))
        .collect();
    let case = &report.case;
    // A stack that was recorded is the truth, even where it has no line of the user's; only gaps are filled.
    let has_stack = |block: &LiveSpan| !case.sources.table().stack(block.stack).is_empty();
    let stack_of = |block: &LiveSpan| if has_stack(block) { block.stack } else { case.stack_of(block) };
    let block_stacks: Vec<StackId> = case.timeline.blocks.iter().map(stack_of).collect();
    let others = other_devices(report);
    let mut devices = vec![DeviceInput { block_stacks: &block_stacks, ..device(report, top) }];
    devices.extend(others.iter().map(|(index, timeline)| DeviceInput::of(*index, timeline)));
    let input = PageInput { trace: case.trace, source_name, verdict: verdict(report), blame_frames: &blame, devices };
    crate::html::write(&input, out)
}

/// The devices that were not explained: the page shows their history all the same.
fn other_devices(report: &Report) -> Vec<(usize, Timeline)> {
    let case = &report.case;
    let is_other = |device: &DeviceTrace| device.ordinal != case.device.ordinal;
    let others = case.trace.devices.iter().enumerate().filter(|(_, device)| is_other(device));
    others.map(|(index, device)| (index, Timeline::with_config(device, case.timeline.config()))).collect()
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
    input.measured_at = report.holders.at;
    input.steps = steps(report);
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

fn steps(report: &Report) -> Vec<StepMark> {
    let Some(steps) = &report.case.steps else { return Vec::new() };
    steps.starts.iter().enumerate().map(|(at, &event)| StepMark { name: format!("step {}", at + 1), event }).collect()
}

fn fragmentation(report: &Report) -> Vec<BytesOf> {
    let found = &report.fragmentation;
    [
        ("free beside live blocks: cannot go back to the driver", found.pinned_bytes),
        ("free in empty segments: cached", found.free_bytes.saturating_sub(found.pinned_bytes)),
        ("freed, but waiting for a stream", found.waiting_bytes),
        ("rounded up beyond what was asked for", found.rounding_bytes),
    ]
    .into_iter()
    .filter(|&(_, bytes)| bytes > 0)
    .map(|(what, bytes)| BytesOf { what: what.to_owned(), bytes })
    .collect()
}
