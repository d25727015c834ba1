//! What jobs hold on the host.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::source::HOST_HISTORY;
use crate::verbs::top::scene::{HostMemory, Job, Process, Status};

/// The file's last lines: a sample of a thousand processes fits.
const TAIL_BYTES: u64 = 256 << 10;

/// Adds up what the processes of running jobs hold.
pub(super) fn add(jobs: &mut [Job], processes: &[Process]) {
    for job in jobs.iter_mut().filter(|job| job.status == Status::Running) {
        // The job's `oomph run` is none of the job.
        let own = |process: &&Process| process.job.as_ref() == Some(&job.id) && process.pid != job.pid;
        let (count, bytes) = processes
            .iter()
            .filter(own)
            .fold((0, 0), |(count, bytes), process| (count + 1, bytes + process.resident_bytes.unwrap_or(0)));
        job.host.process_count = count;
        job.host.resident_bytes = (count > 0).then_some(bytes);
        let peak = job.host.resident_peak_bytes.max(job.host.resident_bytes);
        job.host.resident_peak_bytes = peak;
    }
}

/// What the history beside a job's boxes ends with: peaks, and what was read last of shared pages.
pub(super) fn last_words(folder: &Path) -> HostMemory {
    let text = tail(&folder.join(HOST_HISTORY)).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let newest = |key: &str| lines.iter().rev().find_map(|line| line.get(key));
    let mut found = HostMemory::default();
    if let Some(peaks) = newest("peaks") {
        found.resident_peak_bytes = peaks.get("resident_bytes").and_then(Value::as_u64);
    }
    let points = |sample: &Value| sample.get("points").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(sample) = newest("sample") {
        let points = points(sample);
        found.process_count = points.len();
        found.resident_bytes = Some(points.iter().filter_map(|point| point.get("resident_bytes")?.as_u64()).sum());
    }
    let mut rolled_up = lines.iter().rev().filter_map(|line| line.get("sample")).map(points);
    let proportional = |points: Vec<Value>| {
        let bytes = |point: &Value| point.get("rollup")?.get("proportional_bytes")?.as_u64();
        // Processes of one sample are read together, or none is.
        points.iter().map(bytes).collect::<Option<Vec<u64>>>().filter(|all| !all.is_empty())
    };
    found.proportional_bytes = rolled_up.find_map(proportional).map(|all| all.iter().sum());
    found
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_history_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(last_words(folder.path()), HostMemory::default());
        let text = r#"{"limits":{"total_bytes":9}}
{"sample":{"time_ms":1,"machine":{},"points":[{"process":0,"resident_bytes":5,"rollup":{"proportional_bytes":4}}]}}
{"sample":{"time_ms":2,"machine":{},"points":[{"process":0,"resident_bytes":7},{"process":1,"resident_bytes":2}]}}
{"peaks":{"resident_bytes":11,"time_ms":2}}
{"sample":{"time_"#;
        std::fs::write(folder.path().join("host.jsonl"), text).unwrap();
        let found = last_words(folder.path());
        assert_eq!((found.resident_bytes, found.resident_peak_bytes), (Some(9), Some(11)));
        assert_eq!((found.proportional_bytes, found.process_count), (Some(4), 2));
    }

    #[test]
    fn what_processes_of_a_job_hold_is_added_up() {
        let process = |pid, job: &str, bytes| Process {
            pid,
            job: Some(job.to_owned()),
            resident_bytes: Some(bytes),
            ..Process::default()
        };
        let processes = vec![process(1, "a", 100), process(2, "a", 5), process(3, "a", 6), process(4, "b", 7)];
        let mut jobs = vec![Job { id: "a".to_owned(), pid: 1, ..Job::default() }];
        add(&mut jobs, &processes);
        assert_eq!((jobs[0].host.resident_bytes, jobs[0].host.process_count), (Some(11), 2));
    }
}
