//! The files verbs read.

use std::path::Path;

use oomph_box::BlackBox;
use oomph_explain::log::Log;
use oomph_job::Recorded;
use oomph_trace::{Action, DeviceTrace, Input, Trace, TraceError};

use crate::error::Error;
use crate::progress::Stage;

/// What a file turned out to be.
pub(crate) enum Source {
    /// A snapshot or a trace.
    Trace(Box<Trace>),
    /// The log of a job that died.
    Log(Log),
}

/// Reads a snapshot, a trace or a black box; `-` is stdin.
pub(crate) fn read(path: &Path) -> Result<Trace, Error> {
    let _stage = Stage::start(format!("reading {}", path.display()));
    match read_box(path)? {
        Some(trace) => Ok(trace),
        None => Ok(open(path)?.trace()?),
    }
}

/// The trace in the black box of a process, if the file is one.
fn read_box(path: &Path) -> Result<Option<Trace>, Error> {
    if !BlackBox::is_one(path) {
        return Ok(None);
    }
    Ok(Some(Recorded::of(&BlackBox::open(path)?)?.trace))
}

/// Reads a snapshot, a trace, a black box, or a log in which PyTorch says that memory ran out; `-` is stdin.
pub(crate) fn read_any(path: &Path) -> Result<Source, Error> {
    let _stage = Stage::start(format!("reading {}", path.display()));
    if let Some(trace) = read_box(path)? {
        return Ok(Source::Trace(Box::new(trace)));
    }
    let input = open(path)?;
    input.trace().map(|trace| Source::Trace(Box::new(trace))).or_else(|problem| {
        let log = input.text().and_then(|text| Log::read(&text));
        Ok(Source::Log(log.ok_or(problem)?))
    })
}

fn open(path: &Path) -> Result<Input, TraceError> {
    if path.as_os_str() == "-" {
        return Input::from_reader(std::io::stdin().lock(), "stdin");
    }
    Input::open(path)
}

/// The device asked for, else the one that ran out of memory, else the one with the longest history.
pub(crate) fn device<'a>(trace: &'a Trace, path: &Path, wanted: Option<u32>) -> Result<&'a DeviceTrace, Error> {
    let ran_out = |device: &DeviceTrace| device.events.iter().any(|event| event.action == Action::Oom);
    let with_history = trace.devices.iter().filter(|device| !device.events.is_empty());
    let found = match wanted {
        Some(ordinal) => with_history.into_iter().find(|device| device.ordinal == ordinal),
        // `max_by_key` keeps the last of equals; reversed, that is the first device.
        None => with_history.rev().max_by_key(|device| (ran_out(device), device.events.len())),
    };
    found.ok_or_else(|| {
        let known: Vec<String> = trace.devices.iter().map(|device| device.ordinal.to_string()).collect();
        Error::NoDevice {
            path: path.to_owned(),
            wanted: wanted.map_or("device".to_owned(), |ordinal| format!("device {ordinal}")),
            known: if known.is_empty() { "none".to_owned() } else { format!("device {}", known.join(", ")) },
        }
    })
}
