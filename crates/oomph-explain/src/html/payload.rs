//! The events of a page as compressed columns. `page/src/data.ts` is the reader; the two change together.
//!
//! Moments are counted so that 0 is before the first event and `i + 1` is after event `i`.
//!
//! Order: the stacks ([`super::stacks`]), the number of devices, then for each device: events, failures, blocks and
//! segments, each as its number of rows and its columns.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use oomph_heap::{LiveSpan, SegmentSpan};
use oomph_trace::{Action, Category, DeviceTrace, EventIndex};

use super::columns::ColumnWriter;
use super::input::{DeviceInput, PageInput};
use super::stacks::StackForest;

/// CUDA aligns everything to this; addresses in these units need nine bits less.
const ADDRESS_ALIGNMENT: u64 = 512;

/// The compressed columns of all devices of a page.
pub(super) fn encode(input: &PageInput) -> io::Result<Vec<u8>> {
    let mut forest = StackForest::new(&input.trace.stacks, input.blame_frames);
    let mut devices = ColumnWriter::default();
    let shown = shown_devices(input);
    devices.number(shown.len() as u64);
    for (device, device_input) in shown {
        write_device(device, device_input, &mut forest, &mut devices);
    }
    let mut stacks = ColumnWriter::default();
    forest.write(&mut stacks);

    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&stacks.into_bytes())?;
    gzip.write_all(&devices.into_bytes())?;
    gzip.finish()
}

/// The devices the input names and of which something was recorded.
pub(super) fn shown_devices<'a>(input: &'a PageInput<'a>) -> Vec<(&'a DeviceTrace, &'a DeviceInput<'a>)> {
    let device_of = |device: &'a DeviceInput<'a>| Some((input.trace.devices.get(device.device_index)?, device));
    input.devices.iter().filter_map(device_of).filter(|(device, _)| !device.events.is_empty()).collect()
}

fn write_device(device: &DeviceTrace, input: &DeviceInput, forest: &mut StackForest, out: &mut ColumnWriter) {
    let events = &device.events;
    out.number(events.len() as u64);
    out.column(events.iter().map(|event| action_code(event.action)));
    let base_us = events.first().map_or(0, |event| event.time_us);
    out.number(base_us);
    out.deltas(events.iter().map(|event| event.time_us.saturating_sub(base_us)));
    out.column(events.iter().filter(|event| event.action == Action::Oom).map(|event| event.bytes));
    out.column(events.iter().filter(|event| event.action == Action::Oom).map(|event| event.addr));

    let (blocks, segments) = (&input.timeline.blocks, &input.timeline.segments);
    let mut addresses = blocks.iter().map(|block| block.address).chain(segments.iter().map(|segment| segment.address));
    let unit_bytes = if addresses.all(|address| address % ADDRESS_ALIGNMENT == 0) { ADDRESS_ALIGNMENT } else { 1 };
    out.number(unit_bytes);
    write_blocks(input, unit_bytes, forest, out);
    write_segments(segments, unit_bytes, forest, out);
}

fn write_blocks(input: &DeviceInput, unit_bytes: u64, forest: &mut StackForest, out: &mut ColumnWriter) {
    let blocks = &input.timeline.blocks;
    out.number(blocks.len() as u64);
    out.deltas(blocks.iter().map(|block| moment(block.alloc).unwrap_or(0)));
    out.column(blocks.iter().map(|block| distance(block.alloc, block.free_requested)));
    out.column(blocks.iter().map(|block| distance(block.free_requested.or(block.alloc), block.free_completed)));
    out.deltas(blocks.iter().map(|block| block.address / unit_bytes));
    out.column(blocks.iter().map(|block| block.requested_bytes));
    // The remainder is small and mostly zero, the size itself is not.
    out.column(blocks.iter().map(|block| block.bytes.saturating_sub(block.requested_bytes)));
    let category = |(at, block): (usize, &LiveSpan)| input.block_categories.get(at).copied().unwrap_or(block.category);
    out.column(blocks.iter().enumerate().map(category).map(category_code));
    let stack = |(at, block): (usize, &LiveSpan)| input.block_stacks.get(at).copied().unwrap_or(block.stack);
    out.column(blocks.iter().enumerate().map(stack).map(|stack| u64::from(forest.number(stack))));
    let mut accused = vec![0; blocks.len()];
    for &block in input.accused_blocks {
        if let Some(flag) = accused.get_mut(block as usize) {
            *flag = 1;
        }
    }
    out.column(accused);
}

fn write_segments(segments: &[SegmentSpan], unit_bytes: u64, forest: &mut StackForest, out: &mut ColumnWriter) {
    out.number(segments.len() as u64);
    out.deltas(segments.iter().map(|segment| moment(segment.obtained).unwrap_or(0)));
    out.column(segments.iter().map(|segment| distance(segment.obtained, segment.released)));
    out.deltas(segments.iter().map(|segment| segment.address / unit_bytes));
    out.column(segments.iter().map(|segment| segment.bytes));
    out.column(segments.iter().map(|segment| segment.stream));
    out.column(segments.iter().map(|segment| segment.pool.0));
    out.column(segments.iter().map(|segment| segment.pool.1));
    out.column(segments.iter().map(|segment| u64::from(segment.expandable)));
    out.column(segments.iter().map(|segment| u64::from(forest.number(segment.stack))));
}

/// The moment after an event.
fn moment(event: Option<EventIndex>) -> Option<u64> {
    event.map(|event| u64::from(event) + 1)
}

/// From one event, or the beginning, to another: 0 for never, else 1 + the distance of their moments.
fn distance(from: Option<EventIndex>, to: Option<EventIndex>) -> u64 {
    moment(to).map_or(0, |to| to.saturating_sub(moment(from).unwrap_or(0)) + 1)
}

/// The page's number for an action; `ACTIONS` in `data.ts` is the same list.
fn action_code(action: Action) -> u64 {
    match action {
        Action::Alloc => 0,
        Action::FreeRequested => 1,
        Action::FreeCompleted => 2,
        Action::SegmentAlloc => 3,
        Action::SegmentFree => 4,
        Action::SegmentMap => 5,
        Action::SegmentUnmap => 6,
        Action::Snapshot => 7,
        Action::Oom => 8,
        Action::Other(_) => 9,
    }
}

/// The page's number for a category; `CATEGORIES` in `data.ts` is the same list, which is also the order of the
/// timeline from the bottom up: what stays longest lies lowest.
fn category_code(category: Category) -> u64 {
    match category {
        Category::Parameter => 0,
        Category::Optimizer => 1,
        Category::Gradient => 2,
        Category::Input => 3,
        Category::Workspace => 4,
        Category::Activation => 5,
        Category::Other => 6,
        Category::Unknown => 7,
    }
}
