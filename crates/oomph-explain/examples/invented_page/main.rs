//! Makes pages of invented jobs for the browser tests of `page/`: `invented_page --events COUNT OUT.html` for a history
//! of any length, `invented_page --hostile OUT.html` for names that try to break the page, `invented_page --plan
//! fits OUT.html` and `invented_page --plan "does not fit" OUT.html` for plans.

mod plan;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use oomph_explain::render::page::Settings;
use oomph_explain::{Options, explain, render};
use oomph_trace::{Category, Origin, SegmentKind, Trace, TraceBuilder};

/// Tries to end its element, to start another, and to turn the text around it.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}\"'&amp;";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag, count, out] if flag == "--events" => write_page(&long_trace(count.parse()?), &settings("invented"), out),
        [flag, out] if flag == "--hostile" => write_hostile_page(out),
        [flag, answer, out] if flag == "--plan" => write_plan_page(answer == "fits", out),
        _ => Err("usage: invented_page (--events COUNT | --hostile | --plan ANSWER) OUT.html".into()),
    }
}

fn settings(source_name: &str) -> Settings<'_> {
    Settings { source_name, top: 10, plan: None, read_source: &|_| None }
}

fn write_hostile_page(out: &str) -> Result<(), Box<dyn Error>> {
    let read_source = |_: &str| Some(HOSTILE.to_owned());
    let settings = Settings { read_source: &read_source, ..settings(HOSTILE) };
    write_page(&hostile_trace(), &settings, out)
}

fn write_plan_page(fits: bool, out: &str) -> Result<(), Box<dyn Error>> {
    let capacity_bytes = if fits { 85_027_979_264 } else { 25_383_993_344 };
    let plan = plan::answer(capacity_bytes, fits);
    let read_source = |path: &str| (path == "train.py").then(|| plan::SCRIPT.to_owned());
    let settings = Settings { plan: Some(&plan), read_source: &read_source, ..settings("train.py") };
    write_page(&plan::trace(capacity_bytes), &settings, out)
}

fn write_page(trace: &Trace, settings: &Settings, out: &str) -> Result<(), Box<dyn Error>> {
    let report = explain(trace, &Options::default())?;
    let mut file = BufWriter::new(File::create(out)?);
    render::page::write(&report, settings, &mut file)?;
    Ok(file.flush()?)
}

/// A training loop as long as asked for: layers take activations forwards and give them back backwards, each from a
/// deep stack of its own, in one large segment used as a stack of slots.
fn long_trace(event_count: usize) -> Trace {
    const LAYERS: u64 = 500;
    const SLOT_BYTES: u64 = 32 << 20;
    const BASE: u64 = 0x7f00_0000_0000;
    let mut job = TraceBuilder::new(Origin::RealRun);
    job.capacity(80 << 30, Some(40 << 30)).at(1_700_000_000_000_000).segment_alloc(
        BASE,
        2 * LAYERS * SLOT_BYTES,
        &[("main", "train.py", 3)],
    );
    // A fixed sequence stands in for chance, so that every run measures the same page.
    let mut seed = 1_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut time_us = 1_700_000_000_000_000;
    let mut written = 1;
    for step in 0.. {
        if written >= event_count {
            break;
        }
        job.at(time_us).mark_start(&format!("step {step}"));
        let mut taken = Vec::new();
        for layer in 0..LAYERS {
            for part in 0..2 {
                let slot = 2 * layer + part;
                let address = BASE + slot * SLOT_BYTES + (next() % 64) * 512;
                let bytes = 1 + next() % (SLOT_BYTES - 65 * 512);
                time_us += 1 + next() % 50;
                let category = [Category::Activation, Category::Workspace, Category::Gradient][(next() % 3) as usize];
                job.category(category).at(time_us).alloc(address, bytes, &deep_stack(layer, part + 1));
                taken.push((address, bytes));
            }
        }
        while let Some((address, bytes)) = taken.pop() {
            time_us += 1 + next() % 50;
            job.at(time_us).free(address, bytes, &[]);
        }
        written += 6 * LAYERS as usize;
    }
    job.segment(BASE, 2 * LAYERS * SLOT_BYTES, SegmentKind::Large, &[]);
    job.finish()
}

/// 45 frames, as deep as those of real training jobs.
fn deep_stack(layer: u64, part: u64) -> Vec<(&'static str, &'static str, u32)> {
    let wrapper = ("_call_impl", "/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1787);
    let mut calls = vec![("linear", "/usr/lib/python3/site-packages/torch/nn/functional.py", part as u32)];
    calls.push(("forward", "/home/user/job/model.py", 100 + layer as u32));
    calls.extend((0..41).map(|depth| ("forward", "/home/user/job/blocks.py", 10 + depth)));
    calls.push(wrapper);
    calls.push(("main", "/home/user/job/train.py", 40));
    calls
}

/// Two devices whose every name is hostile.
fn hostile_trace() -> Trace {
    const BASE: u64 = 0x7f00_0000_0000;
    let line = [(HOSTILE, HOSTILE, 1)];
    let mut job = TraceBuilder::new(Origin::RealRun);
    for device in 0..2 {
        job.device(device).mark_start(HOSTILE).segment_alloc(BASE, 2 << 20, &line);
        for block in 0..=u64::from(device) {
            job.alloc(BASE + (block << 20), 1 << 20, &line);
        }
        job.oom(1 << 30, 0, &line);
    }
    job.finish()
}
