//! The files verbs read.

use std::path::Path;

use oomph_box::{BlackBox, EndedHow};
use oomph_explain::host::{HostFacts, HostVerdict, host_verdict};
use oomph_explain::log::Log;
use oomph_job::Recorded;
use oomph_trace::host::HostHistory;
use oomph_trace::{Action, DeviceTrace, Input, Trace, TraceError};

use crate::error::Error;
use crate::progress::Stage;

/// The history of the host's memory, beside the boxes of a job.
pub(crate) const HOST_HISTORY: &str = "host.jsonl";

/// What a file turned out to be.
pub(crate) enum Source {
    /// A snapshot or a trace.
    Trace(Box<Trace>),
    /// The log of a job that died.
    Log(Log),
    /// The black box of a job that ran out of host memory.
    Host(Box<HostVerdict>),
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
    open_box(path)?.map(|the_box| Ok(Recorded::of(&the_box)?.trace)).transpose()
}

fn open_box(path: &Path) -> Result<Option<BlackBox>, Error> {
    if BlackBox::is_one(path) { Ok(Some(BlackBox::open(path)?)) } else { Ok(None) }
}

/// What the history of the host's memory beside a job's boxes says of its end, if that was what ended it. A process that
/// ran out of a card's memory has its own verdict.
fn host_verdict_beside(path: &Path, the_box: &BlackBox) -> Option<HostVerdict> {
    if the_box.state().ended.and_then(|ended| ended.how) == Some(EndedHow::OutOfMemory) {
        return None;
    }
    let folder = path.parent()?;
    let history = HostHistory::from_lines(&std::fs::read_to_string(folder.join(HOST_HISTORY)).ok()?).ok()?;
    let mut facts = HostFacts::default();
    for file in std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()) {
        if let Some(other) = open_box(&file).ok().flatten() {
            let pid = other.process().pid;
            other.facts().iter().for_each(|fact| facts.add(pid, fact));
        }
    }
    host_verdict(&history, &facts)
}

/// Reads a snapshot, a trace, a black box, or a log in which PyTorch says that memory ran out; `-` is stdin.
pub(crate) fn read_any(path: &Path) -> Result<Source, Error> {
    let _stage = Stage::start(format!("reading {}", path.display()));
    if let Some(the_box) = open_box(path)? {
        return Ok(match host_verdict_beside(path, &the_box) {
            Some(verdict) => Source::Host(Box::new(verdict)),
            None => Source::Trace(Box::new(Recorded::of(&the_box)?.trace)),
        });
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

#[cfg(test)]
mod tests {
    use oomph_box::Writer;
    use oomph_trace::host::{HostEnd, HostLimits, HostMachine, HostPoint, HostProcess, HostSample};

    use super::*;

    const GIB: u64 = 1 << 30;

    /// The history of a process that grew until the kernel killed it.
    fn killed(pid: u32) -> HostHistory {
        let counted = |kills| HostMachine { cgroup_oom_kills: Some(kills), ..HostMachine::default() };
        let limits = HostLimits { total_bytes: 64 * GIB, cgroup_limit_bytes: Some(32 * GIB), shm_total_bytes: None };
        let mut history = HostHistory::new(limits, counted(0));
        history.add_process(HostProcess { pid, name: "python".to_owned(), ..HostProcess::default() });
        for second in 0..60 {
            let point = HostPoint { resident_bytes: (second + 1) * GIB / 2, ..HostPoint::default() };
            history.push(HostSample { time_ms: second * 1000, machine: counted(0), points: vec![point] });
        }
        history.end_process(0, 60_000, Some(HostEnd::Signal(9)));
        history.close(counted(1));
        history
    }

    /// What is read of the box of such a job, which is ended as `end` says.
    fn read_after(end: impl Fn(&Writer)) -> Source {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("job.box");
        let writer = Writer::create(&path, oomph_box::MIN_BYTES).expect("a box");
        let growth = r#"["host_growth", {"file": "train.py", "line": 7, "bytes_per_step": 500000000, "steps": 4}]"#;
        writer.fact(growth.as_bytes());
        end(&writer);
        std::fs::write(folder.path().join(HOST_HISTORY), killed(std::process::id()).lines()).expect("written");
        read_any(&path).expect("readable")
    }

    #[test]
    fn a_box_of_a_job_that_the_kernel_killed_is_about_the_host() {
        let Source::Host(verdict) = read_after(|_| {}) else { panic!("not about the host") };
        assert_eq!(verdict.place, Some(("train.py".to_owned(), 7)), "{verdict:?}");
    }

    #[test]
    fn a_box_of_a_process_that_ran_out_of_its_card_is_about_that() {
        let source = read_after(|writer| writer.end(EndedHow::OutOfMemory, 1));
        assert!(matches!(source, Source::Trace(_)));
    }
}
